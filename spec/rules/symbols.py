"""The symbols of an operator's shapes: which sizes they stand for in a desc, and smaller ones, which all that makes a failing dispatch smaller tries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.rules.rules import named_constants
from dmlcts.spec.rules.shape import FAILURES, Matching, number, rows_of

Symbols = Mapping[str, int | tuple[int, ...]]


def symbols_of(operator: Operator, desc: OperatorDesc) -> dict[str, Any]:
    """The symbols of the shapes that apply to a desc, with the sizes that they stand for in it."""
    fields = named_constants(operator, desc)
    found: dict[str, Any] = {}
    for shape in operator.shapes:
        if shape.when is None or number(shape.when, fields) is True:
            matching = Matching(shape, fields)
            for tensor, row, present in rows_of(shape, desc):
                matching.meet(tensor, row, present.sizes)
            matching.settle()
            found = {**matching.known, **found}
    return found


@dataclass(frozen=True, slots=True)
class Cut:
    """One size that is smaller: ``symbols`` has all, with it. It stands at ``place`` of the ``count`` sizes of its symbol."""

    symbols: Symbols
    place: int
    count: int
    size: int


def cuts(operator: Operator, desc: OperatorDesc, small: Sequence[int]) -> Iterator[Cut]:
    """Each smaller size of each symbol: those of ``small`` first, then a half, three quarters, and one less. None where the symbols cannot be told."""
    try:
        symbols: Symbols = {
            name: value
            for name, value in symbols_of(operator, desc).items()
            if isinstance(value, int | tuple) and not isinstance(value, bool)
        }
    except (*FAILURES, KeyError):
        return
    for symbol, value in symbols.items():
        entries = value if isinstance(value, tuple) else (value,)
        for place, size in enumerate(entries):
            if size < 2:
                continue
            for cut in dict.fromkeys((*(each for each in small if each < size), size // 2, 3 * size // 4, size - 1)):
                sized = (*entries[:place], cut, *entries[place + 1 :])
                yield Cut({**symbols, symbol: sized if isinstance(value, tuple) else cut}, place, len(entries), cut)
