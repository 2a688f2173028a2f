"""Plain dispatches with each kind of data: further random data and special values, at even sizes and where one dimension is long.

Cases of special values are small. A kernel that takes rows of some length in parts, or many rows at once, has other code for a row whose
elements are all negative, or whose largest is infinite, than for one that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count, product
from random import Random
from typing import NamedTuple, TypeVar

from dmlcts.generator.case.build import build, distinct, random_data
from dmlcts.generator.case.case import Case, Data, beyond
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.critical_sizes import Dimension, Way, works_along
from dmlcts.generator.sweeps.one_factor.dispatches import first_made, plain_desc, plain_ways
from dmlcts.generator.sweeps.one_factor.layouts import square
from dmlcts.generator.sweeps.one_factor.sizes import FAR, PLANE, Sizes, even_sizes, plane_of
from dmlcts.generator.sweeps.tables import combined_sets, filled, other_data
from dmlcts.generator.values.layouts import laid_out
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, RandomData
from dmlcts.spec.rules.rules import violations

T = TypeVar("T")

LONG = 1025
"""More than a group has threads."""

_LAST, _ALL = -2, -8
"""The dimension farthest from the end that is made long, where no axis may be among those before it, and where one may."""

_LAYOUTS, _SIDE = ("transposed", "channels-last", "padded-rows"), 19
"""Layouts in which a kernel may take elements one by one that it takes many at a time elsewhere, the first for each choice of types; and the sizes
that the dispatch then has."""

_UNEVEN = 95
"""Rows and columns of which a kernel that takes them in blocks of 16 or 32 fills the last up, for each choice of types."""

_MOST_ROWS, _TRIES, _WAYS = 16, 12, 3
"""Of how many combinations of special sets, and of how many choices of types and attributes for each kind of data; and with how many such choices
a plane is tried.
"""


class Kind(NamedTuple):
    """Data by tensor, with what cases call it, their basis, and what is checked besides the values."""

    label: str
    basis: str
    data: dict[str, Data]
    checks: tuple[str, ...] = ()


def plain_data_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each kind of data at even sizes, and with each dimension long; with the last two alone where all tensors are alike and there are no axes."""
    if beyond("full", most):
        return
    groups = enumerate(plain_ways(plan).values())
    yield from distinct(case for index, ways in groups for case in _of_configuration(plan, ways, is_first=index == 0))


def _of_configuration(plan: Plan, ways: list[Way], *, is_first: bool) -> Iterator[Case]:
    turns, model, (further, special) = count(), model_of(plan), _names(plan, ways)
    names = [*further, *special]
    farthest = _LAST if plan.uniform and plan.operator.turning is None else _ALL
    forms = [("", None, even_sizes(model, {})), *_long(model, farthest, LONG)]
    far = [
        ((form, _indices(plan, ways)) for form in _long(model, farthest, FAR)),
        ((form, [name]) for name in further for form in [*_planes(model)] * _WAYS),  # in a row, so that the ways differ
    ]
    for (label, at, sizes), some in chain(((form, names) for form in forms), *(far if is_first else ())):
        along = (True, False) if at and plan.operator.turning else (None,)
        made = [_once(partial(_sized, plan, sizes=sizes, at=at, along=each)) for each in along]
        for name, sized in product(some, made):
            yield from first_made(ways, turns, _TRIES, partial(_with_data, plan, sized, label, name))
    types: dict[str, list[Way]] = {}
    for way in ways:
        types.setdefault(way[0].label, []).append(way)
    uneven = _once(partial(_sized, plan, sizes=_uneven_ends(model), at=None, along=None))
    for name, of_type in product(names, types.values()) if is_first else ():
        yield from first_made(of_type, turns, _TRIES, partial(_with_data, plan, uneven, f"{_UNEVEN}x{_UNEVEN}.", name))
    for layout in _LAYOUTS:
        laid = _once(partial(_laid_out, plan, layout))
        for name, of_type in product(names, types.values() if layout == _LAYOUTS[0] else (ways,)):
            yield from first_made(of_type, turns, _TRIES, partial(_with_data, plan, laid, f"{layout}.", name))


def _once(desc_of: Callable[[Way], OperatorDesc | None]) -> Callable[[Way], OperatorDesc | None]:
    """The same, which makes the desc of a way once: each kind of data has it."""
    known: dict[int, OperatorDesc | None] = {}  # by identity: the ways outlive it

    def found(way: Way) -> OperatorDesc | None:
        if id(way) not in known:
            known[id(way)] = desc_of(way)
        return known[id(way)]

    return found


def _uneven_ends(model: Model) -> Sizes:
    """The last two dimensions uneven, all others 2."""
    ends = (at for at in model.dimensions.values() if at[1] in (-1, -2) and at[0] not in model.growing)
    uneven = {at: _UNEVEN for at in ends if model.largest(at[0]) >= _UNEVEN}
    return {**dict.fromkeys(model.dimensions.values(), 2), **uneven}


