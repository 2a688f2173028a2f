"""Waivers: known failures that do not fail a run, each with a reason, an issue and an expiry date.

    waivers:
      - cases: ELEMENT_WISE_ROUND/FLOAT16/*
        reason: the driver truncates FLOAT16 stores
        issue: https://example.org/issues/12
        expires: 2027-03-01

``cases`` is a pattern or a list of them. A failing case that a waiver matches is ``waived``; a passing one is an
``unexpected_pass``, so that outdated waivers are removed. An expired waiver has no effect; the failure's message mentions it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from dmlcts.reports.record import ERROR, FAIL, PASS, UNEXPECTED_PASS, WAIVED, Result


class WaiverError(ValueError):
    """A waiver file is wrong; the message names file and entry."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One waiver: ``cases`` is an id, or a glob of ids with ``*`` and ``?``; ``expires`` is its last day (None: never)."""

    cases: str
    reason: str
    issue: str
    expires: date | None = None

    def matches(self, case: str) -> bool:
        """Whether it matches the case with this id. Brackets are literal: ids contain them (``InputTensors[0]``)."""
        return fnmatchcase(case, self.cases.replace("[", "[[]"))


def read_waivers(file: Path) -> tuple[Waiver, ...]:
    """The waivers of a YAML file.

    Raises:
        WaiverError: it cannot be read, is malformed, or an entry lacks its cases, reason or issue.
    """
    try:
        data: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:  # ValueError: invalid UTF-8, or a date such as 2027-02-30
        raise WaiverError(f"{file}: cannot be read: {error}") from None
    entries = data.get("waivers") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise WaiverError(f"{file}: must have a list `waivers`")
    return tuple(waiver for index, entry in enumerate(entries) for waiver in _waivers(file, index, entry))


def _waivers(file: Path, index: int, entry: Any) -> Iterator[Waiver]:
    """One for each pattern of an entry."""
    where = f"{file}: waivers[{index}]"
    if not isinstance(entry, dict):
        raise WaiverError(f"{where} must be a mapping of cases, reason, issue and expires")
    unknown = entry.keys() - {"cases", "reason", "issue", "expires"}
    if unknown:
        raise WaiverError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}; a waiver has cases, reason, issue, expires")
    cases = entry.get("cases")
    patterns: list[Any] = cases if isinstance(cases, list) else [cases]
    for key, text in (
        *(("cases", pattern) for pattern in patterns or [None]),
        *((key, entry.get(key)) for key in ("reason", "issue")),
    ):
        if not isinstance(text, str) or not text.strip():
            raise WaiverError(f"{where}.{key} is missing: a waiver says which cases, why, and where it is tracked")
    expires = entry.get("expires")
    if expires is not None and (not isinstance(expires, date) or isinstance(expires, datetime)):
        raise WaiverError(f"{where}.expires must be a date such as 2027-03-01, not {expires!r}")
    yield from (Waiver(pattern, entry["reason"], entry["issue"], expires) for pattern in patterns)


def apply_waivers(result: Result, waivers: Sequence[Waiver], today: date) -> Result:
    """The result under the first waiver that matches its case and has not expired.

    A failure becomes waived, a pass unexpected, anything else is unchanged. If all matching waivers have expired, the message says so.
    """
    matching = [waiver for waiver in waivers if waiver.matches(result.case)]
    valid = [waiver for waiver in matching if waiver.expires is None or waiver.expires >= today]
    failed = result.status in (FAIL, ERROR)
    if valid:
        reason = f"{valid[0].reason} ({valid[0].issue})"
        if failed:
            return replace(result, status=WAIVED, waiver=reason)
        if result.status == PASS:
            return replace(
                result, status=UNEXPECTED_PASS, waiver=reason, message=f"passes although it is waived: {reason}; remove the waiver"
            )
    elif matching and failed:
        return replace(result, message=f"{result.message} (its waiver expired on {matching[0].expires})")
    return result
