"""What is wrong with an operator desc: every rule that it breaks, by label.

Negative cases, coverage and the reference's rejections use the same labels. Sources: the operator's own tables and
constraints; for tensors in general the DML_BUFFER_TENSOR_DESC page; for fused operators the page on fused activations.

| label | rule |
|---|---|
| ``field/NAME`` | a required field is present, and its value fits into the struct |
| ``enum/NAME`` | the value is a constant of the enumeration, at this feature level |
| ``operator/NAME`` | the inner operator desc is allowed there at this level, and has no tensors |
| ``count/NAME`` | an array has as many elements as its count field says |
| ``domain/NAME`` | a number, or every element of an array, is within its bounds |
| ``support/TENSOR/data-type``, ``support/TENSOR/dimension-count`` | the table of the feature level lists it |
| ``tensor/TENSOR/sizes`` | no size is 0 |
| ``tensor/TENSOR/strides`` | as many strides as sizes, if any |
| ``tensor/TENSOR/total-size`` | TotalTensorSizeInBytes covers every element, and is a multiple of 4 |
| ``tensor/TENSOR/flags`` | known flags; OWNED_BY_DML only on inputs that may have it |
| ``tensor/TENSOR/alignment`` | GuaranteedBaseOffsetAlignment is 0, or a power of two no smaller than an element |
| ``tensor/TENSOR/overlap`` | measured: an output has no stride of 0, no two equal strides, and an extent that covers every element |
| ``constraint/LABEL`` | the operator's constraint of that label |
| ``shape/TENSOR`` | the sizes match the documented shape |

Follow-up errors are not reported: wrong fields hide all other rules, domains hide constraints, and both hide shapes, as does a dimension
count that no table lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from dmlcts.spec.model.abi import FeatureLevel, abi, newest_level
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, packed_strides
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Constraint, Field, Operator
from dmlcts.spec.rules.shape import FAILURES, bounds, is_within, mismatches

Found = Iterator["Violation"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its label, a message, and the rule's basis."""

    label: str
    message: str
    basis: str = DOCUMENTED


def violations(operator: Operator, desc: OperatorDesc, level: FeatureLevel | None = None) -> list[Violation]:
    """The rules that ``desc`` breaks at a feature level (the newest if None), empty if it is valid."""
    level = level or newest_level()
    wrong = list(_fields(operator, desc, level))
    if wrong:
        return wrong
    fields = named_constants(operator, desc)
    general = [*_support(operator, desc, fields, level), *_tensors(operator, desc)]
    domains = list(_domains(operator, fields))
    constraints = [] if domains else list(_constraints(operator, desc, fields, level))
    uncounted = any(found.label.endswith("/dimension-count") for found in general)
    shapes = [] if domains or constraints or uncounted else list(_shapes(operator, desc, fields))
    return [*general, *domains, *constraints, *shapes]


def allowed_at(operator: Operator, desc: OperatorDesc, level: FeatureLevel) -> bool:
    """Whether a desc follows the rules that differ between feature levels: fields, tables and constraints."""
    if next(_fields(operator, desc, level), None) is not None:
        return False
    fields = named_constants(operator, desc)
    found = chain(_support(operator, desc, fields, level), _constraints(operator, desc, fields, level))
    return next(found, None) is None


def differs_at(operator: Operator, desc: OperatorDesc, level: FeatureLevel) -> bool:
    """Whether a desc breaks at a level a rule that other levels may not have. One that all levels have is not looked at."""
    for field in operator.fields:
        if (field.optional_since or field.enum or field.operators) and next(_field(field, desc.fields, level), None) is not None:
            return True
    fields = named_constants(operator, desc)
    lifted = (c for c in operator.constraints if c.before is not None and level < c.before)
    found = chain(_support(operator, desc, fields, level), chain.from_iterable(_constraint(c, desc, fields) for c in lifted))
    return next(found, None) is not None


def named_constants(operator: Operator, desc: OperatorDesc) -> dict[str, object]:
    """A desc's fields with enumeration constants by name, as conditions in specs use them, whether the desc has names or numbers."""
    fields = dict(desc.fields)
    for field in operator.fields:
        value = fields.get(field.name)
        if field.enum and isinstance(value, int):
            fields[field.name] = next((name for name, number in abi().enums[field.enum].values.items() if number == value), value)
    return fields


# Fields


def _fields(operator: Operator, desc: OperatorDesc, level: FeatureLevel) -> Found:
    for field in operator.fields:
        yield from _field(field, desc.fields, level)
    for name in desc.fields.keys() - {field.name for field in operator.fields}:
        yield Violation(f"field/{name}", f"{operator.name} has no field {name}")


_INTEGERS = {"UINT": (0, 1 << 32), "UINT64": (0, 1 << 64), "INT": (-(1 << 31), 1 << 31), "BOOL": (0, 2)}
_PAIRS = {"SIZE_2D": "UINT", "SCALE_BIAS": "FLOAT"}


