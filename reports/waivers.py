"""Waivers: known failures that a gate lets pass, each with a reason, where it is tracked, and an end.

    waivers:
      - cases: ELEMENT_WISE_ROUND/FLOAT16/*
        reason: the driver truncates FLOAT16 stores
        issue: https://example.org/issues/12
        expires: 2027-03-01

A failing case that a waiver matches is ``waived``; a passing one is an ``unexpected_pass``, so that a waiver goes when its reason is gone.
An expired waiver applies no longer, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from dmlcts.reports.record import ERROR, FAIL, PASS, UNEXPECTED_PASS, WAIVED, Result


class WaiverError(ValueError):
    """A waiver file is wrong; the message names file and entry."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One waiver: ``cases`` is a glob over case ids, ``expires`` the last day on which it applies (None: no end)."""

    cases: str
    reason: str
    issue: str
    expires: date | None = None


def read_waivers(file: Path) -> tuple[Waiver, ...]:
    """The waivers of a YAML file.

    Raises:
        WaiverError: it cannot be read, is not of the form, or an entry lacks its cases, reason or issue.
    """
    try:
        data: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise WaiverError(f"{file}: cannot be read: {error}") from None
    entries = data.get("waivers") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise WaiverError(f"{file}: must have a list `waivers`")
    return tuple(_waiver(file, index, entry) for index, entry in enumerate(entries))


def _waiver(file: Path, index: int, entry: Any) -> Waiver:
    where = f"{file}: waivers[{index}]"
    if not isinstance(entry, dict):
        raise WaiverError(f"{where} must be a mapping of cases, reason, issue and expires")
    unknown = entry.keys() - {"cases", "reason", "issue", "expires"}
    if unknown:
        raise WaiverError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}; a waiver has cases, reason, issue, expires")
    for key in ("cases", "reason", "issue"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise WaiverError(f"{where}.{key} is missing: a waiver says which cases, why, and where it is tracked")
    expires = entry.get("expires")
    if expires is not None and not isinstance(expires, date):
        raise WaiverError(f"{where}.expires must be a date such as 2027-03-01, not {expires!r}")
    return Waiver(entry["cases"], entry["reason"], entry["issue"], expires)


def apply_waivers(result: Result, waivers: Sequence[Waiver], today: date) -> Result:
    """The result under the first waiver that matches its case: a failure waived, a pass unexpected, anything else as it was."""
    for waiver in waivers:
        if not fnmatchcase(result.case, waiver.cases):
            continue
        if waiver.expires is not None and waiver.expires < today:
            if result.status in (FAIL, ERROR):
                return replace(result, message=f"{result.message} (its waiver expired on {waiver.expires})")
            continue
        said = f"{waiver.reason} ({waiver.issue})"
        if result.status in (FAIL, ERROR):
            return replace(result, status=WAIVED, waiver=said)
        if result.status == PASS:
            return replace(result, status=UNEXPECTED_PASS, waiver=said, message=f"passes, and is waived: {said}; remove the waiver")
    return result
