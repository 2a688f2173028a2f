"""Conditions on cases, in words: what may separate those that fail from those that pass (reports/explain/separation).

A condition is about one fact (generator/facts/explanations),
or compares two sizes: ``ScaleTensor is per-channel``, ``the rank is 5 or more``, ``size N is a multiple of 16``, ``size N is larger than size M``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.facts.comparisons import PRODUCT, TOGETHER
from dmlcts.generator.facts.explanations import SIZE, Flags, Key, is_kernel

_DIVISORS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
_REMAINDERS = (3, 4, 5, 7, 8)
_LARGEST_DIVISOR = 64
"""The divisors of which sizes may be multiples, and those whose remainders count each; up to the largest, those that all failing sizes share."""

_MOST_VALUES = 48
"""The most thresholds, and the most values, of one number; if there are more, some are picked evenly."""

_COUNTED = ("the element count", PRODUCT)
"""The beginnings of the names of numbers of which a single value says as little as one size does."""

_MARKS = (0.0, 1.0, -1.0)
"""The numbers about which a factor, a scale or an offset turns, where a threshold could lie at any number between two."""

WEIGHT_OF_KERNELS = -1
"""That a code path runs is where the fault lies: it comes before what holds for the same cases. That one does not run explains nothing."""

_OF_THE_SUITE = (
    "the kind",
    "the basis",
    "the formula of",
    "the feature level",
    "the data of",
    "the element count",
    "the largest of",
    "the smallest of",
)
"""The names of facts that say less about an implementation than others."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions: ``holds`` has a row for each and a column for each case, ``weights`` are lower for simpler ones."""

    texts: tuple[str, ...]
    weights: NDArray[np.int64]
    holds: Flags

    @property
    def are_kernels(self) -> Flags:
        """Which of them are that a code path runs."""
        return np.equal(self.weights, WEIGHT_OF_KERNELS)

    def cases_meeting(self, conjunction: Sequence[int]) -> Flags:
        """The cases that meet all of some conditions."""
        found: Flags = np.logical_and.reduce(self.holds[list(conjunction)], axis=0)
        return found


class Columns:
    """The facts of many cases by name, made once: flags, words (empty where a case has none) and numbers (NaN)."""

    def __init__(self, facts: Sequence[Mapping[Key, str | float | bool]]) -> None:
        self.count = len(facts)
        self.flags: dict[tuple[str, str], Flags] = {}
        self.words: dict[str, NDArray[np.str_]] = {}
        self.numbers: dict[str, NDArray[np.float64]] = {}
        for name in dict.fromkeys(name for each in facts for name in each):
            values = [each.get(name) for each in facts]
            if isinstance(name, tuple):
                self.flags[name] = np.array([value is True for value in values], np.bool_)
                continue
            if any(isinstance(value, str) for value in values):
                self.words[name] = np.array([value if isinstance(value, str) else "" for value in values])
            if any(isinstance(value, int | float) for value in values):
                self.numbers[name] = np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)


def conditions(columns: Columns, failing: Flags, passing: Flags) -> Conditions:
    """The conditions that some failing case meets and some case does not.

    ``failing`` and ``passing`` are the cases to separate; others may be neither. Thresholds lie where a failing value follows a passing one:
    any other threshold covers fewer failures without leaving out more passing cases.
    """
    found: list[tuple[str, int, Flags]] = []
    for (yes, no), held in columns.flags.items():
        if is_kernel(yes):
            found.append((yes, WEIGHT_OF_KERNELS, held))
        else:
            found += [(yes, 0, held), (no, 0 if no.endswith("absent") else 1, ~held)]
    for name, words in columns.words.items():
        found += _of_words(name, words, failing)
    for name, numbers in columns.numbers.items():
        found += _of_numbers(name, numbers, failing, passing)
    found += _of_pairs({name: values for name, values in columns.numbers.items() if name.startswith(SIZE)})
    found = [entry for entry in found if entry[2][failing].any() and not entry[2][passing].all()]
    weights = np.array([weight + _extra(text) for text, weight, _ in found], np.int64)
    holds = np.array([entry[2] for entry in found], np.bool_).reshape(len(found), columns.count)
    return Conditions(tuple(text for text, _, _ in found), weights, holds)


def _extra(text: str) -> int:
    """How much less a condition says for what it is about."""
    together = 3 if any(word in text for word in TOGETHER) else 0
    return together or 2 * any(word in text for word in _OF_THE_SUITE)


def _of_words(name: str, values: NDArray[np.str_], failing: Flags) -> Iterator[tuple[str, int, Flags]]:
    applies = values != ""
    every = np.unique(values[applies])
    for value in np.unique(values[failing & applies]):
        yield f"{name} is {_value_words(str(value))}", 0, values == value
    if len(every) > 2:
        for value in every:
            yield f"{name} is not {_value_words(str(value))}", 1, applies & (values != value)


