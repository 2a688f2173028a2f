"""Faults of what puts elements where indices say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.pooling_windows import channels_last
from dmlcts.conformance.mutants.old.elsewise import Inputs
from dmlcts.conformance.mutants.old.fault import SINGLE, Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

_X = "InputTensor"


def _put(
    place: Callable[[OperatorDesc, Array], Array] = lambda desc, places: places,
    values: Callable[[Array], Array] = lambda x: x,
    fill: float = 0,
) -> Computed:
    """Elements put elsewhere; those beyond the output nowhere."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        x, indices = values(inputs[_X]).reshape(-1), inputs["IndicesTensor"].reshape(-1)
        places = place(desc, np.minimum(indices, np.uint64(1 << 40) if indices.dtype == np.uint64 else indices).astype("i8"))
        flat = np.full(right.size, right.dtype.type(fill))
        within = (places >= 0) & (places < right.size)
        flat[places[within]] = x[within]
        return flat.reshape(right.shape)

    return computed


def _within(part: Callable[[tuple[int, ...]], int]) -> Computed:
    """Indices that count from the first element of a part of the tensors, of which the output and the input have as many."""

    def place(desc: OperatorDesc, places: Array) -> Array:
        sizes, out = desc.tensor(_X).sizes, desc.tensor("OutputTensor").sizes
        return np.arange(places.size) // part(sizes) * part(out) + places

    return _put(place)


def _sorted(desc: OperatorDesc, places: Array) -> Array:
    return np.sort(places)


def _inverse(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    """Reads where it should write."""
    x, flat = inputs[_X].reshape(-1), np.zeros(right.size, right.dtype)
    places = inputs["IndicesTensor"].reshape(-1)[: right.size].astype("u8") % np.uint64(x.size)
    flat[: places.size] = x[places.astype("i8")]
    return flat.reshape(right.shape)


def _columns(desc: OperatorDesc, places: Array) -> Array:
    *_, rows, columns = desc.tensor("OutputTensor").sizes
    plane = rows * columns
    found: Array = places // plane * plane + places % columns * rows + places % plane // columns
    return found


def _last_channel(desc: OperatorDesc, places: Array) -> Array:
    sizes = desc.tensor("OutputTensor").sizes
    inside = places < prod(sizes)
    order = channels_last(np.arange(prod(sizes)).reshape(sizes)).reshape(-1)
    return np.where(inside, order[np.where(inside, places, 0)], -1)


def _halves(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    """64-bit indices read as twice as many of 32 bits."""
    indices = inputs["IndicesTensor"].reshape(-1).view("u4")[: inputs[_X].size]
    return _put()(desc, {**inputs, "IndicesTensor": indices}, right)


UNPOOLING: Mapping[str, Fault] = {
    "index-from-1": Fault("counts from 1", _put(lambda desc, places: places - 1)),
    "index-one-further": Fault("writes one element further", _put(lambda desc, places: places + 1)),
    "index-ignored": Fault("copies elements in their order", _put(lambda desc, places: np.arange(places.size))),
    "index-in-channel": Fault("counts from the channel's first element", _within(lambda sizes: prod(sizes[2:]))),
    "index-in-batch": Fault("counts from the batch's first element", _within(lambda sizes: prod(sizes[1:]))),
    "index-by-column": Fault("counts down the columns", _put(_columns)),
    "index-channels-last": Fault("counts channels last", _put(_last_channel)),
    "index-of-8-bits": Fault("takes 8 bits of an index", _put(lambda desc, places: places & 0xFF)),
    "index-of-16-bits": Fault("takes 16 bits of an index", _put(lambda desc, places: places & 0xFFFF)),
    "index-of-4-bits": Fault("takes 4 bits of an index", _put(lambda desc, places: places & 0xF)),
    "index-through-float16": Fault(
        "takes indices for FLOAT16", _put(lambda desc, p: np.nan_to_num(p.astype("f2").astype("f8"), posinf=-1).astype("i8"))
    ),
    "indices-sorted": Fault("puts elements in the order of their indices", _put(_sorted)),
    "indices-reversed": Fault("takes indices from the end", _put(lambda desc, places: places[::-1])),
    "read-for-written": Fault("reads where the index says", _inverse),
    "64-bits-as-32": Fault(
        "reads 64-bit indices as pairs of 32-bit ones",
        _halves,
        when=lambda desc: desc.tensor("IndicesTensor").data_type == "UINT64",
    ),
    "filled-with-ones": Fault("fills with ones", _put(fill=1)),
    "first-zero-lost": Fault(
        "leaves the first zero as the first element", lambda d, i, right: np.where(right == 0, i[_X].flat[0], right)
    ),
    "first-left-out": Fault(
        "leaves out the first element", _put(lambda desc, places: np.where(np.arange(places.size) > 0, places, -1))
    ),
    "last-left-out": Fault(
        "leaves out the last element", _put(lambda desc, places: np.where(np.arange(places.size) < places.size - 1, places, -1))
    ),
    "second-batch-left-out": Fault(
        "leaves out all but the first batch",
        _put(lambda desc, p: np.where(np.arange(p.size) < p.size // desc.tensor(_X).sizes[0], p, -1)),
    ),
    "through-float16": Fault("hands elements on through FLOAT16", _put(values=lambda x: x.astype("f2").astype(x.dtype)), SINGLE),
    "beyond-output-wraps": Fault(
        "begins anew beyond the output", _put(lambda desc, p: p % desc.tensor("OutputTensor").count), basis=MEASURED
    ),
    "beyond-output-clamped": Fault(
        "writes to the last element what goes beyond",
        _put(lambda d, p: np.minimum(p, d.tensor("OutputTensor").count - 1)),
        basis=MEASURED,
    ),
}
