"""Where each tensor of a case lies: its resource, its offset, and the guards around it."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.generator.case.case import ALL, INPUTS, OFFSETS, Case
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator

GUARD = 64
"""Guard bytes before and after each binding: more than a vector store reaches, and a multiple of the alignment of a binding."""

_ALIGNED = 16
"""The alignment of bindings, in bytes."""

_APART = 37 * _ALIGNED
"""How far the offsets of a case lie from each other that are none of OFFSETS: no multiple of a power of two above 16."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies: in its part of the resource called ``of`` from ``offset`` on, where the part has ``length`` bytes from ``begin`` on.

    ``size`` are its bytes. Tensors that share a resource in place have one place.
    """

    of: str
    begin: int
    length: int
    offset: int
    size: int


def places(case: Case) -> dict[str, Place]:
    """Where each bound tensor of a case lies."""
    found: dict[str, Place] = {}
    lengths: dict[str, int] = {}
    outputs = output_names(case.operator, case.desc)
    for name, tensor in case.desc.tensors():
        special = case.bindings.get(name)
        if special is not None and special.absent:
            continue
        if name in case.in_place:
            found[name] = found[case.in_place[name]]
            continue
        size = _bound_bytes(tensor)
        offset = _offset(case, len(found)) + (special.offset if special else 0)
        length = _ALIGNED * -(-(offset + size + GUARD + (16 if special else 0)) // _ALIGNED)
        of = case.resource if case.resource == ALL or (case.resource == INPUTS and name not in outputs) else ""
        found[name] = Place(of or name, lengths.get(of or name, 0), length, offset, size)
        lengths[of or name] = found[name].begin + length
    return found


def _offset(case: Case, index: int) -> int:
    """Where the tensor with this index begins in its part of a resource; different for each, so that swapped offsets show."""
    if case.offset == OFFSETS[0]:
        return GUARD + _ALIGNED * index
    if case.offset in OFFSETS:
        return OFFSETS[(OFFSETS.index(case.offset) + index) % len(OFFSETS)]
    return case.offset + _APART * index


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
