"""What a record may say: names that exist, entries that agree, and no whole run that lacks operators."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from commands import dmlcts
from records import MANIFEST, negative, result, run

from dmlcts.conformance.properties.drawn import SIMPLER
from dmlcts.conformance.runner.folder.journal import FOLDER, SELECTED, read_run
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.random.cases import KIND as RANDOM
from dmlcts.generator.random.random_dispatch import KIND
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.labels import checked_record
from dmlcts.reports.record.record import (
    GRAPH,
    NEGATIVE,
    PASS,
    PROMISE,
    REPLAY,
    SEARCH,
    UNSUPPORTED,
    WAIVED,
    Record,
    RecordError,
    read_record,
    result_json,
    write_record,
)
from dmlcts.spec.model.abi import abi, feature_level, first_level
from dmlcts.spec.model.operator import BASES
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.untrusted.files import schema_of

SCHEMA = schema_of("dmlcts.reports", "record")["$defs"]
CASE = schema_of("dmlcts.generator.case", "case")["properties"]
WAIVERS = [{"file": "w.yaml", "sha256": "0"}]


def whole(*leave_out: str, **manifest: object) -> Record:
    return run(*(result(operator=name) for name in operator_names() if name not in leave_out), **manifest)


def read(record: Record, folder: Path) -> Record:
    file = folder / "results.jsonl"
    write_record(record, file)
    return read_run(file)


# ---- Names


def test_the_schemas_have_the_names_that_exist() -> None:
    manifest, of_result = SCHEMA["manifest"]["properties"], SCHEMA["result"]["properties"]
    assert manifest["level"]["enum"] == [*LEVELS, SEARCH, REPLAY]
    assert manifest["basis"]["enum"] == list(BASES[:2])
    assert of_result["basis"]["enum"] == list(BASES)
    assert SCHEMA["feature_level"]["enum"] == list(abi().feature_levels)
    assert SCHEMA["data_type"]["enum"] == CASE["data_type"]["enum"] == list(abi().data_types)
    assert of_result["kind"]["enum"] == [*CASE["kind"]["enum"], PROMISE, GRAPH]
    assert {KIND, RANDOM, SIMPLER, NEGATIVE, REPLAY} <= set(CASE["kind"]["enum"])


@pytest.mark.parametrize("name", ["ELEMENT_WISE_ROUND", "GEMM"])
def test_every_kind_of_case_is_known(name: str) -> None:
    assert {case.kind for case in operator_cases(name, "full")} <= set(CASE["kind"]["enum"])


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("level", "omega"),
        ("level", ""),
        ("basis", "contested"),
        ("feature_level", "9_9"),
        ("feature_level", ""),
        ("feature_level", "6.4"),
        ("further", {"pass": -1}),
        ("further", {"not_run": 1}),
        ("shard", "0/2"),
        ("backend", {"feature_level": "7_0"}),
        ("backend", {"accumulator": 9}),
        ("backend", {"accumulator": 53}),
        ("backend", {"data_types": ["FLOAT8"]}),
        ("backend", {"half_store": "round"}),
    ],
)
def test_a_manifest_with_a_name_that_does_not_exist_is_refused(entry: str, value: Any, tmp_path: Path) -> None:
    manifest = {**asdict(MANIFEST), entry: value}
    (tmp_path / "results.jsonl").write_text(json.dumps({"manifest": manifest}) + "\n", encoding="utf-8")
    with pytest.raises(RecordError, match=rf"results.jsonl:1: manifest\.{entry}"):
        read_record(tmp_path / "results.jsonl")


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("status", "passed"),
        ("kind", "miracle"),
        ("basis", "guessed"),
        ("data_type", "FLOAT8"),
        ("data_type", ""),
        ("feature_level", "9_9"),
        ("undeclared", "whim"),
        ("matched_answer", "mine"),
        ("wrong", -1),
    ],
)
def test_a_result_with_a_name_that_does_not_exist_is_refused(entry: str, value: Any, tmp_path: Path) -> None:
    lines = [{"manifest": {**asdict(MANIFEST), "selected": 1}}, {"result": {**result_json(result()), entry: value}}]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(RecordError, match=rf"results.jsonl:2: result\.{entry}"):
        read_record(tmp_path / "results.jsonl")


# ---- Entries that contradict each other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_level": "5_1", "backend": {"feature_level": "5_0"}}, "it has feature level 5_1, but its backend reports 5_0"),
        ({"backend": {"operators": ["GEM"]}}, "there is no operator GEM"),
        ({"required": ["GEM/*"]}, "there is no operator GEM"),
        ({"shard": "5/4"}, "there is no shard 5/4"),
        ({"further": {"pass": 1000}}, "a run of level core keeps all its results"),
        ({"level": SEARCH, "further": {"waived": 1}}, "it counts results with the status waived, but the run had no waivers"),
        ({"started": "yesterday"}, "'yesterday' is no time in ISO 8601 with a zone"),
        ({"finished": "2026-01-02T03:04:15"}, "is no time in ISO 8601 with a zone"),
        ({"resumed": ["", "soon"]}, "'soon' is no time"),
    ],
)
def test_a_manifest_that_no_run_can_have_written_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=f"results.jsonl: the manifest: .*{message}"):
        read(run(result(), **change), tmp_path)


@pytest.mark.parametrize(
    ("wrong", "change", "message"),
    [
        (result(operator="GEM"), {}, "there is no operator GEM"),
        (result(wrong=2), {}, "it passed with 2 wrong elements"),
        (result(WAIVED), {}, "it has the status waived, but the run had no waivers"),
        (result(UNSUPPORTED, undeclared="operator"), {}, r"excludes it \(operator\), which that does not"),
        (
            result(UNSUPPORTED, undeclared="operator"),
            {"backend": {"operators": ["ELEMENT_WISE_ROUND"]}},
            r"excludes it \(operator\), which that does not",
        ),
        (result(UNSUPPORTED, undeclared="data type"), {"backend": {}}, r"excludes it \(data type\), which that does not"),
        (result(UNSUPPORTED, undeclared="sequences"), {}, r"excludes it \(sequences\), which that does not"),
        (negative(UNSUPPORTED, undeclared="validation"), {}, r"excludes it \(validation\), which that does not"),
        (
            result(UNSUPPORTED, undeclared="validation"),
            {"backend": {"validates": False}},
            r"excludes it \(validation\), which that does not",
        ),
        (replace(result(), case="GEMM/FLOAT16/4d"), {}, "it is of another operator, ELEMENT_WISE_ROUND"),
        (result(), {"feature_level": "5_0"}, "it is of feature level 6_4, and the run of 5_0"),
        (result(basis="measured"), {}, "it is measured, and the run has documented cases alone"),
    ],
)
def test_a_result_that_no_run_can_have_is_refused(wrong: Any, change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=f"the result of {wrong.case}: .*{message}"):
        read(run(wrong, **change), tmp_path)
    assert dmlcts("report", tmp_path / "results.jsonl", "--out", tmp_path / "out") == 2


@pytest.mark.parametrize(
    ("right", "change"),
    [
        (result(WAIVED), {"waivers": WAIVERS}),
        (result(UNSUPPORTED, undeclared="operator"), {"backend": {"operators": ["GEMM"]}}),
        (result(UNSUPPORTED, undeclared="data type"), {"backend": {"data_types": ["UINT8"]}}),
        (negative(UNSUPPORTED, undeclared="validation"), {"backend": {"validates": False}}),
        (result(UNSUPPORTED, undeclared="memory"), {"level": "huge"}),
        (replace(result(UNSUPPORTED, undeclared="sequences"), kind="sequence"), {}),
        (result(basis="measured"), {"basis": "measured"}),
        (replace(result(), case="mine"), {"selection": "mine.json"}),
        (result(), {"selection": result().case, "feature_level": "5_0"}),
        (result(), {"backend": {"feature_level": "6_4"}}),
        (result(), {"level": SEARCH, "further": {"pass": 9, "unsupported": 1, "fail": 2, "error": 3}}),
        (result(), {"started": "2026-01-02T03:04:05.5+02:00", "finished": ""}),
    ],
)
def test_what_a_run_can_have_written_is_read(right: Any, change: dict[str, Any], tmp_path: Path) -> None:
    assert read(run(right, **change), tmp_path).results == (right,)


def test_the_journal_of_a_killed_run_is_checked_too(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    write_record(run(result(), shard="5/4"), tmp_path / FOLDER / SELECTED)
    with pytest.raises(RecordError, match="there is no shard 5/4"):
        read_run(tmp_path)


# ---- Whole runs


def test_a_whole_run_has_every_operator() -> None:
    assert checked_record(whole(), "x").manifest.selection == ""


@pytest.mark.parametrize(
    ("record", "selection"),
    [
        (whole("GEMM"), "all operators but GEMM"),
        (whole("GEMM", "JOIN"), "all operators but GEMM, JOIN"),
        (run(result()), "1 operator alone"),
        (run(), "0 operators alone"),
        (run(result(), result(operator="JOIN"), level="huge"), "2 operators alone"),
    ],
)
def test_a_record_that_lacks_operators_is_a_selection(record: Record, selection: str) -> None:
    named = checked_record(record, "x")
    assert named.manifest.selection == selection
    assert checked_record(replace(record, manifest=replace(record.manifest, shard="1/1")), "x").manifest.selection == selection
    assert not named.results or f"within the cases that {selection!r} selects" in claim_of(named).sentence


@pytest.mark.parametrize(
    "change", [{"selection": "GEMM"}, {"shard": "1/2"}, {"level": "smoke"}, {"level": SEARCH}, {"unlisted": list(operator_names())}]
)
def test_a_part_that_says_so_is_not_named_again(change: dict[str, Any]) -> None:
    record = run(result(), **change)
    assert checked_record(record, "x") == record


def test_a_lower_feature_level_has_fewer_operators() -> None:
    for level in ("1_0", "4_1"):
        at = feature_level(level)
        names = [name for name in operator_names() if first_level(name) <= at and any(load(name).tables(at))]
        assert 50 < len(names) < 177
        results = [replace(result(operator=name), feature_level="1_0") for name in names]
        assert checked_record(run(*results, feature_level=level), "x").manifest.selection == ""
        assert checked_record(run(*results[1:], feature_level=level), "x").manifest.selection == f"all operators but {names[0]}"


@pytest.mark.parametrize("name", ["TOP_K", "MAX_UNPOOLING", "QUANTIZE"])
def test_an_operator_has_a_documented_case_from_its_first_table_on(name: str) -> None:
    """So a whole run of level core has it."""
    first = min(table.level for table in load(name).support)
    levels = {case.feature_level for case in operator_cases(name, "core") if case.basis == BASES[0]}
    assert min(map(feature_level, levels)) == first


def test_what_passed_is_still_counted() -> None:
    assert claim_of(checked_record(run(result()), "x")).counts[PASS] == 1
