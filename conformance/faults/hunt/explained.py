"""Conditional faults without a run: are they explained? Conditions are drawn, and the cases that meet one fail.

A condition is on one to three properties of a case, and drawn over raw values, not over what explanations are made of: a size above a number from
1 to 4,096, a size's remainder by 2 to 64, two sizes compared, a value of a factor, a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np

from dmlcts.conformance.runner.explaining.reasons import next_cases, reasons
from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.facts.explanations import Facts, Flags, facts_of
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Factor, model_of
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.symbols import symbols_of

FEWEST = 3
"""How many cases must meet a condition at least, and how many must not; also without any one of its parts."""

HIDDEN = 30
"""Of so many cases that meet a condition one passes all the same, in a further trial: a fault need not show in every case."""

_LARGEST = 4096
_MOST_DRAWS = 2000
_ROUNDS, _EACH = 3, 8


@dataclass(frozen=True, slots=True)
class PlantedCondition:
    """A condition that was planted, and what was named first.

    ``inside`` cases met it, and so failed. ``right``: what was named holds for these alone, of all cases. ``unsteady``: so does what is named
    if one in ``HIDDEN`` of them passes. ``half``: so does what is named
    if every second case has run, drawn anew; ``asked``: so does what is named then after the cases to run next have run, three times at most.
    """

    operator: str
    planted: tuple[str, ...]
    named: tuple[str, ...]
    inside: int
    right: bool
    unsteady: bool
    half: bool
    asked: bool


@dataclass(frozen=True, slots=True)
class Property:
    """A planted property of a case: in words, and which cases have it."""

    text: str
    holds: Flags
    about: str


class Planter:
    """Draws conditions on an operator's dispatches up to a level."""

    def __init__(self, operator: str, level: str) -> None:
        plan = plan_of(load(operator))
        self.operator = operator
        self.cases: list[Case] = [case for case in operator_cases(operator, level) if case.expect in (REFERENCE, VALUES)]
        self.facts: list[Facts] = [facts_of(case) for case in self.cases]
        self.factors: Sequence[Factor] = model_of(plan).factors
        self.rows = np.array([row_of(model_of(plan), case) for case in self.cases])
        self.sizes: dict[str, np.ndarray] = {}
        for at, case in enumerate(self.cases):
            for name, size in _raw(symbols_of(case.operator, case.desc)):
                self.sizes.setdefault(name, np.full(len(self.cases), np.nan))[at] = size

    def plant(self, parts: int, random: Random) -> list[Property] | None:
        """Properties of which each counts; None if none were found soon."""
        for _ in range(_MOST_DRAWS):
            drawn = [self.draw_property(random) for _ in range(parts)]
            if len({each.about for each in drawn}) < parts:
                continue
            inside = self.cases_with_all(drawn)
            if min(inside.sum(), (~inside).sum()) < FEWEST:
                continue
            if all((self.cases_with_all([each for each in drawn if each is not other]) != inside).any() for other in drawn):
                return drawn
        return None

    def cases_with_all(self, properties: Sequence[Property]) -> Flags:
        """Which cases have all of the properties."""
        found = np.ones(len(self.cases), np.bool_)
        for each in properties:
            found &= each.holds
        return found

    def draw_property(self, random: Random) -> Property:
        """A property of cases, of any kind."""
        kinds: list[Callable[[Random], Property]] = [self._value, self._value]
        if self.sizes:
            kinds += [self._threshold, self._remainder]
        if len(self.sizes) > 1:
            kinds.append(self._comparison)
        return random.choice(kinds)(random)

    def _value(self, random: Random) -> Property:
        at = random.choice([at for at, factor in enumerate(self.factors) if factor.kind != "size"])
        factor = self.factors[at]
        value = random.randrange(len(factor.values))
        if factor.kind == "rank" and random.random() < 0.5:
            ranks = np.array([int(each) for each in factor.values])[self.rows[:, at]]
            limit = int(factor.values[value])
            return Property(f"{factor.name} >= {limit}", (self.rows[:, at] != NONE) & (ranks >= limit), factor.name)
        return Property(f"{factor.name} = {factor.values[value]}", self.rows[:, at] == value, factor.name)

    def _threshold(self, random: Random) -> Property:
        name = random.choice(list(self.sizes))
        limit = round(_LARGEST ** random.random())
        return Property(f"{name} > {limit}", self.sizes[name] > limit, name)

    def _remainder(self, random: Random) -> Property:
        name, divisor = random.choice(list(self.sizes)), random.randint(2, 64)
        rest = random.choice((0, random.randrange(divisor)))
        return Property(f"{name} % {divisor} = {rest}", self.sizes[name] % divisor == rest, name)

    def _comparison(self, random: Random) -> Property:
        one, other = random.sample(list(self.sizes), 2)
        left, right = self.sizes[one], self.sizes[other]
        sign, holds = random.choice(((">", left > right), ("=", left == right), ("<", left < right)))
        return Property(f"{one} {sign} {other}", holds, f"{one} {other}")

    def trial(self, parts: int, random: Random) -> PlantedCondition | None:
        """Plants a condition and explains it; None if none could be planted."""
        planted = self.plant(parts, random)
        if planted is None:
            return None
        true = np.logical_and.reduce([each.holds for each in planted])
        every = np.ones(len(self.cases), np.bool_)
        named, guess, _ = self._first_named(true, every)
        chance = Random(str([each.text for each in planted]))  # noqa: S311 (reproducible, no secret)
        shows = np.array([chance.random() >= 1 / HIDDEN for _ in self.cases])
        _, unsteady, _ = self._first_named(true & shows, every)
        seen = np.array([random.random() < 0.5 for _ in self.cases])
        _, at_half, following = self._first_named(true, seen)
        asked = at_half
        for _ in range(_ROUNDS):
            if not following:
                break
            seen[following] = True
            _, asked, following = self._first_named(true, seen)
        return PlantedCondition(
            self.operator,
            tuple(each.text for each in planted),
            named,
            int(true.sum()),
            bool((guess == true).all()),
            bool((unsteady == true).all()),
            bool((at_half == true).all()),
            bool((asked == true).all()),
        )

    def _first_named(self, true: Flags, seen: Flags) -> tuple[tuple[str, ...], Flags, list[int]]:
        """What is named first if these cases have run: the conditions, the cases that meet them, and the cases to run next."""
        failing, passing = seen & true, seen & ~true
        found = reasons(self.facts, failing, passing, most=1) if failing.any() and passing.any() else []
        if not found:
            return (), np.zeros_like(true), []
        (first,) = found
        return first.conditions, first.meets, next_cases(first, ~seen)[1]


