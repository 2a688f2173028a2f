"""Faults of windows that slide over an input: what they take, and the average, the norm and the maximum of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any, Literal

import numpy as np

from dmlcts.conformance.mutants.fault import (
    FLOATS,
    INTEGERS,
    SIGNED,
    SINGLE,
    Array,
    Desc,
    Fault,
    Faults,
    Inputs,
    Table,
    after,
    roundings,
    skipped,
    with_attributes,
    with_input,
)
from dmlcts.reference.pooling.windows import Axis, axes, folded, inside, sums
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

# Windows


def _each(name: str, change: Callable[[int], int]) -> Desc:
    """Each number of an attribute misread."""
    return with_attributes(lambda fields: {name: tuple(map(change, _numbers(fields, name)))})


def _of(name: str, change: Callable[..., int], *others: str) -> Desc:
    """Each number of an attribute misread as a function of those of others."""
    return with_attributes(lambda fields: {name: tuple(map(change, *(_numbers(fields, other) for other in others)))})


def _numbers(fields: Mapping[str, Any], name: str) -> Iterable[int]:
    found: tuple[int, ...] = fields[name]
    return found


def _around(start: Literal["wrap", "edge", "constant"], end: Literal["wrap", "edge", "constant"]) -> Mapping[str, Instead]:
    """Elements of the input instead of padding at the start or at the end, as ``numpy.pad`` has them; ``constant`` is right."""

    def taps(right: Callable[..., Iterator[Array]], xp: Any, axis: Axis, x: Array, outside: float) -> Iterator[Array]:
        reach = (axis.count - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1
        for mode, width in ((start, (axis.padding, 0)), (end, (0, reach))):
            filled = {"constant_values": x.dtype.type(outside)} if mode == "constant" else {}
            x = np.pad(x, [width if at == axis.axis else (0, 0) for at in range(x.ndim)], mode=mode, **filled)
        return right(xp, replace(axis, padding=0, size=x.shape[axis.axis]), x, outside)

    return {"pooling.taps": taps}


def _left_out(place: int) -> Mapping[str, Instead]:
    """One place of each dimension treated as padding."""

    def taps(right: Callable[..., Iterator[Array]], xp: Any, axis: Axis, x: Array, outside: float) -> Iterator[Array]:
        x = x.copy()
        x[axis.at(x.ndim, slice(place, place + 1 or None))] = outside
        return right(xp, axis, x, outside)

    return {"pooling.taps": taps}


def _channels_last(x: Array) -> Array:
    """The elements in another order: as they lie where channels come last."""
    return np.moveaxis(x, 1, -1).reshape(x.shape)


_WINDOWS: Faults = {
    "edges-wrapped": Fault("goes on at the other end", stages=_around("wrap", "wrap")),
    "start-wrapped": Fault("reads padding at the start from the end", stages=_around("wrap", "constant")),
    "end-wrapped": Fault("reads padding at the end from the start", stages=_around("constant", "wrap")),
    "first-place-left-out": Fault("treats the first element of each dimension as padding", stages=_left_out(0)),
    "last-place-left-out": Fault("treats the last element of each dimension as padding", stages=_left_out(-1)),
    "Strides-of-window": Fault("moves on by the window's size", desc=_of("Strides", int, "WindowSize")),
    "Strides-at-most-2": Fault("moves on by 2 at most", desc=_each("Strides", lambda number: min(number, 2))),
    "WindowSize-last-lost": Fault("ignores a window's last element", desc=_each("WindowSize", lambda n: max(n - 1, 1))),
    "WindowSize-at-most-3": Fault("takes 3 elements of a dimension at most", desc=_each("WindowSize", lambda n: min(n, 3))),
    "WindowSize-at-most-64": Fault("takes 64 elements of a dimension at most", desc=_each("WindowSize", lambda n: min(n, 64))),
    "WindowSize-one": Fault("copies the first element of each window", desc=_each("WindowSize", lambda number: 1)),
    "StartPadding-of-end": Fault("pads at the start as at the end", desc=_of("StartPadding", int, "EndPadding")),
    "StartPadding-one-less": Fault("pads one element less", desc=_each("StartPadding", lambda n: max(n - 1, 0))),
    "StartPadding-at-most-1": Fault("pads one element at most", desc=_each("StartPadding", lambda n: min(n, 1))),
    "channels-last": Fault("treats channels as the last dimension", inputs=with_input("InputTensor", _channels_last)),
    "channels-at-most-32": Fault(
        "computes 32 channels", inputs=with_input("InputTensor", lambda x: np.concatenate([x[:, :32], 0 * x[:, 32:]], axis=1))
    ),
}

_DILATED: Faults = {
    "Dilations-one-more": Fault("treats a dilation as the number of elements left out", desc=_each("Dilations", lambda n: n + 1)),
    "Dilations-at-most-2": Fault("dilates by 2 at most", desc=_each("Dilations", lambda number: min(number, 2))),
    "Dilations-for-Strides": Fault("moves on by the dilations", desc=_of("Strides", int, "Dilations")),
    "Dilations-of-padding": Fault(
        "multiplies padding by the dilations",
        desc=_of("StartPadding", lambda padding, dilation: padding * dilation, "StartPadding", "Dilations"),
    ),
    "Dilations-filled": Fault(
        "takes the elements in between too",
        desc=with_attributes(
            lambda fields: {
                "WindowSize": tuple((w - 1) * d + 1 for w, d in zip(fields["WindowSize"], fields["Dilations"], strict=True)),
                "Dilations": (1,) * len(fields["Dilations"]),
            }
        ),
    ),
}

_REPEATED: Faults = {
    "edges-repeated": Fault("repeats the elements at the ends beyond them", stages=_around("edge", "edge")),
}
"""In a maximum, what is repeated at an end lies in the window anyway where there are no dilations."""


# Averages


def _divisor(change: Callable[[OperatorDesc, Array], Any]) -> Mapping[str, Instead]:
    return {"pooling.divisor": lambda right, xp, desc: np.broadcast_to(change(desc, right(xp, desc)), inside(xp, desc).shape)}


def _window(desc: OperatorDesc) -> tuple[int, ...]:
    return tuple(axis.window for axis in axes(desc))


_AVERAGE: Faults = {
    "not-divided": Fault("gives sums", stages=_divisor(lambda desc, count: 1)),
    "divided-by-one-more": Fault("divides by one more", stages=_divisor(lambda desc, count: count + 1)),
    "divided-by-last": Fault("divides by the window's last size", stages=_divisor(lambda desc, count: _window(desc)[-1])),
    "divided-by-input": Fault(
        "divides by the input's size", stages=_divisor(lambda desc, count: prod(axis.size for axis in axes(desc)))
    ),
    "divisor-at-most-255": Fault("counts to 255", stages=_divisor(lambda desc, count: np.minimum(count, 255))),
    "divisor-at-most-4": Fault("counts to 4", stages=_divisor(lambda desc, count: np.minimum(count, 4))),
    "divisor-of-first-window": Fault("counts the first window's elements for all", stages=_divisor(lambda d, count: count.flat[0])),
}

_SPAN: Faults = {
    "divided-by-span": Fault(
        "divides by what the window spans",
        stages=_divisor(lambda desc, count: prod((axis.window - 1) * axis.dilation + 1 for axis in axes(desc))),
    ),
}

_REAL_AVERAGE: Faults = {
    **roundings("sums", "pooling.sum"),
    "divided-first": Fault(
        "divides elements in FLOAT16 before it adds them up",
        types=SINGLE,
        stages={
            "pooling.sum": lambda right, xp, desc, x: (
                right(xp, desc, (x / prod(_window(desc))).astype("f2").astype("f8")) * prod(_window(desc))
            )
        },
    ),
    "largest": Fault(
        "gives the largest element",
        stages={
            "pooling.sum": lambda right, xp, desc, x: folded(xp, desc, x, -np.inf, np.maximum),
            **_divisor(lambda desc, count: 1),
        },
    ),
}


# Norms


def _norm(power: Callable[[int], int] = int, root: Callable[[int], int] = int) -> Mapping[str, Instead]:
    """Other exponents than P."""
    return {
        "pooling.power": lambda right, xp, x, p: right(xp, x, power(p)),
        "pooling.root": lambda right, xp, x, p: right(xp, x, root(p)),
    }


_NORM: Faults = {
    **roundings("sums", "pooling.sum"),
    "root-forgotten": Fault("takes no root", stages=skipped("pooling.root", 1)),
    "root-square": Fault("takes the square root whatever P is", stages=_norm(root=lambda p: 2)),
    "power-forgotten": Fault("takes no power", stages=skipped("pooling.power", 1)),
    "power-square": Fault("takes squares whatever P is", stages=_norm(power=lambda p: 2)),
    "P-at-most-2": Fault("treats P as 2 at most", stages=_norm(lambda p: min(p, 2), lambda p: min(p, 2))),
    "P-at-most-3": Fault("treats P as 3 at most", stages=_norm(lambda p: min(p, 3), lambda p: min(p, 3))),
    "averaged": Fault(
        "divides sums by the number of elements",
        stages={"pooling.sum": lambda right, xp, desc, x: right(xp, desc, x) / np.maximum(inside(xp, desc), 1)},
    ),
    "largest": Fault(
        "gives the largest magnitude",
        stages={"pooling.sum": lambda right, xp, desc, x: folded(xp, desc, x, 0, np.maximum)},
    ),
    "at-most-1": Fault(
        "treats magnitudes as 1 at most", stages={"pooling.power": lambda right, xp, x, p: right(xp, np.minimum(x, 1), p)}
    ),
    "epsilon": Fault("adds 0.001 to sums", stages={"pooling.root": lambda right, xp, x, p: right(xp, x + 1e-3, p)}),
    "even-P-with-signs": Fault(
        "keeps signs of even powers",
        stages={"pooling.power": lambda right, xp, x, p: np.copysign(right(xp, x, p), x)},
        when=lambda desc: desc.fields["P"] % 2 == 0,
    ),
}


# Maxima


def _maximum(found: Callable[[OperatorDesc, Array], Array]) -> Mapping[str, Instead]:
    """Another element than the largest of each window; the indices are right."""
    return {"pooling.maximum": lambda right, xp, desc, x, indexed: (found(desc, x), right(xp, desc, x, indexed)[1])}


def _smallest(desc: OperatorDesc, x: Array) -> Array:
    return folded(np, desc, x, np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max, np.minimum)


def _larger_magnitude(a: Array, b: Array) -> Array:
    return np.where(np.abs(b.astype("f8")) > np.abs(a.astype("f8")), b, a)


def _other_sign(desc: OperatorDesc, x: Array) -> Array:
    other = x.view(x.dtype.str.translate(str.maketrans("iu", "ui")))
    return folded(np, desc, other, np.iinfo(other.dtype).min, np.maximum).view(x.dtype)


def _at_least(least: Callable[[Array], Any]) -> Callable[[OperatorDesc, Inputs, Array], Array]:
    return lambda desc, inputs, right: np.maximum(right, right.dtype.type(least(right)))


_MAXIMUM: Faults = {
    "padding-of-zeros": Fault("treats padding as zeros", stages=after("pooling.padding", lambda least: 0)),
    "begun-with-0": Fault("begins with 0", _at_least(lambda right: 0), FLOATS + SIGNED),
    "begun-with-least-positive": Fault(
        "begins with the least positive number", _at_least(lambda right: np.finfo(right.dtype).tiny), FLOATS
    ),
    "begun-with-minus-100": Fault("begins with -100", _at_least(lambda right: -100), FLOATS + SIGNED),
    "smallest": Fault("gives the smallest element", stages=_maximum(_smallest)),
    "by-magnitude": Fault(
        "gives the element of the largest magnitude",
        types=FLOATS + SIGNED,
        stages=_maximum(lambda desc, x: folded(np, desc, np.where(np.isinf(x), 0, x), 0, _larger_magnitude).astype(x.dtype)),
    ),
    "summed": Fault("adds elements up", stages=_maximum(lambda desc, x: sums(np, desc, x))),
    "last-of-window": Fault("gives the last element", stages=_maximum(lambda desc, x: folded(np, desc, x, 0, lambda a, b: b))),
    "other-sign": Fault("compares integers of the other sign", types=INTEGERS, stages=_maximum(_other_sign)),
    "nan-handed-on": Fault("hands on NaN", types=FLOATS, stages=skipped("pooling.comparable", 1)),
}


# Indices


def _index(does: str, change: Callable[[OperatorDesc, Array], Array]) -> Fault:
    """Indices, as INT64, changed; the maxima are right."""
    return Fault(does, lambda desc, inputs, right: change(desc, right.astype("i8")), output="OutputIndicesTensor")


def _sizes(desc: OperatorDesc) -> tuple[int, ...]:
    return desc.tensor("InputTensor").sizes


def _coordinates(desc: OperatorDesc, index: Array) -> tuple[Array, ...]:
    return np.unravel_index(index, _sizes(desc))


def _in_window(desc: OperatorDesc, index: Array) -> Array:
    coordinates, found = _coordinates(desc, index), 0 * index
    for axis in axes(desc):
        shape = [axis.count if at == axis.axis else 1 for at in range(index.ndim)]
        start = (np.arange(axis.count) * axis.stride - axis.padding).reshape(shape)
        found = found * axis.window + (coordinates[axis.axis] - start) // axis.dilation
    return found


def _padded(desc: OperatorDesc, index: Array) -> Array:
    ends: Any = desc.fields["EndPadding"]
    pads = [(0, 0), (0, 0), *((axis.padding, end) for axis, end in zip(axes(desc), ends, strict=True))]
    sizes = tuple(size + sum(pad) for size, pad in zip(_sizes(desc), pads, strict=True))
    places = tuple(place + start for place, (start, _) in zip(_coordinates(desc, index), pads, strict=True))
    return np.ravel_multi_index(places, sizes)


def _reordered(order: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[OperatorDesc, Array], Array]:
    """Counted where the dimensions lie in another order."""
    return lambda desc, index: np.ravel_multi_index(order(_coordinates(desc, index)), order(_sizes(desc)))


_INDICES: Faults = {
    "index-last-of-equals": Fault(
        "points to the last of equal elements", stages={"pooling.larger": lambda right, value, largest: value >= largest}
    ),
    "index-in-window": _index("counts from the window's first element", _in_window),
    "index-in-padded-input": _index("counts elements of the padded input", _padded),
    "index-by-column": _index("counts down the columns", _reordered(lambda of: (*of[:-2], of[-1], of[-2]))),
    "index-channels-last": _index("counts channels last", _reordered(lambda of: (of[0], *of[2:], of[1]))),
    "index-in-channel": _index("counts from the channel's first element", lambda desc, index: index % prod(_sizes(desc)[2:])),
    "index-in-batch": _index("counts from the batch's first element", lambda desc, index: index % prod(_sizes(desc)[1:])),
    "index-in-row": _index("counts from the row's first element", lambda desc, index: index % _sizes(desc)[-1]),
    "index-of-8-bits": _index("keeps 8 bits of an index", lambda desc, index: index & 0xFF),
    "index-of-16-bits": _index("keeps 16 bits of an index", lambda desc, index: index & 0xFFFF),
    "index-through-float16": _index("counts in FLOAT16", lambda desc, index: np.nan_to_num(index.astype("f2").astype("f8"))),
    "index-from-1": _index("counts from 1", lambda desc, index: index + 1),
    "index-of-output": _index("gives the place in the output", lambda desc, index: np.arange(index.size).reshape(index.shape)),
    "index-upper-half-unwritten": _index("leaves the upper half of an index unset", lambda desc, index: index | 0x7F << 32),
}

_ALL = (
    "AVERAGE_POOLING AVERAGE_POOLING1 LP_POOLING LP_POOLING1 MAX_POOLING MAX_POOLING1 MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING"
)

FAULTS: Table = {
    _ALL: _WINDOWS,
    "AVERAGE_POOLING1 LP_POOLING1 MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _DILATED,
    "AVERAGE_POOLING* LP_POOLING* MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _REPEATED,
    "AVERAGE_POOLING* QUANTIZED_LINEAR_AVERAGE_POOLING": _AVERAGE,
    "AVERAGE_POOLING1 QUANTIZED_LINEAR_AVERAGE_POOLING": _SPAN,
    "AVERAGE_POOLING*": _REAL_AVERAGE,
    "LP_POOLING*": _NORM,
    "MAX_POOLING*": _MAXIMUM,
    "MAX_POOLING1 MAX_POOLING2": _INDICES,
}
"""What implementations of these operators get wrong."""
