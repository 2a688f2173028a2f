"""Faults in softmax, its logarithm, and hardmax."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import HALF, SINGLE, Computed, Fault, Faults, planted
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

Axes = tuple[int, ...]

Choice = Callable[[Axes, int], Axes]
"""(right axes, number of dimensions) -> those that are taken."""


def _axes(desc: OperatorDesc, dimensions: int) -> Axes:
    axes = desc.fields.get("Axes")
    return tuple(sorted({int(axis) for axis in axes})) if isinstance(axes, tuple) else (dimensions - 1,)


def _over(function: Callable[[Array, Axes], Any], choice: Choice = lambda axes, count: axes, dtype: str = "f8") -> Computed:
    """A function of the input, in FLOAT64 or another type, and of the axes of a row."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x = inputs["InputTensor"]
        axes = _axes(desc, x.ndim)
        return function(x.astype(dtype), choice(axes, x.ndim) if axes else axes)

    return computed


def _largest(x: Array, axes: Axes) -> Array:
    largest: Array = np.max(x, axis=axes, keepdims=True)
    return largest


def _sum(x: Array, axes: Axes) -> Array:
    total: Array = np.sum(x, axis=axes, keepdims=True)
    return total


def _softmax(x: Array, axes: Axes) -> Array:
    return _shares(_terms(x, axes), axes)


def _log_softmax(x: Array, axes: Axes) -> Array:
    below = x - _largest(x, axes)
    return below - np.log(_sum(np.exp(below), axes))


def _hardmax(x: Array, axes: Axes, last: bool = False) -> Array:
    place = np.arange(x.size).reshape(x.shape)
    found = np.where(x == _largest(x, axes), place, -1 if last else x.size)
    return np.asarray(place == (np.max if last else np.min)(found, axis=axes, keepdims=True))


_CHOICES: Mapping[str, tuple[str, Choice]] = {
    "whole-tensor": ("takes the whole tensor for a row", lambda axes, count: tuple(range(count))),
    "first-axis": ("goes along the first dimension", lambda axes, count: (0,)),
    "second-axis": ("goes along the second dimension", lambda axes, count: (min(1, count - 1),)),
    "one-axis-more": (
        "takes the dimension before the row's for a part of it",
        lambda axes, count: tuple(sorted({max(axes[0] - 1, 0), *axes})),
    ),
    "one-element": ("takes each element for a row", lambda axes, count: ()),
}

_AXES: Mapping[str, tuple[str, Choice]] = {
    "last-axis": ("goes along the last dimension", lambda axes, count: (count - 1,)),
    "from-the-first": ("takes the dimensions from the first of Axes on", lambda axes, count: tuple(range(axes[0], count))),
    "up-to-the-last": (
        "takes the dimensions between the first and the last of Axes, too",
        lambda axes, count: tuple(range(axes[0], axes[-1] + 1)),
    ),
    "counted-from-the-end": ("counts Axes from the end", lambda axes, count: tuple(sorted(count - 1 - axis for axis in axes))),
    "others": ("goes along the dimensions that are not in Axes", lambda axes, count: tuple(set(range(count)) - set(axes)) or axes),
}


def _misplaced(right: Callable[[Array, Axes], Array], choices: Mapping[str, tuple[str, Choice]]) -> dict[str, Fault]:
    return {name: Fault(does, _over(right, choice)) for name, (does, choice) in choices.items()}


def _terms(x: Array, axes: Axes) -> Array:
    terms: Array = np.exp(x - _largest(x, axes))
    return terms


def _shares(terms: Array, axes: Axes) -> Array:
    return terms / _sum(terms, axes)


def _last(x: Array, axes: Axes) -> Array:
    """The last elements along the last axis of a row."""
    return x.take([-1], axis=axes[-1])


def _added_in_float16(terms: Array, axes: Axes) -> Array:
    """One after the other, of rows along one dimension."""
    return (
        _last(np.cumsum(terms.astype("f2"), axis=axes[-1], dtype="f2"), axes).astype("f8") if len(axes) == 1 else _sum(terms, axes)
    )


_SOFTMAX: Mapping[str, Fault] = {
    "overflows": Fault("does not subtract the largest", _over(lambda x, axes: _shares(np.exp(x), axes), dtype="f4"), SINGLE),
    "overflows-float16": Fault(
        "computes in FLOAT16 and does not subtract", _over(lambda x, axes: _shares(np.exp(x), axes), dtype="f2"), HALF
    ),
    "largest-of-tensor": Fault(
        "subtracts the tensor's largest", _over(lambda x, axes: _shares(np.exp(x - np.max(x)), axes), dtype="f4"), SINGLE
    ),
    "largest-from-0": Fault(
        "subtracts 0 where all is below",
        _over(lambda x, axes: _shares(np.exp(x - np.maximum(_largest(x, axes), 0)), axes), dtype="f4"),
        SINGLE,
    ),
    "sum-in-float16": Fault(
        "adds up in FLOAT16", _over(lambda x, axes: _terms(x, axes) / _added_in_float16(_terms(x, axes), axes)), SINGLE
    ),
    "base-2": Fault("takes 2 for e", _over(lambda x, axes: _shares(np.exp2(x - _largest(x, axes)), axes))),
    "by-largest": Fault("divides by the largest", _over(_terms)),
    "last-left-out": Fault(
        "leaves the last element out of the sum",
        _over(lambda x, axes: _terms(x, axes) / (_sum(_terms(x, axes), axes) - _last(_terms(x, axes), axes))),
    ),
    "sum-of-256": Fault(
        "adds up 256 elements at most",
        _over(
            lambda x, axes: _terms(x, axes) / _sum(_terms(x, axes).take(range(min(256, x.shape[axes[-1]])), axis=axes[-1]), axes)
        ),
    ),
    "linear": Fault("divides by the sum of the elements", _over(_shares)),
    "negated": Fault("takes the negative", _over(lambda x, axes: _softmax(-x, axes))),
    "small-as-zero": Fault(
        "gives 0 for less than exp(-10)", _over(lambda x, axes: np.where(x - _largest(x, axes) < -10, 0, _softmax(x, axes)))
    ),
    "nan-passed-over": Fault(
        "passes over NaN", _over(lambda x, axes: _softmax(np.where(np.isnan(x), -np.inf, x), axes)), basis=MEASURED
    ),
    "infinity-as-1": Fault(
        "gives 1 for infinity",
        _over(lambda x, axes: np.where(np.any(np.isposinf(x), axis=axes, keepdims=True), np.isposinf(x), _softmax(x, axes))),
        basis=MEASURED,
    ),
}

