"""The slots of an operator in a binding table, in the order of its struct: BindInputs has one for each input, BindOutputs for each output."""

from __future__ import annotations

from functools import lru_cache

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load


def slots_of(desc: OperatorDesc, kind: str) -> tuple[str, ...]:
    """The tensors of a kind (``input``, ``output``), a slot each: of an array one for each element, empty for an optional tensor that is absent."""
    found: list[str] = []
    for name, is_array in _fields_of(desc.type, kind):
        here = [own for own, _ in desc.called(name)]
        found += here if is_array or here else [""]
    return tuple(found)


@lru_cache(maxsize=512)
def _fields_of(operator: str, kind: str) -> tuple[tuple[str, bool], ...]:
    """The tensor fields of a kind, each with whether it is an array."""
    fields = (field for field in load(operator).fields if field.is_tensor and field.kind == kind)
    return tuple((field.name, field.is_tensor_array) for field in fields)


def is_owned(tensor: TensorDesc) -> bool:
    """Whether DirectML owns a tensor: it is bound at initialization, and not at execution."""
    return bool(tensor.flags & abi().tensor_flags["OWNED_BY_DML"])
