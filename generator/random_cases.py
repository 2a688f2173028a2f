"""Random valid dispatches, the same in every run: sizes, strides and offsets beyond the values that covering arrays combine.

An array has every three of its own values; a fault may turn on others, as on a remainder of a size by 52 or on an offset beyond 1,000. Of
such a fault, rows that differ in everything tell more than rows that differ in one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from dmlcts.generator.arrays import STRENGTHS, CoveringArray
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.cheapest import Has, fewest
from dmlcts.generator.combinations import array_of, space_of
from dmlcts.generator.coverage import at_its_level
from dmlcts.generator.covering import Tuples
from dmlcts.generator.drawn_sizes import is_bounded
from dmlcts.generator.factors import model_of, symbols_of
from dmlcts.generator.measures import row_of
from dmlcts.generator.numbered import case_of, genes_of
from dmlcts.generator.plan import Plan

KIND = "random"

COUNT, _TRIES = 1000, 6
"""How many an operator has, and how many numbers are tried for each: not every number gives a case."""

_WORK = (1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 13, 1 << 16)
"""The product of the free sizes that a case keeps to, one of these: most are small, so that there can be many."""


def random_cases(plan: Plan, most: str) -> Iterator[Case]:
    """The operator's first so many random dispatches, of level full but for those that the array names."""
    core = array_of(plan, most).random
    if not beyond("full", most):
        for number, case in _every(plan):
            yield replace(case, level="core") if number in core else case
    elif not beyond("core", most):
        yield from (replace(case, level="core") for _, case in _of(plan, core))


def _every(plan: Plan) -> Iterator[tuple[int, Case]]:
    return islice(_of(plan, range(_TRIES * COUNT)), COUNT)


def _of(plan: Plan, numbers: Iterable[int]) -> Iterator[tuple[int, Case]]:
    """Those of these numbers that give a case."""
    model, name = model_of(plan), plan.operator.name
    for number in numbers:
        case = case_of(model, genes_of(name, KIND, number), f"{KIND}-{number}", _WORK)
        if case is not None:
            yield number, replace(case, kind=KIND)


def with_random(plan: Plan, array: CoveringArray) -> CoveringArray:
    """The array beside the random dispatches: without the rows of level full that bring hardly a three which these do not have, and with the
    numbers of those that have pairs which no row has, as the search for rows misses some that can be.
    """
    model, space = model_of(plan), space_of(plan)
    cases = list(_every(plan))
    if "full" in array.ends:
        rows = [Has(space.became(row), frozenset(at_its_level(space.case(row)))) for row in array.rows]
        others = [Has(row_of(model, case), frozenset(at_its_level(case))) for _, case in cases]
        array = fewest(space, array, rows, list(map(space.cost, array.rows)), others)
    pairs = Tuples(space.counts, min(STRENGTHS["core"], len(space.counts)), space.weak)
    covered = pairs.flags(map(space.became, array.rows[: array.ends["core"]]))
    found = []
    for number, case in cases:
        if is_bounded(model, symbols_of(plan.operator, case.desc)):
            places = pairs.of(np.array(row_of(model, case)))
            if not covered[places].all():
                covered[places] = True
                found.append(number)
    return replace(array, random=tuple(found))
