"""The normalizations against loops over single elements, and what their references leave open."""

import math
from itertools import product

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Tolerance
from dmlcts.spec.reading.loader import load

Array = np.ndarray
TYPES = {np.dtype(np.float16): "FLOAT16", np.dtype(np.float32): "FLOAT32"}


def answer(name: str, inputs: dict[str, Array], **attributes: object) -> Answer:
    """The reference's answer for an operator without a fused activation, whose output is as large as its input."""
    fields: dict[str, object] = {}
    x = inputs["InputTensor"]
    for field in load(name).fields:
        if field.is_tensor:
            array = x if field.kind == "output" else inputs.get(field.name)
            fields[field.name] = None if array is None else TensorDesc(TYPES[x.dtype], array.shape)
        else:
            fields[field.name] = attributes.get(field.name)
    return compute(OperatorDesc(name, fields), inputs)["OutputTensor"]


def numbers(sizes: tuple[int, ...], low: float = -4, high: float = 4, seed: int = 5, dtype: type = np.float32) -> Array:
    return np.random.default_rng(seed).uniform(low, high, sizes).astype(dtype)


def element(x: Array, index: tuple[int, ...]) -> float:
    """The element that broadcasting puts at an index."""
    return float(x[tuple(i if size > 1 else 0 for i, size in zip(index, x.shape, strict=True))])


def row_of(x: Array, index: tuple[int, ...], axes: tuple[int, ...]) -> list[float]:
    """The elements that differ from the one at an index along ``axes`` alone."""
    ranges = [range(size) if axis in axes else [i] for axis, (i, size) in enumerate(zip(index, x.shape, strict=True))]
    return [float(x[other]) for other in product(*ranges)]


AXES = [(3,), (0,), (1, 2), (3, 1), (0, 1, 2, 3), (2, 2, 3)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("mean_used", "variance_used"), list(product((True, False), repeat=2)))
def test_mean_and_variance_along_axes(axes: tuple[int, ...], mean_used: bool, variance_used: bool) -> None:
    x, scale, bias = numbers((2, 3, 4, 5)), numbers((1, 3, 1, 5), seed=6), numbers((2, 1, 4, 1), seed=7)
    found = answer(
        "MEAN_VARIANCE_NORMALIZATION2",
        {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias},
        **{"AxisCount": len(axes), "Axes": axes, "UseMean": mean_used, "UseVariance": variance_used, "Epsilon": 0.25},
    )
    for index in product(*map(range, x.shape)):
        row = row_of(x, index, axes)
        mean = math.fsum(row) / len(row) if mean_used else 0.0
        variance = math.fsum((value - mean) ** 2 for value in row) / len(row)
        expected = (float(x[index]) - mean) / (math.sqrt(variance + 0.25) if variance_used else 1)
        expected = expected * element(scale, index) + element(bias, index)
        assert found.value[index] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("divided", [False, True])
def test_the_three_name_the_same_rows(cross: bool, divided: bool) -> None:
    x = numbers((2, 3, 4, 5))
    axes = (1, 2, 3) if cross else (2, 3)
    old = answer("MEAN_VARIANCE_NORMALIZATION", {"InputTensor": x}, CrossChannel=cross, NormalizeVariance=divided, Epsilon=1e-5)
    middle = answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, Axes=axes, NormalizeVariance=divided, Epsilon=1e-5)
    new = answer("MEAN_VARIANCE_NORMALIZATION2", {"InputTensor": x}, Axes=axes, UseMean=True, UseVariance=divided, Epsilon=1e-5)
    assert np.array_equal(old.value, middle.value)
    assert np.array_equal(old.value, new.value)


def test_without_axes_each_element_is_a_row() -> None:
    x = np.array([2, 0.5], np.float32)
    found = answer("MEAN_VARIANCE_NORMALIZATION2", {"InputTensor": x}, Axes=(), UseMean=False, UseVariance=True, Epsilon=0.0)
    assert found.value.tolist() == [1, 1]
    found = answer("MEAN_VARIANCE_NORMALIZATION2", {"InputTensor": x}, Axes=(), UseMean=True, UseVariance=False, Epsilon=0.0)
    assert found.value.tolist() == [0, 0]


