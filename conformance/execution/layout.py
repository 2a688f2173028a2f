"""The resources and bindings of a case, and what they hold before the run.

The backend is not trusted. Outputs are filled with what is far from the right answer, so that an unwritten element is always wrong, and random
but for that, so that nothing turns it into the right one. Guard bytes surround every binding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.generator.case.case import Case
from dmlcts.generator.case.places import output_names, places
from dmlcts.reference.answer import Answer, host
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype

Array = NDArray[Any]

GUARD_BYTE, _GAP_BYTE = 0xA5, 0xC3
"""Fill bytes before and after an output, and between its elements."""

_INPUT_BYTES = (0x3C, 0xFF)
"""Fill bytes around and between the elements of an input, in one case in two each: small numbers, and NaN, because a kernel that
reads past the end and multiplies by 0 then gets NaN. All fill bytes differ, so that an operator that writes past the end (OR, AND, MIN and copies among them) does not write
a guard's own value over it."""

_PERIOD, _STARTS = 65_521, 4_093
"""The random part of what outputs hold begins again after so many elements, and anywhere among the first of them. Primes, so that no row repeats another."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A dispatch ready to run; ``snapshot`` holds a copy of every resource before it.

    The dispatch has views of the ``resources``: what a backend does to its arrays, such as another shape or type, changes nothing here but bytes.
    """

    dispatch: Dispatch
    resources: tuple[Bytes, ...]
    snapshot: tuple[Bytes, ...]


def lay_out(case: Case, inputs: Mapping[str, Array], answers: Mapping[str, Answer], timeout: float | None = None) -> Layout:
    """Resources and bindings for a case: a guarded resource for each tensor, or for several where the case says so or is in place."""
    outputs = output_names(case.operator, case.desc)
    found = places(case)
    tensors = dict(case.desc.tensors())
    lengths: dict[str, int] = {}
    for place in found.values():
        lengths[place.of] = max(lengths.get(place.of, 0), place.begin + place.length)
    resources = {of: np.empty(length, np.uint8) for of, length in lengths.items()}
    around = _INPUT_BYTES[crc32(case.id.encode()) % len(_INPUT_BYTES)]
    for name, place in found.items():
        if name in case.in_place:
            continue
        written = name in outputs or name in case.in_place.values()
        part = resources[place.of][place.begin : place.begin + place.length]
        part[...] = GUARD_BYTE if written else around
        part[place.offset : place.offset + place.size] = _GAP_BYTE if written else around
        content = inputs.get(name)
        if content is None and name in answers and name in outputs:
            content = poison(answers[name], tensors[name], crc32(f"{case.id}/{name}".encode()))
        if content is not None:
            write_tensor(part, tensors[name], content, place.offset)
    index = {of: at for at, of in enumerate(resources)}
    short = {name: special.short for name, special in case.bindings.items()}
    bindings = {
        name: BufferBinding(index[place.of], place.begin + place.offset, place.size - short.get(case.in_place.get(name, name), 0))
        for name, place in found.items()
    }
    every = tuple(resources.values())
    views = [resource.view() for resource in every]
    dispatch = Dispatch(case.desc, views, MappingProxyType(bindings), tuple(n for n in outputs if n in bindings), timeout)
    return Layout(dispatch, every, tuple(resource.copy() for resource in every))


def poison(answer: Answer, tensor: TensorDesc, key: int) -> Array:
    """The content of an output before the run: no element is right, or nearly right. What is random follows from ``key``.

    Numbers of the largest exponent and the other sign; NaN for zeros, as a product with 0 would give those. Integers between 3/8 and 5/8 of their
    range away from the right ones.
    """
    with np.errstate(all="ignore"):
        right: Array = host(answer.stored_value).astype(numpy_dtype(tensor.data_type), copy=False)
    right = np.ascontiguousarray(right).reshape(-1)
    bits = right.view(bits_dtype(tensor.data_type))
    noise, kept, nan = _noise(tensor.data_type)
    noise = noise[key % _STARTS :]
    wrong = np.empty_like(bits)
    for begin in range(0, bits.size, _PERIOD):
        piece = slice(begin, begin + _PERIOD)
        here = wrong[piece]
        np.bitwise_and(bits[piece], kept, out=here)
        here += noise[: here.size]
        if nan:
            np.bitwise_or(here, nan, out=here, where=right[piece] == 0)
    if tensor.type.bits < 8:
        return (wrong & np.uint8(15)).astype(right.dtype).reshape(tensor.sizes)
    return wrong.view(right.dtype).reshape(tensor.sizes)


@cache
def _noise(data_type: str) -> tuple[Array, Any, Any]:
    """For ``poison``: what to add to the bits of the right elements, which of these are kept, and what makes the sum a NaN (0 for integers)."""
    of, dtype = abi().data_types[data_type], bits_dtype(data_type)
    drawn = shake_256(data_type.encode()).digest((_PERIOD + _STARTS) * dtype.itemsize)
    random = np.frombuffer(drawn, dtype.newbyteorder("<")).astype(dtype)
    if not of.is_float:
        eighth = 1 << (of.bits - 3)
        return random % (2 * eighth) + dtype.type(3 * eighth), dtype.type((1 << of.bits) - 1), dtype.type(0)
    last = 1 << np.finfo(numpy_dtype(data_type)).nmant  # of the exponent's bits: with it, all of them are set
    largest, sign, quiet = (1 << of.bits) - 2 * last, 1 << (of.bits - 1), last // 2
    return random % last | dtype.type(largest), dtype.type(sign), dtype.type(last | quiet)
