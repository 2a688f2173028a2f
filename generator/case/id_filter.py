"""The ``-k`` expression: words that an id must contain, with ``and``, ``or``, ``not`` and parentheses.

``matcher`` tests an id. ``may_match`` tells from an operator's name and the text of its spec whether any of its ids can match. So no spec is
parsed and no case made for operators that the expression cannot select.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from dmlcts.generator.values.layouts import ALIGNED_ROWS, FURTHER, LAYOUTS, LETTERS
from dmlcts.spec.model.abi import abi
from dmlcts.spec.reading.loader import operators_folder, short_form

WORDS = (
    "example sizes huge stride offset values part layout single slack total-size binding alignment owned all in-place on is offset any resource-all "
    "resource-inputs data gaps negative property agreement random network typical plain "
    "absent true false enum operator domain value count missing with without data-type unknown dimension-count of ones sizes zero alike "
    "larger smaller exchanged alone padded flags alignment below-size strides overlap every unbound same-width owned_by_dml beside short at-most window etc "
    "sequence again other-buffers other-offsets initialized-again two-of-one side-by-side in-turn recorded-once compute-queue threads resized-to five-dimensions output-permuted"
)
"""Words in ids that are in neither a spec nor the ABI: kinds of cases, and of invalid changes."""

_MOST_WORDS, _DEEPEST = 10_000, 50
"""Limits of an expression, which is compiled by a recursive parser."""


def matcher(expression: str) -> Callable[[str], bool]:
    """A test of ids for a ``-k`` expression, which ignores case.

    Raises:
        ValueError: not a valid expression.
    """
    code = compile(ast.Expression(_parse(expression)), "<-k>", "eval")
    return lambda case_id: bool(eval(code, {"__builtins__": {}}, {"id": case_id.lower()}))  # noqa: S307 (only quoted words and operators)


def may_match(expression: str, name: str) -> bool:
    """Whether a case of an operator may match; False only where none can. Raises ValueError as ``matcher`` does."""
    return True in _outcomes(_parse(expression), name)


def words_of(expression: str) -> list[str]:
    """The words of a valid expression, in lower case."""
    return [str(node.value) for node in ast.walk(_parse(expression)) if isinstance(node, ast.Constant) and node.value is not True]


@cache
def _parse(expression: str) -> ast.expr:
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    if len(tokens) > _MOST_WORDS or _depth(tokens) > _DEEPEST:
        raise ValueError(
            f"too long for an expression: at most {_MOST_WORDS} words, and {_DEEPEST} parentheses or `not` inside each other, "
            f"not {expression[:60]!r} ..."
        )
    python = [t if t in ("and", "or", "not", "(", ")") else f"({t.lower()!r} in id)" for t in tokens]
    try:
        tree = ast.parse(" ".join(python) or "True", "<-k>", "eval")
    except (SyntaxError, ValueError):  # ValueError: a lone surrogate
        tree = None
    # Two words side by side would be a call, and () a tuple.
    if tree is None or any(isinstance(node, ast.Call | ast.Tuple) for node in ast.walk(tree)):
        raise ValueError(f"not an expression of words, and, or, not and parentheses: {expression!r}")
    return tree.body


def _depth(tokens: list[str]) -> int:
    """How deep an expression is nested at most: parentheses, and `not` before `not`."""
    depth = deepest = negations = 0
    for word in tokens:
        depth += (word == "(") - (word == ")")
        negations = negations + 1 if word == "not" else 0
        deepest = max(deepest, depth + negations)
    return deepest


def _outcomes(node: ast.expr, name: str) -> set[bool]:
    """The possible values of an expression for the cases of an operator."""
    if isinstance(node, ast.BoolOp):
        found = [_outcomes(value, name) for value in node.values]
        decides = isinstance(node.op, ast.Or)  # one True settles an `or`, one False an `and`
        one = {decides} if any(decides in values for values in found) else set()
        return one | ({not decides} if all((not decides) in values for values in found) else set())
    if isinstance(node, ast.UnaryOp):
        return {not value for value in _outcomes(node.operand, name)}
    if not (isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant)):
        return {True}  # no expression
    word = str(node.left.value)
    if word in name.lower():
        return {True}
    return {True, False} if _may_stand(word, name) else {False}


@cache
def _may_stand(word: str, name: str) -> bool:
    """Whether a word that is not in an operator's name may occur elsewhere in its ids."""
    text, constants = _text(name), _constants(name)
    first = word.partition("/")[0]
    names_another = "_" in first and first not in name.lower() and any(first in other.lower() for other in abi().operator_types)
    if names_another and first not in constants and "type: operator_desc" not in text:
        return False  # an operator's name occurs in its own ids, and in those of operators with a fused operator
    if "/" in word and first in _names():
        ends_a_word = re.compile(re.escape(first) + r"(?![\w-])")
        if not any(map(ends_a_word.search, (name.lower(), constants, text))):
            return False  # `add1/` begins the ids of an operator
    if any(kind not in constants and kind not in text for kind in re.findall(r"(?:float|u?int)\d+", word)):
        return False  # a mistyped data type
    return all(run in text or run in constants for run in re.findall(r"[a-z_]*[a-z][a-z_]*", word))


@cache
def _names() -> frozenset[str]:
    """The names of all operators in lower case, in full and in their short form."""
    return frozenset(form.lower() for name in abi().operator_types for form in (name, short_form(name)))


@cache
def _constants(name: str) -> str:
    """Words in ids besides those of the operator's spec: the constants of its enumerations, and words common to all ids."""
    text = _text(name)
    enums = (enum.values for enum in abi().enums.values() if enum.name.lower() in text)
    fused = abi().fused_activations if "fused: true" in text else ()
    return "\n".join(
        (
            WORDS,
            *LAYOUTS,
            *FURTHER,
            ALIGNED_ROWS,
            *LETTERS.values(),
            *abi().data_types,
            *fused,
            *(constant for each in enums for constant in each),
        )
    ).lower()


@cache
def _text(name: str) -> str:
    """The text of an operator's spec and of those that it extends, in lower case; repeated without spaces, as ids show expressions."""
    file = _spec_files().get(name)
    text = file.read_text(encoding="utf-8").lower() if file else ""
    extended = re.search(r"^extends:\s*[\"']?([\w-]+)", text, re.MULTILINE)
    further = _text(extended[1].upper()) if extended else ""
    return "\n".join((text, "".join(text.split()), further))


@cache
def _spec_files() -> dict[str, Path]:
    """The spec files by name: those of operators, and of what operators extend."""
    folders = (operators_folder().parent / "profiles", operators_folder())
    return {file.stem.upper(): file for folder in folders for file in folder.rglob("*.yaml")}
