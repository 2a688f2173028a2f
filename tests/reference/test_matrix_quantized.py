"""The references of products of quantized matrices, against loops over Python's integers and fractions."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = np.ndarray
RNG = np.random.default_rng(1)
NAMES = {np.dtype(name.lower()): name for name in ("INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "FLOAT16", "FLOAT32")}
BYTES = ("int8", "uint8")


def run(operator: str, output: str, **arrays: Array | None) -> Answer:
    found = {f"{name}Tensor": array for name, array in arrays.items() if array is not None}
    tensors = {name: TensorDesc(NAMES[array.dtype], array.shape) for name, array in found.items()}
    a, b = found["ATensor"], found["BTensor"]
    sizes = (*a.shape[:-1], b.shape[-1])
    fields = {field.name: tensors.get(field.name) for field in load(operator).fields}
    return compute(OperatorDesc(operator, {**fields, "OutputTensor": TensorDesc(output, sizes)}), found)["OutputTensor"]


def passes(actual: Any, answer: Answer, operator: str, output: str) -> bool:
    values = np.array(actual).astype(output.lower())
    return judge(values, answer, load(operator).tolerance, output, BackendInfo("any")).ok


def integers(dtype: str, *sizes: int) -> Array:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, sizes).astype(dtype)


def scales(*sizes: int, dtype: str = "float32") -> Array:
    return RNG.uniform(0.01, 0.1, sizes).astype(dtype)


def at(array: Array | None, row: int, column: int) -> Fraction:
    """The element of a scale or a zero point that belongs to a row and a column; 0 where it is absent."""
    if array is None:
        return Fraction(0)
    element = np.atleast_2d(array).reshape(np.atleast_2d(array).shape[-2:])
    return Fraction(element[row % element.shape[0], column % element.shape[1]].item())


def exact(
    a: Array, b: Array, az: Array | None, bz: Array | None, a_scale: Array | None = None, b_scale: Array | None = None
) -> Any:
    """The product of two matrices in fractions, element by element."""
    one = np.ones((1, 1))
    a_scale, b_scale = one if a_scale is None else a_scale, one if b_scale is None else b_scale
    for i, j in product(range(a.shape[0]), range(b.shape[1])):
        yield (
            (i, j),
            sum(
                (Fraction(int(a[i, k])) - at(az, i, 0))
                * at(a_scale, i, 0)
                * (Fraction(int(b[k, j])) - at(bz, 0, j))
                * at(b_scale, 0, j)
                for k in range(a.shape[1])
            ),
        )


POINTS: list[tuple[tuple[int, ...] | None, tuple[int, ...] | None]] = [
    (None, None), ((1,), None), (None, (4,)), ((2, 1), (1, 4)), ((1, 1, 1, 1), (1, 1, 1, 4)), ((1, 2, 1), (1,)),
]  # fmt: skip


# In integers


@pytest.mark.parametrize(("left", "right"), list(product(BYTES, BYTES)))
@pytest.mark.parametrize(("a_point", "b_point"), POINTS)
def test_integers(left: str, right: str, a_point: Any, b_point: Any) -> None:
    a, b = integers(left, 2, 3), integers(right, 3, 4)
    az = None if a_point is None else integers(left, *a_point)
    bz = None if b_point is None else integers(right, *b_point)
    found = run("MATRIX_MULTIPLY_INTEGER", "INT32", A=a, AZeroPoint=az, B=b, BZeroPoint=bz)
    assert found.value.dtype == np.int32
    for index, value in exact(a, b, az, bz):
        assert found.value[index] == value


def test_batches_have_zero_points_in_common() -> None:
    a, b, az = integers("uint8", 2, 3, 4, 5), integers("int8", 2, 3, 5, 2), integers("uint8", 1, 1, 4, 1)
    found = run("MATRIX_MULTIPLY_INTEGER", "INT32", A=a, AZeroPoint=az, B=b)
    expected = (a.astype(int) - az.astype(int)) @ b.astype(int)
    assert found.value.tolist() == expected.tolist()


@pytest.mark.parametrize("terms", [33_000, 33_100, 70_000])
def test_a_sum_beyond_int32_wraps_around(terms: int) -> None:
    a, b = np.full((1, terms), 255, np.uint8), np.full((terms, 1), 255, np.uint8)
    found = run("MATRIX_MULTIPLY_INTEGER", "INT32", A=a, B=b)
    assert found.value.tolist() == [[(255 * 255 * terms + 2**31) % 2**32 - 2**31]]


# As real numbers


@pytest.mark.parametrize(("left", "right"), [("int8", "int8"), ("uint8", "int16"), ("uint16", "uint32"), ("int32", "uint8")])
@pytest.mark.parametrize(("a_point", "b_point"), POINTS)
def test_real_numbers(left: str, right: str, a_point: Any, b_point: Any) -> None:
    a, b, bias = integers(left, 2, 3), integers(right, 3, 4), scales(2, 4)
    az = None if a_point is None else integers(left, *a_point)
    bz = None if b_point is None else integers(right, *b_point)
    a_scale, b_scale = scales(*(a_point or (2, 1))), scales(*(b_point or (1,)))
    tensors = {"A": a, "AScale": a_scale, "AZeroPoint": az, "B": b, "BScale": b_scale, "BZeroPoint": bz, "Bias": bias}
    found = run("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "FLOAT32", **tensors)
    for index, value in exact(a, b, az, bz, a_scale, b_scale):
        right_value = float(value + Fraction(float(bias[index])))
        assert found.value[index] == pytest.approx(right_value, rel=1e-12, abs=1e-12 * float(found.magnitude[index]))
    assert found.terms == 3 + 2 + 1


def to_float(a: list[int], b: list[int], scale: float, dtype: str, kind: str = "FLOAT32", **more: Array) -> Answer:
    one = np.ones(1, kind.lower())
    left, right = np.array([a], dtype), np.array([[x] for x in b], dtype)
    tensors = {"A": left, "AScale": one * scale, "B": right, "BScale": one, **more}
    return run("MATRIX_MULTIPLY_INTEGER_TO_FLOAT", kind, **tensors)


def test_narrow_integers_are_exact_until_they_are_summed() -> None:
    assert to_float([65535, 0], [1, 1], 0.1, "uint16").slack is None
    assert to_float([1 << 24, 0], [1, 1], 0.1, "int32").slack is None
    assert (to_float([(1 << 24) + 1, 0], [1, 1], 0.1, "int32").slack > 0).all()


def test_wide_integers_may_be_rounded_before_they_are_subtracted() -> None:
    operator = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
    found = to_float([(1 << 24) + 1], [1], 1.0, "int32", AZeroPoint=np.array([1 << 24], np.int32))
    assert found.value.tolist() == [[1]]
    assert passes([[1.0]], found, operator, "FLOAT32")
    assert passes([[0.0]], found, operator, "FLOAT32")
    assert not passes([[8.0]], found, operator, "FLOAT32")


def test_an_infinite_scale_asks_whether_a_difference_is_zero() -> None:
    scale, point = np.array([np.inf], np.float32), np.array([2**31 - 2], np.int32)
    wide = to_float([2**31 - 1], [1], 1.0, "int32", AScale=scale, AZeroPoint=point)  # 0 or 1
    assert wide.value.tolist() == [[np.inf]]
    assert wide.defined.tolist() == [[False]]
    exact = to_float([5], [1], 1.0, "int32", AScale=scale, AZeroPoint=np.array([4], np.int32))
    assert exact.value.tolist() == [[np.inf]]
    assert exact.defined is None or exact.defined.tolist() == [[True]]
    assert np.isnan(to_float([5], [1], 1.0, "int32", AScale=scale, AZeroPoint=np.array([5], np.int32)).value)


def test_what_is_dequantized_may_be_stored_as_float16() -> None:
    operator = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
    found = to_float([2049, -2048], [1, 1], 1.0, "int16", "FLOAT16")
    assert found.value.tolist() == [[1]]
    assert passes([[1.0]], found, operator, "FLOAT16")
    assert passes([[0.0]], found, operator, "FLOAT16")
    assert not passes([[5.0]], found, operator, "FLOAT16")
    assert to_float([2048, -2048], [1, 1], 1.0, "int16", "FLOAT16").slack is None
    assert to_float([40000, 1], [1, 1], 2.0, "uint16", "FLOAT16").defined.tolist() == [[False]]


def test_a_sum_of_float16_may_be_stored_before_the_bias_is_added() -> None:
    operator = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
    found = to_float([2048, 1], [1, 1], 1.0, "int16", "FLOAT16", Bias=np.array([[-2048]], np.float16))
    assert found.value.tolist() == [[1]]
    assert passes([[0.0]], found, operator, "FLOAT16")
    assert not passes([[4.0]], found, operator, "FLOAT16")


@pytest.mark.parametrize("terms", [1, 5, 17, 100])
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_float32_arithmetic_passes_and_a_dropped_zero_point_does_not(dtype: str, terms: int) -> None:
    operator = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
    a, b, az, bz = (integers(dtype, *sizes) for sizes in ((4, terms), (terms, 4), (4, 1), (1, 4)))
    a_scale, b_scale = scales(4, 1), scales(1, 4)
    tensors = {"A": a, "AScale": a_scale, "AZeroPoint": az, "B": b, "BScale": b_scale, "BZeroPoint": bz}
    found = run(operator, "FLOAT32", **tensors)
    left = (a.astype(np.float32) - az.astype(np.float32)) * a_scale
    right = (b.astype(np.float32) - bz.astype(np.float32)) * b_scale
    assert passes(left @ right, found, operator, "FLOAT32")
    assert not passes(left @ (b.astype(np.float32) * b_scale), found, operator, "FLOAT32")
    assert not passes(left @ ((b.astype(np.float32) - bz[0, 0]) * b_scale), found, operator, "FLOAT32")


# Quantized again


def quantized(a: Any, b: Any, output: str, a_scale: Any = 1.0, b_scale: Any = 1.0, out_scale: Any = 1.0, **points: Any) -> Answer:
    tensors: dict[str, Any] = {"A": a, "B": b, "AScale": a_scale, "BScale": b_scale, "OutputScale": out_scale}
    for name in ("AScale", "BScale", "OutputScale"):
        tensors[name] = np.atleast_1d(np.asarray(tensors[name], np.float32))
    return run("QUANTIZED_LINEAR_MATRIX_MULTIPLY", output, **tensors, **points)


@pytest.mark.parametrize(("left", "right", "output"), list(product(BYTES, BYTES, BYTES)))
@pytest.mark.parametrize(("a_point", "b_point"), POINTS)
def test_quantized(left: str, right: str, output: str, a_point: Any, b_point: Any) -> None:
    a, b = integers(left, 2, 3), integers(right, 3, 4)
    points = {
        "AZeroPoint": None if a_point is None else integers(left, *a_point),
        "BZeroPoint": None if b_point is None else integers(right, *b_point),
        "OutputZeroPoint": integers(output, 2, 1),
    }
    a_scale, b_scale, out_scale = scales(*(a_point or (2, 1))), scales(*(b_point or (1,))), 3 * scales(2, 1)
    found = quantized(a, b, output.upper(), a_scale, b_scale, out_scale, **points)
    limits = np.iinfo(output)
    for (i, j), value in exact(a, b, points["AZeroPoint"], points["BZeroPoint"], a_scale, b_scale):
        rounded = round(value / at(out_scale, i, 0)) + int(at(points["OutputZeroPoint"], i, 0))
        assert found.result[i, j] == min(max(rounded, limits.min), limits.max)
    assert found.result.dtype == output
    assert found.slack.max() <= 0.5


def test_halves_are_even_and_certain_where_scales_are_powers_of_two() -> None:
    a = np.arange(-7, 8, dtype=np.int8).reshape(-1, 1)
    found = quantized(a, np.ones((1, 1), np.int8), "INT8", 0.5, OutputZeroPoint=np.array([1], np.int8))
    assert found.result[:, 0].tolist() == [round(Fraction(x, 2)) + 1 for x in range(-7, 8)]
    assert not found.slack.any()
    tenths = quantized(a, np.ones((1, 1), np.int8), "INT8", 0.1, 1.0, 0.2)
    assert tenths.slack[:, 0].tolist() == [0.5 * (x % 2) for x in range(-7, 8)]


@pytest.mark.parametrize(("terms", "certain"), [(518, True), (520, False)])
def test_sums_that_float32_does_not_hold_are_not_certain(terms: int, certain: bool) -> None:
    a, b = np.full((1, terms), 255, np.uint8), np.full((terms, 1), 127, np.int8)
    b[::2] *= -1
    b[0] += 1
    found = quantized(a, b, "INT8", out_scale=64)
    assert found.result.tolist() == [[4]]
    assert (found.slack.max() == 0) == certain


def test_saturation_is_after_the_zero_point() -> None:
    a, b = np.array([[120], [-120]], np.int8), np.array([[2]], np.int8)
    found = quantized(a, b, "INT8", OutputZeroPoint=np.array([[-128], [127]], np.int8))
    assert found.result.tolist() == [[112], [-113]]
    assert quantized(a, b, "UINT8").result.tolist() == [[240], [0]]


def test_what_is_no_number_becomes_the_zero_point() -> None:
    a, b, point = np.array([[0], [5]], np.int8), np.array([[1]], np.int8), np.array([7], np.int8)
    assert quantized(a, b, "INT8", np.nan, OutputZeroPoint=point).result.tolist() == [[7], [7]]
    assert quantized(a, b, "INT8", np.inf, OutputZeroPoint=point).result.tolist() == [[7], [127]]


def test_beyond_32_bits_it_saturates_all_the_same() -> None:
    a, b = np.array([[127], [-127]], np.int8), np.array([[1]], np.int8)
    assert quantized(a, b, "INT8", 1e10, OutputZeroPoint=np.array([1], np.int8)).result.tolist() == [[127], [-128]]


def test_a_difference_of_wide_integers_may_be_stored_as_float16() -> None:
    """35773 - 28688 is 7085, which FLOAT16 does not hold: 7084 by the scale, truncated again, is 82.75. Measured on DirectML.dll."""
    a, az, b = (np.full((1, 1, 1, 1), number, "uint16") for number in (35773, 28688, 34879))
    a_scale, b_scale = (np.full((1, 1, 1, 1), number, "float16") for number in (0.011688232421875, 0.0225830078125))
    name = "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
    answer = run(name, "FLOAT16", A=a, AScale=a_scale, AZeroPoint=az, B=b, BScale=b_scale)
    for stored, right in ((65216, True), (65056, True), (64800, False)):
        assert passes(np.full((1, 1, 1, 1), stored), answer, name, "FLOAT16") is right
