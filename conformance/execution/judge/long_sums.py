"""Statistics over many long sums: errors that each pass their bound, but are biased or too large together, reveal a bug.

From some hundred terms on the bound of one sum is far above the error that rounding to nearest causes, which grows with the root of
the number of terms. TOSA's conformance rules (variance and bias of a dot product) judge the errors together instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.execution.judge.formats import Format

LONG = 512
"""Sums of more terms than this are also judged together."""

FEWEST = 1000
"""Outputs that statistics need."""

VARIANCE, DEVIATIONS = 1.6, 10**0.5
"""The allowed mean square error, in units and for each of the ``k`` significant terms; and the bias, in standard deviations of that."""


@dataclass(frozen=True, slots=True)
class LongSums:
    """The scale for errors of long sums: ``unit``, the number of ``terms``, ``k`` significant ones, and ``B``."""

    unit: NDArray[Any]
    terms: NDArray[Any]
    k: NDArray[Any]
    magnitude: NDArray[Any]

    @classmethod
    def from_terms(cls, form: Format, smallest: Any, p_acc: int, magnitude: NDArray[Any], terms: NDArray[Any]) -> LongSums | None:
        """The statistics of sums with these magnitudes and numbers of terms, stored in ``form``; None if none of them is long.

        ``smallest`` is the smallest number that the accumulator does not flush, in the type of the errors.
        """
        if np.max(terms, initial=0) <= LONG:
            return None
        # Half an ULP of B; below it come the spacing of denormals, and what an accumulator may flush.
        unit = np.maximum(np.maximum(magnitude, form.smallest) * 2.0 ** (-1 - form.p), smallest)
        # Rounding in a wider accumulator adds little to that of the result.
        return cls(unit, terms, np.ceil(terms / 2.0 ** ((p_acc - form.p) / 2)), magnitude)

    def remark(self, error: NDArray[Any], reference: NDArray[Any], judged: NDArray[Any]) -> str:
        """What is wrong with the signed errors of all ``judged`` elements together; empty if nothing."""
        counted = judged & np.isfinite(error) & (self.magnitude > 0) & (self.terms > LONG)
        # Equal sums have equal errors, which are a single observation: data without variety prove nothing.
        if np.unique(reference[counted]).size < FEWEST:
            return ""
        outputs = int(np.count_nonzero(counted))
        unit, k, magnitude = (np.broadcast_to(x, error.shape)[counted] for x in (self.unit, self.k, self.magnitude))
        errors, terms = (error[counted] / unit).astype(np.float64), float(np.sum(k))
        squares, most = float(np.sum(errors**2)), VARIANCE * terms
        if squares > most:
            return f"the errors of {outputs} long sums are too large together: sum of squares {squares:.4g}, allowed {most:.4g}"
        # Where nearly all terms have one sign, so have the errors of an honest sum.
        if np.sum(np.abs(reference[counted])) > np.sum(magnitude) / 2:
            return ""
        bias, most = abs(float(np.sum(errors))), DEVIATIONS * (VARIANCE * terms) ** 0.5
        if bias > most:
            return f"the errors of {outputs} long sums are biased: bias {bias:.4g}, allowed {most:.4g}"
        return ""
