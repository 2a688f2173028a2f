"""Gradients of resampling: each incoming gradient goes back to the elements that its element was made of, by their weights.

Resampling is linear, one matrix of weights a dimension; its gradient is the product with the transposed matrices. Where FLOAT32 does not
decide a coordinate, a weight may differ: what the largest weights could add is the slack.

DirectML.dll was measured to exchange the pixel offsets: InputPixelOffsets are those of the gradient that comes in, so that the coordinates
are ``(output - InputPixelOffset) / Scale - OutputPixelOffset``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.resampling.coordinates import ScaledAxis, coordinates
from dmlcts.reference.operators.resampling.resample import half_down, half_up, nearest_index
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_UNIT = 2.0**-24
"""Half a unit in the last place of a FLOAT32, relative to the number."""

_TERMS = 6
"""Roundings of one weight a dimension, and of the product with it, beside those of the sum."""


@reference("RESAMPLE_GRAD")
@reference("RESAMPLE_GRAD1")
def resample_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The product of the gradient with the transposed weights of RESAMPLE1 or, with a RoundingDirection, of RESAMPLE2."""
    gradient, axes = inputs["InputGradientTensor"].astype(xp.float64), forward_axes(desc)
    answer = _answer(xp, desc, gradient, axes)
    if any(axis.input_offset != axis.output_offset for axis in axes):
        exchanged = [replace(axis, input_offset=axis.output_offset, output_offset=axis.input_offset) for axis in axes]
        answer = replace(answer, contested={MEASURED: _answer(xp, desc, gradient, exchanged)})
    return {"OutputGradientTensor": answer}


def _answer(xp: Any, desc: OperatorDesc, gradient: Array, axes: Sequence[ScaledAxis]) -> Answer:
    """The answer for one reading of the offsets."""
    found = [weights(xp, axis, *_rounding(xp, desc)) for axis in axes]
    exact = [weight for weight, _ in found]
    magnitude = return_gradient(xp, xp.abs(gradient), axes, exact)
    most = return_gradient(xp, xp.abs(gradient), axes, [weight + doubt for weight, doubt in found])
    terms = return_gradient(xp, xp.ones_like(gradient), axes, [(weight != 0).astype(xp.float64) for weight in exact])
    value = return_gradient(xp, gradient, axes, exact)
    return Answer(value, magnitude=most, terms=terms + _TERMS * len(axes), slack=most - magnitude)


def _rounding(xp: Any, desc: OperatorDesc) -> tuple[Callable[[Array], Array], Callable[[Array], Array]] | tuple[None, None]:
    """How a coordinate becomes the nearest index, at most and at least; nothing where it interpolates."""
    if desc.constant("InterpolationMode") == "LINEAR":
        return None, None
    direction = {"INCREASING": xp.ceil, "DECREASING": xp.floor}.get(desc.constant("RoundingDirection", default=""))
    return (direction, direction) if direction else (partial(half_up, xp), partial(half_down, xp))


def forward_axes(desc: OperatorDesc) -> list[ScaledAxis]:
    """The dimensions of the forward operator, whose input has the sizes of the gradient that goes out."""
    rows = (desc.numbers(name) for name in ("Scales", "InputPixelOffsets", "OutputPixelOffsets"))
    sizes = desc.tensor("OutputGradientTensor").sizes, desc.tensor("InputGradientTensor").sizes
    return [ScaledAxis(at, *each) for at, each in enumerate(zip(*sizes, *rows, strict=True))]


@stage("resampling.weights")
def weights(
    xp: Any, axis: ScaledAxis, nearest: Callable[[Array], Array] | None, or_below: Callable[[Array], Array] | None
) -> tuple[Array, Array]:
    """The weight of each element of the input (columns) in each of the output (rows), and by how much more it may count."""
    found, elements = coordinates(xp, axis), xp.arange(axis.size)
    if nearest is None or or_below is None:
        at = xp.clip(found.at, 0, axis.size - 1)[:, None]
        distance, error = xp.abs(at - elements), _step_by_step(xp, found.at, found.error)[:, None]
        return xp.maximum(0.0, 1 - distance), xp.where(distance < 1 + error, error, 0.0)
    at, low, high = (
        nearest_index(xp, axis, index)[:, None]
        for index in (nearest(found.at), or_below(found.at - found.error), nearest(found.at + found.error))
    )
    doubtful = (low != high) & (elements >= low) & (elements <= high)
    return (elements == at).astype(xp.float64), doubtful.astype(xp.float64)


def _step_by_step(xp: Any, at: Array, error: Array) -> Array:
    """What coordinates may be off by that are added up from the first on, where FLOAT32 does not give them exactly.

    DirectML.dll's errors grow with the place in the gradient that comes in: of 515 elements for 33, weights are off by up to 8e-5.
    """
    return xp.where(error > 0, xp.maximum(error, xp.arange(at.size) * _UNIT * (xp.abs(at) + 1)), 0.0)


@stage("resampling.returned")
def return_gradient(xp: Any, gradient: Array, axes: Sequence[ScaledAxis], matrices: Sequence[Array]) -> Array:
    """The product of a gradient with the transposed weights along all axes: those first that become smaller, or what lies between outgrows both."""
    for axis, matrix in sorted(zip(axes, matrices, strict=True), key=lambda pair: pair[1].shape[1] / pair[1].shape[0]):
        gradient = xp.moveaxis(xp.tensordot(gradient, matrix, axes=((axis.axis,), (0,))), -1, axis.axis)
    return gradient
