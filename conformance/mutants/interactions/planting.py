"""Faults under two or three conditions, drawn by seed: the same for an operator whatever others there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from random import Random

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.mutants.fault import Fault
from dmlcts.conformance.mutants.interactions.conditions import DATA, KINDS, OF_ONE, Condition, drawn
from dmlcts.conformance.mutants.interactions.faults import faults_of
from dmlcts.conformance.mutants.interactions.situation import Situation, Situations, of_case, of_dispatch
from dmlcts.conformance.mutants.mutant import Mutant
from dmlcts.generator.drawn import Genes, decoded
from dmlcts.generator.factors import model_of
from dmlcts.generator.plan import plan_of
from dmlcts.spec.loader import load

PREFIX = "if-"

_POOL = 300
"""Random descs by which it is judged whether a condition can be true and can be false."""

_SMALL = 1 << 16
"""The most bytes of a desc in this pool whose data are looked at."""

_TRIES = 200


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fault of a kind (``faults.KINDS``), not planted yet, and conditions. ``label`` is the fault's own."""

    kind: str
    label: str
    fault: Fault
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """A fault of a kind (``faults.KINDS``) under conditions, all of which must hold, as a mutant called ``OPERATOR/if-SEED-NUMBER``."""

    mutant: Mutant
    kind: str
    conditions: tuple[Condition, ...]

    def holds(self, situation: Situation) -> bool:
        """Whether the conditions hold."""
        return all(condition.holds(situation) for condition in self.conditions)


def planted(operator: str, seed: int, number: int) -> Planted:
    """The fault of an operator with that number: under two conditions and under three in turn.

    Raises:
        ValueError: the operator has nothing to make conditions of.
    """
    one = _drawn(operator, seed, number)

    def where(dispatch: Dispatch) -> bool:
        situation = of_dispatch(dispatch)
        return all(condition.holds(situation) for condition in one.conditions)

    words = " and ".join(condition.words for condition in one.conditions)
    does = f"{one.fault.does} where {words}"
    mutant = Mutant(operator, f"{PREFIX}{seed}-{number}", replace(one.fault, does=does, where=where))
    return Planted(mutant, one.kind, one.conditions)


def drawn_faults(operator: str, seed: str, count: int) -> Iterator[Drawn]:
    """So many faults with their conditions. Raises ValueError where the operator has nothing to make conditions of."""
    return (_drawn(operator, seed, number) for number in range(count))


def _drawn(operator: str, seed: int | str, number: int) -> Drawn:
    random = Random(f"{operator}/{seed}/{number}")  # noqa: S311 (reproducible, no secret)
    faults = faults_of(load(operator))
    kind = random.choice(list(faults))
    label, fault = random.choice(faults[kind])
    return Drawn(kind, label, fault, _conditions(operator, 2 + (number + len(operator)) % 2, random))


def spread(operators: Sequence[str], count: int) -> dict[str, range]:
    """The numbers of so many faults, spread evenly over the operators."""
    ends = [at * count // len(operators) for at in range(len(operators) + 1)]
    return {name: range(end - start) for name, start, end in zip(operators, ends, ends[1:], strict=False) if end > start}


def planted_as(operator: str, label: str) -> Planted:
    """The fault with that label. Raises KeyError where it is not one of these."""
    seed, _, number = label.removeprefix(PREFIX).partition("-")
    if not label.startswith(PREFIX) or not (seed.isdigit() and number.isdigit()):
        raise KeyError(f"{label!r} is not {PREFIX}SEED-NUMBER")
    return planted(operator, int(seed), int(number))


def _conditions(operator: str, count: int, random: Random) -> tuple[Condition, ...]:
    """So many conditions about different things, each of which is true of some random descs and false of others."""
    found: list[Condition] = []
    for _ in range(_TRIES):
        condition = drawn(load(operator), random)
        if condition is not None and condition.about not in {other.about for other in found} and _varies(operator, condition):
            found.append(condition)
            if len(found) == count:
                order = list(KINDS)
                return tuple(sorted(found, key=lambda condition: order.index(condition.kind)))
    raise ValueError(f"{operator}: no {count} conditions that some valid descs meet and others do not")


def _varies(operator: str, condition: Condition) -> bool:
    every, small = _pool(operator)
    if condition.kind in OF_ONE:
        flags = (condition.holds(one) for one in (small if condition.kind == DATA else every.every))
        first = next(flags, False)
        return any(flag != first for flag in flags)
    found = condition.holds(every)
    return bool(found.any() and not found.all())


@cache
def _pool(operator: str) -> tuple[Situations, Sequence[Situation]]:
    """Random valid descs, and those whose data are small enough to be looked at."""
    model, random = model_of(plan_of(load(operator))), Random(operator)  # noqa: S311 (reproducible, no secret)
    cases = (decoded(model, Genes(random)) for _ in range(10 * _POOL))
    found = list(islice((case for case in cases if case is not None), _POOL))
    small = [case for case in found if sum(tensor.bytes for _, tensor in case.desc.tensors()) <= _SMALL]
    return Situations(list(map(of_case, found))), list(map(of_case, small))
