"""Graphs on a backend: what a graph is as calls, how it is judged, the search, its command and its page."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.faults.beyond.graphs import FAULTS
from dmlcts.conformance.faults.beyond.planted_graphs import ChangedBackend
from dmlcts.conformance.sequences.call_json import read_calls, write_call
from dmlcts.conformance.sequences.calls import Call, CompileGraph, Reply
from dmlcts.conformance.sequences.graphs.execute import graph_outcome, outputs_on, values_on
from dmlcts.conformance.sequences.graphs.judge import is_undefined, judge_nodes, judge_outputs
from dmlcts.conformance.sequences.graphs.many import Found, name_of, search_graphs, write_results
from dmlcts.conformance.sequences.graphs.script import data_of, edges_of, script_of
from dmlcts.conformance.sequences.graphs.search import Cause, Tally, Trial, families, graph_of, operators_of, search, symptom_of
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.generator.suite.graphs.draw import draw_graph
from dmlcts.generator.suite.graphs.families import FAMILIES, TYPES
from dmlcts.generator.suite.graphs.graph import Graph, Made
from dmlcts.generator.suite.graphs.graph_json import read_graph, write_graph
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.reading.loader import load

Tensor = dict[str, Any]

PLAIN = ("ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT", "ACTIVATION_RELU")


def tensor(*sizes: int, data_type: str = "FLOAT32", **more: Any) -> Tensor:
    return {"DataType": data_type, "Sizes": list(sizes), **more}


def node(name: str, feeds: dict[str, Any], numbers: dict[str, list[float]] | None = None, **fields: Any) -> dict[str, Any]:
    data = {
        field: {"type": fields[field]["DataType"], "sizes": fields[field]["Sizes"], "data": values}
        for field, values in (numbers or {}).items()
    }
    return {"desc": {"Type": name, **fields}, "feeds": feeds, "data": data}


def made(index: int, name: str = "OutputTensor") -> dict[str, Any]:
    return {"node": index, "tensor": name}


def two_nodes() -> Graph:
    """-(a + b), of FLOAT16: nodes in the other order, one input of the graph a constant."""
    four = tensor(4, data_type="FLOAT16")
    nodes = [
        node("ELEMENT_WISE_NEGATE", {"InputTensor": made(1)}, InputTensor=four, OutputTensor=four),
        node(
            "ELEMENT_WISE_ADD",
            {"ATensor": {"given": 0}, "BTensor": {"constant": True}},
            {"ATensor": [1, 2, 3, 4], "BTensor": [10, 20, 30, 40]},
            ATensor=four,
            BTensor=four,
            OutputTensor=four,
        ),
    ]
    return read_graph({"nodes": nodes, "outputs": [made(0)]}, load)


class Changed(ReferenceBackend):
    """The reference, whose results of one operator are changed by a function, in graphs alone or everywhere."""

    def __init__(self, name: str, change: Any) -> None:
        super().__init__()
        self.name, self.change = name, change

    def compute(self, desc: Any, inputs: Any) -> dict[str, Any]:
        found = super().compute(desc, inputs)
        return {name: self.change(array) for name, array in found.items()} if desc.type == self.name else found


# As calls


def test_edges_are_counted_as_a_binding_table_counts() -> None:
    assert edges_of(two_nodes()) == ([(0, 1, 0)], [(1, 0, 0, 0)], [(0, 0, 0)])


def test_constants_are_nodes_behind_the_operators() -> None:
    graph = two_nodes()
    (call,) = (call for call in script_of(graph, *data_of(graph)).calls if isinstance(call, CompileGraph))
    assert call.nodes[2] == np.array([10, 20, 30, 40], np.float16).tobytes()
    assert call.edges == ((1, 0, 0, 0), (2, 0, 1, 1))
    assert (call.inputs, call.outputs) == (1, 1)


def test_the_calls_survive_being_written_and_read() -> None:
    calls = script_of(two_nodes(), *data_of(two_nodes())).calls
    assert read_calls(json.loads(json.dumps([write_call(call) for call in calls])), load) == calls


def test_a_composed_graph_computes_what_its_nodes_do() -> None:
    values = values_on(two_nodes(), ReferenceBackend())
    assert values[Made(0, "OutputTensor")].tolist() == [-11, -22, -33, -44]


def test_a_cycle_and_a_missing_slot_are_refused() -> None:
    graph = two_nodes()
    calls = script_of(graph, *data_of(graph)).calls
    at = next(index for index, call in enumerate(calls) if isinstance(call, CompileGraph))
    for edges, code in ((((1, 0, 0, 0), (0, 0, 1, 1)), "E_INVALIDARG"), (((1, 0, 0, 7), (2, 0, 1, 1)), "E_INVALIDARG")):
        wrong: list[Call] = list(calls)
        given = calls[at]
        assert isinstance(given, CompileGraph)
        wrong[at] = CompileGraph(given.makes, given.nodes, 1, 1, given.input_edges, edges, given.output_edges)
        codes = {reply.code for reply in Performer(ReferenceBackend()).perform(wrong)}
        assert code in codes


# Judged


@pytest.mark.parametrize("number", range(12))
def test_the_reference_is_right(number: int) -> None:
    backend = ReferenceBackend()
    assert graph_outcome(graph_of(1, number, (), "6_4"), backend, backend.describe()).status == PASS


def test_a_node_that_is_wrong_is_named_and_told_from_a_graph_that_is() -> None:
    backend = Changed("ELEMENT_WISE_NEGATE", lambda array: array + 1)
    outcome = graph_outcome(two_nodes(), backend, backend.describe())
    assert outcome.status == FAIL
    assert outcome.message.startswith("node 0 (ELEMENT_WISE_NEGATE): OutputTensor: 4 of 4 elements wrong")
    assert outcome.message.endswith("the operator alone gives it as well")
    assert symptom_of(two_nodes(), outcome) == "ELEMENT_WISE_NEGATE is wrong by itself, too"


def test_what_is_wrong_only_in_a_graph_is_said_to_be() -> None:
    backend = ChangedBackend(FAULTS["constant-ignored"])
    outcome = graph_outcome(two_nodes(), backend, backend.describe())
    assert outcome.message.startswith("node 1 (ELEMENT_WISE_ADD): ")
    assert outcome.message.endswith("the operator alone is right")


def test_each_node_is_judged_on_what_the_one_before_it_gave() -> None:
    """A wrong sum is no fault of what negates it."""
    backend = Changed("ELEMENT_WISE_ADD", lambda array: array * 2)
    outcome = graph_outcome(two_nodes(), backend, backend.describe())
    assert outcome.evidence["node"] == 1


def closed(found: list[float]) -> Any:
    """The outcome where the graph as it is gives this, and each node by itself was right."""
    graph, info = two_nodes(), BackendInfo("any")
    given, constants = data_of(graph)
    values = values_on(graph, ReferenceBackend())
    return judge_outputs(graph, given, constants, values, [np.array(found, np.float16)], info)


def test_a_fused_result_may_be_off_by_what_the_nodes_may_be() -> None:
    assert closed([-11, -22, -33, -44]).status == PASS
    assert closed([-11, -22.02, -33, -44]).status == PASS
    outcome = closed([-11, -22, -33, -45])
    assert outcome.status == FAIL
    assert "output 0 of the graph, OutputTensor of node 0 (ELEMENT_WISE_NEGATE): 1 of 4 elements differ" in outcome.message
    assert symptom_of(two_nodes(), outcome) == "ELEMENT_WISE_NEGATE is other than when every result is an output"


def test_a_fused_result_of_integers_must_be_equal() -> None:
    four = tensor(4, data_type="INT32")
    nodes = [
        node(
            "ELEMENT_WISE_NEGATE", {"InputTensor": {"given": 0}}, {"InputTensor": [1, 2, 3, 4]}, InputTensor=four, OutputTensor=four
        ),
        node("ELEMENT_WISE_ABS", {"InputTensor": made(0)}, InputTensor=four, OutputTensor=four),
    ]
    graph = read_graph({"nodes": nodes, "outputs": [made(1)]}, load)
    given, constants = data_of(graph)
    values = values_on(graph, ReferenceBackend())
    for found, status in (([1, 2, 3, 4], PASS), ([1, 2, 3, 5], FAIL)):
        assert judge_outputs(graph, given, constants, values, [np.array(found, np.int32)], BackendInfo("any")).status == status


def test_nan_and_numbers_far_from_one_are_not_judged() -> None:
    graph = two_nodes()
    for value, undefined in ((np.nan, True), (np.inf, True), (1.0, False)):
        assert is_undefined(graph, 0, {"InputTensor": np.full(4, value, np.float16)}) == undefined
    assert is_undefined(graph, 0, {"InputTensor": np.full(4, 1e30, np.float32)})
    assert not is_undefined(graph, 1, {"ATensor": np.full(4, np.nan, np.float16)}), "what the graph is given is as in any case"


def test_every_node_that_has_a_defined_result_is_judged() -> None:
    graph = two_nodes().with_outputs_of_all()
    given, constants = data_of(graph)
    outcome = judge_nodes(graph, given, constants, values_on(graph, ReferenceBackend()), BackendInfo("any"))
    assert outcome.evidence == {"judged": 2}


def test_a_search_counts_the_nodes_that_were_judged() -> None:
    backend = ReferenceBackend()
    found = search(backend, backend.describe(), 9, iter(range(20)), (), 1e12)
    assert found.passed_nodes == sum(found.nodes.values())
    assert 0.8 * found.passed_nodes < found.judged < found.passed_nodes


def test_bytes_around_an_output_are_looked_at() -> None:
    class Beside(ReferenceBackend):
        def perform(self, calls: list[Call]) -> list[Reply]:
            replies = Performer(ReferenceBackend()).perform(calls)
            last = max(index for index, call in enumerate(calls[:-2]) if type(call).__name__ == "Read")
            value = replies[last].value
            replies[last] = Reply(value=b"\x01" + value[1:])
            return replies

    backend = Beside()
    assert graph_outcome(two_nodes(), backend, backend.describe()).message == "bytes around output 1 of the graph were overwritten"


def test_a_program_that_performs_no_sequences_is_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.conformance.sequences.graphs.execute.perform_on", lambda backend, timeout=None: None)
    backend = ReferenceBackend()
    assert graph_outcome(two_nodes(), backend, backend.describe()).status == UNSUPPORTED


def test_what_is_beyond_the_backend_is_unsupported() -> None:
    backend = ReferenceBackend()
    old, older = BackendInfo("old", feature_level="6_1"), BackendInfo("older", feature_level="1_0")
    assert graph_outcome(two_nodes(), backend, old).message == "constant nodes need feature level 6_2"
    plain = graph_of(1, 3, ("ELEMENT_WISE_NEGATE",), "6_1")
    assert "needs feature level " in graph_outcome(plain, backend, older).message
    few = BackendInfo("few", operators=("ELEMENT_WISE_NEGATE",))
    outcome = graph_outcome(two_nodes(), backend, few)
    assert (outcome.status, outcome.message) == (UNSUPPORTED, "node 1 (ELEMENT_WISE_ADD): few does not claim ELEMENT_WISE_ADD")


# The search


def call(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> tuple[int, str]:
    """The exit code and what the command prints."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out + captured.err


