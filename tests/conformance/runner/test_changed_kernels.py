"""`dmlcts run --changed-since`: the cases that run other kernels than in an older run, and no claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import dmlcts
from records import run
from tiled import Newer, Tiled

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.backends.process.protocol import ProtocolError, answer_views, run_request
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.runner.kernels import changed
from dmlcts.conformance.runner.kernels.changed import ChangedCases, changed_since
from dmlcts.conformance.runner.kernels.compiling import compile_case
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import REFERENCE, VALUES
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.paths import labels_of
from dmlcts.reports.record.record import FAIL, Record, read_record, write_record
from dmlcts.spec.reading.loader import load

OPTIONS = RunOptions(level="smoke", operators=("ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ADD1"))
CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"


def record_of(backend: Any) -> Record:
    with Session(OPTIONS, backend) as session:
        return run(*(session.run(case) for case in selected_cases(OPTIONS)), level="smoke")


@pytest.fixture(scope="module")
def old() -> Record:
    return record_of(Tiled())


def found(old: Record, backend: Any, monkeypatch: pytest.MonkeyPatch) -> ChangedCases:
    changed.backend_of.cache_clear()
    monkeypatch.setattr(changed, "open_backend", lambda spec: backend)
    return changed_since(OPTIONS, old)


def asked_for(case_id: str) -> bool:
    return find_case(case_id).expect in (REFERENCE, VALUES)


def test_only_cases_with_other_kernels_and_those_that_cannot_be_asked_for_are_run(
    old: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = found(old, Newer(), monkeypatch)
    expected = {result.case for result in record_of(Newer()).results if any(path.label == "a new kernel" for path in result.paths)}
    assert expected
    assert {case for case in new.cases if asked_for(case)} == {case for case in expected if asked_for(case)}
    assert new.other == len([case for case in expected if asked_for(case)])
    assert new.same == len([result for result in old.results if asked_for(result.case)]) - new.other
    assert new.same + len(new.cases) == len(old.results)


def test_where_nothing_changed_only_what_cannot_be_asked_for_is_left(old: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    new = found(old, Tiled(), monkeypatch)
    assert (new.other, [case for case in new.cases if asked_for(case)]) == (0, [])


def test_a_case_that_the_older_run_lacks_is_run(old: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [result for result in old.results if result.case != CASE]
    new = found(replace(old, results=tuple(left)), Tiled(), monkeypatch)
    assert CASE in new.cases
    assert new.other == 0


def test_what_is_left_out_is_said() -> None:
    new = ChangedCases(("a", "b", "c"), 2, 9)
    assert new.left_out == "9 of 12 selected cases are left out, as they run the same kernels as before"
    assert new.text.startswith("2 run other kernels, of 1 the older run has none; 9 of 12")


class Asked(ReferenceBackend):
    """Notes what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.executes: list[bool] = []

    def run(self, dispatch: Dispatch) -> None:
        self.executes.append(dispatch.execute)
        dispatch.path("compiled")
        raise Rejected("not now", "compile")


def test_kernels_are_asked_for_without_execution_and_whatever_comes_of_it() -> None:
    backend = Asked()
    traced = Traced(backend)
    result = compile_case(find_case(CASE), traced, backend.describe(), 3.0)
    assert labels_of(traced.first()) == ("compiled",)
    assert backend.executes == [False]
    assert (result.status, result.message) == (FAIL, "refused at compile: not now")


def test_a_host_need_not_return_what_it_did_not_execute() -> None:
    case = find_case(CASE)
    work = lay_out(case, inputs(case), {}).dispatch
    asked = replace(work, paths=[], execute=False)
    assert b'"execute":false' in bytes(run_request(asked, 7, load)[0])
    assert b'"execute"' not in bytes(run_request(work, 7, load)[0])
    header = {"status": "ok", "id": 7, "resources": []}
    assert answer_views(header, 0, 7, asked) == []
    with pytest.raises(ProtocolError, match="lacks resource"):
        answer_views(header, 0, 7, work)


# The command


def test_such_a_run_claims_nothing_and_says_what_it_left_out(
    old: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "support"))
    write_record(old, tmp_path / "old.jsonl")
    out = tmp_path / "out"
    words = (
        "run",
        *OPTIONS.operators,
        "--level",
        "smoke",
        "--backend",
        "python:tiled:Newer",
        "--changed-since",
        tmp_path / "old.jsonl",
    )
    dmlcts(*words, "--out", out, "-q")
    assert "are left out, as they run the same kernels as before" in capsys.readouterr().out
    record = read_record(out / "results.jsonl")
    assert 0 < len(record.results) < len(old.results)
    claim = claim_of(record)
    assert not any(statement.claim for statement in claim.statements)
    assert "are left out" in claim.sentence
    core = replace(record, manifest=replace(record.manifest, level="core"))
    assert not any(statement.claim for statement in claim_of(core).statements)
    assert any(statement.claim for statement in claim_of(replace(core, manifest=replace(core.manifest, left_out=""))).statements)


@pytest.mark.parametrize("more", [("--case", CASE), ("--no-paths",)])
def test_cases_are_selected_in_one_way(
    more: tuple[str, ...], old: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_record(old, tmp_path / "old.jsonl")
    assert dmlcts("run", "--changed-since", tmp_path / "old.jsonl", *more, "--out", tmp_path / "out") == 2
    assert "--changed-since selects the cases itself" in capsys.readouterr().err


def test_an_older_run_without_code_paths_says_nothing(old: Record, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = replace(old, results=tuple(replace(result, paths=()) for result in old.results))
    write_record(bare, tmp_path / "old.jsonl")
    assert dmlcts("run", "--changed-since", tmp_path / "old.jsonl", "--out", tmp_path / "out") == 2
    assert "no result has code paths" in capsys.readouterr().err
