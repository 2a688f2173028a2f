"""Faults of convolution operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.dense.convolution_bytes import POINTS, QUANTIZATION
from dmlcts.conformance.mutants.dense.convolution_numbers import NUMBERS
from dmlcts.conformance.mutants.dense.convolution_places import ATTRIBUTES, PADDING, TERMS
from dmlcts.conformance.mutants.dense.convolution_terms import CONVOLUTION, INTEGER, QUANTIZED
from dmlcts.conformance.mutants.fault import Faults, for_each, merged

_ALL = (CONVOLUTION, INTEGER, QUANTIZED)

FAULTS: Faults = merged(
    for_each(_ALL, {**ATTRIBUTES, **PADDING, **TERMS}),
    {CONVOLUTION: NUMBERS},
    for_each((INTEGER, QUANTIZED), POINTS),
    {QUANTIZED: QUANTIZATION},
)
"""What implementations of these operators get wrong."""

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    **{
        mutant: {"the pages promise nothing of the sign of a zero": (CONVOLUTION,)}
        for mutant in ("numbers/output/minus-zero-lost",)
    },
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
