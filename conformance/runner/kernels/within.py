"""The structural conditions that the cases of a record have within each kernel: the cases made again, with the code paths that they ran."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dmlcts.conformance.runner.explaining.known import make_again
from dmlcts.generator.case.case import LEVELS, REJECTION
from dmlcts.generator.facts.structure import structural_conditions
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.reports.kernels.within import Within, tables
from dmlcts.reports.record.paths import labels_of
from dmlcts.reports.record.record import Record, Result
from dmlcts.spec.rules.shape import FAILURES


def kernels_within(record: Record, each: Callable[..., Iterable[Any]] = map) -> list[Within]:
    """The tables of all operators of a record, in its order of operators; those of an operator's kernels that lack most come first. ``each`` is ``map``, or that of processes.

    Cases that this version of the suite does not have, such as those from files, are left out; so are rejections, whose desc is invalid, and repetitions and laws, of
    which one case makes several dispatches.
    """
    level = record.manifest.level if record.manifest.level in LEVELS else LEVELS[-1]
    by_operator: dict[str, list[Result]] = {}
    for result in record.results:
        if result.paths:
            by_operator.setdefault(result.operator, []).append(result)
    asked = [(operator, level, results) for operator, results in by_operator.items()]
    return [table for found in each(tables_of, asked) for table in found]


def tables_of(asked: tuple[str, str, Sequence[Result]]) -> list[Within]:
    """The tables of an operator, whose results are of cases up to a level."""
    operator, level, results = asked
    found = []
    for case, result in make_again(operator, results, level):
        if case.expect == REJECTION:
            continue
        try:
            found.append((labels_of(result.paths), structural_conditions(case)))
        except (*FAILURES, KeyError, NotGenerable):  # a client's desc beyond what the spec describes
            continue
    return tables(operator, found)
