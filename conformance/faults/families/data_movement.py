"""Faults of operators that move, fill and cast elements, besides those planted from the spec."""

from __future__ import annotations

import numpy as np

from dmlcts.conformance.faults.model.fault import FLOATS, LONG, Array, Fault, Steps, Table, adjust_results, compute_instead
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.dtypes import numpy_dtype


def _cast_wrapped(x: Array, name: str) -> Array:
    return x.astype(np.int64 if x.dtype.kind == "i" else np.uint64).astype(numpy_dtype(name))


def _cast_saturated(x: Array, name: str) -> Array:
    least, most = data_type(name).limits
    return np.array([min(max(int(value), least), most) for value in x.ravel()], numpy_dtype(name)).reshape(x.shape)


def _by_rows(sizes: tuple[int, ...]) -> Array:
    return np.broadcast_to(np.arange(sizes[-1]), sizes)


def _by_columns(sizes: tuple[int, ...]) -> Array:
    return np.arange(int(np.prod(sizes))).reshape(sizes[::-1]).T


def _band(sizes: tuple[int, ...], begin: int, end: int) -> Array:
    diagonal = np.arange(sizes[-1])[None, :] - np.arange(sizes[-2])[:, None]
    return (diagonal >= begin) & (diagonal < end)


_CAST: Steps = {
    "data_movement.narrowed": {
        "integers-wrapped": ("takes the lower bits of an integer that a narrow type does not hold", _cast_wrapped),
        "integers-saturated": ("saturates integers that the type cannot hold", _cast_saturated, LONG),
        "through-float32": (
            "converts integers by way of FLOAT32",
            lambda x, name: x.astype("f4").astype("f8").astype(numpy_dtype(name)),
        ),
    }
}
_CAST_FRACTIONS = {
    f"fraction-{label}": Fault(
        does,
        types=FLOATS,
        stages={"data_movement.truncated": lambda right, xp, x, *rest, change=change: right(xp, change(x), *rest)},
    )
    for label, does, change in (
        ("rounded", "rounds to the nearest integer", np.round),
        ("floored", "rounds down to an integer", np.floor),
        ("raised", "rounds up to an integer", np.ceil),
    )
}
_NAN = {
    f"nan-to-{label}": Fault(
        f"gives the {label} integer for NaN",
        types=FLOATS,
        stages={
            "data_movement.truncated": lambda right, xp, x, *rest, value=value: right(xp, np.where(np.isnan(x), value, x), *rest)
        },
    )
    for label, value in (("least", -np.inf), ("greatest", np.inf))
}


def _repeated_once(mode: str, at: Array, size: int) -> Array:
    before, behind = {
        "REFLECTION": (-at, 2 * size - 2 - at),
        "SYMMETRIC": (-1 - at, 2 * size - 1 - at),
        "WRAP": (at + size, at - size),
    }.get(mode, (at, at))
    return np.clip(np.where(at < 0, before, np.where(at >= size, behind, at)), 0, size - 1)


_PADDING: Steps = {
    "data_movement.padded_from": {
        "repeated-once": (
            "repeats the edge where the padding is longer than the input",
            _repeated_once,
        ),
    }
}
_WRAPPING: Steps = {
    "data_movement.padded_from": {
        "modulo-truncated": (
            "treats a negative remainder as one from the front",
            lambda mode, at, size: np.abs(np.fmod(at, size)),
        ),
    }
}

_WINDOWS: Steps = {
    "data_movement.window_start": {
        "backward-from-the-beginning": (
            "begins at the window's first element, whatever the stride",
            lambda offset, window, step: offset,
        ),
        "backward-from-a-step": (
            "begins backwards at the last element that the stride reaches from the beginning",
            lambda offset, window, step: offset if step > 0 else offset + (window - 1) // -step * -step,
        ),
        "offset-from-the-end": (
            "begins backwards at the offset's distance before the window's end",
            lambda offset, window, step: offset if step > 0 else window - 1,
        ),
    }
}

_REVERSED: Steps = {
    "data_movement.reversed": {
        "all-reversed": ("reverses the whole axis", lambda x, lengths, axis: np.flip(x, axis)),
        "rest-reversed": (
            "reverses the elements behind the length too",
            lambda x, lengths, axis: np.take_along_axis(x, _both_reversed(x, lengths, axis), axis),
        ),
    }
}


def _both_reversed(x: Array, lengths: Array, axis: int) -> Array:
    size = x.shape[axis]
    at = np.arange(size).reshape([size if i == axis else 1 for i in range(x.ndim)])
    lengths = np.minimum(lengths, size)
    return np.where(at < lengths, lengths - 1 - at, size - 1 - (at - lengths))


_SEQUENCE: Steps = {
    "data_movement.steps": {
        "each-row-anew": ("begins every row with ValueStart", _by_rows),
        "column-by-column": ("counts along the first dimension first", _by_columns),
        "in-16-bits": ("counts elements in 16 bits", lambda sizes: np.arange(int(np.prod(sizes))).reshape(sizes) & 0xFFFF),
    }
}

_DIAGONALS: Steps = {
    "data_movement.diagonals": {
        "end-inclusive": ("fills the diagonal of the end too", lambda sizes, limits: _band(sizes, limits[0], limits[1] + 1)),
        "below-for-above": (
            "counts diagonals downwards",
            lambda sizes, limits: _band(sizes, 1 - limits[1], 1 - limits[0]),
        ),
        "from-the-lower-right": (
            "begins the diagonals in the lower right corner",
            lambda sizes, limits: np.flip(_band(sizes, 1 - limits[1], 1 - limits[0])),
        ),
    }
}
_EXCHANGED: Steps = {
    "data_movement.diagonals": {
        "never-exchanged": ("fills nothing where the limits are exchanged", lambda sizes, limits: _band(sizes, *limits)),
    }
}

FAULTS: Table = {
    "CAST": {**compute_instead(_CAST), **_CAST_FRACTIONS, **_NAN},
    "PADDING*": {**compute_instead(_PADDING), **compute_instead(_WRAPPING, when=lambda desc: desc.fields["PaddingMode"] == "WRAP")},
    "SLICE1": compute_instead(_WINDOWS),
    "DEPTH_TO_SPACE* SPACE_TO_DEPTH*": adjust_results(
        {"data_movement.channel_first": {"other-order": ("goes by the other order", lambda first: not first)}}
    ),
    "REVERSE_SUBSEQUENCES": compute_instead(_REVERSED),
    "FILL_VALUE_SEQUENCE": compute_instead(_SEQUENCE),
    "DIAGONAL_MATRIX": compute_instead(_DIAGONALS),
    "DIAGONAL_MATRIX1": {**compute_instead(_DIAGONALS), **compute_instead(_EXCHANGED)},
}
"""What implementations of these operators get wrong."""
