"""Code paths in a record: each label and each sequence once, whatever file they are in, and nothing of them in an old one."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import result, run

from dmlcts.reports.record.paths import CodePath, Reading, Writing, code_path, paths_text, runs
from dmlcts.reports.record.record import Record, RecordError, Result, read_record, write_record
from dmlcts.reports.record.text import result_lines
from dmlcts.reports.runs.merge import merge

GEMM, COPY = CodePath("dxil 3f2a9c0d1e5b7a48", (8, 1, 1)), CodePath("copy")
MANY = (GEMM, COPY, GEMM._replace(numbers=(4, 4, 1)))


def ran(number: int, *paths: CodePath) -> Result:
    return result("pass", number, paths=paths)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def of_kind(file: Path, kind: str) -> list[Any]:
    return [line[kind] for line in lines(file) if kind in line]


def written(folder: Path, entries: Sequence[dict[str, Any]]) -> Path:
    file = folder / "results.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return file


def test_a_record_keeps_the_code_paths_of_each_case(tmp_path: Path) -> None:
    record = run(ran(0, GEMM), ran(1, *MANY), ran(2), ran(3, GEMM))
    write_record(record, tmp_path / "r.jsonl")
    assert read_record(tmp_path / "r.jsonl").results == record.results


def test_each_label_and_each_sequence_is_in_the_file_once(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    write_record(run(*(ran(number, *MANY) for number in range(50)), ran(99, COPY)), file)
    assert of_kind(file, "path") == ["dxil 3f2a9c0d1e5b7a48", "copy"]
    assert of_kind(file, "sequence") == [[[0, 8, 1, 1], [1], [0, 4, 4, 1]], [1]]
    assert [each["paths"] for each in of_kind(file, "result")] == [0] * 50 + [1]


def test_a_record_without_code_paths_is_what_it_was(tmp_path: Path) -> None:
    write_record(run(result("pass", 0)), tmp_path / "r.jsonl")
    assert {kind for line in lines(tmp_path / "r.jsonl") for kind in line} == {"manifest", "result"}
    assert "paths" not in of_kind(tmp_path / "r.jsonl", "result")[0]
    assert read_record(tmp_path / "r.jsonl").results[0].paths == ()


def test_merged_shards_number_their_code_paths_anew(tmp_path: Path) -> None:
    shards = [run(ran(0, GEMM), shard="1/2"), run(ran(1, COPY), ran(2, COPY, GEMM), shard="2/2")]
    for number, shard in enumerate(shards):
        write_record(shard, tmp_path / f"{number}.jsonl")
    merged = merge([read_record(tmp_path / f"{number}.jsonl") for number in range(2)])
    write_record(merged, tmp_path / "merged.jsonl")
    assert of_kind(tmp_path / "merged.jsonl", "path") == ["dxil 3f2a9c0d1e5b7a48", "copy"]
    assert [each.paths for each in read_record(tmp_path / "merged.jsonl").results] == [(GEMM,), (COPY,), (COPY, GEMM)]


def entries(record: Record, folder: Path) -> list[dict[str, Any]]:
    write_record(record, folder / "given.jsonl")
    return lines(folder / "given.jsonl")


def test_a_number_that_no_line_before_has_is_refused_with_its_line(tmp_path: Path) -> None:
    manifest, path, sequence, case = entries(run(ran(0, GEMM)), tmp_path)
    for order, place in (([manifest, path, case], 3), ([manifest, case, path, sequence], 2), ([manifest, sequence, path, case], 2)):
        with pytest.raises(RecordError, match=rf"results\.jsonl:{place}: .*before it"):
            read_record(written(tmp_path, order))


@pytest.mark.parametrize(
    "line",
    [
        {"path": ""}, {"path": 7}, {"path": "x" * 201}, {"sequence": []}, {"sequence": [[]]}, {"sequence": [[-1]]}, {"sequence": [["0"]]}, {"sequence": [-1]},
        {"sequence": [1.5]}, {"sequence": [[1, [0]]]}, {"sequence": [[2, []]]}, {"sequence": [[2, [[]]]]}, {"sequence": [[2, [[2, [[0]]]]]]}, {"sequence": [[2, 2, [0]]]},
        {"sequence": [[[0], [0]]]}, {"sequence": [[1025, [[0], [0]]]]}, {"sequence": [[600, [[0]]], [600, [0]]]}, {"sequence": [0]}, {"sequence": [[0], 1]},
        {"sequence": [[0, *range(9)]]}, {"sequence": [[0]] * 1026}, {"sequence": [[0, 1.5]]}, {"sequence": [[0, 2**63]]}, {"path": "a", "sequence": [[0]]},
    ],
)  # fmt: skip
def test_a_line_that_no_run_writes_is_refused(line: dict[str, Any], tmp_path: Path) -> None:
    manifest, path, *_ = entries(run(ran(0, GEMM)), tmp_path)
    with pytest.raises(RecordError, match=r"results\.jsonl:3"):
        read_record(written(tmp_path, [manifest, path, line]))


def test_the_labels_of_a_file_are_foreign_text(tmp_path: Path) -> None:
    manifest, _, sequence, case = entries(run(ran(0, GEMM)), tmp_path)
    found = read_record(written(tmp_path, [manifest, {"path": "\x1b[2J ::error::x"}, sequence, case])).results[0].paths[0].label
    assert found.isprintable()
    assert "::error" not in found


def test_a_file_that_ends_inside_a_line_of_code_paths_has_the_results_before(tmp_path: Path) -> None:
    write_record(run(ran(0, GEMM), ran(1, COPY)), tmp_path / "r.jsonl")
    text = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    (tmp_path / "r.jsonl").write_text(text[: text.rindex('"sequence"') + 5], encoding="utf-8")
    assert [each.paths for each in read_record(tmp_path / "r.jsonl").results] == [(GEMM,)]


def test_a_label_that_must_be_broken_up_still_fits_a_record(tmp_path: Path) -> None:
    path = code_path("::" * 200)
    record = run(replace(result(), paths=(path,)))
    write_record(record, tmp_path / "r.jsonl")
    assert read_record(tmp_path / "r.jsonl").results[0].paths == (path,)


LOOP = tuple(
    CodePath(label, (number, 1)) for _ in range(100) for label, number in (("gemm", 8), ("add", 2), ("add", 2), ("tanh", 2))
)


def test_loops_are_written_once_and_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    record = run(ran(0, COPY, *LOOP, COPY, COPY), ran(1, *LOOP[:9]), ran(2, *LOOP))
    write_record(record, file)
    assert of_kind(file, "sequence") == [
        [[0], [100, [[1, 8, 1], [2, 2, 1], 2, [3, 2, 1]]], [2, [0]]], [[2, [1, 2, 2, 3]], 1], [[100, [1, 2, 2, 3]]]
    ]  # fmt: skip
    assert read_record(file).results == record.results


@settings(derandomize=True, database=None, deadline=None)
@given(st.lists(st.sampled_from([COPY, GEMM, CodePath("a"), CodePath("a", (0,))]), max_size=80), st.integers(1, 12))
def test_any_sequence_is_read_as_it_was_written(part: list[CodePath], times: int) -> None:
    writing, reading = Writing(), Reading()
    given_paths = [tuple(part * times)[:1025], (COPY, *part)]
    for paths in given_paths:
        for kind, data in writing.lines(paths):
            reading.add(kind, data)
    assert all(reading.paths(writing.number(paths)) == paths for paths in given_paths if paths)
    assert tuple(path for times, part in runs(given_paths[0]) for path in part * times) == given_paths[0]


def test_code_paths_cost_at_most_a_tenth_of_a_record(tmp_path: Path) -> None:
    """A hundred kernels, each with a few numbers of groups, in 20,000 cases."""
    cases = [ran(number, CodePath(f"dxil {number % 100:016x}", (number % 1700 % 23, 1, 1))) for number in range(20_000)]
    cases = [replace(each, elements=120, worst_ulp=0.49, worst_share=0.98, seconds=0.0012345) for each in cases]
    write_record(run(*cases), tmp_path / "with.jsonl")
    write_record(run(*(replace(each, paths=()) for each in cases)), tmp_path / "without.jsonl")
    with_paths, without = ((tmp_path / f"{name}.jsonl").stat().st_size for name in ("with", "without"))
    assert with_paths <= 1.1 * without


def test_what_a_case_ran_in_words() -> None:
    assert (
        paths_text((COPY, *LOOP, GEMM))
        == "copy, 100 times gemm (8x1), add (2x1), add (2x1), tanh (2x1), dxil 3f2a9c0d1e5b7a48 (8x1x1)"
    )
    assert paths_text(tuple(CodePath(str(number)) for number in range(9)), 3) == "0, 1, 2 and 6 more"
    assert paths_text(()) == ""


def test_a_failing_case_says_what_it_ran() -> None:
    assert "kernels: dxil 3f2a9c0d1e5b7a48 (8x1x1), copy" in result_lines(result("fail", paths=(GEMM, COPY)))
    assert not any("kernels" in line for line in result_lines(result("fail")))


def test_a_number_is_told_from_what_equals_it() -> None:
    """Code paths that came before are looked up, and True equals 1."""
    assert code_path("copy", [1]) == code_path("copy", (1,)) == CodePath("copy", (1,))
    for wrong in (True, 1.0, "1", [1]):
        with pytest.raises(ValueError, match="the numbers of the code path copy must be integers"):
            code_path("copy", [wrong])
