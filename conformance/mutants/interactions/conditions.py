"""Conditions on raw properties of a dispatch, drawn at random: sizes, strides, ranks, attributes, presence, offsets, in place, data.

They know nothing of the classes that cases cover (generator/factors): a share of faults found under them can come out low.
"""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from dmlcts.conformance.mutants.fault import Array
from dmlcts.conformance.mutants.interactions.situation import Situation
from dmlcts.conformance.mutants.transforms.tensors import ranks_of, tensors_of
from dmlcts.generator.attributes import has_value, value_text
from dmlcts.generator.plan import plan_of
from dmlcts.spec.desc import OperatorDesc, TensorDesc, packed_strides
from dmlcts.spec.expression import Expression
from dmlcts.spec.model import Field, Operator
from dmlcts.spec.shape import FAILURES

MOST = 4096
"""The largest threshold of a size."""

DATA = "data"
"""The kind of conditions that cost the most: they need the inputs."""

Test = Callable[[Situation], bool]


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


def drawn(operator: Operator, random: Random) -> Condition | None:
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


def _of(situation: Situation, name: str) -> TensorDesc | None:
    return situation.desc.find(name)


def _at(row: Sequence[int], at: int) -> int | None:
    return row[at] if -len(row) <= at < len(row) else None


def _size(situation: Situation, name: str, at: int) -> int | None:
    tensor = _of(situation, name)
    return None if tensor is None else _at(tensor.sizes, at)


def _threshold(random: Random) -> int:
    """Uniformly or log-uniformly, half each."""
    return random.randint(1, MOST) if random.random() < 0.5 else round(MOST ** random.random())


# Each kind