@pytest.mark.parametrize(
    ("label", "nodes", "elements"),
    [("constant-ignored", 1, 2), ("inputs-exchanged", 1, 2), ("other-output", 2, 4), ("overwritten-while-read", 3, 1)],
)
def test_a_planted_fault_comes_down_to_the_fewest_nodes_and_elements(label: str, nodes: int, elements: int) -> None:
    backend = ChangedBackend(FAULTS[label])
    every = (search(backend, backend.describe(), 21, iter([number]), (), 1e12).failures for number in range(30))
    failure = next(failures[0] for failures in every if failures)
    graph = read_graph(failure.graph, load)
    assert len(graph.nodes) == nodes
    assert max(tensor.count for node in graph.nodes for _, tensor in node.desc.tensors()) <= elements


def test_a_fault_of_an_attribute_and_a_size_keeps_both_and_nothing_else() -> None:
    class Wrong(ReferenceBackend):
        def compute(self, desc: Any, inputs: Any) -> dict[str, Any]:
            found = super().compute(desc, inputs)
            is_hit = desc.type == "GEMM" and desc.fields["TransB"] == "TRANSPOSE" and found["OutputTensor"].size >= 4
            return {name: array + 1 for name, array in found.items()} if is_hit else found

    backend = Wrong()
    found = search(backend, backend.describe(), 2, iter(range(25)), ("GEMM",), 1e12)
    assert found.failures
    for failure in found.failures:
        (node,) = failure.graph["nodes"]
        desc = node["desc"]
        assert (desc["TransB"], desc.get("FusedActivation")) == ("TRANSPOSE", None)
        assert math.prod(desc["OutputTensor"]["Sizes"]) == 4
        assert math.prod(desc["ATensor"]["Sizes"]) * math.prod(desc["BTensor"]["Sizes"]) in (4, 16), "with one product in each sum"


