"""Whether the results of a graph are right.

Errors pass through a graph and grow, so a bound of all of it would say little. Instead the graph is executed twice. First all results between its nodes are
outputs as well: each node is judged by itself, on the inputs that the implementation gave it, with the operator's own tolerance. Then it is executed
as it is, when nodes may be fused and nothing in between is stored; each output is judged as the last node's result on the inputs of the first execution,
with a bound that allows for what those may be off by. How far that moves the result is found by trying: inputs moved to either end of their bounds, and at
random between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.answers import computed_answers, holds_bits
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.execute import compare_outputs
from dmlcts.conformance.execution.judge.bounds import local
from dmlcts.conformance.execution.judgement import allowed_error, tolerance_of
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.generator.suite.graphs.graph import Constant, Given, Graph, Made
from dmlcts.reference.answer import Answer
from dmlcts.reference.answer_cache import recent
from dmlcts.reports.record.record import FAIL, PASS
from dmlcts.spec.model.desc import TensorDesc, field_of

Array = NDArray[Any]

Values = Mapping[Made, Array]
"""What the nodes of a graph gave."""

_TRIALS = 4
"""Random moves of the inputs, besides those to the ends of their bounds."""

_SAFETY = 4.0
"""How much farther a result may move than in any trial: they are few, and a sum of many errors is larger where all have one sign."""

_FAR = 2.0**40
"""Numbers beyond this, or below its inverse, are not judged: cubes of them leave the range of FLOAT32."""

_LOOSE = 0.25
"""A bound of more than this part of the largest result says nothing of an output."""


def view_as(content: Array, source: TensorDesc, reader: TensorDesc) -> Array:
    """The elements of a tensor as another tensor desc of the same memory reads them: by other sizes, or with strides of 0."""
    if (source.strides is None and reader.strides is None) or (source.sizes, source.strides) == (reader.sizes, reader.strides):
        return content.reshape(reader.sizes)
    memory = np.zeros(max(map(_memory_length, (source, reader))), content.dtype)

    def view(tensor: TensorDesc) -> Array:
        strides = tuple(stride * memory.itemsize for stride in tensor.effective_strides)
        return np.lib.stride_tricks.as_strided(memory, tensor.sizes, strides)

    view(source)[...] = content
    return np.array(view(reader))


def _memory_length(tensor: TensorDesc) -> int:
    """Elements from a tensor's first to its last in memory."""
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True))


def inputs_of(
    graph: Graph, node: int, given: Sequence[Array], constants: Mapping[tuple[int, str], Array], values: Values
) -> dict[str, Array]:
    """The inputs of a node by name, each with the sizes that the node's desc says."""
    found, first = {}, graph.first_readers()
    for name, feed in graph.nodes[node].feeds.items():
        own = graph.nodes[node].desc.tensor(name)
        if isinstance(feed, Given):
            reader, read = first[feed.number]
            found[name] = view_as(given[feed.number], graph.nodes[reader].desc.tensor(read), own)
        elif isinstance(feed, Constant):
            found[name] = constants[node, name]
        else:
            found[name] = view_as(values[feed], graph.tensor(feed), own)
    return found


def judge_nodes(
    graph: Graph, given: Sequence[Array], constants: Mapping[tuple[int, str], Array], values: Values, info: BackendInfo
) -> Outcome:
    """The outcome of an execution whose every result is known: that of the first node, in the order of execution, that is wrong.

    A node may read a FLOAT16 result as it was before it was rounded and stored: whoever fuses two nodes keeps it in a register.
    """
    judged, unrounded = 0, set[Made]()
    for index in graph.in_order():
        node, inputs = graph.nodes[index], inputs_of(graph, index, given, constants, values)
        if is_undefined(graph, index, inputs):
            continue
        answers = computed_answers(node.case, inputs)
        outputs = {name: values[Made(index, name)] for name in next(iter(answers.values()))}
        outcome = compare_outputs(node.case, inputs, outputs, answers, info)
        off = _roundings(graph, index, inputs, unrounded)
        unrounded |= {Made(index, name) for name in outputs if _is_rounded(graph, index, name) or off}
        if outcome.status != PASS and not (
            off and _is_near(graph, index, inputs, off, next(iter(answers.values())), outputs, info)
        ):
            return replace(
                outcome, message=f"node {index} ({node.desc.type}): {outcome.message}", evidence={**outcome.evidence, "node": index}
            )
        judged += 1
    return Outcome(PASS, evidence={"judged": judged})


