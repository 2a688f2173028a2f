"""Plain dispatches, in which a size or two are unusual: attributes are usual and other sizes even. generator/plain_layouts has unusual layouts.

The fast ways of a kernel ask for much at once: no activation, no mask, a batch of one, all sizes multiples of 16. There it goes wrong in the
rest of a tile, beyond 65,535 groups of threads, or with strides. Cases that differ from the usual in many things at once never come there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, count, cycle, islice, permutations, product
from math import prod
from random import Random

from dmlcts.generator.attributes import Combination, NotGenerable, limited
from dmlcts.generator.build import build, distinct
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.factors import Model, model_of
from dmlcts.generator.layouts import laid_out_twice
from dmlcts.generator.plan import Plan
from dmlcts.generator.turning import Dimension, Way, sizes_of, works_along
from dmlcts.generator.types import TypeChoice
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import ABSENT, Field, Operator
from dmlcts.spec.rules import violations
from dmlcts.spec.shape import FAILURES

UNEVEN = (13, 31, 33, 47, 65)
"""Sizes that no kernel takes whole; beside them, others are one of ``UNITS``, and those of a window ``WINDOW``."""

EIGHTS = (24, 40)
"""Sizes that a kernel takes whole by 8, and not by 16."""

TILES = (80, 96)
"""Sizes of two dimensions at once, beyond a tile of 64 and whole by 16."""

MANY, SOLID, MOST_OF_MANY = ((80, 96, 72), (40, 48, 56)), (36, 40, 34), 1 << 18
"""Sizes of all dimensions at once but batches and windows, in turn from the last one on, either these or those; such as the dimension before the last
two has too; and the elements that all tensors have then at the most."""

REST = 40
"""The size of a dimension beside one of a single element, in several batches: a product by a vector is a kernel of its own."""

UNITS, WINDOW = (32, 16, 8, 4), 3

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

_WAYS, _WAYS_OF_TWO = 10, 4
"""With how many choices of data types, enumerations and presence each dimension is uneven, and two are large."""

Sizes = Mapping[Dimension, int]


@dataclass(frozen=True, slots=True)
class _Form:
    """Sizes of a dispatch: what is unusual about them in words, those that it must have, those of others, and how many ways it is tried."""

    label: str
    turned: Sizes
    others: Sizes
    ways: int
    most: int = _MOST_ELEMENTS
    """How many elements all tensors have at the most."""
    is_contracted: bool = False
    """Whether no output has so many elements as the long dimension: it is one along which the operator sums."""


def plain_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Sizes that are uneven beside even ones or far beyond them, in each configuration."""
    if beyond("full", most):
        return
    groups = enumerate(plain_ways(plan).values())
    yield from distinct(case for index, ways in groups for case in _sized(plan, ways, is_first=index == 0))


def _sized(plan: Plan, ways: list[Way], *, is_first: bool) -> Iterator[Case]:
    """The forms of sizes, each with as many ways as it says; of further configurations one, and none that is far beyond the others."""
    turns = count()
    model = model_of(plan)
    for form in chain(_forms(model), _forms_of_two(model), _forms_of_many(model)):
        if not is_first and max(form.turned.values()) > max(UNEVEN):
            continue
        tries = min(len(ways), _TRIES) if form.is_contracted else len(ways)
        made = (_made(plan, ways[turn % len(ways)], form, turn % 2 == 0) for turn in islice(turns, tries))
        yield from islice(filter(None, made), form.ways if is_first else 1)


def first_made(ways: Sequence[Way], turns: Iterator[int], tries: int, make: Callable[[Way], Case | None]) -> Iterator[Case]:
    """The case of the first of the next ways that makes one, of at most so many."""
    made = (make(ways[turn % len(ways)]) for turn in islice(turns, min(len(ways), tries)))
    yield from islice(filter(None, made), 1)


