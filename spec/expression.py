"""The small expression language of spec files: constraints, symbolic sizes and relations are written in it.

It is Python's expression syntax, cut down to arithmetic, comparison, logic, subscripts, attributes of tensors and a few functions:
``all(Offsets[i] + WindowSizes[i] <= InputTensor.Sizes[i] for i in range(DimensionCount))``. An expression is checked and compiled when
the spec is loaded, so that an unknown name is an error of the file and not of the run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from types import CodeType


class ExpressionError(ValueError):
    """An expression is not of the language; ``column`` is its place in the text, from 0."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "ceil_div": lambda a, b: -(-a // b),
    "len": len,
    "max": max,
    "min": min,
    "present": lambda value: value is not None,
    "prod": prod,
    "range": range,
    "sum": sum,
    "zip": zip,
}

_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Invert, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Call, ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Subscript, ast.Slice,
    ast.IfExp, ast.GeneratorExp, ast.comprehension, ast.List, ast.Tuple, ast.Starred, ast.Constant,
)  # fmt: skip

_ATTRIBUTES = frozenset({"DataType", "Sizes", "DimensionCount"})


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression: ``names`` are the free names that it reads, functions left out."""

    text: str
    names: frozenset[str]
    _code: CodeType = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, object]) -> object:
        """The expression's value where each free name has the given value. Raises what Python's arithmetic raises."""
        # A generator expression reads its free names as globals, so that everything must stand there.
        scope = {"__builtins__": {}, **FUNCTIONS, **values}
        return eval(self._code, scope)  # noqa: S307 (every node was checked against the language above)


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Checks and compiles ``text``.

    Raises:
        ExpressionError: not an expression, or one with something outside the language.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}", (error.offset or 1) - 1) from None
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names = set()
    for node in ast.walk(tree):
        column = getattr(node, "col_offset", 0)
        if not isinstance(node, _NODES):
            raise ExpressionError(f"{type(node).__name__} is not part of the expression language", column)
        if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
            raise ExpressionError(f"a tensor has no {node.attr!r}; it has {', '.join(sorted(_ATTRIBUTES))}", column)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in bound | FUNCTIONS.keys():
            names.add(node.id)
    return Expression(text, frozenset(names), compile(tree, "<spec>", "eval"))
