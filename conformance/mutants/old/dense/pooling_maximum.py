"""Faults of largest elements, and of where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.pooling_windows import PLACES, Place, as_it_is, slid
from dmlcts.conformance.mutants.old.elsewise import Inputs
from dmlcts.conformance.mutants.old.fault import FLOATS, SIGNED, UNSIGNED, Computed, Fault, main_type
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.reference.pooling.windows import axes
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

_X, _INDICES = "InputTensor", "OutputIndicesTensor"

# Largest elements


def is_index(desc: OperatorDesc, right: Array) -> bool:
    """Whether the right array is that of the indices. Where both outputs have a type and sizes, it is told by what stands in it."""
    if desc.fields.get(_INDICES) is None or right.dtype.kind != "u":
        return False
    return main_type(desc) != desc.tensor(_INDICES).data_type or _looks_like_places(desc, right)


def _looks_like_places(desc: OperatorDesc, right: Array) -> bool:
    count = desc.tensor(_X).count
    return bool(right.size) and bool(np.all(right.astype("f8") < count))


def _values(computed: Computed) -> Computed:
    """The indices are right."""
    return lambda desc, inputs, right: right if is_index(desc, right) else computed(desc, inputs, right)


def _indices(change: Callable[[OperatorDesc, Inputs, Array], Any]) -> Computed:
    """The values are right; of the indices as INT64."""
    return lambda desc, inputs, right: (
        np.asarray(change(desc, inputs, right.astype("i8"))).astype(right.dtype) if is_index(desc, right) else right
    )


def _lowest(x: Array) -> float:
    return -np.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)


def _largest(place: Place = as_it_is) -> Computed:
    return _values(lambda desc, inputs, right: slid(desc, inputs[_X], np.fmax, _lowest(inputs[_X]), place))


def _begun_with(first: Callable[[Array], float]) -> Computed:
    return _values(lambda desc, inputs, right: np.maximum(right, right.dtype.type(first(right))))


def _padded_with_zeros(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    return slid(desc, inputs[_X], np.fmax, 0)


def _smallest(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    x = inputs[_X]
    return slid(desc, x, np.fmin, np.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).max))


def _larger_magnitude(a: Array, b: Array) -> Array:
    return np.where(np.abs(b.astype("f8")) > np.abs(a.astype("f8")), b, a)


def _other_sign(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    x = inputs[_X]
    other = x.view({"i": "u", "u": "i"}[x.dtype.kind] + str(x.dtype.itemsize))
    return slid(desc, other, np.maximum, int(np.iinfo(other.dtype).min)).view(x.dtype)


LARGEST: Mapping[str, Fault] = {
    # What is repeated at an end lies in the window anyway where there are no dilations.
    **{name: Fault(does, _largest(place)) for name, (does, place) in PLACES.items() if name != "edges-repeated"},
    "padding-of-zeros": Fault("takes padding for zeros", _values(_padded_with_zeros)),
    "begun-with-0": Fault("begins with 0", _begun_with(lambda right: 0), FLOATS + SIGNED),
    "begun-with-least-positive": Fault(
        "begins with the least positive number", _begun_with(lambda x: np.finfo(x.dtype).tiny), FLOATS
    ),
    "begun-with-minus-100": Fault("begins with -100", _begun_with(lambda right: -100), FLOATS + SIGNED),
    "smallest": Fault("gives the smallest element", _values(_smallest)),
    "by-magnitude": Fault(
        "gives the element of the largest magnitude",
        _values(lambda desc, inputs, right: slid(desc, inputs[_X], _larger_magnitude, 0)),
        FLOATS + SIGNED,
    ),
    "summed": Fault("adds elements up", _values(lambda desc, inputs, right: slid(desc, inputs[_X], np.add, 0))),
    "last-of-window": Fault("gives the last element", _values(lambda d, i, right: slid(d, i[_X], lambda a, b: b, 0))),
    "other-sign": Fault("compares integers of the other sign", _values(_other_sign), SIGNED + UNSIGNED),
    "nan-handed-on": Fault(
        "hands on NaN",
        _values(lambda desc, inputs, right: slid(desc, inputs[_X], np.maximum, -np.inf)),
        FLOATS,
        basis=MEASURED,
    ),
}

REPEATED: Mapping[str, Fault] = {
    "edges-repeated": Fault(PLACES["edges-repeated"][0], _largest(PLACES["edges-repeated"][1])),
}


# Indices


def _coordinates(desc: OperatorDesc, places: Array) -> tuple[Array, ...]:
    return np.unravel_index(np.clip(places, 0, desc.tensor(_X).count - 1), desc.tensor(_X).sizes)


def _last_of_equals(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    """As the first's of everything turned around."""
    x = inputs[_X]
    x = np.where(np.isnan(x), -np.inf, x) if x.dtype.kind == "f" else x
    place = np.arange(x.size).reshape(x.shape)
    for axis in reversed(axes(desc)):
        taps = list(zip(axis.taps(np, x, _lowest(x)), axis.taps(np, place, -1), strict=True))
        x, place = taps[0]
        for value, at in taps[1:]:
            better = ((value >= x) & (at >= 0)) | (place < 0)
            x, place = np.where(better, value, x), np.where(better, at, place)
    return np.maximum(place, 0)


