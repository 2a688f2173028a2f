"""The gradients of average and maximum pooling: what the forward operators read of a window, these add to it.

A gradient lands in several windows' elements, and an element lies in several windows. Where the forward operator's windows overlap, what
they send to one element is added up in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.pooling.maximum import comparable, maximum
from dmlcts.reference.operators.pooling.windows import axes, divisors, forward, scatter_windows
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


def _spread(xp: Any, pooling: OperatorDesc, y: Array) -> Array:
    """The sum, for each element of the pooling's input, of ``y`` over the windows that hold it. Shape: the input's."""
    for axis in axes(pooling):
        y = scatter_windows(xp, axis, y)
    return y


@reference("AVERAGE_POOLING_GRAD")
def average_pooling_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sum of ``gradient / count`` over the windows that an element lies in, ``count`` as average pooling divides by."""
    pooling, gradient = forward(desc), inputs["InputGradientTensor"].astype(xp.float64)
    # A window of padding alone has no count, and sends nothing.
    part = gradient / xp.maximum(divisors(xp, pooling), 1)
    windows = _spread(xp, pooling, xp.ones((1, 1, *gradient.shape[2:]), dtype=xp.int64))
    value = _spread(xp, pooling, part)
    return {
        "OutputGradientTensor": Answer(
            value, magnitude=_spread(xp, pooling, xp.abs(part)), terms=xp.broadcast_to(xp.maximum(windows, 1), value.shape)
        )
    }


@reference("MAX_POOLING_GRAD")
def max_pooling_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sum of the gradients of the windows whose first largest element it is.

    A window without an element above the least finite number is not judged: see ``max_pooling``. One of padding alone sends nothing;
    DirectML.dll sends it to the first element of all where such a window spans that one, as the index of ``max_pooling`` points there.
    """
    pooling, x = forward(desc), inputs["InputTensor"]
    gradient = inputs["InputGradientTensor"].astype(xp.float64).ravel()
    largest, place = maximum(xp, pooling, comparable(xp, x), indexed=True)
    assert place is not None
    known = largest > xp.finfo(x.dtype).min
    sent = place.ravel() >= 0
    places, gradient = place.ravel()[sent], gradient[sent]

    defined = _spread(xp, pooling, xp.where(known, 0, 1)) == 0
    defined[0, 0].ravel()[:1] &= ~xp.any(place[0, 0] < 0)

    def sum_at_places(weights: Array | None) -> Array:
        return xp.reshape(xp.bincount(places, weights=weights, minlength=x.size), x.shape)

    return {
        "OutputGradientTensor": Answer(
            sum_at_places(gradient),
            magnitude=sum_at_places(xp.abs(gradient)),
            terms=xp.maximum(sum_at_places(None), 1),
            defined=defined,
        )
    }
