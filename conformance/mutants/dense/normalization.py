"""Faults of normalization operators."""

from __future__ import annotations

from dmlcts.conformance.mutants.fault import Faults

FAULTS: Faults = {}
"""What implementations of these operators get wrong."""

NO_FAULT: dict[str, dict[str, tuple[str, ...]]] = {}
"""Mutant, reason, operators: mutants of any operator that change nothing which these promise."""

OTHER_BASIS: dict[str, tuple[str, ...]] = {}
"""Mutants of any operator that cases of the other basis find in these."""
