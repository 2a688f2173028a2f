"""Runs of promises and graphs: which cases are selected, and what a run leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commands import dmlcts

from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selection_of
from dmlcts.reports.record.record import Record, read_record


def selected(*patterns: str, **options: Any) -> list[str]:
    """The ids of the cases that operators, patterns and options select."""
    selection = selection_of(RunOptions(operators=patterns, **options))
    return [case.id for name in selection.operators for case in selection.work(name)]


def ran(out: Path, *arguments: object, code: int) -> Record:
    """The record of a run that ends with this exit code."""
    assert dmlcts("run", *arguments, "--out", out) == code
    return read_record(out / "results.jsonl")


def claim(out: Path) -> Any:
    """The claim of a run."""
    return json.loads((out / "claim.json").read_text(encoding="utf-8"))
