"""The plan of an operator: everything that its cases are built from, computed once and passed on.

A ``Plan`` has the combinations of attribute values, and the choices of data types that tables and constraints allow. Each choice is a
``TypeChoice``, which has the combinations of attributes and the dimension counts that are valid with it. Both make descs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import product

from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.desc_plan import DescPlan, Types, first_with_each
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator, Support


@cache
def plan_of(operator: Operator) -> Plan:
    """The operator's plan, made once."""
    return Plan(operator)


class Plan(DescPlan):
    """What the cases of one operator are built from: what makes descs, and the choices of data types."""

    @cached_property
    def choices(self) -> tuple[TypeChoice, ...]:
        """Every choice of data types that some feature level allows, oldest level first, then in the tables' order."""
        found: dict[Types, TypeChoice] = {}
        groups = self.tied_groups("DataType")
        for table in sorted(self.operator.support, key=lambda t: t.level):
            rows = [[table.row(name).data_types for name in group] for group in groups]
            options = [[name for name in first if all(name in row for row in others)] for first, *others in rows]
            for choice in product(*options):
                by_tensor = {name: chosen for group, chosen in zip(groups, choice, strict=True) for name in group}
                types = tuple((name, by_tensor[name]) for name in self.tensors)
                if types not in found and self._is_permitted(types, table):
                    found[types] = TypeChoice(self, types, table.level, "-".join(choice))
        return tuple(found.values())

    def _is_permitted(self, types: Types, table: Support) -> bool:
        """Whether the constraints allow these data types together: ``tied`` covers only unconditional ones."""
        kinds = (choice for choice in self._kinds if table.applies(choice))
        return self.only_tied or any(self.keeps(types, choice, table.level) for choice in kinds)

    @cached_property
    def _kinds(self) -> list[Combination]:
        """One combination for each mix of enumeration values and absent tensors, on which constraints on types may depend."""
        telling = {field.name for field in self.operator.fields if field.enum or field.is_tensor}
        found: dict[str, Combination] = {}
        for choice in map(self.complete, self.combinations):
            found.setdefault(str([(name, value) for name, value in choice.items() if name in telling]), choice)
        return list(found.values())

    @cached_property
    def covering_choices(self) -> tuple[TypeChoice, ...]:
        """Choices in which each tensor has each of its types: all choices if the types are tied, a few if tensors vary independently.

        They include every valid mix of integers and floats.
        """

        def parts(choice: TypeChoice) -> Iterator[object]:
            yield from (*choice.types, tuple(real for _, real in choice.formats))
            for table in self.by_attribute:  # tables for other attribute values are separate promises
                listed = all(data_type in table.row(name).data_types for name, data_type in choice.types)
                if listed and self._is_permitted(choice.types, table):
                    yield from ((str(table.when), *pair) for pair in choice.types)

        return first_with_each(self.choices, parts)

    @cached_property
    def representatives(self) -> tuple[TypeChoice, ...]:
        """Choices in which each tensor has each of its formats, from the oldest level: for cases that depend only on the format."""
        return first_with_each(self.choices, lambda choice: enumerate(choice.formats))

    @cached_property
    def kind_representatives(self) -> tuple[TypeChoice, ...]:
        """The same, with signed and unsigned integers distinguished: for cases that depend on how a number is read."""
        kinds = abi().data_types
        return first_with_each(self.choices, lambda choice: ((name, kinds[of].bits, kinds[of].kind) for name, of in choice.types))

    @cached_property
    def of_each_format(self) -> tuple[TypeChoice, ...]:
        """The covering choices, and one for each combination of formats: for cases that depend on how types are combined."""
        found: dict[object, TypeChoice] = {}
        for choice in self.choices:
            found.setdefault(choice.formats, choice)
        chosen = {*found.values(), *self.covering_choices}
        return tuple(choice for choice in self.choices if choice in chosen)