def test_what_normalizes_noise_is_left_open() -> None:
    x = np.array([[0.1, 0.1, 0.1], [1, 2, 3]], np.float32)
    open_rows = answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, Axes=(1,), NormalizeVariance=True, Epsilon=0.0)
    assert open_rows.defined is not None
    assert open_rows.defined.tolist() == [[False] * 3, [True] * 3]
    known = answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, Axes=(1,), NormalizeVariance=True, Epsilon=1e-5)
    assert np.all(known.defined)
    assert np.allclose(known.value[0], 0, atol=1e-15)


def test_a_negative_row_of_one_is_zero_or_nan_throughout() -> None:
    x = np.array([-2, 0, 2], np.float32).reshape(1, 3, 1, 1)
    found = answer("MEAN_VARIANCE_NORMALIZATION", {"InputTensor": x}, CrossChannel=False, NormalizeVariance=True, Epsilon=1.0)
    assert found.value.ravel().tolist() == [0, 0, 0]
    assert found.contested["measured"].value.ravel().tolist() == pytest.approx([math.nan, 0, 0], nan_ok=True)
    assert np.all(found.defined)
    for name, used in (
        ("MEAN_VARIANCE_NORMALIZATION1", {"NormalizeVariance": False}),
        ("MEAN_VARIANCE_NORMALIZATION2", {"UseVariance": True}),
    ):
        found = answer(name, {"InputTensor": x}, Axes=(2, 3), Epsilon=1.0, UseMean=False, **used)
        assert np.all(found.defined)
        assert not found.contested


def accepted(name: str, x: Array, result: Array, **attributes: object) -> bool:
    """Whether ``result`` is a right OutputTensor, by any of the answers."""
    sizes = {"InputTensor": x, "ScaleTensor": np.full_like(x, 3), "BiasTensor": np.full_like(x, 0.5)}
    inputs = {"InputTensor": x} if name == "LP_NORMALIZATION" else sizes
    found = answer(name, inputs, **attributes)
    kind = "FLOAT16" if x.dtype == np.float16 else "FLOAT32"
    answers = [found, *found.contested.values()]
    return any(judge(result.astype(x.dtype), each, Tolerance("ulp"), kind, BackendInfo("any")).ok for each in answers)


ROWS_OF_ONE: dict[str, dict[str, object]] = {
    "MEAN_VARIANCE_NORMALIZATION1": {"Axes": (), "NormalizeVariance": True},
    "MEAN_VARIANCE_NORMALIZATION2": {"Axes": (0,), "UseMean": True, "UseVariance": True},
    "BATCH_NORMALIZATION_TRAINING": {},
}


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("name", ROWS_OF_ONE)
def test_of_a_row_of_one_element_the_bias_is_left_or_nan(name: str, kind: type) -> None:
    attributes = ROWS_OF_ONE[name]
    x = np.array([[-2, -0.5, 0, 0.25, 3.3]], kind)
    bias = np.full(x.shape, 0.5)
    for epsilon in (0.0, 1e-5):
        assert accepted(name, x, bias, **attributes, Epsilon=epsilon)
        for wrong in (0 * bias, -bias, bias + 3, bias + 0.01, x, 3 * x + bias, np.inf * bias):
            assert not accepted(name, x, wrong, **attributes, Epsilon=epsilon)
    nan = np.full(x.shape, np.nan)
    assert accepted(name, x, nan, **attributes, Epsilon=0.0)
    assert accepted(name, x, np.where(x > 0, bias, nan), **attributes, Epsilon=0.0)
    assert not accepted(name, x, nan, **attributes, Epsilon=1e-5)
    # DirectML.dll, with Epsilon too; an element alone is not what it does
    assert accepted(name, x, np.where(x < 0, nan, bias), **attributes, Epsilon=1e-5) == ("BATCH" not in name)
    assert not accepted(name, x, np.where(x == -2, nan, bias), **attributes, Epsilon=1e-5)


