"""Faults of windows that slide over an input: what they take, and the average, the norm and the maximum of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import (
    FLOATS,
    SIGNED,
    SINGLE,
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    as_float16,
    change_result,
    compute_instead,
    roundings,
    skip_stage,
    with_attributes,
    with_input,
)
from dmlcts.reference.operators.pooling.windows import WindowAxis, axes
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc

# Windows


def _pad_around(start: Any, end: Any) -> Mapping[str, Instead]:
    """Elements of the input instead of padding at the start or at the end: modes of ``numpy.pad``, of which ``constant`` is right."""

    def taps(right: Callable[..., Iterator[Array]], xp: Any, axis: WindowAxis, x: Array, outside: float) -> Iterator[Array]:
        reach = (axis.count - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1
        for mode, width in ((start, (axis.padding, 0)), (end, (0, reach))):
            filled = {"constant_values": x.dtype.type(outside)} if mode == "constant" else {}
            x = np.pad(x, [width if at == axis.axis else (0, 0) for at in range(x.ndim)], mode=mode, **filled)
        return right(xp, replace(axis, padding=0, size=x.shape[axis.axis]), x, outside)

    return {"pooling.taps": taps}


def _misread(does: str, name: str, change: Callable[..., int], *others: str) -> Fault:
    """Each number of an attribute misread, as a function of it and of other attributes' numbers."""
    return Fault(does, desc=with_attributes(lambda fields: {name: tuple(map(change, *(fields[each] for each in (name, *others))))}))


_WINDOWS: Faults = {
    "start-wrapped": Fault("reads padding at the start from the end", stages=_pad_around("wrap", "constant")),
    "end-wrapped": Fault("reads padding at the end from the start", stages=_pad_around("constant", "wrap")),
    "channels-last": Fault(
        "reads channels last", inputs=with_input("InputTensor", lambda x: np.moveaxis(x, 1, -1).reshape(x.shape))
    ),
    "channels-at-most-32": Fault(
        "computes 32 channels", inputs=with_input("InputTensor", lambda x: np.append(x[:, :32], 0 * x[:, 32:], 1))
    ),
    "Strides-of-window": _misread("moves on by the window's size", "Strides", lambda stride, window: window, "WindowSize"),
    "Strides-at-most-2": _misread("moves on by 2 at most", "Strides", lambda stride: min(stride, 2)),
    "WindowSize-at-most-64": _misread(
        "limits windows to 64 elements in each dimension", "WindowSize", lambda window: min(window, 64)
    ),
    "StartPadding-at-most-1": _misread("pads one element at most", "StartPadding", lambda padding: min(padding, 1)),
}
_DILATED: Faults = {
    "Dilations-at-most-2": _misread("dilates by 2 at most", "Dilations", lambda dilation: min(dilation, 2)),
    "Dilations-for-Strides": _misread("moves on by the dilations", "Strides", lambda stride, dilation: dilation, "Dilations"),
    "Dilations-of-padding": _misread("dilates padding", "StartPadding", lambda padding, dilation: padding * dilation, "Dilations"),
}
_REPEATED: Faults = {"edges-repeated": Fault("repeats the elements at the ends beyond them", stages=_pad_around("edge", "edge"))}
"""In a maximum, what is repeated at an end lies in the window anyway where there are no dilations."""


# Averages and norms

_COUNTS: Faults = {
    "divisor-at-most-255": Fault("counts to 255", stages=change_result("pooling.divisor", lambda count: np.minimum(count, 255))),
    "divisor-of-first-window": Fault(
        "counts the first window's elements for all",
        stages=change_result("pooling.divisor", lambda count: np.full_like(count, count.flat[0])),
    ),
}
_AVERAGE: Faults = {
    "divided-first": Fault(
        "divides elements in FLOAT16 before it adds them up",
        types=SINGLE,
        stages={"pooling.sum": lambda right, xp, desc, x: right(xp, desc, as_float16(x / 9)) * 9},
    )
}
_NORM: Faults = {
    "even-P-with-signs": Fault(
        "keeps signs of even powers", stages={"pooling.power": lambda right, xp, x, p: x**p if p % 2 else np.copysign(x**p, x)}
    ),
    "epsilon": Fault("adds 0.001 to sums", stages={"pooling.root": lambda right, powers, p: right(powers + 1e-3, p)}),
    "P-at-most-3": Fault("treats P as 3 at most", desc=with_attributes(lambda fields: {"P": min(fields["P"], 3)})),
}


# Maxima


_MAXIMUM: Faults = {
    "padding-of-zeros": Fault("treats padding as zeros", stages=change_result("pooling.padding", lambda least: 0)),
    "begun-with-minus-100": Fault(
        "begins with -100",
        lambda desc, inputs, right: np.maximum(right, right.dtype.type(-100)),
        FLOATS + SIGNED,
        output="OutputTensor",
    ),
    "nan-handed-on": Fault("hands on NaN", types=FLOATS, stages=skip_stage("pooling.comparable", 1)),
}


