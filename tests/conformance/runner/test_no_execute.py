"""`dmlcts run --no-execute` and `dmlcts fuzz --no-execute`: kernels without dispatches, and no claim."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from commands import dmlcts
from runs import claim, ran
from tiled import Tiled

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.runner.kernels.compiling import compile_case
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.reports.record.paths import labels_of
from dmlcts.reports.record.record import FAIL, NOT_RUN, UNSUPPORTED

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
TILED = ("--backend", "python:tiled:Tiled")


class Asked(Tiled):
    """Notes whether each dispatch is to be executed."""

    def __init__(self) -> None:
        super().__init__()
        self.executes: list[bool] = []

    def run(self, dispatch: Dispatch) -> None:
        self.executes.append(dispatch.execute)
        super().run(dispatch)


class Refusing(Tiled):
    def run(self, dispatch: Dispatch) -> None:
        raise Rejected("not now", "compile")


@pytest.fixture(autouse=True)
def hosts_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "support"))


def test_a_case_is_compiled_and_has_no_result() -> None:
    backend = Asked()
    traced = Traced(backend)
    result = compile_case(find_case(CASE), traced, backend.describe())
    assert (result.status, result.message) == (NOT_RUN, "compiled, not executed")
    assert backend.executes == [False]
    assert labels_of(traced.first()) == ("ELEMENT_WISE_BIT_OR, UINT8, tile of 4",)


def test_what_is_refused_fails_and_what_is_no_dispatch_is_left() -> None:
    backend = Refusing()
    assert compile_case(find_case(CASE), backend, backend.describe()).status == FAIL
    law = next(case for case in operator_cases("ELEMENT_WISE_BIT_OR") if case.kind == "property")
    assert compile_case(law, backend, backend.describe()).message == "not executed"


def test_a_type_that_the_backend_does_not_have_is_unsupported() -> None:
    backend = Asked()
    info = replace(backend.describe(), data_types=("FLOAT32",))
    assert compile_case(find_case(CASE), backend, info).status == UNSUPPORTED
    assert backend.executes == []


def test_a_run_names_kernels_and_claims_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("ELEMENT_WISE_BIT_OR", "--level", "core")
    record = ran(tmp_path / "out", *names, *TILED, "--no-execute", code=1)
    assert {result.status for result in record.results} == {NOT_RUN}
    assert "nothing was executed" in " ".join(capsys.readouterr().out.split())
    assert claim(tmp_path / "out")["claim"] == ""
    executed = ran(tmp_path / "executed", *names, *TILED, code=0)
    kernels = {result.case: result.paths for result in executed.results if result.kind not in ("property", "sequence", "negative")}
    assert {result.case: result.paths for result in record.results if result.paths} == kernels
    capsys.readouterr()
    assert dmlcts("kernels", tmp_path / "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["total"]["reached"] > 5


def test_promises_and_graphs_are_not_executed(tmp_path: Path) -> None:
    record = ran(tmp_path, "DEV-1", "graphs", "--level", "core", *TILED, "--no-execute", code=1)
    assert {(result.status, result.message) for result in record.results} == {(NOT_RUN, "not executed")}
    assert {result.operator for result in record.results} == {"api", "graphs"}


def test_a_search_names_kernels_and_keeps_a_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    words = (
        "fuzz",
        "BIT_OR",
        *TILED,
        "--seed",
        "1",
        "--minutes",
        "0.05",
        "--no-execute",
        "--corpus",
        corpus,
        "--out",
        tmp_path / "out",
    )
    assert dmlcts(*words) == 1
    assert list(corpus.glob("ELEMENT_WISE_BIT_OR.*"))


@pytest.mark.parametrize("other", [("--no-paths",), ("--changed-since", ".")])
def test_what_would_note_nothing_is_refused(other: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if other == ("--changed-since", "."):
        ran(tmp_path / "old", "BIT_OR", "--level", "smoke", *TILED, code=0)
        other = ("--changed-since", str(tmp_path / "old"))
    assert (
        dmlcts(
            "run",
            "BIT_OR",
            "--level",
            "smoke",
            "--backend",
            "python:tiled:Newer",
            "--no-execute",
            *other,
            "--out",
            tmp_path / "out",
        )
        == 2
    )
    assert "--no-execute" in capsys.readouterr().err
