"""Faults of windows that slide over an input: what they take, and the average, the norm and the maximum of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import (
    FLOATS,
    INTEGERS,
    SIGNED,
    SINGLE,
    Array,
    Fault,
    Faults,
    Inputs,
    Steps,
    Table,
    adjusted,
    after,
    as_float16,
    computed,
    roundings,
    skipped,
    with_attributes,
    with_input,
)
from dmlcts.reference.pooling.windows import Axis, axes, folded, inside, sums
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

# Windows


def _around(start: Any, end: Any) -> Mapping[str, Instead]:
    """Elements of the input instead of padding at the start or at the end: modes of ``numpy.pad``, of which ``constant`` is right."""

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


def _misread(does: str, name: str, change: Callable[..., int], *others: str) -> Fault:
    """Each number of an attribute misread, as a function of it and of other attributes' numbers."""
    return Fault(does, desc=with_attributes(lambda fields: {name: tuple(map(change, *(fields[each] for each in (name, *others))))}))


_WINDOWS: Faults = {
    "edges-wrapped": Fault("goes on at the other end", stages=_around("wrap", "wrap")),
    "start-wrapped": Fault("reads padding at the start from the end", stages=_around("wrap", "constant")),
    "end-wrapped": Fault("reads padding at the end from the start", stages=_around("constant", "wrap")),
    "first-place-left-out": Fault("treats the first element of each dimension as padding", stages=_left_out(0)),
    "last-place-left-out": Fault("treats the last element of each dimension as padding", stages=_left_out(-1)),
    "channels-last": Fault(
        "reads channels last", inputs=with_input("InputTensor", lambda x: np.moveaxis(x, 1, -1).reshape(x.shape))
    ),
    "channels-at-most-32": Fault(
        "computes 32 channels", inputs=with_input("InputTensor", lambda x: np.append(x[:, :32], 0 * x[:, 32:], 1))
    ),
    "Strides-of-window": _misread("moves on by the window's size", "Strides", lambda stride, window: window, "WindowSize"),
    "Strides-at-most-2": _misread("moves on by 2 at most", "Strides", lambda stride: min(stride, 2)),
    "WindowSize-at-most-3": _misread("takes 3 elements of a dimension at most", "WindowSize", lambda window: min(window, 3)),
    "WindowSize-at-most-64": _misread("takes 64 elements of a dimension at most", "WindowSize", lambda window: min(window, 64)),
    "StartPadding-at-most-1": _misread("pads one element at most", "StartPadding", lambda padding: min(padding, 1)),
}
_DILATED: Faults = {
    "Dilations-at-most-2": _misread("dilates by 2 at most", "Dilations", lambda dilation: min(dilation, 2)),
    "Dilations-for-Strides": _misread("moves on by the dilations", "Strides", lambda stride, dilation: dilation, "Dilations"),
    "Dilations-of-padding": _misread("dilates padding", "StartPadding", lambda padding, dilation: padding * dilation, "Dilations"),
}
_REPEATED: Faults = {"edges-repeated": Fault("repeats the elements at the ends beyond them", stages=_around("edge", "edge"))}
"""In a maximum, what is repeated at an end lies in the window anyway where there are no dilations."""


# Averages and norms


def _divided(number: Callable[[list[Axis]], int]) -> Callable[[OperatorDesc], Array]:
    return lambda desc: np.full_like(inside(np, desc), number(axes(desc)))


