"""Valid descs: data types, attributes and sizes that an operator's spec allows, put together.

Sizes come from the spec's shapes (generator/solver), data types from its tables (generator/types), attributes from its fields and
configurations (generator/attributes). Nothing is drawn at random and filtered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from dmlcts.generator.attributes import NotGenerable, attribute_choices, configuration_of, present_throughout, with_attributes
from dmlcts.generator.solver import Sizes, Symbols, independent, leading, rows_in_force, solved
from dmlcts.generator.types import TypeChoice, Types, dimension_counts_of, keeps, nearest, only_tied, small_desc, tied_tensors
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model import ABSENT, Operator
from dmlcts.spec.rules import allowed_at

_FEW = 16
"""As many combinations of attributes as this are all tried in cases that are about something else."""


@cache
def choices_for(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """The combinations of attributes and optional tensors that tables and constraints let stand with these data types, the usual one first.

    Raises:
        NotGenerable: they let none.
    """
    if only_tied(operator) and not any(table.when for table in operator.support):
        return attribute_choices(operator)
    kept = tuple(
        attributes
        for attributes in attribute_choices(operator)
        if keeps(operator, choice.types, attributes)
        and level_of(operator, small_desc(operator, choice.types, attributes)) is not None
    )
    if not kept:
        raise NotGenerable(f"{operator.name}: the constraints let no attributes stand with {choice.label}")
    return kept


@cache
def few_choices(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """Those combinations, or where they are many enough of them that each value and each configuration stands in one."""
    choices = choices_for(operator, choice)
    return choices if len(choices) <= _FEW else fewest(operator, choices)


def fewest(operator: Operator, choices: Iterable[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
    """Of these combinations, in their order, those that bring a value or a configuration that none before them has."""
    seen: set[str] = set()
    kept = []
    for attributes in choices:
        new = {configuration_of(operator, attributes), *(f"{name}={value}" for name, value in attributes.items())} - seen
        if new:
            kept.append(attributes)
            seen |= new
    return tuple(kept)


@cache
def whole_choices(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """Those combinations with every tensor present that can be: what cases about tensors take turns with."""
    whole = [present_throughout(operator, attributes) for attributes in choices_for(operator, choice)]
    return tuple(attributes for index, attributes in enumerate(whole) if attributes not in whole[:index])


@cache
def presences(operator: Operator, choice: TypeChoice) -> tuple[Mapping[str, object], ...]:
    """As few of the combinations with every tensor that can be as let each tensor stand in one; the usual one first."""
    tensors = {field.name for field in operator.fields if field.is_tensor}
    met: set[str] = set()
    found = []
    for attributes in whole_choices(operator, choice):
        new = {name for name in tensors if attributes.get(name) != ABSENT} - met
        if new:
            found.append(attributes)
            met |= new
    return tuple(found)


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
    return next((level for level in later if allowed_at(operator, desc, level)), lowest)


@cache
def _levelled(operator: Operator) -> bool:
    """Whether something else than the tables depends on the feature level."""
    fields = operator.fields
    return (
        any(constraint.before for constraint in operator.constraints)
        or any(field.optional_since or field.operators for field in fields)
        or any(abi().enums[field.enum].since for field in fields if field.enum and field.enum != "DML_TENSOR_DATA_TYPE")
    )


def make_desc(
    operator: Operator,
    types: Types,
    run: Sizes,
    choice: Mapping[str, object],
    symbols: Symbols | None = None,
    known: Mapping[str, Sizes] | None = None,
    counts: Mapping[str, int] | None = None,
) -> OperatorDesc:
    """A valid packed desc with the attributes and the absent tensors of a choice (generator/attributes).

    ``run`` are the sizes wanted of the leading tensor, and its length the dimension count, to which those of tensors that are not in
    ``counts`` are as near as may be; ``symbols`` and ``known`` as in generator/solver.

    Raises:
        NotGenerable: there is none of these sizes.
    """
    ranks = dict(dimension_counts_of(operator, types))
    for group in tied_tensors(operator, "DimensionCount"):
        alike = {len(sizes) for name, sizes in (known or {}).items() if name in group}
        ranks |= {name: frozenset(alike) for name in group if len(alike) == 1 and name in ranks}
    present = [(name, data_type) for name, data_type in types if choice.get(name) != ABSENT]
    tensors: dict[str, TensorDesc | None] = {field.name: None for field in operator.fields if field.is_tensor}
    for name, data_type in present:
        wanted = (counts or {}).get(name, len(run))
        tensors[name] = TensorDesc(data_type, (1,) * _rank(ranks[name], wanted, (known or {}).get(name)))
    simple = independent(operator) and not symbols and not known
    fields = dict(tensors) if simple else with_attributes(operator, tensors, choice)
    rows = rows_in_force(operator, fields)
    for name, data_type in present:
        fitting = frozenset(count for count in ranks[name] if all(_fits(row, count) for row in rows.get(name, ())))
        wanted = (counts or {}).get(name, len(run))
        tensors[name] = TensorDesc(data_type, (1,) * _rank(fitting or ranks[name], wanted, (known or {}).get(name)))
    fields |= tensors
    for _ in range(_ROUNDS):
        sizes = solved(operator, fields, run, symbols, known)
        tensors |= {name: TensorDesc(data_type, sizes[name]) for name, data_type in present}
        before, fields = fields, with_attributes(operator, tensors, choice)
        if simple or all(before[field.name] == fields[field.name] for field in operator.attributes()):
            return OperatorDesc(operator.name, fields)
    raise NotGenerable(f"{operator.name}: its attributes and its sizes depend on each other")


_ROUNDS = 4
"""Attributes may depend on sizes, and sizes on attributes: how often one follows the other before neither changes."""


def _fits(row: Sequence[str], count: int) -> bool:
    """Whether a tensor of ``count`` dimensions can have the sizes of a row."""
    single = sum(not size.startswith("*") for size in row)
    return count == single or (count > single and len(row) > single)


def _rank(counts: frozenset[int], wanted: int, known: Sizes | None) -> int:
    if known is not None:
        return len(known)
    return nearest(counts, wanted) if counts else wanted


def sized_desc(operator: Operator, types: Types, count: int, sizes: Sizes, choice: Mapping[str, object]) -> OperatorDesc:
    """A desc of ``count`` dimensions that has about these sizes. Raises NotGenerable."""
    return make_desc(operator, types, padded_run(sizes, count), choice)


@cache
def dimension_counts(operator: Operator, choice: TypeChoice) -> tuple[int, ...]:
    """The dimension counts of the leading tensor at which some level allows this choice of data types.

    One that a table lists and no shape knows is left out; ``spec coverage`` shows it as a promise without a case.
    """
    counts = sorted(dimension_counts_of(operator, choice.types)[leading(operator)])
    return tuple(count for count in counts if _listed(operator, choice, count))


def _listed(operator: Operator, choice: TypeChoice, count: int) -> bool:
    """Whether the shapes know this dimension count, and a table lists what some combination of attributes makes of it."""
    simple = independent(operator) and not any(table.when for table in operator.support)
    for attributes in attribute_choices(operator)[:1] if simple else choices_for(operator, choice):
        try:
            desc = make_desc(operator, choice.types, (1,) * count, attributes)
        except NotGenerable:
            continue
        if level_of(operator, desc) is not None:
            return True
    return False


@cache
def usual_dimension_count(operator: Operator, choice: TypeChoice) -> int:
    """The dimension count that cases about other things use: 4, which every level knows, or the nearest that there is."""
    return nearest(dimension_counts(operator, choice), 4)


def padded_run(sizes: tuple[int, ...], count: int) -> tuple[int, ...]:
    """``sizes`` with ones in front, or its leading sizes multiplied together, so that it has ``count`` of them."""
    if len(sizes) <= count:
        return (1,) * (count - len(sizes)) + sizes
    head = 1
    for size in sizes[: len(sizes) - count + 1]:
        head *= size
    return (head, *sizes[len(sizes) - count + 1 :])
