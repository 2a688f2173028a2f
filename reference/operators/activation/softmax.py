"""Softmax, its logarithm, and hardmax: along the last dimension, or along Axes.

An exponential is as good as its argument, so what an element may be off by depends on its distance from the row's largest one: computed
in FLOAT32, ``exp(x - max)`` carries the rounding of the difference and that of its product with log2(e), together ``2 * |x - max|``
units beside the function's own. The units of all terms of the sum come in by their shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.fused import HALF_LARGEST, spreads
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_MUCH = 300.0
"""An error of an exponent that says nothing of a share any more; its exponential is still a number."""


@stage("activation.axes")
def _axes(desc: OperatorDesc, x: Array) -> tuple[int, ...]:
    """The dimensions that make up a row. Their order in Axes, and one given twice, mean nothing: measured on DirectML.dll."""
    return tuple(sorted(set(desc.integers("Axes", default=(x.ndim - 1,)))))


def _row(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array, Array, Array]:
    """``x - max``, the sum of the exponentials, each element's share, and the units that the sum may be off by for its terms' sake."""
    axes = _axes(desc, x)
    x = x.astype(xp.float64)
    below = _below_largest(xp, x, axes)
    terms = _exponentials(xp, below)
    total = _sum(xp, terms, axes)
    share = terms / total
    weighted = xp.sum(xp.where(share > 0, share * xp.abs(below), 0.0), axis=axes, keepdims=True)
    return below, total, share, prod(x.shape[axis] for axis in axes) + 2 * weighted


@stage("activation.below_largest")
def _below_largest(xp: Any, x: Array, axes: tuple[int, ...]) -> Array:
    """Each element less the largest of its row: the arguments of the exponentials."""
    return x - xp.max(x, axis=axes, keepdims=True)


@stage("activation.exponentials")
def _exponentials(xp: Any, below: Array) -> Array:
    """The terms of the sum."""
    return xp.exp(below)


@stage("activation.sum")
def _sum(xp: Any, terms: Array, axes: tuple[int, ...]) -> Array:
    """The sum of each row's terms, with sizes of 1 along the axes."""
    return xp.sum(terms, axis=axes, keepdims=True)


def softmax(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``exp(x) / sum(exp(x))``, computed as ``exp(x - max) / sum(exp(x - max))``, which never overflows.

    A row with an infinity that is its maximum is NaN throughout, where the page's formula has zeros: measured on DirectML.dll.
    """
    below, total, share, units = _row(xp, desc, inputs["InputTensor"])

    def answer(share: Array) -> Answer:
        positive = share > 0
        return Answer(share, magnitude=xp.where(positive, share, 0.0), terms=xp.where(positive, units + 2 * xp.abs(below), 1.0))

    lost = _half_sums(xp, desc, total)
    return {"OutputTensor": answer(share) if lost is None else _contested_answer(answer(share), answer(share * total / lost))}


@spreads("ACTIVATION_SOFTMAX")
@spreads("ACTIVATION_SOFTMAX1")
def _spread(xp: Any, desc: OperatorDesc, x: Array, error: Array) -> Array:
    """How far a share may lie off where each element of its row may be off by ``error``: it grows with its own and falls with the others.

    It is the largest where its element is too large by all that it may be and every other one too small; and the other way round.
    Infinite throughout a row of which an element may be anything.
    """
    axes = _axes(desc, x)
    _, _, share, _ = _row(xp, desc, x)
    open_ = xp.any(error > _MUCH, axis=axes, keepdims=True)
    more = xp.exp(xp.where(open_, 0.0, error))
    most, least = share * more, share / more
    total = xp.sum(most, axis=axes, keepdims=True)
    high = most / (xp.sum(least, axis=axes, keepdims=True) - least + most)
    low = least / (xp.maximum(total - most, 2.0**-50 * total) + least)  # what the difference has lost comes back
    return xp.where(open_, xp.inf, xp.maximum(high - share, share - low))


def log_softmax(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``ln(exp(x) / sum(exp(x)))``, computed as ``x - max - ln(sum(exp(x - max)))``, a sum of two numbers that are never above 0.

    Below an infinite maximum it is -inf, as the formula says. What the sum is off by is an absolute error of the result, and the roundings
    of both differences are relative to it: both are counted as terms of ``max(1, |result|)``.
    """
    x = inputs["InputTensor"]
    below, total, _, units = _row(xp, desc, x)
    beyond = xp.max(x, axis=_axes(desc, x), keepdims=True) == xp.inf

    def answer(logarithm: Array) -> Answer:
        value = xp.where(beyond, xp.where(x == xp.inf, xp.nan, -xp.inf), below - logarithm)
        finite = xp.isfinite(value)
        size = xp.where(finite, xp.maximum(xp.abs(value), 1.0), 1.0)
        return Answer(value, magnitude=size, terms=xp.where(finite, (units + 2 * logarithm) / size, 1.0))

    lost, exact = _half_sums(xp, desc, total), answer(xp.log(total))
    return {"OutputTensor": exact if lost is None else _contested_answer(exact, answer(xp.log(lost)))}


def _half_sums(xp: Any, desc: OperatorDesc, total: Array) -> Array | None:
    """The sums as DirectML.dll stores them for FLOAT16, where they do not exceed the largest such number; None if none does."""
    output = desc.find("OutputTensor")  # a fused activation's desc has no tensors
    half = output is not None and output.data_type == "FLOAT16"
    return xp.minimum(total, HALF_LARGEST) if half and bool(xp.any((total > HALF_LARGEST) & (total < xp.inf))) else None


def _contested_answer(documented: Answer, measured: Answer) -> Answer:
    return replace(documented, contested={MEASURED: measured})


def hardmax(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """1 for the first of a row's largest elements, in row-major order over its dimensions, and 0 for the others.

    Nothing is defined for a row with a NaN: depending on its position, DirectML.dll treats a NaN as the largest or ignores it.
    """
    x = inputs["InputTensor"]
    axes = _axes(desc, x)
    first = _first(xp, _is_largest(xp, x, axes), axes)
    known = xp.broadcast_to(~xp.any(xp.isnan(x), axis=axes, keepdims=True), x.shape)
    return {"OutputTensor": Answer(xp.where(first, 1.0, 0.0), defined=known)}


@stage("activation.is_largest")
def _is_largest(xp: Any, x: Array, axes: tuple[int, ...]) -> Array:
    """Which elements are as large as any of their row."""
    return x == xp.max(x, axis=axes, keepdims=True)


@stage("activation.first")
def _first(xp: Any, largest: Array, axes: tuple[int, ...]) -> Array:
    """The first of those in each row."""
    sizes = tuple(size if axis in axes else 1 for axis, size in enumerate(largest.shape))
    place = xp.reshape(xp.arange(prod(sizes)), sizes)
    return place == xp.min(xp.where(largest, place, prod(sizes)), axis=axes, keepdims=True)


_FUNCTIONS: Mapping[str, Reference] = {"SOFTMAX": softmax, "LOG_SOFTMAX": log_softmax, "HARDMAX": hardmax}

for _name, _function in _FUNCTIONS.items():
    reference(f"ACTIVATION_{_name}")(_function)
    reference(f"ACTIVATION_{_name}1")(_function)
