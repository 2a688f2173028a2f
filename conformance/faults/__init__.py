"""Planted faults: does the suite find them?

A mutant is the reference with one fault in one operator. What a fault replaces stands in ``model``; ``families`` hold what implementations
of some operators get wrong, ``transforms`` what they get wrong in any, made from its spec. ``reviewed.yaml`` says what is no fault, and what
measured cases alone find. ``catalogue`` has every mutant, ``hunt`` runs cases on them, ``table`` writes down what was found. Each is a
backend of its own: ``dmlcts run --backend python:dmlcts.conformance.faults:OPERATOR/FAULT``.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.conformance.faults.model.mutant import MutantBackend


def __getattr__(name: str) -> Callable[[], MutantBackend]:
    """The mutant of that name as a class without arguments, for ``python:MODULE:CLASS``. Raises AttributeError."""
    if "/" not in name:  # a module, or nothing of ours
        raise AttributeError(name)
    from dmlcts.conformance.faults.catalogue import find_mutant

    try:
        mutant = find_mutant(name)
    except KeyError as error:
        raise AttributeError(error.args[0]) from None
    return lambda: MutantBackend(mutant)
