"""Rounding to integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.spec.desc import OperatorDesc

_NO_FRACTION = 2.0**52
"""From here on float64 has no bits for a fraction, and adding a half would round."""


def halves_away_from_zero(xp: Any, x: Array) -> Array:
    """The nearest integers to ``x`` (float64, every float32 exactly), halves away from zero; the sign stays, of zero too."""
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
    return {"OutputTensor": Answer(_MODES[str(desc.fields["RoundingMode"])](xp, x))}
