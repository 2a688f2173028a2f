"""Faults of pooling operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.pooling_maximum import INDICES, LARGEST, REPEATED
from dmlcts.conformance.mutants.old.dense.pooling_means import AVERAGE, AVERAGE_DILATED, NORM, QUANTIZED
from dmlcts.conformance.mutants.old.dense.pooling_regions import REGIONS
from dmlcts.conformance.mutants.old.dense.pooling_unpooling import UNPOOLING
from dmlcts.conformance.mutants.old.dense.pooling_windows import DILATED, SLIDING
from dmlcts.conformance.mutants.old.fault import Faults, for_each, merged

_MAX = ("MAX_POOLING", "MAX_POOLING1", "MAX_POOLING2")
_QUANTIZED = "QUANTIZED_LINEAR_AVERAGE_POOLING"
_DILATED = ("AVERAGE_POOLING1", "LP_POOLING1", "MAX_POOLING2", _QUANTIZED)
_WINDOWS = ("AVERAGE_POOLING", "LP_POOLING", *_MAX[:2], *_DILATED)

FAULTS: Faults = merged(
    for_each(_WINDOWS, SLIDING),
    for_each(_DILATED, DILATED),
    {"AVERAGE_POOLING": AVERAGE, "AVERAGE_POOLING1": AVERAGE_DILATED, _QUANTIZED: QUANTIZED},
    for_each(("LP_POOLING", "LP_POOLING1"), NORM),
    for_each(_MAX, LARGEST),
    for_each(_MAX[1:], INDICES),
    {_MAX[2]: REPEATED},
    {"MAX_UNPOOLING": UNPOOLING, "ROI_POOLING": REGIONS},
)
"""What implementations of these operators get wrong."""

_ALL = (*_WINDOWS, "MAX_UNPOOLING", "ROI_POOLING")
_OF_FOUR = ("MAX_UNPOOLING", "ROI_POOLING")
_FLOATING = tuple(name for name in _ALL if name != _QUANTIZED)
_LP = ("LP_POOLING", "LP_POOLING1")
_FOUR = "all tensors have four dimensions"

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    "numbers/output/minus-zero-lost": {"the sign of a zero is demanded of nobody here": _FLOATING},
    "numbers/output/nan-as-zero": {"NaN is passed over, and never given": (*_MAX, "ROI_POOLING")},
    "numbers/input-0/without-sign": {"even powers have no sign, and what odd ones make of signs is contested": _LP},
    "numbers/input-0/negated": {"even powers have no sign, and what odd ones make of signs is contested": _LP},
    **{
        f"strides/{which}-as-packed/input-1": {"nothing is defined where an index comes several times": ("MAX_UNPOOLING",)}
        for which in ("broadcast", "partly-broadcast", "wholly-broadcast")
    },
    **{
        f"strides/{what}/input-1": {"the first two sizes of ROITensor are 1": ("ROI_POOLING",)}
        for what in ("outer-gaps-ignored", "first-two-exchanged")
    },
    **{
        f"strides/{what}/input-1": {"all sizes of a scale but the channels' are 1": (_QUANTIZED,)}
        for what in ("permuted-as-packed", "inner-as-1", "last-two-exchanged")
    },
    "lost/outside-last-5d": {"no tensor has more than five dimensions": _WINDOWS, _FOUR: _OF_FOUR},
    **{
        mutant: {_FOUR: _OF_FOUR}
        for mutant in (
            *(f"strides/ignored-beyond-4d/{tensor}" for tensor in ("input-0", "input-1", "output")),
            "lost/outside-last-4d",
            "refuses/strides-beyond-4d",
        )
    },
    **{
        f"strides/ignored-below-4d/{tensor}": {"no tensor has fewer than four dimensions": operators}
        for tensor, operators in (("input-0", _ALL), ("input-1", (_QUANTIZED, *_OF_FOUR)), ("output", _ALL))
    },
    "accepts/same-dimension-count/alone": {
        "no table lists another number than 4": ("MAX_UNPOOLING",),
        "an output of more dimensions than the other, or than the input's attributes say, breaks another rule too": _MAX[1:],
    },
    "accepts/no-dimensions": {
        "without dimensions there is neither batch nor channel: another rule is broken too": _WINDOWS,
    },
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {
    "ROI_POOLING/SpatialScale-unsigned": ("ROI_POOLING",),
    **{f"accepts/{name}": (_QUANTIZED,) for name in ("same-data-type", "sizes-by-count", "sizes-broadcast", "sizes-without-ones")},
}
"""Mutants of any operator that cases of the other basis find in these."""
