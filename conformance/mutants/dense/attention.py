"""Faults of attention operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.dense.attention_groups import GROUPS
from dmlcts.conformance.mutants.dense.attention_masks import MASKS
from dmlcts.conformance.mutants.dense.attention_parts import ATTENTION, ATTENTION1, RIGHT_STEPS
from dmlcts.conformance.mutants.dense.attention_past import PAST
from dmlcts.conformance.mutants.dense.attention_scores import SCORES
from dmlcts.conformance.mutants.dense.attention_tensors import TENSORS
from dmlcts.conformance.mutants.fault import Faults, for_each, merged

FAULTS: Faults = merged(
    for_each((ATTENTION, ATTENTION1), {"step-by-step": RIGHT_STEPS, **SCORES, **MASKS, **TENSORS, **PAST}),
    {ATTENTION1: GROUPS},
)
"""What implementations of these operators get wrong."""

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