def _field(field: Field, fields: Mapping[str, object], level: FeatureLevel) -> Found:
    value = fields.get(field.name)
    if value is None:
        if not field.optional or (field.optional_since and level < field.optional_since):
            yield Violation(f"field/{field.name}", f"{field.name} is required")
        return
    element_type = _PAIRS.get(field.type) or field.type.removesuffix("_ARRAY")
    if element_type == field.type:
        yield from _value(field, field.name, element_type, value, fields, level)
        return
    if not isinstance(value, tuple):
        yield Violation(f"field/{field.name}", f"{field.name} must be an array")
        return
    if field.type in _PAIRS and len(value) != 2:
        yield Violation(f"field/{field.name}", f"{field.name} must have two numbers")
    for index, element in enumerate(value):
        yield from _value(field, f"{field.name}[{index}]", element_type, element, fields, level)
    if field.count and len(value) != fields.get(field.count):
        yield Violation(
            f"count/{field.name}", f"{field.name} has {len(value)} elements, but {field.count} is {fields.get(field.count)}"
        )


def _value(field: Field, name: str, value_type: str, value: object, fields: Mapping[str, object], level: FeatureLevel) -> Found:
    label = f"field/{field.name}"
    if value_type == "TENSOR_DESC":
        if not isinstance(value, TensorDesc):
            yield Violation(label, f"{name} must be a tensor desc")
        elif value.data_type not in abi().data_types:
            yield Violation(f"support/{name}/data-type", f"{name} has the data type {value.data_type}")
    elif value_type == "OPERATOR_DESC":
        if isinstance(value, OperatorDesc):
            yield from _inner_operator(field, value, level)
        else:
            yield Violation(label, f"{name} must be an operator desc")
    elif field.enum:
        yield from _constant(field, field.enum, value, level)
    elif value_type in _INTEGERS:
        least, most = _INTEGERS[value_type]
        if not isinstance(value, int) or not least <= value < most:
            yield Violation(label, f"{name} must be a whole number from {least} to {most - 1}, not {value!r}")
    elif not isinstance(value, int | float):
        yield Violation(label, f"{name} must be a number, not {value!r}")
    elif field.data_type:
        data_type = abi().data_types.get(str(fields.get(field.data_type)))
        if data_type and not data_type.holds(value):
            yield Violation(label, f"{name} is {value}, which {data_type.name} cannot represent")


def _constant(field: Field, enum: str, value: object, level: FeatureLevel) -> Found:
    constants = abi().enums[enum]
    name = value if isinstance(value, str) else next((k for k, v in constants.values.items() if v == value), None)
    if name not in constants.values:
        yield Violation(f"enum/{field.name}", f"{value} is not a {enum}")
    elif name in constants.since and abi().feature_levels[constants.since[name]] > level:
        yield Violation(f"enum/{field.name}", f"{enum} has {name} from feature level {constants.since[name]} on")


def _inner_operator(field: Field, desc: OperatorDesc, level: FeatureLevel) -> Found:
    since = field.operators.get(desc.type)
    if field.operators and since is None:
        yield Violation(f"operator/{field.name}", f"{field.name} cannot be {desc.type}; it can be {', '.join(field.operators)}")
    elif since and level < since:
        yield Violation(f"operator/{field.name}", f"{field.name} can be {desc.type} from feature level {since} on")
    elif any(desc.tensors()):
        yield Violation(f"operator/{field.name}", f"the tensors of {field.name} must be absent")


# Tables and tensors


def _support(operator: Operator, desc: OperatorDesc, fields: Mapping[str, object], level: FeatureLevel) -> Found:
    table = next(operator.tables(level, fields), None)
    if table is None:
        yield Violation("support/feature-level", f"{operator.name} has no table for such a desc at feature level {level}")
        return
    for name, tensor in desc.tensors():
        row = table.tensors[name.partition("[")[0]]
        if tensor.data_type not in row.data_types:
            found = f"{tensor.data_type}; feature level {table.level} lists {', '.join(row.data_types)}"
            yield Violation(f"support/{name}/data-type", f"{name} is {found}", table.basis)
        low, high = row.dimensions
        if not low <= tensor.DimensionCount <= high:
            found = f"{tensor.DimensionCount} dimensions; feature level {table.level} lists {low} to {high}"
            yield Violation(f"support/{name}/dimension-count", f"{name} has {found}", table.basis)


def _tensors(operator: Operator, desc: OperatorDesc) -> Found:
    for name, tensor in desc.tensors():
        yield from _tensor(name, tensor, operator.field(name.partition("[")[0]))


