"""Graphs with smaller tensors, or plainer attributes, of a graph: what a failure is made smaller by when no node can be left out any more.

The sizes of an operator's tensors are those of the symbols in its shapes. One is cut at a time; what the edges join follows, as far as they lead, so
that tensors of one edge still have as many bytes. Strides and data types stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dmlcts.generator.case.case import Case, Data
from dmlcts.generator.case.inputs import array
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import Sizes, solve_sizes
from dmlcts.generator.plan.type_choices import padded_run
from dmlcts.generator.suite.graphs.draw import is_open
from dmlcts.generator.suite.graphs.graph import Constant, Graph, Made, Node
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.dtypes import array_literal
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.rules.symbols import Cut, Symbols, cuts, symbols_of

_SMALL = (1, 2, 3, 4)
"""The sizes that are tried first."""

_ROUNDS = 4
"""How often each node's sizes are solved at most, while a cut goes round the graph."""


# Sizes


def with_smaller_tensors(graph: Graph) -> Iterator[Graph]:
    """Every graph of which one size of one operator is cut, and all that follows: the smallest of each size first."""
    for index, node in enumerate(graph.nodes):
        for wanted in _cuts(node):
            smaller = _resize(graph, index, node.desc, wanted)
            if smaller is not None and _element_count(smaller) < _element_count(graph):
                yield smaller


def _element_count(graph: Graph) -> int:
    """The elements of all tensors of all nodes."""
    return sum(tensor.count for node in graph.nodes for _, tensor in node.desc.tensors())


def _cuts(node: Node) -> Iterator[Symbols]:
    """The symbols of a node's shapes with a smaller size: of one symbol, then of all that have as many."""
    for cut in cuts(node.operator, node.desc, _SMALL):
        alike = {name: _cut_at(each, cut) for name, each in cut.symbols.items()}
        yield from [cut.symbols] if alike == cut.symbols else [cut.symbols, alike]


def _cut_at(value: int | tuple[int, ...], cut: Cut) -> int | tuple[int, ...]:
    """The value of a symbol, the size at the place of a cut no larger than that, if it has so many: a reduction's output has most sizes of its input."""
    if not isinstance(value, tuple) or len(value) != cut.count:
        return value
    return (*value[: cut.place], min(cut.size, value[cut.place]), *value[cut.place + 1 :])


def _resize(graph: Graph, start: int, begun: OperatorDesc, wanted: Mapping[str, Any]) -> Graph | None:
    """The graph whose node ``start`` has other attributes or sizes, and the others what follows; None where that gives no valid graph."""
    descs = [node.desc for node in graph.nodes]
    descs[start] = begun
    fixed: list[dict[str, Sizes]] = [{} for _ in descs]
    solved = [0] * len(descs)
    todo = [start]
    while todo:
        index = todo.pop()
        solved[index] += 1
        node = graph.nodes[index]
        desc = _solve_desc(node, descs[index], wanted if index == start else {}, fixed[index]) if solved[index] <= _ROUNDS else None
        if desc is None:
            return None
        changed = [name for name, tensor in desc.tensors() if tensor.sizes != descs[index].tensor(name).sizes]
        descs[index] = desc
        for name in changed:
            tensor = desc.tensor(name)
            fixed[index][name] = tensor.sizes
            for other, joined in _other_ends(graph, index, name):
                own = descs[other].tensor(joined)
                sizes = _as_read(graph.nodes[index].desc.tensor(name), graph.nodes[other].desc.tensor(joined), tensor.sizes)
                if sizes is None or fixed[other].get(joined, sizes) != sizes:
                    return None
                if own.sizes != sizes:
                    fixed[other][joined] = sizes
                    todo.append(other)
    return None if descs[start] == graph.nodes[start].desc else _with_descs(graph, descs)


def _other_ends(graph: Graph, index: int, name: str) -> list[tuple[int, str]]:
    """The other tensors of the memory that a tensor of a node lies in: of an edge, or of an input of the graph."""
    feed = graph.nodes[index].feeds.get(name, Made(index, name))
    if isinstance(feed, Constant):
        return []
    ends = [(feed.node, feed.tensor)] if isinstance(feed, Made) else []
    readers = [(reader, read) for reader, read, each in graph.feeds() if each == feed]
    return [each for each in (*ends, *readers) if each != (index, name)]


def _as_read(before: TensorDesc, other: TensorDesc, sizes: Sizes) -> Sizes | None:
    """The sizes of the other end of an edge, one of whose ends gets these: the same, or as many elements in its own number of dimensions."""
    if before.sizes == other.sizes:
        return sizes
    return padded_run(sizes, len(other.sizes)) if other.strides is None and before.strides is None else None


