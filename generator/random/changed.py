"""A drawn case with one to four things changed: a size one more, one less, doubled or halved; another type, layout, attribute or offset.

A search that knows which kernels a case reached changes the cases that reached new ones (conformance/runner/kernels/corpus): what lies near a turn in the
implementation's choice of kernels is likelier to take another than what is drawn anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from dmlcts.generator.case.case import Case
from dmlcts.generator.random.random_dispatch import LARGEST, Genes, number_of, size_of
from dmlcts.spec.rules.symbols import symbols_of

LAST = 0.999
"""The number of the largest work, which limits no size."""

_MOST_CHANGED = 4
"""How many things are changed at most: kernels are chosen by several at once."""

_SIZES = 0.5
"""How often it is a size."""

_SIMPLEST = 0.25
"""How often something else becomes its simplest: the first option, a packed tensor."""

_DECIDE_NOTHING = frozenset({"size", "wanted", "work", "turn", "seed", "like", "alike"})
"""The beginnings of the names of numbers that change nothing here, or of sizes."""


def change_genes(genes: Genes, case: Case, random: Random) -> Genes:
    """The numbers of a case like a given one, whose ``genes`` have been asked for all. There need not be such a case."""
    known = dict(genes.known) | dict(sizes_as_numbers(case)) | {"work": LAST}
    for _ in range(random.randint(1, _MOST_CHANGED)):
        sizes = sorted(name for name in known if name.startswith("size "))
        others: dict[str, list[str]] = {}
        for name in sorted(known):
            others.setdefault(name.split()[0], []).append(name)
        kinds = sorted(others.keys() - _DECIDE_NOTHING)
        if sizes and (not kinds or random.random() < _SIZES):
            name = random.choice(sizes)
            known[name] = number_of(_size_near(size_of(known[name]), random))
        elif kinds:
            known[random.choice(others[random.choice(kinds)])] = 0.0 if random.random() < _SIMPLEST else random.random()
    return Genes(random, known)


def _size_near(size: int, random: Random) -> int:
    """A size that a kernel may treat otherwise."""
    return min(max(1, random.choice((size + 1, size - 1, 2 * size, size // 2, 4 * size, 1))), LARGEST)


def sizes_as_numbers(case: Case) -> Iterator[tuple[str, float]]:
    """The numbers of the sizes that a case has, none of them among the wanted ones."""
    for symbol, value in symbols_of(case.operator, case.desc).items():
        named = (
            {f"size {symbol} {at}": size for at, size in enumerate(value)}
            if isinstance(value, tuple)
            else {f"size {symbol}": value}
        )
        for name, size in named.items():
            yield name, number_of(size)
            yield f"wanted {name}", 0.0
