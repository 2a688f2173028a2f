"""Drawn cases of ``dmlcts fuzz``: which failures are made simpler."""

from __future__ import annotations

import pytest

from dmlcts.conformance.backends.backend import CRASHED, SLOW, BackendFault, BackendInfo, Dispatch
from dmlcts.conformance.properties.drawn import execute_drawn
from dmlcts.generator.random.fuzz_cases import fuzz_case
from dmlcts.reports.record.record import ERROR


class Losing:
    """A backend whose host is lost in each dispatch."""

    def __init__(self, lost: str) -> None:
        self.lost, self.runs = lost, 0

    def describe(self) -> BackendInfo:
        return BackendInfo("losing")

    def run(self, _: Dispatch) -> None:
        self.runs += 1
        raise BackendFault("no more", lost=self.lost)

    def close(self) -> None: ...


@pytest.mark.parametrize(("lost", "is_simplified"), [(SLOW, False), (CRASHED, True)])
def test_a_slow_case_is_not_made_simpler(lost: str, is_simplified: bool) -> None:
    backend = Losing(lost)
    case = next(filter(None, (fuzz_case("ELEMENT_WISE_ADD", 1, number) for number in range(100))))
    result, cause = execute_drawn(case, backend, backend.describe())
    assert result.status == ERROR
    assert (backend.runs > 1, cause is not None) == (is_simplified, is_simplified)
