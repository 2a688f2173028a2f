"""The engine of sweeps: makes the dispatch that differs from a base in what a row of the table says, asks the rules once, keeps to a cap, names it.

A way is a choice of data types with a combination of attributes: what is computed, without any size. Ways take turns, so that each row costs one case
or few, and all rows together meet all ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from math import inf

from dmlcts.generator.case.build import build
from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.attributes import Combination, NotGenerable
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.sizes import Sizes as Run
from dmlcts.generator.plan.sizes import Symbols
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.rules.symbols import symbols_of

Dimension = tuple[str, int]
"""A symbol of the shapes and, of one that stands for several sizes, the place from the end, else 0."""

Sizes = Mapping[Dimension, int]
Way = tuple[TypeChoice, Combination]


# The desc


def valid_desc(plan: Plan, way: Way, run: Run, symbols: Symbols | None = None) -> OperatorDesc | None:
    """The desc of a way with these symbols, and other sizes from those of a usual tensor; None if the spec's rules allow none."""
    choice, attributes = way
    try:
        desc = choice.desc(run, attributes, symbols)
    except (NotGenerable, *FAILURES):
        return None
    return allowed_desc(plan, desc)


def allowed_desc(plan: Plan, desc: OperatorDesc | None) -> OperatorDesc | None:
    """The desc, if some feature level lists it and it breaks no rule."""
    return desc if desc is not None and plan.level_of(desc) is not None and not violations(plan.operator, desc) else None


def even_desc(plan: Plan, way: Way, sizes: Sizes) -> OperatorDesc | None:
    """The desc that has these sizes, as far as it has such dimensions, and 2 in all others; None if there is no valid one."""
    known = {at: sizes.get(at, size) for at, size in _sizes_of_way(plan, way).items()}
    return valid_desc(plan, way, (2,) * way[0].usual_count, symbols_with(plan, known))


def symbols_with(plan: Plan, sizes: Sizes, names: Iterable[str] = ()) -> dict[str, int | Run]:
    """Sizes by symbol, of those symbols alone that are named, if any are."""
    model, found = model_of(plan), dict[str, int | Run]()
    for symbol in dict.fromkeys(names or (symbol for symbol, _ in sizes)):
        row = tuple(size for (name, _), size in sizes.items() if name == symbol)
        found[symbol] = row if model.symbols[symbol] else row[0]
    return found


def sizes_of(plan: Plan, desc: OperatorDesc) -> dict[Dimension, int]:
    """The size of each dimension of a desc that may be large."""
    model, found = model_of(plan), dict[Dimension, int]()
    for symbol, value in symbols_of(plan.operator, desc).items():
        if symbol in model.free:
            row = value if isinstance(value, tuple) else (value,)
            found |= {(symbol, index - len(row) if model.symbols[symbol] else 0): size for index, size in enumerate(row)}
    return found


def dimensions_of(plan: Plan, way: Way) -> frozenset[Dimension]:
    """The dimensions that a way's desc has."""
    return frozenset(_sizes_of_way(plan, way))


def _sizes_of_way(plan: Plan, way: Way) -> dict[Dimension, int]:
    """The sizes of each symbol where none is asked for, empty if there is no such desc. Made once a way: thousands of descs of it are."""
    known, (choice, attributes) = _known_sizes(plan), way
    key = id(choice), id(attributes)  # the way is stored beside its sizes, so that its ids stay unique
    if key not in known:
        try:
            known[key] = way, sizes_of(plan, choice.desc((2,) * choice.usual_count, attributes))
        except (NotGenerable, *FAILURES):
            known[key] = way, {}
    return known[key][1]


@cache
def _known_sizes(plan: Plan) -> dict[tuple[int, int], tuple[Way, dict[Dimension, int]]]:
    return {}


def has_sizes(plan: Plan, desc: OperatorDesc, wanted: Sizes) -> bool:
    """Whether a desc has these sizes: not all that is asked for is what the rules give."""
    found = sizes_of(plan, desc)
    return all(found.get(at) == size for at, size in wanted.items())


def element_count(desc: OperatorDesc) -> int:
    """The elements of all tensors together."""
    return sum(tensor.count for _, tensor in desc.tensors())


def axes_of(plan: Plan) -> str:
    """The attribute that names the axes along which the operator works; empty if there is none."""
    return plan.operator.turning.axes if plan.operator.turning else ""


def works_along(plan: Plan, desc: OperatorDesc, at: Dimension) -> bool:
    """Whether the axes are, or the axis is, this dimension of the first tensor; False of an operator without ``turning``."""
    if not axes_of(plan):
        return False
    value = desc.fields[axes_of(plan)]
    return desc.tensor(plan.leading_tensor).DimensionCount + at[1] in (value if isinstance(value, tuple) else (value,))


# Sizes of one dimension and of all


def may_be(model: Model, at: Dimension, size: int) -> bool:
    """Whether a dimension of no window may be so large."""
    return at[0] not in model.window_symbols and model.largest(at[0]) >= size


def is_batch(model: Model, at: Dimension) -> bool:
    """Whether a dimension is a batch or the like: the first symbol, if it is one size, or what lies before the last two of several."""
    return at == (next(iter(model.symbols)), 0) or at[1] < -2


def beside_all(model: Model, size: int, wanted: Sizes | None = None) -> dict[Dimension, int]:
    """One size for all dimensions but those of which others are wanted."""
    return dict.fromkeys(model.dimensions.values(), size) | dict(wanted or {})


# The case


def size_case(way: Way, desc: OperatorDesc, label: str, layout: str = "", level: str = "full", basis: str | None = None) -> Case:
    """The case of a dispatch whose sizes or layouts are unusual. An id says what is in ``label``, and in which layout."""
    parts = ("sizes", *filter(None, (label, layout)))
    return build("sizes", parts, desc, way[0], level=level, basis=basis or DOCUMENTED, covers=[f"sizes/{label}"])


def in_turn(ways: Sequence[Way], turns: Iterator[int], tries: float = inf) -> Iterator[tuple[Way, int]]:
    """The next ways, each once at most, with the number of their turn."""
    for turn in islice(turns, int(min(len(ways), tries))):
        yield ways[turn % len(ways)], turn


def first_made(ways: Sequence[Way], turns: Iterator[int], make: Callable[[Way], Case | None], tries: float = inf) -> Iterator[Case]:
    """The case of the first of the next ways that makes one, if any does."""
    yield from islice(filter(None, (make(way) for way, _ in in_turn(ways, turns, tries))), 1)


def once_a_way(make: Callable[[Way], OperatorDesc | None]) -> Callable[[Way], OperatorDesc | None]:
    """The same, which makes the desc of a way once: each kind of data, and each layout, has it."""
    known: dict[int, OperatorDesc | None] = {}  # by identity: the ways live as long as their plan

    def find_desc(way: Way) -> OperatorDesc | None:
        if id(way) not in known:
            known[id(way)] = make(way)
        return known[id(way)]

    return find_desc
