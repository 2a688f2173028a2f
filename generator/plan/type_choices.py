"""Choices of data types, and what is valid with each: combinations of attributes, dimension counts, descs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod

from dmlcts.generator.plan.attributes import Combination, NotGenerable
from dmlcts.generator.plan.desc_plan import Attributes, DescPlan, Types, first_with_each, nearest
from dmlcts.generator.plan.sizes import Sizes, Symbols
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import OperatorDesc

_FEW = 16
"""Up to this number, cases about something else use all combinations of attributes."""


class TypeChoice:
    """One valid choice of data types, the first level that allows it, its label in ids (``UINT16-UINT32``), and what is valid with it."""

    def __init__(self, plan: DescPlan, types: Types, level: FeatureLevel, label: str) -> None:
        self.plan, self.types, self.level, self.label = plan, types, level, label
        self._descs: dict[tuple[Sizes, int], tuple[Attributes, OperatorDesc]] = {}

    @property
    def main(self) -> str:
        """The data type of the first tensor, by which reports group the case."""
        return self.types[0][1]

    @cached_property
    def formats(self) -> tuple[tuple[int, bool], ...]:
        """For each tensor the width in bits, and whether the type is floating-point: one representative is chosen for each format."""
        return tuple((abi().data_types[name].bits, abi().data_types[name].is_float) for _, name in self.types)

    @cached_property
    def attributes(self) -> tuple[Combination, ...]:
        """The combinations of attributes and optional tensors that tables and constraints allow with these types, the default first.

        Raises:
            NotGenerable: they allow none.
        """
        plan = self.plan
        if plan.only_tied and not plan.by_attribute:
            return plan.combinations
        kept = tuple(
            choice
            for choice in plan.combinations
            if plan.keeps(self.types, choice) and plan.level_of(plan.small(self.types, choice)) is not None
        )
        if not kept:
            raise NotGenerable(f"{plan.operator.name}: the constraints allow no combination of attributes with {self.label}")
        return kept

    @cached_property
    def few(self) -> tuple[Combination, ...]:
        """These combinations; of many, enough to include each value and each configuration."""
        return self.attributes if len(self.attributes) <= _FEW else self.plan.fewest(self.attributes)

    @cached_property
    def whole(self) -> tuple[Combination, ...]:
        """These combinations with every possible tensor present; cases about tensors use them in turn."""
        whole = [self.plan.complete(choice) for choice in self.attributes]
        return tuple(choice for index, choice in enumerate(whole) if choice not in whole[:index])

    @cached_property
    def presences(self) -> tuple[Combination, ...]:
        """As few of the whole combinations as include each tensor; the default first."""
        return first_with_each(self.whole, lambda choice: self.plan.present(choice).values())

    @cached_property
    def dimension_counts(self) -> tuple[int, ...]:
        """The dimension counts of the leading tensor at which some level allows these types.

        A count that a table lists but no shape allows is omitted; ``spec coverage`` shows it as a promise without a case.
        """
        return tuple(count for count in sorted(self.plan.ranks(self.types)[self.plan.leading_tensor]) if self._is_listed(count))

    def _is_listed(self, count: int) -> bool:
        """Whether the shapes allow this dimension count, and a table lists the resulting desc for some combination of attributes."""
        simple = self.plan.independent and not self.plan.by_attribute
        for choice in self.plan.combinations[:1] if simple else self.attributes:
            try:
                desc = self.desc((1,) * count, choice)
            except NotGenerable:
                continue
            if self.plan.level_of(desc) is not None:
                return True
        return False

    @cached_property
    def usual_count(self) -> int:
        """The default dimension count of cases about other things: 4, which every level supports, or the nearest one."""
        return nearest(self.dimension_counts, 4)

    def desc(
        self, run: Sizes, choice: Attributes, symbols: Symbols | None = None, counts: Mapping[str, int] | None = None
    ) -> OperatorDesc:
        """``DescPlan.desc`` with these types; cached for a run and a combination alone. Raises NotGenerable."""
        if symbols or counts:
            return self.plan.desc(self.types, run, choice, symbols, counts=counts)
        key = (run, id(choice))  # the choice is stored with the desc, so that its id stays unique
        if key not in self._descs:
            self._descs[key] = choice, self.plan.desc(self.types, run, choice)
        return self._descs[key][1]

    def usual_desc(self, sizes: Sizes, choice: Attributes) -> OperatorDesc:
        """A desc of the default dimension count with about these sizes. Raises NotGenerable."""
        return self.desc(padded_run(sizes, self.usual_count), choice)


def padded_run(sizes: Sizes, count: int) -> Sizes:
    """``sizes`` with ones in front, or its leading sizes multiplied together, so that it has ``count`` of them."""
    if len(sizes) <= count:
        return (1,) * (count - len(sizes)) + sizes
    lead = len(sizes) - count + 1
    return (prod(sizes[:lead]), *sizes[lead:])
