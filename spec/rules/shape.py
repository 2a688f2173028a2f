"""Whether a desc's sizes match a documented shape: symbols are bound to the sizes found, and everything else follows from them.

``InputTensor: [N, C, "*Spatial"]`` binds N, C and Spatial. A size that contradicts an earlier one, or an expression over them, is a
mismatch of its tensor. A size such as ``4 * H``, where nothing else determines H, is solved for H; such expressions are linear in practice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.expression import Expression, compile_expression
from dmlcts.spec.model.operator import Domain, Shape

INDEXED = re.compile(r"(\w+)\[[0-9]+\]")
"""The name of one tensor of an array: ``QuantizationTensors[0]``."""

_SYMBOL = re.compile(r"\*?([A-Za-z]\w*)")
_EACH = re.compile(r"([A-Za-z]\w*)\[i\]")

FAILURES = (ArithmeticError, AttributeError, IndexError, NameError, TypeError, ValueError)
"""What evaluating an expression over an invalid desc may raise."""


@cache
def size_symbol(size: str) -> str | None:
    """The symbol that a size of a shape consists of (``N``, ``*S``, ``A[i]``), None for a number or an expression."""
    found = _SYMBOL.fullmatch(size) or _EACH.fullmatch(size)
    return found[1] if found else None


@cache
def _is_star(size: str) -> bool:
    return size.startswith("*")


@cache
def each_symbol(size: str) -> str | None:
    """The symbol that has a value for each tensor of an array: ``A`` of ``A[i]``; None of any other size."""
    found = _EACH.fullmatch(size)
    return found[1] if found else None


@cache
def _stars(row: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """The places of ``*S`` in a row, and the symbols."""
    return tuple((at, size[1:]) for at, size in enumerate(row) if _is_star(size))


@cache
def _entries(row: tuple[str, ...]) -> tuple[tuple[str, str | None, bool], ...]:
    """Each size of a row, its symbol, and whether that has a value for each tensor of an array."""
    return tuple((size, size_symbol(size), each_symbol(size) is not None) for size in row)


def mismatches(shape: Shape, desc: OperatorDesc, fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each tensor with sizes that do not match the shape, and a message. ``fields`` are the desc's, with constants by name."""
    matching = Matching(shape, dict(fields))
    for name, row, tensor in rows_of(shape, desc):
        matching.meet(name, row, tensor.sizes)
    matching.settle()
    yield from ((name, matching.wrong[name]) for name, _ in desc.tensors() if name in matching.wrong)


def rows_of(shape: Shape, desc: OperatorDesc) -> Iterator[tuple[str, tuple[str, ...], TensorDesc]]:
    """Each tensor of a desc that a shape is about, with its row: its own, or that of its array."""
    for key, row in shape.sizes.items():
        yield from ((name, row, tensor) for name, tensor in desc.called(key) if key == name or name not in shape.sizes)