_COUNTS: Steps = {
    "pooling.divisor": {
        "not-divided": ("gives sums", np.ones_like),
        "divided-by-one-more": ("divides by one more", lambda count: count + 1),
        "divisor-at-most-255": ("counts to 255", lambda count: np.minimum(count, 255)),
        "divisor-at-most-4": ("counts to 4", lambda count: np.minimum(count, 4)),
        "divisor-of-first-window": ("counts the first window's elements for all", lambda count: np.full_like(count, count.flat[0])),
    },
}
_DIVISORS: Steps = {
    "pooling.divisor": {
        "divided-by-last": ("divides by the window's last size", _divided(lambda every: every[-1].window)),
        "divided-by-input": ("divides by the input's size", _divided(lambda every: prod(axis.size for axis in every))),
    },
}
_SPANS: Steps = {
    "pooling.divisor": {
        "divided-by-span": (
            "divides by what the window spans",
            _divided(lambda every: prod((a.window - 1) * a.dilation + 1 for a in every)),
        ),
    },
}
_AVERAGE: Faults = {
    "divided-first": Fault(
        "divides elements in FLOAT16 before it adds them up",
        types=SINGLE,
        stages={"pooling.sum": lambda right, xp, desc, x: right(xp, desc, as_float16(x / 9)) * 9},
    ),
    "largest": Fault(
        "gives the largest element",
        stages={
            **after("pooling.divisor", np.ones_like),
            "pooling.sum": lambda right, xp, desc, x: folded(xp, desc, x, -np.inf, np.maximum),
        },
    ),
}
_NORM: Steps = {
    "pooling.power": {
        "power-forgotten": ("takes no power", lambda x, p: np.abs(x)),
        "power-square": ("takes squares whatever P is", lambda x, p: x * x),
        "at-most-1": ("treats magnitudes as 1 at most", lambda x, p: np.minimum(np.abs(x), 1) ** p),
        "even-P-with-signs": ("keeps signs of even powers", lambda x, p: x**p if p % 2 else np.copysign(x**p, x)),
    },
    "pooling.root": {
        "root-forgotten": ("takes no root", lambda powers, p: powers),
        "root-square": ("takes the square root whatever P is", lambda powers, p: np.sqrt(powers)),
        "epsilon": ("adds 0.001 to sums", lambda powers, p: (powers + 1e-3) ** (1 / p)),
    },
    "pooling.sum": {
        "averaged": (
            "divides sums by the number of elements",
            lambda desc, x: folded(np, desc, x, 0, np.add) / np.maximum(inside(np, desc), 1),
        ),
        "largest": ("gives the largest magnitude", lambda desc, x: folded(np, desc, x, 0, np.maximum)),
    },
}
_ORDERS: Faults = {
    f"P-at-most-{n}": Fault(f"treats P as {n} at most", desc=with_attributes(lambda fields, n=n: {"P": min(fields["P"], n)}))  # type: ignore[misc]
    for n in (2, 3)
}


# Maxima


def _maximum(does: str, found: Callable[[OperatorDesc, Array], Array], types: tuple[str, ...] = ()) -> Fault:
    """Another element than the largest of each window; the indices are right."""
    return Fault(
        does,
        types=types,
        stages={"pooling.maximum": lambda right, xp, desc, x, indexed: (found(desc, x), right(xp, desc, x, indexed)[1])},
    )


def _other_sign(desc: OperatorDesc, x: Array) -> Any:
    other = x.view(x.dtype.str.translate(str.maketrans("iu", "ui")))
    return folded(np, desc, other, np.iinfo(other.dtype).min, np.maximum).view(x.dtype)


def _larger_magnitude(a: Array, b: Array) -> Array:
    return np.where(np.abs(b.astype("f8")) > np.abs(a.astype("f8")), b, a)


def _begun(does: str, least: float, types: tuple[str, ...]) -> Fault:
    return Fault(does, lambda desc, inputs, right: np.maximum(right, right.dtype.type(least)), types, output="OutputTensor")


