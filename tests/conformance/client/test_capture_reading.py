"""The reader of captures: what a good one says, and what is wrong with others, by file, line and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import captures
import pytest
from captures import DataWriter, Line, round_client, write

from dmlcts.conformance.client.capture import reading
from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.capture.records import OUTSIDE, Compiled, Constant, Graph, Initializer, Operator, Part
from dmlcts.conformance.client.summary import summary
from dmlcts.spec.model.desc import TensorDesc

VOLATILE = 4


def test_a_dispatch_is_read_with_desc_and_bindings(tmp_path: Path) -> None:
    capture = read_capture(write(tmp_path, round_client()))
    (execution,) = capture.executions
    assert isinstance(execution.dispatchable, Compiled)
    (operator,) = execution.dispatchable.operators
    assert operator.desc is not None
    assert operator.desc.fields["RoundingMode"] == "TOWARD_ZERO"
    assert operator.desc.fields["InputTensor"] == TensorDesc("FLOAT32", (3,))
    assert execution.bindings.inputs == (Part(1, 0, 12),)
    assert (execution.number, execution.line, capture.remarks) == (1, 8, [])


def test_a_line_that_is_cut_is_left_out_and_said(tmp_path: Path) -> None:
    capture = read_capture(write(tmp_path, round_client(), cut=b'{"event":"exec'))
    assert len(capture.executions) == 1
    assert capture.remarks == ["line 10 is cut: the client ended while it was written"]
    whole = read_capture(write(tmp_path, round_client()[:-1], cut=captures.text_of(round_client()[-1:])[:-1]))
    assert whole.executions == [], "without its end, a number in it may be cut too"


def test_volatile_descriptors_count_as_they_are_when_executed(tmp_path: Path) -> None:
    for flags, expected in ((0, 1), (VOLATILE, 9)):
        lines = round_client()
        lines[3]["flags"] = flags
        lines.insert(-1, {"event": "bind", "table": 4, "inputs": [captures.part(9, 12)]})
        (execution,) = read_capture(write(tmp_path, lines)).executions
        (bound,) = execution.bindings.inputs
        assert isinstance(bound, Part)
        assert bound.buffer == expected


def test_a_table_that_is_reset_changes_no_dispatch_before(tmp_path: Path) -> None:
    lines = round_client()
    lines[3]["flags"] = VOLATILE
    lines[-1:-1] = [captures.table(6, 3), {"event": "bind", "table": 6, "inputs": [captures.part(9, 12)]}]
    (execution,) = read_capture(write(tmp_path, lines)).executions
    assert execution.bindings.inputs == (Part(1, 0, 12),)


def test_a_list_that_is_executed_twice_gives_two_executions(tmp_path: Path) -> None:
    lines = [*round_client(), {"event": "execute", "queue": 1, "first": 2, "dispatches": [5]}]
    assert [(e.number, e.dispatch) for e in read_capture(write(tmp_path, lines)).executions] == [(1, 5), (2, 5)]


def test_without_queues_each_dispatch_counts_once(tmp_path: Path) -> None:
    lines = round_client()[:-1]
    lines[1]["executions"] = False
    capture = read_capture(write(tmp_path, lines))
    assert len(capture.executions) == 1
    assert "each dispatch counts" in capture.remarks[0]


def test_a_graph_is_read_with_names_constants_and_edges(tmp_path: Path) -> None:
    (compiled,) = read_capture(write(tmp_path, graph_client())).compiled
    graph = compiled.content
    assert isinstance(graph, Graph)
    assert [node.name for node in graph.nodes] == ["round", "weights"]
    assert isinstance(graph.nodes[0].content, Operator)
    assert isinstance(graph.nodes[1].content, Constant)
    assert [(edge.source, edge.target) for edge in graph.edges] == [((1, 0), (0, 0)), ((0, 0), (OUTSIDE, 0))]


def graph_client() -> list[Line]:
    graph = {
        "event": "graph", "id": 3, "device": 1, "flags": 0, "InputCount": 0, "OutputCount": 1,
        "Nodes": [{"Operator": 2, "Name": "round"}, {"Constant": DataWriter().piece(b"abc"), "Name": "weights"}],
        "InputEdges": [],
        "IntermediateEdges": [{"FromNodeIndex": 1, "FromNodeOutputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 0}],
        "OutputEdges": [{"FromNodeIndex": 0, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0}],
    }  # fmt: skip
    return [*round_client()[:3], graph]


def test_a_refused_graph_says_how_many_nodes_it_had(tmp_path: Path) -> None:
    counts = {"inputs": 2, "outputs": 0, "nodes": 0, "input edges": 0, "output edges": 0, "intermediate edges": 0}
    refused = {"event": "graph", "failed": "0x80070057", "device": 1, "flags": 0, "counts": counts}
    capture = read_capture(write(tmp_path, [*round_client(), refused]))
    assert [(refusal.what, refusal.counts) for refusal in capture.refusals] == [("graph", counts)]
    (line,) = (line for line in summary(capture) if line.startswith("failed: "))
    assert line.startswith("failed: 1 graph of 2 inputs, 0 outputs, 0 nodes, ")
    with pytest.raises(CaptureError, match=r"a\.capture:10:"):
        read_capture(write(tmp_path, [*round_client(), {**refused, "counts": {"nodes": -1}}]))


def test_what_failed_is_kept_apart_and_its_desc_may_be_wrong(tmp_path: Path) -> None:
    wrong = {"event": "operator", "failed": "0x80070057", "device": 1, "desc": {"Type": "NO_SUCH"}}
    capture = read_capture(write(tmp_path, [*round_client(), wrong]))
    assert [(refusal.what, refusal.code, refusal.line) for refusal in capture.refusals] == [("operator", "0x80070057", 10)]
    assert len(capture.operators) == 1


def test_an_operator_of_an_unknown_type_is_named_by_its_number(tmp_path: Path) -> None:
    lines = [*captures.head(), {"event": "operator", "id": 2, "device": 1, "operator_type": 999}]
    (operator,) = read_capture(write(tmp_path, lines)).operators
    assert operator.name == "operator type 999"


def test_the_inputs_of_an_initializer_are_arrays(tmp_path: Path) -> None:
    lines = round_client()[:4]
    lines += [
        {"event": "initializer", "id": 4, "device": 1, "compiled": [3]},
        captures.table(5, 4),
        {"event": "bind", "table": 5, "inputs": [[captures.part(1, 12), None]]},
        {"event": "dispatch", "id": 6, "dispatchable": 4, "table": 5, "list": 1},
        {"event": "execute", "queue": 1, "first": 1, "dispatches": [6]},
        {"event": "data", "execution": 1, "inputs": [[DataWriter().piece(bytes(12)), None]]},
    ]
    (execution,) = read_capture(write(tmp_path, lines)).executions
    assert isinstance(execution.dispatchable, Initializer)
    assert execution.bindings.inputs == ((Part(1, 0, 12), None),)
    assert [type(content) for content in execution.inputs] == [tuple]


def test_the_summary_counts_operators_of_executions(tmp_path: Path) -> None:
    lines = [*round_client(), {"event": "execute", "queue": 1, "first": 2, "dispatches": [5]}]
    text = "\n".join(summary(read_capture(write(tmp_path, lines))))
    assert "     2 ELEMENT_WISE_ROUND" in text
    assert "executed: 2 dispatches, 0 of them initializations" in text


# What is wrong


def changed(line: int, **changes: Any) -> Callable[[list[Line]], None]:
    def change(lines: list[Line]) -> None:
        lines[line].update(changes)

    return change


def added(line: Line) -> Callable[[list[Line]], None]:
    return lambda lines: lines.append(line)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(0, version=2), "a.capture:1: version: 1 was expected"),
        (changed(0, event="device"), "a.capture:1:"),
        (changed(2, device=7), "a.capture:3: device: 7 is no device of the lines before"),
        (changed(2, id=1), "a.capture:3: id: 1 is given twice"),
        (changed(2, desc={"Type": "ELEMENT_WISE_ROUND", "InputTensr": {}}), "a.capture:3: desc: no field InputTensr"),
        (changed(2, desc={"Type": "ELEMENT_WISE_ROUND", "RoundingMode": "UP"}), "a.capture:3: desc.RoundingMode: "),
        (changed(2, failed="0x80070057"), "a.capture:3:"),
        (changed(3, operator=3), "a.capture:4: operator: 3 is no operator of the lines before"),
        (changed(3, flags=-1), "a.capture:4: flags: -1"),
        (changed(4, dispatchable=2), "a.capture:5: dispatchable: 2 is neither"),
        (changed(5, table=3), "a.capture:6: table: 3 is no binding table of the lines before"),
        (changed(5, inputs=[{"buffer": 1, "offset": 0}]), "a.capture:6: inputs[0]"),
        (changed(7, table=5), "a.capture:8: table: 5 is no binding table of the lines before"),
        (changed(8, first=2), "a.capture:9: first: 2, but 0 executions came before"),
        (changed(8, dispatches=[4]), "a.capture:9: dispatches[0]: 4 is no dispatch of the lines before"),
        (changed(8, what="?"), "a.capture:9: what: is unknown"),
        (added({"event": "capture", "version": 1, "program": "", "data": "none", "limit": 1, "every": 1}), "a.capture:10: event: a second capture"),
        (added({"event": "data", "execution": 2, "inputs": []}), "a.capture:10: execution: 2, but there were only 1"),
        (added({"event": "data", "execution": 1, "inputs": []}), "a.capture:10: inputs: bytes of 0 bindings, but 1 were bound"),
        (added({"event": "data", "execution": 1, "inputs": [{"size": 8, "sha256": "0" * 64}]}), "a.capture:10: inputs[0]: its bytes are not as many"),
        (added({"event": "data", "execution": 1, "inputs": [[]]}), "a.capture:10: inputs[0]: its bytes are not as many"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_line_and_field(change: Callable[[list[Line]], None], message: str, tmp_path: Path) -> None:
    lines = round_client()
    change(lines)
    with pytest.raises(CaptureError) as error:
        read_capture(write(tmp_path, lines))
    assert message in str(error.value).replace("\\", "/")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({"IntermediateEdges": [{"FromNodeIndex": 2, "FromNodeOutputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 0}]}, "FromNodeIndex: 2, but there are only 2"),
        ({"InputEdges": [{"GraphInputIndex": 0, "ToNodeIndex": 0, "ToNodeInputIndex": 1}]}, "GraphInputIndex: 0, but there are only 0"),
        ({"OutputEdges": [{"FromNodeIndex": 0, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0}] * 2}, "has two edges"),
        ({"Nodes": [{"Operator": 3}]}, "Nodes[0].Operator: 3 is no operator"),
        ({"Nodes": None}, "Nodes: "),
    ],
)  # fmt: skip
def test_a_graph_that_does_not_hold_together_is_refused(edges: Line, message: str, tmp_path: Path) -> None:
    lines = graph_client()
    lines[-1].update(edges)
    with pytest.raises(CaptureError, match=r"a\.capture:4: ") as error:
        read_capture(write(tmp_path, lines))
    assert message in str(error.value)


def test_a_file_without_a_whole_line_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="it is empty"):
        read_capture(write(tmp_path, []))
    with pytest.raises(CaptureError, match="cut within its first line"):
        read_capture(write(tmp_path, [], cut=b'{"event":"capture"'))
    with pytest.raises(CaptureError, match="No such file"):
        read_capture(tmp_path / "none")


def test_limits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, round_client())
    for name, value, message in (
        ("LARGEST", 100, "too large"),
        ("LONGEST", 50, ":1: a line of more than 50 bytes"),
        ("MOST_EXECUTIONS", 0, ":9: dispatches: more than 0 executions"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(reading, name, value)
            with pytest.raises(CaptureError, match=message):
                read_capture(file)


# The bytes


def with_data(folder: Path) -> tuple[Path, bytes]:
    writer, data = DataWriter(), bytes(range(12))
    writer.piece(b"before")
    line = {"event": "data", "execution": 1, "inputs": [writer.piece(data)]}
    return write(folder, [*round_client(), line], writer.bytes), data


def test_bytes_are_those_that_were_written(tmp_path: Path) -> None:
    file, data = with_data(tmp_path)
    capture = read_capture(file)
    with CapturedData(capture) as bytes_of:
        (piece,) = capture.executions[0].inputs
        assert bytes_of.read(piece) == data  # type: ignore[arg-type]


def test_bytes_that_changed_or_are_missing_are_refused(tmp_path: Path) -> None:
    file, _ = with_data(tmp_path)
    capture = read_capture(file)
    (piece,) = capture.executions[0].inputs
    whole = capture.data_file.read_bytes()
    for data, message in (
        (whole[:-1] + b"\0", "have changed since they were captured"),
        (whole[:-1], "was it cut"),
    ):
        capture.data_file.write_bytes(data)
        with CapturedData(capture) as bytes_of, pytest.raises(CaptureError, match=message):
            bytes_of.read(piece)  # type: ignore[arg-type]
    capture.data_file.unlink()
    with CapturedData(capture) as bytes_of, pytest.raises(CaptureError, match="goes with it"):
        bytes_of.read(piece)  # type: ignore[arg-type]
