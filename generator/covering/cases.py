"""Cases that combine the values of all factors: in smoke each value, in core every pair of values, in full every triple.

A row of a covering array (generator/covering/search) has a value of each factor (generator/facts/factors). It becomes a desc by the spec's rules; what
no desc can have is not feasible. Sizes are drawn within their classes (generator/covering/sizes). Rows are stored (generator/covering/stored), and
grow with the spec: an earlier edition of an operator has its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import accumulate

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import HUGE, Case, is_beyond
from dmlcts.generator.covering.grow import compute_rows
from dmlcts.generator.covering.space import Combinations, space_of
from dmlcts.generator.covering.stored import CoveringArray, read_arrays
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.facts.tuples import NONE, Row
from dmlcts.generator.plan.editions import as_of, is_edition, lists_of
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.promises import NO_PROMISE, plain, promises

_FORM = 7
"""Part of every stored digest. It is not raised by hand: where code makes other cases of the same rows, the pin shows it (generator/suite/pin)."""

_UNFUSED = "core"
"""The level whose rows come without fused operators too."""

_DECIDING = (
    *("fields", "support", "constraints", "shapes", "in_place", "configurations", "layouts"),
    *("largest", "most_elements", "usual_elements"),
)


def combination_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The rows' cases, level by level; a longer array begins with the shorter."""
    space, array = space_of(plan), array_of(plan, most)
    yield from distinct(space.case(row, level) for level, rows in array.levels(most) for row in rows)


def unfused_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The combinations of level core once more without their fused operators.

    A fused operator has a dozen values and makes a kernel of its own, so nearly every row has one: a pair of two other things meets a host without fused
    operators, or the kernel of an unfused dispatch, by chance alone. Here each pair occurs beside none.
    """
    if not is_beyond(_UNFUSED, most):
        yield from distinct(_unfused_cases(plan))


def _unfused_cases(plan: Plan) -> Iterator[Case]:
    space = space_of(plan)
    fused = _fused_factors(space)
    if not fused:
        return
    for _, rows in array_of(plan, _UNFUSED).levels(_UNFUSED):
        for row in rows:
            bare = tuple(fused.get(at, value) for at, value in enumerate(row))
            if bare != row and (valid := _bound_again(space, bare)):
                yield space.case(valid, _UNFUSED)


def _fused_factors(space: Combinations) -> dict[int, int]:
    """The factors that are fused operators, each with its value for none."""
    found = {}
    for at, factor in enumerate(space.model.factors):
        if factor.kind == "attribute" and space.operator.field(factor.of).type == "OPERATOR_DESC":
            values = space.plan.values(space.operator.field(factor.of))
            if None in values:
                found[at] = values.index(None)
    return found


def _bound_again(space: Combinations, row: Row) -> Row | None:
    """The row with usual values of what is bound in place of those that do not fit its sizes, which are drawn anew; None where none is valid."""
    packed = space.skeleton(row)
    if packed is None:
        return None
    found = list(row)
    for at in range(space.structural, len(found)):
        if found[at] != NONE and found[at] not in space.allowed_values(packed, found, at):
            found[at] = space.usual[at]
    return tuple(found) if space.finish(packed, tuple(found)) else None


def arrays_of(operator: Operator) -> tuple[CoveringArray, ...]:
    """The sections that are stored for an operator, the oldest first; none for one that was read from a text, whatever its name."""
    return read_arrays(operator.name) if operator.file is not None else ()


@cache
def editions(operator: Operator) -> tuple[Operator, ...]:
    """The earlier editions of an operator for which rows are stored, the oldest first."""
    every = [array.lists for array in arrays_of(operator)]
    now = lists_of(operator)
    older = [number for number, lists in enumerate(every) if lists != now and lists not in every[:number]]
    older = [number for number in older if is_edition(operator, every[number])]
    return tuple(as_of(operator, every[number], number) for number in older)


@cache
def array_of(plan: Plan, most: str) -> CoveringArray:
    """The operator's covering array as it is stored. Where none is, it is computed up to a level; of rows of another spec, those are taken that
    are valid, with a warning: what is new in the spec is in none of them.
    """
    operator, every = plan.operator, arrays_of(plan.operator)
    if not every:
        print(
            f"dmlcts: no rows of {operator.name} are stored: computed, which may take minutes: {_advice(operator)}", file=sys.stderr
        )
        return compute_rows(plan, most, empty_array(plan))
    if operator.edition is None and is_stale(operator):
        print(
            f"dmlcts: the rows of {operator.name} are stale: what is new in its spec is in none: {_advice(operator)}",
            file=sys.stderr,
        )
    lists = lists_of(operator) if operator.edition is None else every[operator.edition].lists
    return _join_arrays(plan, [array for array in every if array.lists == lists])


def row_values(operator: Operator) -> Iterator[dict[str, str]]:
    """What the rows of an operator want, of all editions: a value of each factor by name."""
    for plan in map(plan_of, (*editions(operator), operator)):
        yield from map(model_of(plan).values_of, array_of(plan, "core").rows)


def _advice(operator: Operator) -> str:
    return f"`dmlcts spec arrays {operator.name}`"


@cache
def is_stale(operator: Operator) -> bool:
    """Whether no rows are stored for an operator's spec as it is."""
    every = arrays_of(operator)
    return not every or every[-1].lists != lists_of(operator) or every[-1].digest != digest(model_of(plan_of(operator)))


