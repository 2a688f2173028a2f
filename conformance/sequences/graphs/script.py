"""A graph as calls: create its operators, compile, initialize, bind, execute once, and read back every output and the guards around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.sequences.calls import (
    PERSISTENT,
    TEMPORARY,
    BindInputs,
    BindOutputs,
    BindPersistent,
    BindTemporary,
    Call,
    CompileGraph,
    CreateInitializer,
    CreateOperator,
    CreateResource,
    CreateTable,
    Range,
    Reply,
    SizeOf,
    Slot,
)
from dmlcts.conformance.sequences.calls.slots import is_owned, slots_of
from dmlcts.conformance.sequences.script import GUARD, NAN, Reading, Script
from dmlcts.generator.case.inputs import array
from dmlcts.generator.suite.graphs.graph import Constant, Given, Graph, Made
from dmlcts.spec.model.desc import TensorDesc

Array = NDArray[Any]


@dataclass(eq=False, slots=True)
class GraphScript:
    """The calls of one execution of a graph, and where each of its outputs is read back, between its guards."""

    calls: list[Call]
    readings: list[Reading]
    outputs: list[TensorDesc]
    held: list[Reading] = field(default_factory=list)
    """Where temporary and persistent memory is read back."""

    def results(self, replies: Sequence[Reply]) -> list[Array]:
        """The outputs, packed. Raises ValueError where fewer bytes were read than were asked for."""
        return [
            read_tensor(np.frombuffer(reading.bytes_in(replies), np.uint8).copy(), tensor, GUARD)
            for reading, tensor in zip(self.readings, self.outputs, strict=True)
        ]

    def overwritten(self, replies: Sequence[Reply]) -> str:
        """Whose guards were overwritten; empty if none were."""
        guard = bytes([NAN]) * GUARD
        for index, reading in enumerate(self.readings):
            content = reading.bytes_in(replies)
            if content[:GUARD] != guard or content[-GUARD:] != guard:
                return f"bytes around output {index} of the graph were overwritten"
        names = ("temporary memory", "persistent memory")
        for name, reading in zip(names, self.held, strict=True):
            content = reading.bytes_in(replies)
            if content and (content[:GUARD] != guard or content[-GUARD:] != guard):
                return f"bytes around {name} were overwritten"
        return ""


def edges_of(graph: Graph) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int, int]], list[tuple[int, int, int]]]:
    """The edges by numbers, as DML_GRAPH_DESC has them: into the graph, between nodes, out of it. Constants are no edges here (``constants_of``)."""
    slots = [{kind: slots_of(node.desc, kind) for kind in ("input", "output")} for node in graph.nodes]
    entering, between = [], []
    for node, name, feed in graph.feeds():
        slot = slots[node]["input"].index(name)
        if isinstance(feed, Given):
            entering.append((feed.number, node, slot))
        elif isinstance(feed, Made):
            between.append((feed.node, slots[feed.node]["output"].index(feed.tensor), node, slot))
    leaving = [(made.node, slots[made.node]["output"].index(made.tensor), number) for number, made in enumerate(graph.outputs)]
    return entering, between, leaving


def data_of(graph: Graph) -> tuple[list[Array], dict[tuple[int, str], Array]]:
    """The arrays of the graph's inputs, by number, and of its constants, by node and tensor: as the first node that reads each has them."""
    first = graph.first_readers()
    inputs = [_data(graph, *first[number]) for number in range(graph.input_count())]
    constants = {(node, name): _data(graph, node, name) for node, name, feed in graph.feeds() if isinstance(feed, Constant)}
    return inputs, constants


def _data(graph: Graph, node: int, name: str) -> Array:
    case = graph.nodes[node].case
    return array(case.data[name], case.desc.tensor(name), f"{case.id}/{name}", case.desc.fields)


def bytes_of(tensor: TensorDesc, content: Array, fill: int = 0) -> bytes:
    """A tensor as it lies in memory; ``fill`` is in its gaps."""
    found = np.full(tensor.bytes, fill, np.uint8)
    write_tensor(found, tensor, content)
    return found.tobytes()


def script_of(
    graph: Graph, inputs: Sequence[Array], constants: Mapping[tuple[int, str], Array], flags: tuple[str, ...] = ()
) -> GraphScript:
    """The calls that execute a graph once, with these inputs and constants."""
    script, (entering, between, leaving) = Script(), edges_of(graph)
    nodes: list[int | bytes] = []
    for node in graph.nodes:
        number = script.number()
        nodes.append(number)
        script.calls.append(CreateOperator(number, node.desc))
    for (to, name), content in constants.items():
        between.append((len(nodes), 0, to, slots_of(graph.nodes[to].desc, "input").index(name)))
        nodes.append(bytes_of(graph.nodes[to].desc.tensor(name), content))
    compiled, initializer, temporary, persistent = (script.number() for _ in range(4))
    script.calls += [
        CompileGraph(
            compiled, tuple(nodes), len(inputs), len(graph.outputs), tuple(entering), tuple(between), tuple(leaving), flags
        ),
        CreateInitializer(initializer, (compiled,)),
        CreateResource(temporary, SizeOf(compiled, TEMPORARY, 2 * GUARD), NAN),
        CreateResource(persistent, SizeOf(compiled, PERSISTENT, 2 * GUARD), NAN),
    ]
    tensors = [
        graph.nodes[node].desc.tensor(name) for node, name in (graph.first_readers()[number] for number in range(len(inputs)))
    ]
    read = [_buffer(script, tensor, bytes_of(tensor, content)) for tensor, content in zip(tensors, inputs, strict=True)]
    outputs = [graph.tensor(made) for made in graph.outputs]
    written = [_buffer(script, tensor) for tensor in outputs]
    owned = [is_owned(tensor) for tensor in tensors]
    state = Range(persistent, GUARD, SizeOf(compiled, PERSISTENT))
    _initialize(script, initializer, state, tuple(each if own else None for each, own in zip(read, owned, strict=True)))
    table = script.number()
    script.calls += [
        CreateTable(table, compiled),
        BindInputs(table, tuple(None if own else each for each, own in zip(read, owned, strict=True))),
        BindOutputs(table, tuple(written)),
        BindTemporary(table, Range(temporary, GUARD, SizeOf(compiled, TEMPORARY))),
        BindPersistent(table, state),
    ]
    script.run([(compiled, table)])
    readings = [script.read(each.resource) for each in written]
    return GraphScript(script.calls, readings, outputs, [script.read(temporary), script.read(persistent)])


def _buffer(script: Script, tensor: TensorDesc, content: bytes = b"") -> Range:
    """A resource with a tensor between guards, and where the tensor is in it."""
    number = script.number()
    script.calls.append(CreateResource(number, tensor.bytes + 2 * GUARD, NAN))
    if content:
        script.write(number, np.frombuffer(bytes([NAN]) * GUARD + content, np.uint8))
    return Range(number, GUARD, tensor.bytes)


def _initialize(script: Script, initializer: int, state: Range, owned: tuple[Range | None, ...]) -> None:
    """Initializes a compiled graph, with the inputs that DirectML owns."""
    table, temporary = script.number(), script.number()
    script.calls += [
        CreateTable(table, initializer),
        CreateResource(temporary, SizeOf(initializer, TEMPORARY, 2 * GUARD), NAN),
        BindTemporary(table, Range(temporary, GUARD, SizeOf(initializer, TEMPORARY))),
        BindOutputs(table, (state,)),
    ]
    if any(owned):
        slots: tuple[Slot, ...] = (owned,)
        script.calls.append(BindInputs(table, slots))
    script.run([(initializer, table)])
