"""What faults of normalizations have in common: sums along axes, divisors, and axes that are mistaken for others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dmlcts.conformance.mutants.old.elsewise import added_up
from dmlcts.conformance.mutants.old.fault import FLOATS, SINGLE
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.reference.registry import compute
from dmlcts.spec.desc import OperatorDesc

Axes = tuple[int, ...]

Choice = Callable[[Axes, int], Axes]
"""(right axes, number of dimensions) -> those that are taken."""

Total = Callable[[Array, Axes], Array]
"""(terms, axes) -> the sum of each row, the axes kept as ones."""

Divisor = Callable[[Array, float], Array]
"""(a variance or the square of a norm, Epsilon) -> what divides."""

Tensor = Callable[[Array, Array], Array]
"""(a tensor, the input) -> the numbers that are computed with, which broadcast to the input's sizes."""


def number(desc: OperatorDesc, name: str) -> float:
    """A FLOAT attribute as the desc holds it."""
    value = desc.fields[name]
    assert isinstance(value, int | float)
    return float(np.float32(value))


def fused(desc: OperatorDesc, value: Array) -> Array:
    """What the fused activation makes of a result; the result itself without one."""
    inner = desc.fields.get("FusedActivation")
    if not isinstance(inner, OperatorDesc):
        return value
    found: Array = compute(inner, {"InputTensor": value.astype(np.float64)})["OutputTensor"].value
    return found


def total(terms: Array, axes: Axes) -> Array:
    """The right sums."""
    found: Array = np.sum(terms, axis=axes, keepdims=True, dtype=terms.dtype)
    return found


def of_rows(function: Callable[[Array], Array]) -> Total:
    """Sums by a function of the terms, each row of which lies along the last axis."""

    def sums(terms: Array, axes: Axes) -> Array:
        if not axes:
            return terms
        rows = np.moveaxis(terms, axes, range(-len(axes), 0))
        found: Array = np.expand_dims(function(rows.reshape(*rows.shape[: -len(axes)], -1)), axes).astype(terms.dtype)
        return found

    return sums


def root(square: Array, epsilon: float) -> Array:
    """The right divisor."""
    found: Array = np.sqrt(square + square.dtype.type(epsilon))
    return found


def few_digits(value: Array, digits: int = 11) -> Array:
    """Cut to so many binary digits, as a quick approximation has."""
    mantissa, exponent = np.frexp(value)
    found: Array = np.ldexp(np.trunc(mantissa * 2.0**digits) / 2.0**digits, exponent)
    return found


def next_channel(tensor: Array, x: Array) -> Array:
    """The numbers of the channel before, for each."""
    return np.roll(tensor, 1, axis=min(1, tensor.ndim - 1))


def first_place(tensor: Array, x: Array) -> Array:
    """The number at the first place of each channel, for all."""
    return tensor[(slice(None), slice(None), *[slice(1)] * (tensor.ndim - 2))] if tensor.ndim > 1 else tensor[:1]


def first_batch(tensor: Array, x: Array) -> Array:
    """The numbers of the first batch, for all."""
    return tensor[:1]


def by_last_dimension(tensor: Array, x: Array) -> Array:
    """One after another along the last dimension, round and round, as where channels come last."""
    flat = tensor.reshape(-1)
    return flat[np.arange(x.shape[-1]) % flat.size]


ELSEWHERE: tuple[tuple[str, str, Callable[[Array, Array], Array]], ...] = (
    ("of-next-channel", "the next channel", next_channel),
    ("of-first-place", "the first place of each channel", first_place),
    ("of-first-batch", "the first batch", first_batch),
    ("by-last-dimension", "one number after another along the last dimension", by_last_dimension),
    ("of-one", "the first number alone", lambda tensor, x: tensor.reshape(-1)[:1]),
    ("mirrored", "the last channel first, and so on,", lambda tensor, x: tensor[:, ::-1] if tensor.ndim > 1 else tensor[::-1]),
)
"""Where a parameter may be read wrongly: a name, its words, and what becomes of the parameter."""