def empty_array(plan: Plan) -> CoveringArray:
    """An empty array that says what it is of."""
    model = model_of(plan)
    factors = {factor.name: list(factor.values) for factor in model.factors}
    return CoveringArray(digest(model), {}, {}, (), lists=lists_of(plan.operator), factors=factors)


def _join_arrays(plan: Plan, arrays: Sequence[CoveringArray]) -> CoveringArray:
    """The rows of several sections that were computed for the same values, those of a level together. Rows and numbers of other rules than today's
    are checked.
    """
    now = digest(model_of(plan))
    if len(arrays) == 1 and arrays[0].digest == now:
        return arrays[0]
    rows = {level: list[Row]() for array in arrays for level in array.ends}
    random = [list[int](), list[int]()]
    for array in arrays:
        for level, own in array.levels(HUGE):
            rows[level] += own if array.digest == now else _still_valid(space_of(plan), array, own)
        for numbers, found in zip(random, (array.random[: array.random_core], array.random[array.random_core :]), strict=True):
            numbers += found
    every = tuple(row for own in rows.values() for row in own)
    ends = dict(zip(rows, accumulate(map(len, rows.values())), strict=True))
    feasible = arrays[-1].feasible if arrays else {}
    return replace(
        empty_array(plan), ends=ends, feasible=feasible, rows=every, random=(*random[0], *random[1]), random_core=len(random[0])
    )


def _still_valid(space: Combinations, array: CoveringArray, rows: Sequence[Row]) -> Iterator[Row]:
    """The rows in the places that values have today, without those that have none, or are no valid desc any more."""
    for row in rows:
        names = {name: values[at] for (name, values), at in zip(array.factors.items(), row, strict=True) if at != NONE}
        known = [factor.name in names and names[factor.name] in factor.values for factor in space.model.factors]
        if sum(known) == len(names):
            found = tuple(
                factor.values.index(names[factor.name]) if is_known else factor.usual if factor.name not in array.factors else NONE
                for factor, is_known in zip(space.model.factors, known, strict=True)
            )
            skeleton = space.skeleton(found)
            if skeleton is not None and space.finish(skeleton, found):
                yield found


def digest(model: Model) -> str:
    """What a stored array depends on: what decides whether a desc is valid, the factors, and how rows become cases.

    What the bounds of a field rest on decides nothing.
    """
    operator = model.plan.operator
    valid = {name: part for name, part in promises(operator).items() if name in _DECIDING}
    valid["fields"] = plain(operator.fields, NO_PROMISE | {"basis"})
    found = [_FORM, valid, [(factor.name, factor.values) for factor in model.factors]]
    return sha256(json.dumps(found).encode()).hexdigest()[:12]
