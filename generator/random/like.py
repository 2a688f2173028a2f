"""A drawn case like a given one: of the same types, ranks, sizes, attributes and data, so that it can be made simpler (generator/random/reduce).

Its tensors are packed and lie where the simplest drawn ones do: a fault that needs other strides does not show in it. Nor does one that needs
attributes together which no configuration of the spec has: random dispatches keep to these.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import has_value
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.random.changed import sizes_as_numbers
from dmlcts.generator.random.random_dispatch import Genes
from dmlcts.generator.random.reduce import simplest_number
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import ABSENT, PRESENT

T = TypeVar("T")


class GenesLike(Genes):
    """The numbers of a drawn case that is like a given one: of each option the one that the case has, and the simplest of every other name."""

    def __init__(self, model: Model, case: Case) -> None:
        super().__init__(Random(0), dict(sizes_as_numbers(case)))  # noqa: S311 (not drawn from)
        self.case = case
        row = zip(model.factors, row_of(model, case), strict=True)
        self.values = {factor.name: factor.values[at] for factor, at in row if at != NONE}
        self.values["rank"] = str(case.desc.tensor(model.plan.leading_tensor).DimensionCount)
        self.owned = model.owned_sets.get(self.values.get("owned", ""), ())

    def new(self, name: str) -> float:
        """The simplest number."""
        return simplest_number(name)

    def pick(self, name: str, options: Sequence[T]) -> T:
        """The option that the case has, or the first."""
        if name not in self.known:
            at = next((at for at, option in enumerate(options) if self._has(name, option)), 0)
            if at:
                self.known[name] = (at + 0.5) / len(options)
        return super().pick(name, options)

    def _has(self, name: str, option: object) -> bool:
        if isinstance(option, TypeChoice):
            types = dict(option.types)
            return all(types.get(tensor, each.data_type) == each.data_type for tensor, each in self.case.desc.tensors())
        if name == "in place":
            return option == dict(self.case.in_place)
        if name == "owned":
            return option == self.owned
        if name == "configuration" and isinstance(option, tuple):
            return all(any(self._is(field, value) for value in values) for field, values in option[1].items())
        return self._is(name, option) if name in self.case.desc.fields else str(option) == self.values.get(name)

    def _is(self, field: str, value: object) -> bool:
        """Whether a field has a value that the spec gives: one computed from other fields, or whether a tensor is present."""
        if value in (PRESENT, ABSENT):
            return (self.case.desc.fields[field] is None) == (value == ABSENT)
        if isinstance(value, Expression):
            value = value.evaluate(self.case.desc.fields)
        return has_value(self.case.desc, field, tuple(value) if isinstance(value, list | range) else value)
