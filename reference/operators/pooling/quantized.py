"""Average pooling of 8-bit integers that stand for real numbers: ``(q - zero point) * scale``.

An implementation computes in FLOAT32. The page leaves open how ``round`` treats ties; DirectML.dll 1.15.4 rounds ties to even, before it
adds the zero point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.pooling.windows import divisors, inside_counts, sums
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.quantized import DIVISION, power_of_two, real, stored_integers
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_EXACT = 2.0**24
"""Up to here FLOAT32 holds every whole number."""


@stage("pooling.difference")
def difference(x: Array, zero_point: Array | float) -> Array:
    """What is added up of each element, in units of the input's scale: whole numbers, whose sums are exact."""
    return x - zero_point


@stage("pooling.rescale")
def rescale_total(total: Array, scale: Array, count: Array, out_scale: Array) -> Array:
    """The mean of differences that add up to ``total``, in units of the output's scale."""
    return total * scale / count / out_scale


@reference("QUANTIZED_LINEAR_AVERAGE_POOLING")
def quantized_average(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The input dequantized, averaged over each window as AVERAGE_POOLING1 does, divided by the output's scale, rounded and saturated.

    Padding is the real number 0, which is the zero point. A window that holds no element of the input and does not count the padding is
    not defined.
    """
    scale, point, out_scale, out_point = (
        real(xp, inputs, f"{side}{what}Tensor") for side in ("Input", "Output") for what in ("Scale", "ZeroPoint")
    )
    held, count = inside_counts(xp, desc), divisors(xp, desc)
    differences = difference(inputs["InputTensor"].astype(xp.float64), point)
    total, absolute = sums(xp, desc, differences), sums(xp, desc, xp.abs(differences))
    factor = scale / (count * out_scale)
    error = ROUNDOFF * xp.abs(factor) * ((held + 1) * absolute + 2 * DIVISION * xp.abs(total))
    exact = power_of_two(xp, scale) & power_of_two(xp, out_scale) & power_of_two(xp, 1.0 * count) & (absolute < _EXACT)
    answer = stored_integers(xp, desc, rescale_total(total, scale, count, out_scale), xp.where(exact, 0.0, error), out_point, 0.0)
    return {"OutputTensor": replace(answer, defined=xp.broadcast_to(count > 0, total.shape))}
