"""The gradients of pooling and normalization against their forward operators: central differences of the reference, and adjoints."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Array = np.ndarray
Inputs = Mapping[str, Array]

STEP = 1e-5


def tensors(**sizes: tuple[int, ...]) -> dict[str, object]:
    return {f"{name}Tensor": TensorDesc("FLOAT32", of) for name, of in sizes.items()}


def numbers(*sizes: int, least: float = -2, seed: int = 0) -> Array:
    """Float64, so that differences of a small step can be told: the references compute in it."""
    return np.random.default_rng([seed, *sizes]).uniform(least, 2, sizes)


def differences(function: Callable[[Array], Array], x: Array) -> Array:
    """The gradient of a scalar function by each element of ``x``."""
    gradient = np.empty_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = STEP
        gradient[at] = (function(x + step) - function(x - step)) / (2 * STEP)
    return gradient


def value(desc: OperatorDesc, inputs: Inputs, output: str = "OutputTensor") -> Array:
    found: Array = compute(desc, inputs)[output].value
    return found


POOLS: dict[str, dict[str, Any]] = {
    "plain": {"WindowSize": (2, 3)},
    "strides": {"WindowSize": (2, 3), "Strides": (2, 1)},
    "padded": {"WindowSize": (3, 2), "StartPadding": (1, 1), "EndPadding": (2, 0), "Strides": (1, 2)},
    "dilated": {"WindowSize": (2, 2), "Dilations": (2, 3), "StartPadding": (1, 0)},
}


def pooling(name: str, form: str, **more: object) -> tuple[OperatorDesc, OperatorDesc, Array, Array]:
    """The descs of a pooling and its gradient, an input and an incoming gradient."""
    fields = {
        "DimensionCount": 2,
        **dict.fromkeys(("Strides", "Dilations"), (1, 1)),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
    }
    fields |= {**POOLS[form], **more}
    if not name.startswith("MAX"):
        del fields["Dilations"]
    x = numbers(2, 2, 4, 5)
    rows = (fields[key] for key in ("StartPadding", "EndPadding", "WindowSize", "Strides"))
    dilations = fields.get("Dilations", (1, 1))
    out = tuple((s + a + b - (w - 1) * d - 1) // t + 1 for s, a, b, w, t, d in zip((4, 5), *rows, dilations, strict=True))
    gradient = numbers(2, 2, *out, seed=1)
    forward = OperatorDesc(f"{name}2" if name.startswith("MAX") else name, tensors(Input=x.shape, Output=gradient.shape) | fields)
    given = tensors(Input=x.shape) if name.startswith("MAX") else {}
    given |= tensors(InputGradient=gradient.shape, OutputGradient=x.shape)
    return forward, OperatorDesc(f"{name}_GRAD", given | fields), x, gradient


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("form", ["plain", "strides", "padded"])
def test_average_pooling_is_the_adjoint(form: str, counted: bool) -> None:
    forward, backward, x, gradient = pooling("AVERAGE_POOLING", form, IncludePadding=counted)
    pooled, spread = value(forward, {"InputTensor": x}), value(backward, {"InputGradientTensor": gradient}, "OutputGradientTensor")
    assert np.vdot(spread, x) == pytest.approx(np.vdot(gradient, pooled), rel=1e-12)


@pytest.mark.parametrize("form", POOLS)
def test_max_pooling_by_differences(form: str) -> None:
    forward, backward, x, gradient = pooling("MAX_POOLING", form)
    found = value(backward, {"InputTensor": x, "InputGradientTensor": gradient}, "OutputGradientTensor")
    expected = differences(lambda x: np.vdot(gradient, value(forward, {"InputTensor": x})), x)
    assert found == pytest.approx(expected, abs=1e-8)


def test_max_pooling_counts_its_terms() -> None:
    """Four windows find the middle; one element finds none."""
    _, backward, _, _ = pooling("MAX_POOLING", "plain")
    backward = backward.with_fields(
        WindowSize=(2, 2), **tensors(Input=(1, 1, 3, 3), InputGradient=(1, 1, 2, 2), OutputGradient=(1, 1, 3, 3))
    )
    x = np.array([0, 1, 0, 1, 9, 1, 0, 1, 0], np.float32).reshape(1, 1, 3, 3)
    gradient = np.array([1, -2, 3, -4], np.float32).reshape(1, 1, 2, 2)
    answer = compute(backward, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    assert answer.value[0, 0].tolist() == [[0, 0, 0], [0, -2, 0], [0, 0, 0]]
    assert answer.magnitude[0, 0, 1, 1] == 10
    assert answer.terms[0, 0].tolist() == [[1, 1, 1], [1, 4, 1], [1, 1, 1]]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("crossed", [False, True])
def test_local_response_by_differences(crossed: bool, size: int) -> None:
    x, gradient = numbers(1, 4, 3, 3), numbers(1, 4, 3, 3, seed=1)
    fields = {"CrossChannel": crossed, "LocalSize": size, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.0}
    forward = OperatorDesc("LOCAL_RESPONSE_NORMALIZATION", tensors(Input=x.shape, Output=x.shape) | fields)
    backward = OperatorDesc(
        "LOCAL_RESPONSE_NORMALIZATION_GRAD", tensors(Input=x.shape, InputGradient=x.shape, OutputGradient=x.shape) | fields
    )
    answer = compute(backward, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    expected = differences(lambda x: np.vdot(gradient, value(forward, {"InputTensor": x})), x)
    assert answer.value == pytest.approx(expected, abs=1e-8)
    assert bool(answer.contested) == (size % 2 == 0)


@pytest.mark.parametrize("zero", ["InputTensor", "InputGradientTensor"])
def test_local_response_is_not_judged_where_float16_does_not_hold_a_sum_of_squares(zero: str) -> None:
    """Also of a zero beside: 0 of what may be anything has no bound."""
    sizes = (1, 1, 1, 9)
    fields = {"CrossChannel": False, "LocalSize": 3, "Alpha": 1.0, "Beta": 0.75, "Bias": 1.0}
    desc = OperatorDesc(
        "LOCAL_RESPONSE_NORMALIZATION_GRAD", tensors(Input=sizes, InputGradient=sizes, OutputGradient=sizes) | fields
    )
    desc = desc.with_tensors({name: TensorDesc("FLOAT16", sizes) for name, _ in desc.tensors()})
    inputs = {name: np.ones(sizes, np.float16) for name in ("InputTensor", "InputGradientTensor")}
    inputs["InputTensor"][..., :5] = 200
    inputs[zero][..., 2] = 0
    answer = compute(desc, inputs)["OutputGradientTensor"]
    assert answer.defined.ravel().tolist() == [False] * 6 + [True] * 3


GIVEN = {"x": (2, 3, 2, 2), "rest": (1, 3, 1, 1)}


def batch(name: str, **fields: object) -> OperatorDesc:
    whole, rest = GIVEN["x"], GIVEN["rest"]
    sizes = {"Input": whole, "InputGradient": whole, "Mean": rest, "Variance": rest, "Scale": rest, "Bias": rest}
    sizes |= {"Output": whole, "OutputMean": rest, "OutputVariance": rest}
    sizes |= {"OutputGradient": whole, "OutputScaleGradient": rest, "OutputBiasGradient": rest}
    return OperatorDesc(name, tensors(**sizes) | {"Epsilon": 0.25} | fields)


@pytest.mark.parametrize(
    ("by", "output"),
    [
        ("InputTensor", "OutputGradientTensor"),
        ("ScaleTensor", "OutputScaleGradientTensor"),
        ("BiasTensor", "OutputBiasGradientTensor"),
    ],
)
@pytest.mark.parametrize("trained", [False, True])
def test_batch_normalization_by_differences(trained: bool, by: str, output: str) -> None:
    x, gradient, rest = numbers(*GIVEN["x"]), numbers(*GIVEN["x"], seed=1), GIVEN["rest"]
    given = {"InputTensor": x, "ScaleTensor": numbers(*rest, seed=2), "BiasTensor": numbers(*rest, seed=3)}
    mean, variance = numbers(*rest, seed=4), numbers(*rest, least=0.5, seed=5)
    if trained:
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    else:
        given |= {"MeanTensor": mean, "VarianceTensor": variance}
    forward = batch("BATCH_NORMALIZATION_TRAINING" if trained else "BATCH_NORMALIZATION", FusedActivation=None)
    backward = batch("BATCH_NORMALIZATION_TRAINING_GRAD" if trained else "BATCH_NORMALIZATION_GRAD")
    inputs = given | {"InputGradientTensor": gradient, "MeanTensor": mean, "VarianceTensor": variance}
    expected = differences(lambda value_of: np.vdot(gradient, value(forward, given | {by: value_of})), given[by])
    answer = compute(backward, inputs)[output]
    assert answer.value == pytest.approx(expected, abs=1e-7)
    for other in answer.contested.values():  # the mean is that of the input
        assert other.value == pytest.approx(expected, abs=1e-7)


def test_training_gives_the_mean_and_the_variance_of_the_population() -> None:
    x, rest = numbers(*GIVEN["x"]), GIVEN["rest"]
    inputs = {"InputTensor": x, "ScaleTensor": numbers(*rest), "BiasTensor": numbers(*rest, seed=1)}
    found = compute(batch("BATCH_NORMALIZATION_TRAINING", FusedActivation=None), inputs)
    assert found["OutputMeanTensor"].value == pytest.approx(x.mean((0, 2, 3), keepdims=True))
    assert found["OutputVarianceTensor"].value == pytest.approx(x.var((0, 2, 3), keepdims=True))
