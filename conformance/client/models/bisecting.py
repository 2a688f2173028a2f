"""The smallest part of a model around its first wrong node that is still wrong, by itself.

The node alone comes first, with the values that the model's other nodes give it; then those before it too, up to one, two, four, eight steps away: what is
wrong may be wrong only as part of a graph. Where no node by itself is wrong but the graph as a whole, the first node up to which the graph is wrong is looked for first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.client.models.reading import Model, cut
from dmlcts.conformance.client.models.writing import ELEMENT_TYPES, proto_bytes, tensor_proto

Array = NDArray[Any]

MOST_STEPS = 64
"""So many steps back at most is looked for what is wrong."""

_KEPT = 64
"""Integers of so many elements at most, such as the sizes of a Reshape, become weights: providers need to know them beforehand."""

_OF_DIRECTML = re.compile(r"(.+)_dmlEp_\d+", re.DOTALL)
"""What ONNX Runtime calls a node of a DirectML graph: the first output of the model's node, and the operator's number in it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a model: the places of its nodes, the whole of it as a model, its inputs in order, and the names of its outputs."""

    places: tuple[int, ...]
    data: bytes = field(repr=False)
    inputs: Mapping[str, Array] = field(repr=False)
    outputs: tuple[str, ...]


Values = Callable[[Sequence[str]], Mapping[str, Array]]
"""The values of some names in the whole model, which are right."""

IsWrong = Callable[[Part], bool]
"""Whether a part, run by itself, is wrong."""


def place_of(model: Model, node: str) -> int | None:
    """The place of the node of a model that a node of a DirectML graph came from; None where it is none of the model's, or has no name."""
    found = _OF_DIRECTML.fullmatch(node)
    return model.maker(found[1]) if found else None


def smallest_wrong(model: Model, place: int | None, values: Values, is_wrong: IsWrong) -> Part | None:
    """The smallest part that is wrong, of those that end with the node at ``place``; None if none is.

    Without a place, the first node up to which the model is wrong takes it: half of the nodes are left out each time, in the model's order.
    """
    end = _first_wrong_end(model, values, is_wrong) if place is None else place
    if end is None:
        return None
    before: tuple[int, ...] = ()
    steps = 0
    while steps <= MOST_STEPS:
        places = nodes_around(model, end, steps)
        if places != before and is_wrong(part := part_of(model, places, values)):
            return part
        if places == before:
            return None
        before, steps = places, max(1, 2 * steps)
    return None


def _first_wrong_end(model: Model, values: Values, is_wrong: IsWrong) -> int | None:
    """The first node for which all that leads to it is wrong."""
    right, wrong = -1, len(model.nodes) - 1
    if not is_wrong(part_of(model, nodes_around(model, wrong, len(model.nodes)), values)):
        return None
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_wrong(part_of(model, nodes_around(model, middle, len(model.nodes)), values)):
            wrong = middle
        else:
            right = middle
    return wrong


def nodes_around(model: Model, place: int, steps: int) -> tuple[int, ...]:
    """The node, and those before it that are at most so many steps away; constants are no step."""
    makers = {name: at for at, node in enumerate(model.nodes) for name in node.makes}
    found, edge = {place}, {place}
    for step in range(steps + 1):
        before = {makers[name] for at in edge for name in model.nodes[at].reads if name in makers} - found
        constants = {at for at in before if not model.nodes[at].reads}
        found |= constants
        if step == steps or not before - constants:
            break
        edge = before - constants
        found |= edge
    return tuple(sorted(found))


def part_of(model: Model, places: Sequence[int], values: Values) -> Part:
    """The nodes at some places as a model of their own: what they read of others is an input, what nodes outside read of them, or none, an output."""
    nodes = [model.nodes[place] for place in places]
    made = {name for node in nodes for name in node.makes}
    inputs = tuple(dict.fromkeys(name for node in nodes for name in node.reads if name not in made and name not in model.weights))
    chosen = set(places)
    wanted = {name for at, node in enumerate(model.nodes) if at not in chosen for name in node.reads} | set(model.outputs)
    within = {name for node in nodes for name in node.reads}
    outputs = [name for node in nodes for name in node.makes if name in wanted or name not in within]
    given = values(inputs) if inputs else {}
    fixed = {name: array for name, array in given.items() if array.dtype.kind in "iu" and array.size <= _KEPT}
    free = {name: array for name, array in given.items() if name not in fixed}
    if not free:  # a model has an input
        free, fixed = fixed, {}
    described = {name: (array.dtype.name, array.shape) for name, array in free.items()}
    data = cut(model, places, outputs, described, [proto_bytes(5, tensor_proto(name, array)) for name, array in fixed.items()])
    return Part(tuple(places), data, free, tuple(outputs))


def write_part(part: Part, expected: Mapping[str, Array], folder: Path) -> Path:
    """Writes model.onnx, and test_data_set_0 with inputs and right outputs beside it, as ONNX's own tests have them. Raises OSError."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(part.data)
    for kind, arrays in (("input", part.inputs), ("output", expected)):
        for place, (name, array) in enumerate(arrays.items()):
            if array.dtype.name in ELEMENT_TYPES:
                (data / f"{kind}_{place}.pb").write_bytes(tensor_proto(name, np.asarray(array)))
    return folder / "model.onnx"
