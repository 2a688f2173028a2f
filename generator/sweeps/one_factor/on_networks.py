"""What real networks dispatch, cut to small sizes, with one thing unusual, and two: a size that is no multiple of anything, a layout, another way to bind.

Kernels are chosen by what the network's dispatch is, its structure; here something else is unusual beside it. At core the things take turns, a few a kind,
since many kinds are alike; at full each kind has all of them, and some pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

from dmlcts.generator.case.build import distinct
from dmlcts.generator.case.case import Case, is_beyond
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.engine import has_sizes, is_batch, sizes_of
from dmlcts.generator.sweeps.networks import allowed_kinds, cut_desc, sizes_text
from dmlcts.generator.sweeps.one_factor.unusual import Unusual, bound_case, pairs_of, unusual_bindings
from dmlcts.spec.model.desc import OperatorDesc

_T = TypeVar("_T")


def on_network_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Each kind of dispatch that a network has, cut, with what is unusual. Those of core come first, as two kinds may be alike when they are cut."""
    if is_beyond("core", most):
        return
    every = list(_kinds_with_things(plan))
    cases = (_core_cases(kind, turn) for turn, kind in enumerate(every))
    more = () if is_beyond("full", most) else (_full_cases(plan, kind, turn) for turn, kind in enumerate(every))
    yield from distinct(chain.from_iterable(chain(cases, more)))


@dataclass(frozen=True, eq=False, slots=True)
class _Kind:
    """A kind of dispatch, as it is and cut, and the case of each thing that may be unusual of it."""

    desc: OperatorDesc
    choice: TypeChoice
    plain: OperatorDesc
    alone: list[tuple[Unusual, Case]]


def _kinds_with_things(plan: Plan) -> Iterator[_Kind]:
    for desc, choice in allowed_kinds(plan):
        plain = cut_desc(plan, choice, desc)
        if plain is not None:
            things = (*_rests(plan, plain), *unusual_bindings(plan, plain))
            alone = [(each, case) for each in things if (case := _case(plan, choice, desc, plain, (each,)))]
            yield _Kind(desc, choice, plain, alone)


def _core_cases(kind: _Kind, turn: int) -> Iterator[Case]:
    yield from (replace(case, level="core") for _, case in in_turn(kind.alone, turn, table.NETWORK_THINGS))


def _full_cases(plan: Plan, kind: _Kind, turn: int) -> Iterator[Case]:
    yield from (case for _, case in kind.alone)
    pairs = in_turn(tuple(pairs_of([each for each, _ in kind.alone])), turn, table.NETWORK_PAIRS)
    yield from filter(None, (_case(plan, kind.choice, kind.desc, kind.plain, pair) for pair in pairs))


def in_turn(every: Sequence[_T], turn: int, count: int) -> list[_T]:
    """So many of these: those of a turn follow those of the turn before."""
    return [every[(turn * count + step) % len(every)] for step in range(min(count, len(every)))]


def _rests(plan: Plan, plain: OperatorDesc) -> Iterator[Unusual]:
    """Each size that is no window and no batch, as no multiple of anything."""
    model = model_of(plan)
    for name, at in model.dimensions.items():
        if at[0] not in model.window_symbols and not is_batch(model, at) and sizes_of(plan, plain).get(at, 1) > 1:
            rest = min(table.NETWORK_REST, model.largest(at[0]))
            yield Unusual(f"size {name}", f"{name}={rest}", sizes={at: rest})


def _case(plan: Plan, choice: TypeChoice, desc: OperatorDesc, plain: OperatorDesc, things: Sequence[Unusual]) -> Case | None:
    wanted = {at: size for each in things for at, size in each.sizes.items()}
    cut = cut_desc(plan, choice, desc, wanted) if wanted else plain
    if cut is None or not has_sizes(plan, cut, wanted):
        return None
    return bound_case(plan, cut, choice, things, (sizes_text(plan, plain),), "full")