_MAXIMUM: Faults = {
    "padding-of-zeros": Fault("treats padding as zeros", stages=after("pooling.padding", lambda least: 0)),
    "begun-with-0": _begun("begins with 0", 0, FLOATS + SIGNED),
    "begun-with-least-positive": _begun("begins with the least positive number", 6.2e-5, FLOATS),
    "begun-with-minus-100": _begun("begins with -100", -100, FLOATS + SIGNED),
    "smallest": _maximum(
        "gives the smallest element",
        lambda desc, x: folded(np, desc, x, np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max, np.minimum),
    ),
    "by-magnitude": _maximum(
        "gives the element of the largest magnitude",
        lambda desc, x: folded(np, desc, np.where(np.isinf(x), x.dtype.type(0), x), 0, _larger_magnitude),
        FLOATS + SIGNED,
    ),
    "summed": _maximum("adds elements up", lambda desc, x: sums(np, desc, x)),
    "last-of-window": _maximum("gives the last element", lambda desc, x: folded(np, desc, x, 0, lambda a, b: b)),
    "other-sign": _maximum("compares integers of the other sign", _other_sign, INTEGERS),
    "nan-handed-on": Fault("hands on NaN", types=FLOATS, stages=skipped("pooling.comparable", 1)),
}


# Indices

Sizes = tuple[int, ...]


def _reordered(order: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[Sizes, Array], Array]:
    """Counted where the dimensions lie in another order."""
    return lambda sizes, index: np.ravel_multi_index(order(np.unravel_index(index % prod(sizes), sizes)), order(sizes))


_MISCOUNTED: Mapping[str, tuple[str, Callable[[Sizes, Array], Array]]] = {
    "index-by-column": ("counts down the columns", _reordered(lambda of: (*of[:-2], of[-1], of[-2]))),
    "index-channels-last": ("counts channels last", _reordered(lambda of: (of[0], *of[2:], of[1]))),
    "index-in-channel": ("counts from the channel's first element", lambda sizes, index: index % prod(sizes[2:])),
    "index-in-batch": ("counts from the batch's first element", lambda sizes, index: index % prod(sizes[1:])),
    "index-in-row": ("counts from the row's first element", lambda sizes, index: index % sizes[-1]),
    "index-of-8-bits": ("keeps 8 bits of an index", lambda sizes, index: index & 0xFF),
    "index-of-16-bits": ("keeps 16 bits of an index", lambda sizes, index: index & 0xFFFF),
    "index-through-float16": ("keeps an index as FLOAT16", lambda sizes, index: np.nan_to_num(index.astype("f2").astype("f8"))),
    "index-from-1": ("counts from 1", lambda sizes, index: index + 1),
    "index-in-order": ("counts the elements in their order", lambda sizes, index: np.arange(index.size).reshape(index.shape)),
}
"""By label: what it does, and the index (INT64) into a tensor of these sizes that is another."""


def _index(does: str, change: Callable[[OperatorDesc, Array], Array]) -> Fault:
    return Fault(does, lambda desc, inputs, right: change(desc, right.astype("i8")), output="OutputIndicesTensor")


def _moved(desc: OperatorDesc, index: Array, origin: Callable[[Axis], Any], size: Callable[[Axis], int]) -> Array:
    """Counted from another origin on along each dimension, and in rows of another size; ``origin`` broadcasts to the axis."""
    places, found = np.unravel_index(index, desc.tensor("InputTensor").sizes), 0 * index
    for axis in axes(desc):
        shape = [-1 if at == axis.axis else 1 for at in range(index.ndim)]
        found = found * size(axis) + (places[axis.axis] - np.reshape(origin(axis), shape)) // axis.dilation
    return found


_INDICES: Faults = {
    **{
        label: _index(does, lambda desc, at, f=f: f(desc.tensor("InputTensor").sizes, at))  # type: ignore[misc]
        for label, (does, f) in _MISCOUNTED.items()
    },
    **computed({"pooling.larger": {"index-last-of-equals": ("points to the last of equal elements", np.greater_equal)}}),
    "index-in-window": _index(
        "counts from the window's first element",
        lambda desc, at: _moved(
            desc, at, lambda axis: np.arange(axis.count) * axis.stride - axis.padding, lambda axis: axis.window
        ),
    ),
    "index-in-padding": _index(
        "counts from the first element of the padding",
        lambda desc, at: _moved(desc, at, lambda axis: -axis.padding, lambda axis: axis.size + 2 * axis.padding),
    ),
    "index-upper-half-unwritten": _index("leaves the upper half of an index unset", lambda desc, at: at | 0x7F << 32),
}


