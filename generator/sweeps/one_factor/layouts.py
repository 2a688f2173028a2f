"""Dispatches in which the layout of one tensor is unusual, all other tensors packed, attributes usual and sizes alike.

A kernel that reads a tensor by the strides of another, or by none, is right wherever both are packed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import count, product

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import Model, model_of, short
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import (
    Sizes,
    Way,
    allowed_desc,
    beside_all,
    element_count,
    even_desc,
    first_made,
    may_be,
    size_case,
)
from dmlcts.generator.sweeps.one_factor.sizes import all_large, even_sizes, label_of_all
from dmlcts.generator.sweeps.one_factor.ways import apart_by_axes, typical_ways
from dmlcts.generator.sweeps.table import LayoutSweep
from dmlcts.generator.values.layouts import (
    ALIGNED_ROWS,
    BROADCAST,
    CHANNELS_LAST,
    FURTHER,
    OVERLAPPING,
    aligned_rows,
    channels_last,
    laid_out,
    layouts_of,
)
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Field, Operator

_USUAL_COUNT = 4
"""The usual dimension count, whose first is the batch."""

Form = tuple[str, Sizes]
"""A label, and sizes."""


def one_factor_layout_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each layout of each tensor, by the rows of the table; in further configurations by those that are for each."""
    if not is_beyond("full", most):
        yield from distinct(_layout_cases(plan))


def _layout_cases(plan: Plan) -> Iterator[Case]:
    for index, ways in enumerate(typical_ways(plan).values()):
        of_side = {name: _largest_square(plan, ways, sides) for name, sides in table.SQUARE_SIDES.items()}
        for sweep in table.LAYOUT_SWEEPS:
            if index == 0 or sweep.in_every_configuration:
                yield from _with_layouts(plan, _groups(plan, ways, sweep.apart), _forms(plan, sweep.sizes, of_side), sweep)
        if index == 0:
            yield from _with_aligned_rows(plan, _groups(plan, ways, "axes and types"), *of_side[table.ALIGNED_ROWS_SIZES])


def _groups(plan: Plan, ways: list[Way], apart: str) -> list[list[Way]]:
    """The ways that have a case by themselves; within each they take turns."""
    types = table.LAYOUT_TYPES if apart == "axes and types" else ()
    return apart_by_axes(plan, ways, types, table.FEW_AXES) if apart else [ways]


def _with_layouts(plan: Plan, groups: Sequence[list[Way]], forms: Sequence[Form], sweep: LayoutSweep) -> Iterator[Case]:
    """Each layout of each tensor, all others packed, with a way of each group; and with channels last, one input broadcast."""
    turns, packed = count(), dict[tuple[str, int], OperatorDesc | None]()

    def make_case(way: Way, form: Form, field: Field, layout: str, is_last: bool) -> Case | None:
        key = (form[0], id(way))  # the ways live as long as their plan
        if key not in packed:
            packed[key] = even_desc(plan, way, form[1])
        desc = packed[key]
        laid = None if desc is None or element_count(desc) > sweep.cap else _laid_out(plan, desc, field, layout, is_last)
        parts = ("all-channels-last" if is_last else "", f"{short(field.name)}-{layout}" if layout else "", form[0])
        return None if laid is None else size_case(way, laid, ".".join(filter(None, parts)))

    for form, is_last, field, ways in product(forms, (False, True), plan.operator.fields, groups):
        for layout in _layouts(plan.operator, field, is_last, sweep.layouts):
            yield from first_made(ways, turns, partial(make_case, form=form, field=field, layout=layout, is_last=is_last))


def _laid_out(plan: Plan, desc: OperatorDesc, field: Field, layout: str, is_last: bool) -> OperatorDesc | None:
    """The desc with a layout of the tensors of a field, all others packed or with channels last; None if that is no other, or not allowed."""
    if is_last:
        desc = channels_last(plan.operator, desc)
    own = {name: tensor for each, name, tensor in desc.by_field() if each == field.name} if layout else {}
    changed = {name: laid_out(tensor, layout) for name, tensor in own.items()}
    if layout and all(tensor.effective_strides == own[name].effective_strides for name, tensor in changed.items()):
        return None
    return allowed_desc(plan, desc.with_tensors(changed))


