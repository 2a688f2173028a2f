"""Operators along axes: types, functions and kinds of data meet, along few elements by each choice of axes, and along more than 16 bits count.

An implementation counts, sums and finds the largest of so many in several passes; the last pass has a partial block, whose padding must change nothing. A
padding of zeros shows where all elements are positive or all negative; a count shows in an average of FLOAT16. So types, functions and data meet here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count

from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Dimension, Sizes, Way, axes_of, beside_all, even_desc, may_be, works_along
from dmlcts.generator.sweeps.one_factor.data import DataKind, data_case, further_data
from dmlcts.generator.sweeps.one_factor.layouts import square
from dmlcts.generator.sweeps.one_factor.sizes import ends, label_of_ends
from dmlcts.generator.sweeps.one_factor.ways import apart_by_function
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED

_RANDOM = "random"
"""The usual random data, as a kind."""


def reduction_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """For each choice of types, each combination of what ``turning.each`` lists and each kind of data: each choice of axes, and a long axis or several."""
    if plan.operator.turning is None or is_beyond("full", most):
        return
    groups = apart_by_function(plan)
    for number, ways in enumerate(groups):
        for index, kind in enumerate([_RANDOM, *_kinds(plan, ways[0])]):
            long = (_long_axis, _several_long_axes) if (number + index) % 2 == 0 else (_several_long_axes, _long_axis)
            columns = (_case_along(plan, ways, kind, place, table.COLUMN) for place in (-2, -3, -4))
            yield from _first(make(plan, ways, kind) for make in long)
            yield from _by_axes(plan, ways, kind)
            yield from _first(columns)
            if index == 0:
                yield from filter(None, (_case_along(plan, ways, kind, -1, size) for size in table.ODD_ROUNDS))
    halves = (ways for ways in groups if ways[0][0].main == "FLOAT16")
    first = next(chain(halves, groups), [])
    yield from filter(None, (_many_lines(plan, first, place, sizes) for place, sizes in table.MANY_LINES))


def row_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """For each choice of types and each combination of what ``turning.each`` lists: rows of each length, in turn beside few others and many.

    An implementation has a kernel for rows that a thread takes, a wave, a group, and several groups, and others for few rows and many.
    """
    if plan.operator.turning is None or is_beyond("core", most):
        return
    turns = count()
    for ways in apart_by_function(plan):
        for length in table.ROW_LENGTHS:
            case = _case_of_rows(plan, ways, length, table.ROW_COUNTS[next(turns) % len(table.ROW_COUNTS)])
            if case is not None:
                yield replace(case, level="core")
        next(turns)  # so that the next function has other counts beside each length


def _case_of_rows(plan: Plan, ways: Sequence[Way], length: int, rows: int) -> Case | None:
    """The case of the first way that works along the last dimension alone, with so many rows of a length."""
    model = model_of(plan)
    at = next((at for at in model.dimensions.values() if at[1] == -1), None)
    before = next((at for at in model.dimensions.values() if at[1] == -2), None)
    if at is None or before is None or model.largest(at[0]) < length:
        return None
    sizes = beside_all(model, 1, {at: length, before: rows})
    others = [other for other in model.dimensions.values() if other != at]

    def is_alone(desc: OperatorDesc) -> bool:
        return works_along(plan, desc, at) and not any(works_along(plan, desc, other) for other in others)

    return _first_way(plan, ways, f"rows-{rows}x{length}", _RANDOM, sizes, is_alone)


def _first(cases: Iterator[Case | None]) -> list[Case]:
    return [case for case in (next(filter(None, cases), None),) if case is not None]


def _kinds(plan: Plan, way: Way) -> list[str]:
    desc = even_desc(plan, way, {})
    return [kind.label for kind in further_data(plan, desc)] if desc else []


def _by_axes(plan: Plan, ways: Sequence[Way], kind: str) -> Iterator[Case]:
    """The cases of the first way with each choice of axes, where all dimensions are short."""
    found = set[str]()
    for way in ways:
        desc = even_desc(plan, way, square(model_of(plan), table.SHORT_SIDE))
        axes = str(desc.fields[axes_of(plan)]) if desc else ""
        if desc is not None and axes not in found and (case := _case(plan, desc, way[0], "short", kind)):
            found.add(axes)
            yield case


def _case_along(plan: Plan, ways: Sequence[Way], kind: str, place: int, size: int) -> Case | None:
    """The case of the first way that works along one dimension alone, which is so long, beside 3 in all others."""
    model = model_of(plan)
    name, at = next(((name, at) for name, at in model.dimensions.items() if at[1] == place), ("", ("", 0)))
    if not name or model.largest(at[0]) < size:
        return None
    others = [other for other in model.dimensions.values() if other != at]

    def is_alone(desc: OperatorDesc) -> bool:
        return works_along(plan, desc, at) and not any(works_along(plan, desc, other) for other in others)

    return _first_way(plan, ways, f"{name}={size}", kind, beside_all(model, 3, {at: size}), is_alone)


def _many_lines(plan: Plan, ways: Sequence[Way], place: int, lengths: dict[int, int]) -> Case | None:
    """The case of the first way that works along one dimension alone, with these sizes of the first symbol, all others 1."""
    model = model_of(plan)
    symbol = next(iter(model.symbols))
    long = {(symbol, at): size for at, size in lengths.items()}

    def is_alone(desc: OperatorDesc) -> bool:
        return [at for at in long if works_along(plan, desc, at)] == [(symbol, place)]

    if not may_be(model, (symbol, place), table.BEYOND_16_BITS):
        return None
    return _first_way(plan, ways, label_of_ends(symbol, [*lengths.values()]), _RANDOM, beside_all(model, 1, long), is_alone)


def _long_axis(plan: Plan, ways: Sequence[Way], kind: str) -> Case | None:
    model = model_of(plan)
    name, at = next(iter(model.dimensions.items()))
    return _along_all(plan, ways, kind, f"{name}={table.BEYOND_16_BITS}", {at: table.BEYOND_16_BITS})


def _several_long_axes(plan: Plan, ways: Sequence[Way], kind: str) -> Case | None:
    symbol = _first_dimension(model_of(plan))[0]
    return _along_all(plan, ways, kind, label_of_ends(symbol, table.SEVERAL_LONG), ends(symbol, table.SEVERAL_LONG))


def _first_dimension(model: Model) -> Dimension:
    return next(iter(model.dimensions.values()))


def _along_all(plan: Plan, ways: Sequence[Way], kind: str, label: str, long: Sizes) -> Case | None:
    """The case of the first way whose axes have all the long dimensions, beside 2 in all others."""
    model = model_of(plan)
    if not may_be(model, _first_dimension(model), table.BEYOND_16_BITS):
        return None
    return _first_way(
        plan, ways, label, kind, beside_all(model, 2, long), lambda desc: all(works_along(plan, desc, at) for at in long)
    )


def _first_way(
    plan: Plan, ways: Sequence[Way], label: str, kind: str, sizes: Sizes, is_meant: Callable[[OperatorDesc], bool]
) -> Case | None:
    """The case of the first way whose desc with these sizes is what is meant."""
    for way in ways:
        desc = even_desc(plan, way, sizes)
        if desc is not None and is_meant(desc):
            return _case(plan, desc, way[0], label, kind)
    return None


def _case(plan: Plan, desc: OperatorDesc, choice: TypeChoice, label: str, kind: str) -> Case | None:
    """The case with that kind of data, where the operator has it for this desc."""
    kinds = {own.label: own for own in (*further_data(plan, desc), DataKind(_RANDOM, DOCUMENTED, {}))}
    return data_case(plan, desc, choice, f"{label}.", kinds[kind]) if kind in kinds else None
