"""Faults under two or three conditions, or under three to five rules like those by which a library chooses its kernels, drawn by seed.

They are the same for an operator whatever others there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.faults.interactions.dispatched import of_dispatch
from dmlcts.conformance.faults.interactions.faults import faults_of
from dmlcts.conformance.faults.model.fault import Fault
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.generator.facts.random_conditions import Condition
from dmlcts.generator.facts.situation import Situation
from dmlcts.generator.random.conjunctions import conditions_of, rules_of
from dmlcts.spec.reading.loader import load

PREFIX, RULE_PREFIX = "if-", "rule-"
"""What labels of faults begin with: under raw conditions, and under rules."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fault of a kind (``faults.KINDS``), not planted yet, and conditions. ``label`` is the fault's own."""

    kind: str
    label: str
    fault: Fault
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault of a kind (``faults.KINDS``) under conditions, all of which must hold, as a mutant called ``OPERATOR/if-SEED-NUMBER`` or ``OPERATOR/rule-SEED-NUMBER``."""

    mutant: Mutant
    kind: str
    conditions: tuple[Condition, ...]

    def holds(self, situation: Situation) -> bool:
        """Whether the conditions hold."""
        return all(condition.holds(situation) for condition in self.conditions)


def plant(operator: str, seed: int, number: int, *, by_rules: bool = False) -> Planted:
    """The fault of an operator with that number: under two conditions and under three in turn; ``by_rules`` under three to five rules.

    Raises:
        ValueError: the operator has nothing to make conditions of.
    """
    one = _draw(operator, seed, number, by_rules)

    def where(dispatch: Dispatch) -> bool:
        situation = of_dispatch(dispatch)
        return all(condition.holds(situation) for condition in one.conditions)

    words = " and ".join(condition.words for condition in one.conditions)
    does = f"{one.fault.does} where {words}"
    mutant = Mutant(operator, f"{RULE_PREFIX if by_rules else PREFIX}{seed}-{number}", replace(one.fault, does=does, where=where))
    return Planted(mutant, one.kind, one.conditions)


def _draw(operator: str, seed: int | str, number: int, by_rules: bool = False) -> Drawn:
    random = Random(f"{operator}/{RULE_PREFIX if by_rules else ''}{seed}/{number}")  # noqa: S311 (reproducible, no secret)
    faults = faults_of(load(operator))
    kind = random.choice(list(faults))
    label, fault = random.choice(faults[kind])
    if by_rules:
        return Drawn(kind, label, fault, rules_of(operator, random.randint(3, 5), random))
    return Drawn(kind, label, fault, conditions_of(operator, 2 + (number + len(operator)) % 2, random))


def spread_numbers(operators: Sequence[str], count: int) -> dict[str, range]:
    """The numbers of so many faults, spread evenly over the operators."""
    ends = [at * count // len(operators) for at in range(len(operators) + 1)]
    return {name: range(end - start) for name, start, end in zip(operators, ends, ends[1:], strict=False) if end > start}


def planted_as(operator: str, label: str) -> Planted:
    """The fault with that label. Raises KeyError where it is not one of these."""
    prefix = RULE_PREFIX if label.startswith(RULE_PREFIX) else PREFIX
    seed, _, number = label.removeprefix(prefix).partition("-")
    if not label.startswith(prefix) or not (seed.isdigit() and number.isdigit()):
        raise KeyError(f"{label!r} is not {PREFIX}SEED-NUMBER or {RULE_PREFIX}SEED-NUMBER")
    return plant(operator, int(seed), int(number), by_rules=prefix == RULE_PREFIX)
