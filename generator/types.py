"""Choices of data types, and what can stand with one: combinations of attributes, dimension counts, descs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeVar

from dmlcts.generator.attributes import Combination, NotGenerable
from dmlcts.generator.solver import Sizes, Symbols
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import ABSENT

if TYPE_CHECKING:
    from dmlcts.generator.plan import Plan

Types = tuple[tuple[str, str], ...]
"""A data type for each tensor: (("ATensor", "UINT8"), ...), in the struct's order."""

T = TypeVar("T")

Attributes = Mapping[str, object]
"""A combination, or one read back from a desc."""

_FEW = 16
"""As many combinations of attributes as this are all tried in cases that are about something else."""


class TypeChoice:
    """One valid choice of data types, the level that first allows it, how an id names it (``UINT16-UINT32``), and what stands with it."""

    def __init__(self, plan: Plan, types: Types, level: FeatureLevel, label: str) -> None:
        self.plan, self.types, self.level, self.label = plan, types, level, label
        self._descs: dict[tuple[Sizes, int], tuple[Attributes, OperatorDesc]] = {}

    @property
    def main(self) -> str:
        """The data type of the first tensor: what reports sort the case under."""
        return self.types[0][1]

    @cached_property
    def formats(self) -> tuple[tuple[int, bool], ...]:
        """Width in bits, and whether it is a floating type, of each tensor: what one representative is chosen of."""
        return tuple((abi().data_types[name].bits, abi().data_types[name].is_float) for _, name in self.types)

    @cached_property
    def attributes(self) -> tuple[Combination, ...]:
        """The combinations of attributes and optional tensors that tables and constraints let stand with these types, the usual one first.

        Raises:
            NotGenerable: they let none.
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
            raise NotGenerable(f"{plan.operator.name}: the constraints let no attributes stand with {self.label}")
        return kept

    @cached_property
    def few(self) -> tuple[Combination, ...]:
        """Those combinations, or where they are many enough of them that each value and each configuration stands in one."""
        return self.attributes if len(self.attributes) <= _FEW else self.plan.fewest(self.attributes)

    @cached_property
    def whole(self) -> tuple[Combination, ...]:
        """Those combinations with every tensor present that can be: what cases about tensors take turns with."""
        whole = [self.plan.completed(choice) for choice in self.attributes]
        return tuple(choice for index, choice in enumerate(whole) if choice not in whole[:index])

    @cached_property
    def presences(self) -> tuple[Combination, ...]:
        """As few of the whole combinations as let each tensor stand in one; the usual one first."""
        return first_with_each(self.whole, lambda choice: (name for name in self.plan.tensors if choice.get(name) != ABSENT))

    @cached_property
    def dimension_counts(self) -> tuple[int, ...]:
        """The dimension counts of the leading tensor at which some level allows these types.

        One that a table lists and no shape knows is left out; ``spec coverage`` shows it as a promise without a case.
        """
        return tuple(count for count in sorted(self.plan.ranks(self.types)[self.plan.leading]) if self._listed(count))

    def _listed(self, count: int) -> bool:
        """Whether the shapes know this dimension count, and a table lists what some combination of attributes makes of it."""
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
        """The dimension count that cases about other things use: 4, which every level knows, or the nearest that there is."""
        return nearest(self.dimension_counts, 4)

    def desc(
        self, run: Sizes, choice: Attributes, symbols: Symbols | None = None, counts: Mapping[str, int] | None = None
    ) -> OperatorDesc:
        """``Plan.desc`` with these types; one for a run and a combination alone is made once. Raises NotGenerable."""
        if symbols or counts:
            return self.plan.desc(self.types, run, choice, symbols, counts=counts)
        key = (run, id(choice))  # the choice is kept beside the desc, so that its id stays its own
        if key not in self._descs:
            self._descs[key] = choice, self.plan.desc(self.types, run, choice)
        return self._descs[key][1]

    def usual_desc(self, sizes: Sizes, choice: Attributes) -> OperatorDesc:
        """A desc of the usual dimension count that has about these sizes. Raises NotGenerable."""
        return self.desc(padded_run(sizes, self.usual_count), choice)


def nearest(counts: Iterable[int], wanted: int) -> int:
    """The dimension count nearest to the one wanted, the smaller of two; the one wanted where there is none."""
    return min(counts, key=lambda count: (abs(count - wanted), count), default=wanted)


def padded_run(sizes: Sizes, count: int) -> Sizes:
    """``sizes`` with ones in front, or its leading sizes multiplied together, so that it has ``count`` of them."""
    if len(sizes) <= count:
        return (1,) * (count - len(sizes)) + sizes
    lead = len(sizes) - count + 1
    return (prod(sizes[:lead]), *sizes[lead:])


def first_with_each(choices: Iterable[T], parts: Callable[[T], Iterable[object]]) -> tuple[T, ...]:
    """The choices that have a part which none before them has."""
    seen: set[object] = set()
    kept = []
    for choice in choices:
        new = set(parts(choice)) - seen
        if new:
            kept.append(choice)
            seen |= new
    return tuple(kept)
