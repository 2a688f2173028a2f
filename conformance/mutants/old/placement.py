"""Faults in what is read and written: elements left out, bytes in the wrong order, bytes that are no element's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dmlcts.conformance.backend import BufferBinding, Bytes, Dispatch
from dmlcts.conformance.buffers import element_bytes, read_tensor, write_tensor
from dmlcts.conformance.mutants.old.mutant import Around, Array, Mutant, Read, Write, input_positions, read_at
from dmlcts.generator.types import type_choices
from dmlcts.spec.abi import data_type
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.model import DOCUMENTED, MEASURED, Operator

Run = Callable[[Dispatch], None]


def placement_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault of placement, for the operators that it can show in."""
    everyone = tuple(operator.name for operator in operators)
    two = tuple(operator.name for operator in operators if len(operator.inputs()) > 1)
    for position in (0, 1):
        concerned = tuple(o.name for o in operators if len(o.inputs()) > position and _has_wide(o, position))
        read = _swapped_at(position)
        yield Mutant(f"bytes/big-endian/input-{position}", concerned, f"reads input {position} as big-endian", read=read)
    for width in (8, 16, 32, 64):
        concerned = tuple(
            o.name for o in operators if any(data_type(choice.types[-1][1]).bits == width for choice in type_choices(o))
        )
        does = f"does not write the last of an odd number of {width}-bit elements"
        yield Mutant(f"lost/odd-{width}-bit", concerned, does, first=("sizes",), write=_losing(_odd(width)))
    for name, (does, kept) in _LOSSES.items():
        yield Mutant(f"lost/{name}", everyone, f"does not write {does}", first=("sizes",), write=_losing(kept))
    for name, (does, spoil, basis) in _SPOILS.items():
        # Four bytes are no more than what a tensor of bytes takes anyway.
        concerned = tuple(o.name for o in operators if _has_wide(o, -1)) if name == "rounded-to-4-elements" else everyone
        yield Mutant(
            f"memory/{name}", concerned, does, basis=basis, first=("gaps",) if basis == MEASURED else (), around=_after(spoil)
        )
    for position, concerned in enumerate((everyone, two)):
        for name, (does, spoil_at) in _INPUT_SPOILS.items():
            around = _after(spoil_at(position))
            yield Mutant(f"memory/{name}/input-{position}", concerned, f"{does} input {position}", around=around)
    yield Mutant("memory/offset-ignored", everyone, "binds from the beginning of the resource", around=_from_beginning)
    yield Mutant("memory/offset-of-first", everyone, "binds every tensor at the first one's offset", around=_at_first_offset)
    yield Mutant("memory/adds-to-output", everyone, "combines the result with what stood in the output", write=_combining)


def _has_wide(operator: Operator, position: int) -> bool:
    """Whether the tensor at a position may have elements of more than one byte."""
    return any(data_type(choice.types[position][1]).bits > 8 for choice in type_choices(operator))


