"""Dispatches with each kind of data: further random data and special values, at typical sizes and where one dimension is long, or a layout another.

Cases of special values are small. A kernel that takes rows of some length in parts, or many rows at once, has other code for a row whose
elements are all negative, or whose largest is infinite, than for one that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count, product
from random import Random
from typing import NamedTuple, TypeVar

from dmlcts.generator.case.build import build, distinct, random_data
from dmlcts.generator.case.case import Case, Data, is_beyond
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import (
    Dimension,
    Sizes,
    Way,
    allowed_desc,
    beside_all,
    even_desc,
    first_made,
    may_be,
    once_a_way,
    works_along,
)
from dmlcts.generator.sweeps.one_factor.layouts import square
from dmlcts.generator.sweeps.one_factor.sizes import ends, even_sizes, label_of_ends
from dmlcts.generator.sweeps.one_factor.ways import apart_by_types, typical_ways
from dmlcts.generator.sweeps.special_values import combined_sets, fill, other_data
from dmlcts.generator.sweeps.table import DataSweep
from dmlcts.generator.values.layouts import laid_out
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

T = TypeVar("T")

_LAST_TWO, _ALL = -2, -8
"""The dimension farthest from the end that is made long, where no axis may be among those before it, and where one may."""


class DataKind(NamedTuple):
    """Data by tensor, with what cases call it, their basis, and what is checked besides the values."""

    label: str
    basis: str
    data: dict[str, Data]
    checks: tuple[str, ...] = ()


class DataForm(NamedTuple):
    """Sizes with their label, and the dimension that is long, if any."""

    label: str
    sizes: Sizes
    long: Dimension | None = None


def one_factor_data_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each kind of data, by the rows of the table; in further configurations by those that are for each."""
    if is_beyond("full", most):
        return
    groups = enumerate(typical_ways(plan).values())
    yield from distinct(case for index, ways in groups for case in _of_configuration(plan, ways, is_first=index == 0))


def _of_configuration(plan: Plan, ways: list[Way], *, is_first: bool) -> Iterator[Case]:
    turns, (further, special) = count(), _labels(plan, ways)
    for sweep in table.DATA_SWEEPS:
        if is_first or sweep.in_every_configuration:
            makers = [*_dispatches(plan, sweep)]
            kinds = {"all": [*further, *special], "further": further, "indices": _labels_of_indices(plan, ways)}[sweep.data]
            in_a_row = [*product(kinds, makers * sweep.in_a_row)] if sweep.in_a_row > 1 else []
            groups = apart_by_types(ways) if sweep.with_each_type else [ways]
            for kind, (label, descs) in in_a_row or ((kind, maker) for maker in makers for kind in kinds):
                for desc_of, own in product(descs, groups):
                    yield from first_made(own, turns, partial(_case, plan, desc_of, label, kind), table.DATA_TRIES)


def _case(plan: Plan, desc_of: Callable[[Way], OperatorDesc | None], label: str, kind: str, way: Way) -> Case | None:
    """The case of a way with this kind of data, where there is one."""
    desc = desc_of(way)
    if desc is None:
        return None
    kinds = chain(further_data(plan, desc), special_data(plan, way[1], desc, kind))
    return next((data_case(plan, desc, way[0], label, own) for own in kinds if own.label == kind), None)


def data_case(plan: Plan, desc: OperatorDesc, choice: TypeChoice, label: str, kind: DataKind, basis: str | None = None) -> Case:
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


# Dispatches


def _dispatches(plan: Plan, sweep: DataSweep) -> Iterator[tuple[str, list[Callable[[Way], OperatorDesc | None]]]]:
    """The label of each of a row's dispatches, and what makes the descs of a way: of a long dimension one that works along it, and one that does not."""
    if sweep.layout:
        yield f"{sweep.layout}.", [once_a_way(partial(_laid_out, plan, sweep.layout))]
        return
    for form in _forms(plan, sweep.sizes):
        along = (True, False) if form.long and plan.operator.turning else (None,)
        yield form.label, [once_a_way(partial(_desc, plan, form=form, along=each)) for each in along]


def _desc(plan: Plan, way: Way, form: DataForm, along: bool | None) -> OperatorDesc | None:
    """The desc with these sizes, where there is one; ``along`` says whether the operator's axes have the long dimension."""
    desc = even_desc(plan, way, form.sizes)
    if desc is None or form.long is None or along is None:
        return desc
    return desc if works_along(plan, desc, form.long) == along else None


