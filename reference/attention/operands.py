"""What attention attends with: queries, keys and values, out of whichever tensors hold them, with their bias and with those of the past.

All have the sizes (batch, heads, positions, elements of a head). Where a bias is added to them, an implementation may store the sum in
the tensors' own type: DirectML.dll does, also where no output shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.spec.desc import OperatorDesc

Inputs = Mapping[str, Array]

EPSILON = {"FLOAT32": 2.0**-23, "FLOAT16": 2.0**-10}
"""What storing a number of the type costs, relative to it; truncation is allowed."""

QUANTUM = {"FLOAT32": 2.0**-126, "FLOAT16": 2.0**-24}
"""What it costs below the normal numbers. FLOAT32 may flush them."""

_STACKED = ("StackedQueryKeyValueTensor", "StackedQueryKeyTensor", "StackedKeyValueTensor")


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
    def of(cls, desc: OperatorDesc) -> Heads:
        """Those of a desc: MULTIHEAD_ATTENTION has one count for both."""
        query: Any = desc.fields.get("QueryHeadCount", desc.fields.get("HeadCount"))
        shared: Any = desc.fields.get("KeyValueHeadCount", query)
        return cls(query, shared)


def element_type(desc: OperatorDesc) -> str:
    """The data type of everything but masks and lengths."""
    return desc.tensor("OutputTensor").data_type


def operands(xp: Any, desc: OperatorDesc, inputs: Inputs) -> tuple[Estimate, Estimate, Estimate]:
    """Queries, keys and values with their bias, those of the past not among them."""
    heads = Heads.of(desc)
    found = [
        _found(xp, which, count, inputs)
        for which, count in (("Query", heads.query), ("Key", heads.shared), ("Value", heads.shared))
    ]
    bias = inputs.get("BiasTensor")
    if bias is None:
        query, key, value = (Estimate(array, xp.zeros_like(array)) for array in found)
        return query, key, value
    rest = xp.reshape(bias, (-1,)).astype(xp.float64)
    biased = []
    for array in found:
        count, size = array.shape[1], array.shape[3]
        own, rest = rest[: count * size], rest[count * size :]
        biased.append(_stored(xp, array + xp.reshape(own, (count, 1, size)), element_type(desc)))
    query, key, value = biased
    return query, key, value


def _found(xp: Any, which: str, count: int, inputs: Inputs) -> Array:
    """Queries, keys or values without bias."""
    alone = inputs.get(f"{which}Tensor")
    if alone is not None:
        batch, positions, width = alone.shape[-3:]
        split = xp.reshape(alone, (batch, positions, count, width // count))
    else:
        name = next(name for name in _STACKED if which in name and name in inputs)
        order = [part for part in ("Query", "Key", "Value") if part in name]
        split = inputs[name][:, :, :, order.index(which), :]
    return xp.permute_dims(split, (0, 2, 1, 3)).astype(xp.float64)


def _stored(xp: Any, value: Array, data_type: str) -> Estimate:
    size = xp.abs(value)
    return Estimate(value, xp.where(size > 0, xp.maximum(size * EPSILON[data_type], QUANTUM[data_type]), 0.0))


def fill_error(xp: Any, fill: Array, data_type: str) -> Array:
    """What storing what a mask adds costs: nothing where the type holds it, and infinity is left as it is."""
    held = fill.astype(xp.float16 if data_type == "FLOAT16" else xp.float32).astype(xp.float64) == fill
    return xp.where(held, 0.0, xp.abs(fill) * EPSILON[data_type])


def four(xp: Any, array: Array) -> Array:
    """A tensor of four or five dimensions, of which the first of five is 1, in float64 and with four."""
    return xp.reshape(array, array.shape[-4:]).astype(xp.float64)


def joined(xp: Any, past: Array | None, new: Estimate) -> Estimate:
    """Keys or values of the past with the new ones behind them."""
    if past is None:
        return new
    before = four(xp, past)
    return Estimate(xp.concat([before, new.value], axis=2), xp.concat([xp.zeros_like(before), new.error], axis=2))