def test_a_known_cause_does_not_hide_another_one() -> None:
    """Additions are wrong, and so are subtractions, in the same way: a graph with both is looked into without what is known."""
    known = [Cause("X is wrong", frozenset({"ELEMENT_WISE_ADD"}), kept_before=3)]
    backend = Changed("ELEMENT_WISE_SUBTRACT", lambda array: array + 1 if array.dtype.kind == "f" else array)
    backend_info = backend.describe()
    trial = Trial(backend, backend_info, None)
    graph = next(
        graph
        for number in range(300)
        if {"ELEMENT_WISE_ADD", "ELEMENT_WISE_SUBTRACT"} <= operators_of(graph := draw_graph(Random(number), 6, among=PLAIN))
        and trial.outcome(graph).status == FAIL
    )
    symptom = symptom_of(graph, trial.outcome(graph))
    known[0].symptom = symptom
    found = Tally(causes=known)
    trial.add_failure(found, "1-1", graph, trial.outcome(graph))
    assert [(cause.operators, cause.labels) for cause in found.causes] == [
        (frozenset({"ELEMENT_WISE_ADD"}), []),
        (frozenset({"ELEMENT_WISE_SUBTRACT"}), ["1-1"]),
    ]
    known_too = Tally(causes=[Cause(symptom, frozenset({"ELEMENT_WISE_SUBTRACT"}), kept_before=3)])
    trial.add_failure(known_too, "1-2", graph, trial.outcome(graph))
    assert [(cause.labels, cause.failures) for cause in known_too.causes] == [(["1-2"], [])]


