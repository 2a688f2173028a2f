"""What faults of convolutions are made of: the products of a convolution, gathered one by one, and what is made of their sums.

All three operators, in both directions, come down to a ``Layer``: which element of the input each element of the window sees. A fault changes
the inputs, the layer, how its products are added, or what is done to the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import Computed
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.reference.registry import compute
from dmlcts.spec.desc import OperatorDesc

CONVOLUTION, INTEGER, QUANTIZED = "CONVOLUTION", "CONVOLUTION_INTEGER", "QUANTIZED_LINEAR_CONVOLUTION"

Inputs = Mapping[str, Array]

NOTHING = -1
"""A place outside the input."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The input (N, G, C, *S) and the filter (G, M, C, *K), as they are multiplied.

    ``places`` has for each spatial dimension a matrix (T, K): which element of the input each element of the window sees for each of the
    output; ``NOTHING`` where there is none, and ``outside`` stands there. ``beyond`` are the same places without regard to where the input ends.
    """

    x: Array
    w: Array
    places: tuple[Array, ...]
    beyond: tuple[Array, ...]
    outside: float = 0.0

    def seen(self) -> Array:
        """What the windows see: (N, G, product of T, C * product of K)."""
        count = len(self.places)
        x = np.pad(self.x, ((0, 0),) * 3 + ((0, 1),) * count, constant_values=self.outside)
        at = [np.expand_dims(place, [i for i in range(2 * count) if i // 2 != axis]) for axis, place in enumerate(self.places)]
        every: tuple[Any, ...] = (slice(None),) * 3
        found = x[(*every, *at)]  # N, G, C, T, K, T, K, ...
        elements = [3 + 2 * axis for axis in range(count)]
        found = found.transpose(0, 1, *elements, 2, *(axis + 1 for axis in elements))
        seen: Array = found.reshape(*self.x.shape[:2], int(np.prod(found.shape[2 : 2 + count])), -1)
        return seen

    def weights(self) -> Array:
        """The filter: (G, M, C * product of K)."""
        return self.w.reshape(*self.w.shape[:2], -1)


Change = Callable[[Layer], Layer]

Added = Callable[[Layer], Array]
"""A layer's sums: (N, G, M, product of T)."""

Finish = Callable[[OperatorDesc, Inputs, Array, Array], Any]
"""(operator desc, inputs, sums (N, G * M, *T), the right output) -> the output."""


def layer_of(desc: OperatorDesc, inputs: Inputs) -> Layer:
    """The right layer, in FLOAT64: numbers as they are, bytes less their zero points."""
    fields: Mapping[str, Any] = desc.fields
    groups, backward = fields["GroupCount"], fields.get("Direction") == "BACKWARD"
    x, w = real(inputs, "InputTensor"), real(inputs, "FilterTensor")
    x = x - real(inputs, "InputZeroPointTensor").reshape(-1)[0]
    w = w - by_channel(real(inputs, "FilterZeroPointTensor"), w.ndim - 1)
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    if backward:
        w = w.swapaxes(1, 2)
    if fields.get("Mode") == "CONVOLUTION":
        w = np.flip(w, tuple(range(3, w.ndim)))
    axes = zip(x.shape[3:], w.shape[3:], summed(desc), fields["Strides"], fields["Dilations"], fields["StartPadding"], strict=True)
    beyond = tuple(_backward(*axis[1:]) if backward else _forward(*axis[1:]) for axis in axes)
    return placed(Layer(x, w, beyond, beyond))


_FAR = -(1 << 40)
"""What lies between elements, which are apart by the strides: it stays outside."""


def _forward(window: int, count: int, stride: int, dilation: int, start: int) -> Array:
    return np.arange(count)[:, None] * stride + np.arange(window) * dilation - start


