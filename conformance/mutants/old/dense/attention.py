"""Faults of attention operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.attention_groups import GROUPS
from dmlcts.conformance.mutants.old.dense.attention_masks import MASKS
from dmlcts.conformance.mutants.old.dense.attention_parts import ATTENTION, ATTENTION1, RIGHT_STEPS
from dmlcts.conformance.mutants.old.dense.attention_past import PAST
from dmlcts.conformance.mutants.old.dense.attention_scores import SCORES
from dmlcts.conformance.mutants.old.dense.attention_tensors import TENSORS
from dmlcts.conformance.mutants.old.fault import Faults, for_each, merged

FAULTS: Faults = merged(
    for_each((ATTENTION, ATTENTION1), {"step-by-step": RIGHT_STEPS, **SCORES, **MASKS, **TENSORS, **PAST}),
    {ATTENTION1: GROUPS},
)
"""What implementations of these operators get wrong."""

_BOTH = (ATTENTION, ATTENTION1)

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    "numbers/output/minus-zero-lost": {"the sign of a zero is demanded of nobody here": _BOTH},
    **{
        f"operands/{which}/input-{position}": {why: _BOTH}
        for which in ("exchanged", "earlier-twice", "later-twice")
        for position, why in (
            (3, "ValueTensor never has the sizes of StackedQueryKeyTensor: it would have one position and two"),
            (4, "StackedQueryKeyTensor and StackedKeyValueTensor are never there together"),
            (5, "StackedKeyValueTensor and StackedQueryKeyValueTensor are never there together"),
            (6, "all sizes of BiasTensor but the last are 1, and StackedQueryKeyValueTensor's fourth is 3"),
        )
    },
    **{
        f"{ATTENTION1}/{which}": {
            "keys would have heads of another size than queries: there is no such desc (groups-* are planted)": (ATTENTION1,)
        }
        for which in ("KeyValueHeadCount-ignored", "QueryHeadCount-KeyValueHeadCount-exchanged")
    },
    "lost/outside-last-4d": {"all sizes of outputs but the last four are 1": _BOTH},
    "lost/outside-last-5d": {"no tensor has more than five dimensions": _BOTH},
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