def _swapped_at(position: int) -> Read:
    def read(at: int, buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
        found = read_at(at, buffer, tensor, offset)
        return found.byteswap() if at == position else found

    return read


# Elements that are not written


Kept = Callable[[TensorDesc, Array], Array]
"""(tensor desc, the elements' numbers in row-major order) -> which are written."""


def _odd(width: int) -> Kept:
    """All but the last of an odd number of elements of that width."""
    return lambda tensor, i: (i < tensor.count - 1) | (tensor.count % 2 == 0) | (tensor.type.bits != width)


_LOSSES: dict[str, tuple[str, Kept]] = {
    "everything": ("anything", lambda tensor, i: i < 0),
    "first": ("the first element", lambda tensor, i: i > 0),
    "last": ("the last element", lambda tensor, i: i < tensor.count - 1),
    "single": ("a single element", lambda tensor, i: (i > 0) | (tensor.count > 1)),
    "beyond-256": ("elements beyond the 256th", lambda tensor, i: i < 256),
    "beyond-1024": ("elements beyond the 1,024th", lambda tensor, i: i < 1024),
    "beyond-65536": ("elements beyond the 65,536th", lambda tensor, i: i < 65536),
    "every-33rd": ("every 33rd element", lambda tensor, i: i % 33 != 32),
    "rest-of-4": ("what is left of a division by 4", lambda tensor, i: i < tensor.count // 4 * 4),
    "rest-of-32": (
        "what is left of a division by 32, beyond it",
        lambda tensor, i: (i < tensor.count // 32 * 32) | (tensor.count < 32),
    ),
    "rest-of-64": (
        "what is left of a division by 64, beyond it",
        lambda tensor, i: (i < tensor.count // 64 * 64) | (tensor.count < 64),
    ),
    "rest-of-256": ("what is left of a division by 256, beyond it", lambda t, i: (i < t.count // 256 * 256) | (t.count < 256)),
    "last-row": ("the last row", lambda tensor, i: i < tensor.count - tensor.sizes[-1]),
    "last-column": ("the end of each row", lambda tensor, i: i % tensor.sizes[-1] < tensor.sizes[-1] - 1),
    "outside-last-4d": ("what more than 4 dimensions hold", lambda tensor, i: i < int(np.prod(tensor.sizes[-4:]))),
    "outside-last-5d": ("what more than 5 dimensions hold", lambda tensor, i: i < int(np.prod(tensor.sizes[-5:]))),
    "second-batch": ("what comes after the first batch", lambda tensor, i: i < tensor.count // tensor.sizes[0]),
}


def _losing(kept: Kept) -> Write:
    def write(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
        before = read_tensor(buffer, tensor, offset)
        chosen = np.broadcast_to(kept(tensor, np.arange(tensor.count)), tensor.count).reshape(tensor.sizes)
        write_tensor(buffer, tensor, np.where(chosen, array, before), offset)

    return write


def _combining(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
    before = read_tensor(buffer, tensor, offset)
    pattern = f"u{array.dtype.itemsize}"
    write_tensor(buffer, tensor, (array.view(pattern) | before.view(pattern)).view(array.dtype), offset)


# Bytes that are no element's


Spoil = Callable[[Bytes, BufferBinding, TensorDesc], None]
"""(resource, binding, tensor desc) of a tensor: writes where nothing may be."""


def _after(spoil: Callable[[Dispatch], None]) -> Around:
    def around(dispatch: Dispatch, run: Run) -> None:
        run(dispatch)
        spoil(dispatch)

    return around


def _in_output(spoil: Spoil) -> Callable[[Dispatch], None]:
    def spoil_outputs(dispatch: Dispatch) -> None:
        for name in dispatch.outputs:
            binding = dispatch.bindings[name]
            spoil(dispatch.resources[binding.resource], binding, dispatch.desc.tensor(name))

    return spoil_outputs


def _in_input(spoil: Spoil) -> Callable[[int], Callable[[Dispatch], None]]:
    """The same for the input at a position, where no output shares its resource."""

    def spoil_at(position: int) -> Callable[[Dispatch], None]:
        def spoil_input(dispatch: Dispatch) -> None:
            written = {dispatch.bindings[name].resource for name in dispatch.outputs}
            for at, name in input_positions(dispatch.desc):
                binding = dispatch.bindings[name]
                if at == position and binding.resource not in written:
                    spoil(dispatch.resources[binding.resource], binding, dispatch.desc.tensor(name))

        return spoil_input

    return spoil_at


def _turned(resource: Bytes, begin: int, end: int) -> None:
    resource[max(begin, 0) : end] ^= 0xFF


def _size(tensor: TensorDesc) -> int:
    return numpy_dtype(tensor.data_type).itemsize


def _gaps(resource: Bytes, binding: BufferBinding, tensor: TensorDesc, value: int = 0) -> None:
    """Every byte of the tensor's total size that is no element's, but for what only fills it up to a multiple of four."""
    mask = ~element_bytes(tensor)
    mask[_end(tensor) :] = False
    resource[binding.offset : binding.offset + tensor.bytes][mask] = value


def _end(tensor: TensorDesc) -> int:
    """Bytes to the end of the element that lies furthest."""
    return int(np.flatnonzero(element_bytes(tensor))[-1]) + 1


def _padding(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
    resource[binding.offset + _end(tensor) : binding.offset + tensor.bytes] = 0


def _first_gap(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
    gaps = np.flatnonzero(~element_bytes(tensor)[: _end(tensor)])
    resource[binding.offset + gaps[:1]] ^= 0xFF


_SPOILS: dict[str, tuple[str, Callable[[Dispatch], None], str]] = {
    "byte-past-end": (
        "writes a byte past the end",
        _in_output(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + b.size + 1)),
        DOCUMENTED,
    ),
    "element-past-end": (
        "writes an element past the end",
        _in_output(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + b.size + _size(t))),
        DOCUMENTED,
    ),
    "16-bytes-past-end": (
        "writes 16 bytes past the end",
        _in_output(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + b.size + 16)),
        DOCUMENTED,
    ),
    "rounded-to-16": (
        "writes on to a multiple of 16 bytes",
        _in_output(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + -(-b.size // 16) * 16)),
        DOCUMENTED,
    ),
    "rounded-to-4-elements": (
        "writes on to a multiple of 4 elements",
        _in_output(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + -(-t.count // 4) * 4 * _size(t))),
        DOCUMENTED,
    ),
    "element-before": (
        "writes an element before the beginning",
        _in_output(lambda r, b, t: _turned(r, b.offset - _size(t), b.offset)),
        DOCUMENTED,
    ),
    "16-bytes-before": (
        "writes 16 bytes before the beginning",
        _in_output(lambda r, b, t: _turned(r, b.offset - 16, b.offset)),
        DOCUMENTED,
    ),
    "padding": ("writes 0 between the last element and a multiple of four bytes", _in_output(_padding), MEASURED),
    "gaps-zeroed": ("writes 0 between elements", _in_output(_gaps), MEASURED),
    "gaps-filled": ("writes 255 between elements", _in_output(lambda r, b, t: _gaps(r, b, t, 255)), MEASURED),
    "first-gap": ("writes a byte after the first element or row", _in_output(_first_gap), MEASURED),
}

_INPUT_SPOILS: dict[str, tuple[str, Callable[[int], Callable[[Dispatch], None]]]] = {
    "first-byte": ("changes the first byte of", _in_input(lambda r, b, t: _turned(r, b.offset, b.offset + 1))),
    "last-element": (
        "changes the last element of",
        _in_input(lambda r, b, t: _turned(r, b.offset + _end(t) - _size(t), b.offset + _end(t))),
    ),
    "gap": ("writes between elements of", _in_input(_first_gap)),
    "past-end": ("writes a byte past the end of", _in_input(lambda r, b, t: _turned(r, b.offset + b.size, b.offset + b.size + 1))),
}


def _at_first_offset(dispatch: Dispatch, run: Run) -> None:
    offset = next(iter(dispatch.bindings.values())).offset
    run(replace(dispatch, bindings={name: replace(binding, offset=offset) for name, binding in dispatch.bindings.items()}))


def _from_beginning(dispatch: Dispatch, run: Run) -> None:
    bindings = {name: replace(binding, offset=0) for name, binding in dispatch.bindings.items()}
    run(replace(dispatch, bindings=bindings))
