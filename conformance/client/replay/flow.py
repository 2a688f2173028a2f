"""Which bytes each operator of a client's executions gets: captured ones, those of earlier nodes, or random data where none are known.

A graph is taken apart into its nodes. Bytes flow along its edges as they lie in memory: two descs of one edge may have other sizes and strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.reading import CaptureError
from dmlcts.conformance.client.capture.records import (
    OUTSIDE,
    Capture,
    Compiled,
    Constant,
    Contents,
    Execution,
    Graph,
    Initializer,
    Node,
    Operator,
    Piece,
)
from dmlcts.conformance.client.replay.slots import INPUT, OUTPUT, slots
from dmlcts.generator.case.build import random_data
from dmlcts.generator.case.inputs import array
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.untrusted.files import MIB

MOST_BYTES = 4096 * MIB
"""The most bytes that the elements of a step's tensors may need in the reference, those of broadcast ones counted each: a capture may claim any sizes."""

Array = NDArray[Any]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of an execution, with what it gets. ``node`` is its place in the graph, None where it was dispatched by itself.

    ``inputs`` are packed arrays by tensor; ``drawn`` are those of them that were not captured, but drawn at random, and ``captured`` the outputs
    that were captured. ``problem`` says why it cannot be run, empty if it can: then there are no inputs.
    """

    execution: Execution
    operator: Operator
    desc: OperatorDesc | None
    node: int | None = None
    name: str = ""
    inputs: Mapping[str, Array] = field(default_factory=dict)
    drawn: tuple[str, ...] = ()
    captured: Mapping[str, Array] = field(default_factory=dict)
    problem: str = ""


Run = Callable[[Step], Mapping[str, Array]]
"""Runs a step, and gives the outputs that later nodes get."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A graph of an execution, all of whose nodes were run: its outputs as they came from the nodes, and as they were captured, by place.

    ``again`` runs the nodes once more, with another function, and gives the outputs. ``is_drawn`` says that some input was not captured, so that
    the two have nothing to do with each other.
    """

    execution: Execution
    made: Mapping[int, Array]
    captured: Mapping[int, Array]
    again: Callable[[Run], Mapping[int, Array]]
    is_drawn: bool


class Flow:
    """The steps of a capture, in order. ``repeated`` counts executions that would repeat an earlier one: the same, on the same bytes."""

    def __init__(self, capture: Capture, data: CapturedData) -> None:
        self._capture, self._data = capture, data
        self._owned: dict[int, tuple[Contents, ...]] = {}  # what an operator was initialized with, by its number
        self._seen: set[object] = set()
        self.repeated = 0

    def run(
        self,
        run: Run,
        whole: Callable[[Whole], None] = lambda graph: None,
        wanted: Callable[[Execution], bool] = lambda execution: True,
    ) -> None:
        """Runs the steps of the executions that are wanted; ``whole`` gets each graph after its nodes.

        Raises:
            CaptureError: bytes are missing, or have changed.
        """
        for execution in self._capture.executions:
            dispatchable = execution.dispatchable
            if isinstance(dispatchable, Initializer):
                self._initialize(dispatchable, execution)
                continue
            if not wanted(execution):
                continue
            contents = self._inputs(dispatchable, execution)
            key = (dispatchable.id, _digests(contents), _digests(execution.outputs))
            if key in self._seen:
                self.repeated += 1
                continue
            self._seen.add(key)
            inputs, outputs = self._read(contents), self._read(execution.outputs)
            if isinstance(dispatchable.content, Graph):
                whole(self._run_whole(dispatchable.content, execution, inputs, outputs, run))
            else:
                run(self._step(dispatchable.content, execution, inputs, outputs))

    def _initialize(self, initializer: Initializer, execution: Execution) -> None:
        for place, compiled in enumerate(initializer.compiled):
            content = execution.inputs[place] if place < len(execution.inputs) else None
            self._owned[compiled.id] = content if isinstance(content, tuple) else (content,)

    def _inputs(self, compiled: Compiled, execution: Execution) -> tuple[Contents, ...]:
        """What is bound, completed by what the operator was initialized with."""
        owned = self._owned.get(compiled.id, ())
        count = max(len(owned), len(execution.inputs))
        bound = (*execution.inputs, *[None] * (count - len(execution.inputs)))
        given = (*owned, *[None] * (count - len(owned)))
        return tuple(now if now is not None else before for now, before in zip(bound, given, strict=True))

    def _read(self, contents: Sequence[Contents]) -> list[Bytes | None]:
        """The bytes of contents; None where none were kept."""
        return [
            np.frombuffer(self._data.read(content), np.uint8).copy()
            if isinstance(content, Piece) and content.offset is not None
            else None
            for content in contents
        ]

    def _step(self, operator: Operator, execution: Execution, inputs: list[Bytes | None], outputs: list[Bytes | None]) -> Step:
        """An operator that was dispatched by itself."""
        if operator.desc is None:
            return Step(execution, operator, None, problem=f"this suite does not know {operator.name}")
        bound = dict(enumerate(inputs))
        try:
            arrays, drawn = _arrays(operator.desc, lambda place: bound.get(place), lambda place, made: None, f"{execution.number}")
            return Step(
                execution, operator, operator.desc, None, self._name(operator), arrays, drawn, _tensors(operator.desc, outputs)
            )
        except CaptureError as error:
            return Step(execution, operator, operator.desc, problem=str(error))

    def _run_whole(
        self, graph: Graph, execution: Execution, inputs: list[Bytes | None], outputs: list[Bytes | None], run: Run
    ) -> Whole:
        drawn = list[str]()

        def run_and_note(step: Step) -> Mapping[str, Array]:
            drawn.extend(step.drawn or ([step.name] if step.problem else []))
            return run(step)

        descs, made = self._run_graph(graph, execution, inputs, run_and_note)
        captured = {
            place: _tensor(descs[place], data, f"output {place} of the graph")
            for place, data in enumerate(outputs)
            if data is not None and place in descs
        }
        return Whole(execution, made, captured, lambda other: self._run_graph(graph, execution, inputs, other)[1], bool(drawn))

    def _run_graph(
        self, graph: Graph, execution: Execution, inputs: list[Bytes | None], run: Run
    ) -> tuple[dict[int, TensorDesc], dict[int, Array]]:
        """Runs the nodes. Returns the descs and the values of the graph's outputs, by place."""
        edges = {edge.target: edge.source for edge in graph.edges}
        flowing = {(OUTSIDE, place): data for place, data in enumerate(inputs) if data is not None}
        descs: dict[tuple[int, int], TensorDesc] = {}
        for place, node in in_order(graph, f"{self._capture.file}: execution {execution.number}"):
            if isinstance(node.content, Constant):
                if self._data.has(node.content.data):
                    flowing[place, 0] = np.frombuffer(self._data.read(node.content.data), np.uint8).copy()
                continue
            step = self._node(node, place, node.content, execution, edges, flowing)
            outputs = run(step)
            if step.desc is None:
                continue
            for index, name in enumerate(slots(load(step.desc.type), step.desc, OUTPUT)):
                if name is not None and name in outputs:
                    descs[place, index] = step.desc.tensor(name)
                    flowing[place, index] = _bytes(step.desc.tensor(name), outputs[name])
        ends = {place: edges[OUTSIDE, place] for place in range(graph.outputs) if edges.get((OUTSIDE, place)) in descs}
        found = {place: descs[source] for place, source in ends.items()}
        return found, {place: read_tensor(flowing[source], descs[source]) for place, source in ends.items()}

    def _node(
        self,
        node: Node,
        place: int,
        operator: Operator,
        execution: Execution,
        edges: Mapping[tuple[int, int], tuple[int, int]],
        flowing: dict[tuple[int, int], Bytes],
    ) -> Step:
        name = node.name or self._name(operator)
        if operator.desc is None:
            return Step(execution, operator, None, place, name, problem=f"this suite does not know {operator.name}")

        def given_bytes(index: int) -> Bytes | None:
            source = edges.get((place, index))
            return None if source is None else flowing.get(source)

        def pass_on(index: int, data: Bytes) -> None:
            if (source := edges.get((place, index))) is not None:
                flowing[source] = data  # so that all readers of the edge get the same

        try:
            arrays, drawn = _arrays(operator.desc, given_bytes, pass_on, f"{execution.number}/{place}")
        except CaptureError as error:
            return Step(execution, operator, operator.desc, place, name, problem=str(error))
        return Step(execution, operator, operator.desc, place, name, arrays, drawn)

    def _name(self, operator: Operator) -> str:
        return self._capture.names.get(operator.id, "")


