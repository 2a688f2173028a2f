"""Elements that are copied unchanged: IF and IDENTITY. Without ScaleBias not a bit of them changes, of NaN neither."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.bits import bits
from dmlcts.reference.operators.element_wise.logic import is_true
from dmlcts.reference.operators.element_wise.rounding import scaled_to_round
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.scale_bias import apply_with_error, scale_argument
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@reference("ELEMENT_WISE_IF")
def element_wise_if(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """A's element where the condition is not 0, B's where it is."""
    a, b = inputs["ATensor"], inputs["BTensor"]
    return {"OutputTensor": Answer(_choose_bits(xp, is_true(xp, inputs["ConditionTensor"]), bits(a), bits(b)).view(a.dtype))}


@stage("element_wise.choice")
def _choose_bits(xp: Any, condition: Array, a: Array, b: Array) -> Array:
    """The bit patterns of A where the condition is true, those of B elsewhere."""
    return xp.where(condition, a, b)


@reference("ELEMENT_WISE_IDENTITY")
def identity(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The input. With ScaleBias a real number, from which an integer is made by leaving its fraction out.

    The page does not say how a real number becomes an integer; DirectML.dll was measured, which computes in FLOAT32, leaves the fraction
    out and saturates. What lies outside the integer type, or may lie there, is not defined.
    """
    x = inputs["InputTensor"]
    if desc.scale_bias() is None:
        return {"OutputTensor": Answer(x)}
    if x.dtype.kind == "f":
        return {
            "OutputTensor": apply_with_error(xp, partial(apply_function, lambda xp, number: number), *scale_argument(xp, desc, x))
        }
    argument, error = scaled_to_round(xp, desc, x)
    slack = 0.0 if error is None else error
    least, most = (int(end) for end in (xp.iinfo(x.dtype).min, xp.iinfo(x.dtype).max))
    inside = (argument - slack > float(least) - 1) & (argument + slack < float(most) + 1)
    truncated = apply_function(lambda xp, number: xp.trunc(number), xp, xp.clip(argument, float(least), float(most))).astype(
        x.dtype
    )
    # float64 has no 2^63 - 1, and what it has instead is too large.
    stored = xp.where(argument >= float(most), xp.asarray(most, dtype=x.dtype), truncated)
    return {"OutputTensor": Answer(argument, slack=slack, defined=inside, result=stored)}
