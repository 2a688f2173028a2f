"""Several conditions at once, drawn at random, such as faults have and random dispatches are chosen for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice
from random import Random

from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.facts.random_conditions import DATA, KINDS, OF_ONE, Condition, draw_condition
from dmlcts.generator.facts.situation import Situation, Situations, of_case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.random_dispatch import Genes, dispatch_from
from dmlcts.spec.reading.loader import load

_POOL = 300
"""Random descs by which it is judged whether a condition can be true and can be false."""

_SMALL = 1 << 16
"""The most bytes of a desc in this pool whose data are looked at."""

_TRIES = 200


def conditions_of(operator: str, count: int, random: Random) -> tuple[Condition, ...]:
    """So many conditions about different things, each of which is true of some random descs and false of others. Raises ValueError where there are none."""
    found: list[Condition] = []
    for _ in range(_TRIES):
        condition = draw_condition(load(operator), random)
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
    cases = (dispatch_from(model, Genes(random)) for _ in range(10 * _POOL))
    found = list(islice((case for case in cases if case is not None), _POOL))
    small = [case for case in found if sum(tensor.bytes for _, tensor in case.desc.tensors()) <= _SMALL]
    return Situations(list(map(of_case, found))), list(map(of_case, small))
