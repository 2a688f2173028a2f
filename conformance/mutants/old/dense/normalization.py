"""Faults of normalization operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.normalization_given import GIVEN
from dmlcts.conformance.mutants.old.dense.normalization_mean_variance import MEAN_VARIANCE
from dmlcts.conformance.mutants.old.dense.normalization_neighbours import NEIGHBOURS
from dmlcts.conformance.mutants.old.fault import Faults, merged

FAULTS: Faults = merged(GIVEN, MEAN_VARIANCE, NEIGHBOURS)
"""What implementations of these operators get wrong."""

_FIRST = "MEAN_VARIANCE_NORMALIZATION"
_MEAN_VARIANCE = (_FIRST, f"{_FIRST}1", f"{_FIRST}2")
_OF_FOUR = ("VALUE_SCALE_2D", "LOCAL_RESPONSE_NORMALIZATION", _FIRST)

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    "BATCH_NORMALIZATION/Spatial-ignored": {"from feature level 4_0 on, Spatial has no effect": ("BATCH_NORMALIZATION",)},
    "numbers/output/minus-zero-lost": {
        "the sign of a zero is demanded of nobody here": ("BATCH_NORMALIZATION", "LP_NORMALIZATION", *_MEAN_VARIANCE),
    },
    "accepts/no-dimensions": {
        "no Axis is below a number of 0 dimensions": ("LP_NORMALIZATION",),
    },
    "accepts/same-dimension-count/alone": {"no table lists another number than 4": (_FIRST,)},
    **{
        mutant: {"all tensors have four dimensions": operators}
        for mutant, operators in (
            *(
                (f"strides/ignored-{which}-4d/{tensor}", _OF_FOUR)
                for which in ("beyond", "below")
                for tensor in ("input-0", "output")
            ),
            *((f"strides/ignored-{which}-4d/input-1", (_FIRST,)) for which in ("beyond", "below")),
            *((f"lost/outside-last-{count}d", _OF_FOUR) for count in (4, 5)),
            ("refuses/strides-beyond-4d", _OF_FOUR),
        )
    },
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {
    "LP_NORMALIZATION/Epsilon-unsigned": ("LP_NORMALIZATION",),
    "MEAN_VARIANCE_NORMALIZATION2/Epsilon-unsigned": ("MEAN_VARIANCE_NORMALIZATION2",),
    "numbers/output/at-most-100": ("LP_NORMALIZATION",),
}
"""Mutants of any operator that cases of the other basis find in these."""