def in_order(graph: Graph, where: str) -> Iterator[tuple[int, Node]]:
    """The nodes with their places, each after all that it needs, otherwise in the client's order. Raises CaptureError for a circle."""
    needs: list[set[int]] = [set() for _ in graph.nodes]
    feeds: list[set[int]] = [set() for _ in graph.nodes]
    for edge in graph.edges:
        if edge.source[0] != OUTSIDE and edge.target[0] != OUTSIDE:
            needs[edge.target[0]].add(edge.source[0])
            feeds[edge.source[0]].add(edge.target[0])
    ready = [place for place, needed in enumerate(needs) if not needed]
    done = 0
    while ready:
        place = heappop(ready)
        yield place, graph.nodes[place]
        done += 1
        for reader in feeds[place]:
            needs[reader].discard(place)
            if not needs[reader]:
                heappush(ready, reader)
    if done < len(graph.nodes):
        raise CaptureError(f"{where}: the edges of the graph form a circle")


def _digests(contents: Sequence[Contents]) -> tuple[object, ...]:
    return tuple(
        content.sha256 if isinstance(content, Piece) else _digests(content) if isinstance(content, tuple) else None
        for content in contents
    )


def _arrays(
    desc: OperatorDesc, given: Callable[[int], Bytes | None], made: Callable[[int, Bytes], None], seed: str
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """The inputs of a desc as arrays, and which of them are random. ``given`` has the bytes of a place, ``made`` takes those that were drawn.

    Raises:
        CaptureError: bytes are fewer than the desc reads, no random data suit it, or it is too large.
    """
    operator = load(desc.type)
    needed = sum(tensor.count * 8 for _, tensor in desc.tensors())
    if needed > MOST_BYTES:
        raise CaptureError(f"its elements, of 8 bytes each in the reference, need {needed:,} bytes; at most {MOST_BYTES:,} are run")
    recipes = random_data(operator, desc)
    found, drawn = {}, []
    for place, name in enumerate(slots(operator, desc, INPUT)):
        if name is None:
            continue
        tensor, data = desc.tensor(name), given(place)
        if data is None:
            try:
                found[name] = array(recipes[name], tensor, f"replay/{seed}/{name}", desc.fields)
            except (NotGenerable, KeyError, *FAILURES) as error:
                raise CaptureError(f"{name} was not captured, and has no random data: {error}") from None
            drawn.append(name)
            made(place, _bytes(tensor, found[name]))
        else:
            found[name] = _tensor(tensor, data, name)
    return found, tuple(drawn)


def _tensors(desc: OperatorDesc, outputs: Sequence[Bytes | None]) -> dict[str, Array]:
    """The outputs that were captured, by tensor. Raises CaptureError."""
    names = slots(load(desc.type), desc, OUTPUT)
    return {
        name: _tensor(desc.tensor(name), data, name)
        for name, data in zip(names, outputs, strict=False)
        if name is not None and data is not None
    }


def _tensor(tensor: TensorDesc, data: Bytes, name: str) -> Array:
    try:
        return read_tensor(data, tensor)
    except ValueError as error:
        raise CaptureError(f"{name}: {error}") from None


def _bytes(tensor: TensorDesc, values: Array) -> Bytes:
    """The bytes of a tensor with these values, zeros between them."""
    found = np.zeros(max(tensor.bytes, tensor.least_bytes), np.uint8)
    write_tensor(found, tensor, values)
    return found
