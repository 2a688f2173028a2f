"""The bounds of the normalizations, on the data that the suite makes: honest computations in FLOAT32 pass, subtly wrong ones do not."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.covering.cases import combination_cases
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.special_values import data_cases, value_cases
from dmlcts.generator.sweeps.usual import size_cases
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load

Array = np.ndarray
Inputs = Mapping[str, Array]
Computation = Callable[[OperatorDesc, Inputs], Array]
"""The result before the fused activation, in whatever precision."""

INFO = BackendInfo("honest")
MAKERS = (combination_cases, size_cases, data_cases, value_cases)
SINGLE = np.float32


@cache
def cases(name: str) -> tuple[Case, ...]:
    """The cases of level core that have data."""
    return tuple(chain.from_iterable(maker(plan_of(load(name)), "core") for maker in MAKERS))


def refused(name: str, data_type: str, computation: Computation) -> Iterator[str]:
    """The cases in which what was computed is judged to be wrong, each with the message. Data that are no numbers are left out."""
    for case in cases(name):
        desc, inputs = case.desc, case_inputs(case)
        if case.data_type != data_type or not all(np.all(np.isfinite(x)) for x in inputs.values()):
            continue
        with np.errstate(all="ignore"):
            value = computation(desc, inputs)
            inner = desc.fields.get("FusedActivation")
            if isinstance(inner, OperatorDesc):
                value = compute(inner, {"InputTensor": value.astype(np.float64)})["OutputTensor"].value
            actual = np.broadcast_to(value, inputs["InputTensor"].shape).astype(numpy_dtype(data_type))
        answer = compute(desc, inputs)["OutputTensor"]
        tolerance = tolerance_of(load(name), "OutputTensor", desc)
        verdict = judge(actual, answer, tolerance, data_type, INFO)
        if not verdict.ok:
            yield f"{case.id}: {verdict.message}"


def truncated(value: Array) -> Array:
    """Stored as FLOAT16 and read again, as DirectML.dll does between its steps."""
    half = value.astype(np.float16)
    return np.where(np.abs(half) > np.abs(value), np.nextafter(half, np.float16(0)), half).astype(SINGLE)


def summed(x: Array, axes: tuple[int, ...], dtype: type) -> Array:
    """The sum of each row, one term after the other in a type that may be too narrow."""
    moved = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(*(n for i, n in enumerate(x.shape) if i not in axes), -1)
    total = np.add.accumulate(moved.astype(dtype), axis=-1, dtype=dtype)[..., -1]
    return np.expand_dims(total, axes)


def single(inputs: Inputs, name: str, default: float) -> Array:
    return inputs[name].astype(SINGLE) if name in inputs else SINGLE(default)


def next_channel(x: Array) -> Array:
    return np.roll(x, 1, axis=min(1, x.ndim - 1)) if x.ndim else x  # one factor for all, where the tensor is absent


def mean_variance(
    *,
    between: Callable[[Array], Array] = lambda value: value,
    accumulator: type = SINGLE,
    variance: str = "of differences",
    sample: int = 0,
    epsilon: str = "in the root",
    centred: bool = True,
    scale: Callable[[Array], Array] = lambda scale: scale,
    bias_first: bool = False,
    last_axis: bool = True,
) -> Computation:
    """Mean-variance normalization in FLOAT32, one sum after the other, unless something is wrong with it."""

    def run(desc: OperatorDesc, inputs: Inputs) -> Array:
        fields = desc.fields
        x, eps = inputs["InputTensor"].astype(SINGLE), SINGLE(fields["Epsilon"])
        axes = tuple(sorted(set(fields["Axes"])))
        axes = axes if last_axis else axes[:-1] or axes
        count = SINGLE(np.prod([x.shape[axis] for axis in axes]))
        mean = between((summed(x, axes, accumulator) / count).astype(SINGLE))
        value = x - mean if centred else x
        if fields["NormalizeVariance"]:
            if variance == "of squares":
                spread = summed(x * x, axes, accumulator) / count - mean * mean
            else:
                spread = summed((x - mean) ** 2 if variance == "of differences" else x * x, axes, accumulator) / max(
                    count - sample, 1
                )
            spread = between(spread.astype(SINGLE))
            root = {"in the root": np.sqrt(spread + eps), "outside": np.sqrt(spread) + eps, "nowhere": np.sqrt(spread)}[epsilon]
            value = value / root
        factor, bias = scale(single(inputs, "ScaleTensor", 1)), single(inputs, "BiasTensor", 0)
        found: Array = (value + bias) * factor if bias_first else value * factor + bias
        return found

    return run


MVN1 = "MEAN_VARIANCE_NORMALIZATION1"
BOTH = ("FLOAT32", "FLOAT16")


@pytest.mark.parametrize("data_type", BOTH)
def test_mean_variance_in_single_precision_passes(data_type: str) -> None:
    assert list(refused(MVN1, data_type, mean_variance())) == []


def test_moments_that_are_stored_as_halves_pass_in_half() -> None:
    assert list(refused(MVN1, "FLOAT16", mean_variance(between=truncated))) == []
    assert list(refused(MVN1, "FLOAT32", mean_variance(between=truncated)))


MEAN_VARIANCE_FAULTS = {
    "variance of a sample": mean_variance(sample=1),
    "epsilon outside the root": mean_variance(epsilon="outside"),
    "no epsilon": mean_variance(epsilon="nowhere"),
    "mean not subtracted": mean_variance(centred=False),
    "variance about zero": mean_variance(variance="about zero"),
    "scale of the next channel": mean_variance(scale=next_channel),
    "bias scaled too": mean_variance(bias_first=True),
    "an axis forgotten": mean_variance(last_axis=False),
    "sums in FLOAT16": mean_variance(accumulator=np.float16),
}


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("fault", MEAN_VARIANCE_FAULTS)
def test_faults_of_mean_and_variance_are_found(fault: str, data_type: str) -> None:
    assert next(refused(MVN1, data_type, MEAN_VARIANCE_FAULTS[fault]), None)


def test_cancelled_digits_of_a_variance_are_found() -> None:
    found = list(refused(MVN1, "FLOAT32", mean_variance(variance="of squares")))
    assert any("far-from-zero" in message for message in found)


def batch(
    *, folded: bool = False, epsilon: str = "in the root", sign: int = -1, root: bool = True, **wrong: Callable[[Array], Array]
) -> Computation:
    """Batch normalization in FLOAT32, in either order of its steps; ``wrong`` changes tensors by name."""

    def run(desc: OperatorDesc, inputs: Inputs) -> Array:
        changed = {
            name: wrong.get(name, lambda x: x)(single(inputs, f"{name}Tensor", 0)) for name in ("Mean", "Variance", "Scale", "Bias")
        }
        mean, variance, scale, bias = changed.values()
        x, eps = inputs["InputTensor"].astype(SINGLE), SINGLE(desc.fields["Epsilon"])
        divisor = np.sqrt(variance + eps) if root else variance + eps
        divisor = np.sqrt(variance) + eps if epsilon == "outside" else np.sqrt(variance) if epsilon == "nowhere" else divisor
        factor = scale / divisor
        return x * factor + (bias - mean * factor) if folded else scale * ((x + sign * mean) / divisor) + bias

    return run


BATCH_FAULTS = {
    "epsilon outside the root": batch(epsilon="outside"),
    "no epsilon": batch(epsilon="nowhere"),
    "mean added": batch(sign=1),
    "mean not subtracted": batch(sign=0),
    "no root": batch(root=False),
    "mean of the next channel": batch(Mean=next_channel),
    "variance of the next channel": batch(Variance=next_channel),
    "scale of the next channel": batch(Scale=next_channel),
    "bias of the next channel": batch(Bias=next_channel),
}


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("folded", [False, True])
def test_batch_normalization_passes_in_either_order(data_type: str, folded: bool) -> None:
    assert list(refused("BATCH_NORMALIZATION", data_type, batch(folded=folded))) == []


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("fault", BATCH_FAULTS)
def test_faults_of_batch_normalization_are_found(fault: str, data_type: str) -> None:
    assert next(refused("BATCH_NORMALIZATION", data_type, BATCH_FAULTS[fault]), None)


def test_a_scale_that_is_a_little_off_is_found() -> None:
    assert next(refused("BATCH_NORMALIZATION", "FLOAT32", batch(Scale=lambda x: x * SINGLE(1 + 2.0**-18))), None)


def response(
    *,
    before: int = 0,
    after: int = 0,
    divisor: Callable[[int, bool], int] = lambda size, cross: size,
    power: float = 1,
    axes: int = 2,
) -> Computation:
    """Local response normalization in FLOAT32; ``before`` and ``after`` make the window larger, ``axes`` is how many a plane's has."""

    def run(desc: OperatorDesc, inputs: Inputs) -> Array:
        fields = desc.fields
        x, size, cross = inputs["InputTensor"].astype(SINGLE), int(fields["LocalSize"]), bool(fields["CrossChannel"])
        alpha, beta, bias = (SINGLE(fields[name]) for name in ("Alpha", "Beta", "Bias"))
        squares = np.abs(x) ** SINGLE(2 * power)
        for axis in (1,) if cross else (2, 3)[:axes]:
            low, high = (size - 1) // 2 + before, size // 2 + after
            padding = [(0, 0)] * axis + [(max(low, 0), max(high, 0))] + [(0, 0)] * (3 - axis)
            windows = np.lib.stride_tricks.sliding_window_view(np.pad(squares, padding), max(low, 0) + max(high, 0) + 1, axis)
            squares = np.sum(windows, axis=-1, dtype=SINGLE)
        base = bias + alpha / SINGLE(divisor(size, cross)) * squares
        found: Array = x / np.exp2(beta * np.log2(base)).astype(SINGLE)
        return found

    return run


