"""Random numbers of which typical dispatches come: plain, batched, tile-sized, with one to three things unusual, and now and then all tensors padded alike."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from dmlcts.generator.facts.factors import Model
from dmlcts.generator.random.random_dispatch import Genes, number_of

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

_LAST, _FIRST = 0.999, 0.0
_ALWAYS_RANDOM = ("seed", "turn", "order", "gap", "broadcast", "rank", "like", "spread", "one")


class TypicalGenes(Genes):
    """Numbers that are usual ones, but for a few: the first option, packed strides, no optional tensor, the usual offset."""

    def __init__(self, random: Random, batch: str, absent: Collection[str]) -> None:
        super().__init__(random)
        self.batch, self.absent = batch, absent
        self.gap = random.choice(_GAPS) if random.random() < _PADDED else None

    def new(self, name: str) -> float:
        """A size about a tile; of all else the usual number, seldom another."""
        what = name.split()[0]
        if what == "size":
            return self._size(name.split()[1] == self.batch)
        if self.gap is not None and what in ("layout", "gap"):
            return _PADDED_STYLE if what == "layout" else self.gap
        if what in _ALWAYS_RANDOM or self.random.random() < _UNUSUAL:
            return self.random.random()
        return _LAST if what in ("moved", "work") or name in self.absent else _FIRST

    def _size(self, is_batch: bool) -> float:
        if is_batch:
            return number_of(self.random.randint(*BATCHES))
        return number_of(self.random.choice(_TILES) if self.random.random() < _WHOLE else self.random.randint(*SIZES))


def typical_genes(model: Model, random: Random) -> TypicalGenes:
    """The numbers of a typical dispatch of an operator."""
    absent = {field.name for field in model.plan.operator.fields if field.type == "TENSOR_DESC" and field.optional}
    return TypicalGenes(random, next(iter(model.symbols), ""), absent)
