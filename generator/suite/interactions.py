"""How many pairs and triples of factor values occur together in an operator's cases, of those that can.

What can occur together is what does so in some case, or in one of many valid descs drawn at random, which know nothing of covering arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from dmlcts.generator.case.case import AGREEMENT, REFERENCE, VALUES, Case
from dmlcts.generator.covering.sizes import is_bounded
from dmlcts.generator.covering.space import Combinations, space_of
from dmlcts.generator.covering.stored import STRENGTHS, WITH_COSTLY
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.facts.tuples import NONE, Row, Tuples
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import select
from dmlcts.spec.model.operator import MEASURED, Operator
from dmlcts.spec.rules.symbols import symbols_of


@dataclass(frozen=True, slots=True)
class Kind:
    """Tuples of so many values that the cases of a level must have, and the share of them; pairs with costly values count apart."""

    level: str
    strength: int
    least: float = 1.0
    with_costly: bool = False


KINDS = {
    "pairs": Kind("core", STRENGTHS["core"]),
    "long_pairs": Kind(WITH_COSTLY, 2, with_costly=True),
    "triples": Kind("full", STRENGTHS["full"], 0.99),
}
"""What is counted, by its name in reports: costly values are those of the factor ``long``."""

SAMPLES = 100
"""Random descs that are drawn for each operator."""


@dataclass(frozen=True, slots=True)
class Covered:
    """How many tuples can occur together, how many do in some case, and some of those that do not."""

    feasible: int
    covered: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share that is covered; 1 where nothing can be."""
        return self.covered / self.feasible if self.feasible else 1.0


def interactions(operator: Operator, cases: Iterable[Case], samples: int = SAMPLES) -> dict[str, Covered]:
    """The tuples of each kind in cases of its level. ``cases`` are all that the operator has.

    What can occur together is what does in some case, or in a desc drawn at random, that is no larger than a row of an array may be, and of
    which every attribute has one of the values that rows have.
    """
    model, space = model_of(plan_of(operator)), space_of(plan_of(operator))
    cases = [case for case in cases if case.expect in (REFERENCE, VALUES, AGREEMENT)]
    drawn = list(random_rows(space, samples))
    rows, bounded = dict[str, Row](), list[Row]()
    for case in cases:
        symbols = symbols_of(operator, case.desc)
        rows[case.id] = row_of(model, case, symbols)
        if is_bounded(model, symbols) and not _is_beyond(model, rows[case.id]):
            bounded.append(rows[case.id])
    found = {}
    for name, kind in KINDS.items():
        tuples = Tuples.from_space(space, kind.strength, kind.with_costly)
        covered = tuples.flags([rows[case.id] for case in select(cases, level=kind.level, basis=MEASURED)])
        missing = tuples.flags([*bounded, *drawn]) & ~covered
        some = [model.values_text(tuples.tuple_at(int(place))) for place in np.flatnonzero(missing)[:5]]
        found[name] = Covered(int((covered | missing).sum()), int(covered.sum()), tuple(some))
    return found


def _is_beyond(model: Model, row: Row) -> bool:
    """Whether an attribute has none of the values that the spec lists for combinations, as 32 groups of a workload."""
    return any(value == NONE and factor.kind == "attribute" for value, factor in zip(row, model.factors, strict=True))


def random_rows(space: Combinations, count: int) -> Iterator[Row]:
    """The values of valid descs whose factors are drawn independently, the same every time; fewer where few descs are valid."""
    random = Random(space.operator.name)  # noqa: S311 (reproducible, no secret)
    for _ in range(10 * count):
        if not count:
            return
        wanted = tuple(random.randrange(values) for values in space.counts)
        skeleton = space.skeleton(wanted)
        if skeleton is None:
            continue
        row = list(skeleton.row)
        for f in random.sample(range(space.structural, len(row)), len(row) - space.structural):
            allowed = space.allowed_values(skeleton, row, f)
            row[f] = random.choice(allowed) if allowed else NONE
        if space.finish(skeleton, tuple(row)):
            count -= 1
            yield tuple(row)