def _backward(window: int, count: int, stride: int, dilation: int, start: int) -> Array:
    there = np.arange(count)[:, None] + start - np.arange(window) * dilation
    return np.where(there % stride == 0, there // stride, _FAR)


def placed(layer: Layer, place: Callable[[Array, int], Array] = lambda at, size: at) -> Layer:
    """The layer with the places (T, K) that a function makes of those without regard to an input's end; its size is the second argument."""

    def within(at: Array, size: int) -> Array:
        found = np.where(at == _FAR, NOTHING, place(at, size))
        return np.where((found >= 0) & (found < size), found, NOTHING)

    places = tuple(within(at, size) for at, size in zip(layer.beyond, layer.x.shape[3:], strict=True))
    return replace(layer, places=places)


def summed(desc: OperatorDesc) -> tuple[int, ...]:
    """The sizes of what the sums fill of the output, without its padding."""
    sizes = desc.tensor("OutputTensor").sizes[2:]
    behind: Any = desc.fields.get("OutputPadding", (0,) * len(sizes))
    return tuple(size - padding for size, padding in zip(sizes, behind, strict=True))


def real(inputs: Inputs, name: str) -> Array:
    """A tensor in FLOAT64; 0 where it is absent."""
    return inputs[name].astype(np.float64) if name in inputs else np.zeros(1)


def by_channel(values: Array, behind: int) -> Array:
    """One number, or one for each channel, with as many dimensions behind the channels."""
    return values.reshape(-1, *[1] * behind)


def added(layer: Layer) -> Array:
    """The right sums."""
    return multiplied(layer.weights(), layer.seen())


def multiplied(weights: Array, seen: Array) -> Array:
    """The sums (N, G, M, T) of weights (G, M, L) and what windows see (N, G, T, L)."""
    sums: Array = np.matmul(weights[None], seen.swapaxes(-1, -2))
    return sums


def one_by_one(layer: Layer, add: Callable[[Array, Array], Array], first: float = 0.0, dtype: str = "f8") -> Array:
    """Sums by a function of the sum so far and the next product."""
    seen, weights = layer.seen().astype(dtype), layer.weights().astype(dtype)
    total: Array = np.full((*seen.shape[:2], weights.shape[1], seen.shape[2]), first, dtype)
    for term in range(weights.shape[-1]):
        total = add(total, weights[None, :, :, None, term] * seen[:, :, None, :, term])
    return total.astype(np.float64)


# What is made of sums


def biased(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    """CONVOLUTION: with the bias, the output's padding and the activation."""
    return activated(desc, padded(sums + real(inputs, "BiasTensor"), right.shape))


def padded(sums: Array, sizes: Sequence[int], front: bool = False) -> Array:
    """Zeros behind the sums, or before them, up to the output's sizes."""
    out = np.zeros(sizes)
    out[tuple(slice(size - n, size) if front else slice(n) for n, size in zip(sums.shape, sizes, strict=True))] = sums
    return out


def activated(desc: OperatorDesc, value: Array) -> Array:
    """What the fused activation makes of a result; the result itself without one."""
    inner = desc.fields.get("FusedActivation")
    if not isinstance(inner, OperatorDesc):
        return value
    found: Array = compute(inner, {"InputTensor": value})["OutputTensor"].value
    return found


def quotient(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    """QUANTIZED_LINEAR_CONVOLUTION: the sum and the bias in units of the output's scale."""
    behind = sums.ndim - 2
    bias, by_input, by_filter, by_output = (
        by_channel(real(inputs, f"{name}Tensor"), behind) for name in ("Bias", "InputScale", "FilterScale", "OutputScale")
    )
    found: Array = (sums + bias) * by_input * by_filter / by_output
    return found


def quantized(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    """QUANTIZED_LINEAR_CONVOLUTION: with the bias, scaled, rounded, moved by the zero point, saturated."""
    point = float(real(inputs, "OutputZeroPointTensor").reshape(-1)[0])
    found: Array = np.rint(np.nan_to_num(quotient(desc, inputs, sums))) + point
    return found


_FINISHES: Mapping[str, Finish] = {
    CONVOLUTION: biased,
    INTEGER: lambda desc, inputs, sums, right: sums,
    QUANTIZED: quantized,
}


def right_finish(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Any:
    """What the operator makes of its sums."""
    return _FINISHES[desc.type](desc, inputs, sums, right)


def of_layer(change: Change, add: Added = added, finish: Finish = right_finish) -> Computed:
    """Of a changed layer, added up otherwise, or with something else made of the sums."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        sums = add(change(layer_of(desc, inputs)))
        return finish(desc, inputs, sums.reshape(*right.shape[:2], *summed(desc)), right)

    return computed


def of_sums(finish: Finish, add: Added = added) -> Computed:
    """With something else made of the sums, or these added otherwise."""
    return of_layer(lambda layer: layer, add, finish)


def of_inputs(change: Callable[[Inputs], Inputs], finish: Finish = right_finish) -> Computed:
    """Of changed inputs, of whatever numeric types."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        changed = change(inputs)
        return finish(desc, changed, added(layer_of(desc, changed)).reshape(*right.shape[:2], *summed(desc)), right)

    return computed
