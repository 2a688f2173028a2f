"""Any operator that leaves elements unwritten, writes bytes that are no element's, binds wrongly, or fails in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch
from dmlcts.conformance.backends.buffers import element_bytes, read_tensor, write_tensor
from dmlcts.conformance.faults.model.fault import Around, Array, Fault, Write, has
from dmlcts.conformance.faults.transforms.tensors import types_of
from dmlcts.generator.plan.tensor_names import ranks_of, tensors_of
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Operator

Run = Callable[[Dispatch], None]


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Every fault of memory."""
    most = max(count for field in operator.outputs() for count in ranks_of(operator, field))
    for label, (does, written) in _LOSSES.items():
        if label in ("outside-last-4d", "outside-last-5d") and most <= int(label[-2]):
            continue
        yield f"lost/{label}", Fault(f"does not write {does}", write=_lose_bytes(written), kinds=("combination", "sizes"))
    widths = {data_type(of).bits for field in operator.outputs() for of in types_of(operator, field)}
    for width in sorted(widths):
        does = f"does not write the last of an odd number of {width}-bit elements"
        yield f"lost/odd-{width}-bit", Fault(does, write=_lose_bytes(_odd(width)), kinds=("combination", "sizes"))
    for label, (does, spoil) in _SPOILS.items():
        if label != "rounded-to-4-elements" or max(widths) > 8:  # four bytes are no more than what a tensor of bytes takes anyway
            yield f"memory/{label}", Fault(does, around=_spoil_after(spoil), kinds=("gaps",) if "gap" in label else ())
    for field in (field for field in tensors_of(operator) if field.kind == "input"):
        for label, (does, spoil) in _INPUT_SPOILS.items():
            yield (
                f"memory/{label}/{field.name}",
                Fault(does.format(field.name), around=_spoil_after(spoil, field.name), when=has(field.name)),
            )
    yield "memory/offset-ignored", Fault("binds from the beginning of the resource", around=_bound_at(lambda offset, first: 0))
    if operator.inputs() or len(operator.outputs()) > 1:
        yield "memory/offset-of-first", Fault("binds all at the first one's offset", around=_bound_at(lambda offset, first: first))
    yield "memory/adds-to-output", Fault("combines the result with what the output held before", write=_combine)
    yield from _in_place(operator)


# Elements that are not written


Written = Callable[[TensorDesc, Array], Array]
"""(tensor desc, the elements' numbers in row-major order) -> which are written."""


def _odd(width: int) -> Written:
    return lambda tensor, i: (i < tensor.count - 1) | (tensor.count % 2 == 0) | (tensor.type.bits != width)


