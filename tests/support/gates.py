"""Runs against older ones, as the gate's tests have them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import jsonschema
from records import result, run

from dmlcts.reports.gate.forms import gate_json
from dmlcts.reports.gate.gate import Gate, compare
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.reports.record.record import Record

TODAY = date(2026, 7, 1)
SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "schema" / "gate.schema.json").read_text(encoding="utf-8"))
OTHER = result(number=99)
"""A case that is the same in both runs."""

WHOLE = run(OTHER, result())


def older(record: Record) -> Record:
    """The same results, of an older run."""
    return replace(record, manifest=replace(record.manifest, started="2026-01-01T00:00:00Z"))


def gated(
    new: Record, old: Record, *waivers: Waiver, slowdown: float | None = None, files: Sequence[str] = (), reviewed: bool = False
) -> Gate:
    gate = compare(new, older(old), waivers, TODAY, slowdown, files, reviewed)
    jsonschema.validate(gate_json(gate), SCHEMA)
    return gate


def changed(before: str | None, after: str | None) -> Gate:
    """One case with these statuses, None without a result."""
    old = run(OTHER, *([result(before)] if before else []))
    return gated(run(OTHER, *([result(after)] if after else [])), old)
