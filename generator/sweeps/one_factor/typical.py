"""A tile-sized dispatch, typical in everything, with one thing unusual; and two: the form of nearly every dispatch of a real client.

Kernels take their fast path for a plain, unfused, batched dispatch of even sizes, and leave it for one reason or two: a stride, a rest, a vector, an
optional tensor, an activation. Combinations in which many things are unusual never come there. This is for operators that have kernels: those that read
an element from more places than its own, or have optional parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from random import Random

from dmlcts.generator.case.build import build, distinct
from dmlcts.generator.case.case import OFFSETS, Case, is_beyond
from dmlcts.generator.covering.bindings import bind, is_allowed, offset_of
from dmlcts.generator.facts.factors import RESOURCES, Model, model_of, short
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import Combination, alike, value_text
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Dimension, Sizes, Way, allowed_desc, element_count, even_desc, has_sizes, is_batch
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, PRESENT
from dmlcts.spec.rules.shape import FAILURES

_PLANES = -3
"""The place of planes from the end."""

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


def typical_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The tile-sized dispatch; at core each unusual thing alone, and pairs of a few; at full pairs of these and all that leave the kernel the same."""
    if is_beyond("core", most) or not has_kernels(plan):
        return
    alone = unusual(plan)
    rows: list[tuple[str, Sequence[Unusual]]] = [("core", ()), *(("core", (each,)) for each in alone)]
    rows += [("core", pair) for pair in _pairs(alone) if all(each.has_pairs_at_core for each in pair)]
    if not is_beyond("full", most):
        pairs = (pair for pair in _pairs(alone) if not any(each.has_kernel for each in pair))
        rows += [("full", pair) for pair in pairs if any(each.has_pairs_at_core for each in pair)]
    yield from distinct(filter(None, (_case(plan, things, level) for level, things in rows)))


def has_kernels(plan: Plan) -> bool:
    """Whether an operator reads an element from more places than its own, or has optional parts."""
    model, operator = model_of(plan), plan.operator
    optional = any(f.type == "OPERATOR_DESC" or (f.type == "TENSOR_DESC" and f.optional) for f in operator.fields)
    return optional or operator.turning is not None or len({symbol for symbol, _ in model.dimensions.values()}) > 1


# What may be unusual


@cache
def unusual(plan: Plan) -> tuple[Unusual, ...]:
    """Everything that may be unusual of a tile-sized dispatch, one thing each."""
    return (*_types(plan), *_sizes(plan), *_optional(plan), *_attributes(plan), *_unusual_bindings(plan))


def _types(plan: Plan) -> Iterator[Unusual]:
    for choice in plan.representatives:
        if choice is not _base(plan)[0]:
            yield Unusual("type", choice.label, choice=choice, has_pairs_at_core=choice.main == table.TILE_TYPE)


def _sizes(plan: Plan) -> Iterator[Unusual]:
    model = model_of(plan)
    for name, at in model.dimensions.items():
        if at[0] not in model.window_symbols and not is_batch(model, at):
            for size in (table.TILE_REST, table.VECTOR):
                if model.largest(at[0]) >= size:
                    yield Unusual(f"size {name}", f"{name}={size}", sizes={at: size}, has_pairs_at_core=True)


def _optional(plan: Plan) -> Iterator[Unusual]:
    for each in plan.operator.fields:
        if each.type == "TENSOR_DESC" and each.optional and _base(plan)[1].get(each.name) == ABSENT:
            yield Unusual(each.name, f"with-{short(each.name)}", attributes={each.name: PRESENT}, has_kernel=True)


def _attributes(plan: Plan) -> Iterator[Unusual]:
    usual = _base(plan)[1]
    for each in plan.chosen:
        for value in plan.values(each):
            if not alike(value, usual.get(each.name)):
                has_kernel = bool(each.enum) or each.type == "OPERATOR_DESC"
                yield Unusual(each.name, each.name, value_text(value), attributes={each.name: value}, has_kernel=has_kernel)


def _unusual_bindings(plan: Plan) -> Iterator[Unusual]:
    model = model_of(plan)
    plain = _packed_with(plan, ())
    there = {plan.name_of(name) for name, _ in plain.desc.tensors()} if plain else set()
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


# Cases


