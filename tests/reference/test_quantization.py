"""The reference of quantization, against exact fractions and Python's rounding, which takes halves to even."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import Tolerance

LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255)}
NAN, INF = math.nan, math.inf


def run(operator: str, output: str, **tensors: tuple[str, list[Any]]) -> Answer:
    inputs = {name: np.array(values, numpy_dtype(data_type)) for name, (data_type, values) in tensors.items()}
    size = max(array.size for array in inputs.values())
    descs = {name: TensorDesc(data_type, (len(values),)) for name, (data_type, values) in tensors.items()}
    desc = OperatorDesc(f"ELEMENT_WISE_{operator}", {**descs, "OutputTensor": TensorDesc(output, (size,))})
    return compute(desc, inputs)["OutputTensor"]


def quantize(x: list[Any], scale: list[Any], zero: list[int] | None, output: str = "INT8", kind: str = "FLOAT32") -> Answer:
    tensors = {"InputTensor": (kind, x), "ScaleTensor": ("FLOAT16" if kind == "FLOAT16" else "FLOAT32", scale)}
    return run("QUANTIZE_LINEAR", output, **tensors, **({} if zero is None else {"ZeroPointTensor": (output, zero)}))


def accepted(answer: Answer, output: str) -> list[list[int]]:
    """The integers that the judge accepts, element by element."""
    low, high = LIMITS[output]
    found: list[list[int]] = [[] for _ in range(answer.value.size)]
    for candidate in range(low, high + 1):
        actual = np.full(answer.value.shape, candidate, numpy_dtype(output))
        for index in range(answer.value.size):
            one = Answer(answer.value[index : index + 1], slack=answer.slack[index : index + 1])
            if judge(actual[index : index + 1], one, Tolerance("discrete"), output, BackendInfo("x")).ok:
                found[index].append(candidate)
    return found


@pytest.mark.parametrize("output", LIMITS)
@pytest.mark.parametrize("kind", ["FLOAT32", "FLOAT16", "INT32"])
def test_quantize_against_fractions(output: str, kind: str) -> None:
    low, high = LIMITS[output]
    x = [-300, -129, -7, -3, -1, 0, 1, 3, 5, 7, 127, 128, 255, 300] + ([] if kind == "INT32" else [0.25, 0.75, 2.75])
    for scale in (2, 0.5, -1, 4):
        for zero in (0, 1, 100, low, high):
            found = quantize(x, [scale] * len(x), [zero] * len(x), output, kind)
            right = [min(max(round(Fraction(value) / Fraction(scale)) + zero, low), high) for value in x]
            assert found.result.tolist() == found.value.tolist() == right
            assert not found.slack.any()  # nothing rounds but the rounding itself: one answer, at halves too


def test_halves_are_even_before_the_zero_point_is_added() -> None:
    found = quantize([0.5, 1.5, 2.5, -0.5, -1.5, -2.5], [1] * 6, [3] * 6)
    assert accepted(found, "INT8") == [[3], [5], [5], [3], [1], [1]]


def test_a_quotient_beside_a_half_may_go_either_way() -> None:
    tenth = float(np.float32(0.1))
    x = [float(np.float32(0.25)), float(np.float32(0.26)), float(np.float32(1.05))]  # over a tenth: 2.5, 2.6 and 10.5, nearly
    found = quantize(x, [tenth] * 3, [1] * 3)
    assert accepted(found, "INT8") == [[3, 4], [4], [11, 12]]
    assert found.result.tolist() == [round(Fraction(value) / Fraction(tenth)) + 1 for value in x]


def test_quantize_of_what_is_no_number() -> None:
    found = quantize([NAN, INF, -INF, INF, 1, 1e38], [1, 1, 1, INF, INF, 1e-38], [5] * 6)
    assert found.result.tolist() == [0, 127, -128, 0, 5, 127]
    assert accepted(found, "INT8") == [[0], [127], [-128], [0], [5], [127]]
    assert quantize([-3.0, 300.0], [1, 1], None, "UINT8").result.tolist() == [0, 255]


@pytest.mark.parametrize("kind", ["INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"])
def test_dequantize_against_fractions(kind: str) -> None:
    info = np.iinfo(numpy_dtype(kind))
    values = [int(info.min), int(info.min) + 1, 0, 1, 7, int(info.max) - 1, int(info.max)]
    x, zero = (list(column) for column in zip(*((a, b) for a in values for b in values), strict=True))
    scales = [0.5, -2.0, 0.25] * len(x)
    tensors = {"InputTensor": (kind, x), "ScaleTensor": ("FLOAT32", scales[: len(x)])}
    found = run("DEQUANTIZE_LINEAR", "FLOAT32", **tensors, ZeroPointTensor=(kind, zero))
    assert found.value.tolist() == [float((a - b) * Fraction(s)) for a, b, s in zip(x, zero, scales, strict=False)]
    absent = run("DEQUANTIZE_LINEAR", "FLOAT32", **tensors)
    assert absent.value.tolist() == [float(a * Fraction(s)) for a, s in zip(x, scales, strict=False)]


def test_dequantize_lets_32_bit_integers_be_rounded_first() -> None:
    def of(kind: str, x: list[int], zero: list[int]) -> Answer:
        return run(
            "DEQUANTIZE_LINEAR",
            "FLOAT32",
            InputTensor=(kind, x),
            ScaleTensor=("FLOAT32", [0.5] * len(x)),
            ZeroPointTensor=(kind, zero),
        )

    found = of("INT32", [16777217, 16777216, 100], [1, 2, -100])
    assert 0.5 <= found.slack[0] < 4  # 16777217 becomes 16777216
    assert found.slack.tolist()[1:] == [0, 0]
    assert of("UINT16", [65535], [0]).slack is None


def added(output: str, out_scale: float, **tensors: tuple[str, list[Any]]) -> Answer:
    return run("QUANTIZED_LINEAR_ADD", output, **tensors, OutputScaleTensor=("FLOAT32", [out_scale]))


@pytest.mark.parametrize("output", LIMITS)
@pytest.mark.parametrize("zeros", [(None, None, None), (3, None, 1), (None, 5, None), (3, 5, 7)])
def test_add_against_fractions(output: str, zeros: tuple[int | None, ...]) -> None:
    low, high = LIMITS[output]
    a, b = (list(column) for column in zip(*((p, q) for p in (-128, -3, 0, 2, 127) for q in (0, 1, 128, 255)), strict=True))
    names = ("AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor")
    given = {
        name: (kind, [zero]) for name, kind, zero in zip(names, ("INT8", "UINT8", output), zeros, strict=True) if zero is not None
    }
    found = added(
        output,
        2.0,
        ATensor=("INT8", a),
        AScaleTensor=("FLOAT32", [0.5]),
        BTensor=("UINT8", b),
        BScaleTensor=("FLOAT32", [0.25]),
        **given,
    )
    za, zb, zo = (zero or 0 for zero in zeros)
    real = [(Fraction(p - za) / 2 + Fraction(q - zb) / 4) / 2 for p, q in zip(a, b, strict=True)]
    assert found.result.tolist() == found.value.tolist() == [min(max(round(value) + zo, low), high) for value in real]
    assert not found.slack.any()


def test_add_beside_a_half_and_of_nan() -> None:
    tensors = {"ATensor": ("INT8", [1, 2]), "BTensor": ("INT8", [0, 0]), "BScaleTensor": ("FLOAT32", [1.0])}
    beside = added("INT8", 0.2, **tensors, AScaleTensor=("FLOAT32", [0.1]))  # a half of it, nearly; then 1
    assert accepted(beside, "INT8") == [[0, 1], [1]]
    nan = added("INT8", 1.0, **tensors, AScaleTensor=("FLOAT32", [NAN]))
    assert accepted(nan, "INT8") == [[-128], [-128]]
    assert added("UINT8", 1.0, **tensors, AScaleTensor=("FLOAT32", [NAN])).result.tolist() == [0, 0]
