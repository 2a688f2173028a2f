"""Plain dispatches, in which one thing is unusual: a size or two, or the layout of one tensor; attributes are usual and other sizes even.

The fast ways of a kernel ask for much at once: no activation, no mask, a batch of one, all sizes multiples of 16. There it goes wrong in the
rest of a tile, beyond 65,535 groups of threads, or with strides. Cases that differ from the usual in many things at once never come there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, islice, product
from math import prod
from random import Random

from dmlcts.generator.attributes import Combination, NotGenerable, limited
from dmlcts.generator.build import build
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.factors import Model, model_of, short
from dmlcts.generator.layouts import BROADCAST, FURTHER, OVERLAPPING, channels_last, laid_out, laid_out_twice, layouts_of
from dmlcts.generator.plan import Plan
from dmlcts.generator.recipes import RECIPES
from dmlcts.generator.turning import Dimension, Way, sizes_of, works_along
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import ABSENT, Field, Operator
from dmlcts.spec.rules import violations
from dmlcts.spec.shape import FAILURES

UNEVEN = (13, 31, 33, 47, 65)
"""Sizes that no kernel takes whole; beside them, others are one of ``UNITS``, and those of a window ``_WINDOW``."""

UNITS, _WINDOW = (32, 16, 8, 4), 3

_SIDES, _USUAL = (16, 19), 4
"""All sizes but the batch of a dispatch whose layouts are unusual: such as kernels take whole, and such as leave a rest. And the usual dimension
count, whose first is the batch."""

FAR, FARTHER = 65_537, (1 << 20) + 7
"""More than a dimension of a dispatch has groups of threads, or 16 bits count; and more than 1,024 groups of as many threads."""

PLANE = (257, 256)
"""A plane of more elements than 16 bits count, by neither of its sizes."""

_MOST_WORK = 1 << 17
"""The product of all sizes: the even ones have the largest unit with which they keep to it."""

_MOST_ELEMENTS = 1 << 22
"""The most elements of all tensors together."""

_BESIDE_CONTRACTED = (1, 16)
"""What is beside a long dimension along which the operator sums: a single sum, and a tile of them."""

_TRIES = 8
"""Of how many choices of data types and attributes one is looked for that sums along a dimension."""

_WAYS = 10
"""With how many choices of data types, enumerations and presence each dimension is uneven."""

Sizes = Mapping[Dimension, int]


@dataclass(frozen=True, slots=True)
class _Form:
    """Sizes of a dispatch: what is unusual about them in words, those that it must have, those of others, and how many ways it is tried."""

    label: str
    turned: Sizes
    others: Sizes
    ways: int
    is_contracted: bool = False
    """Whether no output has so many elements as the long dimension: it is one along which the operator sums."""


def plain_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Sizes that are uneven beside even ones or far beyond them, and each layout of each tensor with even sizes."""
    if beyond("full", most):
        return
    ids, ways, turns = set[str](), plain_ways(plan), count()
    for form in _forms(model_of(plan)):
        tries = min(len(ways), _TRIES) if form.is_contracted else len(ways)
        made = (_made(plan, ways[turn % len(ways)], form, turn % 2 == 0) for turn in islice(turns, tries))
        for case in islice(filter(None, made), form.ways):
            if case.id not in ids:
                ids.add(case.id)
                yield case
    yield from _laid_out(plan, ways)


def plain_ways(plan: Plan) -> list[Way]:
    """Choices of data types with the usual attributes, each with every combination of enumerations and axes, with and without optional tensors."""
    found: list[Way] = []
    for choice in plan.representatives:
        usual = choice.attributes[0]
        limits = plan.operator.configurations.get(usual.configuration, {})
        fields = [field for field in plan.chosen if _varies(plan.operator, field)]
        bare = {
            field.name: ABSENT
            for field in plan.operator.fields
            if field.type == "TENSOR_DESC" and field.optional and ABSENT in limits.get(field.name, (ABSENT,))
        }
        for values in product(*(limited(field, plan.values(field), limits) for field in fields)):
            enumerations = {field.name: value for field, value in zip(fields, values, strict=True)}
            for optional in ({}, bare) if bare else ({},):
                attributes = Combination({**usual, **enumerations, **optional}, usual.configuration)
                if plan.keeps(choice.types, attributes):
                    found.append((choice, attributes))
    Random(plan.operator.name).shuffle(found)  # noqa: S311 (reproducible, no secret)
    return found