# Indices

Sizes = tuple[int, ...]


def _reorder(order: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Callable[[Sizes, Array], Array]:
    """Counted where the dimensions lie in another order."""
    return lambda sizes, index: np.ravel_multi_index(order(np.unravel_index(index % prod(sizes), sizes)), order(sizes))


_MISCOUNTED: Mapping[str, tuple[str, Callable[[Sizes, Array], Array]]] = {
    "index-by-column": ("counts down the columns", _reorder(lambda of: (*of[:-2], of[-1], of[-2]))),
    "index-channels-last": ("counts channels last", _reorder(lambda of: (of[0], *of[2:], of[1]))),
    "index-in-batch": ("counts from the batch's first element", lambda sizes, index: index % prod(sizes[1:])),
    "index-of-16-bits": ("keeps 16 bits of an index", lambda sizes, index: index & 0xFFFF),
}
"""By label: what it does, and the index (INT64) into a tensor of these sizes that is another."""


def _index(does: str, change: Callable[[OperatorDesc, Array], Array]) -> Fault:
    return Fault(does, lambda desc, inputs, right: change(desc, right.astype("i8")), output="OutputIndicesTensor")


def _in_padded(desc: OperatorDesc, index: Array) -> Array:
    """Counted in an input that has its padding at the start at both ends."""
    sizes = desc.tensor("InputTensor").sizes
    places = np.unravel_index(index % prod(sizes), sizes)
    found = places[0] * sizes[1] + places[1]
    for axis in axes(desc):
        found = found * (axis.size + 2 * axis.padding) + places[axis.axis] + axis.padding
    return found


_INDICES: Faults = {
    **{
        label: _index(does, lambda desc, at, f=f: f(desc.tensor("InputTensor").sizes, at))  # type: ignore[misc]
        for label, (does, f) in _MISCOUNTED.items()
    },
    **compute_instead({"pooling.larger": {"index-last-of-equals": ("points to the last of equal elements", np.greater_equal)}}),
    "index-in-padding": _index("counts the elements of the padding too", _in_padded),
    "index-upper-half-unwritten": _index("leaves the upper half of an index unset", lambda desc, at: at | 0x7F << 32),
}


# Unpooling


def _put_elements(does: str, place: Callable[[OperatorDesc, Array], Array]) -> Fault:
    """Elements put where the indices (INT64, flat) are changed to; those below 0 and beyond the output nowhere."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        indices = right["IndicesTensor"]
        found = place(desc, np.minimum(indices, indices.dtype.type(0xFFFFFFFF)).astype("i8").reshape(-1))
        return {**right, "IndicesTensor": found.astype("i8").astype(indices.dtype).reshape(indices.shape)}

    return Fault(does, inputs=inputs)


def _sizes(desc: OperatorDesc) -> Sizes:
    return desc.tensor("OutputTensor").sizes


_UNPOOLING: Faults = {
    **{label: _put_elements(does, lambda desc, at, f=f: f(_sizes(desc), at)) for label, (does, f) in _MISCOUNTED.items()},  # type: ignore[misc]
    "indices-sorted": _put_elements("puts elements in the order of their indices", lambda desc, at: np.sort(at)),
    "64-bits-as-32": Fault(
        "reads 64-bit indices as pairs of 32-bit ones",
        inputs=with_input("IndicesTensor", lambda indices: indices.reshape(-1).view("u4")[: indices.size].reshape(indices.shape)),
        when=lambda desc: desc.tensor("IndicesTensor").data_type == "UINT64",
    ),
    "second-batch-left-out": _put_elements(
        "ignores all but the first batch",
        lambda desc, at: np.where(np.arange(at.size) < prod(desc.tensor("InputTensor").sizes[1:]), at, -1),
    ),
    "beyond-output-wraps": _put_elements("begins anew beyond the output", lambda desc, at: at % prod(_sizes(desc))),
}

FAULTS: Table = {
    "AVERAGE_POOLING* LP_POOLING* MAX_POOLING* QUANTIZED_LINEAR_AVERAGE_POOLING": _WINDOWS,
    "AVERAGE_POOLING* LP_POOLING* MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _REPEATED,
    "AVERAGE_POOLING1 LP_POOLING1 MAX_POOLING2 QUANTIZED_LINEAR_AVERAGE_POOLING": _DILATED,
    "AVERAGE_POOLING* QUANTIZED_LINEAR_AVERAGE_POOLING": _COUNTS,
    "AVERAGE_POOLING* LP_POOLING*": roundings("sums", "pooling.sum"),
    "AVERAGE_POOLING*": _AVERAGE,
    "LP_POOLING*": _NORM,
    "MAX_POOLING*": _MAXIMUM,
    "MAX_POOLING1 MAX_POOLING2": _INDICES,
    "MAX_UNPOOLING": _UNPOOLING,
}
"""What implementations of these operators get wrong."""
