"""Random valid dispatches, the same in every run: sizes, strides and offsets beyond the values that covering arrays combine.

An array has every three of its own values; a fault may turn on others, as on a remainder of a size by 52 or on an offset beyond 1,000. Of
such a fault, rows that differ in everything tell more than rows that differ in one thing. Of many numbers that give a valid dispatch, those stored
beside the array (generator/arrays) were chosen: they meet the most conditions together (conformance/mutants/interactions/choosing). A choice of
those that differ most in raw properties was tried: it found no more faults than the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice

import numpy as np

from dmlcts.generator.arrays import WITH_DEAR, CoveringArray, stored
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.cheapest import Has, fewest
from dmlcts.generator.combinations import CASE, Combinations, array_of, digest, space_of
from dmlcts.generator.coverage import at_its_level, of_fields, promised
from dmlcts.generator.drawn import SizeRule
from dmlcts.generator.drawn_sizes import is_bounded
from dmlcts.generator.factors import model_of, symbols_of
from dmlcts.generator.measures import row_of
from dmlcts.generator.numbered import EDGES, case_of, genes_of
from dmlcts.generator.plan import Plan, plan_of
from dmlcts.generator.tuples import Row, Tuples
from dmlcts.spec.loader import load

KIND = "random"

COUNT = 1800
"""How many an operator has at level full at the most; all that are stored, and where its array is not, the first. Of recurrent operators fewer are
stored than are chosen: the best 600 or 900, as a dispatch of many steps takes the reference 20 times as long as others."""

_BUDGET = 4800 * CASE
"""What those that are chosen cost together at the most, as a number of elements."""

_TRIES = 24_000
"""Among how many numbers they are chosen: not every number gives a case."""

_PAIRS = 60_000
"""Among how many numbers a pair is looked for that no row has: some come up once in tens of thousands."""

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
    if not beyond("core", most):
        yield from (replace(case, level="core") for _, case in _of(plan, array.random[: array.random_core], are_known=True))
    if not beyond("full", most):
        rest = array.random[array.random_core :]
        late = _of(plan, rest, are_known=True) if array.random else islice(_of(plan, count()), COUNT)
        yield from (case for _, case in late)


def find_random(case_id: str) -> Case | None:
    """The random dispatch with this id, made alone; None where it is no id of one, or the operator has no stored array with that number."""
    label = _LABEL.search(case_id)
    if label is None:
        return None
    plan = plan_of(load(case_id.partition("/")[0]))
    array, number = stored(plan.operator.name, digest(model_of(plan))), int(label[1])
    if array is None or number not in array.random:
        return None
    level = "core" if number in array.random[: array.random_core] else "full"
    return next((replace(case, level=level) for _, case in _of(plan, (number,), are_known=True) if case.id == case_id), None)


def _of(plan: Plan, numbers: Iterable[int], are_known: bool = False) -> Iterator[tuple[int, Case]]:
    """Those of these numbers that give a case. Of those that a stored array has this is known: it was asked when they were chosen, and a
    run of the reference, which refuses what breaks a rule, would show it if it were no longer so.
    """
    model, name = model_of(plan), plan.operator.name
    for number in numbers:
        case = case_of(model, genes_of(name, KIND, number), f"{KIND}-{number}", _RULES[number % len(_RULES)], are_known)
        if case is not None:
            yield number, replace(case, kind=KIND)


@dataclass(frozen=True, slots=True)
class Room:
    """How many cases are kept at the most, and what they cost together."""

    count: int
    cost: int


Choose = Callable[[Sequence[Case], Sequence[int], Sequence[Case], Room], list[int]]
"""Cases, what each costs, an operator's other cases, and the room for them -> the indices of the cases to keep, the best first."""


def with_random(plan: Plan, array: CoveringArray, choose: Choose) -> CoveringArray:
    """The array beside random dispatches: those that have pairs which no row has, as the search for rows misses some that can be, at level
    full also pairs with dear values; and others as ``choose`` says. Of the rows of level full, such as bring hardly a three which these do not
    have are left out.
    """
    space = space_of(plan)
    rows = [space.case(row) for row in array.rows]
    every = dict(_of(plan, range(max(_TRIES, _PAIRS))))
    core, full = _with_new_pairs(space, array, {number: case for number, case in every.items() if number < _PAIRS})
    early = {number: every[number] for number in (*core, *full)}
    cases = {number: case for number, case in every.items() if number < _TRIES and number not in early}
    costs = [_cost(space, case) for case in cases.values()]
    kept = choose(list(cases.values()), costs, [*rows, *early.values()], Room(COUNT - len(early), _BUDGET))
    numbers = list(cases)
    found = (*core, *full, *(numbers[at] for at in kept))
    if "full" in array.ends:
        has = partial(_has, promised(plan.operator))
        others = [has(row_of(space.model, case), case) for case in map(every.__getitem__, found)]
        array = fewest(
            space,
            array,
            [has(space.became(row), case) for row, case in zip(array.rows, rows, strict=True)],
            list(map(space.cost, array.rows)),
            others,
        )
    return replace(array, random=found, random_core=len(core))


def _with_new_pairs(space: Combinations, array: CoveringArray, cases: Mapping[int, Case]) -> tuple[list[int], list[int]]:
    """The numbers of the cases that have pairs which no row has: those that level core wants, and those with dear values."""
    kinds = [Tuples.among(space, 2, with_dear) for with_dear in (False, True)]
    missing = [
        ~tuples.flags(map(space.became, array.rows[: array.ends.get(level, 0)]))
        for tuples, level in zip(kinds, ("core", WITH_DEAR), strict=True)
    ]
    core, full = list[int](), list[int]()
    for number, case in cases.items():
        if not is_bounded(space.model, symbols_of(case.operator, case.desc)):
            continue
        places = [tuples.of(np.array(row_of(space.model, case))) for tuples in kinds]
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


def _has(wanted: Set[str], row: Row, case: Case) -> Has:
    labels = set(at_its_level(case))
    return Has(row, frozenset(wanted & (labels | set(map(of_fields, labels)))))