def _is_rounded(graph: Graph, index: int, output: str) -> bool:
    """Whether a node rounds to FLOAT16 what it computes of FLOAT16. What it converts from another type is rounded because the graph asks for it."""
    node = graph.nodes[index]
    tolerance = tolerance_of(node.operator, output, node.desc, basis=node.case.basis)
    reads_half = any(node.desc.tensor(name).data_type == "FLOAT16" for name in node.feeds)
    return reads_half and node.desc.tensor(output).data_type == "FLOAT16" and tolerance.judge != "exact"


def _roundings(graph: Graph, index: int, inputs: Mapping[str, Array], unrounded: AbstractSet[Made]) -> dict[str, Array]:
    """For each input of a node that may be read before it is rounded, the unit in the last place that it has when it is stored."""
    feeds = graph.nodes[index].feeds
    with np.errstate(all="ignore"):
        return {
            name: np.spacing(np.abs(inputs[name])).astype(np.float64)
            for name, feed in feeds.items()
            if feed in unrounded and inputs[name].dtype == np.float16
        }


def _is_near(
    graph: Graph,
    index: int,
    inputs: Mapping[str, Array],
    off: Mapping[str, Array],
    answers: Mapping[str, Answer],
    outputs: Mapping[str, Array],
    info: BackendInfo,
) -> bool:
    """Whether the outputs of a node are right for inputs that are off by so much."""
    moved = _moved_by(graph, index, inputs, off, answers)
    for name, answer in answers.items():
        own = allowed_error(graph.nodes[index].case, name, answer, info)
        if own is None or name not in moved:
            return False
        with np.errstate(all="ignore"):
            right, found = local(answer.value).astype(np.float64), outputs[name].astype(np.float64)
            near = np.abs(found - right) <= own + _SAFETY * moved[name]
        if not (near | (found == right) | ((found != found) & (right != right))).all():
            return False
    return True


def is_undefined(graph: Graph, index: int, inputs: Mapping[str, Array]) -> bool:
    """Whether the documentation gives no result for these inputs: a number outside what it requires; NaN and infinities, which pages rarely mention;
    or numbers so large or small that an intermediate product of them leaves the range. Of inputs that are drawn for this node the case knows that they have one."""
    node, first = graph.nodes[index], graph.first_readers()
    own = {
        name
        for name, feed in node.feeds.items()
        if isinstance(feed, Constant) or (isinstance(feed, Given) and first[feed.number] == (index, name))
    }
    others = [name for name in node.feeds if name not in own]
    return (
        any(map(_is_odd, (inputs[name] for name in others)))
        or next(undefined_inputs(node.operator, node.desc, {name: inputs[name] for name in others}), "") != ""
    )


def _is_odd(content: Array) -> bool:
    """Whether floats have NaN, infinities, or, beyond FLOAT16, numbers far from 1."""
    if content.dtype.kind != "f":
        return False
    size = np.abs(content)
    far = bool(((size > _FAR) | ((size > 0) & (size < 1 / _FAR))).any()) if content.dtype.itemsize > 2 else False
    return far or not bool(np.isfinite(content).all())


def judge_outputs(
    graph: Graph,
    given: Sequence[Array],
    constants: Mapping[tuple[int, str], Array],
    values: Values,
    outputs: Sequence[Array],
    info: BackendInfo,
) -> Outcome:
    """The outcome of the outputs of a graph whose inner results may not be stored, beside what its nodes gave when all were (``values``)."""
    wrong = [number for number, made in enumerate(graph.outputs) if not _alike(outputs[number], values[made])]
    if not wrong:
        return Outcome(PASS)
    bounds = dict(_bounds(graph, given, constants, values, info))
    for number in wrong:
        made = graph.outputs[number]
        bound = bounds.get(made)
        if bound is None:
            continue
        node, right, found = graph.nodes[made.node], values[made], outputs[number]
        if right.dtype.kind != "f":
            beyond = right != found if not bound.any() else np.zeros(right.shape, np.bool_)
        else:
            with np.errstate(all="ignore"):
                beyond = ~(np.abs(found.astype(np.float64) - right.astype(np.float64)) <= bound) & ~_same(found, right)
        if beyond.any():
            at = tuple(int(each) for each in np.argwhere(beyond)[0])
            return Outcome(
                FAIL,
                f"output {number} of the graph, {made.tensor} of node {made.node} ({node.desc.type}): {int(beyond.sum())} of {right.size} elements differ from "
                f"those that the same graph gives when every result is an output; the first is {list(at)}: {found[at]}, there {right[at]}, and may be off by "
                f"{float(np.asarray(bound)[at]) if np.ndim(bound) else float(bound):.3g}",
                evidence={"output": number, "node": made.node},
            )
    return Outcome(PASS)


