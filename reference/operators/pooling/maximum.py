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
from dmlcts.reference.operators.pooling.windows import axes, fold_windows, inside_counts, taps
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("pooling.padding")
def padding(xp: Any, x: Array) -> Any:
    """What stands for padding: what no element of the type lies below."""
    return -xp.inf if x.dtype.kind == "f" else xp.iinfo(x.dtype).min


@stage("pooling.comparable")
def comparable(xp: Any, x: Array) -> Array:
    """The input as it is compared: a NaN lies below everything else."""
    return xp.where(xp.isnan(x), -xp.inf, x) if x.dtype.kind == "f" else x


@stage("pooling.larger")
def larger(value: Array, largest: Array) -> Array:
    """Where a later element takes the place of the largest so far: of equal ones the first stays."""
    return value > largest


@stage("pooling.maximum")
def maximum(xp: Any, desc: OperatorDesc, x: Array, indexed: bool) -> tuple[Array, Array | None]:
    """The maximum of every window of what is comparable; where ``indexed``, also the flat index into the whole input of the first element
    that has it, -1 where there is padding alone.

    Along one dimension after the other, from the last on, the first of equals stays: the result is the first in row-major order.
    """
    if not indexed:
        return fold_windows(xp, desc, x, padding(xp, x), xp.maximum), None
    place = xp.reshape(xp.arange(x.size), x.shape)
    for axis in reversed(axes(desc)):
        pairs = zip(taps(xp, axis, x, padding(xp, x)), taps(xp, axis, place, -1), strict=True)
        x, place = next(pairs)
        for value, at in pairs:
            better = larger(value, x) | ((place < 0) & (at >= 0))
            x, place = xp.where(better, value, x), xp.where(better, at, place)
    return x, place


@reference("MAX_POOLING")
@reference("MAX_POOLING1")
@reference("MAX_POOLING2")
def max_pooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The largest element of each window, and its index where the desc has OutputIndicesTensor."""
    x = inputs["InputTensor"]
    floating = x.dtype.kind == "f"
    largest, place = maximum(xp, desc, comparable(xp, x), desc.find("OutputIndicesTensor") is not None)
    defined = largest > -xp.inf if floating else xp.broadcast_to(inside_counts(xp, desc) > 0, largest.shape)
    lowest = xp.finfo(x.dtype).min if floating else padding(xp, x)
    answers = {"OutputTensor": Answer(xp.maximum(largest, lowest), defined=defined)}
    if place is not None:
        # DirectML.dll points to the window's first element where none lies above the least finite number, be it -inf or NaN.
        pointed = largest > lowest if floating else defined
        answers["OutputIndicesTensor"] = Answer(xp.maximum(place, 0), defined=pointed)
    return answers