def _raw(symbols: dict[str, object]) -> Iterator[tuple[str, int]]:
    for symbol, size in symbols.items():
        if isinstance(size, int):
            yield symbol, size
        elif isinstance(size, tuple):
            for place, at in (("[0]", 0), ("[1]", 1), ("[-2]", -2), ("[-1]", -1)):
                if -len(size) <= at < len(size):
                    yield f"{symbol}{place}", size[at]


def trials(operators: Sequence[str], count: int, seed: int, level: str = "core") -> Iterator[PlantedCondition]:
    """So many trials, a few each of operators drawn from these, on one, two and three properties in turn."""
    return spread_over(operators, count, seed, level, lambda planter, random, made: planter.trial(1 + made % 3, random))


T = TypeVar("T")


def spread_over(
    operators: Sequence[str], count: int, seed: int, level: str, trial: Callable[[Planter, Random, int], T | None]
) -> Iterator[T]:
    """So many trials, a few each of operators drawn from these; those that could not be made are left out. ``trial`` also gets how many were before it."""
    random = Random(seed)  # noqa: S311 (reproducible, no secret)
    drawn = random.sample(operators, min(len(operators), -(-count // _EACH)))
    made = 0
    for at, name in enumerate(drawn):
        planter = Planter(name, level)
        for _ in range(count * (at + 1) // len(drawn) - count * at // len(drawn)):
            found = trial(planter, random, made)
            made += 1
            if found:
                yield found