def _alike(one: Array, other: Array) -> bool:
    return bool(_same(one, other).all())


def _same(one: Array, other: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray((one == other) | ((one != one) & (other != other)), np.bool_)


# Bounds


def _bounds(
    graph: Graph, given: Sequence[Array], constants: Mapping[tuple[int, str], Array], values: Values, info: BackendInfo
) -> Iterator[tuple[Made, Array]]:
    """For each output of a node how far each element may be off, in two executions that each keep every node's tolerance; none where that is unknown.

    Bounds are of float outputs; an integer's is 0 where it must be equal.
    """
    found: dict[Made, Array] = {}
    for index in graph.in_order():
        inputs = inputs_of(graph, index, given, constants, values)
        own = _node_bounds(graph, index, inputs, found, info)
        for name, bound in own.items():
            made = Made(index, name)
            with np.errstate(all="ignore"):
                largest = np.abs(values[made].astype(np.float64)).max(initial=0.0) if values[made].dtype.kind == "f" else 0.0
            if np.isfinite(bound).all() and float(np.max(bound, initial=0.0)) <= _LOOSE * max(
                largest, float(np.finfo(np.float32).tiny)
            ):
                found[made] = bound
                yield made, bound


def _node_bounds(
    graph: Graph, index: int, inputs: Mapping[str, Array], known: Mapping[Made, Array], info: BackendInfo
) -> dict[str, Array]:
    """The bounds of a node's outputs by name; none where an input's is unknown, or the documentation gives no result."""
    node = graph.nodes[index]
    off: dict[str, Array] = {}
    for name, feed in node.feeds.items():
        if isinstance(feed, Made):
            if feed not in known:
                return {}
            off[name] = view_as(np.asarray(known[feed], np.float64), graph.tensor(feed), node.desc.tensor(name))
    if is_undefined(graph, index, inputs):
        return {}
    answers = next(iter(computed_answers(node.case, inputs).values()))
    moved = _moved_by(graph, index, inputs, {name: bound for name, bound in off.items() if bound.any()}, answers)
    reads_bits = any(holds_bits(node.operator, field_of(name)) for name, bound in off.items() if bound.any())
    largest_off = max((float(np.max(bound, initial=0.0)) for bound in off.values()), default=0.0)
    found = {}
    for name, answer in answers.items():
        own = allowed_error(node.case, name, answer, info)
        if own is None or name not in moved or not np.all(True if answer.defined is None else local(answer.defined)):
            continue
        is_float = node.desc.tensor(name).type.is_float
        if not is_float and moved[name].any():
            continue  # what a step turns a small difference into has no bound
        if reads_bits and np.max(moved[name], initial=0.0) > 1.001 * largest_off:
            continue  # bits of a number that is off by little may all be others
        found[name] = 2 * own + _SAFETY * moved[name] if is_float else np.zeros(moved[name].shape)
    return found


def _moved_by(
    graph: Graph, index: int, inputs: Mapping[str, Array], off: Mapping[str, Array], answers: Mapping[str, Answer]
) -> dict[str, Array]:
    """How far the outputs move, by name, when inputs move within their bounds: the farthest of all trials. No entry where a result is a property."""
    node = graph.nodes[index]
    with np.errstate(all="ignore"):
        right = {name: local(answer.value).astype(np.float64) for name, answer in answers.items() if not callable(answer.value)}
    found = {name: np.zeros(value.shape) for name, value in right.items()}
    random = np.random.default_rng(index)
    for trial in range(2 + _TRIALS if off else 0):
        moved = dict(inputs)
        for name, bound in off.items():
            sign = (1.0, -1.0)[trial] if trial < 2 else random.uniform(-1, 1, bound.shape)
            with np.errstate(all="ignore"):
                moved[name] = (inputs[name].astype(np.float64) + sign * bound).astype(inputs[name].dtype)
        other = recent(node.desc, moved)
        for name, value in right.items():
            with np.errstate(all="ignore"):
                step = np.abs(local(other[name].value).astype(np.float64) - value)
            found[name] = np.maximum(found[name], np.where(np.isnan(step), np.inf, step))
    return found
