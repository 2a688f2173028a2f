"""What the cases of a kernel have of structural conditions, alone and in pairs, and what they lack.

That a kernel ran says little of what it was asked to do. Of each operator and kernel that enough cases run, the table says how many of them
meet each condition and each pair of conditions on different things.

**What is missing.** A condition, or a pair, that some other case of the operator meets is one that the spec allows. The kernel may still never run with it: who
chose the kernel looked at the very thing, such as the data type. So what is absent is *missing* only where its absence may be chance. If it had
nothing to do with the choice, its cases would be spread over the operator's kernels like all others: of n cases of the kernel, n times its share of all cases. Where at
least ``SURELY`` of them are expected and there is none, the kernel *excludes* it: no more cases of the kind will bring it. So it does where all of its
cases have the same value, the same data type as a rule, and chance would hardly do that either. A pair is looked at where the kernel meets both conditions, and expected as often as if they had nothing to do with each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Condition = tuple[str, str]
"""What it is about, and its value."""

Pair = tuple[Condition, Condition]

ENOUGH = 10
"""How many cases of an operator must run a kernel, for a table of it."""

SURELY = 7.0
"""So many expected cases, and none found: chance would do that once in a thousand times (e to the power of -SURELY)."""


@dataclass(frozen=True, slots=True)
class Within:
    """A kernel in the cases of an operator: how many of its ``cases`` meet each condition, alone and in pairs; those that none meets are ``missing`` or ``excluded``."""

    operator: str
    label: str
    cases: int
    alone: Mapping[Condition, int]
    missing: tuple[Condition, ...]
    excluded: tuple[Condition, ...]
    pairs: Mapping[Pair, int]
    missing_pairs: tuple[Pair, ...]
    excluded_pairs: int

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "label": self.label,
            "cases": self.cases,
            "alone": [{"condition": list(condition), "cases": cases} for condition, cases in self.alone.items()],
            "missing": [list(condition) for condition in self.missing],
            "excluded": [list(condition) for condition in self.excluded],
            "pairs": {"ran": len(self.pairs), "missing": len(self.missing_pairs), "excluded": self.excluded_pairs},
            "missing_pairs": [[list(one), list(other)] for one, other in self.missing_pairs],
        }


@dataclass(frozen=True, slots=True)
class Share:
    """How many conditions, or pairs of them, ``ran``, and how many are ``missing``, in some kernels together."""

    ran: int
    missing: int

    @property
    def part(self) -> float:
        """The part that ran, 0 to 1; 1 where there is none."""
        return self.ran / (self.ran + self.missing) if self.ran + self.missing else 1.0

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {"ran": self.ran, "missing": self.missing, "share": round(self.part, 4)}


def tables(operator: str, cases: Sequence[tuple[Iterable[str], frozenset[Condition]]]) -> list[Within]:
    """The table of each kernel that enough of an operator's cases run, given as their labels and conditions; those that lack most come first."""
    known = sorted({condition for _, met in cases for condition in met})
    place = {condition: at for at, condition in enumerate(known)}
    meets = np.zeros((len(cases), len(known)), np.int32)
    owners: dict[str, list[int]] = {}
    for at, (labels, met) in enumerate(cases):
        meets[at, [place[condition] for condition in met]] = 1
        for label in labels:
            owners.setdefault(label, []).append(at)
    differ = np.array([[one[0] != other[0] for other in known] for one in known], np.bool_).reshape(len(known), len(known))
    allowed = np.triu((meets.T @ meets > 0) & differ)
    share = meets.mean(axis=0) if len(cases) else np.zeros(0)
    found = [_table(operator, label, known, meets[own], share, allowed) for label, own in owners.items() if len(own) >= ENOUGH]
    return sorted(found, key=lambda each: (-len(each.missing_pairs), each.label))


def _table(
    operator: str,
    label: str,
    known: Sequence[Condition],
    meets: NDArray[np.int32],
    share: NDArray[np.float64],
    allowed: NDArray[np.bool_],
) -> Within:
    counts, cases = meets.sum(axis=0), len(meets)
    absent = counts == 0
    surely = (share * cases >= SURELY) | _of_chosen_names(known, counts, share, cases)
    both = meets.T @ meets
    asked = allowed & ~absent[:, None] & ~absent[None, :]
    expected = np.outer(counts, counts) / cases
    lacking = asked & (both == 0)

    def pairs(where: NDArray[np.bool_]) -> list[tuple[Pair, int]]:
        return [((known[one], known[other]), int(both[one, other])) for one, other in np.argwhere(where).tolist()]

    return Within(
        operator,
        label,
        cases,
        {known[at]: int(counts[at]) for at in np.flatnonzero(~absent).tolist()},
        tuple(known[at] for at in np.flatnonzero(absent & ~surely).tolist()),
        tuple(known[at] for at in np.flatnonzero(absent & surely).tolist()),
        dict(pairs(asked & ~lacking)),
        tuple(pair for pair, _ in pairs(lacking & (expected < SURELY))),
        int((lacking & (expected >= SURELY)).sum()),
    )


def _of_chosen_names(
    known: Sequence[Condition], counts: NDArray[np.int64], share: NDArray[np.float64], cases: int
) -> NDArray[np.bool_]:
    """The conditions on what all cases of a kernel have one and the same value of, by more than chance."""
    names = Counter(known[at][0] for at in np.flatnonzero(counts).tolist())
    by_name: dict[str, float] = {}
    for at, (name, _) in enumerate(known):
        if counts[at] and names[name] == 1:
            by_name[name] = share[at] ** cases
    return np.array([by_name.get(name, 1.0) <= np.exp(-SURELY) for name, _ in known], np.bool_)


def share_alone(found: Iterable[Within]) -> Share:
    """The conditions, alone, of some kernels."""
    every = list(found)
    return Share(sum(len(each.alone) for each in every), sum(len(each.missing) for each in every))


def share_of_pairs(found: Iterable[Within]) -> Share:
    """The pairs of conditions of some kernels."""
    every = list(found)
    return Share(sum(len(each.pairs) for each in every), sum(len(each.missing_pairs) for each in every))


def often_missing(found: Iterable[Within]) -> Counter[tuple[Condition, ...]]:
    """In how many kernels each condition, and each pair, is missing."""
    return Counter(lack for each in found for lack in (*((condition,) for condition in each.missing), *each.missing_pairs))
