"""A tile-sized dispatch, typical in everything, with one thing unusual, two, three: the form of nearly every dispatch of a real client.

Kernels take their fast path for a plain, unfused, batched dispatch of even sizes, and leave it for one reason or two: a stride, a rest, a vector, an
optional tensor, an activation. Combinations in which many things are unusual never come there. An operator has kernels, in the words of this module, if it
reads an element from more places than its own, or has optional parts; of any other there is less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import model_of, short
from dmlcts.generator.plan.attributes import Combination, alike, value_text
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import Sizes, Way, element_count, even_desc, has_sizes, is_batch
from dmlcts.generator.sweeps.one_factor.unusual import Unusual, bound_case, fit_together, pairs_of, triples_with, unusual_bindings
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, PRESENT
from dmlcts.spec.rules.shape import FAILURES

_PLANES = -3
"""The place of planes from the end."""


def typical_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The tile-sized dispatch with nothing unusual, one thing, two, three.

    Of an operator that has kernels: at core each thing alone, and pairs of a few; at full all pairs, those with what changes the kernel in triples,
    and triples of the few. Of any other: at core the few alone; at full the rest, and pairs of the few.
    """
    if is_beyond("core", most):
        return
    things = unusual(plan)
    few = [each for each in things if each.has_pairs_at_core]
    kernels = has_kernels(plan)
    rows: list[tuple[str, Sequence[Unusual]]] = [("core", ())]
    rows += [("core", (each,)) for each in (things if kernels else few)]
    rows += [("core", pair) for pair in pairs_of(few) if kernels]
    if not is_beyond("full", most):
        rows += [("full", row) for row in (_pairs_at_full(things) if kernels else [*((each,) for each in things), *pairs_of(few)])]
    yield from distinct(filter(None, (_case(plan, row, level) for level, row in rows)))
    if kernels and not is_beyond("full", most):
        yield from distinct(_triples(plan, things))


def _pairs_at_full(things: Sequence[Unusual]) -> Iterator[tuple[Unusual, Unusual]]:
    """The pairs that are a case each: of one of the few, with whatever leaves the kernel as it is."""
    for pair in pairs_of(things):
        if any(each.has_pairs_at_core for each in pair) and not any(each.has_kernel for each in pair):
            yield pair


def _triples(plan: Plan, things: Sequence[Unusual]) -> Iterator[Case]:
    """Triples of the few, in equal steps through all of them, and so many others that each pair occurs that is no case of its own.

    Where three things do not go together, their pairs stand alone.
    """
    alone = {_names(pair) for pair in _pairs_at_full(things)}
    wanted = [pair for pair in pairs_of(things) if _names(pair) not in alone]
    few = [row for row in combinations([each for each in things if each.has_pairs_at_core], 3) if fit_together(*row)]
    for row in chain(few[:: -(-len(few) // table.TILE_TRIPLES) or 1], triples_with(things, wanted)):
        case = _case(plan, row, "full")
        pairs = (pair for pair in pairs_of(row) if _names(pair) not in alone) if case is None else ()
        yield from filter(None, (case, *(_case(plan, pair, "full") for pair in pairs)))


def _names(things: Sequence[Unusual]) -> tuple[tuple[str, str], ...]:
    return tuple((each.label, each.value) for each in things)


def has_kernels(plan: Plan) -> bool:
    """Whether an operator reads an element from more places than its own, or has optional parts."""
    model, operator = model_of(plan), plan.operator
    optional = any(f.type == "OPERATOR_DESC" or (f.type == "TENSOR_DESC" and f.optional) for f in operator.fields)
    return optional or operator.turning is not None or len({symbol for symbol, _ in model.dimensions.values()}) > 1


# What may be unusual


@cache
def unusual(plan: Plan) -> tuple[Unusual, ...]:
    """Everything that may be unusual of a tile-sized dispatch, one thing each."""
    return (*_types(plan), *_sizes(plan), *_optional(plan), *_attributes(plan), *unusual_bindings(plan, _plain(plan)))


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


def _plain(plan: Plan) -> OperatorDesc | None:
    """The desc of the dispatch with nothing unusual."""
    packed = _packed_with(plan, ())
    return packed.desc if packed else None


# Descs


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
    packed = _packed_with(plan, things)
    return bound_case(plan, packed.desc, packed.choice, things, (), level) if packed else None
