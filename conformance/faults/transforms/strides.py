"""Any tensor read or written at strides that are not its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.faults.model.fault import Array, Fault
from dmlcts.conformance.faults.transforms.tensors import axes_of
from dmlcts.generator.plan.tensor_names import ranks_of, tensors_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, packed_strides
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator

Steps = tuple[int, ...]

Misreading = Callable[[Steps, Steps], Steps]
"""(sizes, strides) -> the strides that are used instead. Asked for tensors that have strides."""


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Every misreading, in every tensor."""
    for field in tensors_of(operator):
        name, is_input = field.name, field.kind == "input"
        ranks, axes = ranks_of(operator, field), axes_of(operator, field)
        tables = ((_ALONE, axes), (_OF_SEVERAL, len(axes) > 1), (_OF_INPUTS, axes and is_input))
        misreadings = {label: row for table, holds in tables if holds and not field.packed for label, row in table.items()}
        for label, (does, misreading) in misreadings.items():
            if (label == "ignored-beyond-4d" and max(ranks) <= 4) or (label == "ignored-below-4d" and min(ranks) >= 4):
                continue
            when = _changes(name, misreading)
            read, write = (_read(name, misreading), None) if is_input else (None, _write(misreading))
            fault = Fault(f"{does} of {name}", when=when, output=name, read=read, write=write, kinds=("combination",))
            yield f"strides/{label}/{name}", fault


def _changes(name: str, misreading: Misreading) -> Callable[[OperatorDesc], bool]:
    """Whether other strides are used for the tensor."""

    def when(desc: OperatorDesc) -> bool:
        tensor = desc.find(name)
        if tensor is None or tensor.strides is None:
            return False
        return misreading(tensor.sizes, tensor.strides) != tensor.strides

    return when


def _places(tensor: TensorDesc, steps: Steps, count: int) -> Array:
    """At which of ``count`` elements each element lies by these strides; what is beyond the end begins again."""
    place = np.zeros(tensor.sizes, np.int64)
    for axis, (size, step) in enumerate(zip(tensor.sizes, steps, strict=True)):
        place += (np.arange(size) * step).reshape((-1,) + (1,) * (len(tensor.sizes) - axis - 1))
    return place % count


def _elements(buffer: Bytes, tensor: TensorDesc, offset: int, size: int) -> Array:
    """So many bytes of the buffer from the offset on as whole elements."""
    dtype = numpy_dtype(tensor.data_type)
    return buffer[offset : offset + size // dtype.itemsize * dtype.itemsize].view(dtype)


def _read(misread: str, misreading: Misreading) -> Callable[[str, Bytes, TensorDesc, int], Array]:
    def read(name: str, buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
        if name != misread or tensor.strides is None or tensor.type.bits < 8:
            return read_tensor(buffer, tensor, offset)
        elements = _elements(buffer, tensor, offset, buffer.size - offset)  # reading reaches what lies behind the tensor
        return elements[_places(tensor, misreading(tensor.sizes, tensor.strides), elements.size)]

    return read


def _write(misreading: Misreading) -> Callable[[Bytes, TensorDesc, Array, int], None]:
    def write(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
        if tensor.strides is None or tensor.type.bits < 8:
            write_tensor(buffer, tensor, array, offset)
        else:
            elements = _elements(buffer, tensor, offset, tensor.bytes)
            elements[_places(tensor, misreading(tensor.sizes, tensor.strides), elements.size)] = array

    return write


def _is_descending(sizes: Steps, steps: Steps) -> bool:
    long = [step for size, step in zip(sizes, steps, strict=True) if size > 1]
    return long == sorted(long, reverse=True)


def _packed_where(test: Callable[[Steps, Steps], bool]) -> Misreading:
    """Packed strides where the test of sizes and strides says so."""
    return lambda sizes, steps: packed_strides(sizes) if test(sizes, steps) else steps


def _from_row(sizes: Steps, steps: Steps) -> Steps:
    """The strides of the last two dimensions, and the others without gaps."""
    found = list(steps[-2:])
    for size in reversed(sizes[1:-1]):
        found.insert(0, found[0] * size)
    return tuple(found)


def _squeeze(sizes: Steps, steps: Steps) -> Steps:
    """As by code that drops sizes of 1 and forgets to drop their strides: the first strides go to the dimensions that are left."""
    left = iter(steps)
    return tuple(next(left) if size > 1 else 0 for size in sizes)


def _exchange(i: int, j: int) -> Misreading:
    def steps_of(sizes: Steps, steps: Steps) -> Steps:
        found = list(steps)
        if len(found) > 1:
            found[i], found[j] = found[j], found[i]
        return tuple(found)

    return steps_of


_ALONE: Mapping[str, tuple[str, Misreading]] = {
    "ignored": ("ignores strides", _packed_where(lambda sizes, steps: True)),
    "inner-as-1": ("treats the last stride as 1", lambda sizes, steps: (*steps[:-1], 1)),
}
_OF_SEVERAL: Mapping[str, tuple[str, Misreading]] = {
    "ignored-beyond-4d": ("ignores strides beyond 4 dimensions", _packed_where(lambda sizes, steps: len(sizes) > 4)),
    "ignored-below-4d": ("ignores strides below 4 dimensions", _packed_where(lambda sizes, steps: len(sizes) < 4)),
    "permuted-as-packed": ("ignores strides out of order", _packed_where(lambda s, t: 0 not in t and not _is_descending(s, t))),
    "inner-only": (
        "computes other strides from the last",
        lambda sizes, steps: tuple(steps[-1] * s for s in packed_strides(sizes)),
    ),
    "outer-gaps-ignored": ("computes the outer strides from the last two", _from_row),
    "reversed": ("reads strides from the last to the first", lambda sizes, steps: steps[::-1]),
    "last-two-exchanged": ("exchanges the last two strides", _exchange(-1, -2)),
    "first-two-exchanged": ("exchanges the first two strides", _exchange(0, 1)),
    "squeezed": ("gives the strides of sizes 1 to other dimensions", _squeeze),
}
_OF_INPUTS: Mapping[str, tuple[str, Misreading]] = {
    "broadcast-as-packed": ("ignores strides with a 0", _packed_where(lambda sizes, steps: 0 in steps)),
    "partly-broadcast-as-packed": (
        "ignores strides with a 0 and others",
        _packed_where(lambda sizes, steps: 0 in steps and any(steps)),
    ),
    "wholly-broadcast-as-packed": ("ignores strides that are all 0", _packed_where(lambda sizes, steps: not any(steps))),
}
