"""Plain dispatches in which the layout of one tensor is unusual, all other tensors packed, attributes usual and sizes alike.

A kernel that reads a tensor by the strides of another, or by none, is right wherever both are packed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import count, product

from dmlcts.generator.case.build import build, distinct
from dmlcts.generator.case.case import Case, beyond
from dmlcts.generator.facts.factors import Model, model_of, short
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps.critical_sizes import Way
from dmlcts.generator.sweeps.one_factor.dispatches import axes_of, first_made, plain_desc, plain_ways
from dmlcts.generator.sweeps.one_factor.sizes import FAR, MOST_OF_MANY, WINDOW, Sizes, even_sizes, many
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
from dmlcts.spec.rules.rules import violations

_WHOLE, _REST, _USUAL, _BATCH = (16, 8), (19, 11), 4, 2
"""All sizes but the batch of a dispatch whose layouts are unusual: such as kernels take whole, and such as leave a rest; the second where the first give
too many elements. And the usual dimension count, whose first is the batch, and its size."""

_MOST_ELEMENTS = 1 << 17
"""The elements of all tensors of such a dispatch, at most."""

_ROWS, _ROW = 4, 128
"""The sizes of a dispatch with rows that are whole vectors: a kernel may take them as one, or the tensor as fewer dimensions."""

_TYPES, _FEW = ("FLOAT32", "FLOAT16", "INT8"), 2
"""The data types of networks have kernels of their own, and bytes: of each, where there are no more axes than so many, each layout has a case of even
sizes, and one of any other type."""

_COLUMNS, _OF_FAR = 3, ("padded-rows", "transposed", "broadcast-first", "broadcast-last")
"""How many elements each of more rows has than a dimension of a dispatch has groups of threads, and layouts that keep rows apart."""

_MOST_OF_FAR = 1 << 20
"""The elements of all tensors with so many rows, at most."""

_OF_MANY = ("transposed", "padded-rows", "broadcast-all", "broadcast-first", "broadcast-last")
"""Layouts that each tensor has where all dimensions are large: of an addend also a single element, a row and a column."""

_OF_ONE = (CHANNELS_LAST, "transposed", "permuted")
"""Layouts in which the stride of a dimension of size 1 is not what it is in a packed tensor, though it is never used."""


def plain_layout_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each layout of each tensor, in each configuration; and layouts that differ from packed in a stride that counts for nothing."""
    if beyond("full", most):
        return
    yield from distinct(_every(plan))


def _every(plan: Plan) -> Iterator[Case]:
    model = model_of(plan)
    for index, ways in enumerate(plain_ways(plan).values()):
        whole, rest = (_largest_square(plan, ways, sides) for sides in (_WHOLE, _REST))
        yield from _laid_out(plan, _apart(plan, ways, _TYPES), [whole]) if index == 0 else ()
        yield from _laid_out(plan, _apart(plan, ways), [rest])
        ones = [(f"{rest[0]}.{name}=1", {**rest[1], at: 1}) for name, at in model.dimensions.items() if at[1] > -_USUAL]
        yield from _laid_out(plan, _apart(plan, ways), ones, _OF_ONE) if index == 0 else ()
        yield from _laid_out(plan, [ways], list(_rows(model))) if index == 0 else ()
        yield from _laid_out(plan, [ways], _many(model), _OF_MANY) if index == 0 else ()
        yield from _laid_out(plan, [ways], list(_far(model)), _OF_FAR, _MOST_OF_FAR) if index == 0 else ()
        yield from _aligned(plan, _apart(plan, ways, _TYPES), *rest) if index == 0 else ()


def _laid_out(
    plan: Plan,
    groups: Sequence[list[Way]],
    forms: Sequence[tuple[str, Sizes]],
    layouts: Collection[str] | None = None,
    most: int = MOST_OF_MANY,
) -> Iterator[Case]:
    """Each layout of each tensor, all others packed, with a way of each group; and with channels last, one input broadcast."""
    turns, known = count(), dict[tuple[str, int], OperatorDesc | None]()

    def packed(way: Way, label: str, sizes: Sizes) -> OperatorDesc | None:
        key = (label, id(way))  # the ways live as long as their plan
        if key not in known:
            known[key] = plain_desc(plan, way, sizes)
        return known[key]

    for (label, sizes), is_last, field, own in product(forms, (False, True), plan.operator.fields, groups):
        for layout in _layouts(plan.operator, field, is_last, layouts):
            laid = partial(_with_layout, plan, label=label, field=field, layout=layout, is_last=is_last, most=most)
            yield from first_made(own, turns, len(own), lambda way: laid(way, packed(way, label, sizes)))  # noqa: B023 (called at once)