RESPONSE_FAULTS = {
    "window one further up": response(after=1),
    "window one further down": response(before=1),
    "window that ends one earlier": response(after=-1),
    "an even window the other way": response(before=1, after=-1),
    "alpha not divided": response(divisor=lambda size, cross: 1),
    "alpha divided by the square": response(divisor=lambda size, cross: size if cross else size * size),
    "not squared": response(power=0.5),
    "rows without columns": response(axes=1),
}


@pytest.mark.parametrize("data_type", BOTH)
def test_response_in_single_precision_passes(data_type: str) -> None:
    assert list(refused("LOCAL_RESPONSE_NORMALIZATION", data_type, response())) == []


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("fault", RESPONSE_FAULTS)
def test_faults_of_the_response_are_found(fault: str, data_type: str) -> None:
    assert next(refused("LOCAL_RESPONSE_NORMALIZATION", data_type, RESPONSE_FAULTS[fault]), None)


def norm(
    *,
    between: Callable[[Array], Array] = lambda value: value,
    accumulator: type = SINGLE,
    epsilon: str = "on the square",
    order: Callable[[int], int] = lambda order: order,
    axis: Callable[[int, int], int] = lambda axis, count: axis,
) -> Computation:
    """Division by a norm in FLOAT32, its terms added one after the other, unless something is wrong with it."""

    def run(desc: OperatorDesc, inputs: Inputs) -> Array:
        fields = desc.fields
        x, eps = inputs["InputTensor"].astype(SINGLE), SINGLE(fields["Epsilon"])
        axes = (axis(int(fields["Axis"]), x.ndim),)
        if order(int(fields["P"])) == 1:
            size = between(summed(np.abs(x), axes, accumulator).astype(SINGLE))
            square = between(size * size)
        else:
            square = between(summed(x * x, axes, accumulator).astype(SINGLE))
        root = {
            "on the square": np.sqrt(square + eps),
            "outside": np.sqrt(square) + eps,
            "the least": np.maximum(np.sqrt(square), eps),
            "nowhere": np.sqrt(square),
        }[epsilon]
        found: Array = x / root
        return found

    return run


