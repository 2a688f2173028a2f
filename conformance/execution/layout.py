"""The resources and bindings of a case, and what they hold before the run.

The backend is not trusted. Outputs are filled with the complement of the right answer, so that an unwritten element is always wrong.
Guard bytes surround every binding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.generator.case import Case
from dmlcts.reference.answer import Answer, host
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model import Operator

Array = NDArray[Any]

GUARD = 64
"""Guard bytes before and after each binding: more than a vector store reaches, and a multiple of the alignment of a binding."""

GUARD_BYTE, _GAP_BYTE, _INPUT_BYTE = 0xA5, 0xC3, 0x3C
"""Fill bytes before and after an output, between its elements, and around and between those of an input. They differ, so that an operator
that writes past the end (OR, AND, MIN and copies among them) does not write a guard's own value over it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A dispatch ready to run; ``snapshot`` holds a copy of every resource before it.

    ``resources`` are the dispatch's, in a list that no backend can change.
    """

    dispatch: Dispatch
    resources: tuple[Bytes, ...]
    snapshot: tuple[Bytes, ...]


def lay_out(case: Case, inputs: Mapping[str, Array], answers: Mapping[str, Answer], timeout: float | None = None) -> Layout:
    """Resources and bindings for a case: one guarded resource for each tensor, shared if the case is in place."""
    resources: list[Bytes] = []
    bindings: dict[str, BufferBinding] = {}
    outputs = output_names(case.operator, case.desc)
    for name, tensor in case.desc.tensors():
        special = case.bindings.get(name)
        if special is not None and special.absent:
            continue
        if name in case.in_place:
            bindings[name] = bindings[case.in_place[name]]
            continue
        size = _bound_bytes(tensor)
        # A different offset for each, so that swapped offsets show; a multiple of the required alignment.
        offset = GUARD + 16 * len(resources) + (special.offset if special else 0)
        written = name in outputs or name in case.in_place.values()
        resource = np.full(offset + size + GUARD + (16 if special else 0), GUARD_BYTE if written else _INPUT_BYTE, np.uint8)
        resource[offset : offset + size] = _GAP_BYTE if written else _INPUT_BYTE
        content = inputs[name] if name in inputs else poison(answers.get(name), tensor) if name in outputs else None
        if content is not None:
            write_tensor(resource, tensor, content, offset)
        bindings[name] = BufferBinding(len(resources), offset, size - (special.short if special else 0))
        resources.append(resource)
    dispatch = Dispatch(case.desc, resources, MappingProxyType(bindings), tuple(n for n in outputs if n in bindings), timeout)
    return Layout(dispatch, tuple(resources), tuple(resource.copy() for resource in resources))


def _bound_bytes(tensor: TensorDesc) -> int:
    """Bytes to bind; enough for any plausible reading of an invalid desc."""
    valid = tensor.data_type != "UNKNOWN" and (tensor.strides is None or len(tensor.strides) == len(tensor.sizes))
    if not valid or 0 in tensor.sizes:
        return 8 * max(64, 4 * tensor.count)
    return max(tensor.bytes, tensor.least_bytes)


def output_names(operator: Operator, desc: OperatorDesc) -> tuple[str, ...]:
    """The names of a desc's output tensors."""
    names = {output.name for output in operator.outputs()}
    return tuple(name for field, name, _ in desc.by_field() if field in names)


def poison(answer: Answer | None, tensor: TensorDesc) -> Array | None:
    """The content of an output before the run: floats with all bits inverted, integers half of their range away from the right ones.

    So no unwritten element is right, or nearly right.
    """
    if answer is None:
        return None
    with np.errstate(all="ignore"):
        right: Array = host(answer.stored).astype(numpy_dtype(tensor.data_type), copy=False)
    if tensor.type.bits < 8:
        return (right.astype(np.uint8) ^ np.uint8(15)).astype(right.dtype)
    bits = np.ascontiguousarray(right).view(bits_dtype(tensor.data_type))
    wrong: Array = ~bits if tensor.type.is_float else bits ^ bits.dtype.type(1 << (tensor.type.bits - 1))
    return wrong.view(right.dtype).reshape(tensor.sizes)