def _large(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    least = _threshold(random)

    def holds(situation: Situation) -> bool:
        size = _size(situation, field.name, at)
        return size is not None and size > least

    what = f"{field.name}.Sizes[{at}]"
    return Condition("size", what, f"{what} > {least}", holds, (least + 1, least + 2))


def _remainder(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    divisor, whole = random.randint(2, 64), random.random() < 0.5
    words, test = _divided(divisor, random.randrange(divisor), random)

    def holds(situation: Situation) -> bool:
        tensor = _of(situation, field.name)
        size = None if tensor is None else tensor.count if whole else _at(tensor.sizes, at)
        return size is not None and test(size)

    what = f"prod({field.name}.Sizes)" if whole else f"{field.name}.Sizes[{at}]"
    return Condition(
        "remainder", what, f"{what} {words}", holds, tuple(size for size in range(1, 2 * divisor + 1) if test(size))[:3]
    )


def _divided(divisor: int, rest: int, random: Random) -> tuple[str, Callable[[int], bool]]:
    """A remainder as code asks for it: none, some, or a certain one."""
    return random.choice(
        (
            (f"% {divisor} == 0", lambda number: number % divisor == 0),
            (f"% {divisor} != 0", lambda number: number % divisor != 0),
            (f"% {divisor} == {rest}", lambda number: number % divisor == rest),
        )
    )


_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {"<": operators.lt, "==": operators.eq, ">": operators.gt}


def _compared(operator: Operator, random: Random) -> Condition:
    (one, at), (other, there) = _dimension(operator, random), _dimension(operator, random)
    sign = random.choice(list(_COMPARISONS))

    def holds(situation: Situation) -> bool:
        a, b = _size(situation, one.name, at), _size(situation, other.name, there)
        return a is not None and b is not None and _COMPARISONS[sign](a, b)

    words = f"{one.name}.Sizes[{at}] {sign} {other.name}.Sizes[{there}]"
    return Condition("two sizes", words, words, holds)


def _is_packed(tensor: TensorDesc) -> bool:
    packed = packed_strides(tensor.sizes)
    return all(size == 1 or one == other for size, one, other in zip(tensor.sizes, tensor.effective_strides, packed, strict=True))


def _long(tensor: TensorDesc, at: int) -> int | None:
    """A stride of a dimension with more than one element: others have no effect."""
    return _at(tensor.effective_strides, at) if (_at(tensor.sizes, at) or 0) > 1 else None


def _strided(operator: Operator, random: Random) -> Condition:
    field, at = _dimension(operator, random)
    name, most = field.name, max(ranks_of(operator, field))
    outer, inner = sorted(random.sample(range(-most, 0), 2)) if most > 1 else (-1, -1)

    def smaller(tensor: TensorDesc) -> bool:
        one, other = _long(tensor, outer), _long(tensor, inner)
        return one is not None and other is not None and one < other

    patterns: tuple[tuple[str, Callable[[TensorDesc], bool]], ...] = (
        (f"{name} is packed", _is_packed),
        (f"{name} is not packed", lambda tensor: not _is_packed(tensor)),
        (f"{name}.Strides[{at}] == 0", lambda tensor: _long(tensor, at) == 0),
        (f"{name}.Strides[-1] != 1", lambda tensor: _long(tensor, -1) not in (None, 1)),
        (f"{name}.Strides[-2] > {name}.Sizes[-1]", lambda tensor: (_long(tensor, -2) or 0) > tensor.sizes[-1]),
        (f"{name}.Strides[{outer}] < {name}.Strides[{inner}]", smaller),
    )
    words, test = random.choice(patterns)

    def holds(situation: Situation) -> bool:
        tensor = _of(situation, name)
        return tensor is not None and test(tensor)

    return Condition("strides", f"{name}.Strides", words, holds)


def _ranked(operator: Operator, random: Random) -> Condition:
    field = random.choice(_tensors(operator))
    count = random.choice(sorted(ranks_of(operator, field)))
    sign, test = random.choice((("==", operators.eq), (">=", operators.ge)))

    def holds(situation: Situation) -> bool:
        tensor = _of(situation, field.name)
        return tensor is not None and bool(test(tensor.DimensionCount, count))

    what = f"{field.name}.DimensionCount"
    return Condition("rank", "DimensionCount", f"{what} {sign} {count}", holds)


def _attribute(operator: Operator, random: Random) -> Condition | None:
    plan = plan_of(operator)
    fields = [field for field in plan.chosen if len(plan.values(field)) > 1]
    if not fields:
        return None
    field = random.choice(fields)
    values = plan.values(field)
    numbers = [number for value in values for number in _numbers(value)]
    if len(set(numbers)) > 1 and random.random() < 0.5:
        least, end = round(random.uniform(min(numbers), max(numbers)), 3), random.choice((0, -1))
        words = f"{field.name}{f'[{end}]' if any(isinstance(value, tuple) for value in values) else ''} > {least:g}"
        return Condition(
            "attribute", field.name, words, lambda situation: _exceeds(situation.desc.fields.get(field.name), end, least)
        )
    value = random.choice(values)
    words = f"{field.name} is {value.text.strip() if isinstance(value, Expression) else value_text(value)}"
    return Condition("attribute", field.name, words, lambda situation: _has(situation.desc, field.name, value))


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
    return Condition("presence", name, words, lambda situation: (_of(situation, name) is not None) == wanted)


def _offset(operator: Operator, random: Random) -> Condition:
    name, least = random.choice(_tensors(operator)).name, 16 * _threshold(random)
    modulus = random.choice((64, 256, 0))
    words, test = (
        _divided(modulus, 16 * random.randrange(modulus // 16), random) if modulus else (f"> {least}", partial(operators.lt, least))
    )

    def holds(situation: Situation) -> bool:
        offset = situation.offsets.get(name)
        return offset is not None and test(offset)

    return Condition("offset", f"offset of {name}", f"offset of {name} {words}", holds)


def _in_place(operator: Operator, random: Random) -> Condition | None:
    if not operator.in_place:
        return None
    wanted = random.random() < 0.5
    return Condition("in place", "in place", "in place" if wanted else "not in place", lambda s: s.in_place == wanted)


def _data(operator: Operator, random: Random) -> Condition | None:
    inputs = [field.name for field in _tensors(operator) if field.kind == "input"]
    if not inputs:
        return None
    name, least = random.choice(inputs), float(f"{10 ** random.uniform(-2, 6):.3g}")
    words, test = random.choice(
        (
            ("has a negative number", lambda x: bool(np.any(x < 0))),
            ("has a zero", lambda x: bool(np.any(x == 0))),
            (f"has a number beyond {least:g}", lambda x: bool(np.any((x > least) | (x < -least)))),
            ("has equal elements alone", lambda x: bool(np.all(x == x.reshape(-1)[0]))),
        )
    )
    return Condition(DATA, f"data of {name}", f"{name} {words}", partial(_holds_data, name, test))


def _holds_data(name: str, test: Callable[[Array], bool], situation: Situation) -> bool:
    found = situation.inputs.get(name)
    if found is None:
        return False
    with np.errstate(invalid="ignore"):
        return test(found.astype(np.float64))


KINDS: Mapping[str, Maker] = {
    "size": _large,
    "remainder": _remainder,
    "two sizes": _compared,
    "strides": _strided,
    "rank": _ranked,
    "attribute": _attribute,
    "presence": _present,
    "offset": _offset,
    "in place": _in_place,
    DATA: _data,
}
"""By name, as the tables of shares show them. Those of data come last in a fault: they cost the most."""
