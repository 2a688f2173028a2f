"""Normalization by numbers that are given: batch normalization by the tensors of a training, and VALUE_SCALE_2D by attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.normalization.error import UNIT, finish_answer, inverse_root
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("normalization.batch")
def normalize_batch(x: Array, mean: Array, factor: Array, bias: Array) -> Array:
    """What is activated: ``factor`` is the scale over the deviation."""
    return (x - mean) * factor + bias


@stage("normalization.value-scale")
def value_scaled(x: Array, scale: float, bias: Array) -> Array:
    """The elements with the bias of their channel; ``bias`` has a size for each dimension."""
    return x * scale + bias


@reference("BATCH_NORMALIZATION")
def batch_normalization(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``FusedActivation(Scale * ((x - Mean) / sqrt(Variance + Epsilon)) + Bias)``; all but the input broadcast. Spatial does nothing.

    The bound is that of the sum ``x * a + (Bias - Mean * a)`` with ``a = Scale / sqrt(Variance + Epsilon)``, which is how an inference
    computes it (DirectML.dll where the tensors have one number a channel). What x and Mean have in common then costs mantissa bits: the two
    products and the difference round for themselves. But it is the same ``a`` in both, and what that is off by counts for ``x - Mean`` alone.
    Step by step, as the page has it, each of the other steps costs a unit of ``(x - Mean) * a``.
    """
    x, mean, variance, scale, bias = (
        inputs[f"{name}Tensor"].astype(xp.float64) for name in ("Input", "Mean", "Variance", "Scale", "Bias")
    )
    inverse, share = inverse_root(xp, variance, xp.zeros_like(variance), desc.number("Epsilon"))
    factor = scale * inverse
    value = normalize_batch(x, mean, factor, bias)
    move = mean * factor
    folded = xp.abs(x * factor) + xp.abs(move) + xp.abs(bias - move)
    stepwise = 2 * xp.abs((x - mean) * factor)
    # One unit of the factor's own product, one of the last sum.
    error = (share + UNIT) * xp.abs((x - mean) * factor) + UNIT * (xp.maximum(folded, stepwise) + xp.abs(value))
    return {"OutputTensor": finish_answer(xp, desc, value, error, xp.isfinite(share))}


@reference("VALUE_SCALE_2D")
def value_scale_2d(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Scale * x + Bias[channel]``; the channel is the second dimension."""
    x, scale = inputs["InputTensor"].astype(xp.float64), desc.number("Scale")
    bias = xp.reshape(xp.asarray(desc.numbers("Bias"), dtype=xp.float64), (1, -1, 1, 1))
    return {"OutputTensor": Answer(value_scaled(x, scale, bias), slack=UNIT * xp.abs(x * scale))}
