"""What is wrong with an operator desc: every rule that it breaks, by label.

The same labels stand in negative cases, in coverage and in a rejecting backend's message. Sources: the operator's own tables and
constraints; for tensors in general the DML_BUFFER_TENSOR_DESC page.

| label | rule |
|---|---|
| ``field/NAME`` | a field that is not optional is there, and of its type |
| ``enum/NAME`` | the value is a constant of the enumeration, at this feature level |
| ``support/TENSOR/data-type``, ``support/TENSOR/dimension-count`` | the table of the feature level lists it |
| ``tensor/TENSOR/sizes`` | no size is 0 |
| ``tensor/TENSOR/strides`` | as many strides as sizes, if any |
| ``tensor/TENSOR/total-size`` | TotalTensorSizeInBytes holds every element, and is a multiple of 4 |
| ``tensor/TENSOR/flags`` | known flags; OWNED_BY_DML on inputs only |
| ``constraint/LABEL`` | the operator's constraint of that label |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model import Constraint, Field, Operator


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its label and what breaks it."""

    label: str
    message: str


def violations(operator: Operator, desc: OperatorDesc, level: FeatureLevel | None = None) -> list[Violation]:
    """The rules that ``desc`` breaks at a feature level (the newest if None), empty if it is valid."""
    return list(_violations(operator, desc, level or max(abi().feature_levels.values())))


def _violations(operator: Operator, desc: OperatorDesc, level: FeatureLevel) -> Iterator[Violation]:
    whole = True
    for field in operator.fields:
        for violation in _field(field, desc.fields.get(field.name), level):
            whole = False
            yield violation
    for name in desc.fields.keys() - {field.name for field in operator.fields}:
        whole = False
        yield Violation(f"field/{name}", f"{operator.name} has no field {name}")
    if not whole:
        return
    yield from _support(operator, desc, level)
    for name, tensor in desc.tensors():
        field = operator.field(name.partition("[")[0])
        yield from _tensor(name, tensor, field)
    for constraint in operator.constraints:
        yield from _constraint(constraint, desc)


_NUMBERS = {"UINT": int, "UINT64": int, "INT": int, "BOOL": (bool, int), "FLOAT": (int, float), "SCALAR_UNION": (int, float)}
_PAIRS = ("SIZE_2D", "SCALE_BIAS")


def _field(field: Field, value: object, level: FeatureLevel) -> Iterator[Violation]:
    label = f"field/{field.name}"
    if value is None:
        if not field.optional:
            yield Violation(label, f"{field.name} is required")
    elif field.type == "TENSOR_DESC":
        if not isinstance(value, TensorDesc):
            yield Violation(label, f"{field.name} must be a tensor desc")
        elif value.data_type not in abi().data_types:
            yield Violation(f"support/{field.name}/data-type", f"{field.name} has the data type {value.data_type}")
    elif field.enum and field.enum != "DML_TENSOR_DATA_TYPE":
        constants = abi().enums[field.enum]
        name = value if isinstance(value, str) else next((k for k, v in constants.values.items() if v == value), None)
        if name not in constants.values:
            yield Violation(f"enum/{field.name}", f"{value} is no {field.enum}")
        elif name in constants.since and abi().feature_levels[constants.since[name]] > level:
            yield Violation(f"enum/{field.name}", f"{field.enum} has {name} from feature level {constants.since[name]} on")
    elif field.type in _NUMBERS and not field.enum:
        if not isinstance(value, _NUMBERS[field.type]):
            yield Violation(label, f"{field.name} must be a number, not {value!r}")
    elif field.type in ("OPERATOR_DESC", "OPERATOR_DESC_ARRAY"):
        descs = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(element, OperatorDesc) for element in descs):
            yield Violation(label, f"{field.name} must be an operator desc")
    elif (field.type.endswith("_ARRAY") or field.type in _PAIRS) and not isinstance(value, tuple):
        yield Violation(label, f"{field.name} must be an array")


def _support(operator: Operator, desc: OperatorDesc, level: FeatureLevel) -> Iterator[Violation]:
    table = next(operator.tables(level, desc.fields), None)
    if table is None:
        yield Violation("support/feature-level", f"{operator.name} needs feature level {operator.introduced}, and this is {level}")
        return
    for name, tensor in desc.tensors():
        row = table.tensors[name.partition("[")[0]]
        if tensor.data_type not in row.data_types:
            known = ", ".join(row.data_types)
            yield Violation(f"support/{name}/data-type", f"{name} is {tensor.data_type}; feature level {table.level} lists {known}")
        low, high = row.dimensions
        if not low <= tensor.DimensionCount <= high:
            said = f"{tensor.DimensionCount} dimensions; feature level {table.level} lists {low} to {high}"
            yield Violation(f"support/{name}/dimension-count", f"{name} has {said}")


def _tensor(name: str, tensor: TensorDesc, field: Field) -> Iterator[Violation]:
    if 0 in tensor.sizes:
        yield Violation(f"tensor/{name}/sizes", f"{name} has a size of 0: {list(tensor.sizes)}")
        return
    if tensor.strides is not None and len(tensor.strides) != len(tensor.sizes):
        yield Violation(f"tensor/{name}/strides", f"{name} has {len(tensor.strides)} strides for {len(tensor.sizes)} sizes")
        return
    if tensor.total_size is not None:
        if tensor.total_size < tensor.least_bytes:
            yield Violation(f"tensor/{name}/total-size", f"{name} says {tensor.total_size} bytes and needs {tensor.least_bytes}")
        elif tensor.total_size % abi().limits["total_size_multiple"]:
            yield Violation(f"tensor/{name}/total-size", f"{name} says {tensor.total_size} bytes, no multiple of 4")
    owned = abi().tensor_flags["OWNED_BY_DML"]
    if tensor.flags & ~owned or (tensor.flags and field.kind != "input"):
        yield Violation(f"tensor/{name}/flags", f"{name} has the flags {tensor.flags}")


def _constraint(constraint: Constraint, desc: OperatorDesc) -> Iterator[Violation]:
    label = f"constraint/{constraint.label}"
    try:
        if constraint.when is not None and not constraint.when.evaluate(desc.fields):
            return
        if constraint.same is not None:
            found = {
                name: getattr(tensor, constraint.same)
                for name, tensor in desc.tensors()
                if name.partition("[")[0] in constraint.tensors
            }
            if len(set(found.values())) > 1:
                yield Violation(label, f"{constraint.same} differ: " + ", ".join(f"{n} {_shown(v)}" for n, v in found.items()))
        elif constraint.that is not None and not constraint.that.evaluate(desc.fields):
            yield Violation(label, f"not true: {constraint.that.text}")
    except (TypeError, IndexError, ValueError, ZeroDivisionError) as error:
        yield Violation(label, f"cannot be true: {constraint.text} ({error})")


def _shown(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
