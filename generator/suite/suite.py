"""All cases of an operator, and their selection: by level, basis, feature level, expression (generator/case/id_filter) and shard."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256
from itertools import chain

from dmlcts.generator.case.case import HUGE, LEVELS, Case
from dmlcts.generator.case.case_cache import cached_cases
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.cases import find_random
from dmlcts.generator.random.fuzz_cases import find_numbered
from dmlcts.generator.suite.families import FAMILIES
from dmlcts.generator.suite.grown import earlier_cases, new_cases
from dmlcts.generator.sweeps.networks import label_of, network_cases
from dmlcts.spec.model.abi import FeatureLevel, feature_level
from dmlcts.spec.model.operator import DOCUMENTED, Operator
from dmlcts.spec.reading.loader import load, operator_names

MAKERS = tuple(family.maker for family in FAMILIES)
"""The makers of cases, in the order in which cases run: the easiest to understand come first."""


_USUAL = LEVELS[: LEVELS.index("full") + 1]


@lru_cache(maxsize=16)  # those of all operators take gigabytes
def operator_cases(name: str, most: str = "full") -> tuple[Case, ...]:
    """Every case of an operator up to a level, of every basis, in a fixed order; ids are unique.

    Raises:
        KeyError: no such operator. SpecError, NotGenerable: its spec is wrong or lacks something.
    """
    with _without_collector():
        return cached_cases(name, most, lambda: make_cases(load(name), most))


def network_dispatches(name: str, most: str = "full") -> tuple[Case, ...]:
    """The cases of an operator alone that stand for what networks dispatch: as those of ``operator_cases``, in a fraction of the time."""
    return tuple(network_cases(plan_of(load(name)), most))


def make_cases(operator: Operator, most: str = "full") -> tuple[Case, ...]:
    """Every case of an operator up to a level. The operator need not be one of the package's own."""
    found: dict[str, Case] = {}
    with _without_collector():
        earlier = list(earlier_cases(operator, MAKERS, most))
        for case in chain(earlier, new_cases(operator, MAKERS, most, earlier)):
            known = found.setdefault(case.id, case)
            if known is not case:
                found[case.id] = _merge(known, case)
    return tuple(found.values())


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pauses Python's collector of cycles: cases have none, and it would go through all earlier ones again and again, a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _merge(known: Case, case: Case) -> Case:
    """Merges two equal cases: two values of an attribute may coincide for few dimensions, or for a narrow type."""
    level = min(known.level, case.level, key=LEVELS.index)
    merged = replace(known, level=level, covers=tuple(dict.fromkeys((*known.covers, *case.covers))))
    if merged != replace(case, level=level, covers=merged.covers):
        raise AssertionError(f"two cases are called {case.id}")
    return merged


def find_case(case_id: str) -> Case:
    """The case with this id; it may be a drawn one (generator/random/fuzz_cases). One that is drawn, or a random dispatch, is made alone.

    Raises:
        KeyError: there is none; the message lists similar ids.
    """
    name = case_id.partition("/")[0]
    if name not in operator_names():
        raise KeyError(f"no case {case_id!r}: there is no operator {name!r}; `dmlcts spec list` shows the available ones")
    if drawn := find_numbered(case_id) or find_random(case_id):
        return drawn
    cases: Mapping[str, Case] = {}
    for most in (
        LEVELS if f"/{HUGE}/" in case_id else _USUAL
    ):  # the cases of level full take a hundred times as long to make as those of smoke
        cases = _by_id(name, most)
        if case_id in cases:
            return cases[case_id]
    near = get_close_matches(case_id, cases, n=3, cutoff=0.3)
    raise KeyError(f"no case {case_id!r}; similar ids: {', '.join(near) or 'none'}")


@lru_cache(maxsize=16)
def _by_id(name: str, most: str) -> dict[str, Case]:
    return {case.id: case for case in operator_cases(name, most)}


def select(
    cases: Iterable[Case],
    *,
    level: str = "full",
    basis: str = DOCUMENTED,
    at: FeatureLevel | None = None,
    matching: Callable[[str], bool] | None = None,
    network: str = "",
    shard: tuple[int, int] = (1, 1),
) -> list[Case]:
    """The cases that a run with these options executes.

    ``basis`` documented omits measured and contested cases, but for operators of which no page says what they compute. ``at`` omits cases that only a newer feature level promises. ``shard`` (I, N)
    keeps the I-th of N parts; ``network`` names one whose dispatches alone are wanted. A case's part depends only on its id.
    """
    wanted = LEVELS[: LEVELS.index(level) + 1]
    return [
        case
        for case in cases
        if case.level in wanted
        and (case.basis == DOCUMENTED or basis != DOCUMENTED or case.operator.is_measured_alone)
        and (at is None or feature_level(case.feature_level) <= at)
        and (matching is None or matching(case.id))
        and (not network or label_of(network) in case.covers)
        and in_shard(case.id, shard)
    ]


def in_shard(case_id: str, shard: tuple[int, int]) -> bool:
    """Whether a case is in the I-th of N parts (I, N); that depends only on its id."""
    return shard[1] == 1 or int.from_bytes(sha256(case_id.encode()).digest()[:4], "big") % shard[1] == shard[0] - 1
