"""What attention attends with: queries, keys and values, out of whichever tensors hold them, with their bias.

All have the sizes (batch, heads, positions, elements of a head). Where a bias is added to them, an implementation may store the sum in
the tensors' own type: DirectML.dll does, also where no output shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

Inputs = Mapping[str, Array]

EPSILON = {"FLOAT32": 2.0**-23, "FLOAT16": 2.0**-10}
"""What storing a number of the type costs, relative to it; truncation is allowed."""

QUANTUM = {"FLOAT32": 2.0**-126, "FLOAT16": 2.0**-24}
"""What it costs below the normal numbers. FLOAT32 may flush them."""

PARTS = ("Query", "Key", "Value")
"""In the order in which a stacked tensor or BiasTensor holds them."""

_STACKED = ("StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor")


@dataclass(frozen=True, slots=True)
class Estimate:
    """Exact numbers (float64), and how far those of an implementation may lie from them."""

    value: Array
    error: Array


@dataclass(frozen=True, slots=True)
class Heads:
    """How many heads the queries have, and how many the keys and values: each of these serves as many query heads, in order."""

    query: int
    shared: int

    @classmethod
    def from_desc(cls, desc: OperatorDesc) -> Heads:
        """Those of a desc: MULTIHEAD_ATTENTION has one count for both."""
        if "HeadCount" in desc.fields:
            return cls(desc.integer("HeadCount"), desc.integer("HeadCount"))
        return cls(desc.integer("QueryHeadCount"), desc.integer("KeyValueHeadCount"))


def element_type(desc: OperatorDesc) -> str:
    """The data type of everything but masks and lengths."""
    return desc.tensor("OutputTensor").data_type


def operands(xp: Any, desc: OperatorDesc, inputs: Inputs) -> tuple[Estimate, Estimate, Estimate]:
    """Queries, keys and values with their bias, those of the past not among them."""
    heads = Heads.from_desc(desc)
    found = [split(xp, part, count, inputs) for part, count in zip(PARTS, (heads.query, heads.shared, heads.shared), strict=True)]
    tensor = inputs.get("BiasTensor")
    if tensor is None:
        query, key, value = (Estimate(array, xp.zeros_like(array)) for array in found)
        return query, key, value
    biases = bias(xp, xp.reshape(tensor, (-1,)).astype(xp.float64), [(array.shape[1], array.shape[3]) for array in found])
    query, key, value = (_stored_estimate(xp, x + added, element_type(desc)) for x, added in zip(found, biases, strict=True))
    return query, key, value


@stage("attention.split")
def split(xp: Any, part: str, count: int, inputs: Inputs) -> Array:
    """Queries, keys or values (``part``) of ``count`` heads, without bias: (batch, heads, positions, elements of a head)."""
    alone = inputs.get(f"{part}Tensor")
    if alone is not None:
        batch, positions, width = alone.shape[-3:]
        apart = xp.reshape(alone, (batch, positions, count, width // count))
    else:
        name = next(name for name in _STACKED if part in name and name in inputs)
        order = [other for other in PARTS if other in name]
        apart = inputs[name][:, :, :, order.index(part), :]
    return xp.permute_dims(apart, (0, 2, 1, 3)).astype(xp.float64)


@stage("attention.bias")
def bias(xp: Any, elements: Array, sizes: Sequence[tuple[int, int]]) -> list[Array]:
    """What is added to queries, keys and values: of each (heads, 1, elements of a head).

    ``elements`` are BiasTensor's in a row, ``sizes`` the heads of each part and the elements of a head.
    """
    found, start = [], 0
    for heads, width in sizes:
        found.append(xp.reshape(elements[start : start + heads * width], (heads, 1, width)))
        start += heads * width
    return found


def _stored_estimate(xp: Any, value: Array, data_type: str) -> Estimate:
    size = xp.abs(value)
    return Estimate(value, xp.where(size > 0, xp.maximum(size * EPSILON[data_type], QUANTUM[data_type]), 0.0))


def fill_error(xp: Any, fill: Array, data_type: str) -> Array:
    """What storing what a mask adds costs: nothing where the type holds it, and infinity is left as it is."""
    exact = fill.astype(xp.float16 if data_type == "FLOAT16" else xp.float32).astype(xp.float64) == fill
    return xp.where(exact, 0.0, xp.abs(fill) * EPSILON[data_type])


def four(xp: Any, array: Array) -> Array:
    """A tensor of four or five dimensions, of which the first of five is 1, in float64 and with four."""
    return xp.reshape(array, array.shape[-4:]).astype(xp.float64)
