"""Conditions on raw properties of a dispatch, drawn at random: sizes, strides, ranks, attributes, presence, offsets, in place, data.

They know nothing of the classes that cases cover (generator/facts/factors): a share of faults found under them can come out low.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from dmlcts.generator.facts.situation import NONE, Content, Measured, Situation
from dmlcts.generator.plan.attributes import has_value, value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.tensor_names import ranks_of, tensors_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.rules.shape import FAILURES

MOST = 4096
"""The largest threshold of a size."""

DATA = "data"
"""The kind of conditions that cost the most: they need the inputs."""

ATTRIBUTE = "attribute"

OF_ONE = (ATTRIBUTE, DATA)
"""The kinds of conditions that are asked of one dispatch at a time; the others may be asked of many (situation.Measured)."""

Test = Callable[[Any], Any]
"""Of a dispatch, whether a condition holds; of many, a flag a dispatch."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: its kind (``KINDS``), what it is about, so that a fault has two of different things, and its words.

    ``sizes`` are such as meet it, for a search of descs that do.
    """

    kind: str
    about: str
    words: str
    holds: Test
    sizes: tuple[int, ...] = ()


Maker = Callable[[Operator, Random], Condition | None]


def draw_condition(operator: Operator, random: Random) -> Condition | None:
    """A condition of a random kind; None if the operator has nothing of that kind."""
    kind = random.choice(list(KINDS))
    return KINDS[kind](operator, random)


# What is measured


def _tensors(operator: Operator) -> list[Field]:
    return tensors_of(operator)


def _dimension(operator: Operator, random: Random) -> tuple[Field, int]:
    """A tensor and one of its dimensions, counted from the front or from the back."""
    field = random.choice(_tensors(operator))
    most = max(ranks_of(operator, field))
    return field, random.randrange(-most, most)


def _threshold(random: Random) -> int:
    """Uniformly or log-uniformly, half each."""
    return random.randint(1, MOST) if random.random() < 0.5 else round(MOST ** random.random())


# Each kind


def _large(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    least = _threshold(random)
    what = f"{field.name}.Sizes[{at}]"
    return Condition("size", what, f"{what} > {least}", lambda s: s.size(field.name, at) > least, (least + 1, least + 2))


def _remainder(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    divisor, whole = random.randint(2, 64), random.random() < 0.5
    words, test = _divisibility(divisor, random.randrange(divisor), random)

    def holds(s: Measured) -> Any:
        size = s.count(field.name) if whole else s.size(field.name, at)
        return (size != NONE) & test(size)

    what = f"prod({field.name}.Sizes)" if whole else f"{field.name}.Sizes[{at}]"
    return Condition(
        "remainder", what, f"{what} {words}", holds, tuple(size for size in range(1, 2 * divisor + 1) if test(size))[:3]
    )


def _divisibility(divisor: int, rest: int, random: Random) -> tuple[str, Callable[[Any], Any]]:
    """A remainder as code asks for it: none, some, or a certain one."""
    return random.choice(
        (
            (f"% {divisor} == 0", lambda number: number % divisor == 0),
            (f"% {divisor} != 0", lambda number: number % divisor != 0),
            (f"% {divisor} == {rest}", lambda number: number % divisor == rest),
        )
    )


_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"<": operators.lt, "==": operators.eq, ">": operators.gt}


def _compare_sizes(operator: Operator, random: Random) -> Condition:
    (one, at), (other, there) = _dimension(operator, random), _dimension(operator, random)
    sign = random.choice(list(_COMPARISONS))

    def holds(s: Measured) -> Any:
        a, b = s.size(one.name, at), s.size(other.name, there)
        return (a != NONE) & (b != NONE) & _COMPARISONS[sign](a, b)

    words = f"{one.name}.Sizes[{at}] {sign} {other.name}.Sizes[{there}]"
    return Condition("two sizes", words, words, holds)


def _stride_condition(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    name, most = field.name, max(ranks_of(operator, field))
    outer, inner = sorted(random.sample(range(-most, 0), 2)) if most > 1 else (-1, -1)

    def smaller(s: Measured) -> Any:
        a, b = s.stride(name, outer), s.stride(name, inner)
        return (a != NONE) & (b != NONE) & (a < b)

    def is_spaced(s: Measured) -> Any:
        last = s.stride(name, -1)
        return (last != NONE) & (last != 1)

    patterns: tuple[tuple[str, Test], ...] = (
        (f"{name} is packed", lambda s: s.is_packed(name) == 1),
        (f"{name} is not packed", lambda s: s.is_packed(name) == 0),
        (f"{name}.Strides[{at}] == 0", lambda s: s.stride(name, at) == 0),
        (f"{name}.Strides[-1] != 1", is_spaced),
        (f"{name}.Strides[-2] > {name}.Sizes[-1]", lambda s: s.stride(name, -2) > s.size(name, -1)),
        (f"{name}.Strides[{outer}] < {name}.Strides[{inner}]", smaller),
    )
    words, test = random.choice(patterns)
    return Condition("strides", f"{name}.Strides", words, test)


def _rank_condition(operator: Operator, random: Random) -> Condition:
    field = random.choice(_tensors(operator))
    count = random.choice(sorted(ranks_of(operator, field)))
    sign, test = random.choice((("==", operators.eq), (">=", operators.ge)))
    words = f"{field.name}.DimensionCount {sign} {count}"
    return Condition("rank", "DimensionCount", words, lambda s: test(s.rank(field.name), count))


def varied_attributes(operator: Operator) -> dict[str, Sequence[object]]:
    """The attributes that have several values in cases, with these."""
    plan = plan_of(operator)
    return {field.name: plan.values(field) for field in plan.chosen if len(plan.values(field)) > 1}


def _attribute(operator: Operator, random: Random) -> Condition | None:
    varied = varied_attributes(operator)
    if not varied:
        return None
    name, values = random.choice(list(varied.items()))
    numbers = [number for value in values for number in _numbers(value)]
    if len(set(numbers)) > 1 and random.random() < 0.5:
        least, end = round(random.uniform(min(numbers), max(numbers)), 3), random.choice((0, -1))
        words = f"{name}{f'[{end}]' if any(isinstance(value, tuple) for value in values) else ''} > {least:g}"
        return Condition(ATTRIBUTE, name, words, lambda situation: _exceeds(situation.desc.fields.get(name), end, least))
    value = random.choice(values)
    words = f"{name} is {value.text.strip() if isinstance(value, Expression) else value_text(value)}"
    return Condition(ATTRIBUTE, name, words, lambda situation: _has(situation.desc, name, value))


def _numbers(value: object) -> list[float]:
    return [float(n) for n in (value if isinstance(value, tuple) else (value,)) if isinstance(n, int | float) and abs(n) < np.inf]


def _exceeds(value: object, end: int, least: float) -> bool:
    found = _numbers(value)
    return bool(found) and found[end] > least


def _has(desc: OperatorDesc, name: str, value: object) -> bool:
    if isinstance(value, Expression):
        try:
            value = value.evaluate(desc.fields)
        except FAILURES:
            return False
        value = tuple(value) if isinstance(value, list | range) else value
    return has_value(desc, name, value)


def _present(operator: Operator, random: Random) -> Condition | None:
    optional = [field.name for field in _tensors(operator) if field.optional]
    if not optional:
        return None
    name, wanted = random.choice(optional), random.random() < 0.5
    words = f"there is {'a' if wanted else 'no'} {name}"
    return Condition("presence", name, words, lambda s: (s.rank(name) != NONE) == wanted)


def _offset(operator: Operator, random: Random) -> Condition:
    name, least = random.choice(_tensors(operator)).name, 16 * _threshold(random)
    modulus = random.choice((64, 256, 0))
    words, test = (
        _divisibility(modulus, 16 * random.randrange(modulus // 16), random)
        if modulus
        else (f"> {least}", partial(operators.lt, least))
    )

    def holds(s: Measured) -> Any:
        return (s.offset(name) != NONE) & test(s.offset(name))

    return Condition("offset", f"offset of {name}", f"offset of {name} {words}", holds)


def _in_place(operator: Operator, random: Random) -> Condition | None:
    if not operator.in_place:
        return None
    wanted = random.random() < 0.5
    return Condition("in place", "in place", "in place" if wanted else "not in place", lambda s: s.in_place() == wanted)


def _data(operator: Operator, random: Random) -> Condition | None:
    inputs = [field.name for field in _tensors(operator) if field.kind == "input"]
    if not inputs:
        return None
    name, least = random.choice(inputs), float(f"{10 ** random.uniform(-2, 6):.3g}")
    words, test = random.choice(
        (
            ("has a negative number", lambda content: content.negative),
            ("has a zero", lambda content: content.zero),
            (f"has a number beyond {least:g}", lambda content: content.largest > least),
            ("has equal elements alone", lambda content: content.alike),
        )
    )
    return Condition(DATA, f"data of {name}", f"{name} {words}", partial(_holds_data, name, test))


def _holds_data(name: str, test: Callable[[Content], bool], situation: Situation) -> bool:
    return name in situation.contents and test(situation.contents[name])


KINDS: Mapping[str, Maker] = {
    "size": _large,
    "remainder": _remainder,
    "two sizes": _compare_sizes,
    "strides": _stride_condition,
    "rank": _rank_condition,
    ATTRIBUTE: _attribute,
    "presence": _present,
    "offset": _offset,
    "in place": _in_place,
    DATA: _data,
}
"""By name, as the tables of shares show them. Those of data come last in a fault: they cost the most."""
