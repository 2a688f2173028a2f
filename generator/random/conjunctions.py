"""Several conditions at once, drawn at random, such as faults have and random dispatches are chosen for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from random import Random

from dmlcts.generator.facts.dispatch_rules import draw_rule
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.facts.random_conditions import DATA, KINDS, OF_ONE, Condition, draw_condition
from dmlcts.generator.facts.situation import Situation, Situations, of_case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.random_dispatch import Genes, dispatch_from
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load

_POOL = 300
"""Random descs by which it is judged whether a condition can be true and can be false."""

_SMALL = 1 << 16
"""The most bytes of a desc in this pool whose data are looked at."""

_TRIES = 200


def conditions_of(operator: str, count: int, random: Random) -> tuple[Condition, ...]:
    """So many conditions about different things, each of which is true of some random descs and false of others. Raises ValueError where there are none."""
    found = _draw_conditions(operator, count, random, draw_condition, _varies)
    order = list(KINDS)
    return tuple(sorted(found, key=lambda condition: order.index(condition.kind)))


def rules_of(operator: str, count: int, random: Random) -> tuple[Condition, ...]:
    """So many conditions like a library's own dispatch rules, or as many as the operator has. Raises ValueError where there are none."""
    for fewer in range(count, 0, -1):
        with suppress(ValueError):
            return tuple(_draw_conditions(operator, fewer, random, draw_rule, _rule_varies))
    raise ValueError(f"{operator}: no dispatch rule that some valid descs meet and others do not")


def _draw_conditions(
    operator: str,
    count: int,
    random: Random,
    draw: Callable[[Operator, Random], Condition | None],
    varies: Callable[[str, Condition], bool],
) -> list[Condition]:
    found: list[Condition] = []
    for _ in range(_TRIES):
        condition = draw(load(operator), random)
        if condition is not None and condition.about not in {other.about for other in found} and varies(operator, condition):
            found.append(condition)
            if len(found) == count:
                return found
    raise ValueError(f"{operator}: no {count} conditions that some valid descs meet and others do not")


def _rule_varies(operator: str, condition: Condition) -> bool:
    flags = [condition.holds(one) for one in _pool(operator)[0].every]
    return any(flags) and not all(flags)


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
