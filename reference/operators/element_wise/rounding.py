"""Rounding to integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.scale_bias import SMALLEST, Function, scale_argument
from dmlcts.spec.model.desc import OperatorDesc

_NO_FRACTION = 2.0**52
"""From here on float64 has no bits for a fraction, and adding a half would round."""


def halves_away_from_zero(xp: Any, x: Array) -> Array:
    """The nearest integers to ``x`` (float64, exact for every float32), ties away from zero; keeps the sign, also of zero."""
    magnitude = xp.abs(x)
    return xp.copysign(xp.where(magnitude < _NO_FRACTION, xp.floor(magnitude + 0.5), magnitude), x)


_MODES = {
    "HALVES_TO_NEAREST_EVEN": lambda xp, x: xp.round(x),
    "TOWARD_ZERO": lambda xp, x: xp.trunc(x),
    "TOWARD_INFINITY": halves_away_from_zero,
}


@reference("ELEMENT_WISE_ROUND")
def element_wise_round(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Rounds by RoundingMode; NaN and infinities stay what they are."""
    x = inputs["InputTensor"].astype(xp.float64)
    return {"OutputTensor": Answer(apply_function(_MODES[desc.constant("RoundingMode")], xp, x))}


def scaled_to_round(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array | None]:
    """As ``scale_argument``, but without an error where FLOAT32 holds input, product and sum, none of them a denormal: any error, however small,
    could give another integer.
    """
    argument, error = scale_argument(xp, desc, x)
    pair = desc.scale_bias()
    if error is None or pair is None:
        return argument, error
    x = x.astype(xp.float64)
    held = x.astype(xp.float32) == x
    for number in (x * pair.scale, argument):
        held = held & (number.astype(xp.float32) == number) & ((number == 0) | (xp.abs(number) >= SMALLEST))
    return argument, xp.where(held, 0.0, 2 * error)  # twice: an integer input may be rounded too


def _to_integer(function: Function) -> Reference:
    """Rounds ``InputTensor * Scale + Bias`` by ``function``.

    Scaled, a result may be the integer of any number within the argument's error; an integer that the type does not hold is rounded to
    one of its neighbours. What overflows the type, or may, is not defined.
    """

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        argument, error = scaled_to_round(xp, desc, inputs["InputTensor"])
        value = apply_function(function, xp, argument)
        if error is None:
            return {"OutputTensor": Answer(value)}
        form = xp.finfo(inputs["InputTensor"].dtype)
        magnitude = xp.abs(argument)
        spacing = xp.where(magnitude * float(form.eps) >= 1, magnitude * float(form.eps), 0.0)
        inside = ~xp.isfinite(argument) | (magnitude + error + spacing <= float(form.max))
        return {"OutputTensor": Answer(argument, slack=error + spacing, defined=inside, result=value)}

    return run


reference("ELEMENT_WISE_CEIL")(_to_integer(lambda xp, x: xp.ceil(x)))
reference("ELEMENT_WISE_FLOOR")(_to_integer(lambda xp, x: xp.floor(x)))