def _long(model: Model, farthest: int, length: int) -> Iterator[tuple[str, Dimension | None, Sizes]]:
    """Each dimension so long, of several the last so many: beside even sizes, or beside 2 where it is far longer; a window is never long."""
    for name, at in model.dimensions.items():
        if at[0] not in model.growing and at[1] >= farthest and model.largest(at[0]) >= length:
            turned: dict[Dimension, int] = {at: length}
            beside = even_sizes(model, turned) if length < FAR else dict.fromkeys(model.dimensions.values(), 2)
            yield f"{name}={length}.", at, beside | turned


def _planes(model: Model) -> Iterator[tuple[str, Dimension, Sizes]]:
    """The last two sizes of each symbol that stands for several, all others 2."""
    for symbol, at in model.dimensions.values():
        if at == -2 and symbol not in model.growing and model.largest(symbol) >= max(PLANE):
            label, plane = plane_of(symbol)
            yield f"{label}.", (symbol, -2), {**dict.fromkeys(model.dimensions.values(), 2), **plane}


def _names(plan: Plan, ways: list[Way]) -> tuple[list[str], list[str]]:
    """The kinds of data of any way: further random data; and special sets, of very many a choice."""
    further, special = dict[str, None](), dict[str, None]()
    for way in ways[:_TRIES]:
        desc = plain_desc(plan, way, {})
        if desc is not None:
            further |= dict.fromkeys(kind.label for kind in further_data(plan, desc))
            special |= dict.fromkeys(_label(names) for names, _ in combined_sets(plan, way[1]))
    return list(further), a_choice(plan, list(special))


def a_choice(plan: Plan, special: list[T]) -> list[T]:
    """Of very many special sets some."""
    if len(special) <= _MOST_ROWS:
        return special
    return Random(plan.operator.name).sample(special, _MOST_ROWS)  # noqa: S311 (reproducible, no secret)


def _indices(plan: Plan, ways: list[Way]) -> list[str]:
    """The further random data that are indices, or whose places are, which a kernel may hold in 16 bits."""
    desc = plain_desc(plan, ways[0], {}) if ways else None
    return (
        []
        if desc is None
        else [_further_label(*found) for found in other_data(plan.operator, desc) if RECIPES[found[-1].recipe].by_place]
    )


def _sized(plan: Plan, way: Way, sizes: Sizes, at: Dimension | None, along: bool | None) -> OperatorDesc | None:
    """The desc with these sizes, where there is one; ``along`` says whether the operator's axes have the long dimension."""
    desc = plain_desc(plan, way, sizes)
    return None if desc is None or (at is not None and along is not None and works_along(plan, desc, at) != along) else desc


def _laid_out(plan: Plan, layout: str, way: Way) -> OperatorDesc | None:
    """The desc whose tensors have a layout, but for those that must be packed, where there is one."""
    desc = plain_desc(plan, way, square(model_of(plan), _SIDE))
    if desc is None:
        return None
    free = ((own, tensor) for field, own, tensor in desc.by_field() if not plan.operator.field(field).packed)
    laid = desc.with_tensors({own: laid_out(tensor, layout) for own, tensor in free})
    return None if violations(plan.operator, laid) else laid


def _with_data(plan: Plan, desc_of: Callable[[Way], OperatorDesc | None], label: str, name: str, way: Way) -> Case | None:
    """The case of a way with this kind of data, where there is one."""
    desc = desc_of(way)
    if desc is None:
        return None
    kinds = chain(further_data(plan, desc), special_data(plan, way[1], desc, name))
    return next((of_kind(plan, desc, way[0], label, kind) for kind in kinds if kind.label == name), None)


def of_kind(plan: Plan, desc: OperatorDesc, choice: TypeChoice, label: str, kind: Kind, basis: str | None = None) -> Case:
    """The case of a desc with a kind of data. A desc with a ``basis`` gives it to data that are documented."""
    return build(
        "values",
        ("values", f"{label}of-{kind.label}"),
        desc,
        choice,
        level="full",
        data=random_data(plan.operator, desc) | kind.data,
        basis=basis if basis and kind.basis == DOCUMENTED else kind.basis,
        checks=kind.checks,
    )


def further_data(plan: Plan, desc: OperatorDesc) -> Iterator[Kind]:
    """The further random data of one tensor at a time."""
    for tensor, name, other in other_data(plan.operator, desc):
        data = {own: Data(other.recipe, other.parameters) for own, _ in desc.called(tensor)}
        yield Kind(_further_label(tensor, name, other), other.basis, data)


def _further_label(tensor: str, name: str, _: RandomData) -> str:
    return f"{tensor.removesuffix('Tensor')}-{name}"


def special_data(plan: Plan, attributes: Combination, desc: OperatorDesc, wanted: str = "") -> Iterator[Kind]:
    """The special sets for all tensors that have some; of the wanted label alone, if it is not empty."""
    for names, basis in combined_sets(plan, attributes):
        if _label(names) == wanted or not wanted:
            data = filled(plan, desc, names)
            if data:
                yield Kind(_label(names), basis, data, ("zero-sign",) if basis == MEASURED else ())


def _label(names: dict[str, str]) -> str:
    return "-x-".join(names.values())
