"""Operators along axes: types, what is computed and kinds of data meet, along few elements by each choice of axes, and along more than 16 bits count.

An implementation counts, sums and finds the largest of so many in several passes, whose parts have a rest that must change nothing. A rest of
zeros shows where all elements are positive or all negative; a count shows in an average of FLOAT16. So types, functions and data meet here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from dmlcts.generator.case.case import Case, beyond
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.critical_sizes import Way, works_along
from dmlcts.generator.sweeps.one_factor.data import Kind, further_data, of_kind
from dmlcts.generator.sweeps.one_factor.dispatches import axes_of, plain_desc, plain_ways
from dmlcts.generator.sweeps.one_factor.layouts import square
from dmlcts.generator.sweeps.one_factor.sizes import FAR, Sizes
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED

_SIDE = 7
"""The size of the dimensions of a short dispatch."""

_ROWS, _COLUMN = (384, 640), 4099
"""Rows of 3 and of 5 times 128 elements, which threads take in an odd number of rounds; and columns of more elements than a block has, and no multiple
of 4, with each kind of data."""

_LINES: tuple[tuple[int, Mapping[int, int]], ...] = ((-1, {-2: FAR, -1: 33}), (-2, {-3: FAR, -2: 2, -1: 4}))
"""A dimension to work along, and sizes: more rows, or planes, than a dimension of a dispatch has groups of threads, each the work of a group."""

_SEVERAL = (31, 65, 33)
"""The last dimensions, which together have more than 16 bits count: none by itself, and none even."""


def axes_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """For each choice of types, each combination of what ``turning.each`` lists and each kind of data: each choice of axes, and a long axis or several."""
    turning = plan.operator.turning
    if turning is None or beyond("full", most):
        return
    alike: dict[object, list[Way]] = {}
    for way in chain.from_iterable(plain_ways(plan).values()):
        alike.setdefault((way[0].label, *(way[1].get(name) for name in turning.each)), []).append(way)
    for number, ways in enumerate(alike.values()):
        for index, label in enumerate(["random", *_kinds(plan, ways[0])]):
            is_several = (number + index) % 2 == 1
            case = _made(plan, ways, label, is_several=is_several) or _made(plan, ways, label, is_several=not is_several)
            if case is not None:
                yield case
            yield from _by_axes(plan, ways, label)
            columns = (_of_line(plan, ways, label, place, _COLUMN) for place in (-2, -3, -4))
            rows = (_of_line(plan, ways, label, -1, size) for size in _ROWS if index == 0)
            yield from filter(None, (next(filter(None, columns), None), *rows))
    halves = (ways for ways in alike.values() if ways[0][0].main == "FLOAT16")
    first = next(chain(halves, alike.values()), [])
    yield from filter(None, (_of_many_lines(plan, first, place, sizes) for place, sizes in _LINES))


def _kinds(plan: Plan, way: Way) -> list[str]:
    desc = plain_desc(plan, way, {})
    return [kind.label for kind in further_data(plan, desc)] if desc else []


def _by_axes(plan: Plan, ways: list[Way], label: str) -> Iterator[Case]:
    """The cases of the first way with each choice of axes, where all dimensions are short."""
    found = set[str]()
    for way in ways:
        desc = plain_desc(plan, way, square(model_of(plan), _SIDE))
        axes = str(desc.fields[axes_of(plan.operator)]) if desc else ""
        if desc is not None and axes not in found and (case := _of(plan, desc, way[0], "short", label)):
            found.add(axes)
            yield case


def _of_line(plan: Plan, ways: list[Way], label: str, place: int, size: int) -> Case | None:
    """The case of the first way that works along this dimension alone, which is so long."""
    model = model_of(plan)
    name, at = next(((name, at) for name, at in model.dimensions.items() if at[1] == place), ("", ("", 0)))
    if not name or model.largest(at[0]) < size:
        return None
    others = [each for each in model.dimensions.values() if each != at]
    for choice, attributes in ways:
        desc = plain_desc(plan, (choice, attributes), dict.fromkeys(others, 3) | {at: size})
        if desc is not None and works_along(plan, desc, at) and not any(works_along(plan, desc, other) for other in others):
            return _of(plan, desc, choice, f"{name}={size}", label)
    return None


def _of_many_lines(plan: Plan, ways: list[Way], place: int, sizes: Mapping[int, int]) -> Case | None:
    """The case of the first way that works along this dimension alone, with these sizes of the first symbol, all others 1."""
    model = model_of(plan)
    symbol = next(iter(model.symbols))
    lengths = {(symbol, at): size for at, size in sizes.items()}
    if symbol in model.growing or model.largest(symbol) < FAR:
        return None
    for choice, attributes in ways:
        desc = plain_desc(plan, (choice, attributes), dict.fromkeys(model.dimensions.values(), 1) | lengths)
        along = [at for at in lengths if desc is not None and works_along(plan, desc, at)]
        if desc is not None and along == [(symbol, place)]:
            return _of(plan, desc, choice, f"{symbol}={'x'.join(map(str, sizes.values()))}", "random")
    return None


def _made(plan: Plan, ways: list[Way], label: str, *, is_several: bool) -> Case | None:
    """The case of the first way whose axes have all the long dimensions."""
    model = model_of(plan)
    name, at = next(iter(model.dimensions.items()))
    if at[0] in model.growing or model.largest(at[0]) < FAR:
        return None
    lengths = {(at[0], index - len(_SEVERAL)): size for index, size in enumerate(_SEVERAL)} if is_several else {at: FAR}
    sizes: Sizes = dict.fromkeys(model.dimensions.values(), 2) | lengths
    for choice, attributes in ways:
        desc = plain_desc(plan, (choice, attributes), sizes)
        if desc is not None and all(works_along(plan, desc, each) for each in lengths):
            words = f"{name}={FAR}" if not is_several else f"{at[0]}={'x'.join(map(str, _SEVERAL))}"
            return _of(plan, desc, choice, words, label)
    return None


def _of(plan: Plan, desc: OperatorDesc, choice: TypeChoice, words: str, label: str) -> Case | None:
    """The case with that kind of data, where the operator has it for this desc."""
    kinds = {kind.label: kind for kind in (*further_data(plan, desc), Kind("random", DOCUMENTED, {}))}
    return of_kind(plan, desc, choice, f"{words}.", kinds[label]) if label in kinds else None