_LOG_SOFTMAX: Mapping[str, Fault] = {
    "of-softmax-in-float16": Fault(
        "takes the logarithm of a softmax in FLOAT16",
        _over(lambda x, axes: np.log(_softmax(x, axes).astype("f2").astype("f8"))),
        SINGLE,
    ),
    "of-softmax": Fault(
        "takes the logarithm of a softmax in FLOAT32", _over(lambda x, axes: np.log(_softmax(x, axes)), dtype="f4"), SINGLE
    ),
    "overflows": Fault(
        "does not subtract the largest", _over(lambda x, axes: x - np.log(_sum(np.exp(x), axes)), dtype="f4"), SINGLE
    ),
    "base-2": Fault("takes the logarithm to base 2", _over(lambda x, axes: _log_softmax(x, axes) / np.log(2))),
    "base-10": Fault("takes the logarithm to base 10", _over(lambda x, axes: _log_softmax(x, axes) / np.log(10))),
    "without-logarithm": Fault("subtracts the largest alone", _over(lambda x, axes: x - _largest(x, axes))),
    "largest-kept": Fault(
        "does not subtract the largest in the end", _over(lambda x, axes: x - np.log(_sum(_terms(x, axes), axes)))
    ),
    "without-sign": Fault("gives the magnitude", _over(lambda x, axes: -_log_softmax(x, axes))),
    "at-least-minus-20": Fault("gives no number below -20", _over(lambda x, axes: np.maximum(_log_softmax(x, axes), -20))),
    "at-least-minus-104": Fault("gives no number below -104", _over(lambda x, axes: np.maximum(_log_softmax(x, axes), -104))),
    "sum-in-float16": Fault(
        "adds up in FLOAT16",
        _over(lambda x, axes: x - _largest(x, axes) - np.log(_added_in_float16(_terms(x, axes), axes))),
        SINGLE,
    ),
    "last-left-out": Fault(
        "leaves the last element out of the sum",
        _over(lambda x, axes: x - _largest(x, axes) - np.log(_sum(_terms(x, axes), axes) - _last(_terms(x, axes), axes))),
    ),
}

_HARDMAX: Mapping[str, Fault] = {
    "all-of-equals": Fault("gives 1 for each of the largest", _over(lambda x, axes: x == _largest(x, axes))),
    "last-of-equals": Fault("gives 1 for the last of the largest", _over(lambda x, axes: _hardmax(x, axes, last=True))),
    "smallest": Fault("gives 1 for the smallest", _over(lambda x, axes: _hardmax(-x, axes))),
    "of-magnitudes": Fault("compares magnitudes", _over(lambda x, axes: _hardmax(np.abs(x), axes))),
    "from-0": Fault("begins with 0, so that nothing below is the largest", _over(lambda x, axes: _hardmax(np.maximum(x, 0), axes))),
    "value": Fault("gives the largest element's value", _over(lambda x, axes: np.where(_hardmax(x, axes), x, 0))),
    "in-float16": Fault("compares in FLOAT16", _over(lambda x, axes: _hardmax(x.astype("f2"), axes)), SINGLE),
    "shared": Fault(
        "shares 1 among the largest",
        _over(lambda x, axes: (lambda equal: equal / _sum(equal, axes))((x == _largest(x, axes)).astype("f8"))),
    ),
    "by-bits": Fault(
        "compares the bits of floats as integers",
        _over(lambda x, axes: _hardmax(np.ascontiguousarray(x).view("i4"), axes), dtype="f4"),
    ),
    "position-of-first": Fault("gives 1 for the first element", _over(lambda x, axes: _hardmax(np.zeros_like(x), axes))),
}

_FAMILIES: Mapping[str, tuple[Mapping[str, Fault], Callable[[Array, Axes], Array]]] = {
    "SOFTMAX": (_SOFTMAX, _softmax),
    "LOG_SOFTMAX": (_LOG_SOFTMAX, _log_softmax),
    "HARDMAX": (_HARDMAX, _hardmax),
}

SOFTMAX: Faults = {
    f"ACTIVATION_{name}{version}": {**own, **_misplaced(right, {**_CHOICES, **_AXES} if version else _CHOICES)}
    for name, (own, right) in _FAMILIES.items()
    for version in ("", "1")
}


def softmax_mutants() -> Iterator[Mutant]:
    """Every value fault of the operators that work on rows."""
    yield from planted(SOFTMAX)