def _value_words(value: str) -> str:
    return value.replace("-", " ") if value.replace("-", "").isalpha() and value.islower() else value


def _of_numbers(name: str, values: NDArray[np.float64], failing: Flags, passing: Flags) -> Iterator[tuple[str, int, Flags]]:
    size, rank = name.startswith(SIZE), name.startswith("the rank") or name == "the largest rank"
    stride = (
        "stride" in name
    )  # of a last dimension of one element there is none: a bound says that there is one, which sizes say better
    bound = 3 if stride else int(not rank)
    bad, good = _distinct_values(values, failing), _distinct_values(values, passing)
    every = np.union1d(bad, good)
    before = np.searchsorted(every, bad) - 1
    after = before + 2
    lower = bad[(before >= 0) & np.isin(every[np.maximum(before, 0)], good)]
    upper = bad[(after < len(every)) & np.isin(every[np.minimum(after, len(every) - 1)], good)]
    with np.errstate(invalid="ignore"):
        for value in _pick_values(lower):
            yield f"{name} is {_above_words(value, every)}", bound, values >= value
        for value in _pick_values(upper):
            yield f"{name} is {_below_words(value, every)}", bound, values <= value
        for value in _pick_values(bad):
            counted = size or name.startswith(_COUNTED)
            yield f"{name} is {_number_text(value)}", 2 if counted and value > 1 else int(size), values == value
        if not size and 2 < len(every) <= _MOST_VALUES:
            for value in good:
                yield f"{name} is not {_number_text(value)}", 3 if stride else 1, ~np.isnan(values) & (values != value)
        if size or name.startswith("the element count"):
            for divisor in _DIVISORS:
                rest = values % divisor
                weight = 2 if divisor & (divisor - 1) == 0 else 4
                yield f"{name} is a multiple of {divisor}", weight, rest == 0
                yield f"{name} is no multiple of {divisor}", weight, rest > 0
            for divisor in _REMAINDERS if size else ():
                for left in range(1, divisor):
                    yield f"{name} modulo {divisor} is {left}", 4, values % divisor == left
            for divisor in _common_divisors(bad) if size else ():
                left = int(bad[0] % divisor)
                text = f"{name} modulo {divisor} is {left}" if left else f"{name} is a multiple of {divisor}"
                yield text, 4, values % divisor == left


def _above_words(value: float, every: NDArray[np.float64]) -> str:
    """A least value in words: by a number that stands out, if it lies between this value and the next smaller one."""
    smaller = every[every < value]
    between = [mark for mark in _MARKS if not value.is_integer() and len(smaller) and smaller[-1] <= mark < value]
    return f"above {_number_text(between[0])}" if between else f"{_number_text(value)} or more"


def _below_words(value: float, every: NDArray[np.float64]) -> str:
    larger = every[every > value]
    between = [mark for mark in _MARKS if not value.is_integer() and len(larger) and value < mark <= larger[0]]
    return f"below {_number_text(between[0])}" if between else f"{_number_text(value)} or less"


def _common_divisors(values: NDArray[np.float64]) -> list[int]:
    """The divisors that leave the same remainder of all failing sizes, and that are not tried in any case."""
    if len(values) < 2:
        return []
    common = int(np.gcd.reduce(np.diff(values).astype(np.int64)))
    return [divisor for divisor in range(9, _LARGEST_DIVISOR + 1) if common % divisor == 0]


def _of_pairs(sizes: Mapping[str, NDArray[np.float64]]) -> Iterator[tuple[str, int, Flags]]:
    # The middle sizes of a symbol are among its others: a comparison with them says little.
    for (one, left), (other, right) in combinations(sizes.items(), 2):
        with np.errstate(invalid="ignore"):
            yield f"{one} is larger than {other}", 2, left > right
            yield f"{one} is smaller than {other}", 2, left < right
            yield f"{one} equals {other}", 2, left == right
            yield f"{one} is {other} or more", 3, left >= right
            yield f"{one} is {other} or less", 3, left <= right


def _distinct_values(values: NDArray[np.float64], where: Flags) -> NDArray[np.float64]:
    found = values[where]
    return np.unique(found[~np.isnan(found)])


def _pick_values(values: NDArray[np.float64]) -> Iterable[float]:
    if len(values) > _MOST_VALUES:
        values = values[np.unique(np.linspace(0, len(values) - 1, _MOST_VALUES).round().astype(int))]
    found: list[float] = values.tolist()
    return found


def _number_text(value: float) -> str:
    return (
        f"{value:g}"
        if abs(value) < 1e6 and value == round(value, 4) and not value.is_integer()
        else (f"{int(value):,}" if value.is_integer() else repr(value))
    )