NORM_FAULTS = {
    "epsilon added to the norm": norm(epsilon="outside"),
    "epsilon the least norm": norm(epsilon="the least"),
    "no epsilon": norm(epsilon="nowhere"),
    "order 2 for 1": norm(order=lambda order: 2),
    "order 1 for 2": norm(order=lambda order: 1),
    "the last axis": norm(axis=lambda axis, count: count - 1),
    "sums in FLOAT16": norm(accumulator=np.float16),
}


@pytest.mark.parametrize("data_type", BOTH)
def test_norms_in_single_precision_pass(data_type: str) -> None:
    assert list(refused("LP_NORMALIZATION", data_type, norm())) == []


def test_norms_that_are_stored_as_halves_pass_in_half() -> None:
    assert list(refused("LP_NORMALIZATION", "FLOAT16", norm(between=truncated))) == []
    assert list(refused("LP_NORMALIZATION", "FLOAT32", norm(between=truncated)))


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("fault", NORM_FAULTS)
def test_faults_of_norms_are_found(fault: str, data_type: str) -> None:
    assert next(refused("LP_NORMALIZATION", data_type, NORM_FAULTS[fault]), None)


def value_scale(*, bias: Callable[[Array], Array] = lambda bias: bias, bias_first: bool = False, half: bool = False) -> Computation:
    """Scale and bias of each channel in FLOAT32."""

    def run(desc: OperatorDesc, inputs: Inputs) -> Array:
        x, scale = inputs["InputTensor"].astype(SINGLE), SINGLE(desc.fields["Scale"])
        offset = np.reshape(bias(np.asarray(desc.fields["Bias"], SINGLE)), (1, -1, 1, 1))
        if half:
            scale, offset = SINGLE(np.float16(scale)), offset.astype(np.float16).astype(SINGLE)
        return (x + offset) * scale if bias_first else x * scale + offset

    return run


VALUE_SCALE_FAULTS = {
    "bias of the next channel": value_scale(bias=lambda bias: np.roll(bias, 1)),
    "bias of the first channel": value_scale(bias=lambda bias: bias[:1].repeat(len(bias))),
    "no bias": value_scale(bias=np.zeros_like),
    "bias scaled too": value_scale(bias_first=True),
    "attributes in FLOAT16": value_scale(half=True),
}


@pytest.mark.parametrize("data_type", BOTH)
def test_value_scale_in_single_precision_passes(data_type: str) -> None:
    assert list(refused("VALUE_SCALE_2D", data_type, value_scale())) == []


@pytest.mark.parametrize("data_type", BOTH)
@pytest.mark.parametrize("fault", VALUE_SCALE_FAULTS)
def test_faults_of_value_scale_are_found(fault: str, data_type: str) -> None:
    assert next(refused("VALUE_SCALE_2D", data_type, VALUE_SCALE_FAULTS[fault]), None)