def _varies(operator: Operator, field: Field) -> bool:
    """Whether an attribute has all its values: they choose what is computed, and not how much."""
    is_enumeration = bool(field.enum) and field.enum != "DML_TENSOR_DATA_TYPE"
    return field.type == "BOOL" or is_enumeration or field.name == _axes(operator)


def _axes(operator: Operator) -> str:
    """The attribute that names the axes along which the operator works; empty if there is none."""
    return operator.turning.axes if operator.turning else ""


# Sizes


def _forms(model: Model) -> Iterator[_Form]:
    few = {at: 1 if _is_leading(model, at) else 2 for at in model.dimensions.values()}
    for name, at in model.dimensions.items():
        if at[0] in model.growing:
            continue
        largest = model.largest(at[0])
        for size in (size for size in UNEVEN if size <= largest):
            yield _form(f"{name}={size}", {at: size}, even_sizes(model, {at: size}), _WAYS // len(UNEVEN))
        if largest >= FAR:
            yield _form(f"{name}={FAR}", {at: FAR}, few, 2)
            for unit in _BESIDE_CONTRACTED:
                beside = {other: min(unit, model.largest(other[0])) if few[other] > 1 else 1 for other in few}
                yield replace(_form(f"{name}={FAR}", {at: FAR}, beside, 2), is_contracted=True)
        if largest >= FARTHER and (at[1] == -1 or at == (list(model.symbols)[-1], 0)):
            yield _form(f"{name}={FARTHER}", {at: FARTHER}, dict.fromkeys(few, 1), 1)
        if largest >= FAR and at[1] == -2:
            yield _form(f"{at[0]}={'x'.join(map(str, PLANE))}", {at: PLANE[0], (at[0], -1): PLANE[1]}, few, 2)


def _form(label: str, turned: Sizes, others: Sizes, ways: int) -> _Form:
    return _Form(f"{label}.beside-{max(others.values(), default=1)}", turned, others, ways)


def _is_leading(model: Model, at: Dimension) -> bool:
    """Whether a dimension is a batch or the like: the first symbol, if it is one size, or what lies before the last two of several."""
    return at == (next(iter(model.symbols)), 0) or at[1] < -2


def even_sizes(model: Model, turned: Sizes) -> dict[Dimension, int]:
    """The sizes of the other dimensions: 1 of a batch, 3 of a window, else the largest unit with which the product keeps to the most work."""
    others = [at for at in model.dimensions.values() if at not in turned]
    windows = {at: _WINDOW for at in others if at[0] in model.growing}
    for unit in UNITS:
        sizes = {at: 1 if _is_leading(model, at) else min(unit, model.largest(at[0])) for at in others if at not in windows}
        if prod(sizes.values()) * prod(turned.values()) <= _MOST_WORK:
            break
    return sizes | windows


def _made(plan: Plan, way: Way, form: _Form, has_layout: bool) -> Case | None:
    """The case with these sizes, if it is valid; with channels last if the operator has such a layout and ``has_layout``."""
    choice, _ = way
    desc = plain_desc(plan, way, {**form.others, **form.turned})
    if desc is None or any(sizes_of(plan, desc).get(at) != size for at, size in form.turned.items()):
        return None
    if sum(tensor.count for _, tensor in desc.tensors()) > _MOST_ELEMENTS:
        return None
    outputs = {field.name for field in plan.operator.outputs()}
    if FARTHER in form.turned.values() and plan.operator.turning and not any(works_along(plan, desc, at) for at in form.turned):
        return None  # so many rows: an implementation may sort each by itself
    if form.is_contracted and sum(tensor.count for field, _, tensor in desc.by_field() if field in outputs) >= FAR:
        return None
    layout, desc = laid_out_twice(plan.operator, desc)[-1] if has_layout else ("", desc)
    parts = ("sizes", *filter(None, (form.label, layout)))
    return build("sizes", parts, desc, choice, level="full", covers=[f"sizes/{form.label}"])


def plain_desc(plan: Plan, way: Way, wanted: Sizes) -> OperatorDesc | None:
    """The desc that has these sizes, as far as it has such dimensions; None if there is no valid one."""
    choice, attributes = way
    run, model = (2,) * choice.usual_count, model_of(plan)
    try:
        known = sizes_of(plan, choice.desc(run, attributes))
        known |= {at: size for at, size in wanted.items() if at in known}
        symbols: dict[str, int | tuple[int, ...]] = {}
        for symbol in dict.fromkeys(symbol for symbol, _ in known):
            row = tuple(size for (name, _), size in known.items() if name == symbol)
            symbols[symbol] = row if model.symbols[symbol] else row[0]
        desc = choice.desc(run, attributes, symbols)
    except (NotGenerable, *FAILURES):
        return None
    return desc if plan.level_of(desc) is not None and not violations(plan.operator, desc) else None


# Layouts


def _laid_out(plan: Plan, ways: list[Way]) -> Iterator[Case]:
    """Sizes alike, with each layout of each tensor along each axis, all other tensors packed; and with channels last, one input broadcast."""
    along: dict[object, list[Way]] = {}
    for way in ways:
        along.setdefault(str(way[1].get(_axes(plan.operator))), []).append(way)
    turns, ids, sides = count(), set[str](), [_square(model_of(plan), side) for side in _SIDES]
    for sizes, is_last, field, own in product(sides, (False, True), plan.operator.fields, along.values()):
        for layout in _layouts(plan.operator, field, is_last):
            made = (
                _with_layout(plan, own[turn % len(own)], sizes, field.name, layout, is_last) for turn in islice(turns, len(own))
            )
            case = next(filter(None, made), None)
            if case is not None and case.id not in ids:
                ids.add(case.id)
                yield case


def _square(model: Model, side: int) -> Sizes:
    """A batch of 2, and all other sizes alike, so that layouts differ and one dimension may be taken for another; windows as ever."""
    first = next(iter(model.symbols))
    return {
        at: _WINDOW if at[0] in model.growing else 2 if at == (first, 0) or at[1] <= -_USUAL else min(side, model.largest(at[0]))
        for at in model.dimensions.values()
    }


def _layouts(operator: Operator, field: Field, is_last: bool) -> tuple[str, ...]:
    """The layouts that a tensor has by itself, the packed one left out; with all others' channels last, what people broadcast to those."""
    if not field.is_tensor or field.packed:
        return ()
    values = operator.values_of(field.name)
    may_overlap = field.may_overlap and not (
        values and RECIPES[values.recipe].by_place
    )  # else what is valid for one row is not for another
    if is_last:
        return ("", *(BROADCAST if may_overlap else ()))
    return (*layouts_of(operator, field)[1:], *(name for name in FURTHER if may_overlap or name not in OVERLAPPING))


def _with_layout(plan: Plan, way: Way, sizes: Sizes, name: str, layout: str, is_last: bool) -> Case | None:
    desc = plain_desc(plan, way, sizes)
    if desc is None:
        return None
    if is_last:
        desc = channels_last(plan.operator, desc)
    changed = {own: laid_out(tensor, layout) for field, own, tensor in desc.by_field() if field == name} if layout else {}
    if layout and not changed:
        return None
    desc = desc.with_tensors(changed)
    if violations(plan.operator, desc):
        return None
    own = f"{short(name)}-{layout}" if layout else ""
    label = f"{'.'.join(filter(None, ('all-channels-last' if is_last else '', own)))}.of-{max(sizes.values(), default=1)}"
    return build("sizes", ("sizes", label), desc, way[0], level="full", covers=[f"sizes/{label}"])
