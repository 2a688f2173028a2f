"""What separates failing from passing cases: the smallest conjunctions of conditions that only failing cases meet, or nearly.

Several conjunctions are compared by description length: the bits that state the conditions, which of the matching cases pass, and which of the
other cases fail. The shortest wins. A fault need not show in every matching case, and among a thousand conditions some always exclude the few
cases that pass by chance: such a condition costs more bits than it saves.

The search is exact for conjunctions of one to three conditions: one that no passing case meets has, for each passing case, a condition that
this case does not meet. So it begins with the passing case that the fewest conditions leave out, and branches over these. A fourth and a fifth
condition are added where each says more than it costs.

Conditions that all failures meet, though not all that meet them fail, are looked for beside: where a fault shows in few cases, they may be all
that can be known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]

Score = Callable[[Any, Any, Any], Any]
"""How good conjunctions are that cover so many failures, that so many passing cases meet, and that cost so many bits. Of arrays and numbers."""

MOST_CONDITIONS = 5
MOST_SEPARATIONS = 5
"""How many conditions a conjunction has at most, and how many conjunctions explain the failures of one kind."""

MOST_SEARCHED = 3
"""How many conditions the exact search tries together; further ones are added one by one."""

FEWEST_THAT_NEED, MOST_NEEDED = 3, 3
"""How many failures there must be for a condition that all of them meet to say something, and how many such conditions are named."""

_FURTHER = 6.0
"""The bits that a fourth and a fifth condition must save beyond what they cost: among so many, some leave out a few cases by chance."""

_CLEARLY = 4.0
"""The bits that a condition which all failures meet must save beyond what it costs; a further one half as many."""

_SEEDS = 3
"""From how many failures a search begins, where no conjunction covers all."""

_NODES, _ALL_NODES = 500, 4_000
"""The most branches from one failure, and of a whole search: a limit for hopeless data."""

_EXCEPTION = 5.0
"""The bits that each passing case that meets a conjunction costs, beside those that state which of the matching cases it is."""

_SIMPLER = 2.0
"""How many bits a condition costs more for each unit of its weight: of all weights together, few are simple."""

_LIKELY = 0.5
"""The share of failing cases among those that meet a conjunction, below which it is not worth saying."""

_TELLING, _PAIRS = 800, 40
"""Where passing cases may meet a conjunction: how many conditions are tried in pairs, and how many pairs with a third."""

_MOST_RIVALS = 200


@dataclass(frozen=True, slots=True)
class Separation:
    """A conjunction, as indices of conditions: how many failing and passing cases meet it, and how many failures it covers that none before does.

    ``rivals`` are other conjunctions that are as good for the cases seen, the simplest first.
    """

    conditions: tuple[int, ...]
    failing: int
    passing: int
    new: int
    rivals: tuple[tuple[int, ...], ...] = ()


def separations(holds: Flags, failing: Flags, passing: Flags, weights: NDArray[np.int64]) -> list[Separation]:
    """The conjunctions that explain the failures, each with what those before leave unexplained, by one ``Search`` for all."""
    search = Search(holds, failing, passing, weights)
    found: list[Separation] = []
    left = np.ones(int(failing.sum()), np.bool_)
    while left.any() and len(found) < MOST_SEPARATIONS and (best := search.best(left, first=not found)):
        found.append(best)
        left &= ~search.covered_cases(best)
    if not found and left.any() and (likeliest := search.likeliest()):
        return [likeliest]
    return found


class Search:
    """A search for what separates the failing from the passing cases.

    ``holds`` has a row for each condition and a column for each case; of the cases that are neither failing nor passing only their number
    counts, as a sign of how general a condition is. Of conditions alike on all failing and passing cases the simplest stands for all.
    """

    def __init__(self, holds: Flags, failing: Flags, passing: Flags, weights: NDArray[np.int64]) -> None:
        fails, passes = holds[:, failing], holds[:, passing]
        general = holds.sum(axis=1)
        order = np.lexsort((np.arange(len(holds)), -general, weights))
        packed = np.packbits(np.concatenate([fails, passes], axis=1), axis=1)
        self.alike: dict[bytes, list[int]] = {}
        for at in order.tolist():
            self.alike.setdefault(packed[at].tobytes(), []).append(at)
        groups = [group for group in self.alike.values() if fails[group[0]].any() and not passes[group[0]].all()]
        self.groups = groups
        self.place = {group[0]: at for at, group in enumerate(groups)}
        kept = np.array([group[0] for group in groups], np.int64)
        self.fails, self.passes = fails[kept], passes[kept]
        self.weights, self.general = weights[kept], general[kept]
        _, kind, counts = np.unique(self.weights, return_inverse=True, return_counts=True)
        self.bits = _SIMPLER * self.weights + 1 + np.log2(counts)[kind]

    # Those that say when the cases fail

    def best(self, left: Flags, most: int = MOST_CONDITIONS, first: bool = True) -> Separation | None:
        """The conjunction of at most so many conditions that explains most of the failures that are left; None if chance explains as much.

        Preferred are conjunctions that no passing case meets, that cover most failures, and
        have the fewest and then the simplest conditions. One that passing cases meet is taken if stating these exceptions needs fewer bits than a
        further condition that excludes them: a fault need not show in every case. What is no
        better than chance is left out, unless it is the ``first`` and covers all failures.
        """
        if not len(self.fails):
            return None
        candidates = [shorter for each in self.exact(left) for shorter in self.shorter_conjunctions(each, left)]
        candidates += self.rough(left)
        candidates = [each for each in candidates if len(each) <= most]
        candidates += [longer for each in candidates if (longer := self.extend(each, left, most)) != each]
        gains = [(self.evidence(each, left), -at) for at, each in enumerate(candidates)]
        if not gains:
            return None
        gain, at = max(gains)
        best = candidates[-at]
        new = int((self.cases_inside(best) & left).sum())
        whole = first and new == len(left) and not self.passing_inside(best)
        return self.separation(best, left) if new >= min(2, len(left)) and (gain > 0 or whole) else None

    def extend(self, conjunction: tuple[int, ...], left: Flags, most: int) -> tuple[int, ...]:
        """A conjunction with further conditions, up to so many, as long as each of them adds evidence."""
        failures = int(left.sum())
        while len(conjunction) < most and self.passing_inside(conjunction):
            failing, passing = self.cases_inside(conjunction) & left, self.passes[list(conjunction)].all(axis=0)
            new, inside = self.fails[:, failing].sum(axis=1), self.passes[:, passing].sum(axis=1)
            worth = self.worth(new, inside, self.bits[list(conjunction)].sum() + self.bits, failures)
            at = int(np.argmax(worth))
            if worth[at] <= self.evidence(conjunction, left) + _FURTHER:
                break
            conjunction = tuple(sorted((*conjunction, at)))
        return conjunction

    # Those that failures need

    def needed_conditions(self, left: Flags) -> tuple[Separation, float] | None:
        """The conditions that all failures that are left meet, whether they decide or not, and the bits that they save; None if chance does as much."""
        if left.sum() < FEWEST_THAT_NEED or not len(self.fails):
            return None
        every = np.flatnonzero(self.fails[:, left].all(axis=1))
        failures, passing = int(left.sum()), np.ones(self.passes.shape[1], np.bool_)
        chosen: list[int] = []
        saved = 0.0
        while len(every) and len(chosen) < MOST_NEEDED:
            inside = (self.passes[every] & passing).sum(axis=1)
            bits = self.bits[chosen].sum() + self.bits[every]
            gains = self.worth(failures, inside, bits, failures, exception=0.0)
            at = int(np.argmax(gains))
            if gains[at] <= saved + _CLEARLY / (2 if chosen else 1):
                break
            saved = float(gains[at])
            chosen.append(int(every[at]))
            passing = passing & self.passes[every[at]]
        if not chosen:
            return None
        telling = tuple(self.groups[at][0] for at in sorted(chosen, key=lambda at: int(self.weights[at])))  # simple ones first
        return replace(self.separation(tuple(chosen), left), conditions=telling), saved

    def saved_bits(self, found: Separation, left: Flags) -> float:
        """The bits that a conjunction saves, its exceptions only stated: comparable with those of conditions that failures need."""
        at = [self.place[each] for each in found.conditions]
        return float(self.worth(found.new, found.passing, self.bits[at].sum(), int(left.sum()), exception=0.0))

    def covered_cases(self, found: Separation) -> Flags:
        """Which failing cases meet what was found."""
        return self.cases_inside([self.place[each] for each in found.conditions])

    def cases_inside(self, conjunction: Sequence[int]) -> Flags:
        """The failing cases that meet a conjunction."""
        found: Flags = np.logical_and.reduce(self.fails[list(conjunction)], axis=0)
        return found

    def passing_inside(self, conjunction: Sequence[int]) -> int:
        """How many passing cases meet a conjunction."""
        return int(self.passes[list(conjunction)].all(axis=0).sum())

    def evidence(self, conjunction: Sequence[int], left: Flags) -> float:
        """The bits that the conjunction saves: the description length of all outcomes without it, less that with it. With it, the description is
        its conditions, which of the matching cases pass, and which of the others fail.

        At 0 or below, chance explains as much: some conjunction of so many conditions covers as many failures whatever the reason.
        """
        new = int((self.cases_inside(conjunction) & left).sum())
        return float(self.worth(new, self.passing_inside(conjunction), self.bits[list(conjunction)].sum(), int(left.sum())))

    def worth(self, new: Any, passing: Any, bits: Any, failures: int, exception: float = _EXCEPTION) -> Any:
        """The same of a conjunction's new failures, of all ``failures``, the passing cases that meet it, and the bits that its conditions cost."""
        every = self.passes.shape[1]
        without = _choices(failures + every, failures)
        outside = _choices(failures - new + every - passing, failures - new)
        return without - _choices(new + passing, passing) - outside - bits - exception * passing

    def shorter_conjunctions(self, conjunction: tuple[int, ...], left: Flags) -> list[tuple[int, ...]]:
        """A conjunction, and those that it becomes by leaving out conditions, one after another, each time that which is best left out."""
        found = [conjunction]
        while len(found[-1]) > 1:
            parts = [tuple(each for each in found[-1] if each != out) for out in found[-1]]
            found.append(max(parts, key=lambda part: self.evidence(part, left)))
        return found

    def order(self, conjunction: Sequence[int]) -> tuple[int, int, int]:
        """What makes a conjunction preferable to others that cover as many: fewer, simpler and more general conditions."""
        at = list(conjunction)
        return len(at), int(self.weights[at].sum()), -int(self.general[at].sum())

    def separation(self, conjunction: Sequence[int], left: Flags) -> Separation:
        """A conjunction with what it covers, and the others that cover the same."""
        inside = self.cases_inside(conjunction)
        rivals = [
            other
            for other in self.equals
            if other != tuple(conjunction)
            and len(other) == len(conjunction)
            and ((self.cases_inside(other) & left) == (inside & left)).all()
        ]
        return Separation(
            tuple(sorted(self.groups[at][0] for at in conjunction)),
            int(inside.sum()),
            self.passing_inside(conjunction),
            int((inside & left).sum()),
            tuple(self._name_conjunctions([tuple(conjunction), *rivals]))[1:],
        )

    def _name_conjunctions(self, conjunctions: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Conjunctions by the caller's indices, and beside each those in which one condition is exchanged for one alike."""
        found: dict[tuple[int, ...], None] = {}
        for conjunction in conjunctions:
            first = tuple(self.groups[at][0] for at in conjunction)
            found[tuple(sorted(first))] = None
            for place, at in enumerate(conjunction):
                for other in self.groups[at][1:]:
                    found[tuple(sorted((*first[:place], other, *first[place + 1 :])))] = None
        return list(found)[:_MOST_RIVALS]

    # Without a passing case

    budget = _ALL_NODES
    """How many branches are left for all searches."""

    equals: tuple[tuple[int, ...], ...] = ()
    """The conjunctions of the last search that are equally good."""

    def exact(self, left: Flags) -> list[tuple[int, ...]]:
        """The best conjunction that no passing case meets, if there is one."""
        fails = self.fails[:, left]
        everywhere = np.flatnonzero(fails.all(axis=1))
        found = self._branch(everywhere, left)
        if not found:
            seeds = np.flatnonzero(left)
            picked = np.unique(np.linspace(0, len(seeds) - 1, min(_SEEDS, len(seeds))).round().astype(int))
            for seed in seeds[picked]:
                found += self._branch(np.flatnonzero(self.fails[:, seed]), left)
        if not found:
            self.equals = ()
            return []
        most = max(int((self.cases_inside(each) & left).sum()) for each in found)
        best = sorted({each for each in found if int((self.cases_inside(each) & left).sum()) == most}, key=self.order)
        self.equals = tuple(best)
        return best[:1]

    def _branch(self, allowed: NDArray[np.int64], left: Flags) -> list[tuple[int, ...]]:
        """The conjunctions of allowed conditions that no passing case meets and that cover most of what is left, with the fewest conditions."""
        fails, passes = self.fails[np.ix_(allowed, left)], self.passes[allowed]
        if not len(allowed):
            return []
        leaves_out = (~passes).sum(axis=0)
        if (leaves_out == 0).any():
            return []
        covered = fails.sum(axis=1)
        hardest = np.argsort(leaves_out, kind="stable")
        found: list[tuple[int, ...]] = []
        best, nodes = 2 if left.sum() > 1 else 1, 0

        def note(conjunction: tuple[int, ...], count: int) -> None:
            nonlocal best
            if count > best:
                best = count
                found.clear()
            found.append(conjunction)

        def branch(chosen: tuple[int, ...], failures: Flags, remaining: Flags, depth: int) -> None:
            nonlocal nodes
            nodes += 1
            case = hardest[remaining[hardest].argmax()]
            options = np.flatnonzero(~passes[:, case])
            counts = (fails[options] & failures).sum(axis=1)
            wanted = counts >= best if not found or len(found[0]) >= depth else counts > best
            options, counts = options[wanted], counts[wanted]
            order = np.lexsort((self.weights[allowed[options]], -counts))
            options, counts = options[order], counts[order]
            if len(chosen) + 1 == depth:
                clear = ~(passes[options][:, remaining]).any(axis=1)
                for option, count in zip(options[clear].tolist(), counts[clear].tolist(), strict=True):
                    if count > best or (count == best and (not found or len(found[0]) >= depth)):
                        note(tuple(sorted((*chosen, option))), count)
                return
            for option, count in zip(options.tolist(), counts.tolist(), strict=True):
                if nodes > min(_NODES, self.budget) or count < best or (found and len(found[0]) < depth and count == best):
                    break
                rest = remaining & passes[option]
                if rest.any():
                    branch((*chosen, option), failures & fails[option], rest, depth)

        for depth in range(1, MOST_SEARCHED + 1):
            nodes = 0
            branch((), np.ones(fails.shape[1], np.bool_), np.ones(passes.shape[1], np.bool_), depth)
            self.budget -= nodes
            if found and best == int(covered.max()):
                break
        return [tuple(int(allowed[at]) for at in each) for each in dict.fromkeys(found)]

    # With some

    def rough(self, left: Flags) -> list[tuple[int, ...]]:
        """The conjunctions with the highest gain, whether passing cases meet them or not."""
        failures = int(left.sum())
        return self._best_scored(left, lambda new, inside, bits: self.worth(new, inside, bits, failures))

    def likeliest(self) -> Separation | None:
        """The conjunction that comes closest to the failures (the largest F1 score); None if none comes close."""
        total = self.fails.shape[1]
        if not len(self.fails):
            return None
        found = self._best_scored(
            np.ones(total, np.bool_), lambda new, inside, bits: 2 * new / (new + inside + total) - 1e-6 * bits
        )
        if not found:
            return None
        failing, passing = int(self.cases_inside(found[0]).sum()), self.passing_inside(found[0])
        usual = total / (total + self.passes.shape[1])
        share = failing / (failing + passing)
        close = failing > 1 and share > max(_LIKELY, min(2 * usual, (1 + usual) / 2))
        return self.separation(found[0], np.ones(total, np.bool_)) if close else None

    def _best_scored(self, left: Flags, score: Score) -> list[tuple[int, ...]]:
        """The conjunction with the best score, of the best pairs and what a third condition makes of them."""
        tells = self.fails[:, left].mean(axis=1) - self.passes.mean(axis=1)
        at = np.sort(np.argsort(-tells, kind="stable")[:_TELLING])
        fails, passes = self.fails[np.ix_(at, left)].astype(np.float32), self.passes[at].astype(np.float32)
        bits = self.bits[at]
        pairs = np.triu(score(fails @ fails.T, passes @ passes.T, bits[:, None] + bits))
        np.fill_diagonal(pairs, score(fails.sum(axis=1), passes.sum(axis=1), bits))
        pairs[np.tril_indices(len(at), -1)] = -np.inf
        best = np.argpartition(-pairs, min(_PAIRS, pairs.size - 1), axis=None)[:_PAIRS]
        found = {tuple(sorted({place // len(at), place % len(at)})) for place in best.tolist()}
        for pair in [pair for pair in found if len(pair) == 2]:
            new, inside = fails @ fails[list(pair)].prod(axis=0), passes @ passes[list(pair)].prod(axis=0)
            found.add(tuple(sorted({*pair, int(np.argmax(score(new, inside, bits[list(pair)].sum() + bits)))})))

        def value(each: tuple[int, ...]) -> float:
            new, inside = fails[list(each)].prod(axis=0).sum(), passes[list(each)].prod(axis=0).sum()
            return float(score(new, inside, bits[list(each)].sum()))

        values = {tuple(at[list(each)].tolist()): value(each) for each in found}
        return sorted(values, key=lambda each: (-values[each], self.order(each)))[:1]


def _choices(every: Any, some: Any) -> Any:
    """The bits that state which of all cases these are: the logarithm of the binomial coefficient."""
    return (_log_factorial(every) - _log_factorial(some) - _log_factorial(every - some)) / log(2)


def _log_factorial(number: Any) -> Any:
    """The natural logarithm of the factorial of whole numbers, by Stirling's series: off by 0.001 at most."""
    number = np.maximum(np.asarray(number, np.float64), 1)  # 0! is 1!
    return number * np.log(number) - number + 0.5 * np.log(2 * np.pi * number) + 1 / (12 * number)
