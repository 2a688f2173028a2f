"""Faults of reduction operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.dense.reduction_functions import FUNCTIONS
from dmlcts.conformance.mutants.dense.reduction_places import DIRECTIONS, PLACES
from dmlcts.conformance.mutants.dense.reduction_rows import AXES, ELEMENTS
from dmlcts.conformance.mutants.dense.reduction_running import RUNNING
from dmlcts.conformance.mutants.fault import Faults, for_each, merged

_PLACES = ("ARGMIN", "ARGMAX")

FAULTS: Faults = merged(
    for_each(("REDUCE", *_PLACES), {**AXES, **ELEMENTS}),
    for_each(_PLACES, {**PLACES, **DIRECTIONS}),
    {"REDUCE": FUNCTIONS},
    RUNNING,
)
"""What implementations of these operators get wrong."""

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
