"""CONVOLUTION: the sum over windows, a bias and a fused activation.

The page has no formula. FORWARD with CROSS_CORRELATION slides the filter over the padded input as it is; BACKWARD with the same filter is
the transpose of that; CONVOLUTION reverses the filter along every spatial dimension first. What the page says of reversing agrees: as
windows over an input with zeros between its elements, the transpose uses the filter reversed.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.convolution.windows import (
    Geometry,
    Layer,
    accumulate,
    add_bias,
    forward,
    group_channels,
    grouped_filter,
    magnitudes,
    transposed_forward,
)
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import PART, WHOLE, accumulated_answer, between_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


def _layer(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], sizes: tuple[int, ...]) -> tuple[Layer, Array]:
    """The desc's convolution, with an output of ``sizes``.

    With it an array (C, *K) that says where each of a sum's elements stands in the filter tensor: 0 is the first.
    """
    backward, groups = desc.constant("Direction") == "BACKWARD", desc.integer("GroupCount")
    w = grouped_filter(xp, inputs["FilterTensor"].astype(xp.float64), groups, backward)
    order = xp.reshape(xp.arange(prod(w.shape[2:])), w.shape[2:])
    if desc.constant("Mode") == "CONVOLUTION":
        w, order = (reversed_window(xp, array, len(sizes) - 2) for array in (w, order))
    geometry = Geometry(desc.integers("Strides"), desc.integers("Dilations"), desc.integers("StartPadding"), sizes[2:])
    return Layer(group_channels(xp, inputs["InputTensor"], groups), w, geometry, transposed_forward if backward else forward), order


@stage("convolution.reverse")
def reversed_window(xp: Any, w: Array, spatial: int) -> Array:
    """A filter reversed along its spatial dimensions, the last ``spatial`` ones."""
    return xp.flip(w, axis=tuple(range(-spatial, 0)))


@reference("CONVOLUTION")
def convolution(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Sizes, with G groups: input (N, G*C, *S), filter FORWARD (G*M, C, *K) and BACKWARD (G*C, M, *K), bias (1, G*M, *1), output (N, G*M, *T).

    The last OutputPadding elements of the output are zeros, to which neither filter nor bias adds anything, but the activation is applied.
    """
    padded, behind = desc.tensor("OutputTensor").sizes, desc.integers("OutputPadding")
    sizes = (*padded[:2], *(size - padding for size, padding in zip(padded[2:], behind, strict=True)))
    layer, order = _layer(xp, desc, inputs, sizes)
    bias = inputs.get("BiasTensor")
    terms = _terms(layer) + (bias is not None)
    value = xp.reshape(accumulate(xp, layer), sizes)
    magnitude = xp.reshape(magnitudes(xp, layer, terms), sizes)
    error = xp.reshape(_parts_error(xp, layer, order), sizes) if layer.x.dtype == xp.float16 and order.size > WHOLE else None
    if bias is None:
        value += 0.0  # nothing is negative zero: a sum begins with a positive one
    else:
        value = add_bias(xp, value, bias)
        magnitude += xp.where(xp.isfinite(bias), xp.abs(bias), 0.0)
    if sizes != padded:
        value, magnitude, error = (None if part is None else padded_output(xp, part, padded) for part in (value, magnitude, error))
    return {"OutputTensor": accumulated_answer(xp, desc, value, magnitude, terms, error)}


@stage("convolution.output_padding")
def padded_output(xp: Any, part: Array, sizes: tuple[int, ...]) -> Array:
    """Zeros behind, up to ``sizes``."""
    out = xp.zeros(sizes, dtype=part.dtype)
    out[tuple(map(slice, part.shape))] = part
    return out


def _terms(layer: Layer) -> int:
    """How many products meet in one sum at most."""
    channels, *window = map(int, layer.w.shape[2:])
    if layer.sums is forward:
        return channels * prod(window)
    axes = zip(window, layer.geometry.strides, layer.geometry.dilations, strict=True)
    return channels * prod(-(-size * gcd(stride, dilation) // stride) for size, stride, dilation in axes)


def _parts_error(xp: Any, layer: Layer, order: Array) -> Array:
    """What sums are off by if they are computed in parts that are stored as FLOAT16: in how many depends on the sizes.

    The absolute values of the parts add up to no more than those of all sixteens. They are computed in float32, in which no number of
    them is off by as much as matters to FLOAT16.
    """
    window, w = prod(layer.w.shape[3:]), layer.w.astype(xp.float32)
    starts = range(0, order.size, PART)
    between: Array = 0.0
    for first in starts:
        channels = slice(first // window, (first + PART - 1) // window + 1)
        part = (order[channels] >= first) & (order[channels] < first + PART)
        weights = xp.where(part, w[:, :, channels], xp.float32(0))
        between = between + xp.abs(layer.sums(xp, layer.geometry, layer.x[:, :, channels], weights, layer.taken_elements))
    return between_error(xp, between.astype(xp.float64), len(starts))
