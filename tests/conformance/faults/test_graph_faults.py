"""Faults of graphs: the graphs of a run find them, and call nothing a fault that is legal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.commands.faults.graphs import are_enough
from dmlcts.conformance.faults.beyond.graphs import FAULTS
from dmlcts.conformance.faults.beyond.legal_graphs import AROUND, LEGAL
from dmlcts.conformance.faults.beyond.planted_graphs import changed_backend
from dmlcts.conformance.faults.hunt.graphs import GraphHunt, Graphs, hunt_graphs, plan_hunts
from dmlcts.conformance.sequences.graphs.execute import outputs_on, values_on
from dmlcts.generator.suite.graph_cases.graph_case import graph_cases
from dmlcts.generator.suite.graphs.graph import Graph

FEW = Graphs("core")


class Some(Graphs):
    """The first graphs of level core that are random, and a few families."""

    def names(self) -> list[str]:
        every = super().names()
        return [*every[:6], *[name for name in every if "/random/" in name][:30]]


SOME = Some("core")


@pytest.mark.parametrize("label", FAULTS)
def test_a_fault_is_found_at_level_core(label: str) -> None:
    hunt = hunt_graphs(FEW, (label, None))
    assert hunt.shown
    assert not hunt.is_wrong


@pytest.mark.parametrize("label", [*LEGAL, *AROUND])
def test_what_is_legal_is_no_fault(label: str) -> None:
    hunt = hunt_graphs(SOME, (label, None))
    assert hunt.shown == len(SOME.names())
    assert not hunt.is_wrong, hunt.message


def test_there_are_ten_legal_variations() -> None:
    assert len(LEGAL) + len(AROUND) >= 10


INVISIBLE = {"other-order", "recomputed", "equal-once", "overwritten-when-read", "other-gaps", "unused-left-out"}
"""What changes no byte of an output that the documentation speaks of, if it is done right."""


@pytest.mark.parametrize("label", sorted(LEGAL.keys() - INVISIBLE))
def test_what_rounds_otherwise_changes_results(label: str) -> None:
    changed, right = changed_backend(label), ReferenceBackend()
    assert any(outputs_on(graph, changed) != outputs_on(graph, right) for graph in graphs())


def graphs() -> Iterator[Graph]:
    return (case.graph() for case in graph_cases("core"))


def test_conditions_are_drawn_by_their_number() -> None:
    plan = plan_hunts(1, 6)[-1]
    one, other = (hunt_graphs(Graphs(random=1, seed=11), plan).where for _ in range(2))
    assert one == other != "everywhere"


def hunt(shown: int, found: int, is_legal: bool = False) -> GraphHunt:
    return GraphHunt("label", "everywhere", is_legal, shown, found)


def test_a_twentieth_of_the_faults_may_be_missed_and_no_alarm_be_false() -> None:
    assert are_enough([hunt(3, 1)] * 19 + [hunt(3, 0)])
    assert not are_enough([hunt(3, 1)] * 18 + [hunt(3, 0)])
    assert are_enough([hunt(3, 1), hunt(0, 0)]), "a fault that shows nowhere does not count"
    assert not are_enough([hunt(3, 1)] * 19 + [hunt(9, 1, is_legal=True)])
    assert not are_enough([hunt(0, 0)]), "nothing is shown"


def test_the_command_tells_what_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["faults", "graphs", "--graphs", "6", "--count", "1", "--seed", "5", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert len(told) == len(FAULTS) + len(LEGAL) + len(AROUND) + 1
    assert int(ended.value.code or 0) == (0 if are_enough([GraphHunt(**each) for each in told]) else 1)


def test_a_value_between_nodes_may_be_off_where_it_is_rounded_and_not_where_it_is_moved() -> None:
    """The variation that rounds otherwise leaves results alone that must be exact."""
    changed, right = changed_backend("less-rounded"), ReferenceBackend()
    case = next(case for case in graph_cases("core") if case.id == "graphs/family/joins-of-one/FLOAT32")
    one, other = (values_on(case.graph(), backend) for backend in (changed, right))
    assert all((one[made] == other[made]).all() for made in one)
