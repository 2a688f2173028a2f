"""Valid descs: sizes, data types and attributes that an operator's spec allows, put together.

Sizes come from the spec's shapes: a free symbol takes a given size, ``*S`` a given run of sizes, a derived one is computed. Nothing is
drawn at random and filtered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

from dmlcts.generator.attributes import ABSENT, PRESENT, NotGenerable, attribute_choices, with_attributes
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.expression import compile_expression
from dmlcts.spec.model import Operator, Support
from dmlcts.spec.rules import violations
from dmlcts.spec.shape import size_symbol

Types = tuple[tuple[str, str], ...]
"""A data type for each tensor: (("ATensor", "UINT8"), ...). Hashable, in the struct's order."""


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
        if constraint.same == what and constraint.when is None and constraint.before is None:
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
            if types not in found and _permitted(operator, types, table):
                found[types] = TypeChoice(types, table.level, "-".join(choice))
    return tuple(found.values())


def _permitted(operator: Operator, types: Types, table: Support) -> bool:
    """Whether the constraints let these data types stand together: ``tied_tensors`` knows those alone that hold always."""
    if only_tied(operator):
        return True
    count = min(max(row.dimensions[0] for row in table.tensors.values()), min(row.dimensions[1] for row in table.tensors.values()))
    return _keeps(operator, make_desc(operator, types, (1,) * count, attribute_choices(operator)[0]), table.level)


def only_tied(operator: Operator) -> bool:
    """Whether all that the constraints say is that tensors are alike."""
    return all(c.same and c.when is None and c.before is None for c in operator.constraints)


def _keeps(operator: Operator, desc: OperatorDesc, level: FeatureLevel | None = None) -> bool:
    """Whether a desc keeps the operator's own constraints."""
    return not any(found.label.startswith("constraint/") for found in violations(operator, desc, level))


