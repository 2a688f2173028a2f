"""Sizes of plain dispatches: usual attributes and layouts, and one size that no kernel takes whole beside others that it does.

The fast ways of a kernel ask for much at once: no activation, no mask, a batch of one, all other sizes multiples of 16. There it goes wrong in
the rest of a tile, or beyond 65,535 groups of threads. Cases that differ from the usual in many things at once never come there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, product
from math import prod
from random import Random

from dmlcts.generator.attributes import Combination, NotGenerable, limited
from dmlcts.generator.build import build
from dmlcts.generator.case import Case, beyond
from dmlcts.generator.factors import Model, model_of
from dmlcts.generator.layouts import laid_out_twice
from dmlcts.generator.plan import Plan
from dmlcts.generator.turning import Dimension, Way, sizes_of
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import ABSENT
from dmlcts.spec.rules import violations
from dmlcts.spec.shape import FAILURES

UNEVEN = (13, 31, 33, 47, 65)
"""The sizes that no kernel takes whole; the others are one of ``UNITS``."""

UNITS = (32, 16, 8, 4)

FAR = 65_537
"""More than a dimension of a dispatch has groups of threads, and more than 16 bits count."""

_MOST_WORK = 1 << 17
"""The product of all sizes: the even ones have the largest unit with which they keep to it."""

_WAYS = 10
"""How many choices of data types, enumerations and presence each dimension has."""


def plain_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each dimension with uneven sizes beside even ones, and beyond 16 bits."""
    if beyond("full", most):
        return
    ids = set[str]()
    for case in _cases(plan):
        if case.id not in ids:
            ids.add(case.id)
            yield case


def _cases(plan: Plan) -> Iterator[Case]:
    model, turns = model_of(plan), count()
    ways = _ways(plan)
    for name, at in model.dimensions.items():
        if at[0] in model.growing:
            continue
        uneven = [size for size in UNEVEN if size <= model.largest(at[0])]
        for index in range(min(_WAYS, len(ways)) if uneven else 0):
            size = uneven[index % len(uneven)]
            yield from _made(plan, ways[next(turns) % len(ways)], (name, at, size), _even(model, at, size), next(turns) % 2 == 0)
        if model.largest(at[0]) >= FAR:
            few = {other: 1 if _is_leading(model, other) else 2 for other in model.dimensions.values()}
            for _ in ways:  # the first that can have it
                made = list(_made(plan, ways[next(turns) % len(ways)], (name, at, FAR), few, is_last=False))
                if made:
                    yield from made
                    break


def _ways(plan: Plan) -> list[Way]:
    """Choices of data types with the usual attributes, each with every combination of enumerations, with and without optional tensors."""
    found: list[Way] = []
    for choice in plan.representatives:
        usual = choice.attributes[0]
        limits = plan.operator.configurations.get(usual.configuration, {})
        fields = [field for field in plan.chosen if field.type == "BOOL" or (field.enum and field.enum != "DML_TENSOR_DATA_TYPE")]
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


def _is_leading(model: Model, at: Dimension) -> bool:
    """Whether a dimension is a batch or the like: the first symbol, if it is one size, or what lies before the last two of several."""
    return at == (next(iter(model.symbols)), 0) or at[1] < -2


def _even(model: Model, turned: Dimension, size: int) -> dict[Dimension, int]:
    """The sizes of the dimensions beside one of this size: 1 of a batch, else the largest unit with which the product keeps to the most work."""
    others = [at for at in model.dimensions.values() if at[0] not in model.growing and at != turned]
    for unit in UNITS:
        sizes = {at: 1 if _is_leading(model, at) else min(unit, model.largest(at[0])) for at in others}
        if size * prod(sizes.values()) <= _MOST_WORK:
            break
    return sizes


def _made(
    plan: Plan, way: Way, turned: tuple[str, Dimension, int], others: Mapping[Dimension, int], is_last: bool
) -> Iterator[Case]:
    """The case with these sizes, if it is valid; with channels last if the operator has such a layout and ``is_last``."""
    choice, _ = way
    name, at, size = turned
    try:
        desc = _desc(plan, way, {**others, at: size})
    except (NotGenerable, *FAILURES):
        return
    if desc is None or sizes_of(plan, desc).get(at) != size or plan.level_of(desc) is None or violations(plan.operator, desc):
        return
    label = f"{name}={size}" if size == FAR else f"{name}={size}.beside-{max(others.values(), default=1)}"
    layout, desc = laid_out_twice(plan.operator, desc)[-1] if is_last else ("", desc)
    parts = ("sizes", *filter(None, (label, layout)))
    yield build("sizes", parts, desc, choice, level="full", covers=[f"sizes/{label}"])


def _desc(plan: Plan, way: Way, wanted: Mapping[Dimension, int]) -> OperatorDesc | None:
    """The desc that wants these sizes, those that it has; None where it lacks the turned dimension."""
    choice, attributes = way
    run = (2,) * choice.usual_count
    known = sizes_of(plan, choice.desc(run, attributes))
    known |= {at: size for at, size in wanted.items() if at in known}
    symbols: dict[str, int | tuple[int, ...]] = {}
    model = model_of(plan)
    for symbol in dict.fromkeys(symbol for symbol, _ in known if symbol not in model.growing):
        row = tuple(size for (name, _), size in known.items() if name == symbol)
        symbols[symbol] = row if model.symbols[symbol] else row[0]
    return choice.desc(run, attributes, symbols)