def _tensor(name: str, tensor: TensorDesc, field: Field) -> Found:
    if 0 in tensor.sizes:
        yield Violation(f"tensor/{name}/sizes", f"{name} has a size of 0: {list(tensor.sizes)}")
        return
    if tensor.strides is not None and len(tensor.strides) != len(tensor.sizes):
        yield Violation(f"tensor/{name}/strides", f"{name} has {len(tensor.strides)} strides for {len(tensor.sizes)} sizes")
        return
    if tensor.total_size is not None:
        if tensor.total_size < tensor.least_bytes:
            yield Violation(
                f"tensor/{name}/total-size", f"{name} has a total size of {tensor.total_size} bytes but needs {tensor.least_bytes}"
            )
        elif tensor.total_size % abi().limits["total_size_multiple"]:
            yield Violation(
                f"tensor/{name}/total-size", f"{name} has a total size of {tensor.total_size} bytes, which is not a multiple of 4"
            )
    owned = abi().tensor_flags["OWNED_BY_DML"]
    if tensor.flags & ~owned or (tensor.flags and not (field.kind == "input" and field.owned_by_dml)):
        yield Violation(f"tensor/{name}/flags", f"{name} has invalid flags: {tensor.flags}")
    if tensor.alignment and (tensor.alignment & (tensor.alignment - 1) or tensor.alignment < tensor.type.size):
        yield Violation(
            f"tensor/{name}/alignment", f"{name} has an invalid GuaranteedBaseOffsetAlignment: {tensor.alignment} bytes"
        )
    if not field.may_overlap and tensor.strides is not None and _overlaps(tensor):
        message = f"{name} has overlapping elements: sizes {list(tensor.sizes)}, strides {list(tensor.strides)}"
        yield Violation(f"tensor/{name}/overlap", message, MEASURED)
    if field.packed and tensor.strides is not None:
        pairs = zip(tensor.sizes, tensor.strides, packed_strides(tensor.sizes), strict=True)
        if any(stride != packed for size, stride, packed in pairs if size > 1):
            message = f"{name} must be packed: sizes {list(tensor.sizes)}, strides {list(tensor.strides)}"
            yield Violation(f"tensor/{name}/packed", message, MEASURED)


def _overlaps(tensor: TensorDesc) -> bool:
    """Whether DirectML.dll 1.15.4 rejects an output, or an input that may not overlap, with these strides (measured). Dimensions of size 1 do not count.

    The test is not exact: sizes 3x4 with strides 3, 2 overlap and are accepted.
    """
    steps = [(size, stride) for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True) if size > 1]
    strides = [stride for _, stride in steps]
    extent = 1 + sum((size - 1) * stride for size, stride in steps)
    return 0 in strides or len(set(strides)) < len(strides) or extent < tensor.count


# Rules of the operator's own spec


def _domains(operator: Operator, fields: Mapping[str, object]) -> Found:
    for field in operator.fields:
        value = fields.get(field.name)
        if field.domain and value is not None and not is_within(field.domain, value, fields):
            message = f"{field.name} is {_value_text(value)}, but must be {bounds(field.domain, fields)}"
            yield Violation(f"domain/{field.name}", message, field.domain.basis)


def broken_without_sizes(operator: Operator, desc: OperatorDesc, level: FeatureLevel | None = None) -> list[Violation]:
    """The operator's own constraints that a desc breaks at a level (the newest where None), except those about sizes."""
    fields = named_constants(operator, desc)
    found = _constraints(operator, desc, fields, level or newest_level())
    sized = {f"constraint/{c.label}" for c in operator.constraints if "Sizes" in c.text}
    return [violation for violation in found if violation.label not in sized]


def _constraints(operator: Operator, desc: OperatorDesc, fields: Mapping[str, object], level: FeatureLevel) -> Found:
    for constraint in operator.constraints:
        if constraint.before is None or level < constraint.before:
            yield from _constraint(constraint, desc, fields)


def _constraint(constraint: Constraint, desc: OperatorDesc, fields: Mapping[str, object]) -> Found:
    label = f"constraint/{constraint.label}"
    try:
        if constraint.when is not None and not _holds(constraint.when, fields):
            return
        if constraint.that is not None and _holds(constraint.that, fields) is False:
            yield Violation(label, f"not true: {constraint.text}", constraint.basis)
    except FAILURES as error:
        yield Violation(label, f"cannot be true: {constraint.text} ({error})", constraint.basis)
        return
    if constraint.same is not None:
        found = {
            name: getattr(tensor, constraint.same)
            for field, name, tensor in desc.by_field()
            if name in constraint.tensors or field in constraint.tensors
        }
        if len(set(found.values())) > 1:
            values = ", ".join(f"{n} {_value_text(v)}" for n, v in found.items())
            yield Violation(label, f"{constraint.same} differ: {values}", constraint.basis)


def _holds(expression: Expression, fields: Mapping[str, object]) -> bool | None:
    """Whether a condition is true; None if it reads an optional field that is absent."""
    try:
        return bool(expression.evaluate(fields))
    except FAILURES:
        if any(fields.get(name) is None for name in expression.names):
            return None
        raise


def _shapes(operator: Operator, desc: OperatorDesc, fields: Mapping[str, object]) -> Found:
    for shape in operator.shapes:
        try:
            in_force = shape.when is None or _holds(shape.when, fields)
        except FAILURES:
            in_force = False
        if in_force:
            yield from (Violation(f"shape/{name}", message) for name, message in mismatches(shape, desc, fields))


def _value_text(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
