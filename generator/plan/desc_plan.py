"""What makes the descs of an operator: the values of its attributes, its tensors, and their sizes by the spec's shapes.

Nothing is drawn at random and filtered (generator/plan/sizes).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import TypeVar

from dmlcts.generator.plan.attributes import Combination, NotGenerable, alike, constants, evaluate, values_within
from dmlcts.generator.plan.pairs import combine
from dmlcts.generator.plan.sizes import Sizes, Symbols, fits, names_read, rows_in_force, solve_sizes
from dmlcts.generator.plan.tensor_names import arrays_of, filled_fields, present, tensor_names
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import ABSENT, PRESENT, Field, Operator, Support, newest_first
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import allowed_at, broken_without_sizes, differs_at
from dmlcts.spec.rules.shape import FAILURES

Types = tuple[tuple[str, str], ...]
"""A data type for each tensor: (("ATensor", "UINT8"), ...), in the struct's order."""

T = TypeVar("T")

Attributes = Mapping[str, object]
"""A combination of attributes, or one read back from a desc."""

MOST_BYTES = 64 << 20
"""The largest tensor of a case, in bytes: a case has several tensors, each of them several times in memory."""

_ROUNDS = 4
"""Attributes may depend on sizes, and sizes on attributes: the most iterations until neither changes."""


@cache
def desc_plan_of(operator: Operator) -> DescPlan:
    """The operator's plan without its choices of data types, made once: for an operator that is fused into another."""
    return DescPlan(operator)


