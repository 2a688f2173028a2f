"""CTRF, the Common Test Report Format (ctrf.io): JSON that many CI tools and dashboards read; a file for each operator, since one of all cases
of level full would have some 40 MB.

CTRF has five statuses and we have seven. ``rawStatus`` of each test that did not pass and ``summary.extra`` carry ours:

| CTRF | our status |
|---|---|
| passed | pass |
| failed | fail, error, unexpected_pass |
| skipped | unsupported: the implementation does not claim it |
| pending | not_run: selected, but the run stopped first |
| other | waived: it ran and failed, and a waiver gives the reason |

Source: the JSON Schema of the format, ``schema/ctrf.schema.json`` in the repository ctrf-io/ctrf.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.reports.claim.claim import Claim, claim_of
from dmlcts.reports.record.files import by_operator, file_names, in_parts, part_name, remove_older, write_text
from dmlcts.reports.record.record import ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED, Manifest, Record, Result
from dmlcts.reports.record.text import ELSEWHERE, details, result_lines

CTRF_STATUS = {
    PASS: "passed",
    FAIL: "failed",
    ERROR: "failed",
    UNEXPECTED_PASS: "failed",
    UNSUPPORTED: "skipped",
    NOT_RUN: "pending",
    WAIVED: "other",
}

SPEC_VERSION = "0.0.0"
"""The version of the format's specification."""


_START = '{"reportFormat":"CTRF","specVersion":"0.0.0","generatedBy":"dmlcts '
"""The start of every file, by which the next report recognizes the files of an older one."""

_MOST = 8_000_000
"""The largest size of the tests of a file, in characters: an operator with more has several files."""


def _document(record: Record, cases: Sequence[tuple[Result, str]], claimed: Claim) -> str:
    """A file: some of a record's results, each with its JSON. The verdict is that of the whole run."""
    results = [result for result, _ in cases]
    manifest = record.manifest
    start, stop = _times(manifest)
    counts = dict.fromkeys(("passed", "failed", "skipped", "pending", "other"), 0)
    counts |= Counter(CTRF_STATUS[result.status] for result in results)
    summary = {
        "tests": len(results),
        **counts,
        "suites": len({result.operator for result in results}),
        "start": start,
        "stop": stop,
        "duration": stop - start,
        "extra": {"counts": Record(manifest, tuple(results)).counts(), "verdict": claimed.sentence, "claim": claimed.claim},
    }
    found: dict[str, Any] = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "generatedBy": f"dmlcts {manifest.suite_version}",
    }
    if stop:
        found["timestamp"] = datetime.fromtimestamp(stop / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found["results"] = {
        "tool": {"name": "dmlcts", "version": manifest.suite_version},
        "summary": summary,
        "tests": [],
        "environment": _environment(manifest),
    }
    return _text(found).replace('"tests":[]', f'"tests":[{",".join(text for _, text in cases)}]', 1) + "\n"


def write_ctrf(record: Record, folder: Path) -> None:
    """Writes ``record`` as CTRF JSON into ``folder``: ``OPERATOR.json``, and ``OPERATOR.2.json`` and so on if that would be too large.

    Raises:
        OSError: the folder cannot be written; the message names it.
    """
    groups, claimed, written = by_operator(record.results), claim_of(record), []
    for operator, name in file_names(groups, ".json").items():
        tests = ((result, _text(_test(result, detailed))) for result, detailed in details(groups[operator]))
        for number, part in enumerate(in_parts(tests, _MOST), start=1):
            file = folder / part_name(name, number)
            write_text(file, _document(record, part, claimed))
            written.append(file.name)
    remove_older(folder, ".json", written, _START)


def remove_ctrf(folder: Path) -> None:
    """Removes the files of an older report, which are not those of the run that has begun since."""
    remove_older(folder, ".json", (), _START)


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _test(result: Result, detailed: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": result.case or "(a case without an id)",
        "status": CTRF_STATUS[result.status],
        "duration": round(result.seconds * 1000),
        "suite": [result.operator, result.data_type],
    }
    if result.message:
        found["message"] = result.message
    if result.status != PASS:
        found["rawStatus"] = result.status
        found["trace"] = "\n".join(result_lines(result)) if detailed else ELSEWHERE
    if result.status != PASS and detailed:
        found["extra"] = {"kind": result.kind, "basis": result.basis, "featureLevel": result.feature_level}
        found["extra"] |= {name: value for name in ("repro", "waiver", "matched_answer") if (value := getattr(result, name))}
    return found


def _environment(manifest: Manifest) -> dict[str, Any]:
    platform, backend = manifest.platform, manifest.backend
    found = {
        "reportName": "DirectML conformance",
        "appName": str(backend.get("name") or manifest.backend_spec),
        "appVersion": str(backend.get("version") or ""),
        "osPlatform": platform.get("system", ""),
        "osRelease": platform.get("release", ""),
        "osVersion": platform.get("version", ""),
        "testEnvironment": str(backend.get("device") or ""),
    }
    return {key: value for key, value in found.items() if value} | {"extra": _finite(asdict(manifest))}


def _times(manifest: Manifest) -> tuple[int, int]:
    """Start and stop in milliseconds since 1970; 0 where the manifest has no readable time."""
    start, stop = _milliseconds(manifest.started), _milliseconds(manifest.finished)
    return start, max(stop, start + round(manifest.seconds * 1000)) if start else stop


def _milliseconds(time: str) -> int:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return 0
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinities: a backend's description may contain one, which becomes a string."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
