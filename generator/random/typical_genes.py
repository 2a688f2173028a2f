"""Random numbers of which typical dispatches come: plain, batched, tile-sized, with one to three things unusual, and now and then all tensors padded alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from dmlcts.generator.facts.factors import Model
from dmlcts.generator.random.random_dispatch import Genes, T, number_of

SIZES, BATCHES = (8, 128), (2, 8)
"""The range of sizes, about a tile, and that of batches."""

_TILES = (8, 16, 24, 32, 48, 64, 96, 128)
"""Sizes that kernels take whole; the others in the range leave a rest."""

_WHOLE = 0.6
"""How many sizes are such."""

_UNUSUAL = 0.06
"""How often anything else is unusual: of some thirty numbers that decide a dispatch, about two."""

_PADDED = 0.2
"""How often all tensors have the same gap behind each row."""

_PADDED_STYLE, _GAPS = 0.4, (0.55, 0.65, 0.8)
"""The numbers of a tensor that keeps its order and has gaps, and of gaps of 1, 3 and 16 elements."""

_WINDOWS = (1, 2, 3, 3, 3, 5, 7)
"""The sizes of windows."""

_LAST, _FIRST = 0.999, 0.0
_ALWAYS_RANDOM = ("seed", "turn", "order", "gap", "broadcast", "like", "spread", "one", "types")
"""What is never usual: what has no usual value, and data types, which enumerations must fit."""

_FEW_DIMENSIONS = 0.4
"""The largest number of a rank, of those that are likelier the more dimensions they have."""


@dataclass(frozen=True, slots=True)
class Names:
    """Of an operator, the symbols of which each size is a batch or a window, and of which there are several; the optional tensors; and enumerations."""

    batch: str
    windows: Collection[str]
    several: Collection[str]
    optional: Collection[str]
    enumerations: Collection[str]


class TypicalGenes(Genes):
    """Numbers that are usual ones, but for a few: the first option, packed strides, no optional tensor, the usual offset."""

    def __init__(self, random: Random, names: Names) -> None:
        super().__init__(random)
        self.names, self.rank = names, 0
        self.gap = random.choice(_GAPS) if random.random() < _PADDED else None

    def pick(self, name: str, options: Sequence[T]) -> T:
        """One of the options; the rank is remembered, since it says which dimensions are batches."""
        found = super().pick(name, options)
        if name == "rank" and isinstance(found, int):
            self.rank = found
        return found

    def new(self, name: str) -> float:
        """A size about a tile; of all else the usual number, seldom another."""
        what, *of = name.split()
        if what == "size":
            return number_of(self._size(*of))
        if self.gap is not None and what in ("layout", "gap"):
            return _PADDED_STYLE if what == "layout" else self.gap
        if what == "rank":
            return self.random.random() * _FEW_DIMENSIONS
        if what in _ALWAYS_RANDOM or what in self.names.enumerations or self.random.random() < _UNUSUAL:
            return self.random.random()
        return _LAST if what in ("moved", "work") or name in self.names.optional else _FIRST

    def _size(self, symbol: str, at: str = "") -> int:
        is_batch = int(at) < self.rank - 2 if symbol in self.names.several else symbol == self.names.batch
        if symbol in self.names.windows:
            return self.random.choice(_WINDOWS)
        if is_batch:
            return self.random.randint(*BATCHES)
        return self.random.choice(_TILES) if self.random.random() < _WHOLE else self.random.randint(*SIZES)


def typical_genes(model: Model, random: Random) -> TypicalGenes:
    """The numbers of a typical dispatch of an operator."""
    fields = model.plan.operator.fields
    optional = {field.name for field in fields if field.type == "TENSOR_DESC" and field.optional}
    enumerations = {field.name for field in model.plan.chosen if field.enum}
    several = {symbol for symbol, star in model.symbols.items() if star}
    return TypicalGenes(random, Names(next(iter(model.symbols), ""), model.window_symbols, several, optional, enumerations))