@dataclass(slots=True)
class Matching:
    """The symbols bound so far (``known``), and the sizes that still have to be compared with an expression (``open``)."""

    shape: Shape
    fields: dict[str, Any]
    known: dict[str, Any] = field(default_factory=dict)
    open: list[tuple[str, Expression, Any]] = field(default_factory=list)
    wrong: dict[str, str] = field(default_factory=dict)
    holder: dict[str, str] = field(default_factory=dict)

    def meet(self, tensor: str, row: tuple[str, ...], sizes: tuple[int, ...]) -> None:
        """Adds a tensor's sizes: binds single symbols, and defers expressions."""
        parts = self.parts(row, sizes)
        if parts is None:
            self.wrong[tensor] = f"{tensor} has {len(sizes)} dimensions, which do not match {self.row_text(row)}"
            return
        for actual, (size, symbol, each) in zip(parts, _entries(row), strict=True):
            if symbol in self.fields:
                symbol = None  # an attribute that is a size
            if symbol is not None:
                self.holder.setdefault(symbol, tensor)
            if size == "*1":
                if any(value != 1 for value in actual):
                    self.differs(tensor, size, actual, 1)
            elif symbol is None or symbol in self.shape.where:
                self.open.append((tensor, compile_expression(symbol or size), actual))
            elif each:
                self.known[symbol] = (*self.known.get(symbol, ()), actual)
            elif self.known.setdefault(symbol, actual) != actual:
                self.differs(tensor, size, actual, self.known[symbol])

    def parts(self, row: tuple[str, ...], sizes: tuple[int, ...]) -> list[Any] | None:
        """The actual value of each size of the row: a number, or a tuple for a ``*``. None if the number of sizes does not fit."""
        if not (starred := _stars(row)):
            return list(sizes) if len(row) == len(sizes) else None
        stars = {at: self.length(symbol) for at, symbol in starred}
        unknown = [at for at, length in stars.items() if length is None]
        rest = len(sizes) - len(row) + len(stars) - sum(filter(None, stars.values()))
        if (
            len(unknown) > 1
            or rest < 0
            or (rest and not unknown)
            or any(length is not None and length < 0 for length in stars.values())
        ):
            return None
        found: list[Any] = []
        start = 0
        for at in range(len(row)):
            if at not in stars:
                found.append(sizes[start])
                start += 1
            else:
                length = stars[at]
                end = start + (rest if length is None else length)
                found.append(sizes[start:end])
                start = end
        return found

    def length(self, symbol: str) -> int | None:
        """How many sizes ``*S`` stands for, None if only the tensor determines it."""
        if symbol in self.shape.counts:
            count = number(self.shape.counts[symbol], self.fields)
            return count if isinstance(count, int) else None
        return len(self.known[symbol]) if symbol in self.known else None

    def settle(self) -> None:
        """Derives, compares and solves until nothing changes; symbols that are still unknown are free."""
        progress = bool(self.open or self.shape.where)
        while progress:
            progress = False
            for symbol, expression in self.shape.where.items():
                if symbol not in self.known and not self.unknown(expression):
                    self.known[symbol] = number(expression, self.scope())
                    progress = True
            for entry in list(self.open):
                if self.compare(*entry):
                    self.open.remove(entry)
                    progress = True
        for symbol, domain in self.shape.domains.items():
            if symbol not in self.known or any(bound and self.unknown(bound) for bound in (domain.least, domain.most)):
                continue
            if not is_within(domain, self.known[symbol], self.scope()):
                tensor = self.holder[symbol]
                self.wrong.setdefault(
                    tensor, f"{tensor}: {symbol} is {_value_text(self.known[symbol])}, but must be {bounds(domain, self.scope())}"
                )

    def compare(self, tensor: str, expression: Expression, actual: Any) -> bool:
        """Compares a size with its expression, or solves for its unknown symbol. False if more than one symbol is unknown."""
        unknown = self.unknown(expression)
        if not unknown:
            expected = number(expression, self.scope())
            if expected != actual:
                self.differs(tensor, expression.text, actual, expected)
            return True
        line = self.line(expression, unknown) if isinstance(actual, int) else None
        if line is None:
            return False
        (symbol,) = unknown
        slope, start = line
        solution, rest = divmod(actual - start, slope)
        if rest or solution < 1:
            self.wrong.setdefault(tensor, f"{tensor}: no value of {symbol} gives {expression.text} = {actual}")
        else:
            self.known[symbol] = solution
        return True

    def unknown(self, expression: Expression) -> set[str]:
        """The names that an expression reads and that have no value yet."""
        return {name for name in expression.names if name not in self.known and name not in self.fields}

    def line(self, expression: Expression, unknown: Set[str]) -> tuple[int, int] | None:
        """Slope and offset of an expression that is linear in its only unknown symbol, None for any other."""
        if len(unknown) != 1 or unknown & self.shape.where.keys():
            return None
        (symbol,) = unknown
        at = [number(expression, {**self.scope(), symbol: value}) for value in range(3)]
        if not all(isinstance(value, int) for value in at):
            return None
        slope = at[1] - at[0]
        return (slope, at[0]) if slope and at[2] - at[1] == slope else None

    def scope(self) -> dict[str, Any]:
        """What an expression may read: the desc's fields, and the symbols known so far."""
        return {**self.fields, **self.known}

    def differs(self, tensor: str, size: str, actual: Any, expected: Any) -> None:
        """Records that a tensor's size differs from the expected one."""
        self.wrong.setdefault(tensor, f"{tensor} has {_value_text(actual)} where {size} is {_value_text(expected)}")

    def row_text(self, row: Sequence[str]) -> str:
        """A row as text for messages."""
        return "[" + ", ".join(row) + "]"


def is_within(domain: Domain, value: Any, values: Mapping[str, object]) -> bool:
    """Whether a number, or every element of a sequence, is in a domain; ``values`` are the variables of its bounds.

    A bound that reads an absent field is ignored.
    """
    elements = value if isinstance(value, tuple) else (value,)
    for bound, sign in ((domain.least, 1), (domain.most, -1)):
        limit = None if bound is None else number(bound, values)
        if limit is None or isinstance(limit, str):
            continue
        limits = limit if isinstance(limit, tuple) else (limit,) * len(elements)
        if any(sign * element < sign * least for element, least in zip(elements, limits, strict=False)):
            return False
    return True


def bounds(domain: Domain, values: Mapping[str, object]) -> str:
    """A domain in words, each bound with its value: ``at most 3 (DimensionCount - 1)``."""
    least, most = (bound and _bound(bound, values) for bound in (domain.least, domain.most))
    return f"from {least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"


def _bound(bound: Expression, values: Mapping[str, object]) -> str:
    value = _value_text(number(bound, values))
    return bound.text if value == bound.text else f"{value} ({bound.text})"


def number(expression: Expression, values: Mapping[str, object]) -> Any:
    """The value of an expression, a list as a tuple; an error text if it cannot be computed."""
    try:
        value = expression.evaluate(values)
    except FAILURES as error:
        return f"impossible ({error})"
    return tuple(value) if isinstance(value, list) else value


def _value_text(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)
