"""The small expression language of spec files, for constraints, symbolic sizes and relations.

It is Python's expression syntax, reduced to arithmetic, comparison, logic, subscripts, attributes of tensors and a few functions:
``all(o + w <= s for o, w, s in zip(InputWindowOffsets, InputWindowSizes, InputTensor.Sizes))``. An expression is checked and compiled
when the spec is loaded, so that an unknown name is an error of the file and not of the run. Nothing is evaluated then.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from math import prod
from types import CodeType


class ExpressionError(ValueError):
    """An expression is not valid in the language; ``column`` is the position in the text, from 0."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(message)
        self.column = column


FUNCTIONS: dict[str, Callable[..., object]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "ceil_div": lambda a, b: -(-a // b),
    "effective_rank": lambda sizes: len(sizes) - sum(1 for _ in takewhile(lambda size: size == 1, sizes)),
    "len": len,
    "max": max,
    "min": min,
    "operator": lambda desc: desc.type if desc is not None else "",
    "present": lambda value: value is not None,
    "prod": prod,
    "range": range,
    "sum": sum,
    "zip": zip,
}
"""Functions for all expressions. ``effective_rank`` is the number of sizes without leading ones; ``operator`` the name of a fused operator."""

_SCOPE: dict[str, object] = {"__builtins__": {}, **FUNCTIONS}

_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Invert, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Compare, ast.Eq, ast.NotEq,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Call, ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Subscript, ast.Slice,
    ast.IfExp, ast.GeneratorExp, ast.ListComp, ast.comprehension, ast.List, ast.Tuple, ast.Starred, ast.Constant,
    ast.keyword,
)  # fmt: skip

_ATTRIBUTES = frozenset({"DataType", "Sizes", "DimensionCount"})

_LONGEST = 1000
"""The longest expression, in characters: one without a limit could be nested deeper than Python's parser can handle."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression: ``names`` are the free names that it reads, ``FUNCTIONS`` left out."""

    text: str
    names: frozenset[str]
    _code: CodeType = field(repr=False, compare=False)

    def evaluate(self, values: Mapping[str, object]) -> object:
        """The expression's value, with the given values of its free names. Raises what Python's arithmetic raises."""
        # A generator expression reads its free names as globals, so their values go there.
        scope = _SCOPE.copy()
        for name in self.names:
            if name in values:
                scope[name] = values[name]
        return eval(self._code, scope)  # noqa: S307 (every node was checked against the language above)


@lru_cache(maxsize=4096)
def compile_expression(text: str, functions: frozenset[str] = frozenset()) -> Expression:
    """Checks and compiles ``text``. ``functions`` may be called besides ``FUNCTIONS``; pass them to ``evaluate``.

    Raises:
        ExpressionError: not an expression, or one with something outside the language.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"an expression may have at most {_LONGEST} characters, and this one has {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python's compiler warns about, such as calling a number, is rejected
            return _compile(text, FUNCTIONS.keys() | functions)
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}", (error.offset or 1) - 1) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("not an expression: nested too deeply") from None


def _compile(text: str, functions: Set[str]) -> Expression:
    if "\0" in text:
        raise ExpressionError("not an expression: a null character", text.index("\0"))
    tree = ast.parse(text.strip(), mode="eval")
    for node in ast.walk(tree):
        problem = _problem(node, functions)
        if problem:
            raise ExpressionError(problem, getattr(node, "col_offset", 0))
    return Expression(text, frozenset(_free(tree.body, FUNCTIONS.keys())), compile(tree, "<spec>", "eval"))


def _problem(node: ast.AST, functions: Set[str]) -> str | None:
    """What is not allowed about a node, None if nothing."""
    if not isinstance(node, _NODES):
        return f"{type(node).__name__} is not part of the expression language"
    if isinstance(node, ast.Attribute) and node.attr not in _ATTRIBUTES:
        return f"a tensor has no {node.attr!r}; it has {', '.join(sorted(_ATTRIBUTES))}"
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in functions):
        return f"{ast.unparse(node.func)} is not a function; there are {', '.join(sorted(functions))}"
    if isinstance(node, ast.Call) and node.keywords and ast.unparse(node.func) in FUNCTIONS:
        return f"{ast.unparse(node.func)} takes no arguments by name"
    if isinstance(node, ast.keyword) and node.arg is None:
        return "** is not part of the expression language"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in functions:
        return f"{node.id} is a function, and no variable's name"
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str):
        return f"{ast.unparse(node)} is not part of the expression language"
    return None


def _free(node: ast.AST, bound: Set[str]) -> Iterator[str]:
    """The free names that a node reads. A comprehension's variables are bound inside it only."""
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in bound:
            yield node.id
    elif isinstance(node, ast.GeneratorExp | ast.ListComp):
        for part in node.generators:
            yield from _free(part.iter, bound)
            bound = bound | {name.id for name in ast.walk(part.target) if isinstance(name, ast.Name)}
            for condition in part.ifs:
                yield from _free(condition, bound)
        yield from _free(node.elt, bound)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _free(child, bound)
