"""Softmax, its logarithm and hardmax against Python's own exponentials, and their tolerances against honest and faulty implementations."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = np.ndarray
INF, NAN = math.inf, math.nan
TYPES = {np.dtype(np.float16): "FLOAT16", np.dtype(np.float32): "FLOAT32"}


def answer(name: str, x: Array, axes: tuple[int, ...] | None = None) -> Answer:
    """What the reference says: of the operator with Axes where they are given, of the one without where not."""
    tensor = TensorDesc(TYPES[x.dtype], x.shape)
    fields = {"InputTensor": tensor, "OutputTensor": tensor}
    if axes is not None:
        fields |= {"AxisCount": len(axes), "Axes": axes}
    return compute(OperatorDesc(f"ACTIVATION_{name}{'' if axes is None else '1'}", fields), {"InputTensor": x})["OutputTensor"]


def rows_of(x: Array, axes: tuple[int, ...]) -> list[list[tuple[int, ...]]]:
    """The indices of each row, in row-major order."""
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for index in product(*map(range, x.shape)):
        found.setdefault(tuple(-1 if axis in axes else i for axis, i in enumerate(index)), []).append(index)
    return list(found.values())


def numbers(sizes: tuple[int, ...], low: float = -8, high: float = 8, dtype: type = np.float32) -> Array:
    return np.random.default_rng(5).uniform(low, high, sizes).astype(dtype)


AXES = [(3,), (0,), (1, 2), (3, 1), (0, 1, 2, 3), ()]


@pytest.mark.parametrize("axes", AXES)
def test_softmax_and_its_logarithm(axes: tuple[int, ...]) -> None:
    x = numbers((2, 3, 4, 5))
    softmax, logarithm = answer("SOFTMAX", x, axes), answer("LOG_SOFTMAX", x, axes)
    for row in rows_of(x, axes):
        values = {index: float(x[index]) for index in row}
        total = math.fsum(math.exp(value) for value in values.values())
        for index, value in values.items():
            assert softmax.value[index] == pytest.approx(math.exp(value) / total, rel=1e-13)
            assert logarithm.value[index] == pytest.approx(value - math.log(total), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("axes", AXES)
def test_hardmax_takes_the_first_of_equals_in_row_major_order(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).integers(-1, 2, (2, 3, 4, 5)).astype(np.float32)
    found = answer("HARDMAX", x, axes).value
    for row in rows_of(x, axes):
        first = max(row, key=lambda index: x[index])  # max takes the first of equals
        assert [found[index] for index in row] == [float(index == first) for index in row]


def test_order_and_repetition_of_axes_mean_nothing() -> None:
    x = np.array([0, 0, 5, 5, 1, 0], np.float32).reshape(2, 1, 3)
    for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX"):
        expected = answer(name, x, (0, 2)).value
        assert not np.array_equal(expected, answer(name, x, (2,)).value)
        for axes in ((2, 0), (0, 2, 0), (2, 2, 0)):
            assert np.array_equal(answer(name, x, axes).value, expected)
    assert answer("HARDMAX", x, (2, 0)).value.ravel().tolist() == [0, 0, 1, 0, 0, 0]


def test_without_axes_a_row_is_the_last_dimension() -> None:
    x = numbers((1, 1, 3, 4))
    for name in ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX"):
        assert np.array_equal(answer(name, x).value, answer(name, x, (3,)).value)


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("SOFTMAX", [1000, 1000, -1000], [0.5, 0.5, 0]),
        ("SOFTMAX", [3e38, -3e38], [1, 0]),
        ("SOFTMAX", [-3e38, -3e38], [0.5, 0.5]),
        ("SOFTMAX", [-INF, 2, 2], [0, 0.5, 0.5]),
        ("SOFTMAX", [-INF, -INF], [NAN, NAN]),
        ("SOFTMAX", [1, INF, 0], [NAN, NAN, NAN]),
        ("SOFTMAX", [1, NAN, 0], [NAN, NAN, NAN]),
        ("LOG_SOFTMAX", [5], [0]),
        ("LOG_SOFTMAX", [1000, 1000], [-math.log(2), -math.log(2)]),
        ("LOG_SOFTMAX", [0, -2000], [0, -2000]),
        ("LOG_SOFTMAX", [-INF, 2, 2], [-INF, -math.log(2), -math.log(2)]),
        ("LOG_SOFTMAX", [-INF, -INF], [NAN, NAN]),
        ("LOG_SOFTMAX", [1, INF, -INF, INF], [-INF, NAN, -INF, NAN]),
        ("HARDMAX", [-INF, -INF], [1, 0]),
        ("HARDMAX", [1, INF, INF], [0, 1, 0]),
        ("HARDMAX", [-0.0, 0.0], [1, 0]),
        ("HARDMAX", [0, 1e-45], [0, 1]),
    ],
)
def test_overflow_infinities_and_nan(name: str, row: list[float], expected: list[float]) -> None:
    found = answer(name, np.array(row, np.float32))
    np.testing.assert_allclose(found.value, expected, rtol=1e-15)
    assert found.defined is None or found.defined.all()
    for extent in (found.magnitude, found.terms):  # a bound that is none would take anything for right
        assert extent is None or np.isfinite(extent).all()


def test_hardmax_of_a_row_with_a_nan_is_not_defined() -> None:
    defined = answer("HARDMAX", np.array([[1, NAN, 0], [1, 2, 0]], np.float32)).defined
    assert np.array_equal(defined, [[False] * 3, [True] * 3])


def test_units_grow_with_the_length_and_the_distance_from_the_largest() -> None:
    found = answer("SOFTMAX", np.array([0, -4, -80], np.float32))
    spread = 2 * 4 * math.exp(-4) / (1 + math.exp(-4))  # the third weighs nothing
    assert found.terms == pytest.approx([3 + spread, 3 + spread + 8, 3 + spread + 160], rel=1e-9)
    assert np.array_equal(found.magnitude, found.value)
    found = answer("LOG_SOFTMAX", np.array([0, -4, -80], np.float32))
    sizes = np.array([1, 4, 80]) + np.array([0, 1, 1]) * math.log1p(math.exp(-4))
    assert found.magnitude == pytest.approx(sizes, rel=1e-12)
    assert found.terms * found.magnitude == pytest.approx([3 + spread + 2 * math.log1p(math.exp(-4))] * 3, rel=1e-9)


# Tolerances: what an implementation in FLOAT32 may do, and what none may


def truncated(values: Array) -> Array:
    """float64 to FLOAT16 toward zero, as Direct3D lets a store do."""
    near = values.astype(np.float16)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(values), np.nextafter(near, np.float16(0)), near)


def one_by_one(terms: Array) -> Array:
    return np.cumsum(terms, axis=-1, dtype=terms.dtype)[..., -1:]


def in_float32(x: Array, total: Callable[[Array], Array] = one_by_one, largest: bool = True) -> tuple[Array, Array]:
    """Softmax and its logarithm, every step rounded to FLOAT32."""
    below = x.astype(np.float32)
    with np.errstate(all="ignore"):
        below = below - (below.max(-1, keepdims=True) if largest else np.float32(0))
        terms = np.exp(below)
        sums = total(terms)
        return terms / sums, below - np.log(sums)


def through_float16(x: Array) -> tuple[Array, Array]:
    """As DirectML.dll does it: FLOAT32 throughout, but the sum is stored as FLOAT16; here both stores truncate."""
    below = x.astype(np.float64) - x.max(-1, keepdims=True)
    sums = truncated(np.exp(below).sum(-1, keepdims=True)).astype(np.float64)
    return truncated(np.exp(below) / sums), truncated(below - np.log(sums))


def in_float16(x: Array) -> tuple[Array, Array]:
    """Every step rounded to FLOAT16."""
    below = x - x.max(-1, keepdims=True)
    sums = one_by_one(np.exp(below))
    return np.exp(below) / sums, below - np.log(sums)


def verdicts(x: Array, found: tuple[Array, Array]) -> list[Verdict]:
    """The judgement of both results."""
    names = ("SOFTMAX", "LOG_SOFTMAX")
    return [
        judge(actual.astype(x.dtype), answer(name, x), load(f"ACTIVATION_{name}").tolerance, TYPES[x.dtype], BackendInfo("any"))
        for name, actual in zip(names, found, strict=True)
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("length", "reach"), [(2, 1), (8, 20), (65, 100), (1025, 1), (1025, 80), (65_537, 1)])
def test_computing_in_float32_is_accepted(length: int, reach: float, dtype: type) -> None:
    x = numbers((4, length), -reach, reach, dtype)
    for total in (one_by_one, lambda terms: terms.sum(-1, keepdims=True)):
        assert all(verdict.ok for verdict in verdicts(x, in_float32(x, total)))


@pytest.mark.parametrize(("length", "reach"), [(2, 1), (8, 4), (65, 1), (1025, 1), (65_537, 1)])
def test_a_sum_stored_as_float16_is_accepted_of_float16(length: int, reach: float) -> None:
    x = numbers((64 if length < 1000 else 1, length), -reach, reach, np.float16)
    assert all(verdict.ok for verdict in verdicts(x, through_float16(x)))


@pytest.mark.parametrize("length", [257, 1025])
def test_summing_in_float16_is_refused(length: int) -> None:
    x = numbers((4, length), -1, 1, np.float16)
    assert not any(verdict.ok for verdict in verdicts(x, in_float16(x)))


def test_a_half_of_the_precision_is_refused_of_float32() -> None:
    x = numbers((4, 65), -1, 1)
    assert not any(verdict.ok for verdict in verdicts(x, tuple(part.astype(np.float16) for part in in_float32(x))))


@pytest.mark.parametrize("length", [2, 65, 1025])
def test_an_element_left_out_is_refused(length: int) -> None:
    x = numbers((4, length), -1, 1)
    assert not any(verdict.ok for verdict in verdicts(x, in_float32(x, lambda terms: one_by_one(terms[..., :-1]))))


def test_exponentials_that_overflow_are_refused() -> None:
    x = np.array([[0, 1, 2, 4, 88, 89, 100]], np.float32)
    assert not any(verdict.ok for verdict in verdicts(x, in_float32(x, largest=False)))
    assert all(verdict.ok for verdict in verdicts(x, in_float32(x)))


def test_the_wrong_axis_is_refused() -> None:
    x = numbers((5, 5), -1, 1)
    assert not any(verdict.ok for verdict in verdicts(x, tuple(part.T for part in in_float32(x.T))))


def test_a_sum_beyond_float16_has_two_answers() -> None:
    """DirectML.dll stores the sum of FLOAT16 as 65504; the page promises the formula."""
    for name, exact, measured in (
        ("SOFTMAX", 1 / 70_000, 1 / 65_504),
        ("LOG_SOFTMAX", -math.log(70_000), -math.log(65_504)),
    ):
        for data_type, lost in (("FLOAT16", True), ("FLOAT32", False)):
            tensor = TensorDesc(data_type, (1, 1, 2, 70_000))
            desc = OperatorDesc(f"ACTIVATION_{name}", {"InputTensor": tensor, "OutputTensor": tensor})
            row = np.zeros(tensor.sizes, data_type.lower())
            row[..., 1, 10_000:] = -20  # this sum is within FLOAT16
            answer = compute(desc, {"InputTensor": row})["OutputTensor"]
            assert answer.value[0, 0, 0, 0] == pytest.approx(exact)
            assert answer.contested.keys() == ({"measured"} if lost else set())
            if lost:
                other = answer.contested["measured"]
                assert other.value[0, 0, 0, 0] == pytest.approx(measured)
                assert (other.value[0, 0, 1] == answer.value[0, 0, 1]).all()
