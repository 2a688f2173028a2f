"""Valid descs: sizes, data types and attributes that an operator's spec allows, put together.

Sizes come from the spec's shapes: a free symbol takes a given size, ``*S`` a given run of sizes, a derived one is computed. Nothing is
drawn at random and filtered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.expression import compile_expression
from dmlcts.spec.model import Field, Operator, Support

Types = tuple[tuple[str, str], ...]
"""A data type for each tensor: (("ATensor", "UINT8"), ...). Hashable, in the struct's order."""


class NotGenerable(ValueError):
    """A spec says something that the generator cannot make cases of; the message says what."""


@dataclass(frozen=True, slots=True)
class TypeChoice:
    """One valid choice of data types, the level that first allows it, and how an id names it (``UINT8``, ``UINT16-UINT32``)."""

    types: Types
    level: FeatureLevel
    label: str

    @property
    def main(self) -> str:
        """The data type of the first tensor: what reports sort the case under."""
        return self.types[0][1]

    @property
    def widths(self) -> tuple[int, ...]:
        """The width in bits of each tensor's elements."""
        return tuple(abi().data_types[name].bits for _, name in self.types)

    @property
    def formats(self) -> tuple[tuple[int, bool], ...]:
        """Width in bits, and whether it is a floating type, of each tensor: what one representative is chosen of."""
        return tuple((abi().data_types[name].bits, abi().data_types[name].is_float) for _, name in self.types)


def tied_tensors(operator: Operator, what: str) -> list[tuple[str, ...]]:
    """The tensors in groups that must have the same ``what`` (DataType, DimensionCount), each other tensor alone."""
    groups = [{field.name} for field in operator.fields if field.is_tensor]
    for constraint in operator.constraints:
        if constraint.same == what and constraint.when is None:
            joined = set(constraint.tensors)
            touching = [group for group in groups if group & joined]
            groups = [group for group in groups if not group & joined] + [joined.union(*touching)]
    order = [field.name for field in operator.fields]
    return sorted((tuple(sorted(group, key=order.index)) for group in groups), key=lambda group: order.index(group[0]))


@cache
def type_choices(operator: Operator) -> tuple[TypeChoice, ...]:
    """Every choice of data types that some feature level allows, oldest level first, then in the tables' order."""
    found: dict[Types, TypeChoice] = {}
    groups = tied_tensors(operator, "DataType")
    order = [field.name for field in operator.fields if field.is_tensor]
    for table in sorted(operator.support, key=lambda t: t.level):
        options = [_common_types(group, table) for group in groups]
        for choice in product(*options):
            by_tensor = {name: chosen for group, chosen in zip(groups, choice, strict=True) for name in group}
            types = tuple((name, by_tensor[name]) for name in order)
            label = "-".join(choice)
            found.setdefault(types, TypeChoice(types, table.level, label))
    return tuple(found.values())


def representatives(operator: Operator) -> tuple[TypeChoice, ...]:
    """One choice for each combination of formats, of the oldest level that has it: what differs by them alone is tried on these."""
    found: dict[tuple[tuple[int, bool], ...], TypeChoice] = {}
    for choice in type_choices(operator):
        found.setdefault(choice.formats, choice)
    return tuple(found.values())


def _common_types(group: tuple[str, ...], table: Support) -> list[str]:
    rows = [table.tensors[name].data_types for name in group]
    return [name for name in rows[0] if all(name in row for row in rows)]


def level_of(operator: Operator, desc: OperatorDesc) -> FeatureLevel | None:
    """The lowest feature level whose tables list all of the desc's data types and dimension counts, None if none does."""
    tensors = [(name.partition("[")[0], tensor) for name, tensor in desc.tensors()]
    levels = [
        table.level
        for table in operator.tables(attributes=desc.fields)
        if all(
            tensor.data_type in table.tensors[name].data_types and tensor.DimensionCount in table.tensors[name].dimension_counts()
            for name, tensor in tensors
        )
    ]
    return min(levels, default=None)


def attribute_values(field: Field) -> tuple[object, ...]:
    """The values of an attribute that cases go through: every constant of an enumeration.

    Raises:
        NotGenerable: the spec gives no domain for it.
    """
    if field.enum and field.enum != "DML_TENSOR_DATA_TYPE":
        return tuple(abi().enums[field.enum].values)
    if field.optional:
        return (None,)
    raise NotGenerable(f"the attribute {field.name} has no domain in the spec")


@cache
def attribute_choices(operator: Operator) -> tuple[Mapping[str, object], ...]:
    """Every combination of attribute values; one empty mapping for an operator without attributes."""
    fields = operator.attributes()
    return tuple(
        dict(zip((field.name for field in fields), values, strict=True))
        for values in product(*(attribute_values(field) for field in fields))
    )


def tensor_sizes(operator: Operator, run: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The sizes of every tensor where ``*S`` is ``run``.

    Raises:
        NotGenerable: the spec has no shape, or one with symbols other than ``*S``.
    """
    if not operator.shapes:
        raise NotGenerable(f"{operator.name} has no shapes in its spec")
    found = {}
    for name, row in operator.shapes[0].sizes.items():
        sizes: list[int] = []
        for size in row:
            if size.startswith("*"):
                sizes += run
                continue
            value = compile_expression(size)
            if value.names:
                raise NotGenerable(f"{operator.name}: the size {size!r} of {name} has symbols that need a solver")
            sizes.append(int(str(value.evaluate({}))))
        found[name] = tuple(sizes)
    return found


def make_desc(operator: Operator, types: Types, run: tuple[int, ...], attributes: Mapping[str, object]) -> OperatorDesc:
    """A valid packed desc. Raises NotGenerable."""
    sizes = tensor_sizes(operator, run)
    by_tensor = dict(types)
    fields: dict[str, object] = {}
    for field in operator.fields:
        if field.is_tensor:
            fields[field.name] = TensorDesc(by_tensor[field.name], sizes[field.name])
        else:
            fields[field.name] = attributes.get(field.name)
    return OperatorDesc(operator.name, fields)


def dimension_counts(operator: Operator, choice: TypeChoice) -> list[int]:
    """The dimension counts at which some level allows this choice of data types, for shapes that are one run of sizes."""
    found = set()
    for table in operator.support:
        if all(data_type in table.tensors[name].data_types for name, data_type in choice.types):
            rows = [set(row.dimension_counts()) for row in table.tensors.values()]
            found |= set.intersection(*rows)
    return sorted(found)


def usual_dimension_count(operator: Operator, choice: TypeChoice) -> int:
    """The dimension count that cases about other things use: 4, which every level knows, or the nearest that there is."""
    return min(dimension_counts(operator, choice), key=lambda count: (abs(count - 4), count))


def padded_run(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """``sizes`` with ones in front, or its leading sizes multiplied together, so that it has ``count`` of them."""
    if len(sizes) <= count:
        return (1,) * (count - len(sizes)) + sizes
    head = 1
    for size in sizes[: len(sizes) - count + 1]:
        head *= size
    return (head, *sizes[len(sizes) - count + 1 :])
