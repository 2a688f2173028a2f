"""Faults of convolution operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.convolution_bytes import POINTS, QUANTIZATION, SINGLE_SUMS
from dmlcts.conformance.mutants.old.dense.convolution_numbers import NUMBERS
from dmlcts.conformance.mutants.old.dense.convolution_places import ATTRIBUTES, DEPTH, PADDING, TERMS
from dmlcts.conformance.mutants.old.dense.convolution_terms import CONVOLUTION, INTEGER, QUANTIZED
from dmlcts.conformance.mutants.old.fault import Faults, for_each, merged

_ALL = (CONVOLUTION, INTEGER, QUANTIZED)

FAULTS: Faults = merged(
    for_each(_ALL, {**ATTRIBUTES, **PADDING, **TERMS}),
    {CONVOLUTION: {**DEPTH, **NUMBERS}, INTEGER: SINGLE_SUMS},
    for_each((INTEGER, QUANTIZED), POINTS),
    {QUANTIZED: QUANTIZATION},
)
"""What implementations of these operators get wrong."""

_UNGROUPED = "the filter would have other channels than the input: there is no such desc (faults of groups are planted)"
_FOUR = "no tensor has more than four dimensions"
_BYTES = (INTEGER, QUANTIZED)

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    **{f"{name}/GroupCount-ignored": {_UNGROUPED: (name,)} for name in _ALL},
    "numbers/output/minus-zero-lost": {"the sign of a zero is demanded of nobody here": (CONVOLUTION,)},
    "accepts/no-dimensions": {"without dimensions there are no channels: another rule is broken too": (CONVOLUTION,)},
    "memory/padding": {"the output's elements have four bytes": (INTEGER,)},
    "lost/outside-last-4d": {_FOUR: _BYTES},
    "lost/outside-last-5d": {_FOUR: _BYTES, "no tensor has more than five dimensions": (CONVOLUTION,)},
    "strides/ignored-beyond-4d/input-0": {_FOUR: _BYTES},
    "strides/ignored-beyond-4d/output": {_FOUR: _BYTES},
    "refuses/strides-beyond-4d": {_FOUR: _BYTES},
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
