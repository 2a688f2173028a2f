"""Shards put together: every result once, and nothing that is no shard of the same run."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import dmlcts

from dmlcts.reports.record.record import SEARCH, Manifest, Record, Result, write_record
from dmlcts.reports.runs.merge import MergeError, far_starts, merge

MANIFEST = Manifest(
    suite_version="0.1.0",
    spec_version="abc",
    backend={"name": "reference", "version": "2.0", "feature_level": "6_4", "device": "NumPy"},
    backend_spec="reference",
    command="dmlcts run --shard 1/2",
    level="core",
    basis="documented",
    feature_level="6_4",
    seed="",
    platform={"system": "one"},
    started="2027-03-01T10:00:00Z",
    finished="2027-03-01T10:01:00Z",
    seconds=60.0,
    selected=2,
    shard="1/2",
)


def results(*cases: str, status: str = "pass") -> tuple[Result, ...]:
    return tuple(Result(case, "X", "UINT8", "table", "documented", "3_0", status) for case in cases)


FIRST = Record(MANIFEST, results("a", "c"))
SECOND = Record(
    replace(
        MANIFEST,
        shard="2/2",
        started="2027-03-01T09:59:00Z",
        finished="2027-03-01T10:00:30Z",
        seconds=30.0,
        platform={"system": "two"},
    ),
    results("b", "d", status="fail"),
)


def other(**changes: Any) -> Record:
    return replace(SECOND, manifest=replace(SECOND.manifest, **changes))


def test_two_shards_become_one_run() -> None:
    found = merge([FIRST, SECOND])
    assert [result.case for result in found.results] == ["a", "c", "b", "d"]
    assert found.counts()["pass"] == found.counts()["fail"] == 2
    manifest = found.manifest
    assert (manifest.shard, manifest.selected, manifest.seconds, manifest.interrupted) == ("", 4, 90.0, False)
    assert (manifest.started, manifest.finished) == ("2027-03-01T09:59:00Z", "2027-03-01T10:01:00Z")
    assert manifest.command == "dmlcts merge, of 2 shards"
    assert (manifest.backend_spec, manifest.level, manifest.spec_version) == ("reference", "core", "abc")


def test_the_order_of_shards_does_not_matter_but_for_that_of_results() -> None:
    assert {result.case for result in merge([SECOND, FIRST]).results} == {"a", "b", "c", "d"}


def test_one_that_was_interrupted_makes_the_whole_so() -> None:
    assert merge([FIRST, other(interrupted=True)]).manifest.interrupted
    assert merge([FIRST, other(interrupted=True, unlisted=["GEMM"])]).manifest.unlisted == ["GEMM"]


def test_more_than_nine_shards_are_counted_as_numbers() -> None:
    shards = [Record(replace(MANIFEST, shard=f"{i}/11"), results(str(i))) for i in range(1, 12)]
    assert len(merge(shards).results) == 11
    with pytest.raises(MergeError, match=r"shards are missing: 2, 10$"):
        merge([shard for shard in shards if shard.manifest.shard not in ("2/11", "10/11")])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("suite_version", "0.2.0"),
        ("spec_version", "abd"),
        ("backend_spec", "directml"),
        ("level", "full"),
        ("basis", "measured"),
        ("feature_level", "3_0"),
        ("required", ["GEMM/*"]),
        ("waivers", [{"file": "waivers.yaml", "sha256": "0"}]),
        ("seed", "1"),
        ("selection", "round"),
    ],
)
def test_shards_of_different_runs_are_refused(name: str, value: object) -> None:
    message = f"not shards of one run: {name} is {getattr(MANIFEST, name)!r} and {value!r}"
    with pytest.raises(MergeError, match=re.escape(message)):
        merge([FIRST, other(**{name: value})])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "mine"),
        ("version", "2.1"),
        ("feature_level", "5_0"),
        ("operators", ["GEMM"]),
        ("data_types", ["UINT8"]),
        ("validates", False),
        ("denormals", "preserve"),
        ("half_store", "truncate"),
        ("accumulator", 10),
        ("nearest", True),
    ],
)
def test_shards_of_different_backends_are_refused(name: str, value: object) -> None:
    backend = {**MANIFEST.backend, name: value}
    message = f"the backends differ, {name} is {MANIFEST.backend.get(name)!r} and {value!r}"
    with pytest.raises(MergeError, match=re.escape(message)):
        merge([FIRST, other(backend=backend)])


def test_a_shard_of_other_code_is_refused() -> None:
    first = replace(FIRST, manifest=replace(MANIFEST, inputs="aaa"))
    message = "not shards of one run: inputs is aaa in 1/2 and bbb in 2/2; the waivers, the case files, --timeout, and the backend's module"
    with pytest.raises(MergeError, match=re.escape(message)):
        merge([first, other(inputs="bbb")])
    with pytest.raises(MergeError, match="inputs is aaa in 1/2 and unknown in 2/2"):
        merge([first, SECOND])
    assert merge([first, other(inputs="aaa")]).manifest.inputs == "aaa"


def test_a_shard_of_another_dll_is_refused() -> None:
    first = replace(FIRST, manifest=replace(MANIFEST, backend={**MANIFEST.backend, "details": {"sha256": "a", "wine": "10"}}))
    with pytest.raises(MergeError, match="the DLL's sha256 is a in 1/2 and b in 2/2; the DLL must be the same in all"):
        merge([first, other(backend={**MANIFEST.backend, "details": {"sha256": "b"}})])
    merge([first, other(backend={**MANIFEST.backend, "details": {"sha256": "a", "wine": "11"}})])


@pytest.mark.parametrize(
    ("started", "is_apart"),
    [
        ("2027-03-01T09:59:00Z", False),
        ("2027-03-02T10:00:00Z", False),
        ("2027-03-02T10:00:01+00:00", True),
        ("2027-02-20T10:00:00Z", True),
    ],
)
def test_starts_more_than_a_day_apart_are_named(started: str, is_apart: bool) -> None:
    found = far_starts([FIRST, other(started=started)])
    assert bool(found) is is_apart
    if is_apart:
        assert f"shard 2/2 {'began at ' if started < MANIFEST.started else 'at '}{started}" in found
        assert "apart: is one left from an older run?" in found
    assert not far_starts([FIRST])
    assert not far_starts([searched("1", "a"), searched("2", "b", started="2020-01-01T00:00:00Z")])


def test_the_command_warns_of_an_old_shard_and_refuses_it_if_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, record in (("one", FIRST), ("two", other(started="2027-02-20T10:00:00Z"))):
        named = [replace(result, operator="GEMM", case=f"GEMM/{result.case}") for result in record.results]
        write_record(replace(record, results=tuple(named)), tmp_path / f"{name}.jsonl")
    words = ("merge", tmp_path / "one.jsonl", tmp_path / "two.jsonl", "--out", tmp_path / "merged.jsonl")
    assert dmlcts(*words, "--strict") == 2
    assert "9 days apart" in capsys.readouterr().err
    assert not (tmp_path / "merged.jsonl").exists()
    assert dmlcts(*words) == 1
    assert "warning: shard 2/2 began at 2027-02-20T10:00:00Z" in capsys.readouterr().err
    assert (tmp_path / "merged.jsonl").exists()


def test_shards_may_have_run_on_different_machines() -> None:
    merge([FIRST, other(backend={**MANIFEST.backend, "device": "another"}, platform={"system": "another"}, command="another")])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no records to merge"),
        ([FIRST], "shards are missing: 2"),
        ([SECOND], "shards are missing: 1"),
        ([FIRST, FIRST], "shards are missing: 2"),
        ([FIRST, SECOND, other()], "a shard is given twice|the same case"),
        ([FIRST, other(shard="2/3")], "not shards of one run: 1/2, 2/3"),
        ([FIRST, other(shard="")], "not shards of one run: 1/2, a whole run"),
        ([other(shard="")], "not shards of one run: a whole run"),
        ([FIRST, replace(SECOND, results=results("a"))], "two shards have the same case"),
    ],
)
def test_what_is_missing_or_too_much(records: list[Record], message: str) -> None:
    with pytest.raises(MergeError, match=message):
        merge(records)


def test_a_waiver_is_unused_if_no_shard_has_a_case_for_it() -> None:
    shards = [
        replace(record, manifest=replace(record.manifest, unused_waivers=unused))
        for record, unused in ((FIRST, ("x", "y")), (SECOND, ("y", "z")))
    ]
    assert merge(shards).manifest.unused_waivers == ("y",)


def searched(seed: str, *cases: str, **more: Any) -> Record:
    """A random search with a seed."""
    return Record(replace(MANIFEST, level=SEARCH, seed=seed, shard="", **more), results(*cases))


def test_searches_with_different_seeds_are_merged() -> None:
    merged = merge([searched("1", "a", further={"pass": 5}), searched("2", "b", "c", further={"pass": 2, "unsupported": 1})])
    assert [result.case for result in merged.results] == ["a", "b", "c"]
    assert (merged.manifest.seed, merged.manifest.further) == ("1, 2", {"pass": 7, "unsupported": 1})
    assert merged.manifest.command == "dmlcts merge, of 2 searches"
    more = merge([merged, searched("3", "d")])
    assert (more.manifest.seed, len(more.results)) == ("1, 2, 3", 4)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_a_search_cannot_be_merged_twice(seed: str) -> None:
    merged = merge([searched("1", "a"), searched("2", "b")])
    with pytest.raises(MergeError, match=f"a search is given twice: seed {seed}; give each machine a seed of its own"):
        merge([merged, searched(seed, "c")])


def test_a_search_and_a_run_are_not_merged() -> None:
    with pytest.raises(MergeError, match="level is 'core' and 'fuzz'"):
        merge([FIRST, searched("1", "b")])