def test_causes_of_parts_are_one_where_their_simplest_graphs_share_an_operator() -> None:
    one, other = Tally(), Tally()
    one.add_failures("refused", frozenset({"SLICE1", "CAST"}), ["1-1"], [])
    other.add_failures("refused", frozenset({"SLICE1", "JOIN"}), ["1-2", "1-3"], [])
    other.add_failures("refused", frozenset({"GEMM"}), ["1-4"], [])
    one.add(other)
    assert [(cause.title, len(cause.labels)) for cause in one.causes] == [("refused (SLICE1)", 3), ("refused (GEMM)", 1)]


def test_a_search_keeps_the_simplest_graph_of_each_symptom() -> None:
    backend = Changed("ELEMENT_WISE_ADD", lambda array: array + 1 if array.dtype.kind == "f" else array)
    found = search(backend, backend.describe(), 3, iter(range(12)), ("ELEMENT_WISE_ADD",), 1e12)
    assert found.graphs == 12
    assert found.symptoms["ELEMENT_WISE_ADD is wrong by itself, too"] >= 3
    kept = [failure for failure in found.failures if failure.symptom == "ELEMENT_WISE_ADD is wrong by itself, too"]
    assert len(kept) == 3
    assert all([each["desc"]["Type"] for each in failure.graph["nodes"]] == ["ELEMENT_WISE_ADD"] for failure in kept)


def test_a_graph_that_no_reference_computes_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(graph: Graph, backend: object) -> None:
        raise ValueError("the graph does not run")

    monkeypatch.setattr("dmlcts.conformance.sequences.graphs.search.values_on", fail)
    backend = Changed("ELEMENT_WISE_ADD", lambda array: array + 1 if array.dtype.kind == "f" else array)
    found = search(backend, backend.describe(), 3, iter(range(12)), ("ELEMENT_WISE_ADD",), 1e12)
    assert found.failures
    assert any(len(failure.graph["nodes"]) > 1 for failure in found.failures)


def test_a_region_that_is_no_number_breaks_no_reference() -> None:
    assert graph_outcome(graph_of(5, 841, (), "6_4"), ReferenceBackend(), ReferenceBackend().describe()).status == PASS


