"""Conditions like those by which a library chooses among its kernels, drawn at random: work above a threshold, sizes that are whole vectors, neutral
attributes, nothing optional, a batch, packed tensors, aligned rows, a window as large as its input, a data type with an even count.

Like random_conditions they know nothing of the classes that cases cover, and nothing of the bases of sweeps. They are asked of one dispatch at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from random import Random

from dmlcts.generator.facts.random_conditions import ATTRIBUTE, Condition, varied_attributes
from dmlcts.generator.facts.situation import NONE, Situation
from dmlcts.generator.plan.attributes import has_value
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.tensor_names import ranks_of, tensors_of
from dmlcts.spec.model.operator import Field, Operator

_LEAST_WORK, _MOST_WORK = 2**8, 2**20
"""The range of thresholds of a product of sizes."""

_VECTORS = (4, 8, 16)
"""What sizes are multiples of, and to how many bytes rows are aligned by element."""


def draw_rule(operator: Operator, random: Random) -> Condition | None:
    """A condition of a random kind; None if the operator has nothing of that kind."""
    return RULES[random.choice(list(RULES))](operator, random)


def _present_sizes(situation: Situation, places: tuple[tuple[str, int], ...]) -> list[int]:
    """The sizes in these places; none if any tensor has no such dimension."""
    found = [int(situation.size(name, at)) for name, at in places]
    return [] if NONE in found else found


def _places(operator: Operator, random: Random, count: int) -> tuple[tuple[str, int], ...]:
    """Places among the last three dimensions of any tensors."""
    every = [(field.name, -at) for field in tensors_of(operator) for at in range(1, min(3, max(ranks_of(operator, field))) + 1)]
    return tuple(random.sample(every, min(count, len(every))))


def _places_text(places: tuple[tuple[str, int], ...], sign: str) -> str:
    return f" {sign} ".join(f"{name}.Sizes[{at}]" for name, at in places)


def _work(operator: Operator, random: Random) -> Condition:
    places = _places(operator, random, random.choice((2, 3)))
    least = round(_LEAST_WORK * (_MOST_WORK / _LEAST_WORK) ** random.random())
    words = f"{_places_text(places, '*')} > {least}"
    return Condition("work", "work", words, lambda s: prod(_present_sizes(s, places)) > least)


def _whole(operator: Operator, random: Random) -> Condition:
    places, vector = _places(operator, random, 3), random.choice(_VECTORS)
    least = min(2, len(places))

    def holds(s: Situation) -> bool:
        return sum(size % vector == 0 for size in _present_sizes(s, places)) >= least

    return Condition(
        "whole", "multiples", f"{least} of {_places_text(places, ',')} are multiples of {vector}", holds, (vector, 2 * vector)
    )


def _neutral(operator: Operator, random: Random) -> Condition | None:
    varied = varied_attributes(operator)
    if not varied:
        return None
    name, values = random.choice(list(varied.items()))
    return Condition(ATTRIBUTE, name, f"{name} has its first value", lambda s: has_value(s.desc, name, values[0]))


def _bare(operator: Operator, random: Random) -> Condition | None:
    optional = [field.name for field in operator.fields if field.optional and (field.is_tensor or field.type == "OPERATOR_DESC")]
    if not optional:
        return None
    return Condition(
        "bare", "optional", "nothing optional is there", lambda s: all(s.desc.fields.get(name) is None for name in optional)
    )


def _batch(operator: Operator, random: Random) -> Condition:
    name, least = plan_of(operator).leading_tensor, random.choice((1, 1, 2, 3))
    return Condition("batch", "batch", f"{name}.Sizes[0] > {least}", lambda s: s.size(name, 0) > least)


def _layouts(operator: Operator, random: Random) -> Condition:
    names = [field.name for field in tensors_of(operator)]

    def are_packed(s: Situation) -> list[bool]:
        return [s.is_packed(name) == 1 for name in names if s.is_packed(name) != NONE]

    words, holds = random.choice(
        (
            ("a tensor is not packed", lambda s: not all(are_packed(s))),
            ("no tensor is packed", lambda s: not any(are_packed(s))),
            ("all tensors are packed", lambda s: all(are_packed(s))),
        )
    )
    return Condition("layouts", "packed", words, holds)


def _aligned_condition(operator: Operator, random: Random) -> Condition:
    field, vector = random.choice(tensors_of(operator)), random.choice(_VECTORS)
    wanted = random.random() < 0.5

    def holds(s: Situation) -> bool:
        stride = s.stride(field.name, -2)
        return bool(stride != NONE and (stride % vector == 0) == wanted)

    return Condition(
        "row",
        f"rows of {field.name}",
        f"rows of {field.name} {'begin' if wanted else 'do not all begin'} at multiples of {vector}",
        holds,
    )


def _equal_windows(operator: Operator, random: Random) -> Condition | None:
    inputs: list[Field] = [field for field in tensors_of(operator) if max(ranks_of(operator, field)) > 1]
    if len(inputs) < 2:
        return None
    one, other = random.sample(inputs, 2)

    def holds(s: Situation) -> bool:
        pairs = [(s.size(one.name, at), s.size(other.name, at)) for at in (-1, -2)]
        return all(a != NONE and a == b for a, b in pairs)

    return Condition("window", "window", f"the last two sizes of {one.name} are those of {other.name}", holds)


def _half(operator: Operator, random: Random) -> Condition | None:
    name, types = plan_of(operator).leading_tensor, {choice.main for choice in plan_of(operator).choices}
    if "FLOAT16" not in types or len(types) < 2:
        return None

    def holds(s: Situation) -> bool:
        tensor = s.desc.find(name)
        return tensor is not None and tensor.data_type == "FLOAT16" and tensor.count % 2 == 0

    return Condition("half", "type", f"{name} is FLOAT16 and has an even count", holds)


RULES: Mapping[str, Callable[[Operator, Random], Condition | None]] = {
    "work": _work,
    "whole": _whole,
    ATTRIBUTE: _neutral,
    "bare": _bare,
    "batch": _batch,
    "layouts": _layouts,
    "row": _aligned_condition,
    "window": _equal_windows,
    "half": _half,
}
"""By kind, as the tables of shares show them."""