@cache
def _base(plan: Plan) -> tuple[TypeChoice, Combination]:
    """The first choice of data types, with its usual attributes and without whatever may be absent."""
    choice = plan.choices[0]
    usual = choice.attributes[0]
    absent: dict[str, object] = {f.name: ABSENT for f in plan.operator.fields if f.type == "TENSOR_DESC" and f.optional}
    absent |= {f.name: None for f in plan.chosen if f.type == "OPERATOR_DESC" and None in plan.values(f)}
    bare = Combination({**usual, **absent}, usual.configuration)
    with suppress(*FAILURES):  # an attribute that is computed from a tensor needs it
        if plan.keeps(choice.types, bare) and _even_packed(plan, (choice, bare), {}, table.EVEN_UNITS[-1], table.TILE_BATCHES[0]):
            return choice, bare
    return choice, usual


@cache
def _unit(plan: Plan) -> int:
    """The largest even size of all that is no batch and no window with which the plain dispatch keeps to ``table.TILE_CAP``."""
    for unit in table.EVEN_UNITS:
        desc = _even_packed(plan, _base(plan), {}, unit, table.TILE_BATCHES[0])
        if desc is not None and element_count(desc) <= table.TILE_CAP:
            return unit
    return table.EVEN_UNITS[-1]


def _even_packed(plan: Plan, way: Way, wanted: Sizes, unit: int, batch: int) -> OperatorDesc | None:
    """The packed desc with even sizes, a batch, and the sizes that are wanted; None if there is no valid one."""
    model = model_of(plan)
    sizes = {at: min(unit, model.largest(at[0])) for at in model.dimensions.values()}
    sizes |= {at: table.WINDOW for at in sizes if at[0] in model.window_symbols} | {
        at: batch for at in sizes if is_batch(model, at)
    }
    if plan.operator.turning:  # an operator that works along any axes has planes, where others have batches
        sizes |= {at: min(unit, table.TILE_PLANES) for at in sizes if at[1] == _PLANES}
    desc = even_desc(plan, way, {**sizes, **wanted})
    return desc if desc is not None and has_sizes(plan, desc, wanted) else None


def _pairs(things: Sequence[Unusual]) -> Iterator[tuple[Unusual, Unusual]]:
    """Each two things that can be unusual at once."""
    return (
        (one, other)
        for one, other in combinations(things, 2)
        if one.factor != other.factor and not one.bound.keys() & other.bound.keys()
    )


@dataclass(frozen=True, slots=True)
class _Packed:
    """A packed desc, and its choice of data types."""

    desc: OperatorDesc
    choice: TypeChoice


@cache
def _packed_descs(plan: Plan) -> dict[tuple[str, ...], _Packed | None]:
    """The packed descs by the labels of what is unusual in them: dozens of cases differ in what is bound alone."""
    return {}


def _packed_with(plan: Plan, things: Sequence[Unusual]) -> _Packed | None:
    batch = table.TILE_BATCHES[len(things)]
    known, key = (
        _packed_descs(plan),
        (str(batch), *(part for each in things if not each.bound for part in (each.label, each.value))),
    )
    if key not in known:
        choice, usual = _base(plan)
        choice = next((each.choice for each in things if each.choice is not None), choice)
        more = {name: value for each in things for name, value in each.attributes.items()}
        wanted = {at: size for each in things for at, size in each.sizes.items()}
        desc = _even_packed(plan, (choice, Combination({**usual, **more}, usual.configuration)), wanted, _unit(plan), batch)
        known[key] = _Packed(desc, choice) if desc is not None and element_count(desc) <= 4 * table.TILE_CAP else None
    return known[key]


def _case(plan: Plan, things: Sequence[Unusual], level: str) -> Case | None:
    model, packed = model_of(plan), _packed_with(plan, things)
    if packed is None:
        return None
    bound = {k: v for each in things for k, v in each.bound.items()}
    if not _fit(model, packed.desc, bound):
        return None
    random = Random(f"{plan.operator.name}/{[each.label for each in things]}")  # noqa: S311 (reproducible, no secret)
    laid, bindings = bind(model, packed.desc, bound, random)
    if allowed_desc(plan, laid) is None:
        return None
    alias = model.aliases.get(bound.get("in place", ""), {})
    return build(
        KIND,
        (KIND, ".".join(each.label for each in things) or "plain"),
        laid,
        packed.choice,
        level=level,
        in_place=alias,
        bindings=bindings,
        offset=offset_of(bound.get("offset", str(OFFSETS[0])), random),
        resource=RESOURCES[bound.get("resource", "apart")],
        covers=[f"{KIND}/{each.factor}" for each in things],
    )


def _fit(model: Model, desc: OperatorDesc, bound: Mapping[str, str]) -> bool:
    """Whether each value makes a difference for the desc, and fits to the others."""
    row = [factor.values.index(bound[factor.name]) if factor.name in bound else NONE for factor in model.factors]
    return all(is_allowed(model, desc, row, factor, bound[factor.name]) for factor in model.factors if factor.name in bound)
