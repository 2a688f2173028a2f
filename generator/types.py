"""Valid choices of data types: what the tables list together and the constraints let stand together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from dmlcts.generator.attributes import attribute_choices, present_throughout, with_attributes
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model import ABSENT, Operator, Support
from dmlcts.spec.rules import broken_without_sizes

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
        kinds = _kinds(operator, table)
        options = [_common_types(group, table) for group in groups]
        for choice in product(*options):
            by_tensor = {name: chosen for group, chosen in zip(groups, choice, strict=True) for name in group}
            types = tuple((name, by_tensor[name]) for name in order)
            if types not in found and _permitted(operator, types, table, kinds):
                found[types] = TypeChoice(types, table.level, "-".join(choice))
    return tuple(found.values())


def _kinds(operator: Operator, table: Support) -> list[Mapping[str, object]]:
    """One combination of attributes for each way in which enumerations and absent tensors meet: what constraints on types ask about."""
    telling = {field.name for field in operator.fields if field.enum or field.is_tensor}
    found: dict[str, Mapping[str, object]] = {}
    for choice in (present_throughout(operator, choice) for choice in attribute_choices(operator)):
        found.setdefault(str([(name, value) for name, value in choice.items() if name in telling]), choice)
    return [choice for choice in found.values() if table.applies(choice)]


def _permitted(operator: Operator, types: Types, table: Support, kinds: Iterable[Mapping[str, object]]) -> bool:
    """Whether the constraints let these data types stand together: ``tied_tensors`` knows those alone that hold always."""
    return only_tied(operator) or any(keeps(operator, types, choice, table.level) for choice in kinds)


def only_tied(operator: Operator) -> bool:
    """Whether all that the constraints say is that tensors are alike."""
    return all(c.same and c.when is None and c.before is None for c in operator.constraints)


def keeps(operator: Operator, types: Types, choice: Mapping[str, object], level: FeatureLevel | None = None) -> bool:
    """Whether data types and attributes keep the operator's own constraints together; what is said of sizes is left to the shapes."""
    desc = small_desc(operator, types, choice)
    return not broken_without_sizes(operator, desc, level)


def small_desc(operator: Operator, types: Types, choice: Mapping[str, object], count: int = 4) -> OperatorDesc:
    """A desc in which every size is 1, with the dimension counts nearest to ``count`` that the tables list for the types."""
    ranks = dimension_counts_of(operator, types)
    tensors: dict[str, TensorDesc | None] = {field.name: None for field in operator.fields if field.is_tensor}
    for name, data_type in types:
        if choice.get(name) != ABSENT:
            tensors[name] = TensorDesc(data_type, (1,) * nearest(ranks[name], count))
    return OperatorDesc(operator.name, with_attributes(operator, tensors, choice))


def nearest(counts: Iterable[int], wanted: int) -> int:
    """The dimension count nearest to the one wanted, the smaller of two."""
    return min(counts, key=lambda count: (abs(count - wanted), count))


@cache
def dimension_counts_of(operator: Operator, types: Types) -> Mapping[str, frozenset[int]]:
    """The dimension counts that some level lists for each tensor with these data types; tensors that must have the same have the same."""
    found: dict[str, set[int]] = {name: set() for name, _ in types}
    groups = tied_tensors(operator, "DimensionCount")
    for table in operator.support:
        if all(data_type in table.tensors[name].data_types for name, data_type in types):
            for group in groups:
                counts = set.intersection(*(set(table.tensors[name].dimension_counts()) for name in group))
                for name in found.keys() & set(group):
                    found[name] |= counts
    return {name: frozenset(counts) for name, counts in found.items()}


@cache
def covering_choices(operator: Operator) -> tuple[TypeChoice, ...]:
    """Choices in which each tensor has each of its types: all where the types are tied, few of many where tensors choose freely.

    Integers and floats meet among them in every way that they can.
    """
    tables = [table for table in operator.support if table.when]

    def parts(choice: TypeChoice) -> Iterator[object]:
        yield from (*choice.types, tuple(real for _, real in choice.formats))
        for table in tables:  # tables of other attributes are promises of their own
            listed = all(data_type in table.tensors[name].data_types for name, data_type in choice.types)
            if listed and _permitted(operator, choice.types, table, _kinds(operator, table)):
                yield from ((str(table.when), *pair) for pair in choice.types)

    return _first_with_each(type_choices(operator), parts)


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