DIVISORS: Mapping[str, tuple[str, Divisor, tuple[str, ...]]] = {
    "epsilon-outside": ("adds Epsilon outside the root", lambda square, e: np.sqrt(square) + e, FLOATS),
    "epsilon-lost": ("does not add Epsilon", lambda square, e: np.sqrt(square), FLOATS),
    "epsilon-twice": ("adds Epsilon twice", lambda square, e: np.sqrt(square + 2 * e), FLOATS),
    "epsilon-subtracted": ("subtracts Epsilon", lambda square, e: np.sqrt(np.maximum(square - e, 0)), FLOATS),
    "epsilon-squared": ("adds the square of Epsilon", lambda square, e: np.sqrt(square + e * e), FLOATS),
    "epsilon-least-square": ("takes Epsilon for the least that is under the root", lambda s, e: np.sqrt(np.maximum(s, e)), FLOATS),
    "epsilon-least-root": ("takes Epsilon for the least divisor", lambda square, e: np.maximum(np.sqrt(square), e), FLOATS),
    "root-forgotten": ("takes no root", lambda square, e: square + e, FLOATS),
    "root-twice": ("takes the root twice", lambda square, e: np.sqrt(np.sqrt(square + e)), FLOATS),
    "multiplied": ("multiplies by the root", lambda square, e: 1 / np.sqrt(square + e), FLOATS),
    "root-of-11-digits": ("takes the root with 11 binary digits", lambda s, e: few_digits(np.sqrt(s + e)), SINGLE),
}
"""By name: what it does, what divides, and the data types for which that is wrong."""

TOTALS: Mapping[str, tuple[str, Total]] = {
    "sums-in-float16": ("adds up in FLOAT16", of_rows(lambda rows: added_up("f2")(rows, -1))),
    "last-left-out": ("leaves the last element out of its sums", of_rows(lambda rows: np.sum(rows[..., :-1], axis=-1))),
    "first-left-out": ("leaves the first element out of its sums", of_rows(lambda rows: np.sum(rows[..., 1:], axis=-1))),
    "sum-of-256": ("adds up 256 elements at most", of_rows(lambda rows: np.sum(rows[..., :256], axis=-1))),
    "sum-of-1024": ("adds up 1,024 elements at most", of_rows(lambda rows: np.sum(rows[..., :1024], axis=-1))),
    "rest-of-4-left-out": (
        "leaves out of its sums what is left of a division by 4",
        of_rows(lambda rows: np.sum(rows[..., : max(rows.shape[-1] // 4 * 4, 1)], axis=-1)),
    ),
    "nan-passed-over": ("passes over NaN in its sums", of_rows(lambda rows: np.nansum(rows, axis=-1))),
}
"""By name: what it does, and the sums."""

CHOICES: Mapping[str, tuple[str, Choice]] = {
    "whole-tensor": ("takes the whole tensor for a row", lambda axes, count: tuple(range(count))),
    "first-axis": ("goes along the first dimension", lambda axes, count: (0,)),
    "second-axis": ("goes along the second dimension", lambda axes, count: (min(1, count - 1),)),
    "last-axis": ("goes along the last dimension", lambda axes, count: (count - 1,)),
    "one-axis-more": ("takes the dimension before the row's for a part of it", lambda a, n: tuple(sorted({max(a[0] - 1, 0), *a}))),
    "one-axis-further": ("goes along the dimension after the row's", lambda a, n: tuple(sorted({(axis + 1) % n for axis in a}))),
    "counted-from-the-end": ("counts axes from the end", lambda axes, n: tuple(sorted(n - 1 - axis for axis in axes))),
    "others": ("goes along the other dimensions", lambda axes, n: tuple(sorted(set(range(n)) - set(axes))) or axes),
    "from-the-first": ("takes all dimensions from the first axis on", lambda axes, count: tuple(range(axes[0], count))),
    "up-to-the-last": ("takes all dimensions up to the last axis", lambda axes, count: tuple(range(axes[-1] + 1))),
}
"""By name: what it does, and the axes that are taken."""