def test_what_an_activation_makes_of_a_row_of_one_is_judged_where_nan_stays_nan() -> None:
    x = np.array([0.25, 3], np.float32)
    attributes = {"Axes": (), "NormalizeVariance": True, "Epsilon": 0.0}
    for name, judged in (("LINEAR", True), ("RELU", False)):
        fields = {"Alpha": 2.0, "Beta": 1.0} if name == "LINEAR" else {}
        activation = OperatorDesc(f"ACTIVATION_{name}", {"InputTensor": None, "OutputTensor": None, **fields})
        found = answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, **attributes, FusedActivation=activation)
        assert np.all(found.defined == judged)
        assert found.value.tolist() == [float(judged)] * 2


def test_a_row_of_zeros_has_a_norm_of_zero_and_no_quotient_but_zero_or_nan() -> None:
    x = np.array([[0, 0], [0, 2]], np.float32)
    right = np.array([[0, np.nan], [0, 1]])
    for order in (1, 2):
        attributes = {"Axis": 1, "Epsilon": 0.0, "P": order}
        assert accepted("LP_NORMALIZATION", x, right, **attributes)
        for wrong in ([[1, 0], [0, 1]], [[0, 0], [np.nan, 1]], [[np.inf, 0], [0, 1]], [[0, 1e-30], [0, 1]]):
            assert not accepted("LP_NORMALIZATION", x, np.array(wrong), **attributes)


def test_a_variance_beyond_half_is_left_open_in_half() -> None:
    x = np.array([-512, 512, 512, -512], np.float16)
    attributes = {"Axes": (0,), "NormalizeVariance": True, "Epsilon": 1.0}
    assert not np.any(answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x}, **attributes).defined)
    wide = answer("MEAN_VARIANCE_NORMALIZATION1", {"InputTensor": x.astype(np.float32)}, **attributes)
    assert np.all(wide.defined)
    assert np.allclose(wide.value, [-1, 1, 1, -1], rtol=1e-5)


def test_batch_normalization_broadcasts_each_of_its_tensors() -> None:
    x = numbers((2, 3, 4, 5))
    inputs = {
        "InputTensor": x,
        "MeanTensor": numbers((1, 3, 1, 1), seed=1),
        "VarianceTensor": numbers((2, 1, 1, 5), 0.1, 3, seed=2),
        "ScaleTensor": numbers((1, 1, 1, 1), seed=3),
        "BiasTensor": numbers((2, 3, 4, 5), seed=4),
    }
    found = answer("BATCH_NORMALIZATION", inputs, Spatial=True, Epsilon=0.25)
    assert np.array_equal(found.value, answer("BATCH_NORMALIZATION", inputs, Spatial=False, Epsilon=0.25).value)
    for index in product(*map(range, x.shape)):
        mean, variance, scale, bias = (element(inputs[f"{name}Tensor"], index) for name in ("Mean", "Variance", "Scale", "Bias"))
        expected = scale * (float(x[index]) - mean) / math.sqrt(variance + 0.25) + bias
        assert found.value[index] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 12])
