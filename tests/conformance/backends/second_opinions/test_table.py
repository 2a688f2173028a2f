"""How a second opinion's table is read: names, calls, numbers, and what it does not know. No library is needed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.conformance.backends.second_opinions.opinion import evaluate, exact
from dmlcts.conformance.backends.second_opinions.table import choose_mapping, read_table, read_way
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc


def test_a_name_is_the_first_expression_whose_fields_are_there() -> None:
    (way,) = read_table("torch").operators["MULTIHEAD_ATTENTION"]
    key, stacked = TensorDesc("FLOAT32", (1, 4, 6)), TensorDesc("FLOAT32", (1, 7, 2, 2, 3))
    fields = {"HeadCount": 2, "KeyTensor": key, "StackedKeyValueTensor": None, "OutputTensor": TensorDesc("FLOAT32", (1, 5, 8))}
    scope = way.scope(OperatorDesc("MULTIHEAD_ATTENTION", fields))
    assert (scope["Heads"], scope["KeySize"], scope["Keys"], scope["ValueSize"]) == (2, 3, 4, 4)
    scope = way.scope(OperatorDesc("MULTIHEAD_ATTENTION", fields | {"KeyTensor": None, "StackedKeyValueTensor": stacked}))
    assert (scope["KeySize"], scope["Keys"]) == (3, 7)
    assert "RowSizes" not in scope, "no other names than it reads"


class Written:
    """A Library that writes calls down."""

    def tensor(self, name: str, _: np.ndarray) -> str:
        return name

    def constant(self, number: float) -> str:
        return str(number)

    def numbers(self, numbers: Any) -> str:
        return str(list(numbers))

    def call(self, function: str, arguments: list[Any], keywords: dict[str, Any], result: tuple[int, int] | None) -> str:
        given = [str(argument) for argument in arguments] + [f"{name}={value}" for name, value in keywords.items()]
        return f"{function}({', '.join(given)})" + (f"[{result[0]} of {result[1]}]" if result else "")

    def array(self, value: Any) -> np.ndarray:
        return np.array(value)


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("f(ATensor, CTensor)", "f(a, None)"),
        ("f(g(CTensor), 1)", None),
        ("f(ATensor, g(CTensor) or 1)", "f(a, 1)"),
        ("f(ATensor, CTensor or g(BTensor) or 1)", "f(a, g(b))"),
        ("f([CTensor, g(ATensor), BTensor], axis=2)", "f(['g(a)', 'b'], axis=2)"),
        ("f(ATensor, [1, prod(ATensor.Sizes)])", "f(a, [1, 6])"),
        ("f(ATensor, [*ATensor.Sizes[:1], -1])", "f(a, [2, -1])"),
        ("f(ATensor if Alpha > 1 else BTensor)", "f(b)"),
        ("f(ATensor, alpha=Alpha)", "f(a, alpha=0.10000000149011612)"),
        ("f(ATensor)[1]", "f(a)[1 of 2]"),
        ("f(ATensor)[0, 3]", "f(a)[0 of 3]"),
        ("f(ATensor, NOTHING)", "f(a, None)"),
    ],
)
def test_what_stands_in_a_call_s_place(call: str, written: str | None) -> None:
    tensor = TensorDesc("FLOAT32", (2, 3))
    desc = OperatorDesc("GEMM", {"ATensor": tensor, "BTensor": tensor, "CTensor": None, "Alpha": 0.1})
    way = read_way("torch", call)
    assert evaluate(way.nodes[0], way.scope(desc), {"ATensor": "a", "BTensor": "b"}, Written()) == written


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0.1, "float16"), (1e5, "float16"), (1.5, "int32"), (256, "uint8"), (-1, "uint8"), (math.inf, "int8"), (math.nan, "int8")],
)
def test_a_number_that_the_type_lacks_is_unsupported(number: float, dtype: str) -> None:
    with pytest.raises(Unsupported, match=f"is no {dtype}"):
        exact(number, np.dtype(dtype))


def test_a_number_that_the_type_has_is_itself() -> None:
    assert exact(-0.5, np.dtype(np.float16)) == -0.5
    assert exact(math.inf, np.dtype(np.float32)) == math.inf
    assert np.isnan(exact(math.nan, np.dtype(np.float32)))
    assert exact(255.0, np.dtype(np.uint8)).dtype == np.uint8


def test_what_no_table_knows_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="NEW_OPERATOR does not map: no call of torch is known for it"):
        choose_mapping(read_table("torch"), OperatorDesc("NEW_OPERATOR", {}), "torch")
