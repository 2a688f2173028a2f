"""What several sizes or fields of a case are together: products, how many are multiples of a number, lists compared in every dimension.

All are named by the symbols of the shapes and the fields of the spec: a window as large as its input is ``WindowSize equals Spatial``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

from dmlcts.generator.case.case import Case

PRODUCT = "the product of "
"""The beginning of the names of products."""

TOGETHER = (PRODUCT, "are multiples of", "in some dimension", "is nowhere")
"""Words of what is true of several sizes together: there are many such facts, so that one holds by chance."""

_MOST_SIZES = 5
"""Of operators with more sizes, products are not made."""

_DIVISORS = (2, 4, 8, 16, 32, 64)

Named = tuple[str | tuple[str, str], str | float | bool]
"""A fact with its name, as in generator/facts/explanations."""


def compare_sizes(case: Case, symbols: Mapping[str, Any]) -> Iterator[Named]:
    """The facts of a case, by the sizes that its symbols stand for."""
    single = {symbol: size for symbol, size in sorted(symbols.items()) if isinstance(size, int)}
    if 2 <= len(single) <= _MOST_SIZES:
        yield from _products(single)
    if 3 <= len(single) <= _MOST_SIZES:
        for divisor in _DIVISORS:
            multiples = sum(size % divisor == 0 for size in single.values())
            what = f"of {_all_of(list(single))} are multiples of {divisor}"
            for count in range(2, len(single)):
                yield (f"{count} or more {what}", f"fewer than {count} {what}"), multiples >= count
    lists = {symbol: tuple(size) for symbol, size in sorted(symbols.items()) if isinstance(size, tuple | list) and len(size)}
    for name in case.operator.attributes():
        value = case.desc.fields.get(name.name)
        if isinstance(value, tuple) and value and all(isinstance(each, int) and not isinstance(each, bool) for each in value):
            for symbol, sizes in lists.items():
                yield from _lists(name.name, value, symbol, sizes)
    for (one, left), (other, right) in combinations(lists.items(), 2):
        yield from _lists(one, left, other, right)
    yield from _optional(case)


def _products(sizes: Mapping[str, int]) -> Iterator[Named]:
    for count in (2, 3):
        for chosen in combinations(sizes.items(), count):
            yield f"{PRODUCT}{_all_of([symbol for symbol, _ in chosen])}", prod(size for _, size in chosen)


def _lists(one: str, left: Sequence[int], other: str, right: Sequence[int]) -> Iterator[Named]:
    """How two lists compare, where they are as long."""
    if len(left) != len(right):
        return
    pairs = list(zip(left, right, strict=True))
    yield (f"{one} equals {other}", f"{one} differs from {other}"), all(a == b for a, b in pairs)
    if len(pairs) > 1:
        yield (
            (f"{one} is larger than {other} in some dimension", f"{one} is nowhere larger than {other}"),
            any(a > b for a, b in pairs),
        )
        yield (
            (f"{one} is smaller than {other} in some dimension", f"{one} is nowhere smaller than {other}"),
            any(a < b for a, b in pairs),
        )


def _optional(case: Case) -> Iterator[Named]:
    """How many of several optional tensors are present."""
    names = [field.name for field in case.operator.fields if field.is_tensor and field.optional]
    if len(names) > 2:
        present = sum(case.desc.fields.get(name) is not None for name in names)
        yield ("an optional tensor is present", "all optional tensors are absent"), present > 0
        yield ("all optional tensors are present", "an optional tensor is absent"), present == len(names)


def _all_of(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
