"""Faults in the values of any operator: right everywhere, but for tensors of a certain kind; and results put in the wrong order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dmlcts.conformance.mutants.old.dense import dense_mutants
from dmlcts.conformance.mutants.old.mutant import Mutant

_OWN: tuple[Callable[[], Iterator[Mutant]], ...] = (dense_mutants,)
"""What makes the faults of operators' own, by family."""
