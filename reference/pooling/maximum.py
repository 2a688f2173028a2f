"""Maximum pooling, and where in the input the maximum stands.

The pages promise the maximum of a window and, of several equal ones, the first's index. Of what is no number in the usual sense they say
nothing, and DirectML.dll 1.15.4 compares each element with the least finite number of the type first: NaN is ignored, and a window
of only NaN, -inf or padding gives that number. It is given here too, and not defined where no element of a window lies above -inf: the
specs' examples hold what is promised and what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.pooling.windows import axes, folded, inside
from dmlcts.reference.registry import reference
from dmlcts.spec.desc import OperatorDesc


def _least(xp: Any, x: Array) -> Any:
    """What no element of the type lies below."""
    return -xp.inf if x.dtype.kind == "f" else xp.iinfo(x.dtype).min


def _first_largest(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array]:
    """The maximum of every window and the flat index into the whole input of the first element that has it; -1 where there is padding alone.

    Along one dimension after the other, from the last on, the first of equals stays: the result is the first in row-major order.
    """
    place = xp.reshape(xp.arange(x.size), x.shape)
    for axis in reversed(axes(desc)):
        taps = zip(axis.taps(xp, x, _least(xp, x)), axis.taps(xp, place, -1), strict=True)
        x, place = next(taps)
        for value, at in taps:
            better = (value > x) | ((place < 0) & (at >= 0))
            x, place = xp.where(better, value, x), xp.where(better, at, place)
    return x, place


@reference("MAX_POOLING")
@reference("MAX_POOLING1")
@reference("MAX_POOLING2")
def max_pooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The largest element of each window, and its index where the desc has OutputIndicesTensor."""
    x = inputs["InputTensor"]
    floating = x.dtype.kind == "f"
    x = xp.where(xp.isnan(x), -xp.inf, x) if floating else x
    indexed = desc.fields.get("OutputIndicesTensor") is not None
    if indexed:
        largest, place = _first_largest(xp, desc, x)
    else:
        largest = folded(xp, desc, x, _least(xp, x), xp.maximum)
    defined = largest > -xp.inf if floating else xp.broadcast_to(inside(xp, desc) > 0, largest.shape)
    lowest = xp.finfo(x.dtype).min if floating else _least(xp, x)
    answers = {"OutputTensor": Answer(xp.maximum(largest, lowest), defined=defined)}
    if indexed:
        # DirectML.dll points to the window's first element where none lies above the least finite number, be it -inf or NaN.
        pointed = largest > lowest if floating else defined
        answers["OutputIndicesTensor"] = Answer(xp.maximum(place, 0), defined=pointed)
    return answers
