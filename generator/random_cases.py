"""Random valid dispatches, the same in every run: sizes, strides and offsets beyond the values that covering arrays combine.

An array has every three of its own values; a fault may turn on others, as on a remainder of a size by 52 or on an offset beyond 1,000. Of
such a fault, rows that differ in everything tell more than rows that differ in one thing. The numbers that give a valid dispatch are stored
beside the array (generator/arrays). A choice of those that differ most in raw properties was tried: it found no more faults than the first ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from dmlcts.generator.arrays import WITH_DEAR, CoveringArray, stored
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.cheapest import Has, fewest
from dmlcts.generator.combinations import array_of, digest, space_of
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

COUNT = 1200
"""How many an operator has at level full by each rule for sizes."""

_TRIES = 20_000
"""How many numbers are tried by each rule: not every number gives a case, and some give a pair that no other has."""

_WORK = (1 << 12, 1 << 13, 1 << 14)
"""The product of the free sizes that a case keeps to, one of these: so many elements cost less than all else of a case does."""

_NUMBERS = {
    range(_TRIES): SizeRule(EDGES, _WORK),
    range(_TRIES, 2 * _TRIES): SizeRule(EDGES, _WORK, evenly=0.3),
}
"""Which numbers have which rule. By the first alone, few dispatches have a size of some thousands."""

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
        late = _of(plan, rest, are_known=True) if array.random else chain(*(islice(_of(plan, each), COUNT) for each in _NUMBERS))
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
        case = case_of(model, genes_of(name, KIND, number), f"{KIND}-{number}", _rule(number), are_known)
        if case is not None:
            yield number, replace(case, kind=KIND)


def _rule(number: int) -> SizeRule:
    return next(rule for numbers, rule in _NUMBERS.items() if number in numbers)


def with_random(plan: Plan, array: CoveringArray) -> CoveringArray:
    """The array beside random dispatches: those that have pairs which no row has, as the search for rows misses some that can be, at level
    full also pairs with dear values, and the first others. Of the rows of level full, such as bring hardly a three which these do not have are left out.
    """
    model, space = model_of(plan), space_of(plan)
    kinds = [Tuples.among(space, 2, with_dear) for with_dear in (False, True)]
    missing = [
        ~tuples.flags(map(space.became, array.rows[: array.ends.get(level, 0)]))
        for tuples, level in zip(kinds, ("core", WITH_DEAR), strict=True)
    ]
    core, full = dict[int, Has](), dict[int, Has]()
    others: dict[range, dict[int, Has]] = {numbers: {} for numbers in _NUMBERS}
    wanted = promised(plan.operator)

    def has(row: Row, case: Case) -> Has:
        labels = set(at_its_level(case))
        return Has(row, frozenset(wanted & (labels | set(map(of_fields, labels)))))

    for numbers, own in others.items():
        for number, case in _of(plan, numbers):
            row = row_of(model, case)
            places = [tuples.of(np.array(row)) for tuples in kinds]
            brings = [bool(open_[at].any()) for open_, at in zip(missing, places, strict=True)]
            if any(brings) and is_bounded(model, symbols_of(plan.operator, case.desc)):
                (core if brings[0] else full)[number] = has(row, case)
                for open_, at in zip(missing, places, strict=True):
                    open_[at] = False
            elif len(own) < COUNT:
                own[number] = has(row, case)
    early, late = others.values()
    room = max(COUNT - len(core) - len(full), 0)
    found = core | dict(sorted([*full.items(), *islice(early.items(), room), *late.items()]))
    if "full" in array.ends:
        rows = [has(space.became(row), space.case(row)) for row in array.rows]
        array = fewest(space, array, rows, list(map(space.cost, array.rows)), list(found.values()))
    return replace(array, random=tuple(found), random_core=len(core))
