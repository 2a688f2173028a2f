"""The claim of a run as data: ``claim.json``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from hashlib import file_digest
from pathlib import Path
from typing import Any

from dmlcts.reports.claim.claim import MEASURED_VERSION, WHOLE, Statement, claim_of
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.policies import policies
from dmlcts.reports.record.record import NOT_RUN, WAIVED, Record, Result
from dmlcts.reports.record.verdict import matrix
from dmlcts.spec.untrusted.files import MIB, InputError, parse_json, read_text

FORMAT = "dmlcts-claim-1"
"""The form of ``claim.json``: reports/schema/claim.schema.json."""

_LARGEST = 64 * MIB


def write_claim(record: Record, file: Path, results: Path) -> None:
    """Writes the claim as JSON; ``results`` is the results file, whose hash it contains. Raises OSError if it cannot."""
    with results.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    write_text(file, json.dumps(claim_json(record, digest), indent=1) + "\n")


def unlike_claim(results: Path) -> str:
    """What is wrong with a results file by the claim.json beside it, whose hash it must have; empty if nothing is, or if no claim lies there."""
    file = results.parent / "claim.json"
    if results.name != "results.jsonl" or not file.is_file():
        return ""
    try:
        claim = parse_json(read_text(file, _LARGEST))
    except InputError as error:
        return f"{file}: {error}"
    expected = claim.get("results_sha256") if isinstance(claim, dict) and claim.get("format") == FORMAT else None
    if not expected:
        return ""
    with results.open("rb") as stream:
        actual = file_digest(stream, "sha256").hexdigest()
    return (
        ""
        if actual == expected
        else (
            f"{results} is not the one of which {file.name} beside it says what it claims: it was edited, or is another run's; if that is meant, remove {file.name}"
        )
    )


def claim_json(record: Record, results_sha256: str = "") -> dict[str, Any]:
    """The claim as data, in the form of reports/schema/claim.schema.json."""
    claim, manifest = claim_of(record), record.manifest
    backend = manifest.backend
    return {
        "format": FORMAT,
        "claim": claim.claim,
        "sentence": claim.sentence,
        "ok": claim.ok,
        "implementation": {
            "name": str(backend.get("name") or manifest.backend_spec),
            "version": str(backend.get("version") or ""),
            "device": str(backend.get("device") or ""),
            "declares": {
                "operators": _names(backend.get("operators")),
                "data_types": _names(backend.get("data_types")),
                "validates": backend.get("validates") is not False,
                **policies(backend),
            },
        },
        "feature_level": manifest.feature_level,
        "level": manifest.level,
        "basis": manifest.basis,
        "scope": {
            "whole": not manifest.selection and manifest.shard in ("", WHOLE),
            "selection": manifest.selection,
            "shard": manifest.shard,
            "complete": not (manifest.interrupted or not manifest.finished or claim.counts[NOT_RUN]),
        },
        "counts": claim.counts,
        "statements": [_statement_json(statement) for statement in claim.statements],
        "required": list(manifest.required),
        "untested": list(claim.untested),
        "mostly_waived": list(claim.mostly_waived),
        "waivers": {"files": [dict(entry) for entry in manifest.waivers], "applied": _applied_waivers(record.results)},
        "versions": {"suite": manifest.suite_version, "spec": manifest.spec_version, "measured": MEASURED_VERSION},
        "results_sha256": results_sha256,
        "run": {name: getattr(manifest, name) for name in ("backend_spec", "command", "seed", "started", "finished", "platform")},
    }


def _statement_json(statement: Statement) -> dict[str, Any]:
    total, supported = len(statement.results), statement.supported_count
    cells = {
        operator: {name: {status: number for status, number in cell.items() if number} for name, cell in row.items()}
        for operator, row in sorted(matrix(statement.results).items())
    }
    return {
        "basis": statement.basis,
        "holds": statement.holds,
        "claim": statement.claim,
        "sentence": statement.sentence,
        "cases": total,
        "supported": supported,
        "share_supported": supported / total if total else 0.0,
        "undeclared": statement.undeclared_counts,
        "claimed": statement.claimed_types,
        "operators": cells,
    }


def _applied_waivers(results: Iterable[Result]) -> list[dict[str, Any]]:
    reasons = Counter(result.waiver for result in results if result.status == WAIVED)
    return [{"reason": reason, "cases": number} for reason, number in sorted(reasons.items())]


def _names(value: object) -> list[str] | None:
    """A declared list; None for no restriction."""
    return [str(name) for name in value] if isinstance(value, list | tuple) and value else None
