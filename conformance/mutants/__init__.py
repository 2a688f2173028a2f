"""Planted faults: does the suite find them?

A mutant (``mutant.Mutant``) is the reference with one fault in it: a wrong value (``values``, ``bits``, ``rounding``), an element read or
written in the wrong place (``placement``), a rule not enforced or one too many (``validation``). ``catalogue`` has them all, ``hunt`` runs
cases on them. Each is a backend of its own: ``dmlcts run --backend python:dmlcts.conformance.mutants:NAME``.
"""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.conformance.mutants.mutant import MutantBackend


def __getattr__(name: str) -> Callable[[], MutantBackend]:
    """The mutant of that name as a class without arguments, for ``python:MODULE:CLASS``. Raises AttributeError."""
    from dmlcts.conformance.mutants.catalogue import find_mutant

    try:
        mutant = find_mutant(name)
    except KeyError as error:
        raise AttributeError(error.args[0]) from None
    return lambda: MutantBackend(mutant)