def _with_aligned_rows(plan: Plan, groups: Sequence[list[Way]], label: str, sizes: Sizes) -> Iterator[Case]:
    """Aligned rows of each tensor, all others packed, and of all tensors, with a way of each group."""
    turns = count()
    fields = [field.name for field in plan.operator.fields if field.is_tensor and not field.packed]

    def make_case(way: Way, name: str) -> Case | None:
        desc = even_desc(plan, way, sizes)
        laid = None if desc is None else aligned_rows(plan.operator, desc, [name] if name else None)
        if laid is None or laid == desc or allowed_desc(plan, laid) is None:
            return None
        return size_case(way, laid, f"{short(name) if name else 'all'}-{ALIGNED_ROWS}.{label}")

    for name, ways in product((*fields, ""), groups):
        yield from first_made(ways, turns, partial(make_case, name=name))


# Sizes


def _forms(plan: Plan, sizes: str, of_side: dict[str, Form]) -> list[Form]:
    """The sizes that a row of the table names, with their labels."""
    model = model_of(plan)
    if sizes == "rest with a 1":
        label, rest = of_side["rest"]
        return [(f"{label}.{name}=1", {**rest, at: 1}) for name, at in model.dimensions.items() if at[1] > -_USUAL_COUNT]
    makers = {"rows": _rows_of_vectors, "all large": _all_large, "many rows": _many_rows}
    return list(makers[sizes](model)) if sizes in makers else [of_side[sizes]]


def _largest_square(plan: Plan, ways: Sequence[Way], sides: Sequence[int]) -> Form:
    """A label, and sizes that are all alike: the first side with which a dispatch has few enough elements, or the last."""
    model = model_of(plan)
    for side in sides:
        desc = next(filter(None, (even_desc(plan, way, square(model, side)) for way in ways)), None)
        if desc is not None and element_count(desc) <= table.SQUARE_CAP:
            break
    return f"of-{side}", square(model, side)


def square(model: Model, side: int) -> Sizes:
    """Two batches, and all other sizes alike, so that layouts differ and one dimension may be taken for another; windows as ever."""
    first = next(iter(model.symbols))
    return {
        at: table.WINDOW
        if at[0] in model.window_symbols
        else table.SQUARE_BATCH
        if at == (first, 0) or at[1] <= -_USUAL_COUNT
        else min(side, model.largest(at[0]))
        for at in model.dimensions.values()
    }


def _rows_of_vectors(model: Model) -> Iterator[Form]:
    """One batch of few rows of whole vectors, where dimensions may be as long."""
    lasts = [at for at in model.dimensions.values() if at[1] == -1 and may_be(model, at, table.VECTORS)]
    few = {at: 1 if size == table.SQUARE_BATCH else size for at, size in square(model, table.ROWS).items()}
    if lasts:
        yield f"of-{table.ROWS}x{table.VECTORS}", few | dict.fromkeys(lasts, table.VECTORS)


def _all_large(model: Model) -> Iterator[Form]:
    """All dimensions but batches large at once, where there are several."""
    for row in table.ALL_SIZES:
        wanted = all_large(model, row)
        if len(wanted) > 1 and not row.with_third:
            yield f"of-{label_of_all(row.sizes)}", {**even_sizes(model, wanted), **wanted}


def _many_rows(model: Model) -> Iterator[Form]:
    """More rows than a dimension of a dispatch has groups of threads, where there may be as many."""
    for symbol, place in model.dimensions.values():
        if place == -2 and may_be(model, (symbol, place), table.BEYOND_16_BITS):
            sizes = {(symbol, -2): table.BEYOND_16_BITS, (symbol, -1): table.COLUMNS_OF_MANY_ROWS}
            yield f"of-{table.BEYOND_16_BITS}x{table.COLUMNS_OF_MANY_ROWS}", beside_all(model, 1, sizes)


# Layouts


def _layouts(operator: Operator, field: Field, is_last: bool, layouts: Collection[str]) -> tuple[str, ...]:
    """The layouts that a tensor has by itself, or those of ``layouts`` among them; with all others' channels last, what people broadcast to those."""
    if layouts:
        return () if is_last else tuple(layout for layout in layouts if layout in layouts_alone(operator, field))
    if not is_last:
        return layouts_alone(operator, field)
    return () if not field.is_tensor or field.packed else ("", *(BROADCAST if _may_overlap(operator, field) else ()))


def layouts_alone(operator: Operator, field: Field) -> tuple[str, ...]:
    """The layouts that a field's tensor may have where all others are packed, the packed one left out."""
    if not field.is_tensor or field.packed:
        return ()
    further = (name for name in FURTHER if name not in OVERLAPPING or _may_overlap(operator, field))
    return tuple(dict.fromkeys((*layouts_of(operator, field)[1:], CHANNELS_LAST, *further)))


def _may_overlap(operator: Operator, field: Field) -> bool:
    values = operator.values_of(field.name)
    by_place = values and RECIPES[values.recipe].by_place  # then what is valid for one row is not for another
    return field.may_overlap and not by_place