@cache
def choices_for(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """The combinations of attributes and optional tensors that the constraints let stand with these data types, the usual one first.

    Raises:
        NotGenerable: they let none.
    """
    if only_tied(operator):
        return attribute_choices(operator)
    run = (1,) * usual_dimension_count(operator, choice)
    kept = tuple(c for c in attribute_choices(operator) if _keeps(operator, make_desc(operator, choice.types, run, c)))
    if not kept:
        raise NotGenerable(f"{operator.name}: the constraints let no attributes stand with {choice.label}")
    return kept


@cache
def whole_choices(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """Those combinations with every tensor present: what cases about tensors take turns with."""
    whole = [{k: PRESENT if v == ABSENT else v for k, v in attributes.items()} for attributes in choices_for(operator, choice)]
    return tuple(attributes for index, attributes in enumerate(whole) if attributes not in whole[:index])


@cache
def covering_choices(operator: Operator) -> tuple[TypeChoice, ...]:
    """Choices in which each tensor has each of its types: all where the types are tied, few of many where tensors choose freely.

    Integers and floats meet among them in every way that they can.
    """
    return _first_with_each(type_choices(operator), lambda choice: (*choice.types, tuple(real for _, real in choice.formats)))


@cache
def representatives(operator: Operator) -> tuple[TypeChoice, ...]:
    """Choices in which each tensor has each of its formats, of the oldest level that has it: what differs by them alone is tried on these."""
    return _first_with_each(type_choices(operator), lambda choice: enumerate(choice.formats))


@cache
def kind_representatives(operator: Operator) -> tuple[TypeChoice, ...]:
    """The same, signed and unsigned integers told apart: what depends on how a number is read."""
    kinds = abi().data_types
    return _first_with_each(
        type_choices(operator), lambda choice: ((name, kinds[of].bits, kinds[of].kind) for name, of in choice.types)
    )


@cache
def format_choices(operator: Operator) -> tuple[TypeChoice, ...]:
    """The covering choices, and one of each combination of formats: what depends on how several tensors' types meet is tried on these."""
    found: dict[tuple[tuple[int, bool], ...], TypeChoice] = {}
    for choice in type_choices(operator):
        found.setdefault(choice.formats, choice)
    chosen = {*found.values(), *covering_choices(operator)}
    return tuple(choice for choice in type_choices(operator) if choice in chosen)


def _first_with_each(choices: Iterable[TypeChoice], parts: Callable[[TypeChoice], Iterable[object]]) -> tuple[TypeChoice, ...]:
    """The choices that have a part which none before them has."""
    seen: set[object] = set()
    kept = []
    for choice in choices:
        new = set(parts(choice)) - seen
        if new:
            kept.append(choice)
            seen |= new
    return tuple(kept)


def _common_types(group: tuple[str, ...], table: Support) -> list[str]:
    rows = [table.tensors[name].data_types for name in group]
    return [name for name in rows[0] if all(name in row for row in rows)]


def level_of(operator: Operator, desc: OperatorDesc) -> FeatureLevel | None:
    """The lowest feature level whose tables list all of the desc's data types and dimension counts, None if none does.

    Where a level matters for more than the tables (an absent tensor, a constant, a fused operator, a lifted constraint), it is the lowest
    from there on at which the desc breaks no rule, if there is one.
    """
    tensors = [(name.partition("[")[0], tensor) for name, tensor in desc.tensors()]
    levels = [
        table.level
        for table in operator.tables(attributes=desc.fields)
        if all(
            tensor.data_type in table.tensors[name].data_types and tensor.DimensionCount in table.tensors[name].dimension_counts()
            for name, tensor in tensors
        )
    ]
    lowest = min(levels, default=None)
    if lowest is None or not _levelled(operator):
        return lowest
    later = sorted(level for level in abi().feature_levels.values() if level >= lowest)
    return next((level for level in later if not violations(operator, desc, level)), lowest)


@cache
def _levelled(operator: Operator) -> bool:
    """Whether something else than the tables depends on the feature level."""
    fields = operator.fields
    return (
        any(constraint.before for constraint in operator.constraints)
        or any(field.optional_since or field.operators for field in fields)
        or any(abi().enums[field.enum].since for field in fields if field.enum and field.enum != "DML_TENSOR_DATA_TYPE")
    )


def tensor_sizes(operator: Operator, run: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The sizes of every tensor of the first of the spec's shapes that ``run`` can stand for.

    ``*S`` is the run. Symbols take its last sizes, one each, the first of them all that stand before; ``*1`` is as many ones as make up
    the run's length: for ``*1, N, C`` the run 2, 3, 4 gives 1, 6, 4.

    Raises:
        NotGenerable: the spec has no shape, none for so few sizes, or one with expressions.
    """
    if not operator.shapes:
        raise NotGenerable(f"{operator.name} has no shapes in its spec")
    for shape in operator.shapes:
        symbols = {name: _symbols(operator, name, row) for name, row in shape.sizes.items()}
        if all(len(found) <= len(run) for found in symbols.values()):
            return {name: _row_sizes(row, symbols[name], run) for name, row in shape.sizes.items()}
    raise NotGenerable(f"{operator.name} has no shape of {len(run)} sizes")


def _symbols(operator: Operator, name: str, row: tuple[str, ...]) -> list[str]:
    """The symbols of a row that stand for one size each."""
    found = [size for size in row if not size.startswith("*") and compile_expression(size).names]
    for size in found:
        if size_symbol(size) is None:
            raise NotGenerable(f"{operator.name}: the size {size!r} of {name} has symbols that need a solver")
    if found and any(size.startswith("*") and size != "*1" for size in row):
        raise NotGenerable(f"{operator.name}: the sizes {', '.join(row)} of {name} need a solver")
    return found


def _row_sizes(row: tuple[str, ...], symbols: list[str], run: tuple[int, ...]) -> tuple[int, ...]:
    last = len(run) - len(symbols)
    known = dict(zip(symbols, (prod(run[: last + 1]), *run[last + 1 :]), strict=True)) if symbols else {}
    ones = len(run) - sum(1 for size in row if size != "*1")
    sizes: list[int] = []
    for size in row:
        if size == "*1":
            sizes += (1,) * ones
        elif size.startswith("*"):
            sizes += run
        else:
            sizes.append(known[size] if size in known else int(str(compile_expression(size).evaluate({}))))
    return tuple(sizes)


def make_desc(operator: Operator, types: Types, run: tuple[int, ...], choice: Mapping[str, object]) -> OperatorDesc:
    """A valid packed desc with the attributes and the absent tensors of a choice (generator/attributes). Raises NotGenerable."""
    sizes = tensor_sizes(operator, run)
    by_tensor = dict(types)
    tensors = {
        field.name: TensorDesc(by_tensor[field.name], sizes[field.name])
        if field.name in by_tensor and choice.get(field.name) != ABSENT
        else None
        for field in operator.fields
        if field.is_tensor
    }
    return OperatorDesc(operator.name, with_attributes(operator, tensors, choice))


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
