"""Tensors in buffers: elements at their strides, and the gaps between them.

A buffer is a 1-D array of bytes; ``offset`` is where the tensor begins in it. Strides and sizes are in elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

Array = NDArray[Any]


def read_tensor(buffer: Bytes, desc: TensorDesc, offset: int = 0) -> Array:
    """The elements as a packed array of the tensor's sizes; a copy.

    Raises:
        ValueError: the buffer is too small for the desc.
    """
    if desc.type.bits < 8:
        return _view(_nibbles(buffer, offset), desc).copy()
    return _view(buffer, desc, offset).copy()


def write_tensor(buffer: Bytes, desc: TensorDesc, array: Array, offset: int = 0) -> None:
    """Writes a packed array at the desc's strides and leaves all other bytes unchanged.

    Where elements share an address (a zero stride), the last one in row-major order wins.

    Raises:
        ValueError: the buffer is too small for the desc, or the array has other sizes.
    """
    if desc.type.bits < 8:
        nibbles = _nibbles(buffer, offset)
        _view(nibbles, desc)[...] = array
        packed = nibbles.view(np.uint8)
        buffer[offset:] = (packed[0::2] & 15) | (packed[1::2] << 4)
        return
    _view(buffer, desc, offset)[...] = array


def element_bytes(desc: TensorDesc) -> NDArray[np.bool_]:
    """True for every byte of the tensor's total size that belongs to an element. Shape: (total size,)."""
    mask = np.zeros(desc.bytes, np.bool_)
    if desc.type.bits < 8:
        used = np.zeros(2 * desc.bytes, np.bool_)
        np.ndarray(desc.sizes, np.bool_, used.data, 0, desc.effective_strides)[...] = True
        return used[0::2] | used[1::2]
    size = numpy_dtype(desc.data_type).itemsize
    steps = tuple(stride * size for stride in desc.effective_strides)
    np.ndarray((*desc.sizes, size), np.bool_, mask.data, 0, (*steps, 1))[...] = True
    return mask


def _view(buffer: Array, desc: TensorDesc, offset: int = 0) -> Array:
    dtype = numpy_dtype(desc.data_type)
    steps = None if desc.strides is None else tuple(stride * dtype.itemsize for stride in desc.strides)
    try:
        if offset >= 0:  # NumPy accepts a negative offset, and reads before the buffer
            return np.ndarray(desc.sizes, dtype, buffer.data, offset, steps)
    except (TypeError, ValueError):
        pass
    needed = f"{desc.data_type} of sizes {list(desc.sizes)} takes {desc.least_bytes} bytes"
    raise ValueError(f"the buffer is too small: {needed} from byte {offset} on")


def _nibbles(buffer: Bytes, offset: int) -> Bytes:
    """The bytes from ``offset`` on as nibbles, a byte each: the low one is the first element."""
    if not 0 <= offset <= buffer.size:
        raise ValueError(f"the buffer is too small: it has {buffer.size} bytes, and the tensor begins at byte {offset}")
    found = np.empty(2 * (buffer.size - offset), np.uint8)
    found[0::2] = buffer[offset:] & 15
    found[1::2] = buffer[offset:] >> 4
    return found