def _solve_desc(node: Node, desc: OperatorDesc, wanted: Mapping[str, Any], fixed: Mapping[str, Sizes]) -> OperatorDesc | None:
    """A valid desc of a node with the sizes of symbols that are wanted, and the tensors that are fixed; None where there is none."""
    run = next(tensor for _, tensor in desc.tensors()).sizes
    try:
        symbols = wanted or symbols_of(node.operator, node.desc)
        free = {name: value for name, value in symbols.items() if isinstance(value, int | tuple)}
        sizes = solve_sizes(node.operator, desc, run, free, fixed)
        resized = _with_sizes(desc, sizes)
        found = _with_like_attributes(node.operator, desc, resized)
        return found if plan_of(node.operator).level_of(found) and not violations(node.operator, found) else None
    except (NotGenerable, KeyError, ValueError, *FAILURES):
        return None


def _with_sizes(desc: OperatorDesc, sizes: Mapping[str, Sizes]) -> OperatorDesc:
    """The desc with other sizes of its tensors."""
    return desc.with_tensors({name: replace(desc.tensor(name), sizes=own, total_size=None) for name, own in sizes.items()})


def _with_like_attributes(operator: Operator, before: OperatorDesc, after: OperatorDesc) -> OperatorDesc:
    """The desc after a cut, in which an attribute that was a tensor's sizes, as a window's often are, still is."""
    new = {tensor.sizes: after.tensor(name).sizes for name, tensor in before.tensors()}
    fields = {
        each.name: new[value]
        for each in operator.attributes()
        if isinstance(value := after.fields[each.name], tuple) and value in new
    }
    return OperatorDesc(after.type, {**after.fields, **fields})


def _with_descs(graph: Graph, descs: list[OperatorDesc]) -> Graph | None:
    """The graph with other descs, and data of their sizes; None where data cannot be cut."""
    nodes = []
    for node, desc in zip(graph.nodes, descs, strict=True):
        data = {name: _cut_data(node.case, name, desc) for name in node.case.data}
        if None in data.values():
            return None
        known = {name: each for name, each in data.items() if each is not None}
        nodes.append(Node(replace(node.case, desc=desc, data=known), node.feeds))
    return Graph(tuple(nodes), graph.outputs)


def _cut_data(case: Case, name: str, desc: OperatorDesc) -> Data | None:
    """The data of an input of a node with another desc: as its recipe makes them, or the first ones of those that are given.

    None where data are given that must suit the sizes, such as indices.
    """
    data, before, after = case.data[name], case.desc.tensor(name), desc.tensor(name)
    if data.literal is None or case.desc == desc:
        return data
    if not is_open(plan_of(case.operator), field_of(name)):
        return None
    content = array(data, before, f"{case.id}/{name}", case.desc.fields)
    if content.ndim != len(after.sizes) or any(new > old for new, old in zip(after.sizes, content.shape, strict=True)):
        return None
    part = content[tuple(map(slice, after.sizes))]
    return Data(literal=array_literal(part, after.data_type))


# Attributes


def with_plainer_attributes(graph: Graph) -> Iterator[Graph]:
    """Every graph of which one attribute of one operator is plainer, and all that follows; no tensor grows."""
    for index, node in enumerate(graph.nodes):
        usual = _usual_fields(node)
        for field in node.operator.attributes():
            for value in _plainer_values(node.desc.fields[field.name], usual.get(field.name)):
                begun = OperatorDesc(node.desc.type, {**node.desc.fields, field.name: value})
                plainer = _resize(graph, index, begun, {})
                if plainer is not None and _element_count(plainer) <= _element_count(graph):
                    yield plainer


def _plainer_values(value: object, usual: object) -> Iterator[object]:
    """What is plainer than an attribute: of numbers those nearer to 0, one at a time; of anything else what is usual."""
    if type(value) is tuple and all(isinstance(each, int | float) for each in value):
        for plain in (0, 1):
            yield from (
                (plain,) * len(value) for _ in value[:1] if all(abs(each) >= plain for each in value) and set(value) != {plain}
            )
            for place, each in enumerate(value):
                if each < 0 or each > plain:
                    yield (*value[:place], plain, *value[place + 1 :])
    elif type(value) is not tuple and value != usual:
        yield usual


def _usual_fields(node: Node) -> Mapping[str, object]:
    """The fields of the plainest desc with a node's data types and about its sizes; none where there is no such desc."""
    plan, run = plan_of(node.operator), next(tensor for _, tensor in node.desc.tensors()).sizes
    types = {name: tensor.data_type for _, name, tensor in node.desc.by_field()} | {
        of: tensor.data_type for of, _, tensor in node.desc.by_field()
    }
    for choice in plan.choices:
        if all(types.get(name, own) == own for name, own in choice.types):
            with suppress(NotGenerable, *FAILURES):
                return choice.desc(run, choice.attributes[0]).fields
    return {}