# Unpooling


def _put(does: str, place: Callable[[OperatorDesc, Array], Array]) -> Fault:
    """Elements put where the indices (INT64, flat) are changed to; those below 0 and beyond the output nowhere."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        indices = right["IndicesTensor"]
        found = place(desc, np.minimum(indices, indices.dtype.type(0xFFFFFFFF)).astype("i8").reshape(-1))
        return {**right, "IndicesTensor": found.astype("i8").astype(indices.dtype).reshape(indices.shape)}

    return Fault(does, inputs=inputs)


def _sizes(desc: OperatorDesc) -> Sizes:
    return desc.tensor("OutputTensor").sizes


def _left_from(
    start: Callable[[OperatorDesc], int], end: Callable[[OperatorDesc], int | None]
) -> Callable[[OperatorDesc, Array], Array]:
    """Elements that are put nowhere, by their numbers."""
    return lambda desc, at: np.where(np.isin(np.arange(at.size), np.arange(at.size)[start(desc) : end(desc)]), -1, at)


_UNPOOLING: Faults = {
    **{label: _put(does, lambda desc, at, f=f: f(_sizes(desc), at)) for label, (does, f) in _MISCOUNTED.items()},  # type: ignore[misc]
    "indices-sorted": _put("puts elements in the order of their indices", lambda desc, at: np.sort(at)),
    "read-for-written": _put("reads where the index says", lambda desc, at: np.argsort(at, kind="stable")),
    "64-bits-as-32": Fault(
        "reads 64-bit indices as pairs of 32-bit ones",
        inputs=with_input("IndicesTensor", lambda indices: indices.reshape(-1).view("u4")[: indices.size].reshape(indices.shape)),
        when=lambda desc: desc.tensor("IndicesTensor").data_type == "UINT64",
    ),
    "filled-with-ones": Fault("fills with ones", lambda desc, inputs, right: np.where(right == 0, 1, right)),
    "filled-with-first": Fault(
        "fills with the first element", lambda desc, x, right: np.where(right == 0, x["InputTensor"].flat[0], right)
    ),
    "first-left-out": _put("ignores the first element", _left_from(lambda desc: 0, lambda desc: 1)),
    "last-left-out": _put("ignores the last element", _left_from(lambda desc: -1, lambda desc: None)),
    "second-batch-left-out": _put(
        "ignores all but the first batch", _left_from(lambda desc: prod(desc.tensor("InputTensor").sizes[1:]), lambda desc: None)
    ),
    "beyond-output-wraps": _put("begins anew beyond the output", lambda desc, at: at % prod(_sizes(desc))),
    "beyond-output-clamped": _put(
        "writes to the last element what goes beyond", lambda desc, at: np.minimum(at, prod(_sizes(desc)) - 1)
    ),
}

FAULTS: Table = {
    "AVERAGE_POOLING* LP_POOLING* MAX_POOLING* QUANTIZED_LINEAR_AVERAGE_POOLING": _WINDOWS,
    "AVERAGE_POOLING* LP_POOLING* MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _REPEATED,
    "AVERAGE_POOLING1 LP_POOLING1 MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _DILATED,
    "AVERAGE_POOLING* QUANTIZED_LINEAR_AVERAGE_POOLING": {**adjusted(_COUNTS), **computed(_DIVISORS)},
    "AVERAGE_POOLING1 QUANTIZED_LINEAR_AVERAGE_POOLING": computed(_SPANS),
    "AVERAGE_POOLING* LP_POOLING*": roundings("sums", "pooling.sum"),
    "AVERAGE_POOLING*": _AVERAGE,
    "LP_POOLING*": {**computed(_NORM), **_ORDERS},
    "MAX_POOLING*": _MAXIMUM,
    "MAX_POOLING1 MAX_POOLING2": _INDICES,
    "MAX_UNPOOLING": _UNPOOLING,
}
"""What implementations of these operators get wrong."""
