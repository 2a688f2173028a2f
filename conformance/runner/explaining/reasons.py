"""The reasons why cases fail, one after another: what is explained is set aside, and what is left is explained anew.

There are two kinds. Of a *deciding* reason, the cases that meet it fail. A *needed* one is met by all failures that are left, though not all
cases that meet it fail, as where a fault shows with some data alone; what is looked for afterwards lies within it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmlcts.generator.facts.conditions import Columns, Conditions, conditions
from dmlcts.generator.facts.explanations import Flags, Key
from dmlcts.reports.explain.explanation import SOME
from dmlcts.reports.explain.separation import MOST_CONDITIONS, MOST_SEPARATIONS, Search, Separation

MOST_NEXT = 3
"""How many cases are named that would tell explanations apart."""


MOST_FAILING, MOST_PASSING = 1_000, 4_000
"""How many cases the search looks at; what it finds is counted in all."""

_OFTEN = 0.5
"""The share of failing cases among those that meet what all failures need, from which it says more than what decides about some of them."""

_WRONG = 2
"""How many failures a condition must cover more, for each passing case that meets it, to be better than another."""

_MIXED = 12.0
"""The bits that conditions on a code path and on something else must save more than plainer ones that explain as many failures."""

_FEW = 8
"""With fewer failures, a needed condition is reported only where no deciding one is found: so few share many things by chance."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Other conditions, and the cases that meet them."""

    conditions: tuple[str, ...]
    meets: Flags


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason: its conditions, the cases that meet them, and the failures that it explains and none before it does.

    One that is ``needed`` explains nothing by itself: of the ``left`` failures, all meet it. ``rivals`` fit the results as well.
    """

    conditions: tuple[str, ...]
    meets: Flags
    explains: Flags
    left: int
    needed: bool = False
    rivals: tuple[Rival, ...] = ()


@dataclass(frozen=True, slots=True)
class _Within:
    """The conditions that all failures that are left meet, and the passing cases that do."""

    conditions: tuple[str, ...]
    meets: Flags
    passing: Flags


def reasons(
    facts: Sequence[Mapping[Key, str | float | bool]], failing: Flags, passing: Flags, most: int = MOST_SEPARATIONS
) -> list[Reason]:
    """What explains the failures, at most so many; empty if nothing does better than chance. ``failing`` and ``passing`` are cases, by their facts."""
    columns, chosen = Columns(facts), _some_cases(failing, MOST_FAILING) | _some_cases(passing, MOST_PASSING)
    left, found = failing.copy(), list[Reason]()
    within, need = _Within((), np.ones_like(failing), passing), None
    may_need = True
    while left.any() and len(found) < most:
        made = conditions(columns, left, within.passing)
        seen = left & chosen if (left & chosen).any() else left
        search = Search(made.holds, seen, within.passing & chosen, made.weights)
        every = np.ones(int(seen.sum()), np.bool_)
        most_conditions, is_first = MOST_CONDITIONS - len(within.conditions), not found or len(every) == 1
        best = search.best(every, most_conditions, first=is_first)
        if best is not None and _is_mixed(made, best):
            others = Search(made.holds & ~made.are_kernels[:, None], seen, within.passing & chosen, made.weights)
            plain = others.best(every, most_conditions, first=is_first)
            best = _least_mixed(
                best, [(search, each) for each in _kernels_alone(made, search, best, every)] + [(others, plain)], search, every
            )
        if need is not None:
            # A needed condition is left out where a deciding one within it covers all failures.
            whole = best is not None and best.new == len(every)
            if not whole:
                found.append(_nearly_deciding(need, left, within) or need)
                if not found[-1].needed:
                    break
            need = None
        elif best is None and not found and len(every) < _FEW:
            best = search.likeliest()
        if may_need and (needed := _needed_conditions(search, best, every)):
            need = _reason(made, needed, within, left, needed=True)
            within, may_need = _Within(need.conditions, need.meets, within.passing & need.meets), False
            continue
        best = best or (None if found else search.likeliest())
        if best is None:
            break
        reason = _reason(made, best, within, left)
        found.append(reason)
        left &= ~reason.meets
        may_need = True
    return found[:most]


def _is_mixed(made: Conditions, found: Separation) -> bool:
    """Whether conditions are about a code path and about something else."""
    return len(found.conditions) > 1 and bool(made.are_kernels[list(found.conditions)].any())


def _kernels_alone(made: Conditions, search: Search, found: Separation, left: Flags) -> list[Separation]:
    """The code paths that conditions are about, each alone."""
    return [search.separation([search.place[at]], left) for at in found.conditions if made.are_kernels[at]]


def _least_mixed(mixed: Separation, plainer: Sequence[tuple[Search, Separation | None]], search: Search, left: Flags) -> Separation:
    """Conditions on a code path and on something else where they are clearly better than plainer ones, else the best of these; each with its search.

    They explain little: among so many, some fit by chance what only the desc decides, or leave out the few cases of the code path in which a
    fault does not show.
    """
    found = [(_evidence(by, each, left), each) for by, each in plainer if each is not None and each.new >= mixed.new]
    evidence, best = max(found, key=lambda each: each[0], default=(0.0, None))
    return best if best is not None and evidence > 0 and evidence + _MIXED > _evidence(search, mixed, left) else mixed


def _evidence(search: Search, found: Separation, left: Flags) -> float:
    """The bits that conditions save."""
    return search.evidence([search.place[at] for at in found.conditions], left)


def _some_cases(which: Flags, most: int) -> Flags:
    """At most so many of some cases, spread evenly."""
    at = np.flatnonzero(which)
    found = np.zeros_like(which)
    found[at[np.unique(np.linspace(0, len(at) - 1, min(most, len(at))).round().astype(int))]] = True
    return found


def _nearly_deciding(reason: Reason, left: Flags, within: _Within) -> Reason | None:
    """What all that is left needs, as what decides, where hardly any case passes that meets it: a fault need not show with all data."""
    passing, failing = int(within.passing.sum()), int(left.sum())
    return replace(reason, needed=False, explains=left) if passing <= SOME * (passing + failing) else None


def _needed_conditions(search: Search, best: Separation | None, left: Flags) -> Separation | None:
    """What all failures need, where it says more of them than the best that decides; None where it does not."""
    if best is not None and best.new == len(left):
        return None
    found = search.needed_conditions(left)
    if found is None:
        return None
    needed, saved = found
    often = needed.failing >= _OFTEN * (needed.failing + needed.passing)
    return needed if best is None or often or saved > search.saved_bits(best, left) else None


def _reason(made: Conditions, found: Separation, within: _Within, left: Flags, *, needed: bool = False) -> Reason:
    """What was found, as a reason. Of conditions alike in the cases that were searched, those are taken that are best in all."""
    every = [found.conditions, *found.rivals]
    meets = [within.meets & made.cases_meeting(each) for each in every]
    if needed:
        every, meets = every[:1], meets[:1]
    else:
        worth = [int((each & left).sum()) - _WRONG * int((each & within.passing).sum()) for each in meets]
        best = max(range(len(every)), key=lambda at: (worth[at], -at))
        every.insert(0, every.pop(best))
        meets.insert(0, meets.pop(best))
    first, *others = (
        Rival((*within.conditions, *(made.texts[at] for at in each)), own) for each, own in zip(every, meets, strict=True)
    )
    explains = np.zeros_like(left) if needed else left & first.meets
    return Reason(first.conditions, first.meets, explains, int(left.sum()), needed, tuple(others))


def next_cases(reason: Reason, ahead: Flags) -> tuple[tuple[str, ...], list[int]]:
    """The simplest rival that differs from the reason in cases ``ahead``, and those that tell most of its rivals apart, at most three.

    Each case is chosen for how evenly it splits the conjunctions that those before it do not tell apart.
    """
    waiting = np.flatnonzero(ahead)
    every = np.array([each[waiting] for each in (reason.meets, *(rival.meets for rival in reason.rivals))], np.bool_)
    differs = (every != every[0]).any(axis=1)
    if not differs.any():
        return (), []
    chosen: list[int] = []
    parts = np.zeros(len(every), np.int64)
    for _ in range(MOST_NEXT):
        gain = np.zeros(len(waiting), np.int64)
        for part in np.unique(parts):
            met = every[parts == part]
            gain += np.minimum(met.sum(axis=0), (~met).sum(axis=0))
        best = int(gain.argmax())
        if gain[best] == 0:
            break
        chosen.append(int(waiting[best]))
        parts = 2 * parts + every[:, best]
    return reason.rivals[int(differs.argmax()) - 1].conditions, chosen
