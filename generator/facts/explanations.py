"""Conditions on cases, in words: what may separate those that fail from those that pass (reports/explain/separation).

Each case has facts: words (a layout, a data type), numbers (a size, the rank) and flags (a tensor is present). A condition is about one fact,
or compares two sizes: ``ScaleTensor is per-channel``, ``the rank is 5 or more``, ``size N is a multiple of 16``, ``size N is larger than size M``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.case.case import ALL, APART, INPUTS, REJECTION, Case
from dmlcts.generator.facts.comparisons import PRODUCT, TOGETHER, compared
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import model_of, symbols_of
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.values.layouts import GAPPED, layout_of
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Flags = NDArray[np.bool_]

Key = str | tuple[str, str]
"""A fact's name; of a flag, its wording where it holds and where it does not. A flag that is absent does not hold."""

Facts = dict[Key, str | float | bool]

SIZE = "size "
"""The beginning of the names of sizes, which are compared with each other."""

_DIVISORS = (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
_REMAINDERS = (3, 4, 5, 7, 8)
_LARGEST_DIVISOR = 64
"""The divisors of which sizes may be multiples, and those whose remainders count each; up to the largest, those that all failing sizes share."""

_PLACES = {"first": 0, "second": 1, "third": 2, "third last": -3, "second last": -2, "last": -1}

_MOST_VALUES = 48
"""The most thresholds, and the most values, of one number; if there are more, some are picked evenly."""

_COUNTED = ("the element count", PRODUCT)
"""The beginnings of the names of numbers of which a single value says as little as one size does."""

_MARKS = (0.0, 1.0, -1.0)
"""The numbers about which a factor, a scale or an offset turns, where a threshold could lie at any number between two."""

_SHARED = {APART: "nothing", INPUTS: "the inputs", ALL: "all tensors"}

_OF_THE_SUITE = (
    "the kind",
    "the basis",
    "the formula of",
    "the feature level",
    "the data of",
    "the element count",
    "the largest of",
    "the smallest of",
    *TOGETHER,
)
"""The names of facts that say less about an implementation than others."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions: ``holds`` has a row for each and a column for each case, ``weights`` are lower for simpler ones."""

    texts: tuple[str, ...]
    weights: NDArray[np.int64]
    holds: Flags

    def meeting(self, conjunction: Sequence[int]) -> Flags:
        """The cases that meet all of some conditions."""
        found: Flags = np.logical_and.reduce(self.holds[list(conjunction)], axis=0)
        return found


# The facts of a case


def facts_of(case: Case) -> Facts:
    """Everything about a case that may explain a failure. Of a rejection, whose desc is invalid, less is known."""
    found = shared_facts(case)
    found.pop("the largest rank", None)
    for field in case.operator.attributes():
        found.update(_attribute(field.name, case.desc.fields.get(field.name)))
    for field in case.operator.fields:
        if field.is_tensor and field.optional:
            present = case.desc.fields.get(field.name) is not None
            found[f"{field.name} is present", f"{field.name} is absent"] = present
    for name, data in case.data.items():
        found[f"the data of {name}"] = data.special or data.recipe or "given"
    if case.expect == REJECTION:
        return found
    symbols = symbols_of(case.operator, case.desc)
    found.update(_factors(case, symbols))
    for symbol, size in symbols.items():
        found.update(_sizes(symbol, size))
    found.update(compared(case, symbols))
    for name, tensor in case.desc.tensors():
        found[f"the element count of {name}"] = tensor.count
        found.update(_layout(name, tensor))
    for name, on in case.in_place.items():
        found[f"{name} is in place on {on}", f"{name} is not in place on {on}"] = True
    return found


def shared_facts(case: Case) -> Facts:
    """The facts that cases of all operators have."""
    tensors = [tensor for _, tensor in case.desc.tensors()]
    found: Facts = {
        "the kind": case.kind,
        "the basis": case.basis,
        "the feature level": float(case.feature_level.replace("_", ".")),
        "the type": case.data_type,
        "the offset": case.offset,
        "what shares a resource": _SHARED[case.resource],
        ("a tensor is in place", "no tensor is in place"): bool(case.in_place),
        "the largest rank": max((tensor.DimensionCount for tensor in tensors), default=0),
    }
    if case.data_type in abi().data_types:
        found["the bit width of the type"] = abi().data_types[case.data_type].bits
        found["the kind of the type"] = abi().data_types[case.data_type].kind
    if case.rule:
        found["the broken rule"] = case.rule
    if case.relation:
        found["the law"] = case.relation
    if any(tensor.flags for tensor in tensors):
        found["a tensor is OWNED_BY_DML", "no tensor is OWNED_BY_DML"] = True
    if case.expect == REJECTION:
        return found
    found["the element count of the largest tensor"] = max((tensor.count for tensor in tensors), default=0)
    if any(tensor.strides is not None for tensor in tensors):
        found["a tensor has strides", "no tensor has strides"] = True
    for layout in {group for tensor in tensors for group in _groups(layout_of(tensor))}:
        found[f"a tensor {layout}", f"no tensor {layout}"] = True
    return found


def _factors(case: Case, symbols: Mapping[str, Any]) -> Iterator[tuple[Key, str | float | bool]]:
    """Those of the operator's model (generator/facts/factors) that the desc does not show."""
    model = model_of(plan_of(case.operator))
    names = {"data": "the data", "slack": "the slack", "owned": "what is OWNED_BY_DML"}
    for factor, index in zip(model.factors, row_of(model, case, symbols), strict=True):
        if index == NONE:
            continue
        value = factor.values[index]
        if factor.kind == "rank":
            yield (f"the {factor.name}" if factor.name == "rank" else f"the rank of {factor.of}"), int(value)
        elif factor.kind == "type" and factor.name != "type":
            yield f"the type of {factor.of}", value
        elif factor.kind == "attribute" and value.startswith("["):  # computed from other fields, such as padding from the window
            yield f"the formula of {factor.of}", value
        elif factor.kind in names:
            yield names[factor.kind], value


def _attribute(name: str, value: object) -> Iterator[tuple[Key, str | float | bool]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)
    elif isinstance(value, OperatorDesc):
        yield name, value.type
    else:
        yield name, "absent" if value is None else value_text(value)
    if isinstance(value, tuple) and value and all(isinstance(each, int | float) for each in value):
        yield from ((f"{name} {place}", float(number)) for place, number in _placed(value))
        yield f"the largest of {name}", float(max(value))
        yield f"the smallest of {name}", float(min(value))


def _placed(values: Sequence[int]) -> Iterator[tuple[str, int]]:
    """The values at both ends, with the names of their places."""
    return ((place, values[at]) for place, at in _PLACES.items() if -len(values) <= at < len(values))


def _sizes(symbol: str, size: object) -> Iterator[tuple[Key, str | float | bool]]:
    """A symbol's size; of one that stands for several, those at both ends, the largest between, and how many elements they are together."""
    if not isinstance(size, tuple):
        if isinstance(size, int):
            yield f"{SIZE}{symbol}", size
        return
    yield from ((f"{SIZE}{symbol} {place}", number) for place, number in _placed(size))
    if len(size) > 2:
        yield f"{SIZE}{symbol} middle", max(size[1:-1])
    if size:
        yield f"the largest of {symbol}", max(size)
        yield f"the element count of {symbol}", prod(size)


def _layout(name: str, tensor: TensorDesc) -> Iterator[tuple[Key, str | float | bool]]:
    layout = layout_of(tensor)
    if layout:
        yield name, layout
    if tensor.strides is not None:
        yield (f"{name} has strides", f"{name} has no strides"), True
    if tensor.sizes[-1] > 1:
        yield f"the last stride of {name}", tensor.effective_strides[-1]
    for group in _groups(layout):
        if group != f"is {layout}":
            yield (f"{name} {group}", f"{name} {group.replace('is ', 'is not ').replace('has ', 'has no ')}"), True


def _groups(layout: str) -> tuple[str, ...]:
    """The words for a layout: its name, and what it has in common with others."""
    if layout.startswith("broadcast") or layout == "per-channel":
        return f"is {layout}", "is broadcast"
    if layout in GAPPED:
        return f"is {layout}", "has gaps"
    if layout == "packed":
        return ()
    return (f"is {layout}", "is reordered") if layout else ("is of no named layout",)


# The conditions on facts


def conditions(facts: Sequence[Mapping[Key, str | float | bool]], failing: Flags, passing: Flags) -> Conditions:
    """The conditions that some failing case meets and some case does not.

    ``failing`` and ``passing`` are the cases to separate; others may be neither. Thresholds lie where a failing value follows a passing one:
    any other threshold covers fewer failures without leaving out more passing cases.
    """
    names = dict.fromkeys(name for each in facts for name in each)
    found: list[tuple[str, int, Flags]] = []
    numbers: dict[str, NDArray[np.float64]] = {}
    for name in names:
        if isinstance(name, tuple):
            held = np.array([each.get(name, False) is True for each in facts])
            found += [(name[0], 0, held), (name[1], 0 if name[1].endswith("absent") else 1, ~held)]
            continue
        values = [each.get(name) for each in facts]
        if any(isinstance(value, str) for value in values):
            found += _of_words(name, np.array([value if isinstance(value, str) else "" for value in values]), failing)
        if any(isinstance(value, int | float) for value in values):
            numbers[name] = np.array([value if isinstance(value, int | float) else np.nan for value in values], np.float64)
            found += _of_numbers(name, numbers[name], failing, passing)
    found += _of_pairs({name: values for name, values in numbers.items() if name.startswith(SIZE)})
    found = [entry for entry in found if entry[2][failing].any() and not entry[2][passing].all()]
    weights = np.array([weight + 2 * any(word in text for word in _OF_THE_SUITE) for text, weight, _ in found], np.int64)
    holds = np.array([entry[2] for entry in found], np.bool_).reshape(len(found), len(facts))
    return Conditions(tuple(text for text, _, _ in found), weights, holds)


def _of_words(name: str, values: NDArray[np.str_], failing: Flags) -> Iterator[tuple[str, int, Flags]]:
    applies = values != ""
    every = np.unique(values[applies])
    for value in np.unique(values[failing & applies]):
        yield f"{name} is {_spoken(str(value))}", 0, values == value
    if len(every) > 2:
        for value in every:
            yield f"{name} is not {_spoken(str(value))}", 1, applies & (values != value)


def _spoken(value: str) -> str:
    return value.replace("-", " ") if value.replace("-", "").isalpha() and value.islower() else value


def _of_numbers(name: str, values: NDArray[np.float64], failing: Flags, passing: Flags) -> Iterator[tuple[str, int, Flags]]:
    size, rank = name.startswith(SIZE), name.startswith("the rank") or name == "the largest rank"
    stride = (
        "stride" in name
    )  # of a last dimension of one element there is none: a bound says that there is one, which sizes say better
    bound = 3 if stride else int(not rank)
    bad, good = _seen(values, failing), _seen(values, passing)
    every = np.union1d(bad, good)
    before = np.searchsorted(every, bad) - 1
    after = before + 2
    lower = bad[(before >= 0) & np.isin(every[np.maximum(before, 0)], good)]
    upper = bad[(after < len(every)) & np.isin(every[np.minimum(after, len(every) - 1)], good)]
    with np.errstate(invalid="ignore"):
        for value in _picked(lower):
            yield f"{name} is {_above(value, every)}", bound, values >= value
        for value in _picked(upper):
            yield f"{name} is {_below(value, every)}", bound, values <= value
        for value in _picked(bad):
            counted = size or name.startswith(_COUNTED)
            yield f"{name} is {_shown(value)}", 2 if counted and value > 1 else int(size), values == value
        if not size and 2 < len(every) <= _MOST_VALUES:
            for value in good:
                yield f"{name} is not {_shown(value)}", 3 if stride else 1, ~np.isnan(values) & (values != value)
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


def _above(value: float, every: NDArray[np.float64]) -> str:
    """A least value in words: by a number that stands out, if it lies between this value and the next smaller one."""
    smaller = every[every < value]
    between = [mark for mark in _MARKS if not value.is_integer() and len(smaller) and smaller[-1] <= mark < value]
    return f"above {_shown(between[0])}" if between else f"{_shown(value)} or more"


def _below(value: float, every: NDArray[np.float64]) -> str:
    larger = every[every > value]
    between = [mark for mark in _MARKS if not value.is_integer() and len(larger) and value < mark <= larger[0]]
    return f"below {_shown(between[0])}" if between else f"{_shown(value)} or less"


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


def _seen(values: NDArray[np.float64], where: Flags) -> NDArray[np.float64]:
    found = values[where]
    return np.unique(found[~np.isnan(found)])


def _picked(values: NDArray[np.float64]) -> Iterable[float]:
    if len(values) > _MOST_VALUES:
        values = values[np.unique(np.linspace(0, len(values) - 1, _MOST_VALUES).round().astype(int))]
    found: list[float] = values.tolist()
    return found


def _shown(value: float) -> str:
    return (
        f"{value:g}"
        if abs(value) < 1e6 and value == round(value, 4) and not value.is_integer()
        else (f"{int(value):,}" if value.is_integer() else repr(value))
    )