def test_response_of_the_neighbours(cross: bool, size: int) -> None:
    x = numbers((2, 5, 3, 4))
    found = answer(
        "LOCAL_RESPONSE_NORMALIZATION", {"InputTensor": x}, CrossChannel=cross, LocalSize=size, Alpha=1.5, Beta=0.75, Bias=0.5
    )
    for index in product(*map(range, x.shape)):
        squares = 0.0
        for steps in product(range(-((size - 1) // 2), size // 2 + 1), repeat=1 if cross else 2):
            at = list(index)
            for axis, step in zip((1,) if cross else (2, 3), steps, strict=True):
                at[axis] += step
            if all(0 <= i < length for i, length in zip(at, x.shape, strict=True)):
                squares += float(x[tuple(at)]) ** 2
        assert found.value[index] == pytest.approx(float(x[index]) / (0.5 + 1.5 / size * squares) ** 0.75, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_norms_along_an_axis(order: int, axis: int) -> None:
    x = numbers((2, 3, 4))
    found = answer("LP_NORMALIZATION", {"InputTensor": x}, Axis=axis, Epsilon=0.25, P=order)
    for index in product(*map(range, x.shape)):
        norm = math.fsum(abs(value) ** order for value in row_of(x, index, (axis,))) ** (1 / order)
        assert found.value[index] == pytest.approx(float(x[index]) / math.sqrt(norm**2 + 0.25), rel=1e-12)


def test_norms_that_are_left_open() -> None:
    zeros = np.zeros((2, 2), np.float32)
    zeros[1] = 1
    found = answer("LP_NORMALIZATION", {"InputTensor": zeros}, Axis=1, Epsilon=0.0, P=2)
    assert np.all(found.defined)
    assert np.isnan(found.also).tolist() == [[True, True], [False, False]]
    assert np.all(answer("LP_NORMALIZATION", {"InputTensor": zeros}, Axis=1, Epsilon=1e-5, P=2).defined)
    large = np.array([256, -256], np.float16)  # the norm of order 1 is 512, and its square more than FLOAT16 holds
    assert not np.any(answer("LP_NORMALIZATION", {"InputTensor": large}, Axis=0, Epsilon=0.0, P=1).defined)
    assert np.all(answer("LP_NORMALIZATION", {"InputTensor": large / 4}, Axis=0, Epsilon=0.0, P=1).defined)
    wide = answer("LP_NORMALIZATION", {"InputTensor": large.astype(np.float32)}, Axis=0, Epsilon=0.0, P=1)
    assert np.all(wide.defined)
    assert wide.value.tolist() == [0.5, -0.5]


@pytest.mark.parametrize("bias", [(0.5, -0.1, 7.0), (0.5,)])
def test_each_channel_has_its_bias(bias: tuple[float, ...]) -> None:
    x = numbers((2, len(bias), 2, 3))
    found = answer("VALUE_SCALE_2D", {"InputTensor": x}, Scale=0.1, ChannelCount=len(bias), Bias=bias)
    for index in product(*map(range, x.shape)):
        expected = float(np.float32(0.1)) * float(x[index]) + float(np.float32(bias[index[1]]))
        assert found.value[index] == pytest.approx(expected, rel=1e-15)


def test_a_half_that_an_activation_sees_may_have_been_rounded() -> None:
    tensor = TensorDesc("FLOAT16", (1, 1, 1, 1))
    inner = OperatorDesc("ACTIVATION_LINEAR", {"InputTensor": None, "OutputTensor": None, "Alpha": 1.0, "Beta": -2048.0})
    names = [field.name for field in load("BATCH_NORMALIZATION").fields if field.is_tensor]
    fields = dict.fromkeys(names, tensor) | {"Spatial": True, "Epsilon": 0.0, "FusedActivation": inner}
    one, zero = np.ones((1, 1, 1, 1), np.float16), np.zeros((1, 1, 1, 1), np.float16)
    inputs = dict(zip(names, (one * 2048, zero, one, one, one), strict=False))
    fused = compute(OperatorDesc("BATCH_NORMALIZATION", fields), inputs)["OutputTensor"]
    assert fused.value.item() == 1  # 2049 less 2048, or 2048 less 2048
    assert 1 < fused.slack.item() < 3
    wide = {name: TensorDesc("FLOAT32", (1, 1, 1, 1)) for name in names}
    fused = compute(OperatorDesc("BATCH_NORMALIZATION", fields | wide), {n: x.astype(np.float32) for n, x in inputs.items()})[
        "OutputTensor"
    ]
    assert fused.slack.item() < 0.01
