"""Faults of softmax, its logarithm, and hardmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import change_stored, step, table
from dmlcts.conformance.faults.model.fault import HALF, SINGLE, Fault, Faults, Table, roundings
from dmlcts.reference.answer import Array

Axes = tuple[int, ...]
Choice = Callable[[Axes, int], Any]

_BELOW, _EXPONENTIALS, _SUM = "activation.below_largest", "activation.exponentials", "activation.sum"

_CHOICES: Mapping[str, tuple[str, Choice]] = {
    "whole-tensor": ("treats the whole tensor as a row", lambda axes, count: range(count)),
    "one-axis-more": ("adds the dimension before the row's", lambda axes, count: {max(axes[0] - 1, 0), *axes}),
    "second-axis": ("goes along the second dimension", lambda axes, count: [min(1, count - 1)]),
}
_CHOICES_OF_AXES: Mapping[str, tuple[str, Choice]] = {
    "last-axis": ("goes along the last dimension", lambda axes, count: [count - 1]),
    "up-to-the-last": ("adds the dimensions between those of Axes", lambda axes, count: range(axes[0], axes[-1] + 1)),
    "counted-from-the-end": ("counts Axes from the end", lambda axes, count: [count - 1 - axis for axis in axes]),
}


def _along_axes(choices: Mapping[str, tuple[str, Choice]]) -> Faults:
    def axes(choose: Choice) -> Callable[..., Axes]:
        return lambda right, desc, x: tuple(sorted(choose(right(desc, x), x.ndim))) if right(desc, x) else ()

    return {label: Fault(does, stages={"activation.axes": axes(choose)}) for label, (does, choose) in choices.items()}


def _largest(x: Array, axes: Axes) -> Array:
    return np.max(x, axis=axes, keepdims=True)


def _last(x: Array, axes: Axes) -> Array:
    """The last elements along the last axis of a row."""
    return x.take([-1], axis=axes[-1])


def _total(terms: Array, axes: Axes) -> Array:
    return np.sum(terms, axis=axes, keepdims=True)


def _added_in_float16(terms: Array, axes: Axes) -> Array:
    """One after the other, along the last axis."""
    return _last(np.cumsum(np.float16(_total(terms, axes[:-1])), axis=axes[-1], dtype="f2"), axes).astype("f8")


def _shift_exponents(
    does: str, instead: Callable[[Array, Axes], Array], of: Callable[[Array], Array], types: tuple[str, ...] = ()
) -> Fault:
    """``instead(x, axes)`` in the exponents, and ``of`` for the exponential function."""
    return Fault(does, types=types, stages={**step("", _BELOW, instead).stages, **step("", _EXPONENTIALS, of).stages})


def _single(below: Array) -> Array:
    """Exponentials in FLOAT32, which overflow and underflow."""
    return np.exp(np.float32(below)).astype("f8")


def _infinity_as_1(right: Any, xp: Any, x: Array, axes: Axes) -> Array:
    return np.where(_largest(x, axes) == np.inf, np.where(x == np.inf, 0, -np.inf), right(xp, x, axes))


def _largest_of(does: str, seen: Callable[[Array], Array]) -> Fault:
    """The largest of what is seen of the elements."""
    return Fault(does, stages={"activation.is_largest": lambda right, xp, x, axes: right(xp, seen(x), axes)})


_FAULTS: Table = {
    "*SOFTMAX* HARDMAX*": _along_axes(_CHOICES),
    "*SOFTMAX1 HARDMAX1": _along_axes(_CHOICES_OF_AXES),
    "*SOFTMAX*": {
        **roundings("exponentials", _EXPONENTIALS),
        "overflows-float16": _shift_exponents(
            "does not subtract the largest in FLOAT16", lambda x, axes: x, lambda y: np.float64(np.exp(np.float16(y))), HALF
        ),
        "largest-from-0": _shift_exponents(
            "subtracts at least 0", lambda x, axes: x - np.maximum(_largest(x, axes), 0), _single, SINGLE
        ),
        "sum-of-256": step(
            "adds up 256 at most", _SUM, lambda t, axes: _total(t.take(range(min(256, t.shape[axes[-1]])), axes[-1]), axes)
        ),
        "sum-in-float16": step("adds up in FLOAT16", _SUM, _added_in_float16, SINGLE),
    },
    "SOFTMAX*": {
        "largest-of-tensor": _shift_exponents("subtracts the tensor's largest", lambda x, axes: x - np.max(x), _single, SINGLE),
        "small-as-zero": step("gives 0 below exp(-10)", _EXPONENTIALS, lambda y: np.where(y < -10, 0, np.exp(y))),
        "nan-ignored": step(
            "ignores NaN", _BELOW, lambda x, axes: np.nan_to_num(x - np.nanmax(x, axes, keepdims=True), nan=-np.inf)
        ),
        "infinity-as-1": Fault("gives 1 for infinity", stages={_BELOW: _infinity_as_1}),
    },
    "LOG_SOFTMAX*": {
        "of-softmax": change_stored("computes a softmax in FLOAT32 first", lambda y, x: np.log(np.exp(np.float32(y))), SINGLE),
    },
    "HARDMAX*": {
        "all-of-equals": step("gives 1 for each of the largest", "activation.first", lambda largest, axes: largest),
        "from-0": _largest_of("begins with 0, so that nothing below is the largest", lambda x: np.maximum(x, 0)),
        "by-bits": _largest_of("compares the bits of floats as integers", lambda x: np.float32(x).view("i4")),
    },
}

FAULTS = table("ACTIVATION_", _FAULTS)
"""What implementations of them get wrong."""
