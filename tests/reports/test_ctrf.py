"""CTRF files: of the published structure, small, and the seven statuses kept apart."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from records import ALL_SEVEN, HOSTILE, of, result, run

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.formats.ctrf import CTRF_STATUS, write_ctrf
from dmlcts.reports.record.record import (
    FAIL,
    FAILURES,
    NOT_RUN,
    PASS,
    UNSUPPORTED,
    WAIVED,
    Mismatch,
    Record,
)

COUNTS = ("tests", "passed", "failed", "skipped", "pending", "other", "start", "stop")
TEXT, WHOLE, ANY = {"type": "string", "minLength": 1}, {"type": "integer"}, {"type": "object"}


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


ONE = closed(
    ["name", "status", "duration"],
    name=TEXT, status={"enum": ["passed", "failed", "skipped", "pending", "other"]}, duration=WHOLE, rawStatus=TEXT, message=TEXT,
    trace={"type": "string"}, suite={"type": "array", "minItems": 1, "items": {"type": "string"}}, extra=ANY,
)  # fmt: skip
CTRF_SCHEMA = closed(
    ["results", "reportFormat", "specVersion"],
    reportFormat={"const": "CTRF"},
    specVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
    generatedBy=TEXT,
    results=closed(
        ["tool", "summary", "tests"],
        tool=closed(["name"], name=TEXT, version=TEXT, extra=ANY),
        summary=closed([*COUNTS], **dict.fromkeys(COUNTS, WHOLE), suites=WHOLE, duration=WHOLE, extra=ANY),
        tests={"type": "array", "items": ONE},
        environment=closed(
            [],
            **dict.fromkeys(
                ("reportName", "appName", "appVersion", "osPlatform", "osRelease", "osVersion", "testEnvironment"), TEXT
            ),
            extra=ANY,
        ),
        extra=ANY,
    ),
)
"""What the published schema says about the parts that we write; its objects are closed, too."""


def ctrf(record: Record, folder: Path) -> Any:
    """The document of a record of one operator."""
    write_ctrf(record, folder)
    (file,) = folder.iterdir()
    return json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)


@pytest.mark.parametrize("record", [ALL_SEVEN, of(), run(result(seconds=0.0123), started="", finished="", backend={})])
def test_ctrf_has_the_published_structure(record: Record, tmp_path: Path) -> None:
    write_ctrf(record, tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == len({r.operator for r in record.results})
    for found in (json.loads(f.read_text(encoding="utf-8"), parse_constant=pytest.fail) for f in files):
        jsonschema.validate(found, CTRF_SCHEMA)
        summary = found["results"]["summary"]
        assert sum(summary[name] for name in ("passed", "failed", "skipped", "pending", "other")) == summary["tests"]
        assert summary["tests"] == len(found["results"]["tests"])


def test_ctrf_files_stay_small_and_hold_each_case_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.reports.formats.ctrf._MOST", 2_000)
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    write_ctrf(run(result(operator="REDUCE")), tmp_path)
    whole = run(*(result(FAIL, i, message="off" * 20) for i in range(40)), result(operator="GEMM"))
    write_ctrf(whole, tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert {"GEMM.json", "ELEMENT_WISE_ROUND.json", "ELEMENT_WISE_ROUND.2.json", "mine.json"} < names
    assert "REDUCE.json" not in names
    found = [json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in names - {"mine.json"}]
    assert sorted(test["name"] for file in found for test in file["results"]["tests"]) == sorted(r.case for r in whole.results)
    assert {file["results"]["summary"]["extra"]["verdict"] for file in found} == {claim_of(whole).sentence}


@pytest.mark.parametrize("broken", ["status", "name", "duration"])
def test_the_ctrf_check_finds_a_broken_document(broken: str, tmp_path: Path) -> None:
    found = ctrf(ALL_SEVEN, tmp_path)
    found["results"]["tests"][3][broken] = None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, CTRF_SCHEMA)


def test_ctrf_keeps_the_seven_statuses_apart(tmp_path: Path) -> None:
    results = ctrf(ALL_SEVEN, tmp_path)["results"]
    counts = ALL_SEVEN.counts()
    assert Counter(test.get("rawStatus", PASS) for test in results["tests"]) == counts
    assert all(test["status"] == CTRF_STATUS[test.get("rawStatus", PASS)] for test in results["tests"])
    assert results["summary"]["extra"]["counts"] == counts
    assert results["summary"]["passed"] == counts[PASS]
    assert results["summary"]["failed"] == sum(counts[status] for status in FAILURES)
    assert results["summary"]["skipped"] == counts[UNSUPPORTED]
    assert results["summary"]["pending"] == counts[NOT_RUN]
    assert results["summary"]["other"] == counts[WAIVED]


def test_ctrf_has_times_and_the_command_that_runs_a_failure_again(tmp_path: Path) -> None:
    found = ctrf(run(result(FAIL, message="off", repro="dmlcts repro X", seconds=0.0126, basis="contested")), tmp_path)
    assert (found["results"]["summary"]["start"], found["results"]["summary"]["stop"]) == (1767323045000, 1767323055000)
    assert found["timestamp"] == "2026-01-02T03:04:15.000Z"
    (test,) = found["results"]["tests"]
    assert test["duration"] == 13
    assert test["suite"] == ["ELEMENT_WISE_ROUND", "FLOAT16"]
    assert test["extra"] == {"kind": "table", "basis": "contested", "featureLevel": "6_4", "repro": "dmlcts repro X"}
    assert "run again: dmlcts repro X" in test["trace"]


def test_ctrf_is_strict_json_whatever_a_backend_says(tmp_path: Path) -> None:
    backend = {"name": "impl", "details": {"peak": math.inf, "list": [math.nan]}}
    write_ctrf(
        run(result(FAIL, message=HOSTILE, mismatches=(Mismatch("O", (0,), "1", "inf", math.inf),), wrong=1), backend=backend),
        tmp_path / "c",
    )
    found = json.loads((tmp_path / "c" / "ELEMENT_WISE_ROUND.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert found["results"]["environment"]["extra"]["backend"]["details"] == {"peak": "inf", "list": ["nan"]}
    assert found["results"]["tests"][0]["message"] == HOSTILE
