"""Random valid dispatches, the same in every run: sizes, strides and offsets beyond the values that covering arrays combine.

An array has every three of its own values; a fault may turn on others, as on a remainder of a size by 52 or on an offset beyond 1,000. Of
such a fault, rows that differ in everything tell more than rows that differ in one thing. Of many numbers that give a valid dispatch, those stored
beside the array (generator/covering/stored) were chosen: they meet the most conditions together (generator/random/choose). A choice of
those that differ most in raw properties was tried: it found no more faults than the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count, islice

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.covering.cases import array_of, arrays_of, is_stale
from dmlcts.generator.covering.stored import CoveringArray
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.random.fuzz_cases import EDGES, case_of, genes_of
from dmlcts.generator.random.random_dispatch import SizeRule
from dmlcts.spec.reading.loader import load

KIND = "random"

COUNT = 1800
"""How many an operator has at level full at the most; all that are stored, and where its array is not, the first. Of recurrent operators fewer are
stored than are chosen: the best 600 or 900, as a dispatch of many steps takes the reference 20 times as long as others."""

_RULES = tuple(
    SizeRule(EDGES, (1 << work,), evenly, alike, even_ranks)
    for even_ranks in (False, False, True)
    for alike in (0.0, 0.25)
    for evenly in (0.0, 0.3, 0.6)
    for work in (12, 12, 13, 13, 14, 14, 15, 16, 17, 18)
)
"""How sizes are drawn: a number has one of these rules, so that small cases are there beside such as have several large sizes."""

_LABEL = re.compile(rf"/{KIND}-(\d{{1,10}})(?=/|$)")


def random_cases(plan: Plan, most: str) -> Iterator[Case]:
    """The operator's random dispatches, of level full but for the first, which are of level core; of an array that is not stored, the first
    so many numbers of level full.
    """
    array = array_of(plan, most)
    are_known = is_known(plan, array)
    if not is_beyond("core", most):
        yield from (replace(case, level="core") for _, case in cases_by_number(plan, array.random[: array.random_core], are_known))
    if not is_beyond("full", most):
        late = cases_by_number(plan, array.random[array.random_core :], are_known)
        yield from (case for _, case in (late if arrays_of(plan.operator) else islice(cases_by_number(plan, count()), COUNT)))


def find_random(case_id: str) -> Case | None:
    """The random dispatch with this id, made alone; None where it is no id of one, or the operator's only array has no such number."""
    label = _LABEL.search(case_id)
    if label is None:
        return None
    operator, number = load(case_id.partition("/")[0]), int(label[1])
    if len(arrays_of(operator)) != 1 or is_stale(operator):  # of several editions each may have the number
        return None
    plan = plan_of(operator)
    array = array_of(plan, "full")
    if number not in array.random:
        return None
    level = "core" if number in array.random[: array.random_core] else "full"
    return next(
        (replace(case, level=level) for _, case in cases_by_number(plan, (number,), are_known=True) if case.id == case_id), None
    )


def is_known(plan: Plan, array: CoveringArray) -> bool:
    """Whether the numbers of an array were chosen by today's rules."""
    every = arrays_of(plan.operator)
    return len(every) == 1 and every[0].digest == array.digest


def cases_by_number(plan: Plan, numbers: Iterable[int], are_known: bool = False) -> Iterator[tuple[int, Case]]:
    """Those of these numbers that give a case. Of those that a stored array has this is known: it was asked when they were chosen, and a
    run of the reference, which refuses what breaks a rule, would show it if it were no longer so.
    """
    model, name = model_of(plan), plan.operator.name
    for number in numbers:
        case = case_of(model, genes_of(name, KIND, number), f"{KIND}-{number}", _RULES[number % len(_RULES)], are_known)
        if case is not None:
            yield number, replace(case, kind=KIND)
