"""The expression language: what is in it, what it gives, and that nothing leads out of it."""

import time
import warnings

import pytest

from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.expression import FUNCTIONS, ExpressionError, compile_expression

VALUES: dict[str, object] = {
    "A": TensorDesc("FLOAT32", (2, 3, 4)),
    "B": None,
    "Axes": (2, 0),
    "S": (1, 1, 5, 7),
    "Mode": "EDGE",
    "N": 6,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N // 4 + N % 4 * 2 - -1", 6),
        ("N << 2 | 1", 25),
        ("~N & 7 ^ 2", 3),
        ("N / 4", 1.5),
        ("N ** 2", 36),
        ('Mode == "EDGE" and N > 5', True),
        ('Mode not in ["WRAP", "EDGE"]', False),
        ("1 <= N < 7", True),
        ("N if present(B) else 0", 0),
        ("present(A)", True),
        ("A.Sizes[1]", 3),
        ("A.Sizes[-1]", 4),
        ("A.Sizes[1:]", (3, 4)),
        ("A.DimensionCount", 3),
        ('A.DataType == "FLOAT32"', True),
        ("sum(A.Sizes)", 9),
        ("prod(A.Sizes)", 24),
        ("[1 if i in Axes else A.Sizes[i] for i in range(len(A.Sizes))]", [1, 3, 1]),
        ("all(a < A.DimensionCount for a in Axes)", True),
        ("any(s == n for s in A.Sizes for n in Axes)", True),
        ("sum(present(t) for t in (A, B)) == 1", True),
        ("[s + a for s, a in zip(A.Sizes, Axes)]", [4, 3]),
        ("max(*Axes, 1)", 2),
        ("effective_rank(S)", 2),
        ("effective_rank([1, 1])", 0),
        ("effective_rank([3, 1])", 2),
        ("ceil_div(7, 2) + ceil_div(-7, 2)", 1),
        ("abs(-N)", 6),
        ("min(Axes)", 0),
    ],
)
def test_what_expressions_give(text: str, value: object) -> None:
    found = compile_expression(text).evaluate(VALUES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a + b", {"a", "b"}),
        ("max(a, len(b))", {"a", "b"}),
        ("all(x > y for x in A for y in x)", {"A"}),
        ("sum(i for i in A) + i", {"A", "i"}),
        ("[i for i in i]", {"i"}),
        ("[j for i in A for j in B if i < k]", {"A", "B", "k"}),
        ("sum(sum(j for j in i) for i in j)", {"j"}),
        ("A.Sizes[n]", {"A", "n"}),
        ("1", set()),
    ],
)
def test_free_names(text: str, names: set[str]) -> None:
    assert compile_expression(text).names == names


def test_functions_that_a_caller_adds() -> None:
    law = compile_expression("f(f(x)) == f(x)", frozenset({"f"}))
    assert law.names == {"f", "x"}
    assert law.evaluate({"f": abs, "x": -3}) is True
    with pytest.raises(ExpressionError, match="f is not a function"):
        compile_expression("f(f(x)) == f(x)")


OUTSIDE = {
    "lambda: 1": "Lambda is not part",
    "(lambda: 1)()": "is not a function",
    "[].append": "a tensor has no 'append'",
    "A.__class__": "a tensor has no '__class__'",
    "A.Sizes.__len__": "a tensor has no '__len__'",
    "().__class__.__bases__[0]": "a tensor has no",
    "'{0.__class__}'.format(A)": "is not a function",
    "f'{A.Sizes}'": "JoinedStr is not part",
    "__import__('os').system('true')": "is not a function",
    "open('x')": "open is not a function",
    "eval('1')": "eval is not a function",
    "getattr(A, 'x')": "getattr is not a function",
    "A(1)": "A is not a function",
    "3(1)": "3 is not a function",
    "len(A)(1)": "is not a function",
    "FUNCTIONS['abs'](1)": "is not a function",
    "max(key=1)": "takes no arguments by name",
    "(x := 3)": "NamedExpr is not part",
    "{1: 2}": "Dict is not part",
    "{1, 2}": "Set is not part",
    "{i for i in A}": "SetComp is not part",
    "{i: i for i in A}": "DictComp is not part",
    "A @ B": "MatMult is not part",
    "A is B": "Is is not part",
    "+A": "UAdd is not part",
    "None": "None is not part",
    "b'x'": "b'x' is not part",
    "...": "is not part",
    "1j": "1j is not part",
    "[len for len in A]": "len is a function, and no variable's name",
    "await A": "Await is not part",
    "yield": "not an expression",
    "a = 1": "not an expression",
    "import os": "not an expression",
    "a if": "not an expression",
    "": "not an expression",
    "a\0b": "null character",
    "'a\\q' (1)": "is not a function",
    "-" * 999 + "1": "nested too deeply",
    "1" + "+1" * 1000: "at most 1000 characters, and this one has 2001",
}


@pytest.mark.parametrize(("text", "says"), OUTSIDE.items(), ids=[text[:30].replace("\0", "0") for text in OUTSIDE])
def test_what_is_outside_the_language(text: str, says: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ExpressionError) as raised:
            compile_expression(text)
    assert says in str(raised.value)


@pytest.mark.parametrize(("text", "column"), [("a + lambda: 1", 4), ("a.b", 0), ("a and (b.c)", 7), ("f(1)", 0)])
def test_an_error_has_its_column(text: str, column: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        compile_expression(text)
    assert raised.value.column == column


def test_nothing_is_there_but_the_functions() -> None:
    """What a name that was not checked would reach: no builtins, only FUNCTIONS and the values given."""
    for name in ("print", "__builtins__['print']", "FUNCTIONS"):
        with pytest.raises((NameError, KeyError)):
            compile_expression(name).evaluate({})
    assert set(FUNCTIONS) == {
        *(
            "abs",
            "all",
            "any",
            "ceil_div",
            "effective_rank",
            "len",
            "max",
            "min",
            "operator",
            "present",
            "prod",
            "range",
            "sum",
            "zip",
        ),
    }


@pytest.mark.parametrize("text", ["9**9**9", "1 << 9**9", "'a' * 9**9 * 9**9", "[0] * 9**11", "sum(range(9**15))"])
def test_compiling_computes_nothing(text: str) -> None:
    start = time.process_time()
    compile_expression(text)
    assert time.process_time() - start < 1
