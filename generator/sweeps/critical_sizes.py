"""Sizes on which kernels turn: one less than a power of two, the power, one more, and halfway to the next, in each dimension alone and in two at once.

A kernel takes so many elements, rows or channels at a time, and treats the rest apart. Which dimension it cuts, and into parts of which size,
nobody outside knows: so every dimension that may be large has every one of these sizes, while the others are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise, product
from math import inf, prod
from random import Random

from dmlcts.generator.case.build import build, distinct
from dmlcts.generator.case.case import Case, beyond
from dmlcts.generator.facts.factors import model_of, symbols_of
from dmlcts.generator.plan.attributes import Combination, NotGenerable, alike
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.sizes import Sizes
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.case_sizes import Turning
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES

EDGES = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
BETWEEN = (48, 96, 192, 384, 768)
"""Whole vectors of 16, as rows in networks have them, and no power of two, as threads that join their results in pairs would want."""

SIZES = (*dict.fromkeys(size for edge in EDGES for size in (edge - 1, edge, edge + 1) if size), *BETWEEN)
"""The sizes on which kernels turn."""

MOST_WORK = 1 << 17
"""The product of all sizes that a case with two large ones keeps to."""

_FAR = 65_537
"""More than a counter of 16 bits holds, and more than FLOAT16: a count of what is reduced goes wrong there."""

_ABOUT, _FEWEST = 200, 10
"""How many cases an operator should have, and how many any two dimensions have at least."""

_SMALL, _SMALLER = (5, 1, 3, 2), (1, 2)
"""What the other dimensions have in turn: beside one large dimension, and beside two."""

_MOST_GROWING = 65
"""The most that a dimension has with which others grow, such as a window: no output is smaller than what it reaches."""

_LARGE, _FEWEST_LARGE = (33, 17, 65, 31), 17
"""What a dimension has that meets a choice of attributes for the first time, one of these, and the least that counts as such."""

_LINE = (5, 2, 33, 3)
"""What the only dimension with more than one element has, one of these."""

_TRIES, _TRIES_OF_TWO = 24, 3
"""How many choices of data types and attributes are tried for sizes that not all of them can have; with two large ones, others are tried."""

Dimension = tuple[str, int]
"""A symbol of the shapes and, of one that stands for several sizes, the place from the end, else 0."""

Way = tuple[TypeChoice, Combination]


def turning_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each dimension with each size, two at once, what each size meets because the spec says so, and each dimension with each choice."""
    if beyond("full", most):
        return
    maker = _Maker(plan)
    yield from distinct((*maker.alone(), *maker.two_at_once(), *maker.along_axes(), *maker.with_each_choice()))


