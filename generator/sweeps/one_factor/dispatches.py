"""Plain dispatches, in which a size or two are unusual: attributes are usual and other sizes even. generator/sweeps/one_factor/layouts has unusual layouts.

The fast ways of a kernel ask for much at once: no activation, no mask, a batch of one, all sizes multiples of 16. There it goes wrong in the
rest of a tile, beyond 65,535 groups of threads, or with strides. Cases that differ from the usual in many things at once never come there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count, islice, product
from random import Random

from dmlcts.generator.case.build import build, distinct
from dmlcts.generator.case.case import Case, beyond
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.attributes import Combination, NotGenerable, limited
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.critical_sizes import Dimension, Way, sizes_of, works_along
from dmlcts.generator.sweeps.one_factor.sizes import FAR, FARTHER, UNEVEN, Form, Sizes, forms
from dmlcts.generator.values.layouts import laid_out_twice
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, Field, Operator
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES

_TRIES = 8
"""Of how many choices of data types and attributes one is looked for that sums along a dimension."""


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
    for form in forms(model):
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


def _made(plan: Plan, way: Way, form: Form, has_layout: bool) -> Case | None:
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