_LOSSES: Mapping[str, tuple[str, Written]] = {
    "first": ("the first element", lambda tensor, i: i > 0),
    "last": ("the last element", lambda tensor, i: i < tensor.count - 1),
    "single": ("a single element", lambda tensor, i: (i > 0) | (tensor.count > 1)),
    "beyond-65536": ("elements beyond the 65,536th", lambda tensor, i: i < 65536),
    "every-33rd": ("every 33rd element", lambda tensor, i: i % 33 != 32),
    "rest-of-4": ("what is left of a division by 4", lambda tensor, i: i < tensor.count // 4 * 4),
    "rest-of-64": (
        "what is left of a division by 64, beyond it",
        lambda tensor, i: (i < tensor.count // 64 * 64) | (tensor.count < 64),
    ),
    "outside-last-4d": ("what more than 4 dimensions hold", lambda tensor, i: i < prod(tensor.sizes[-4:])),
    "outside-last-5d": ("what more than 5 dimensions hold", lambda tensor, i: i < prod(tensor.sizes[-5:])),
}


def _lose_bytes(written: Written) -> Write:
    def write(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
        before = read_tensor(buffer, tensor, offset)
        chosen = np.broadcast_to(written(tensor, np.arange(tensor.count)), tensor.count).reshape(tensor.sizes)
        write_tensor(buffer, tensor, np.where(chosen, array, before), offset)

    return write


def _combine(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
    before = read_tensor(buffer, tensor, offset)
    pattern = f"u{array.dtype.itemsize}"
    write_tensor(buffer, tensor, (array.view(pattern) | before.view(pattern)).view(array.dtype), offset)


# Bytes that are no element's


Spoil = Callable[[Bytes, BufferBinding, TensorDesc], None]
"""(resource, binding, tensor desc) of a tensor: writes where nothing may be."""


def _spoil_after(spoil: Spoil, name: str = "") -> Around:
    """Runs, then writes in the outputs, or in the input of that name where no output shares its resource."""

    def run_around(dispatch: Dispatch, run: Run) -> None:
        run(dispatch)
        outputs = {dispatch.bindings[output].resource for output in dispatch.outputs}
        for tensor, binding in dispatch.bindings.items():
            if (tensor == name and binding.resource not in outputs) or (not name and tensor in dispatch.outputs):
                spoil(dispatch.resources[binding.resource], binding, dispatch.desc.tensor(tensor))

    return run_around


def _bound_at(offset: Callable[[int, int], int]) -> Around:
    """Binds at other offsets, given a tensor's own and the first one's; at its own where it would not fit into the resource."""

    def run_around(dispatch: Dispatch, run: Run) -> None:
        first = next(iter(dispatch.bindings.values())).offset

        def move_binding(binding: BufferBinding) -> BufferBinding:
            found = replace(binding, offset=offset(binding.offset, first))
            return found if found.offset + found.size <= dispatch.resources[found.resource].size else binding

        run(replace(dispatch, bindings={name: move_binding(binding) for name, binding in dispatch.bindings.items()}))

    return run_around


def _turn_bytes(begin: Callable[[BufferBinding, TensorDesc], int], end: Callable[[BufferBinding, TensorDesc], int]) -> Spoil:
    """Turns over bytes, counted from the binding's beginning."""

    def spoil(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
        resource[max(binding.offset + begin(binding, tensor), 0) : max(binding.offset + end(binding, tensor), 0)] ^= 0xFF

    return spoil


def _size(tensor: TensorDesc) -> int:
    return numpy_dtype(tensor.data_type).itemsize


def _end(tensor: TensorDesc) -> int:
    """Bytes to the end of the element that lies furthest."""
    return int(np.flatnonzero(element_bytes(tensor))[-1]) + 1


def _gaps(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
    """Every byte of the tensor's total size that is no element's, but for what only fills it up to a multiple of four."""
    mask = ~element_bytes(tensor)
    mask[_end(tensor) :] = False
    resource[binding.offset : binding.offset + tensor.bytes][mask] = 0


def _clear_padding(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
    resource[binding.offset + _end(tensor) : binding.offset + tensor.bytes] = 0


def _first_gap(resource: Bytes, binding: BufferBinding, tensor: TensorDesc) -> None:
    gaps = np.flatnonzero(~element_bytes(tensor)[: _end(tensor)])
    resource[binding.offset + gaps[:1]] ^= 0xFF


def _past_end(end: Callable[[BufferBinding, TensorDesc], int]) -> Spoil:
    return _turn_bytes(lambda b, t: b.size, end)


_SPOILS: Mapping[str, tuple[str, Spoil]] = {
    "byte-past-end": ("writes a byte past the end", _past_end(lambda b, t: b.size + 1)),
    "rounded-to-16": ("writes on to a multiple of 16 bytes", _past_end(lambda b, t: -(-b.size // 16) * 16)),
    "rounded-to-4-elements": ("writes on to a multiple of 4 elements", _past_end(lambda b, t: -(-t.count // 4) * 4 * _size(t))),
    "16-bytes-before": ("writes 16 bytes before the beginning", _turn_bytes(lambda b, t: -16, lambda b, t: 0)),
    "padding": ("writes 0 between the last element and a multiple of four bytes", _clear_padding),
    "gaps-zeroed": ("writes 0 between elements", _gaps),
    "first-gap": ("writes a byte after the first element or row", _first_gap),
}

_INPUT_SPOILS: Mapping[str, tuple[str, Spoil]] = {
    "first-byte": ("changes the first byte of {}", _turn_bytes(lambda b, t: 0, lambda b, t: 1)),
    "last-element": ("changes the last element of {}", _turn_bytes(lambda b, t: _end(t) - _size(t), lambda b, t: _end(t))),
    "gap": ("writes between elements of {}", _first_gap),
    "past-end": ("writes a byte past the end of {}", _past_end(lambda b, t: b.size + 1)),
}


# In place


def _in_place(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """For operators of which an output may lie on an input: the first or the second, or on both together."""
    names = [field.name for field in operator.inputs()]
    allowed = [name for name in names if any(name in permission.inputs for permission in operator.in_place)]
    for name in allowed:
        does = f"in place on {name}, writes the result to a copy"
        yield f"in-place/copy/{name}", Fault(does, around=_in_a_copy(name), kinds=("combination",))
    if any(permission.together and len(permission.inputs) > 1 for permission in operator.in_place):
        does = "in place on all inputs, writes the result to a copy"
        yield "in-place/copy/together", Fault(does, around=_in_a_copy(*allowed), kinds=("combination",))
    if allowed:
        does = "in place, overwrites elements before it reads them"
        yield "in-place/blocks-overlap", Fault(does, around=_blocks_overlap, kinds=("combination",))
        yield "in-place/twice", Fault("in place, runs twice", around=_run_again, kinds=("combination",))
    if len(names) > 1 and names[1] in allowed:
        does = f"in place on {names[1]}, overwrites it with {names[0]}"
        yield "in-place/first-copied", Fault(does, around=_copied_first, kinds=("combination",))


def _shared_input(dispatch: Dispatch, *inputs: str) -> tuple[str, str] | None:
    """The first of these inputs (of all, if none are given) that an output lies on, and that output; None if there is none."""
    for name in inputs or [name for name in dispatch.bindings if name not in dispatch.outputs]:
        for output in dispatch.outputs:
            if name in dispatch.bindings and _begin(dispatch.bindings[name]) == _begin(dispatch.bindings[output]):
                return name, output
    return None


def _begin(binding: BufferBinding) -> tuple[int, int]:
    """Where a tensor begins: inputs and outputs may also lie side by side in one resource."""
    return binding.resource, binding.offset


def _in_a_copy(*inputs: str) -> Around:
    def run_around(dispatch: Dispatch, run: Run) -> None:
        shared = all(_shared_input(dispatch, name) for name in inputs)
        run(replace(dispatch, resources=[resource.copy() for resource in dispatch.resources]) if shared else dispatch)

    return run_around


def _run_again(dispatch: Dispatch, run: Run) -> None:
    run(dispatch)
    if _shared_input(dispatch):
        run(dispatch)


def _copied_first(dispatch: Dispatch, run: Run) -> None:
    """The first input is copied to the output and the second combined with it: where the output lies on the second, it is gone."""
    one, other = [name for name in dispatch.bindings if name not in dispatch.outputs][:2]
    if _shared_input(dispatch, other):
        first, second = dispatch.bindings[one], dispatch.bindings[other]
        copied = read_tensor(dispatch.resources[first.resource], dispatch.desc.tensor(one), first.offset)
        write_tensor(dispatch.resources[second.resource], dispatch.desc.tensor(other), copied, second.offset)
    run(dispatch)


def _blocks_overlap(dispatch: Dispatch, run: Run) -> None:
    """From the last block of 16 elements to the first; each store begins one element too early, before that element is read."""
    shared = _shared_input(dispatch)
    if shared is None:
        run(dispatch)
        return
    name, output = shared
    binding, tensor = dispatch.bindings[name], dispatch.desc.tensor(name)
    resource = dispatch.resources[binding.resource]
    before = read_tensor(resource, tensor, binding.offset).reshape(-1)
    run(dispatch)
    result = read_tensor(resource, dispatch.desc.tensor(output), binding.offset).reshape(-1)
    before[15:-1:16] = result[16::16]
    write_tensor(resource, tensor, before.reshape(tensor.sizes), binding.offset)
    run(dispatch)
