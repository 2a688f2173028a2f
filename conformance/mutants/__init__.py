"""Planted faults: does the suite find them?

A mutant (``mutant.Mutant``) is the reference with one fault in it: a wrong value (``values``, and a module a family of operators, such as
``arithmetic``, whose tables ``fault`` plants), numbers carried wrongly (``numbers``), an element read or written in the wrong place
(``placement``, ``strides``), a rule not enforced or one too many (``validation``, ``refusals``). ``catalogue`` has them all, ``equivalent``
says which are no faults, ``hunt`` runs cases on them, ``table`` writes down what was found. Each is a backend of its own:
``dmlcts run --backend python:dmlcts.conformance.mutants:NAME``.
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
