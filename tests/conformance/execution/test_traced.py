"""The code paths of a case: those of its dispatch, or of all dispatches of a law, and none that an earlier case ran."""

from typing import Any

import pytest
from tiled import Tiled

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.traced import Traced, inner
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import Result

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"


def ran(backend: Any, case: str = CASE, **options: Any) -> Result:
    with Session(RunOptions(**options), backend) as session:
        return session.run(find_case(case))


def test_a_result_has_the_code_paths_of_its_case_alone() -> None:
    with Session(RunOptions(), Tiled()) as session:
        labels = [
            [path.label for path in session.run(find_case(case)).paths] for case in (CASE, CASE.replace("UINT8", "INT8"), CASE)
        ]
    assert labels == [[f"ELEMENT_WISE_BIT_OR, {name}, tile of 4"] for name in ("UINT8", "INT8", "UINT8")]


def test_nobody_asks_for_code_paths_that_are_not_wanted() -> None:
    assert ran(Tiled(), paths=False).paths == ()


def test_a_law_has_the_code_paths_of_all_its_dispatches_each_once() -> None:
    found = ran(Tiled(), "ELEMENT_WISE_ADD1/FLOAT32/property/same-as-add").paths
    assert len(found) == len(set(found)) > 1


class Refusing(ReferenceBackend):
    """Rejects after its kernel ran."""

    def run(self, dispatch: Dispatch) -> None:
        dispatch.path("compiled", 7)
        raise Rejected("no")


def test_a_case_that_fails_has_its_code_paths_too() -> None:
    found = ran(Refusing())
    assert (found.status, found.paths) == ("fail", (CodePath("compiled", (7,)),))


class Spoiling(ReferenceBackend):
    """Puts what it likes where code paths belong."""

    def __init__(self, what: list[Any]) -> None:
        super().__init__()
        self.what = what

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        assert dispatch.paths is not None
        dispatch.paths.extend(self.what)


@pytest.mark.parametrize("what", [[7], [("a",)], [("", ())], [("a", [-1])], [("a", 7)], [None]])
def test_what_is_no_code_path_gets_into_no_record(what: list[Any]) -> None:
    assert (ran(Spoiling(what)).status, ran(Spoiling(what)).paths) == ("pass", ())


def test_the_backend_itself_can_be_seen() -> None:
    backend = ReferenceBackend()
    assert inner(Traced(backend)) is inner(backend) is backend
