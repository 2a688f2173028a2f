"""Faults of operators on tensors of different sizes, one module a family."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.conformance.mutants.old.dense import attention, convolution, matrix
from dmlcts.conformance.mutants.old.fault import planted
from dmlcts.conformance.mutants.old.mutant import Mutant

FAMILIES = (convolution, matrix, attention)


def dense_mutants() -> Iterator[Mutant]:
    """Every value fault of these operators."""
    for family in FAMILIES:
        yield from planted(family.FAULTS)


def no_faults() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Mutant, reason and operators, of the mutants that are no faults in them."""
    for family in FAMILIES:
        for mutant, reasons in family.NO_FAULT.items():
            yield from ((mutant, why, operators) for why, operators in reasons.items())


def other_basis() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Mutant and operators, of the mutants that cases of the other basis find in them."""
    for family in FAMILIES:
        yield from family.OTHER_BASIS.items()