class DescPlan:
    """What the descs of one operator are built from. Expensive parts are computed on first use.

    ``counts`` are the attributes that count the elements of another (``{"AxisCount": "Axes"}``) and follow from it; ``chosen`` are the others, ``computed`` the
    same in the order in which a desc's are computed.
    Those that count the tensors of an array (``{"InputTensors": "InputCount"}``) are in ``arrays``: they are chosen, and the array follows.
    ``tensors`` are the names that have a data type and a dimension count; an array has one for all its tensors, or one for each of those that
    the constraints name.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.tensors = tensor_names(operator)
        self.arrays = arrays_of(operator)
        self.counts = {field.count: field.name for field in operator.fields if field.count and field.name not in self.arrays}
        self.chosen = tuple(field for field in operator.attributes() if field.name not in self.counts)
        self.computed = sorted(self.chosen, key=lambda field: field.type == "OPERATOR_DESC_ARRAY")
        self._ranks: dict[Types, Mapping[str, frozenset[int]]] = {}
        self._sizes: dict[object, Mapping[str, Sizes]] = {}
        self._tied: dict[str, list[tuple[str, ...]]] = {}
        self._values: dict[str, tuple[object, ...]] = {}
        self._levels: dict[object, FeatureLevel] = {}
        self._listing: dict[object, tuple[Support, ...]] = {}

    # The spec as a whole

    @cached_property
    def leading_tensor(self) -> str:
        """The tensor that determines the dimension count of a case: the first required one."""
        optional = {field.name for field in self.operator.fields if field.optional}
        return next((name for name in self.tensors if name not in optional), self.tensors[0])

    @cached_property
    def uniform(self) -> bool:
        """Whether every tensor has the sizes of the first one, or only ones: then a row can have any number of elements."""
        rows = [(next(iter(shape.sizes.values())), row) for shape in self.operator.shapes for row in shape.sizes.values()]
        return all(row in (first, ("*1",)) for first, row in rows) and any("*" in "".join(first) for first, _ in rows)

    @cached_property
    def independent(self) -> bool:
        """Whether no size depends on an attribute."""
        return not any(self.operator.field(name).kind == "attribute" for name in self._read_fields)

    @cached_property
    def _read_fields(self) -> list[str]:
        """The fields that the shapes read."""
        names = frozenset[str]().union(*map(names_read, self.operator.shapes))
        return [field.name for field in self.operator.fields if field.name in names]

    @cached_property
    def only_tied(self) -> bool:
        """Whether the constraints only require equal properties of tensors."""
        return all(c.same and c.when is None and c.before is None for c in self.operator.constraints)

    @cached_property
    def by_attribute(self) -> tuple[Support, ...]:
        """The tables that apply only to some values of attributes."""
        return tuple(table for table in self.operator.support if table.when)

    @cached_property
    def steps(self) -> frozenset[FeatureLevel]:
        """The feature levels at which something other than a table changes: a lifted constraint, a newly optional tensor, an added constant."""
        found = {constraint.before for constraint in self.operator.constraints}
        for field in self.operator.fields:
            found |= {field.optional_since, *field.operators.values()}
            if field.enum:
                found |= {abi().feature_levels[since] for since in abi().enums[field.enum].since.values()}
        return frozenset(level for level in found if level)

    def tied_groups(self, what: str) -> list[tuple[str, ...]]:
        """The tensors in groups that must have the same ``what`` (DataType, DimensionCount); every other tensor is a group of its own."""
        if what not in self._tied:
            groups = [{name} for name in self.tensors]
            for constraint in self.operator.constraints:
                if constraint.same == what and constraint.when is None and constraint.before is None:
                    joined = {name for name in self.tensors if name in constraint.tensors or field_of(name) in constraint.tensors}
                    touching = [group for group in groups if group & joined]
                    groups = [group for group in groups if not group & joined] + [joined.union(*touching)]
            order = self.tensors.index
            self._tied[what] = sorted((tuple(sorted(group, key=order)) for group in groups), key=lambda group: order(group[0]))
        return self._tied[what]

    # Attributes

    def values(self, field: Field) -> tuple[object, ...]:
        """The values of an attribute in cases, the default first; an Expression among them is computed for each desc.

        Raises:
            NotGenerable: the spec gives no values for it.
        """
        if field.name not in self._values:
            inner = (desc_plan_of(load(name)).fused_operator for name in field.operators if name in operator_names())
            found = constants(field)
            self._values[field.name] = (*((None,) if field.optional else ()), *inner) if found is None else found
        return self._values[field.name]

    def constant_values(self) -> Iterator[tuple[Field, object]]:
        """Each attribute with each of its values that is the same for every desc."""
        for field in self.chosen:
            yield from ((field, value) for value in self.values(field) if not isinstance(value, Expression))

    @cached_property
    def fused_operator(self) -> OperatorDesc:
        """The operator as a fused one: without tensors, with its default attributes."""
        return self.fused_as(0)

    def fused_as(self, index: int) -> OperatorDesc:
        """The operator as a fused one, with its combination of attributes of that index; after the last comes the first."""
        choice = self.combinations[index % len(self.combinations)]
        return OperatorDesc(self.operator.name, {field.name: choice.get(field.name) for field in self.operator.fields})

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """Combinations of attribute values and of optional tensors, the default first; one empty mapping where nothing varies.

        They are made for each configuration of the spec in turn; one that is valid in several belongs to the first.

        Raises:
            NotGenerable: an attribute has no values.
        """
        found: list[Combination] = []
        for label, limits in (self.operator.configurations or {"": {}}).items():
            parameters = {}
            for field in self.operator.fields:
                if field in self.chosen:
                    parameters[field.name] = values_within(field, self.values(field), limits)
                elif field.type == "TENSOR_DESC" and field.optional:
                    parameters[field.name] = values_within(field, (PRESENT, ABSENT), limits)
            known = list(found)
            found += [Combination(choice, label) for choice in combine(parameters) if choice not in known]
        return tuple(found)

    @property
    def usual(self) -> Combination:
        """The first combination."""
        return self.combinations[0]

    def complete(self, choice: Combination) -> Combination:
        """The combination with every optional tensor present that its configuration allows."""
        limits = self.operator.configurations.get(choice.configuration, {})
        present = {k: PRESENT if v == ABSENT and PRESENT in limits.get(k, (PRESENT,)) else v for k, v in choice.items()}
        return Combination(present, choice.configuration)

    # Data types

    def keeps(self, types: Types, choice: Attributes, level: FeatureLevel | None = None) -> bool:
        """Whether types and attributes together satisfy the operator's constraints, except those about sizes."""
        return not broken_without_sizes(self.operator, self.small(types, choice), level)

    def small(self, types: Types, choice: Attributes) -> OperatorDesc:
        """A desc with all sizes 1, with the dimension counts nearest to 4 that the tables list for the types."""
        ranks = self.ranks(types)
        tensors = {name: _of_ones(dict(types)[of], nearest(ranks[of], 4)) for name, of in self.present(choice).items()}
        return OperatorDesc(self.operator.name, self.fields(tensors, choice))

    def ranks(self, types: Types) -> Mapping[str, frozenset[int]]:
        """The dimension counts that some level lists for each tensor with these types, equal where a constraint requires it."""
        if types not in self._ranks:
            found: dict[str, set[int]] = {name: set() for name, _ in types}
            for table in self.operator.support:
                if all(data_type in table.row(name).data_types for name, data_type in types):
                    for group in self.tied_groups("DimensionCount"):
                        counts = set.intersection(*(set(table.row(name).dimension_counts()) for name in group))
                        for name in found.keys() & set(group):
                            found[name] |= counts
            self._ranks[types] = {name: frozenset(counts) for name, counts in found.items()}
        return self._ranks[types]

    # Descs

    def fields(self, tensors: Mapping[str, object], choice: Attributes) -> dict[str, object]:
        """All fields of a desc in the struct's order: its tensors (None where absent), and the values of a choice, with expressions computed.

        The tensors of an array are under its name, or each under its own.
        """
        known = dict(filled_fields(self.operator, tensors))
        for field in self.computed:
            value = evaluate(field, choice.get(field.name), known)
            known[field.name] = _descs_of(value, known) if field.type.startswith("OPERATOR_DESC") else value
        for name, counted in (*self.counts.items(), *((count, array) for array, count in self.arrays.items())):
            array = known[counted]
            known[name] = len(array) if isinstance(array, tuple) else 0
        return {field.name: known[field.name] for field in self.operator.fields}

    def present(self, choice: Attributes) -> dict[str, str]:
        """The tensors of a desc with these attributes, each with its name in ``tensors``, in the struct's order."""
        return present(self.operator, self.tensors, choice)

    def name_of(self, tensor: str) -> str:
        """The name in ``tensors`` that stands for a tensor: its own, or that of its array."""
        return tensor if tensor in self.tensors else field_of(tensor)

    def recompute(self, desc: OperatorDesc, choice: Attributes) -> OperatorDesc:
        """The desc with the attributes of a choice recomputed for changed tensors; unchanged where that is impossible."""
        try:
            fields = self.fields(desc.fields, choice)
        except FAILURES:
            return desc
        unsigned = (fields[field.name] for field in self.operator.attributes() if field.type.startswith("UINT") and not field.enum)
        numbers = (number for value in unsigned for number in (value if isinstance(value, tuple) else (value,)))
        if any(isinstance(number, int) and number < 0 for number in numbers):
            return desc  # no struct can hold it
        return OperatorDesc(desc.type, fields)

    def desc(
        self,
        types: Types,
        run: Sizes,
        choice: Attributes,
        symbols: Symbols | None = None,
        known: Mapping[str, Sizes] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> OperatorDesc:
        """A valid packed desc with the attributes and the absent tensors of a choice.

        ``run`` are the wanted sizes of the leading tensor; its length is the dimension count. Tensors that are not in ``counts`` get the
        nearest possible dimension count. ``symbols`` and ``known`` as in generator/plan/sizes.

        Raises:
            NotGenerable: no such desc exists.
        """
        names, data_types, known, counts = self.present(choice), dict(types), known or {}, counts or {}
        ranks = {name: self.ranks(types)[of] for name, of in names.items()}
        for group in self.tied_groups("DimensionCount") if known else ():
            same = {len(sizes) for name, sizes in known.items() if self.name_of(name) in group}
            ranks |= {name: frozenset(same) for name, of in names.items() if len(same) == 1 and of in group}

        def of_ones(name: str, fitting: Collection[int]) -> TensorDesc:
            count = len(known[name]) if name in known else nearest(fitting, counts.get(names[name], len(run)))
            return _of_ones(data_types[names[name]], count)

        tensors = {name: of_ones(name, ranks[name]) for name in names}
        desc = self._make_desc(tensors, choice)
        fields = desc.fields
        for name, own in rows_in_force(self.operator, desc).items():
            if not all(fits(row, tensors[name].DimensionCount) for row in own):
                fitting = [count for count in ranks[name] if all(fits(row, count) for row in own)]
                tensors[name] = of_ones(name, fitting or ranks[name])
                fields = {**fields, **dict(filled_fields(self.operator, tensors))}
        if fields is not desc.fields:
            desc = OperatorDesc(self.operator.name, fields)
        for _ in range(_ROUNDS):
            sizes = self._solve(desc, run, symbols or {}, known)
            packed = {name: TensorDesc(data_types[of], sizes[name]) for name, of in names.items() if name in sizes}
            if self._is_constant(choice):
                return self._check_bytes(
                    OperatorDesc(desc.type, {**desc.fields, **dict(filled_fields(self.operator, packed))}), symbols or {}
                )
            before, desc = desc, self._make_desc(packed, choice)
            unsettled = [f.name for f in self.operator.attributes() if not alike(before.fields[f.name], desc.fields[f.name])]
            if not unsettled:
                return self._check_bytes(desc, symbols or {})
        raise NotGenerable(
            f"{self.operator.name}: its sizes depend on {', '.join(unsettled)}, and these depend on its sizes; give them values that do not"
        )

    def _is_constant(self, choice: Attributes) -> bool:
        """Whether the attributes of a choice are the same whatever the tensors' sizes are."""
        return not any(isinstance(choice.get(f.name), Expression) or f.type.startswith("OPERATOR_DESC") for f in self.computed)

    def _make_desc(self, tensors: Mapping[str, object], choice: Attributes) -> OperatorDesc:
        return OperatorDesc(self.operator.name, self.fields(tensors, choice))

    def _solve(self, desc: OperatorDesc, run: Sizes, symbols: Symbols, known: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
        """The sizes of a desc, solved once for all descs that agree in the fields that the shapes read."""
        ranks = [(name, tensor.DimensionCount) for name, tensor in desc.tensors()]
        key = (run, *ranks, repr([desc.fields[name] for name in self._read_fields]), *symbols.items(), *known.items())
        if key not in self._sizes:
            self._sizes[key] = solve_sizes(self.operator, desc, run, symbols, known)
        return self._sizes[key]

    def _check_bytes(self, desc: OperatorDesc, symbols: Symbols) -> OperatorDesc:
        """The desc itself. Raises NotGenerable if a tensor is too large for a case."""
        for name, tensor in desc.tensors():
            if tensor.count * tensor.type.bits > 8 * MOST_BYTES:
                sizes = "x".join(map(str, tensor.sizes))
                cause = f" with {', '.join(f'{symbol}: {size}' for symbol, size in symbols.items())}" if symbols else ""
                raise NotGenerable(
                    f"{self.operator.name}: {name} is {sizes}{cause}, {tensor.count * tensor.type.bits / 8 / 2**20:.0f} MiB of "
                    f"{tensor.data_type}; a tensor of a case may have at most {MOST_BYTES >> 20} MiB: give smaller sizes"
                )
        return desc

    def level_of(self, desc: OperatorDesc) -> FeatureLevel | None:
        """The lowest feature level whose tables list all of the desc's data types and dimension counts, None if none does.

        Where a level matters beyond the tables (an absent tensor, a constant, a fused operator, a lifted constraint), it is the lowest one
        from there on at which the desc breaks no rule, if any.
        """
        tables = self.tables_of(desc)
        lowest = tables[-1].level if tables else None
        if lowest is None or not self.steps:
            return lowest
        if not differs_at(self.operator, desc, lowest):
            return lowest
        tensors = [(name, tensor.data_type, tensor.sizes) for name, tensor in desc.tensors()]  # no level depends on strides
        key = (*tensors, repr([desc.fields.get(field.name) for field in self.operator.attributes()]))
        if key not in self._levels:
            later = sorted(level for level in abi().feature_levels.values() if level >= lowest)
            self._levels[key] = next((level for level in later if allowed_at(self.operator, desc, level)), lowest)
        return self._levels[key]

    def tables_of(self, desc: OperatorDesc) -> tuple[Support, ...]:
        """The tables that list all of the desc's data types and dimension counts, newest first."""
        tensors = tuple([(field, tensor.data_type, len(tensor.sizes)) for field, _, tensor in desc.by_field()])
        key = (tensors, *(str(desc.fields.get(name)) for table in self.by_attribute for name in table.when))
        if key not in self._listing:
            self._listing[key] = tuple(
                table
                for table in newest_first(self.operator)
                if table.applies(desc.fields)
                and all(
                    data_type in table.tensors[name].data_types and count in table.tensors[name].dimension_counts()
                    for name, data_type, count in tensors
                )
            )
        return self._listing[key]

    def fewest(self, choices: Iterable[Combination]) -> tuple[Combination, ...]:
        """Those combinations, in order, that have a value or a configuration that no earlier one has."""
        return first_with_each(choices, lambda c: (c.configuration, *(f"{name}={value}" for name, value in c.items())))


def _descs_of(value: object, known: Mapping[str, object]) -> object:
    """An operator desc, or an array of them, some of which are given by name.

    Those of one name have in turn the combinations of attributes that the operator has in its own cases: no two need be alike.
    """
    found: list[OperatorDesc] = []
    for given in value if isinstance(value, tuple) else () if value is None else (value,):
        if isinstance(given, str):
            given = desc_plan_of(load(given)).fused_as(sum(other.type == given for other in found))
        found.append(_fused_into(given, known))
    return tuple(found) if isinstance(value, tuple) else next(iter(found), None)


@cache
def _of_ones(data_type: str, count: int) -> TensorDesc:
    return TensorDesc(data_type, (1,) * count)


def _fused_into(inner: OperatorDesc, known: Mapping[str, object]) -> OperatorDesc:
    """A fused operator with its attributes computed: its tensors are like the output that it is applied to."""
    plan = desc_plan_of(load(inner.type))
    output = next((tensor for name, tensor in known.items() if name.startswith("Output") and isinstance(tensor, TensorDesc)), None)
    return OperatorDesc(
        inner.type, {**plan.fields(dict.fromkeys(plan.tensors, output), inner.fields), **dict.fromkeys(plan.tensors)}
    )


def nearest(counts: Collection[int], wanted: int) -> int:
    """The dimension count nearest to the wanted one, the smaller of two; the wanted one if there are none."""
    if wanted in counts:
        return wanted
    return min(counts, key=lambda count: (abs(count - wanted), count), default=wanted)


def first_with_each(choices: Iterable[T], parts: Callable[[T], Iterable[object]]) -> tuple[T, ...]:
    """The choices with a part that no earlier one has."""
    seen: set[object] = set()
    kept = []
    for choice in choices:
        new = set(parts(choice)) - seen
        if new:
            kept.append(choice)
            seen |= new
    return tuple(kept)