def test_a_search_in_parts_counts_each_graph_once(tmp_path: Path) -> None:
    told: list[int] = []
    info, found, complete = search_graphs("reference", 4, ("GEMM",), 1e12, 8, 0, 30, lambda _, tally: told.append(tally.graphs))
    assert (found.graphs, sum(found.statuses.values()), complete, told) == (8, 8, True, [8])
    write_results(Found(name_of(info), (4,), found, complete), tmp_path)
    data = json.loads((tmp_path / "graphs.json").read_text(encoding="utf-8"))
    assert data["statuses"] == {"pass": 8}
    assert "None failed." in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_the_families_come_first() -> None:
    backend = ReferenceBackend()
    found = search(backend, backend.describe(), 1, iter(range(-len(FAMILIES) * len(TYPES), 0)), (), 1e12)
    assert (found.graphs, found.statuses) == (len(families("6_4")), {"pass": len(families("6_4"))})
    assert found.graphs == len(FAMILIES) * len(TYPES)
    assert found.nodes["GEMM"] > 20


def test_a_feature_level_has_the_families_whose_operators_it_has() -> None:
    names = {name for name, _ in families("1_0")}
    assert names
    assert len(names) < len(FAMILIES) * len(TYPES)
    assert not any(name.startswith("attention") for name in names)


def test_tallies_add_up() -> None:
    one, other = Tally(graphs=1, judged=3), Tally(graphs=2, judged=4)
    one.statuses.update(["pass"])
    other.statuses.update(["pass", "fail"])
    one.add(other)
    assert (one.graphs, one.judged, one.statuses) == (3, 7, {"pass": 2, "fail": 1})


def test_a_failing_search_writes_its_graphs_and_the_command_runs_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = Changed("ELEMENT_WISE_ADD", lambda array: array + 1 if array.dtype.kind == "f" else array)
    found = search(backend, backend.describe(), 3, iter(range(6)), ("ELEMENT_WISE_ADD",), 1e12)
    write_results(Found(name_of(backend.describe()), (3,), found, complete=True), tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<g class="wrong">' in page
    assert "ELEMENT_WISE_ADD is wrong by itself, too" in page
    files = sorted(str(file) for file in (tmp_path / "graphs").iterdir())
    code, output = call(capsys, ["fuzz", *(part for file in files for part in ("--graph", file))])
    assert code == 0, output
    assert output.count(": pass") == len(files) > 0


def test_a_graph_that_fails_gives_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_graph(two_nodes())
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    code, output = call(capsys, ["fuzz", "--graph", str(file), "--backend", "inprocess:wrong_in_graphs:Wrong"])
    assert code == 1, output
    assert "node 1 (ELEMENT_WISE_ADD)" in output


def test_the_reference_is_right_in_the_graphs_that_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(str(file) for file in (Path(__file__).parents[3] / "docs" / "measured" / "graphs").glob("*.json"))
    code, output = call(capsys, ["fuzz", *(part for file in files for part in ("--graph", file))])
    assert code == 0, output
    assert output.count(": pass") == len(files) > 5


def test_a_drawn_graph_runs_again_by_its_seed_and_number(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = call(capsys, ["fuzz", "GEMM", "--graph", "2-1"])
    assert (code, output.strip()) == (0, "2-1: pass")
    code, output = call(capsys, ["fuzz", "--graph", "no-such-file"])
    assert code == 2
    assert "no-such-file: " in output


def test_a_wrong_file_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "graph.json"
    file.write_text('{"nodes": []}', encoding="utf-8")
    code, output = call(capsys, ["fuzz", "--graph", str(file)])
    assert code == 2
    assert f"{file}: a graph has lists of nodes and of outputs" in output


def test_the_command_searches_for_a_while(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    code, output = call(capsys, ["fuzz", "GEMM", "--graphs", "--seed", "2", "--minutes", "0.02", "--out", str(out)])
    assert code == 0, output
    assert json.loads((out / "graphs.json").read_text(encoding="utf-8"))["nodes"]["GEMM"] >= 1


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    code, output = call(capsys, ["fuzz", "--graphs", "--minutes", "0.01", "--out", str(tmp_path)])
    assert code == 2
    assert "holds other files" in output


def test_outputs_tell_what_kept_a_graph_from_running() -> None:
    class Refusing(ReferenceBackend):
        def perform(self, calls: list[Call]) -> list[Reply]:
            return [Reply("E_FAIL") if isinstance(call, CompileGraph) else Reply() for call in calls]

    assert "(compile-graph) gave E_FAIL" in str(outputs_on(two_nodes(), Refusing()))


def test_graphs_of_different_numbers_differ() -> None:
    graphs = [json.dumps(write_graph(graph_of(1, number, (), "6_4"))) for number in range(6)]
    assert len(set(graphs)) == 6
