"""One unusual thing of a typical dispatch, and what may be unusual at once: alone, in pairs, in triples.

A thing says what it is called in ids, and what it changes: data types, attributes, a size, or how tensors are bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from dmlcts.generator.case.build import build
from dmlcts.generator.case.case import OFFSETS, Case
from dmlcts.generator.covering.bindings import bind, is_allowed, offset_of
from dmlcts.generator.facts.factors import RESOURCES, Model, model_of, short
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Dimension, allowed_desc
from dmlcts.spec.model.desc import OperatorDesc

KIND = "typical"
"""The kind of these cases, and the part of their ids."""


@dataclass(frozen=True, slots=True)
class Unusual:
    """One unusual thing of a dispatch: what it is called in ids, and what it changes. ``bound`` are values of the factors of what is bound."""

    factor: str
    label: str
    value: str = ""
    """What the label does not say and the rest of the id does: an attribute's value."""
    choice: TypeChoice | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    sizes: Mapping[Dimension, int] = field(default_factory=dict)
    bound: Mapping[str, str] = field(default_factory=dict)
    has_kernel: bool = False
    """Whether it makes a client run another kernel: a fused operator, an optional tensor, a mode."""
    has_pairs_at_core: bool = False
    """Whether it is one of the few of which pairs are in core: rests, vectors, some layouts, and a type."""


def unusual_bindings(plan: Plan, plain: OperatorDesc | None) -> Iterator[Unusual]:
    """How a dispatch may be bound otherwise than ``plain``: layouts, tensors in place, owned inputs, an offset, one resource."""
    model = model_of(plan)
    there = {plan.name_of(name) for name, _ in plain.tensors()} if plain else set()
    rows = table.TILE_LAYOUTS[1]
    padded = {
        factor.name: rows for factor in model.factors if factor.kind == "layout" and factor.of in there and rows in factor.values
    }
    if len(padded) > 1:
        yield Unusual("layouts", f"all-{rows}", bound=padded, has_pairs_at_core=True)
    for factor in model.factors:
        if factor.kind == "layout":
            for value in factor.values[1:]:
                has_pairs = value in table.TILE_LAYOUTS
                yield Unusual(factor.name, f"{short(factor.of)}-{value}", bound={factor.name: value}, has_pairs_at_core=has_pairs)
        elif factor.kind in ("in place", "owned"):
            for value in factor.values[1:]:
                yield Unusual(factor.name, f"{factor.name.replace(' ', '-')}-{value}", bound={factor.name: value})
        elif factor.kind in ("offset", "resource"):
            yield Unusual(factor.name, f"{factor.name}-{factor.values[-1]}", bound={factor.name: factor.values[-1]})


# At once


def fit_together(*things: Unusual) -> bool:
    """Whether things can be unusual at once, as far as no desc is asked: they are about different factors."""
    return all(one.factor != other.factor and not one.bound.keys() & other.bound.keys() for one, other in combinations(things, 2))


def pairs_of(things: Sequence[Unusual]) -> Iterator[tuple[Unusual, Unusual]]:
    """Each two things that can be unusual at once."""
    return (pair for pair in combinations(things, 2) if fit_together(*pair))


def triples_with(things: Sequence[Unusual], pairs: Iterable[tuple[Unusual, Unusual]]) -> Iterator[tuple[Unusual, ...]]:
    """Triples that have each of the pairs once at least: to each pair that none has yet, the thing with which most such pairs come along.

    Of several, the one that occurs least so far; of those, the first.
    """
    place = {id(each): at for at, each in enumerate(things)}
    left = {(place[id(one)], place[id(other)]): None for one, other in pairs}
    times = Counter[int]()
    while left:
        one, other = next(iter(left))
        third = (at for at, each in enumerate(things) if at not in (one, other) and fit_together(things[one], things[other], each))
        gains = ((sum(_in_order(at, beside) in left for beside in (one, other)), -times[at], -at) for at in third)
        row = sorted({one, other, *(-gain[2] for gain in [max(gains, default=None)] if gain)})
        for pair in combinations(row, 2):
            left.pop(pair, None)
        times.update(row)
        yield tuple(things[at] for at in row)


def _in_order(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


# The case


def bound_case(
    plan: Plan,
    packed: OperatorDesc,
    choice: TypeChoice,
    things: Sequence[Unusual],
    parts: Iterable[str],
    level: str,
) -> Case | None:
    """A packed desc bound as the things say; None where one of them makes no difference for it, or a rule forbids it.

    ``parts`` of the id are what stands between the kind and the things.
    """
    model = model_of(plan)
    bound = {name: value for each in things for name, value in each.bound.items()}
    if not _fit(model, packed, bound):
        return None
    parts = tuple(parts)
    random = Random("/".join((plan.operator.name, *parts, str([each.label for each in things]))))  # noqa: S311 (reproducible, no secret)
    laid, bindings = bind(model, packed, bound, random)
    if allowed_desc(plan, laid) is None:
        return None
    return build(
        KIND,
        (KIND, *parts, ".".join(each.label for each in things) or "plain"),
        laid,
        choice,
        level=level,
        in_place=model.aliases.get(bound.get("in place", ""), {}),
        bindings=bindings,
        offset=offset_of(bound.get("offset", str(OFFSETS[0])), random),
        resource=RESOURCES[bound.get("resource", "apart")],
        covers=[f"{KIND}/{each.factor}" for each in things],
    )


def _fit(model: Model, desc: OperatorDesc, bound: Mapping[str, str]) -> bool:
    """Whether each value makes a difference for the desc, and fits to the others."""
    row = [factor.values.index(bound[factor.name]) if factor.name in bound else NONE for factor in model.factors]
    return all(is_allowed(model, desc, row, factor, bound[factor.name]) for factor in model.factors if factor.name in bound)