def _aligned(plan: Plan, groups: Sequence[list[Way]], label: str, sizes: Sizes) -> Iterator[Case]:
    """Aligned rows of each tensor, all others packed, and of all tensors, with a way of each group."""
    turns = count()
    fields = [field.name for field in plan.operator.fields if field.is_tensor and not field.packed]
    for name, own in product((*fields, ""), groups):

        def made(way: Way, name: str = name) -> Case | None:
            desc = plain_desc(plan, way, sizes)
            laid = None if desc is None else aligned_rows(plan.operator, desc, [name] if name else None)
            if desc is None or laid is None or laid == desc or violations(plan.operator, laid):
                return None
            return _case(way, laid, f"{short(name) if name else 'all'}-{ALIGNED_ROWS}.{label}")

        yield from first_made(own, turns, len(own), made)


def _case(way: Way, desc: OperatorDesc, words: str) -> Case:
    return build("sizes", ("sizes", words), desc, way[0], level="full", covers=[f"sizes/{words}"])


def _apart(plan: Plan, ways: list[Way], types: Sequence[str] = ()) -> list[list[Way]]:
    """The ways along each axis, and where there are few axes, those of each of these data types."""
    axes = [str(way[1].get(axes_of(plan.operator))) for way in ways]
    own = types if len(set(axes)) <= _FEW else ()
    found: dict[tuple[str, str], list[Way]] = {}
    for axis, way in zip(axes, ways, strict=True):
        found.setdefault((axis, way[0].main if way[0].main in own else ""), []).append(way)
    return list(found.values())


def _largest_square(plan: Plan, ways: Sequence[Way], sides: Sequence[int]) -> tuple[str, Sizes]:
    """A label, and sizes that are all alike: the first side with which a dispatch has few enough elements, or the last."""
    model = model_of(plan)
    for side in sides:
        descs = (plain_desc(plan, way, square(model, side)) for way in ways)
        desc = next(filter(None, descs), None)
        if desc is not None and sum(tensor.count for _, tensor in desc.tensors()) <= _MOST_ELEMENTS:
            break
    return f"of-{side}", square(model, side)


def square(model: Model, side: int) -> Sizes:
    """Two batches, and all other sizes alike, so that layouts differ and one dimension may be taken for another; windows as ever."""
    first = next(iter(model.symbols))
    return {
        at: WINDOW
        if at[0] in model.growing
        else _BATCH
        if at == (first, 0) or at[1] <= -_USUAL
        else min(side, model.largest(at[0]))
        for at in model.dimensions.values()
    }


def _rows(model: Model) -> Iterator[tuple[str, Sizes]]:
    """A label, and one batch of few rows of whole vectors, where dimensions may be as long."""
    ends = [at for at in model.dimensions.values() if at[1] == -1 and at[0] not in model.growing and model.largest(at[0]) >= _ROW]
    few = {at: 1 if size == _BATCH else size for at, size in square(model, _ROWS).items()}
    if ends:
        yield f"of-{_ROWS}x{_ROW}", few | dict.fromkeys(ends, _ROW)


def _many(model: Model) -> list[tuple[str, Sizes]]:
    """All dimensions large at once."""
    return [(f"of-{label}", {**even_sizes(model, sizes), **sizes}) for label, sizes in many(model)]


def _far(model: Model) -> Iterator[tuple[str, Sizes]]:
    """A label, and more rows than a dimension of a dispatch has groups of threads, where there may be as many."""
    for symbol, at in model.dimensions.values():
        if at == -2 and symbol not in model.growing and model.largest(symbol) >= FAR:
            ones = dict.fromkeys(model.dimensions.values(), 1)
            yield f"of-{FAR}x{_COLUMNS}", {**ones, (symbol, -2): FAR, (symbol, -1): _COLUMNS}


def _layouts(operator: Operator, field: Field, is_last: bool, layouts: Collection[str] | None) -> tuple[str, ...]:
    """The layouts that a tensor has by itself, or those of ``layouts`` among them; with all others' channels last, what people broadcast to those."""
    if layouts is not None:
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
    return field.may_overlap and not (
        values and RECIPES[values.recipe].by_place
    )  # else what is valid for one row is not for another


def _with_layout(
    plan: Plan, way: Way, desc: OperatorDesc | None, label: str, field: Field, layout: str, is_last: bool, most: int
) -> Case | None:
    if desc is None or sum(tensor.count for _, tensor in desc.tensors()) > most:
        return None
    if is_last:
        desc = channels_last(plan.operator, desc)
    own = {name: tensor for each, name, tensor in desc.by_field() if each == field.name} if layout else {}
    changed = {name: laid_out(tensor, layout) for name, tensor in own.items()}
    if layout and all(tensor.effective_strides == own[name].effective_strides for name, tensor in changed.items()):
        return None
    desc = desc.with_tensors(changed)
    if violations(plan.operator, desc):
        return None
    parts = ("all-channels-last" if is_last else "", f"{short(field.name)}-{layout}" if layout else "", label)
    return _case(way, desc, ".".join(filter(None, parts)))
