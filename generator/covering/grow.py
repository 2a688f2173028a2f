"""Computes covering arrays: from nothing, or the rows that are missing beside those of earlier editions, of which none is given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.covering.choose_rows import choose_rows
from dmlcts.generator.covering.search import Covering
from dmlcts.generator.covering.space import Combinations, space_of
from dmlcts.generator.covering.stored import STRENGTHS, WITH_COSTLY, CoveringArray
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.tuples import Row
from dmlcts.generator.plan.plan import Plan

Older = Mapping[str, Sequence[Row]]
"""By level, the values that earlier cases have."""


def compute_rows(plan: Plan, most: str, array: CoveringArray, older: Older | None = None) -> CoveringArray:
    """The rows of ``array``, which is empty, computed; this takes seconds, and minutes for operators with many tensors."""
    space, older = space_of(plan), older or {}
    known = [row for rows in older.values() for row in rows]
    covering = Covering(space, plan.operator.name, list(known), list(known))
    levels = {level: strength for level, strength in STRENGTHS.items() if not is_beyond(level, most)}
    for level, strength in levels.items():
        for with_costly in (True, False) if level == WITH_COSTLY else (False,):
            covering.cover(2 if with_costly else strength, with_costly)
            if with_costly or strength == STRENGTHS["core"]:  # a pair that was not reached may be on other ways
                covering = Covering(space, f"{plan.operator.name}/again", covering.rows, covering.wanted)
                covering.cover(1)
                covering.cover(2, with_costly)
    rows = rows_by_id(space, covering.wanted[len(known) :])
    every = replace(array, ends=dict.fromkeys(levels, len(rows)), rows=tuple(rows))
    had = [row_of(space.model, case) for case in rows.values()]  # a case may have more than was asked of its row
    return choose_rows(space, every, had, list(map(space.cost, every.rows)), older)


def rows_by_id(space: Combinations, rows: Iterable[Row]) -> dict[Row, Case]:
    """The rows with their cases, without those whose id another has: an id does not say everything of a desc."""
    found: dict[str, tuple[Row, Case]] = {}
    for row in rows:
        case = space.case(row)
        found.setdefault(case.id, (row, case))
    return dict(found.values())