@cache
def plain_ways(plan: Plan) -> dict[str, list[Way]]:
    """By configuration, choices of data types with its first attributes, each with every combination of enumerations and axes.

    They have all optional tensors, and none; those with a fused activation come by themselves. A way that is valid in several configurations belongs
    to the first, whose ways with each value of an enumeration come once more by themselves: a transposed convolution is a kernel of its own.
    """
    known = set[str]()
    found: dict[str, list[Way]] = {}
    for name, choice in product(plan.operator.configurations or ("",), plan.representatives):
        usual = next((own for own in choice.attributes if own.configuration == name), None)
        for way in _ways_like(plan, choice, usual) if usual is not None else ():
            key = f"{choice.label} {dict(way[1])}"
            if key not in known:
                known.add(key)
                found.setdefault(f"{name} fused" if _is_fused(plan, way) else name, []).append(way)
    first = next(iter(found.values()), [])
    for field in filter(_is_enumeration, plan.chosen):
        values = dict.fromkeys(str(way[1].get(field.name)) for way in first)
        for value in values if len(values) > 1 else ():
            found[f"{field.name} {value}"] = [way for way in first if str(way[1].get(field.name)) == value]
    for ways in found.values():
        Random(plan.operator.name).shuffle(ways)  # noqa: S311 (reproducible, no secret)
    return found


def _is_fused(plan: Plan, way: Way) -> bool:
    return any(isinstance(way[1].get(field.name), OperatorDesc) for field in plan.chosen)


def _ways_like(plan: Plan, choice: TypeChoice, usual: Combination) -> Iterator[Way]:
    """A combination of attributes with every combination of enumerations, axes and fused operators that its configuration allows."""
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
                yield choice, attributes


def _varies(operator: Operator, field: Field) -> bool:
    """Whether an attribute has all its values: they choose what is computed, and not how much."""
    return field.type in ("BOOL", "OPERATOR_DESC") or _is_enumeration(field) or field.name == axes_of(operator)


def _is_enumeration(field: Field) -> bool:
    return bool(field.enum) and field.enum != "DML_TENSOR_DATA_TYPE"


def axes_of(operator: Operator) -> str:
    """The attribute that names the axes along which the operator works; empty if there is none."""
    return operator.turning.axes if operator.turning else ""


# Sizes


