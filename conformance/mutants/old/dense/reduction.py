"""Faults of reduction operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense.reduction_functions import FUNCTIONS
from dmlcts.conformance.mutants.old.dense.reduction_places import DIRECTIONS, PLACES
from dmlcts.conformance.mutants.old.dense.reduction_rows import AXES, ELEMENTS
from dmlcts.conformance.mutants.old.dense.reduction_running import RUNNING
from dmlcts.conformance.mutants.old.fault import Faults, for_each, marked, merged

_PLACES = ("ARGMIN", "ARGMAX")
_RUNNING = ("CUMULATIVE_SUMMATION", "CUMULATIVE_PRODUCT")

FAULTS: Faults = marked(
    merged(
        for_each(("REDUCE", *_PLACES), {**AXES, **ELEMENTS}),
        for_each(_PLACES, {**PLACES, **DIRECTIONS}),
        {"REDUCE": FUNCTIONS},
        RUNNING,
    ),
    ("REDUCE/SUM/within-float16", "REDUCE/LOG_SUM/of-magnitude"),
)
"""What implementations of these operators get wrong."""

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {
    "numbers/input-0/nan-as-zero": {"nothing is demanded of a row with a NaN": _PLACES},
    "numbers/output/minus-zero-lost": {"a sum that begins with 0 is never -0": ("CUMULATIVE_SUMMATION",)},
    "memory/padding": {"places take four bytes or eight": _PLACES},
    "accepts/no-dimensions": {"there is no dimension for Axis to name, so that Axis is refused": _RUNNING},
}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {
    "wrong-for/sizes/none-is-1": ("REDUCE", *_PLACES),  # without axes alone
}
"""Mutants of any operator that cases of the other basis find in these."""
