"""A search among graphs prefers what reaches new kernels, where the backend names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import dmlcts
from tiled import Tiled

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.sequences.graphs.reached import Reached
from dmlcts.conformance.sequences.graphs.search import graph_of, search
from dmlcts.generator.suite.graphs.graph_json import write_graph


def forms(*names: str) -> frozenset[tuple[str, int]]:
    return frozenset((name, 1) for name in names)


def test_a_changed_graph_begins_as_the_one_that_it_changes() -> None:
    graph = graph_of(1, 3, (), "6_4")
    changes = [graph_of(1, 3, (), "6_4", change=number) for number in range(20)]
    types = {node.desc.type for node in graph.nodes}
    assert all(len(each.nodes) == len(graph.nodes) for each in changes)
    assert any(types & {node.desc.type for node in each.nodes} for each in changes)
    assert len({str(write_graph(each)) for each in changes}) == 20
    assert str(write_graph(changes[4])) == str(write_graph(graph_of(1, 3, (), "6_4", change=4)))


def test_graphs_that_reached_a_new_kernel_are_changed_and_no_others() -> None:
    reached = Reached()
    assert reached.parent(1, 10) is None
    reached.add(forms("a"), 7, is_changed=False)
    reached.add(forms("a"), 8, is_changed=False)
    reached.add(forms("a", "b"), -1, is_changed=False)  # a family
    assert reached.parents == [7]
    assert {reached.parent(1, number) for number in range(100)} == {7, None}
    assert reached.kernels == 2


def test_what_finds_more_is_done_more_often() -> None:
    few, many = Reached(parents=[1]), Reached(parents=[1])
    few.drawn, few.changed = [True] * 100, [False] * 100
    many.drawn, many.changed = [True] * 500 + [False] * 100, [True] * 100
    assert 5 < sum(few.parent(1, number) is not None for number in range(200)) < 40
    assert 160 < sum(many.parent(1, number) is not None for number in range(200)) < 195


def test_parts_of_a_search_are_put_together() -> None:
    known = Reached()
    known.add(forms("a"), 1, is_changed=False)
    part = known.copy()
    part.add(forms("b"), 2, is_changed=True)
    assert known.forms == {("a", 1)}
    known.extend(part.new_since(known))
    assert (known.forms, known.parents, known.drawn, known.changed) == ({("a", 1), ("b", 1)}, [1, 2], [True], [True])


def test_a_search_names_the_kernels_and_the_graphs_that_it_changed() -> None:
    backend = Tiled()
    found = search(backend, backend.describe(), 3, iter(range(40)), (), 1e12)
    assert found.reached.kernels > 50
    assert len(found.reached.drawn) + len(found.reached.changed) == 40
    assert len(found.reached.changed) > 5
    plain = search(ReferenceBackend(), ReferenceBackend().describe(), 3, iter(range(10)), (), 1e12)
    assert (plain.reached.kernels, plain.reached.parents) == (0, [])


def test_a_changed_graph_is_run_again_by_its_name(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    assert dmlcts("fuzz", "--graph", "3-5-11", "--graph", "3-5") == 0
    assert capsys.readouterr().out.splitlines() == ["3-5-11: pass", "3-5: pass"]
