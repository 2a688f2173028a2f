"""DirectML's data types as NumPy's. Kept apart from ``abi``, so that reading a spec does not import NumPy.

An element of a 4-bit type takes one byte in an array (ml_dtypes); in a buffer, two share a byte (conformance/backends/buffers).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.operator import UNDEFINED, Literal

_NAMES = {"INT4": np.dtype(ml_dtypes.int4), "UINT4": np.dtype(ml_dtypes.uint4)}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of a DirectML data type. Raises KeyError for an unknown one."""
    return _NAMES[name] if name in _NAMES else np.dtype(data_type(name).name.lower())


@cache
def bits_dtype(name: str) -> np.dtype[Any]:
    """The unsigned integer type as wide as a DirectML data type is in an array."""
    return np.dtype(f"u{numpy_dtype(name).itemsize}")


def literal_array(literal: Literal) -> NDArray[Any]:
    """A literal tensor as an array of its type and sizes.

    A string such as ``0x7FC00001`` is a bit pattern, ``nan``, ``inf`` and ``-inf`` are values. UNDEFINED elements become 0
    (``literal_defined`` says where).

    Raises:
        OverflowError: a number that the type cannot hold.
    """
    dtype = numpy_dtype(literal.data_type)
    array = np.zeros(len(literal.data), dtype)
    bits = array.view(bits_dtype(literal.data_type))
    for index, value in enumerate(literal.data):
        if value == UNDEFINED:
            continue
        if isinstance(value, str) and value.startswith("0x"):
            bits[index] = int(value, 16)
        else:
            array[index] = float(value) if isinstance(value, str) else value
    return array.reshape(literal.sizes)


def literal_defined(literal: Literal) -> NDArray[np.bool_] | None:
    """False for the elements of a literal that are UNDEFINED, in its sizes; None if it has none."""
    if UNDEFINED not in literal.data:
        return None
    return np.array([value != UNDEFINED for value in literal.data], np.bool_).reshape(literal.sizes)


def array_literal(array: NDArray[Any], name: str) -> Literal:
    """An array of the DirectML data type ``name`` as a literal with the same bits: numbers, and patterns for NaN and -0."""
    if not data_type(name).is_float:
        return Literal(name, array.shape, tuple(int(value) for value in array.ravel()))
    digits = 2 * array.dtype.itemsize
    patterns = array.ravel().view(bits_dtype(name))
    data = (
        float(value) if np.isfinite(value) and (value != 0 or pattern == 0) else f"0x{int(pattern):0{digits}X}"
        for value, pattern in zip(array.ravel(), patterns, strict=True)
    )
    return Literal(name, array.shape, tuple(data))
