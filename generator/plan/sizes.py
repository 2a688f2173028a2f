"""Sizes of an operator's tensors, solved from the symbolic shapes of its spec.

A free symbol gets its wanted size, within its domain; every other size is computed. Nothing is drawn and rejected: where a wanted size is
outside a domain, the nearest allowed one is used.

The wanted sizes are a ``run`` for the leading tensor: ``InputTensor: [N, C, "*Spatial"]`` reads 2, 3, 4, 5 as N = 2, C = 3 and
Spatial = 4, 5. If a row is shorter than the run, its first size is the product of the rest. Symbols that occur only in other tensors get
numbers of the run in turn. ``A[i]`` in the row of an array has a size for each of its tensors, as a ``*`` symbol has for each of its
dimensions; a single number is the first one's, and the others are different ones below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.model.operator import Operator, Shape
from dmlcts.spec.rules.shape import FAILURES, Matching, each_symbol, number, rows_of, size_symbol

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ends:
    """The sizes of a symbol that stands for any number of them: the first, the largest of those between, where it is, the last.

    ``others`` are drawn for the rest of those between, as far as they are no larger. ``long`` is a size by its place from the end, -1 being
    the last, in place of what would be there.
    """

    first: int = 1
    middle: int = 1
    last: int = 1
    at: int = 0
    others: Sizes = (1, 2)
    long: tuple[int, int] | None = None

    def to_length(self, count: int) -> Sizes:
        """So many sizes; of one, the last."""
        between = [min(self.middle, self.others[(self.at + index) % len(self.others)]) for index in range(count - 2)]
        if between:
            between[self.at % len(between)] = self.middle
        found = [self.first, *between, self.last][-count:] if count else []
        if self.long is not None and -self.long[0] <= count:
            found[self.long[0]] = self.long[1]
        return tuple(found)


Symbols = Mapping[str, int | Sizes | Ends]
"""Wanted values of symbols: a number, or the sizes that a ``*`` symbol stands for."""


def solve_sizes(
    operator: Operator,
    desc: OperatorDesc,
    run: Sizes,
    symbols: Symbols | None = None,
    known: Mapping[str, Sizes] | None = None,
) -> dict[str, Sizes]:
    """The sizes of each tensor that is present in a desc.

    Its tensors give the wanted dimension counts, its attributes the variables of expressions. ``symbols`` override the run; ``known`` tensors
    have fixed sizes, from which the others follow.

    Raises:
        NotGenerable: the shapes give no sizes for them; the message says which symbol or tensor.
    """
    if not operator.shapes:
        raise NotGenerable(f"{operator.name} has no shapes in its spec")
    found = dict(known or {})
    for shape in operator.shapes:  # a later one uses the tensors that an earlier one sized
        if shape.when is None or number(shape.when, desc.fields) is True:
            found |= _Solving(shape, desc, run, symbols or {}).sizes(found)
    for name, _ in desc.tensors():
        if name not in found:
            raise NotGenerable(f"{operator.name} has no shape of {len(run)} sizes for {name}")
    return found


def is_broadcast(shape: Shape, symbol: str) -> bool:
    """Whether each size of a symbol is 1 or that of another, so that both its bounds depend on whether it is 1."""
    domain = shape.domains.get(symbol)
    return bool(domain and all(bound and symbol in bound.names for bound in (domain.least, domain.most)))


def names_read(shape: Shape) -> frozenset[str]:
    """All names that the expressions of a shape read."""
    rows = (size for row in shape.sizes.values() for size in row if size != "*1")
    sizes = (compile_expression(size.removeprefix("*")).names for size in rows)
    groups = (expression.names for group in (shape.where, shape.counts) for expression in group.values())
    bounds = (bound.names for domain in shape.domains.values() for bound in (domain.least, domain.most) if bound)
    return frozenset().union(*sizes, *groups, *bounds, shape.when.names if shape.when else ())


class _Solving:
    """One shape being solved: ``matching`` holds the symbols known so far."""

    def __init__(self, shape: Shape, desc: OperatorDesc, run: Sizes, symbols: Symbols) -> None:
        self.name, self.shape, self.run, self.symbols = desc.type, shape, run, symbols
        self.matching = Matching(shape, dict(desc.fields))
        present = list(rows_of(shape, desc))
        self.ranks = {tensor: desc.DimensionCount for tensor, _, desc in present}
        self.rows = {tensor: row for tensor, row, _ in present}
        every = [(symbol, tensor) for tensor, row in self.rows.items() for size in row if (symbol := each_symbol(size))]
        self.each = {symbol: [tensor for other, tensor in every if other == symbol] for symbol, _ in every}
        self.lengths: dict[str, int] = {symbol: len(tensors) for symbol, tensors in self.each.items()}
        self.turn = 0

    def sizes(self, known: Mapping[str, Sizes]) -> dict[str, Sizes]:
        for tensor, row in self.rows.items():  # in order: the sizes of A[i] are those of the first tensor, the second...
            if tensor in known:
                self.matching.meet(tensor, row, known[tensor])
        self.settle()
        for tensor, row in self.rows.items():
            self.measure(tensor, row)
        self.take(self.wanted_values())
        return {tensor: self.row_sizes(tensor, row) for tensor, row in self.rows.items()}

    def settle(self) -> None:
        """Derives everything that follows. Raises NotGenerable where tensors contradict each other."""
        self.matching.settle()
        for message in self.matching.wrong.values():
            raise NotGenerable(f"{self.name}: {message}")

    def measure(self, tensor: str, row: Sequence[str]) -> None:
        """How many sizes the row's ``*`` symbol stands for: its count, or the rest of the dimension count."""
        unknown = []
        taken = sum(not size.startswith("*") for size in row)
        for symbol in (size[1:] for size in row if size.startswith("*") and size != "*1"):
            length = self.lengths.get(symbol, self.matching.length(symbol))
            if length is None:
                unknown.append(symbol)
            else:
                self.lengths[symbol] = length
                taken += length
        if len(unknown) > 1 or taken > self.ranks[tensor]:
            raise NotGenerable(f"{self.name} has no shape of {self.ranks[tensor]} sizes for {tensor}")
        self.lengths |= dict.fromkeys(unknown, self.ranks[tensor] - taken)

    def wanted_values(self) -> dict[str, int | Sizes]:
        """The wanted value of each free symbol, in the rows' order."""
        found: dict[str, int | Sizes] = {}
        for row in self.rows.values():
            if not found:
                found |= self.leading_values(row)
            for symbol in self.free(row):
                if symbol not in found:
                    found[symbol] = (
                        self.by_channel(symbol)
                        if symbol in self.lengths and is_broadcast(self.shape, symbol)
                        else self.in_turn(symbol)
                    )
        return {symbol: self.fit_length(symbol, self.symbols.get(symbol, value)) for symbol, value in found.items()}

    def free(self, row: Sequence[str]) -> list[str]:
        """The symbols of a row that are neither known nor derived nor attributes, as written."""
        found = []
        for size in row:
            symbol = size_symbol(size)
            text = "" if size == "*1" else symbol or size
            names = {symbol} if symbol else compile_expression(size).names if size != "*1" else set()
            found += sorted((name for name in names if self.is_free(name)), key=text.find)
        return found

    def is_free(self, symbol: str) -> bool:
        return symbol not in self.matching.fields and symbol not in self.shape.where and symbol not in self.matching.known

    def leading_values(self, row: Sequence[str]) -> dict[str, int | Sizes]:
        """The run's numbers, assigned from the last size of the leading row on; the first gets the rest."""
        left = list(self.run)
        found: dict[str, int | Sizes] = {}
        first = next((size for size in row if size != "*1"), None)
        for size in reversed(row):
            if size == "*1":
                continue
            length = self.lengths[size[1:]] if size.startswith("*") else 1
            part = tuple(left[len(left) - length :]) if length else ()
            left = left[: len(left) - length]
            if size is first and left and part:
                part = (prod(left) * part[0], *part[1:])
            for symbol in self.free([size])[:1]:
                found[symbol] = part if size.startswith("*") else prod(part)
        return found

    def in_turn(self, symbol: str) -> int | Sizes:
        """The run's next numbers."""
        run = self.run or (1,)
        length = self.lengths.get(symbol)
        taken = tuple(run[(self.turn + index) % len(run)] for index in range(1 if length is None else length))
        self.turn += len(taken)
        return taken[0] if length is None else taken

    def by_channel(self, symbol: str) -> Sizes:
        """1 in all dimensions but the second: one value per channel, as scales, means and variances usually have."""
        return tuple(1 + (at == 1) for at in range(self.lengths[symbol]))

    def fit_length(self, symbol: str, value: int | Sizes | Ends) -> int | Sizes:
        """The value with the symbol's length: its last sizes, or padded in front with its first one; a number is padded with ones."""
        length = self.lengths.get(symbol)
        if isinstance(value, Ends):
            return value.last if length is None else value.to_length(length)
        if length is None:
            return value[-1] if isinstance(value, tuple) else value
        if symbol in self.each and not isinstance(value, tuple):
            return tuple(value - index % value for index in range(length))
        row = value if isinstance(value, tuple) else (*(1,) * (length - 1), value)
        return (row[:1] * (length - len(row)) + row)[len(row) - length if len(row) > length else 0 :]

    def take(self, wanted: dict[str, int | Sizes]) -> None:
        """Assigns the symbols their values: first those without a domain, then those with bounds that are known by then."""
        for symbol in [symbol for symbol in wanted if symbol not in self.shape.domains]:
            self.matching.known[symbol] = wanted.pop(symbol)
        self.settle()
        while wanted:
            ready = [symbol for symbol in wanted if self.has_known_bounds(symbol)]
            if not ready:
                raise NotGenerable(f"{self.name}: the bounds of {', '.join(wanted)} depend on each other")
            for symbol in ready:
                self.matching.known[symbol] = self.nearest(symbol, wanted.pop(symbol))
            self.settle()

    def has_known_bounds(self, symbol: str) -> bool:
        """Whether all variables of the symbol's bounds are known; they may read the symbol itself."""
        domain = self.shape.domains[symbol]
        return all(bound is None or self.matching.unknown(bound) <= {symbol} for bound in (domain.least, domain.most))

    def nearest(self, symbol: str, value: int | Sizes) -> int | Sizes:
        """The value, moved into the symbol's domain."""
        domain = self.shape.domains[symbol]
        for bound, limited in ((domain.least, max), (domain.most, min)):
            limit: Any = None if bound is None else number(bound, {**self.matching.scope(), symbol: value})
            if isinstance(limit, str):
                raise NotGenerable(f"{self.name}: a bound of {symbol} is {limit}")
            if limit is None:
                continue
            if isinstance(value, tuple):
                limits = limit if isinstance(limit, tuple) else (limit,) * len(value)
                value = tuple(limited(one, int(end)) for one, end in zip(value, limits, strict=True))
            else:
                value = limited(value, int(limit))
        return value

    def row_sizes(self, tensor: str, row: Sequence[str]) -> Sizes:
        """The sizes of a row whose symbols are all known."""
        scope = self.matching.scope()
        parts: list[tuple[Any, ...] | None] = []
        for size in row:
            if size == "*1":
                parts.append(None)
                continue
            symbol, each = size_symbol(size), each_symbol(size)
            try:
                value = scope[symbol] if symbol else compile_expression(size).evaluate(scope)
            except (KeyError, *FAILURES) as error:
                raise NotGenerable(f"{self.name}: the size {size!r} of {tensor} cannot be computed ({error})") from None
            if each and isinstance(value, tuple):
                value = value[self.each[each].index(tensor)]
            parts.append(tuple(value) if size.startswith("*") and isinstance(value, tuple) else (value,))
        ones = self.ranks[tensor] - sum(len(part) for part in parts if part is not None)
        found = tuple(size for part in parts for size in ((1,) * ones if part is None else part))
        if not all(isinstance(size, int) and size > 0 for size in found):
            raise NotGenerable(f"{self.name}: {tensor} has invalid sizes {list(found)}: {', '.join(row)} needs domains")
        return found


def rows_in_force(operator: Operator, desc: OperatorDesc) -> dict[str, list[tuple[str, ...]]]:
    """The rows that each tensor's sizes must match, from the shapes that apply to a desc."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for shape in operator.shapes:
        if shape.when is None or number(shape.when, desc.fields) is True:
            for tensor, row, _ in rows_of(shape, desc):
                found.setdefault(tensor, []).append(row)
    return found


@cache
def fits(row: tuple[str, ...], count: int) -> bool:
    """Whether a tensor of ``count`` dimensions can have the sizes of a row."""
    single = sum(not size.startswith("*") for size in row)
    return count == single or (count > single and len(row) > single)
