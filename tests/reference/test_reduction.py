"""Reductions, places of extremes and running totals against loops over Python's own numbers."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Array = np.ndarray
INF, NAN = math.inf, math.nan


def tensor_of(x: Array) -> TensorDesc:
    return TensorDesc(x.dtype.name.upper(), x.shape)


def reduced(x: Array, function: str, axes: tuple[int, ...], output: str | None = None, direction: str = "") -> Answer:
    """What the reference says: of REDUCE, or with a direction of the operator called ``function``."""
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    tensors = {"InputTensor": tensor_of(x), "OutputTensor": TensorDesc(output or tensor_of(x).data_type, sizes)}
    counted = {"AxisCount": len(axes), "Axes": axes}
    fields = {**tensors, **counted, "AxisDirection": direction} if direction else {"Function": function, **tensors, **counted}
    answer = compute(OperatorDesc(function if direction else "REDUCE", fields), {"InputTensor": x})["OutputTensor"]
    assert answer.value.shape == sizes
    return answer


def running(x: Array, kind: str, axis: int, direction: str = "INCREASING", exclusive: bool = False) -> Answer:
    fields = {"InputTensor": tensor_of(x), "OutputTensor": tensor_of(x), "Axis": axis, "AxisDirection": direction}
    name, last = ("SUMMATION", "HasExclusiveSum") if kind == "sum" else ("PRODUCT", "HasExclusiveProduct")
    return compute(OperatorDesc(f"CUMULATIVE_{name}", {**fields, last: exclusive}), {"InputTensor": x})["OutputTensor"]


def rows_of(x: Array, axes: tuple[int, ...]) -> dict[tuple[int, ...], list[float]]:
    """The elements that each element of the output is made of, in row-major order."""
    found: dict[tuple[int, ...], list[float]] = {}
    for index in product(*map(range, x.shape)):
        found.setdefault(tuple(0 if axis in axes else i for axis, i in enumerate(index)), []).append(x[index].item())
    return found


def numbers(sizes: tuple[int, ...]) -> Array:
    """Numbers from 0.25 to 4 of either sign, in FLOAT32."""
    generator = np.random.default_rng(7)
    return (np.exp2(generator.uniform(-2, 2, sizes)) * generator.choice([1, -1], sizes)).astype(np.float32)


FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "AVERAGE": lambda row: math.fsum(row) / len(row),
    "L1": lambda row: math.fsum(map(abs, row)),
    "L2": lambda row: math.hypot(*row),
    "LOG_SUM_EXP": lambda row: math.log(math.fsum(map(math.exp, row))),
    "MAX": max,
    "MIN": min,
    "MULTIPLY": lambda row: float(math.prod(map(Fraction, row))),
    "SUM": math.fsum,
    "SUM_SQUARE": lambda row: math.fsum(value * value for value in row),
}
SUBSETS = [axes for count in range(5) for axes in combinations(range(4), count)]


@pytest.mark.parametrize("axes", SUBSETS, ids=str)
def test_every_function_along_every_subset_of_axes(axes: tuple[int, ...]) -> None:
    x = numbers((2, 3, 1, 4))
    for function, expected in FUNCTIONS.items():
        found = reduced(x, function, axes)
        assert found.defined is None or found.defined.all()
        for index, row in rows_of(x, axes).items():
            assert found.value[index] == pytest.approx(expected(row), rel=1e-13, abs=1e-14)
    found = reduced(np.abs(x), "LOG_SUM", axes)
    for index, row in rows_of(np.abs(x), axes).items():
        assert found.value[index] == pytest.approx(math.log(math.fsum(row)), rel=1e-13, abs=1e-14)


def test_order_and_repetition_of_axes_mean_nothing() -> None:
    x = numbers((2, 3, 4))
    for function in FUNCTIONS:
        expected = reduced(x, function, (0, 2)).value
        for axes in ((2, 0), (0, 2, 0), (2, 2, 0)):
            assert np.array_equal(reduced(x, function, axes).value, expected)
    places = reduced(x, "ARGMAX", (0, 2), "UINT32").value
    assert np.array_equal(reduced(x, "ARGMAX", (2, 0), "UINT32").value, places)


def test_eight_dimensions() -> None:
    x = numbers((2, 1, 3, 2, 1, 2, 2, 3))
    for index, row in rows_of(x, (1, 2, 4, 7)).items():
        assert reduced(x, "SUM", (1, 2, 4, 7)).value[index] == pytest.approx(math.fsum(row), abs=1e-14)


# Integers


@pytest.mark.parametrize("name", ["INT64", "UINT64", "INT32", "UINT32"])
def test_sums_and_products_of_integers_wrap_around(name: str) -> None:
    dtype = np.dtype(name.lower())
    limits = np.iinfo(dtype)
    x = np.array([[limits.max, limits.max, 3], [limits.min, 7, limits.max // 3], [limits.max // 5, 11, 13]], dtype)
    functions: dict[str, Callable[[list[int]], int]] = {
        "SUM": sum,
        "L1": lambda row: sum(map(abs, row)),
        "SUM_SQUARE": lambda row: sum(value * value for value in row),
        "MULTIPLY": math.prod,
    }
    for function, exact in functions.items():
        found = reduced(x, function, (1,)).value
        assert found.dtype == dtype
        assert [int(value) % 2**limits.bits for value in found[:, 0]] == [exact(row) % 2**limits.bits for row in x.tolist()]


@pytest.mark.parametrize("name", ["INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"])
def test_extremes_of_integers_are_exact(name: str) -> None:
    limits = np.iinfo(name.lower())
    x = np.array([[limits.max - 1, limits.max, limits.min + 1, limits.min], [5, 4, 6, 5]], name.lower())
    assert reduced(x, "MAX", (1,)).value.tolist() == [[limits.max], [6]]
    assert reduced(x, "MIN", (1,)).value.tolist() == [[limits.min], [4]]
    assert reduced(x, "ARGMAX", (1,), "UINT32").value.tolist() == [[1], [2]]
    assert reduced(x, "ARGMIN", (1,), "UINT32").value.tolist() == [[3], [1]]


# Places


@pytest.mark.parametrize("output", ["INT64", "INT32", "UINT64", "UINT32"])
@pytest.mark.parametrize("axes", SUBSETS[1:], ids=str)
def test_places_count_in_row_major_order_over_the_reduced_axes(axes: tuple[int, ...], output: str) -> None:
    x = np.random.default_rng(3).integers(-1, 2, (2, 3, 2, 3)).astype(np.float32)  # nearly every extreme stands twice
    for function, best in (("ARGMAX", max), ("ARGMIN", min)):
        first = reduced(x, function, axes, output, "INCREASING").value
        last = reduced(x, function, axes, output, "DECREASING").value
        assert first.dtype == np.dtype(output.lower())
        assert np.array_equal(reduced(x, function, axes, output).value, first)
        for index, row in rows_of(x, axes).items():
            assert first[index] == row.index(best(row))
            assert last[index] == len(row) - 1 - row[::-1].index(best(row))


@pytest.mark.parametrize("direction", ["INCREASING", "DECREASING"])
def test_places_in_a_row_with_a_nan_are_not_defined(direction: str) -> None:
    x = np.array([[1, NAN, 0], [1, INF, 0]], np.float32)
    for function in ("ARGMAX", "ARGMIN"):
        assert reduced(x, function, (1,), "UINT32", direction).defined.tolist() == [[False], [True]]


# NaN, infinities and overflow


@pytest.mark.parametrize(
    ("function", "row", "expected"),
    [
        ("MAX", [NAN, 1, NAN, 2], 2),
        ("MIN", [NAN, 1, NAN, 2], 1),
        ("MAX", [NAN, NAN], -INF),
        ("MIN", [NAN, NAN], INF),
        ("MAX", [NAN, -INF], -INF),
        ("SUM", [1, NAN], NAN),
        ("SUM", [1, INF], INF),
        ("SUM", [INF, -INF], NAN),
        ("AVERAGE", [1, -INF], -INF),
        ("L1", [1, -INF], INF),
        ("L2", [1, -INF], INF),
        ("L2", [1, NAN], NAN),
        ("L2", [0, -0.0], 0),
        ("LOG_SUM", [0, 0], -INF),
        ("LOG_SUM", [1, INF], INF),
        ("LOG_SUM", [1, NAN], NAN),
        ("LOG_SUM_EXP", [-INF, -INF], -INF),
        ("LOG_SUM_EXP", [-INF, 3], 3),
        ("LOG_SUM_EXP", [-1000, 3], 3),
        ("LOG_SUM_EXP", [1000, INF], INF),
        ("LOG_SUM_EXP", [1, NAN], NAN),
        ("MULTIPLY", [0, INF], NAN),
        ("MULTIPLY", [-2, INF], -INF),
        ("MULTIPLY", [2**100, 2**100], 2.0**200),
        ("MULTIPLY", [1e-30, 0], 0),
        ("MULTIPLY", [1e-30, 1e-30, 0], 0),
        ("MULTIPLY", [1, NAN], NAN),
    ],
)
def test_special_values(function: str, row: list[float], expected: float) -> None:
    found = reduced(np.array(row, np.float32), function, (0,))
    np.testing.assert_allclose(found.value, [expected], rtol=1e-15)
    assert found.defined is None or found.defined.all()


@pytest.mark.parametrize(
    ("function", "row"),
    [
        ("AVERAGE", [3e38, 3e38]),
        ("AVERAGE", [3e38, 3e38, -3e38]),  # infinite or not by the order
        ("L2", [1e20]),
        ("LOG_SUM", [-1, -2]),
        ("LOG_SUM", [1, -1]),  # a logarithm of 0, or of what is left of rounding
        ("LOG_SUM", [3e38, 3e38]),
        ("MULTIPLY", [1e30, 1e30, 1e-30]),
        ("MULTIPLY", [1e-30, 1e-30, 1e30]),
        ("MULTIPLY", [1e-20, 1e-20]),
        ("MULTIPLY", [1e-30, 1e-30, INF]),
        ("MULTIPLY", [1e30, 1e30, 0]),
    ],
)
def test_what_leaves_float32_on_the_way_is_not_defined(function: str, row: list[float]) -> None:
    found = reduced(np.array([row, [1] * len(row)], np.float32), function, (1,))
    assert found.defined.tolist() == [[False], [True]]


def test_float16_is_summed_in_float32() -> None:
    x = np.full(4, 60000, np.float16)
    for function, expected in (("AVERAGE", 60000), ("L2", 2 * 60000), ("LOG_SUM", math.log(4 * 60000))):
        found = reduced(x, function, (0,))
        assert found.value == pytest.approx(expected, rel=1e-14)
        assert found.defined.all()


# What bounds the error


def test_magnitudes_and_terms_of_sums() -> None:
    x = np.array([[1, -2, 3, -4]], np.float32)
    for function, magnitude, terms in (("SUM", 10, 4), ("L1", 10, 4), ("SUM_SQUARE", 30, 4), ("AVERAGE", 2.5, 6.5)):
        found = reduced(x, function, (1,))
        assert found.magnitude.tolist() == [[magnitude]]
        assert found.terms == terms
    assert reduced(x, "MULTIPLY", (1,)).terms == 4
    assert reduced(x, "SUM", ()).terms == 1


def test_the_slack_is_what_an_error_of_the_sum_makes_of_the_result() -> None:
    roundoff = 4 * 2.0**-23
    x = np.array([1, 2, 3, 4], np.float32)
    assert reduced(x, "L2", (0,)).slack == pytest.approx(math.sqrt(30) * roundoff / 2, rel=1e-5)
    assert reduced(x, "LOG_SUM", (0,)).slack == pytest.approx(roundoff, rel=1e-5)
    weights = np.exp(x.astype(np.float64))
    units = float((weights * (4 + x)).sum() / weights.sum())
    assert reduced(x, "LOG_SUM_EXP", (0,)).slack == pytest.approx(roundoff + units * 2.0**-23, rel=1e-5)
    cancelling = np.array([1000, -999], np.float32)
    assert reduced(cancelling, "LOG_SUM", (0,)).slack == pytest.approx(1999 * 2 * 2.0**-23, rel=1e-3)


def test_squares_that_are_flushed_are_in_the_slack() -> None:
    found = reduced(np.full(4, 1e-30, np.float32), "L2", (0,))
    assert found.slack[0] == pytest.approx(math.sqrt(4 * 2.0**-126), rel=1e-6)
    assert not reduced(np.zeros(4, np.float32), "L2", (0,)).slack.any()


# Running sums and products


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("direction", ["INCREASING", "DECREASING"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_totals(axis: int, direction: str, exclusive: bool) -> None:
    x = numbers((2, 3, 1, 4))
    totals, products = (running(x, kind, axis, direction, exclusive) for kind in ("sum", "product"))
    for index in product(*map(range, x.shape)):
        line = [float(value) for value in x[(*index[:axis], slice(None), *index[axis + 1 :])]]
        here = index[axis]
        part = line[: here + (not exclusive)] if direction == "INCREASING" else line[here + exclusive :]
        assert totals.value[index] == pytest.approx(math.fsum(part), abs=1e-14)
        assert totals.magnitude[index] == pytest.approx(math.fsum(map(abs, part)), abs=1e-14)
        assert products.value[index] == pytest.approx(math.prod(part), rel=1e-14)
        assert totals.terms[index] == products.terms[index] == len(part)
    assert products.defined.all()


@pytest.mark.parametrize("name", ["INT64", "UINT64", "INT32", "UINT32"])
def test_running_totals_of_integers_wrap_around(name: str) -> None:
    limits = np.iinfo(name.lower())
    x = np.array([limits.max, limits.max - 4, 3, limits.max // 7], name.lower())
    exact = x.tolist()
    for kind, total in (("sum", sum), ("product", math.prod)):
        found = running(x, kind, 0).value
        assert found.dtype == x.dtype
        assert [int(v) % 2**limits.bits for v in found] == [total(exact[: i + 1]) % 2**limits.bits for i in range(4)]
        assert running(x, kind, 0, exclusive=True).value.tolist() == [kind == "product", *found[:-1].tolist()]


def test_running_totals_of_special_values() -> None:
    x = np.array([0, INF, 1, NAN, 2], np.float32)
    np.testing.assert_array_equal(running(x, "sum", 0).value, [0, INF, INF, NAN, NAN])
    np.testing.assert_array_equal(running(x, "sum", 0, "DECREASING").value, [NAN, NAN, NAN, NAN, 2])
    found = running(x, "product", 0)
    np.testing.assert_array_equal(found.value, [0, NAN, NAN, NAN, NAN])
    assert found.defined.all()


def test_running_products_that_leave_float32_on_the_way_are_not_defined_from_there_on() -> None:
    x = np.array([2, 1e30, 1e30, 1e-30, 1e-30], np.float32)
    assert running(x, "product", 0).defined.tolist() == [True, True, True, False, False]
    assert running(x, "product", 0, exclusive=True).defined.tolist() == [True, True, True, True, False]
    assert running(x, "product", 0, "DECREASING").defined.tolist() == [False, False, False, False, True]
