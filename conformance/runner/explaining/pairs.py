"""What a backend that does not support some cases leaves of the pairs of values: a thing that it lacks takes with it whatever it was combined with.

Combinations have many unusual things at once. A host without fused activations passes all cases that it runs, and half of the pairs have run in none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dmlcts.conformance.runner.explaining.known import suite_cases
from dmlcts.generator.case.case import REJECTION, SEQUENCE, Case
from dmlcts.generator.covering.space import space_of
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.facts.tuples import NONE, Row, Tuples
from dmlcts.generator.plan.plan import plan_of
from dmlcts.reports.explain.explanation import PAIRS, Explanation
from dmlcts.reports.record.record import NOT_RUN, UNSUPPORTED, Result
from dmlcts.spec.reading.loader import load

LEVEL = "core"
"""The level whose cases have every pair, and are made in little time."""


def pairs_left_out(operator: str, results: Sequence[Result]) -> Iterator[Explanation]:
    """How many pairs of the operator's values at level core ran in no case, since the backend does not support their cases, and which values never ran.

    Nothing where all pairs ran that were selected, or none: of an operator that is not supported at all there is no more to say.
    """
    statuses = {result.case: result.status for result in results if not result.undeclared}  # what is excluded is no news
    cases = [
        case for case in suite_cases(operator, LEVEL).values() if case.expect not in (REJECTION, SEQUENCE) and case.id in statuses
    ]
    ran = [case for case in cases if statuses[case.id] not in (UNSUPPORTED, NOT_RUN)]
    lacking = [case for case in cases if statuses[case.id] == UNSUPPORTED]
    if not ran or not lacking:
        return
    plan = plan_of(load(operator))
    model, tuples = model_of(plan), Tuples.from_space(space_of(plan), 2)
    had, lost = _rows(model, ran), _rows(model, lacking)
    covered = tuples.flags(had)
    every = covered | tuples.flags(lost)
    missing = every & ~covered
    if not missing.any():
        return
    known = set(_values(had))
    never = Counter[tuple[int, int]]()
    others, others_missing = 0, 0
    for place in map(int, np.flatnonzero(every)):
        strange = [value for value in tuples.tuple_at(place) if value not in known]
        never.update(strange)
        others += not strange
        others_missing += not strange and bool(missing[place])
    names = tuple(_name_values(model, [value for value, _ in never.most_common()]))
    counts = int(every.sum()), int(missing.sum()), others, others_missing
    yield Explanation(operator, UNSUPPORTED, PAIRS, names, *counts, len(lacking), len(lacking))


def _rows(model: Model, cases: Iterable[Case]) -> list[Row]:
    return [row_of(model, case) for case in cases]


def _values(rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    return ((factor, value) for row in rows for factor, value in enumerate(row) if value != NONE)


def _name_values(model: Model, values: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The values in words, several of one factor together."""
    by_factor: dict[int, list[tuple[int, int]]] = {}
    for value in values:
        by_factor.setdefault(value[0], []).append(value)
    for same in by_factor.values():
        more = (
            f" and {len(same) - 1} others"
            if len(same) > 2
            else f" or {model.factors[same[1][0]].values[same[1][1]]}"
            if len(same) > 1
            else ""
        )
        yield model.values_text([same[0]]) + more
