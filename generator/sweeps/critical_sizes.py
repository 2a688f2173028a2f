"""Critical sizes, at which kernels switch code paths, in each dimension alone and in two at once; and each choice of attributes with large sizes.

Data types and attributes take turns. A dimension of which not all of them can have a size has it with the next that can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise, product
from math import inf, prod
from random import Random

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.attributes import Combination, NotGenerable, alike
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.sizes import Sizes as Run
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import (
    Dimension,
    Sizes,
    Way,
    has_sizes,
    size_case,
    sizes_of,
    symbols_with,
    valid_desc,
    works_along,
)
from dmlcts.generator.sweeps.table import CRITICAL_SIZES
from dmlcts.spec.model.case_sizes import Turning
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.rules.shape import FAILURES


def critical_size_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each dimension with each size, two at once, what each size meets because the spec says so, and each dimension with each choice."""
    if is_beyond("full", most):
        return
    maker = _Maker(plan)
    yield from distinct((*maker.single_dimensions(), *maker.two_at_once(), *maker.along_axes(), *maker.with_each_choice()))


class _Maker:
    """Makes one operator's cases, and remembers whose turn it is.

    ``names`` are the dimensions that can be large with the usual dimension count, ``met`` those that are in some case with a choice of attributes.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.model = plan, model_of(plan)
        self.turns, self.random = count(), Random(plan.operator.name)  # noqa: S311 (reproducible, no secret)
        self.met = set[tuple[str, Dimension]]()
        self.names = {at: name for name, at in self.model.dimensions.items()}
        self.names = {at: name for at, name in self.names.items() if self._next_case({at: table.LARGEST_WINDOW}, table.SMALL)}

    def single_dimensions(self) -> Iterator[Case]:
        """Each dimension with each size."""
        for at, size in product(self.names, CRITICAL_SIZES):
            if self._may_be(at, size):
                yield from self._next_case({at: size}, table.SMALL)

    def two_at_once(self) -> Iterator[Case]:
        """Two neighbors, and the first dimension with the last."""
        every = [at for at in self.names if at[0] not in self.model.window_symbols]
        pairs = list(dict.fromkeys([*pairwise(every), (every[0], every[-1])])) if len(every) > 1 else []
        left = table.CRITICAL_CASES - len(every) * len(CRITICAL_SIZES)
        each = max(table.CRITICAL_CASES_OF_TWO, left // max(1, len(pairs)))
        for one, other in pairs:
            for size in self.random.sample(CRITICAL_SIZES, min(each, len(CRITICAL_SIZES))):
                if self._may_be(one, size):
                    room = table.TWO_CRITICAL_CAP // size
                    seconds = [second for second in CRITICAL_SIZES if second <= room and self._may_be(other, second)]
                    drawn = ({one: size, other: second} for second in self.random.sample(seconds, len(seconds)))
                    yield from _first(self._next_case(wanted, table.SMALLER, table.TWO_CRITICAL_CAP) for wanted in drawn)

    def along_axes(self) -> Iterator[Case]:
        """Each size of each axis along which the operator works, with each combination of the attributes that the spec names."""
        turning = self.plan.operator.turning
        if turning is None:
            return
        for combined in product(*(self.plan.values(self.plan.operator.field(name)) for name in turning.each)):
            ways = self._ways(turning, dict(zip(turning.each, combined, strict=True)))
            for at in self.names:
                own = [way for way in ways if self._works_along(way, at)]
                for size in CRITICAL_SIZES if own else ():
                    yield from self._case(own[next(self.turns) % len(own)], {at: size}, table.SMALL)
                if at[1] == -1 and self.model.largest(at[0]) >= table.BEYOND_16_BITS:
                    for way in {choice: (choice, attributes) for choice, attributes in own}.values():  # one of each choice of types
                        yield from self._case(way, {at: table.BEYOND_16_BITS}, table.SMALLER)

    def with_each_choice(self) -> Iterator[Case]:
        """With each choice of attributes, each dimension large, unless some case has that already, and as the only one with more than one element.

        Attributes and sizes that take turns may never meet. A dimension that another one bounds can be large only beside it.
        """
        choices: dict[str, list[Way]] = {}
        for choice in self.plan.representatives:
            for attributes in choice.whole:
                choices.setdefault(_key(attributes), []).append((choice, attributes))
        for (key, ways), at in product(choices.items(), self.names):
            way = self.random.choice(ways)
            if (key, at) not in self.met:
                large = self.random.choice(table.LARGE_WITH_CHOICE)
                wanted = ({at: large}, *({at: large, other: large} for other in self.names if other != at))
                yield from _first(self._case(way, sizes, table.SMALLER, table.TWO_CRITICAL_CAP) for sizes in wanted)
            yield from self._case(way, {at: self.random.choice(table.LINE_WITH_CHOICE)}, table.LINE, suffix=".beside-1")

    def _may_be(self, at: Dimension, size: int) -> bool:
        """Whether a dimension has this size in some case."""
        return size <= (table.LARGEST_WINDOW if at[0] in self.model.window_symbols else self.model.largest(at[0]))

    def _ways(self, turning: Turning, chosen: Mapping[str, object]) -> list[Way]:
        """Choices of data types and attributes with the chosen values, each with every value of the axes; the data types change first."""
        found: dict[str, Way] = {}
        for value in self.plan.values(self.plan.operator.field(turning.axes)):
            for choice in self.plan.representatives:
                for known in choice.attributes:
                    if all(alike(known[name], other) for name, other in chosen.items()):
                        attributes = Combination({**known, turning.axes: value}, known.configuration)
                        found.setdefault(f"{choice.label}/{dict(attributes)}", (choice, attributes))
        return list(found.values())

    def _run(self, choice: TypeChoice, sizes: Sequence[int]) -> Run:
        """These sizes for the usual dimension count, each time beginning with another."""
        first = self.random.randrange(len(sizes))
        return tuple(sizes[(first + index) % len(sizes)] for index in range(choice.usual_count))

    def _works_along(self, way: Way, at: Dimension) -> bool:
        choice, attributes = way
        return works_along(self.plan, choice.desc(self._run(choice, table.SMALL), attributes), at)

    def _next_case(self, wanted: Sizes, others: Run, most: float = inf) -> list[Case]:
        """The case of the next data types and attributes that can have these sizes, if any can."""
        choices = self.plan.representatives
        tries = table.CRITICAL_TRIES if len(wanted) == 1 else table.CRITICAL_TRIES_OF_TWO

        def next_way() -> Way:
            turn = next(self.turns)
            choice = choices[turn % len(choices)]
            return choice, choice.whole[turn // len(choices) % len(choice.whole)]

        return _first(self._case(next_way(), wanted, others, most) for _ in range(tries))

    def _case(self, way: Way, wanted: Sizes, others: Run, most: float = inf, suffix: str = "") -> list[Case]:
        """The case with these sizes, unless it is not valid or its sizes have a larger product than ``most``."""
        desc = self._desc(way, wanted, self._run(way[0], others))
        if desc is None or not has_sizes(self.plan, desc, wanted):
            return []
        found = sizes_of(self.plan, desc)
        if prod(found[at] for at in found.keys() & self.names.keys()) > most:
            return []
        self.met |= {(_key(way[1]), at) for at, size in found.items() if size >= table.LARGE}
        label = ".".join(f"{self.names[at]}={size}" for at, size in wanted.items()) + suffix
        return [size_case(way, desc, label)]

    def _desc(self, way: Way, wanted: Sizes, run: Run) -> OperatorDesc | None:
        """The desc that wants these sizes; None where it has no such dimension."""
        choice, attributes = way
        try:
            known = sizes_of(self.plan, choice.desc(run, attributes))
        except (NotGenerable, *FAILURES):
            return None
        if not wanted.keys() <= known.keys():
            return None
        return valid_desc(self.plan, way, run, symbols_with(self.plan, {**known, **wanted}, [symbol for symbol, _ in wanted]))


def _first(found: Iterable[list[Case]]) -> list[Case]:
    """The first that is not empty."""
    return next(filter(None, found), [])


def _key(attributes: Combination) -> str:
    return f"{attributes.configuration}/{dict(attributes)}"
