"""Which random dispatches are stored beside an operator's covering array: they have pairs that no row has, or meet many conditions together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

import numpy as np

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.checks.promises import at_its_level, of_fields, promised_labels
from dmlcts.generator.covering.choose_rows import Coverage, drop_redundant
from dmlcts.generator.covering.sizes import is_bounded
from dmlcts.generator.covering.space import CASE, Combinations, space_of
from dmlcts.generator.covering.stored import WITH_COSTLY, CoveringArray
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.tuples import Row, Tuples
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.random.cases import COUNT, cases_by_number
from dmlcts.generator.random.most_conditions import Budget, choose_dispatches
from dmlcts.spec.rules.symbols import symbols_of

_BUDGET = 4800 * CASE
"""What those that are chosen cost together at the most, as a number of elements."""

_TRIES = 24_000
"""Among how many numbers they are chosen: not every number gives a case."""

_GROWS_BY = 10
"""Beside those of an earlier edition a tenth as many are chosen as at first."""

_PAIRS = 60_000
"""Among how many numbers a pair is looked for that no row has: some come up once in tens of thousands."""

Choose = Callable[[Sequence[Case], Sequence[int], Sequence[Case], Budget], list[int]]
"""Cases, what each costs, an operator's other cases, and the budget -> the indices of the cases to keep, the best first."""


def with_random(plan: Plan, array: CoveringArray, choose: Choose = choose_dispatches, older: Sequence[Case] = ()) -> CoveringArray:
    """The array beside random dispatches: those that have pairs which no row has, as the search for rows misses some that can be, at level
    full also pairs with costly values; and others as ``choose`` says. Of the rows of level full, such as bring hardly a triple which these do not
    have are left out. Beside ``older`` cases, of earlier editions, few are added, each with a value that none of those has.
    """
    space = space_of(plan)
    has = partial(_has, promised_labels(plan.operator))
    rows = [space.case(row) for row in array.rows]
    others = [has(row_of(space.model, case), case) for case in older]
    every = dict(cases_by_number(plan, range(max(_TRIES, _PAIRS))))
    core, full = _with_new_pairs(space, array, {number: case for number, case in every.items() if number < _PAIRS}, older)
    early = {number: every[number] for number in (*core, *full)}
    cases = {number: case for number, case in every.items() if number < _TRIES and number not in early}
    count = COUNT
    if older:
        cases, count = dict(_with_new_values(space, cases, others)), len(early) + COUNT // _GROWS_BY
    costs = [_cost(space, case) for case in cases.values()]
    beside = [*rows, *early.values(), *older]
    kept = choose(list(cases.values()), costs, beside, Budget(count - len(early), _BUDGET)) if cases else []
    numbers = list(cases)
    found = (*core, *full, *(numbers[at] for at in kept))
    if "full" in array.ends:
        others += [has(row_of(space.model, case), case) for case in map(every.__getitem__, found)]
        own = [has(space.final_row(row), case) for row, case in zip(array.rows, rows, strict=True)]
        array = drop_redundant(space, array, own, list(map(space.cost, array.rows)), others, is_grown=bool(older))
    return replace(array, random=found, random_core=len(core))


def _with_new_values(space: Combinations, cases: Mapping[int, Case], older: Sequence[Coverage]) -> Iterator[tuple[int, Case]]:
    """The cases with a value of some factor that no older case has."""
    values = Tuples.from_space(space, 1)
    known = values.flags(has.values for has in older)
    for number, case in cases.items():
        if not known[values.places_of(np.array(row_of(space.model, case)))].all():
            yield number, case


def _with_new_pairs(
    space: Combinations, array: CoveringArray, cases: Mapping[int, Case], older: Sequence[Case]
) -> tuple[list[int], list[int]]:
    """The numbers of the cases that have pairs which no row has: those that level core wants, and those with costly values."""
    kinds = [Tuples.from_space(space, 2, with_costly) for with_costly in (False, True)]
    missing = []
    for tuples, level in zip(kinds, ("core", WITH_COSTLY), strict=True):
        known = (row_of(space.model, case) for case in older if not is_beyond(case.level, level))
        missing.append(~tuples.flags((*map(space.final_row, array.rows[: array.ends.get(level, 0)]), *known)))
    core, full = list[int](), list[int]()
    for number, case in cases.items():
        if not is_bounded(space.model, symbols_of(case.operator, case.desc)):
            continue
        places = [tuples.places_of(np.array(row_of(space.model, case))) for tuples in kinds]
        brings = [bool(open_[at].any()) for open_, at in zip(missing, places, strict=True)]
        if any(brings):
            (core if brings[0] else full).append(number)
            for open_, at in zip(missing, places, strict=True):
                open_[at] = False
    return core, full


def _cost(space: Combinations, case: Case) -> int:
    """What a case costs, as a number of elements; of four multiplications as much as of one."""
    return (
        CASE + sum(tensor.count for _, tensor in case.desc.tensors()) + space.model.work(symbols_of(case.operator, case.desc)) // 4
    )


def _has(wanted: Set[str], row: Row, case: Case) -> Coverage:
    labels = set(at_its_level(case))
    return Coverage(row, frozenset(wanted & (labels | set(map(of_fields, labels)))))
