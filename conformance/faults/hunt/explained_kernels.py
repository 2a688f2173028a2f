"""Faults in one code path, without a run: is that path named? An implementation is drawn that chooses kernels by rules, and one of its kernels is wrong.

The rules are what implementations choose by: the data type, and two to four properties as in ``explained`` (a size above a threshold or a multiple of a tile,
an attribute's value, a layout). So most kernels are reached by conditions that no explanation of one to three states, and some by one alone. What no
kernel is to blame for is planted too: a condition drawn apart from the rules. Then none may be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from dmlcts.conformance.faults.hunt.explained import FEWEST, HIDDEN, Planter, spread_over
from dmlcts.conformance.runner.explaining.kernels import named_in, with_kernels
from dmlcts.conformance.runner.explaining.reasons import Reason, reasons
from dmlcts.generator.facts.explanations import Facts, Flags

_LEAST_RULES, _MOST_RULES = 2, 4
_DRAWS = 50


@dataclass(frozen=True, slots=True)
class PlantedKernel:
    """A wrong kernel of an implementation with so many ``kernels``, and what was named first.

    ``inside`` cases ran it. ``right``: it was named alone; ``unsteady``: also where one in ``HIDDEN`` of these cases passes. ``innocent``: where a condition
    apart from the rules was planted instead, no kernel was named but one that the very same cases run.
    """

    operator: str
    kernel: str
    kernels: int
    named: tuple[str, ...]
    inside: int
    right: bool
    unsteady: bool
    innocent: bool


def kernels_of(planter: Planter, random: Random) -> list[str]:
    """Which kernel each case runs, by rules that are drawn: at least two kernels, as far as a few draws find them."""
    found = [""] * len(planter.cases)
    for _ in range(_DRAWS):
        rules = [planter.draw_property(random) for _ in range(random.randint(_LEAST_RULES, _MOST_RULES))]
        by_type = random.random() < 0.7
        found = [
            f"{case.data_type if by_type else 'any type'}, variant {''.join(str(int(rule.holds[at])) for rule in rules)}"
            for at, case in enumerate(planter.cases)
        ]
        if len(set(found)) > 1:
            break
    return found


def trial(planter: Planter, random: Random) -> PlantedKernel | None:
    """Draws an implementation, and plants a fault in one of its kernels; None if it has no kernel that enough cases run, and enough do not."""
    ran = kernels_of(planter, random)
    counts = {label: ran.count(label) for label in dict.fromkeys(ran)}
    fit = [label for label, count in counts.items() if FEWEST <= count <= len(ran) - FEWEST]
    if not fit:
        return None
    kernel = random.choice(fit)
    true = np.array([label == kernel for label in ran])
    facts = [with_kernels(each, [label]) or each for each, label in zip(planter.facts, ran, strict=True)]
    shows = np.array([random.random() >= 1 / HIDDEN for _ in ran])
    first = _first(facts, true)
    return PlantedKernel(
        planter.operator,
        kernel,
        len(counts),
        first.conditions if first else (),
        int(true.sum()),
        names(first, kernel),
        names(_first(facts, true & shows), kernel),
        _is_innocent(planter, facts, ran, random),
    )


def _first(facts: Sequence[Facts], failing: Flags) -> Reason | None:
    """What is named first if these cases fail and all others pass."""
    found = reasons(facts, failing, ~failing, most=1) if failing.any() else []
    return found[0] if found else None


def names(reason: Reason | None, kernel: str) -> bool:
    """Whether a reason is this kernel alone."""
    return reason is not None and named_in(reason.conditions) == (kernel,) and len(reason.conditions) == 1


def _is_innocent(planter: Planter, facts: Sequence[Facts], ran: Sequence[str], random: Random) -> bool:
    """Whether no kernel is named for a condition that has nothing to do with them."""
    planted = planter.plant(random.randint(1, 2), random)
    if planted is None:
        return True
    true = planter.cases_with_all(planted)
    first = _first(facts, true)
    named = named_in(first.conditions) if first else ()
    return all((np.array([label == kernel for label in ran]) == true).all() for kernel in named)


def kernel_trials(operators: Sequence[str], count: int, seed: int, level: str = "core") -> Iterator[PlantedKernel]:
    """So many trials, a few each of operators drawn from these."""
    return spread_over(operators, count, seed, level, lambda planter, random, _: trial(planter, random))
