"""Faults in the strides: a tensor read or written at strides that are not its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dmlcts.conformance.backend import Bytes
from dmlcts.conformance.buffers import write_tensor
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Read, Where, Write, input_positions, read_at
from dmlcts.spec.desc import OperatorDesc, TensorDesc, packed_strides
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import Operator

Steps = tuple[int, ...]

Misreading = Callable[[Steps, Steps], Steps]
"""(sizes, strides) -> the strides that are used instead. Asked for tensors that have strides."""


def stride_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every misreading, in the first input, in the second where there is one, and in the output."""
    everyone = tuple(operator.name for operator in operators)
    two = tuple(operator.name for operator in operators if len(operator.inputs()) > 1)
    for name, (does, misreading) in (_ANY | _OF_INPUTS).items():
        for position, concerned in enumerate((everyone, two)):
            read = _misread_at(position, misreading)
            where = _changed(position, misreading)
            yield Mutant(
                f"strides/{name}/input-{position}",
                concerned,
                f"{does}, in input {position}",
                first=("layout",),
                read=read,
                where=where,
            )
    for name, (does, misreading) in _ANY.items():
        where, write = _changed(-1, misreading), _misplaced(misreading)
        yield Mutant(f"strides/{name}/output", everyone, f"{does}, in the output", first=("layout",), write=write, where=where)
    yield Mutant(
        "strides/of-size-1-replaced",
        everyone,
        "takes other strides for dimensions of size 1",
        equivalent="no element lies at such a stride",
        read=_misread_at(0, _other_for_ones),
        write=_misplaced(_other_for_ones),
    )


def _changed(position: int, misreading: Misreading) -> Where:
    """Whether other strides are used for the tensor at a position of the desc: an input, or (-1) any output."""

    def where(desc: OperatorDesc) -> bool:
        tensors = _outputs(desc) if position < 0 else _inputs_at(desc, position)
        return any(tensor.strides and misreading(tensor.sizes, tensor.strides) != tensor.strides for tensor in tensors)

    return where


def _outputs(desc: OperatorDesc) -> list[TensorDesc]:
    names = {field.name for field in load(desc.type).outputs()}
    return [tensor for name, tensor in desc.tensors() if name.partition("[")[0] in names]


def _inputs_at(desc: OperatorDesc, position: int) -> list[TensorDesc]:
    return [desc.tensor(name) for at, name in input_positions(desc) if at == position]


def _broadcast(steps: Steps) -> bool:
    return 0 in steps


def _descending(sizes: Steps, steps: Steps) -> bool:
    long = [step for size, step in zip(sizes, steps, strict=True) if size > 1]
    return long == sorted(long, reverse=True)


def _where(test: Callable[[Steps, Steps], bool]) -> Misreading:
    """Packed strides where the test of sizes and strides says so."""
    return lambda sizes, steps: packed_strides(sizes) if test(sizes, steps) else steps


def _from_inner(sizes: Steps, steps: Steps) -> Steps:
    return tuple(steps[-1] * step for step in packed_strides(sizes))


def _from_row(sizes: Steps, steps: Steps) -> Steps:
    """The strides of the last two dimensions, and the others without gaps."""
    found = list(steps[-2:])
    for size in reversed(sizes[1:-1]):
        found.insert(0, found[0] * size)
    return tuple(found)


def _squeezed(sizes: Steps, steps: Steps) -> Steps:
    """As by code that drops sizes of 1 and forgets to drop their strides: the first strides go to the dimensions that are left."""
    left = iter(steps)
    return tuple(next(left) if size > 1 else 0 for size in sizes)


def _exchanged(i: int, j: int) -> Misreading:
    def steps_of(sizes: Steps, steps: Steps) -> Steps:
        found = list(steps)
        if len(found) > 1:
            found[i], found[j] = found[j], found[i]
        return tuple(found)

    return steps_of


def _other_for_ones(sizes: Steps, steps: Steps) -> Steps:
    return tuple(step if size > 1 else 12345 for size, step in zip(sizes, steps, strict=True))


_ANY: dict[str, tuple[str, Misreading]] = {
    "ignored": ("ignores strides", _where(lambda sizes, steps: True)),
    "ignored-beyond-4d": ("ignores strides of more than 4 dimensions", _where(lambda sizes, steps: len(sizes) > 4)),
    "ignored-below-4d": ("ignores strides of fewer than 4 dimensions", _where(lambda sizes, steps: len(sizes) < 4)),
    "permuted-as-packed": ("ignores strides out of order", _where(lambda s, t: not _broadcast(t) and not _descending(s, t))),
    "inner-as-1": ("takes 1 for the last stride", lambda sizes, steps: (*steps[:-1], 1)),
    "inner-only": ("computes the other strides from the last", _from_inner),
    "outer-gaps-ignored": ("computes the outer strides from the last two", _from_row),
    "reversed": ("reads strides from the last to the first", lambda sizes, steps: steps[::-1]),
    "last-two-exchanged": ("exchanges the last two strides", _exchanged(-1, -2)),
    "first-two-exchanged": ("exchanges the first two strides", _exchanged(0, 1)),
    "squeezed": ("gives the strides of sizes 1 to other dimensions", _squeezed),
}
_OF_INPUTS: dict[str, tuple[str, Misreading]] = {
    "broadcast-as-packed": ("ignores strides with a 0", _where(lambda sizes, steps: _broadcast(steps))),
    "partly-broadcast-as-packed": (
        "ignores strides with a 0 and others",
        _where(lambda sizes, steps: _broadcast(steps) and any(steps)),
    ),
    "wholly-broadcast-as-packed": ("ignores strides that are all 0", _where(lambda sizes, steps: not any(steps))),
}


def _places(tensor: TensorDesc, steps: Steps, count: int) -> Array:
    """At which of ``count`` elements each element lies by these strides; what is beyond the end begins again."""
    place = np.zeros(tensor.sizes, np.int64)
    for axis, (size, step) in enumerate(zip(tensor.sizes, steps, strict=True)):
        place += (np.arange(size) * step).reshape((-1,) + (1,) * (len(tensor.sizes) - axis - 1))
    return place % count


def _elements(buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
    """The tensor's part of the buffer."""
    dtype = numpy_dtype(tensor.data_type)
    return buffer[offset : offset + tensor.bytes // dtype.itemsize * dtype.itemsize].view(dtype)


def _and_beyond(buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
    """The buffer from the tensor on: reading reaches what lies behind it."""
    dtype = numpy_dtype(tensor.data_type)
    return buffer[offset : offset + (buffer.size - offset) // dtype.itemsize * dtype.itemsize].view(dtype)


def _misread_at(position: int, misreading: Misreading) -> Read:
    def read(at: int, buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
        if at != position or tensor.strides is None:
            return read_at(at, buffer, tensor, offset)
        elements = _and_beyond(buffer, tensor, offset)
        return elements[_places(tensor, misreading(tensor.sizes, tensor.strides), elements.size)]

    return read


def _misplaced(misreading: Misreading) -> Write:
    def write(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
        if tensor.strides is None:
            write_tensor(buffer, tensor, array, offset)
        else:
            elements = _elements(buffer, tensor, offset)
            elements[_places(tensor, misreading(tensor.sizes, tensor.strides), elements.size)] = array

    return write