class _Maker:
    """Makes one operator's cases. Data types and attributes take turns.

    ``names`` are the dimensions that can be large with the usual dimension count, ``met`` those that are in some case with a choice of attributes.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan, self.operator, self.model = plan, plan.operator, model_of(plan)
        self.turns, self.random = count(), Random(plan.operator.name)  # noqa: S311 (reproducible, no secret)
        self.met = set[tuple[str, Dimension]]()
        self.names = {at: name for name, at in self.model.dimensions.items()}
        self.names = {at: name for at, name in self.names.items() if any(self._turn({at: _MOST_GROWING}, _SMALL))}

    def alone(self) -> Iterator[Case]:
        """Each dimension with each size."""
        for at, size in product(self.names, SIZES):
            if self._may_be(at, size):
                yield from self._turn({at: size}, _SMALL)

    def two_at_once(self) -> Iterator[Case]:
        """Two neighbors, and the first dimension with the last."""
        every = [at for at in self.names if at[0] not in self.model.growing]
        pairs = list(dict.fromkeys([*pairwise(every), (every[0], every[-1])])) if len(every) > 1 else []
        each = max(_FEWEST, (_ABOUT - len(every) * len(SIZES)) // max(1, len(pairs)))
        for one, other in pairs:
            for size in self.random.sample(SIZES, min(each, len(SIZES))):
                if not self._may_be(one, size):
                    continue
                seconds = [second for second in SIZES if size * second <= MOST_WORK and self._may_be(other, second)]
                drawn = ({one: size, other: second} for second in self.random.sample(seconds, len(seconds)))
                yield from next(filter(None, (list(self._turn(wanted, _SMALLER, MOST_WORK)) for wanted in drawn)), ())

    def along_axes(self) -> Iterator[Case]:
        """Each size of each axis along which the operator works, with each combination of the attributes that the spec names."""
        turning = self.operator.turning
        if turning is None:
            return
        for combined in product(*(self.plan.values(self.operator.field(name)) for name in turning.each)):
            ways = self._ways(turning, dict(zip(turning.each, combined, strict=True)))
            for at in self.names:
                own = [way for way in ways if self._works_along(way, at)]
                for size in SIZES if own else ():
                    way = own[next(self.turns) % len(own)]
                    yield from self._made(way, {at: size}, _SMALL)
                if at[1] == -1 and self.model.largest(at[0]) >= _FAR:
                    for way in {choice: (choice, attributes) for choice, attributes in own}.values():  # one of each choice of types
                        yield from self._made(way, {at: _FAR}, _SMALLER)

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
                large = self.random.choice(_LARGE)
                wanted = ({at: large}, *({at: large, other: large} for other in self.names if other != at))
                yield from next(filter(None, (list(self._made(way, sizes, _SMALLER, MOST_WORK)) for sizes in wanted)), ())
            yield from self._made(way, {at: self.random.choice(_LINE)}, (1,), suffix=".beside-1")

    def _may_be(self, at: Dimension, size: int) -> bool:
        """Whether a dimension has this size in some case."""
        return size <= (_MOST_GROWING if at[0] in self.model.growing else self.model.largest(at[0]))

    def _ways(self, turning: Turning, chosen: Mapping[str, object]) -> list[Way]:
        """Choices of data types and attributes with the chosen values, each with every value of the axes; the data types change first."""
        found: dict[str, Way] = {}
        for value in self.plan.values(self.operator.field(turning.axes)):
            for choice in self.plan.representatives:
                for known in choice.attributes:
                    if all(alike(known[name], other) for name, other in chosen.items()):
                        attributes = Combination({**known, turning.axes: value}, known.configuration)
                        found.setdefault(f"{choice.label}/{dict(attributes)}", (choice, attributes))
        return list(found.values())

    def _run(self, choice: TypeChoice, sizes: Sequence[int]) -> Sizes:
        """These sizes for the usual dimension count, each time beginning with another."""
        first = self.random.randrange(len(sizes))
        return tuple(sizes[(first + index) % len(sizes)] for index in range(choice.usual_count))

    def _works_along(self, way: Way, at: Dimension) -> bool:
        choice, attributes = way
        return works_along(self.plan, choice.desc(self._run(choice, _SMALL), attributes), at)

    def _turn(self, wanted: Mapping[Dimension, int], others: Sizes, most: float = inf) -> Iterator[Case]:
        """The case of the next data types and attributes that can have these sizes, if any can."""
        choices = self.plan.representatives
        for turn in (next(self.turns) for _ in range(_TRIES if len(wanted) == 1 else _TRIES_OF_TWO)):
            choice = choices[turn % len(choices)]
            found = list(self._made((choice, choice.whole[turn // len(choices) % len(choice.whole)]), wanted, others, most))
            if found:
                yield from found
                return

    def _made(
        self, way: Way, wanted: Mapping[Dimension, int], others: Sizes, most: float = inf, suffix: str = ""
    ) -> Iterator[Case]:
        """The case with these sizes, unless it is not valid or its sizes have a larger product than ``most``."""
        choice, attributes = way
        try:
            desc = self._desc(way, wanted, self._run(choice, others))
        except (NotGenerable, *FAILURES):
            return
        found = sizes_of(self.plan, desc) if desc else {}
        if (
            desc is None
            or any(found.get(at) != size for at, size in wanted.items())
            or prod(found[at] for at in found.keys() & self.names.keys()) > most
        ):
            return
        if self.plan.level_of(desc) is not None and not violations(self.operator, desc):
            self.met |= {(_key(attributes), at) for at, size in found.items() if size >= _FEWEST_LARGE}
            label = ".".join(f"{self.names[at]}={size}" for at, size in wanted.items()) + suffix
            yield build("sizes", ("sizes", label), desc, choice, level="full", covers=[f"sizes/{label}"])

    def _desc(self, way: Way, wanted: Mapping[Dimension, int], run: Sizes) -> OperatorDesc | None:
        """The desc that wants these sizes; None where it has no such dimension."""
        choice, attributes = way
        usual = choice.desc(run, attributes)
        known = sizes_of(self.plan, usual)
        if not wanted.keys() <= known.keys():
            return None
        known |= wanted
        symbols = {}
        for symbol, _ in wanted:
            row = tuple(size for (name, _), size in known.items() if name == symbol)
            symbols[symbol] = row if self.model.symbols[symbol] else row[0]
        return choice.desc(run, attributes, symbols)


def _key(attributes: Combination) -> str:
    return f"{attributes.configuration}/{dict(attributes)}"


def works_along(plan: Plan, desc: OperatorDesc, at: Dimension) -> bool:
    """Whether the axes are, or the axis is, this dimension of the first tensor; False of an operator without ``turning``."""
    if plan.operator.turning is None:
        return False
    value = desc.fields[plan.operator.turning.axes]
    return desc.tensor(plan.leading).DimensionCount + at[1] in (value if isinstance(value, tuple) else (value,))


def sizes_of(plan: Plan, desc: OperatorDesc) -> dict[Dimension, int]:
    """The size of each dimension of a desc that may be large."""
    model, found = model_of(plan), dict[Dimension, int]()
    for symbol, value in symbols_of(plan.operator, desc).items():
        if symbol in model.free:
            row = value if isinstance(value, tuple) else (value,)
            found |= {(symbol, index - len(row) if model.symbols[symbol] else 0): size for index, size in enumerate(row)}
    return found