def _laid_out(plan: Plan, layout: str, way: Way) -> OperatorDesc | None:
    """The desc whose tensors have a layout, but for those that must be packed, where there is one."""
    desc = even_desc(plan, way, square(model_of(plan), table.LAYOUT_SIDE))
    if desc is None:
        return None
    free = ((own, tensor) for field, own, tensor in desc.by_field() if not plan.operator.field(field).packed)
    return allowed_desc(plan, desc.with_tensors({own: laid_out(tensor, layout) for own, tensor in free}))


def _forms(plan: Plan, sizes: str) -> Iterator[DataForm]:
    """The sizes that a row of the table names, each with its label."""
    model = model_of(plan)
    if sizes == "even":
        yield DataForm("", even_sizes(model, {}))
    elif sizes == "uneven ends":
        side = table.UNEVEN_ENDS
        last = {at: side for at in model.dimensions.values() if at[1] in (-1, -2) and may_be(model, at, side)}
        yield DataForm(f"{side}x{side}.", beside_all(model, 2, last))
    elif sizes == "plane":
        yield from _planes(model)
    else:
        length = {"long": table.BEYOND_A_GROUP, "far": table.BEYOND_16_BITS}[sizes]
        yield from _long(model, _LAST_TWO if plan.uniform and plan.operator.turning is None else _ALL, length)


def _long(model: Model, farthest: int, length: int) -> Iterator[DataForm]:
    """Each dimension so long, of several the last so many: beside even sizes, or beside 2 where it is far longer; a window is never long."""
    for name, at in model.dimensions.items():
        if at[1] >= farthest and may_be(model, at, length):
            long = {at: length}
            is_far = length >= table.BEYOND_16_BITS
            yield DataForm(f"{name}={length}.", beside_all(model, 2, long) if is_far else even_sizes(model, long) | long, at)


def _planes(model: Model) -> Iterator[DataForm]:
    """The last two sizes of each symbol that stands for several, all others 2."""
    sizes = table.PLANE_BEYOND_16_BITS
    for at in model.dimensions.values():
        if at[1] == -2 and may_be(model, at, max(sizes)):
            yield DataForm(f"{label_of_ends(at[0], sizes)}.", beside_all(model, 2, ends(at[0], sizes)), at)


# Data


def _labels(plan: Plan, ways: Sequence[Way]) -> tuple[list[str], list[str]]:
    """The kinds of data of any way: further random data; and special sets, of very many a choice."""
    further, special = dict[str, None](), dict[str, None]()
    for way in ways[: table.DATA_TRIES]:
        desc = even_desc(plan, way, {})
        if desc is not None:
            further |= dict.fromkeys(kind.label for kind in further_data(plan, desc))
            special |= dict.fromkeys(_label(names) for names, _ in combined_sets(plan, way[1]))
    return list(further), sample(plan, list(special))


def _labels_of_indices(plan: Plan, ways: Sequence[Way]) -> list[str]:
    """The further random data that are indices, or whose places are, which a kernel may hold in 16 bits."""
    desc = even_desc(plan, ways[0], {}) if ways else None
    every = other_data(plan.operator, desc) if desc else ()
    return [_further_label(tensor, name) for tensor, name, other in every if RECIPES[other.recipe].by_place]


def sample(plan: Plan, special: list[T]) -> list[T]:
    """Of very many special sets some, the same each time."""
    if len(special) <= table.MOST_SETS:
        return special
    return Random(plan.operator.name).sample(special, table.MOST_SETS)  # noqa: S311 (reproducible, no secret)


def further_data(plan: Plan, desc: OperatorDesc) -> Iterator[DataKind]:
    """The further random data of one tensor at a time."""
    for tensor, name, other in other_data(plan.operator, desc):
        data = {own: Data(other.recipe, other.parameters) for own, _ in desc.called(tensor)}
        yield DataKind(_further_label(tensor, name), other.basis, data)


def _further_label(tensor: str, name: str) -> str:
    return f"{tensor.removesuffix('Tensor')}-{name}"


def special_data(plan: Plan, attributes: Combination, desc: OperatorDesc, wanted: str = "") -> Iterator[DataKind]:
    """The special sets for all tensors that have some; of the wanted label alone, if it is not empty."""
    for names, basis in combined_sets(plan, attributes):
        if _label(names) == wanted or not wanted:
            data = fill(plan, desc, names)
            if data:
                yield DataKind(_label(names), basis, data, ("zero-sign",) if basis == MEASURED else ())


def _label(names: dict[str, str]) -> str:
    return "-x-".join(names.values())
