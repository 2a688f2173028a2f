"""A capture's dispatches once more: right ones pass, a wrong one is named, and bytes flow as they did in the client."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import DataWriter, Line, head, operator, part, round_client, table, tensor, write
from click.testing import CliRunner
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.replay.flow import Flow, Step
from dmlcts.conformance.client.replay.judging import Rules, captured_info
from dmlcts.conformance.client.replay.replay import Replayed, in_words, replay, verdict_lines
from dmlcts.conformance.client.replay.slots import INPUT, OUTPUT, slots
from dmlcts.conformance.commands.cli import dmlcts
from dmlcts.conformance.faults.legal.legal import legal_of
from dmlcts.conformance.faults.model.mutant import Mutant, MutantBackend
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.reports.record.record import FAIL, NOT_RUN, PASS, WAIVED
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]
TODAY = date(2027, 1, 1)


def replayed(file: Path, backend: ReferenceBackend | None = None, waivers: tuple[Waiver, ...] = ()) -> Replayed:
    info = captured_info("1.15.4") if backend is None else backend.describe()
    return replay(read_capture(file), Rules(backend, info), waivers, TODAY, lambda execution: True, lambda number, judged: None)


class WrongAt(ReferenceBackend):
    """The reference, but for its n-th dispatch, whose first output is changed."""

    def __init__(self, number: int, change: Callable[[Array], Array]) -> None:
        super().__init__()
        self.left, self.change = number, change

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        self.left -= 1
        if self.left == 0:
            name = dispatch.outputs[0]
            desc, binding = dispatch.desc.tensor(name), dispatch.bindings[name]
            buffer = dispatch.resources[binding.resource]
            write_tensor(buffer, desc, self.change(read_tensor(buffer, desc, binding.offset)), binding.offset)


# Places


def test_an_absent_tensor_has_a_place() -> None:
    gemm = load("GEMM")
    desc = OperatorDesc("GEMM", {"ATensor": TensorDesc("FLOAT32", (1, 1, 2, 2)), "BTensor": TensorDesc("FLOAT32", (1, 1, 2, 2)), "CTensor": None, "OutputTensor": TensorDesc("FLOAT32", (1, 1, 2, 2))})  # fmt: skip
    assert slots(gemm, desc, INPUT) == ("ATensor", "BTensor", None)
    assert slots(gemm, desc, OUTPUT) == ("OutputTensor",)
    lstm = load("LSTM")
    names = slots(lstm, OperatorDesc("LSTM", {}), INPUT)
    assert len(names) == sum(field.is_tensor and field.kind == "input" for field in lstm.fields)


def test_each_tensor_of_an_array_has_a_place() -> None:
    one = TensorDesc("FLOAT32", (1,))
    desc = OperatorDesc("JOIN", {"InputTensors": (one, one), "OutputTensor": TensorDesc("FLOAT32", (2,))})
    assert slots(load("JOIN"), desc, INPUT) == ("InputTensors[0]", "InputTensors[1]")


# One operator


def rounding(values: list[float], result: list[float], folder: Path) -> Path:
    writer = DataWriter()
    data = {
        "inputs": [writer.piece(np.array(values, "<f4").tobytes())],
        "outputs": [writer.piece(np.array(result, "<f4").tobytes())],
    }
    return write(folder, [*round_client(), {"event": "data", "execution": 1, **data}], writer.bytes)


def test_captured_outputs_are_judged_without_a_backend(tmp_path: Path) -> None:
    right = replayed(rounding([1.5, -1.5, 7.0], [1.0, -1.0, 7.0], tmp_path))
    assert [result.status for _, result, _ in right.steps] == [PASS]
    wrong = replayed(rounding([1.5, -1.5, 7.0], [1.0, -2.0, 7.0], tmp_path))
    assert "\n".join(verdict_lines(wrong)).startswith(
        "1 dispatches: 0 right, 1 wrong\nThe first wrong dispatch is 1 of 1: ELEMENT_WISE_ROUND, FLOAT32 3 to 3\n"
        "  ELEMENT_WISE_ROUND/FLOAT32/replay/1: "
    )
    assert wrong.steps[0][1].mismatches[0].index == (1,)


def test_without_captured_outputs_nothing_is_judged_and_that_is_said(tmp_path: Path) -> None:
    found = replayed(write(tmp_path, round_client()))
    assert (found.steps, found.unseen) == ([], 1)
    assert next(iter(verdict_lines(found))) == "0 dispatches: 0 right, 0 wrong, 1 without captured outputs"


def test_a_backend_gets_the_captured_inputs_or_random_ones(tmp_path: Path) -> None:
    seen: list[Array] = []

    class Watched(ReferenceBackend):
        def compute(self, desc: OperatorDesc, inputs: Any) -> dict[str, Array]:
            seen.append(inputs["InputTensor"])
            return super().compute(desc, inputs)

    assert replayed(rounding([1.5, -1.5, 7.0], [0, 0, 0], tmp_path), Watched()).steps[0][1].status == PASS
    assert seen[0].tolist() == [1.5, -1.5, 7.0]
    (tmp_path / "a.capture.data").unlink()
    assert replayed(write(tmp_path, round_client()), Watched()).steps[0][0].drawn == ("InputTensor",)
    assert len(np.unique(seen[1])) == 3


def test_an_execution_that_repeats_another_is_left_out(tmp_path: Path) -> None:
    lines = [*round_client(), {"event": "execute", "queue": 1, "first": 2, "dispatches": [5]}]
    found = replayed(write(tmp_path, lines), ReferenceBackend())
    assert (len(found.steps), found.repeated) == (1, 1)


def test_a_waiver_applies_to_a_replay(tmp_path: Path) -> None:
    file = rounding([1.5, -1.5, 7.0], [1.0, -2.0, 7.0], tmp_path)
    waiver = Waiver("ELEMENT_WISE_ROUND/FLOAT32/replay/*", "known", "#1")
    found = replayed(file, waivers=(waiver,))
    assert [result.status for _, result, _ in found.steps] == [WAIVED]
    assert found.wrong() == []


def test_an_operator_that_the_suite_does_not_know_is_not_judged(tmp_path: Path) -> None:
    lines = round_client()
    lines[2] = {"event": "operator", "id": 2, "device": 1, "operator_type": 999}
    found = replayed(write(tmp_path, lines), ReferenceBackend())
    assert [(result.status, result.message) for _, result, _ in found.steps] == [
        (NOT_RUN, "this suite does not know operator type 999")
    ]


def test_a_desc_that_no_rule_allows_is_said_so(tmp_path: Path) -> None:
    lines = round_client()
    lines[2]["desc"]["OutputTensor"] = tensor(4)
    found = replayed(write(tmp_path, lines), ReferenceBackend())
    ((_, result, notes),) = found.steps
    assert notes[0].startswith("no rule allows this desc: ")
    assert result.status != PASS


def test_bytes_that_are_fewer_than_the_desc_reads_are_said_so(tmp_path: Path) -> None:
    lines, writer = round_client(), DataWriter()
    lines[5]["inputs"] = [part(1, 8)]
    lines.append({"event": "data", "execution": 1, "inputs": [writer.piece(bytes(8))]})
    (step,) = replayed(write(tmp_path, lines, writer.bytes), ReferenceBackend()).steps
    assert step[1].status == NOT_RUN
    assert "the buffer is too small" in step[1].message


@pytest.mark.parametrize("strides", [None, [0]])
def test_a_desc_of_boundless_size_is_not_run_and_that_is_said(strides: list[int] | None, tmp_path: Path) -> None:
    """Also where all of its elements are one, so that the bytes are there."""
    lines = round_client()
    lines[2]["desc"]["InputTensor"] = {"DataType": "FLOAT32", "Sizes": [1 << 31], **({"Strides": strides} if strides else {})}
    lines[2]["desc"]["OutputTensor"] = {"DataType": "FLOAT32", "Sizes": [1 << 31]}
    (step,) = replayed(write(tmp_path, lines), ReferenceBackend()).steps
    assert step[1].status == NOT_RUN
    assert "need 34,359,738,368 bytes; at most 4,294,967,296 are run" in step[1].message


def test_a_capture_that_is_cut_anywhere_is_replayed_as_far_as_it_goes_or_refused_with_its_name(tmp_path: Path) -> None:
    file = rounding([1.5, -1.5, 7.0], [1.0, -1.0, 7.0], tmp_path)
    text, statuses, said = file.read_bytes(), set[tuple[str, ...]](), list[str]()
    for length in range(0, len(text), 7):
        file.write_bytes(text[:length])
        try:
            statuses.add(tuple(result.status for _, result, _ in replayed(file, ReferenceBackend()).steps))
        except CaptureError as error:
            said.append(str(error))
    assert statuses == {(), (PASS,)}
    assert said
    assert all(message.startswith(str(file)) for message in said)


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data[:-1] + b"!"], ids=["cut", "changed"])
def test_bytes_that_are_not_those_captured_end_in_an_error_that_says_where(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = rounding([1.5, -1.5, 7.0], [1.0, -1.0, 7.0], tmp_path)
    data = tmp_path / "a.capture.data"
    data.write_bytes(change(data.read_bytes()))
    done = CliRunner().invoke(dmlcts, ["replay", str(file), "--captured", "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, UsageError)
    assert str(data) in str(done.exception)
    assert "byte" in str(done.exception)


# Graphs


def add(*sizes: int) -> Line:
    return {"Type": "ELEMENT_WISE_ADD", "ATensor": tensor(*sizes), "BTensor": tensor(*sizes), "OutputTensor": tensor(*sizes)}


def graph_lines(descs: list[Line], nodes: list[Line], **graph: Any) -> list[Line]:
    """A graph of these operators, which have the numbers from 100 on, executed once; inputs and outputs have a buffer each."""
    sizes = graph.pop("sizes")
    operators = [operator(100 + place, desc) for place, desc in enumerate(descs)]
    inputs, outputs = sizes
    return [
        *head(),
        *operators,
        {"event": "graph", "id": 3, "device": 1, "flags": 0, "InputCount": len(inputs), "OutputCount": len(outputs), "Nodes": nodes, **graph},
        table(4, 3),
        {"event": "bind", "table": 4, "inputs": [None if size is None else part(1 + i, size) for i, size in enumerate(inputs)]},
        {"event": "bind", "table": 4, "outputs": [part(50 + i, size) for i, size in enumerate(outputs)]},
        {"event": "dispatch", "id": 5, "dispatchable": 3, "table": 4, "list": 1},
        {"event": "execute", "queue": 1, "first": 1, "dispatches": [5]},
    ]  # fmt: skip


def into(graph_input: int, node: int, node_input: int = 0) -> Line:
    return {"GraphInputIndex": graph_input, "ToNodeIndex": node, "ToNodeInputIndex": node_input}


def between(one: int, other: int, node_input: int = 0) -> Line:
    return {"FromNodeIndex": one, "FromNodeOutputIndex": 0, "ToNodeIndex": other, "ToNodeInputIndex": node_input}


def out_of(node: int) -> Line:
    return {"FromNodeIndex": node, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0}


def test_bytes_flow_along_edges_whatever_descs_say_of_their_shape(tmp_path: Path) -> None:
    """Node 1 comes first in the list and reads what node 0 writes with other sizes, and strides, and a constant."""
    turned = {"DataType": "FLOAT32", "Sizes": [3, 2], "Strides": [1, 3]}
    second = {"Type": "ELEMENT_WISE_ADD", "ATensor": turned, "BTensor": tensor(3, 2), "OutputTensor": tensor(3, 2)}
    writer = DataWriter()
    ones = writer.piece(np.ones(6, "<f4").tobytes())
    hundreds = writer.piece((100 * np.ones(6, "<f4")).tobytes())
    given = writer.piece(np.arange(6, dtype="<f4").tobytes())
    expected = (np.arange(6, dtype="<f4") + 1).reshape(2, 3).T + 100
    made = writer.piece(np.ascontiguousarray(expected).tobytes())
    lines = graph_lines(
        [add(6), second],
        [{"Operator": 101, "Name": "second"}, {"Operator": 100, "Name": "first"}, {"Constant": hundreds}],
        InputEdges=[into(0, 1, 0), into(1, 1, 1)],
        IntermediateEdges=[between(1, 0), between(2, 0, 1)],
        OutputEdges=[out_of(0)],
        sizes=([24, 24], [24]),
    )
    lines.append({"event": "data", "execution": 1, "inputs": [given, ones], "outputs": [made]})
    found = replayed(write(tmp_path, lines, writer.bytes), ReferenceBackend())
    assert [(step.node, step.name, result.status) for step, result, _ in found.steps] == [(1, "first", PASS), (0, "second", PASS)]
    (verdict,) = found.graphs
    assert (verdict.worst, verdict.message) == (0.0, "bit by bit what its nodes give one by one")


def test_weights_come_from_the_initialization(tmp_path: Path) -> None:
    """The table of the execution does not bind them."""
    owned = {**tensor(2), "Flags": "OWNED_BY_DML"}
    desc = {**add(2), "BTensor": owned}
    writer = DataWriter()
    weights, given = writer.piece(np.array([10, 20], "<f4").tobytes()), writer.piece(np.array([1, 2], "<f4").tobytes())
    lines = graph_lines(
        [desc], [{"Operator": 100}], InputEdges=[into(0, 0, 0), into(1, 0, 1)], IntermediateEdges=[], OutputEdges=[out_of(0)], sizes=([8, None], [8])
    )  # fmt: skip
    lines[-1]["first"] = 2
    lines[4:4] = [
        {"event": "initializer", "id": 6, "device": 1, "compiled": [3]},
        table(7, 6),
        {"event": "bind", "table": 7, "inputs": [[None, part(9, 8)]]},
        {"event": "dispatch", "id": 8, "dispatchable": 6, "table": 7, "list": 2},
        {"event": "execute", "queue": 1, "first": 1, "dispatches": [8]},
        {"event": "data", "execution": 1, "inputs": [[None, weights]]},
    ]
    lines.append({"event": "data", "execution": 2, "inputs": [given, None]})
    steps: list[Step] = []
    capture = read_capture(write(tmp_path, lines, writer.bytes))

    def run(step: Step) -> dict[str, Array]:
        steps.append(step)
        return {}

    with CapturedData(capture) as data:
        Flow(capture, data).run(run)
    assert steps[0].drawn == ()
    assert {name: values.tolist() for name, values in steps[0].inputs.items()} == {"ATensor": [1, 2], "BTensor": [10, 20]}


def test_a_circle_is_refused(tmp_path: Path) -> None:
    lines = graph_lines(
        [add(2), add(2)],
        [{"Operator": 100}, {"Operator": 101}],
        InputEdges=[],
        IntermediateEdges=[between(0, 1), between(1, 0)],
        OutputEdges=[out_of(0)],
        sizes=([], [8]),
    )
    with pytest.raises(CaptureError, match="execution 1: the edges of the graph form a circle"):
        replayed(write(tmp_path, lines), ReferenceBackend())


NODES = 60
KINDS = ("ELEMENT_WISE_ADD", "GEMM", "ACTIVATION_RELU", "ELEMENT_WISE_MULTIPLY", "ACTIVATION_SOFTMAX1", "ACTIVATION_TANH")


def chain(folder: Path, change: Callable[[Array], Array] = lambda output: output) -> Path:
    """A graph of 60 nodes, each on the results of the one before; its captured output is right, but for ``change``."""
    square = [1, 1, 8, 8]
    descs: list[Line] = []
    edges: list[Line] = [into(0, 0)]
    for place in range(NODES):
        kind = KINDS[place % len(KINDS)]
        output = {"OutputTensor": tensor(*square)}
        if kind == "GEMM":
            descs.append({"Type": kind, "ATensor": tensor(*square), "BTensor": tensor(*square), **output, "TransA": "NONE", "TransB": "TRANSPOSE", "Alpha": 0.25, "Beta": 0.0})  # fmt: skip
        elif "_WISE_" in kind:
            descs.append({"Type": kind, "ATensor": tensor(*square), "BTensor": tensor(*square), **output})
        else:
            axes = {"AxisCount": 1, "Axes": [3]} if kind.endswith("1") else {}
            descs.append({"Type": kind, "InputTensor": tensor(*square), **output, **axes})
        if "BTensor" in descs[-1]:
            edges.append(into(1, place, 1))
    writer, draw = DataWriter(), np.random.default_rng(7)
    given = [writer.piece(draw.standard_normal((8, 8)).astype("<f4").tobytes()) for _ in range(2)]
    lines = graph_lines(
        descs,
        [{"Operator": 100 + place, "Name": f"layer/{place}"} for place in range(NODES)],
        InputEdges=edges,
        IntermediateEdges=[between(place, place + 1) for place in range(NODES - 1)],
        OutputEdges=[out_of(NODES - 1)],
        sizes=([256, 256], [256]),
    )
    lines.append({"event": "data", "execution": 1, "inputs": given})
    capture = read_capture(write(folder, lines, writer.bytes))
    last: dict[str, Array] = {}

    def run(step: Step) -> dict[str, Array]:
        assert step.desc is not None
        last.update(ReferenceBackend().compute(step.desc, step.inputs))
        return dict(last)

    with CapturedData(capture) as data:
        Flow(capture, data).run(run)
    lines[-1]["outputs"] = [writer.piece(change(last["OutputTensor"]).tobytes())]
    return write(folder, lines, writer.bytes)


def one_element(output: Array) -> Array:
    output.flat[5] += np.float32(1e-3) * (1 + abs(output.flat[5]))
    return output


FAULTS: dict[str, Callable[[Array], Array]] = {
    "one element a thousandth off": one_element,
    "all a thousandth off": lambda output: output * np.float32(1.001) + np.float32(1e-3),
    "zeros": np.zeros_like,
    "two rows exchanged": lambda output: output[:, :, ::-1],
    "not a number": lambda output: np.full_like(output, np.nan),
}


def test_a_wrong_node_of_sixty_is_named_whatever_is_wrong_with_it(tmp_path: Path) -> None:
    file, missed = chain(tmp_path), []
    for number in range(1, NODES + 1, 3):
        for name, change in FAULTS.items():
            found = replayed(file, WrongAt(number, change))
            if [(step.node, result.status) for _, step, result in found.wrong()] != [(number - 1, FAIL)]:
                missed.append((number, name))
    assert missed == [], f"{len(missed)} of 100"


@pytest.mark.parametrize("mutant", [mutant for kind in KINDS for mutant in legal_of(kind).values()], ids=lambda mutant: mutant.name)
def test_what_an_implementation_may_do_otherwise_is_no_wrong_node(mutant: Mutant, tmp_path: Path) -> None:
    """Sixteen legal variations: other orders of sums, fused multiply-add, FLOAT32 in between, results rounded toward zero."""
    backend = MutantBackend(mutant)
    found = replayed(chain(tmp_path), backend)
    assert found.wrong() == []
    assert len(found.steps) == NODES
    assert all(verdict.ok for verdict in found.graphs)


def test_the_legal_variations_are_ten_at_least_and_do_change_results(tmp_path: Path) -> None:
    mutants = [mutant for kind in KINDS for mutant in legal_of(kind).values()]
    assert len(mutants) >= 10
    last = lambda backend: replayed(chain(tmp_path), backend).graphs[0].message  # noqa: E731
    same = "bit by bit what its nodes give one by one"
    assert last(ReferenceBackend()) == same
    changed = [mutant for mutant in mutants if last(MutantBackend(mutant)) != same]
    assert len(changed) >= 10


def test_a_graph_whose_captured_output_is_wrong_is_found_without_a_backend(tmp_path: Path) -> None:
    assert all(verdict.ok for verdict in replayed(chain(tmp_path)).graphs)
    for name in ("one element a thousandth off", "zeros", "not a number"):
        (verdict,) = replayed(chain(tmp_path, FAULTS[name])).graphs
        assert not verdict.ok, name
        assert any(
            "output 0, as it was captured: wrong: " in line for line in verdict_lines(replayed(chain(tmp_path, FAULTS[name])))
        )


def test_a_step_is_named_by_operator_node_type_and_sizes(tmp_path: Path) -> None:
    found = replayed(chain(tmp_path), WrongAt(2, np.zeros_like))
    (_, step, _), *_ = found.wrong()
    assert in_words(step) == "GEMM, node layer/1, FLOAT32 1x1x8x8, 1x1x8x8 to 1x1x8x8"
