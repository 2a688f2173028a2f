"""Sizes for the symbols of an operator's shapes, drawn within the classes that a row of a covering array wants (generator/facts/factors).

Half of the larger ones lie beside a power of two, on which kernels turn, the others anywhere. Most cases are small, so that there can be many:
the product of the sizes that decide how much there is to compute keeps to what is drawn for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt, prod
from random import Random

from dmlcts.generator.facts.factors import CLASSES, LONG, MANY, MANY_LEAST, NO_LONG, Model
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.sizes import Ends, Sizes
from dmlcts.generator.values.critical_sizes import beside_powers

_EDGES = tuple(beside_powers(32, 4096))
_LARGEST = 4_096
_FEWEST = 17
"""The largest size of a case, and the smallest of the largest class."""

_WORK = (1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 14, 1 << 15)
"""The product of all sizes that a case should keep to, drawn for each: most cases are small, so that there can be many."""

_LEAST = {"1": 1, "2-16": 2, "17+": _FEWEST}
_MOST_WORK, _MOST_LONG = 1 << 14, 80_000
"""A product of sizes that no case exceeds if each is as small as its class allows; with a long dimension."""

_MOST_MANY = 80_000
"""A product of many sizes that no case exceeds, if possible."""

_MOST_OF_ALL = 1 << 22
"""The same of all sizes of a desc: some symbols are equal to others in it, as queries and keys that are stacked in one tensor."""

_OTHERS = (1, 1, 1, 2, 2, 3, 4, 5, 7, 11, 13)
"""Sizes of the dimensions between others."""

_BESIDE_EDGES = 0.35
"""How many sizes of the largest class are drawn beside powers of two."""


def is_small(model: Model, values: Mapping[str, str]) -> bool:
    """Whether a case of these classes, and of a long dimension if any, need not be large."""
    most = _MOST_LONG if values.get("long") in model.long else _MOST_WORK
    return _work(model, _least(model, values)) <= min(most, model.most_elements)


def is_bounded(model: Model, sizes: Mapping[str, int | Sizes]) -> bool:
    """Whether a desc whose symbols stand for these sizes is no larger than a case should be."""
    return model.work(sizes) <= _MOST_OF_ALL


def _work(model: Model, sizes: Mapping[str, int]) -> int:
    """The product of sizes by factor; one with which others grow counts twice."""
    return prod(size ** _power(model, name) for name, size in sizes.items())


def _power(model: Model, name: str) -> int:
    return 2 if name in model.growing_sizes else 1


def _least(model: Model, values: Mapping[str, str]) -> dict[str, int]:
    """The least of each size that counts for the work, by the factor's name; 1 of those without a value. A long one between others is one more."""
    found = {name: _LEAST[values.get(name, "1")] for name in model.free_sizes}
    if (long := values.get("long")) in model.long:
        found[_long_factor(model, long) or "long"] = LONG[0]
    return found


def _long_factor(model: Model, long: str) -> str:
    """The factor of sizes that a long dimension has; of those between others none."""
    symbol, place = model.long[long]
    return f"size {symbol} last" if place == -1 else "" if place else f"size {symbol}"


def drawn_sizes(model: Model, values: Mapping[str, str], random: Random) -> dict[str, int | Sizes | Ends]:
    """A size for each symbol, of its class, as generator/plan/sizes reads them.

    Raises:
        NotGenerable: the classes want a case that is too large.
    """
    classes = {name: values.get(name, CLASSES[0]) for name, _, _ in model.size_names}
    long = values.get("long", NO_LONG)
    if not is_small(model, {**classes, "long": long}):
        raise NotGenerable("too large for a case")
    is_long = _long_factor(model, long) if long in model.long else ""
    free = _least(model, {**classes, "long": long})
    work = max(
        _work(model, free),
        random.randint(MANY_LEAST, _MOST_MANY)
        if long == MANY
        else min(random.choice(_WORK), model.usual_elements, model.most_elements),
    )
    order = random.sample(list(classes), len(classes))
    most = {name: min(_LARGEST, model.largest(symbol)) for name, symbol, _ in model.size_names}
    if long == MANY:  # one that may be large comes last, and makes up for the others
        order.sort(key=lambda name: (name in free and classes[name] == CLASSES[-1], most[name]))
    found = {}
    for name in order:
        room = work // _work(model, {other: size for other, size in free.items() if other != name}) if name in free else _LARGEST
        room = isqrt(room) if _power(model, name) > 1 else room
        if name == is_long:
            found[name] = random.choice(LONG)
        elif long == MANY and name == order[-1] and classes[name] == CLASSES[-1]:
            found[name] = min(most[name], room + 1)
        else:
            found[name] = _size(classes[name], min(most[name], room), random)
        if name in free:
            free[name] = found[name]
    return _by_symbol(model, found, long, _others(work // _work(model, free), random), random)


def _others(room: int, random: Random) -> Sizes:
    """Sizes of the dimensions between others, whose product is at most ``room`` if possible."""
    found = tuple(random.choice(_OTHERS) for _ in range(8))
    while prod(found) > max(1, room):
        found = tuple(size - size // 2 for size in found) if max(found) > 2 else (1,) * len(found)
    return found


def _by_symbol(model: Model, sizes: Mapping[str, int], long: str, others: Sizes, random: Random) -> dict[str, int | Sizes | Ends]:
    symbol_of_long, place = model.long.get(long, ("", 0))
    at, length = random.randrange(8), random.choice(LONG)
    found: dict[str, int | Sizes | Ends] = {}
    for symbol, star in model.symbols.items():
        if not star:
            found[symbol] = sizes[f"size {symbol}"]
            continue
        between = (place, length) if symbol == symbol_of_long and place < -1 else None
        first, middle, last = (sizes[f"size {symbol} {end}"] for end in ("first", "middle", "last"))
        found[symbol] = Ends(first, middle, last, at, others, between)
    return found


def _size(of: str, room: int, random: Random) -> int:
    """A size of a class, if possible no larger than ``room``."""
    if of == "1":
        return 1
    if of == "2-16":
        return random.randint(2, max(2, min(16, room)))
    most = max(_FEWEST, min(_LARGEST, room))
    edges = [edge for edge in _EDGES if edge <= most]
    if edges and random.random() < _BESIDE_EDGES:
        return random.choice(edges)
    return int(_FEWEST * (most / _FEWEST) ** random.random() + 0.5)