def _forms(model: Model) -> Iterator[_Form]:
    few = {at: 1 if _is_leading(model, at) else 2 for at in model.dimensions.values()}
    for name, at in model.dimensions.items():
        if at[0] in model.growing:
            continue
        largest = model.largest(at[0])
        for size in (size for size in (*UNEVEN, *EIGHTS) if size <= largest):
            others = even_sizes(model, {at: size})
            yield _form(f"{name}={size}", {at: size}, others, 1 if size in EIGHTS else _WAYS // len(UNEVEN))
            windows = [other for other in others if other[0] in model.growing and model.symbols[other[0]]]
            if windows:  # one of a single element is a product of matrices
                points = others | dict.fromkeys(windows, 1)
                yield _form(f"{name}={size}.window-1", {at: size}, points, 1)
        if largest >= FAR:
            yield _form(f"{name}={FAR}", {at: FAR}, few, 2)
            for unit in _BESIDE_CONTRACTED:
                beside = {other: min(unit, model.largest(other[0])) if few[other] > 1 else 1 for other in few}
                yield replace(_form(f"{name}={FAR}", {at: FAR}, beside, 2), is_contracted=True)
        if largest >= FARTHER and (at[1] == -1 or at == (list(model.symbols)[-1], 0)):
            yield _form(f"{name}={FARTHER}", {at: FARTHER}, dict.fromkeys(few, 1), 1)
        if largest >= FAR and at[1] == -2:
            yield _form(f"{at[0]}={'x'.join(map(str, PLANE))}", {at: PLANE[0], (at[0], -1): PLANE[1]}, few, 2)


def _forms_of_two(model: Model) -> Iterator[_Form]:
    """Any two dimensions large; and of any two one with a single element and one with a rest, in several batches. Batches are never large."""
    batches = {at: 3 for at in model.dimensions.values() if _is_leading(model, at)}
    free = [(name, at) for name, at in model.dimensions.items() if at[0] not in model.growing and at not in batches]
    for (name, at), (other, there) in permutations(free, 2):
        if name < other and model.largest(at[0]) >= TILES[0] and model.largest(there[0]) >= TILES[1]:
            turned = {at: TILES[0], there: TILES[1]}
            yield _form(f"{name}={TILES[0]}.{other}={TILES[1]}", turned, even_sizes(model, turned), _WAYS_OF_TWO)
        if model.largest(there[0]) >= REST:
            turned = {at: 1, there: REST}
            yield _form(f"{name}=1.{other}={REST}", turned, even_sizes(model, turned) | batches, _WAYS_OF_TWO)


def _forms_of_many(model: Model) -> Iterator[_Form]:
    """All dimensions large at once."""
    solid = (_together(model, SOLID, lambda at: at[1] == -3 or not _is_leading(model, at)),)
    for label, sizes in (*many(model), *solid):
        if len(sizes) > 1:
            yield replace(_form(label, sizes, even_sizes(model, sizes), _WAYS // len(UNEVEN)), most=MOST_OF_MANY)


def many(model: Model) -> Iterator[tuple[str, Sizes]]:
    """A label, and the sizes of all dimensions but batches that are large at once, where there are several."""
    for sizes in MANY:
        label, turned = _together(model, sizes, lambda at: not _is_leading(model, at))
        if len(turned) > 1:
            yield label, turned


def _together(model: Model, sizes: Sequence[int], belongs: Callable[[Dimension], bool]) -> tuple[str, Sizes]:
    """A label, and these sizes in turn for the dimensions that belong to them, may be as large, and are those of no window."""
    free = [at for at in model.dimensions.values() if at[0] not in model.growing and belongs(at)]
    turned = {at: size for at, size in zip(free, cycle(sizes), strict=False) if model.largest(at[0]) >= size}
    return f"every={'x'.join(map(str, sizes))}", turned


def _form(label: str, turned: Sizes, others: Sizes, ways: int) -> _Form:
    return _Form(f"{label}.beside-{max(others.values(), default=1)}", turned, others, ways)


def _is_leading(model: Model, at: Dimension) -> bool:
    """Whether a dimension is a batch or the like: the first symbol, if it is one size, or what lies before the last two of several."""
    return at == (next(iter(model.symbols)), 0) or at[1] < -2


def even_sizes(model: Model, turned: Sizes) -> dict[Dimension, int]:
    """The sizes of the other dimensions: 1 of a batch, 3 of a window, else the largest unit with which the product keeps to the most work."""
    others = [at for at in model.dimensions.values() if at not in turned]
    windows = {at: WINDOW for at in others if at[0] in model.growing}
    for unit in UNITS:
        sizes = {at: 1 if _is_leading(model, at) else min(unit, model.largest(at[0])) for at in others if at not in windows}
        if prod(sizes.values()) * prod(turned.values()) <= _MOST_WORK:
            break
    return sizes | windows


def _made(plan: Plan, way: Way, form: _Form, has_layout: bool) -> Case | None:
    """The case with these sizes, if it is valid; with channels last if the operator has such a layout and ``has_layout``."""
    choice, _ = way
    if not form.turned.keys() <= _usual_sizes(plan, way).keys():
        return None
    desc = plain_desc(plan, way, {**form.others, **form.turned})
    found = sizes_of(plan, desc) if desc else {}
    if desc is None or any(found.get(at) != size for at, size in form.turned.items()):
        return None
    if any(size >= FAR for at, size in found.items() if at not in form.turned):
        return None  # the keys, and the queries stacked with them, would be long: a product of both is not what is asked
    if sum(tensor.count for _, tensor in desc.tensors()) > form.most:
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
        known = {at: wanted.get(at, size) for at, size in _usual_sizes(plan, way).items()}
        symbols: dict[str, int | tuple[int, ...]] = {}
        for symbol in dict.fromkeys(symbol for symbol, _ in known):
            row = tuple(size for (name, _), size in known.items() if name == symbol)
            symbols[symbol] = row if model.symbols[symbol] else row[0]
        desc = choice.desc(run, attributes, symbols)
    except (NotGenerable, *FAILURES):
        return None
    return desc if plan.level_of(desc) is not None and not violations(plan.operator, desc) else None


def _usual_sizes(plan: Plan, way: Way) -> dict[Dimension, int]:
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