def _in_window(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    coordinates, found = _coordinates(desc, places), 0 * places
    for axis in axes(desc):
        shape = [1] * places.ndim
        shape[axis.axis] = axis.count
        start = (np.arange(axis.count) * axis.stride - axis.padding).reshape(shape)
        found = found * axis.window + (coordinates[axis.axis] - start) // axis.dilation
    return found


def _padded(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    """Counted in the padded input."""
    coordinates, sizes = _coordinates(desc, places), desc.tensor(_X).sizes
    found = coordinates[0] * sizes[1] + coordinates[1]
    ends: Any = desc.fields["EndPadding"]
    for axis, end in zip(axes(desc), ends, strict=True):
        found = found * (axis.size + axis.padding + end) + coordinates[axis.axis] + axis.padding
    return found


def _by_column(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    """Counted down the columns of each plane."""
    *others, row, column = _coordinates(desc, places)
    *sizes, rows, columns = desc.tensor(_X).sizes
    before = np.ravel_multi_index(tuple(others), tuple(sizes))
    return (before * columns + column) * rows + row


def _channels_last(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    batch, channel, *spatial = _coordinates(desc, places)
    count, channels, *sizes = desc.tensor(_X).sizes
    return np.ravel_multi_index((batch, *spatial, channel), (count, *sizes, channels))


def _modulo(part: Callable[[tuple[int, ...]], int]) -> Computed:
    return _indices(lambda desc, inputs, places: places % part(desc.tensor(_X).sizes))


def _of_output(desc: OperatorDesc, inputs: Inputs, places: Array) -> Any:
    return np.arange(places.size).reshape(places.shape)


INDICES: Mapping[str, Fault] = {
    "index-last-of-equals": Fault("points to the last of equal elements", _indices(_last_of_equals)),
    "index-in-window": Fault("counts from the window's first element", _indices(_in_window)),
    "index-in-padded-input": Fault("counts elements of the padded input", _indices(_padded)),
    "index-by-column": Fault("counts down the columns", _indices(_by_column)),
    "index-channels-last": Fault("counts channels last", _indices(_channels_last)),
    "index-in-channel": Fault("counts from the channel's first element", _modulo(lambda sizes: prod(sizes[2:]))),
    "index-in-batch": Fault("counts from the batch's first element", _modulo(lambda sizes: prod(sizes[1:]))),
    "index-in-row": Fault("counts from the row's first element", _modulo(lambda sizes: sizes[-1])),
    "index-of-8-bits": Fault("keeps 8 bits of an index", _modulo(lambda sizes: 256)),
    "index-of-16-bits": Fault("keeps 16 bits of an index", _modulo(lambda sizes: 65536)),
    "index-through-float16": Fault(
        "counts in FLOAT16", _indices(lambda desc, inputs, places: np.nan_to_num(places.astype("f2").astype("f8")).astype("i8"))
    ),
    "index-from-1": Fault("counts from 1", _indices(lambda desc, inputs, places: places + 1)),
    "index-of-output": Fault("gives the place in the output", _indices(_of_output)),
    "index-of-0": Fault("gives 0 for each index", _indices(lambda desc, inputs, places: 0 * places)),
    "index-upper-half-unwritten": Fault(
        "leaves the upper half of an index unset", _indices(lambda d, i, places: places | (0x7F << 32))
    ),
}
