"""CTRF, the Common Test Report Format (ctrf.io): one JSON file that many CI tools and dashboards read.

CTRF has five statuses and we have seven. ``rawStatus`` of each test and ``summary.extra`` carry ours:

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
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.reports.claim import claim_of
from dmlcts.reports.files import write_text
from dmlcts.reports.record import ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED, Manifest, Record, Result
from dmlcts.reports.text import result_lines

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


def ctrf(record: Record) -> dict[str, Any]:
    """``record`` as a CTRF document."""
    manifest = record.manifest
    start, stop = _times(manifest)
    claimed = claim_of(record)
    counts = dict.fromkeys(("passed", "failed", "skipped", "pending", "other"), 0)
    counts |= Counter(CTRF_STATUS[result.status] for result in record.results)
    summary = {
        "tests": len(record.results),
        **counts,
        "suites": len({result.operator for result in record.results}),
        "start": start,
        "stop": stop,
        "duration": stop - start,
        "extra": {"counts": record.counts(), "verdict": claimed.sentence, "claim": claimed.claim},
    }
    results: dict[str, Any] = {
        "tool": {"name": "dmlcts", "version": manifest.suite_version},
        "summary": summary,
        "tests": [_test(result) for result in record.results],
        "environment": _environment(manifest),
    }
    found = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "generatedBy": f"dmlcts {manifest.suite_version}",
        "results": results,
    }
    if stop:
        found["timestamp"] = datetime.fromtimestamp(stop / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return found


def write_ctrf(record: Record, file: Path) -> None:
    """Writes ``record`` as CTRF JSON. Raises OSError, naming the folder, if it cannot."""
    write_text(file, json.dumps(ctrf(record), allow_nan=False, separators=(",", ":")) + "\n")


def _test(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": result.case or "(a case without an id)",
        "status": CTRF_STATUS[result.status],
        "rawStatus": result.status,
        "duration": round(result.seconds * 1000),
        "suite": [result.operator, result.data_type],
        "extra": {"kind": result.kind, "basis": result.basis, "featureLevel": result.feature_level},
    }
    if result.message:
        found["message"] = result.message
    if result.status != PASS:
        found["trace"] = "\n".join(result_lines(result))
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
