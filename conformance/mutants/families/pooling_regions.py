"""Faults of what finds elements by numbers that are given: maxima of the bins of regions, and elements put where indices say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import Array, Fault, Faults, Inputs, Table, after, with_input
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

# Regions


def _numbers(*order: int) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """A region's numbers read in another order than batch, x1, y1, x2, y2."""
    return with_input("ROITensor", lambda regions: np.ascontiguousarray(regions[..., list(order)]))


def _rounded(rounding: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return {"pooling.round": lambda right, xp, coordinates: rounding(coordinates)}


def _half_up(x: Array) -> Array:
    return np.floor(x + np.float32(0.5))


def _scaled(product: Callable[[Array, Any], Array]) -> Mapping[str, Instead]:
    return {"pooling.scale": lambda right, coordinates, scale: product(coordinates, scale)}


def _batch(change: Callable[[Array, int], Array]) -> Mapping[str, Instead]:
    return {"pooling.batch": lambda right, numbers, count: change(numbers, count)}


def _bins(change: Callable[[Array, Array, int], tuple[Array, Array]]) -> Mapping[str, Instead]:
    return {"pooling.bins": lambda right, number, length, count: change(number, length, count)}


def _of_one_size(size: Callable[[Array, int], Array]) -> Mapping[str, Instead]:
    return _bins(lambda number, length, count: (number * size(length, count), (number + 1) * size(length, count)))


def _bin(found: Callable[..., Array]) -> Mapping[str, Instead]:
    return {"pooling.bin-maximum": found}


def _limited(right: Callable[..., Any], first: Array, last: Array, size: int) -> Any:
    return right(np.clip(first, 0, size - 1), np.clip(last, 0, size - 1), size)


def _average(right: Callable[..., Array], xp: Any, x: Array, start: Array, end: Array, axis: int) -> Array:
    """The mean between start and end along an axis, as a difference of running sums."""
    shape = [start.shape[0] if at == 0 else start.shape[1] if at == axis else 1 for at in range(x.ndim)]
    running = np.insert(np.cumsum(x.astype("f8"), axis), 0, 0, axis)
    ends = (np.take_along_axis(running, at.reshape(shape), axis) for at in (end, start))
    return np.subtract(*ends) / np.maximum((end - start).reshape(shape), 1)


_REGIONS: Faults = {
    "scale-inverse": Fault("divides by SpatialScale", stages=_scaled(lambda corners, scale: corners / scale)),
    "scale-in-float16": Fault(
        "multiplies in FLOAT16", stages=_scaled(lambda corners, scale: corners.astype("f2") * np.float16(scale))
    ),
    "scale-in-float64": Fault("multiplies in FLOAT64", stages=_scaled(lambda corners, scale: corners.astype("f8") * float(scale))),
    "corners-floored": Fault("rounds corners down", stages=_rounded(np.floor)),
    "corners-truncated": Fault("rounds corners toward zero", stages=_rounded(np.trunc)),
    "corners-raised": Fault("rounds corners up", stages=_rounded(np.ceil)),
    "corners-half-up": Fault("rounds halves up", stages=_rounded(_half_up)),
    "corners-half-away": Fault("rounds halves away from zero", stages=_rounded(lambda x: np.copysign(_half_up(np.abs(x)), x))),
    "corners-exclusive": Fault(
        "leaves out a region's last row and column",
        stages={"pooling.extent": lambda right, first, last, size: (first, last - first)},
    ),
    "corner-as-size": Fault(
        "treats the second corner as a size", stages={"pooling.extent": lambda right, first, last, size: (first, last)}
    ),
    "rows-for-columns": Fault("exchanges x and y", inputs=_numbers(0, 2, 1, 4, 3)),
    "corners-by-axis": Fault("reads x1, x2, y1, y2", inputs=_numbers(0, 1, 3, 2, 4)),
    "corners-exchanged": Fault("exchanges the corners", inputs=_numbers(0, 3, 4, 1, 2)),
    "batch-last": Fault("reads the batch as the last of a region's numbers", inputs=_numbers(4, 0, 1, 2, 3)),
    "batch-first": Fault("takes the first batch for all", stages=_batch(lambda batch, count: 0 * batch)),
    "batch-by-number": Fault(
        "takes the batch of the region's number", stages=_batch(lambda batch, count: np.arange(batch.size, dtype="f8") % count)
    ),
    "batch-next": Fault("takes the next batch", stages=_batch(lambda batch, count: (batch + 1) % count)),
    "bins-apart": Fault(
        "gives neighboring bins no element in common",
        stages=_bins(lambda n, length, count: (n * length // count, (n + 1) * length // count)),
    ),
    "bins-raised": Fault(
        "rounds the first element of a bin up",
        stages=_bins(lambda n, length, count: (-(-n * length // count), -(-(n + 1) * length // count))),
    ),
    "bins-of-one-size": Fault(
        "rounds a bin's size down", stages=_of_one_size(lambda length, count: np.maximum(length // count, 1))
    ),
    "bins-of-raised-size": Fault("rounds a bin's size up", stages=_of_one_size(lambda length, count: -(-length // count))),
    "bins-one-more": Fault("takes one element more of a bin", stages=after("pooling.bins", lambda ends: (ends[0], ends[1] + 1))),
    "bins-first-element": Fault("takes one element of a bin", stages=after("pooling.bins", lambda ends: (ends[0], ends[0] + 1))),
    "limited-first": Fault("limits regions to the input before it divides them", stages={"pooling.extent": _limited}),
    "smallest": Fault("gives the smallest element", stages=_bin(lambda right, xp, x, *ends: -right(xp, -x, *ends))),
    "averaged": Fault("gives averages", stages=_bin(_average)),
    "begun-with-0": Fault("begins with 0", lambda desc, inputs, right: np.maximum(right, 0)),
    "begun-with-minus-100": Fault("begins with -100", stages=after("pooling.bin-maximum", lambda found: np.maximum(found, -100))),
    "last-of-bin": Fault(
        "gives the last element of a bin", stages=_bin(lambda right, xp, x, start, end, axis: right(xp, x, end - 1, end, axis))
    ),
    "nan-handed-on": Fault(
        "hands on NaN",
        stages=_bin(lambda right, xp, x, *ends: np.where(right(xp, 1.0 * np.isnan(x), *ends) > 0, np.nan, right(xp, x, *ends))),
    ),
    "empty-lowest": Fault("gives the lowest number for an empty bin", stages=after("pooling.empty", lambda nothing: -65504.0)),
}


# Unpooling


def _put(does: str, place: Callable[[OperatorDesc, Array], Array], **more: Any) -> Fault:
    """Elements put where the indices (INT64, flat) are changed to; those below 0 and beyond the output nowhere."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        indices = right["IndicesTensor"]
        found = place(desc, np.minimum(indices, indices.dtype.type(0xFFFFFFFF)).astype("i8").reshape(-1))
        return {**right, "IndicesTensor": found.astype(indices.dtype).reshape(indices.shape)}

    return Fault(does, inputs=inputs, **more)


def _of_output(part: Callable[[tuple[int, ...]], int]) -> Callable[[OperatorDesc, Array], Array]:
    """Indices that count from the first element of a part of the tensors, of which the output and the input have as many."""

    def place(desc: OperatorDesc, at: Array) -> Array:
        return np.arange(at.size) // part(desc.tensor("InputTensor").sizes) * part(_sizes(desc)) + at

    return place


def _sizes(desc: OperatorDesc) -> tuple[int, ...]:
    return desc.tensor("OutputTensor").sizes


def _reordered(
    order: Callable[[tuple[int, ...]], tuple[int, ...]], back: tuple[int, ...]
) -> Callable[[OperatorDesc, Array], Array]:
    """Indices that count where the dimensions lie in another order; ``back`` takes them to their places."""

    def place(desc: OperatorDesc, at: Array) -> Array:
        sizes, count = _sizes(desc), prod(_sizes(desc))
        places = np.arange(count).reshape(order(sizes)).transpose(back).reshape(-1).argsort()
        return np.where(at < count, places[np.minimum(at, count - 1)], -1)

    return place


def _left_out(which: Callable[[OperatorDesc, Array], Array]) -> Callable[[OperatorDesc, Array], Array]:
    """Elements, by their number, that are put nowhere."""
    return lambda desc, at: np.where(which(desc, np.arange(at.size)), -1, at)


def _read(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """Reads where it should write."""
    found, x = np.zeros(right.size, right.dtype), inputs["InputTensor"].reshape(-1)
    places = inputs["IndicesTensor"].reshape(-1)[: right.size].astype("u8") % np.uint64(x.size)
    found[: places.size] = x[places.astype("i8")]
    return found.reshape(right.shape)


def _halves(indices: Array) -> Array:
    return indices.reshape(-1).view("u4")[: indices.size].reshape(indices.shape)


_UNPOOLING: Faults = {
    "index-from-1": _put("counts from 1", lambda desc, at: at - 1),
    "index-one-further": _put("writes one element further", lambda desc, at: at + 1),
    "index-ignored": _put("copies elements in their order", lambda desc, at: np.arange(at.size)),
    "index-in-channel": _put("counts from the channel's first element", _of_output(lambda sizes: prod(sizes[2:]))),
    "index-in-batch": _put("counts from the batch's first element", _of_output(lambda sizes: prod(sizes[1:]))),
    "index-by-column": _put("counts down the columns", _reordered(lambda s: (s[0], s[1], s[3], s[2]), (0, 1, 3, 2))),
    "index-channels-last": _put("counts channels last", _reordered(lambda s: (s[0], s[2], s[3], s[1]), (0, 3, 1, 2))),
    "index-of-4-bits": _put("reads 4 bits of an index", lambda desc, at: at & 0xF),
    "index-of-8-bits": _put("reads 8 bits of an index", lambda desc, at: at & 0xFF),
    "index-of-16-bits": _put("reads 16 bits of an index", lambda desc, at: at & 0xFFFF),
    "index-through-float16": _put(
        "reads indices as FLOAT16", lambda desc, at: np.nan_to_num(at.astype("f2").astype("f8"), posinf=-1).astype("i8")
    ),
    "indices-sorted": _put("puts elements in the order of their indices", lambda desc, at: np.sort(at)),
    "read-for-written": Fault("reads where the index says", _read),
    "64-bits-as-32": Fault(
        "reads 64-bit indices as pairs of 32-bit ones",
        inputs=with_input("IndicesTensor", _halves),
        when=lambda desc: desc.tensor("IndicesTensor").data_type == "UINT64",
    ),
    "filled-with-ones": Fault("fills with ones", lambda desc, inputs, right: np.where(right == 0, 1, right)),
    "first-zero-lost": Fault(
        "fills with the first element", lambda desc, inputs, right: np.where(right == 0, inputs["InputTensor"].flat[0], right)
    ),
    "first-left-out": _put("ignores the first element", _left_out(lambda desc, number: number == 0)),
    "last-left-out": _put("ignores the last element", _left_out(lambda desc, number: number == number.size - 1)),
    "second-batch-left-out": _put(
        "ignores all but the first batch", _left_out(lambda desc, n: n >= n.size // desc.tensor("InputTensor").sizes[0])
    ),
    "beyond-output-wraps": _put("begins anew beyond the output", lambda desc, at: at % prod(_sizes(desc))),
    "beyond-output-clamped": _put(
        "writes to the last element what goes beyond", lambda desc, at: np.minimum(at, prod(_sizes(desc)) - 1)
    ),
}

FAULTS: Table = {"ROI_POOLING": _REGIONS, "MAX_UNPOOLING": _UNPOOLING}
"""What implementations of these operators get wrong."""
