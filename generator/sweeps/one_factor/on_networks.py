"""What real networks dispatch, cut to small sizes, with one thing unusual, and two: a size that is no multiple of anything, a layout, another way to bind.

Kernels are chosen by what the network's dispatch is, its structure; here something else is unusual beside it. At core the things take turns, a few a kind,
since many kinds are alike; at full each kind has all of them, and some pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
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
    """Each kind of dispatch that a network has, cut, with what is unusual."""
    if not is_beyond("core", most):
        yield from distinct(_cases(plan, most))


def _cases(plan: Plan, most: str) -> Iterator[Case]:
    for turn, (desc, choice) in enumerate(allowed_kinds(plan)):
        plain = cut_desc(plan, choice, desc)
        if plain is None:
            continue
        things = (*_rests(plan, plain), *unusual_bindings(plan, plain))
        alone = [(each, case) for each in things if (case := _case(plan, choice, desc, plain, (each,)))]
        yield from (replace(case, level="core") for _, case in in_turn(alone, turn, table.NETWORK_THINGS))
        if not is_beyond("full", most):
            yield from (case for _, case in alone)
            pairs = tuple(pairs_of([each for each, _ in alone]))
            yield from filter(None, (_case(plan, choice, desc, plain, pair) for pair in in_turn(pairs, turn, table.NETWORK_PAIRS)))


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
