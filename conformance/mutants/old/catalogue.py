"""Every mutant, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from itertools import chain

from dmlcts.conformance.mutants.old.bases import has_other_basis
from dmlcts.conformance.mutants.old.equivalent import ANYWHERE, EQUIVALENT, reason
from dmlcts.conformance.mutants.old.half_checks import half_check_mutants
from dmlcts.conformance.mutants.old.in_place import in_place_mutants
from dmlcts.conformance.mutants.old.mutant import Mutant
from dmlcts.conformance.mutants.old.numbers import number_mutants
from dmlcts.conformance.mutants.old.operands import operand_mutants
from dmlcts.conformance.mutants.old.placement import placement_mutants
from dmlcts.conformance.mutants.old.refusals import refusal_mutants
from dmlcts.conformance.mutants.old.strides import stride_mutants
from dmlcts.conformance.mutants.old.taken_for import misread_mutants
from dmlcts.conformance.mutants.old.validation import validation_mutants
from dmlcts.conformance.mutants.old.values import value_mutants
from dmlcts.reference.registry import references
from dmlcts.spec.loader import load, operator_names
from dmlcts.spec.model import DOCUMENTED, MEASURED, Operator

MAKERS: tuple[Callable[[Sequence[Operator]], Iterator[Mutant]], ...] = (
    value_mutants,
    misread_mutants,
    number_mutants,
    operand_mutants,
    stride_mutants,
    placement_mutants,
    in_place_mutants,
    validation_mutants,
    half_check_mutants,
    refusal_mutants,
)
"""What makes mutants of operators, in the order in which they are run."""


def mutated_operators() -> tuple[Operator, ...]:
    """The operators that there are mutants of: all that have a spec and a reference."""
    return tuple(load(name) for name in operator_names() if name in references())


@cache
def mutants() -> tuple[Mutant, ...]:
    """Every mutant, in a fixed order; names are unique, and each concerns an operator."""
    return tuple(_made())


def _made() -> Iterator[Mutant]:
    operators = mutated_operators()
    names: set[str] = set()
    for mutant in chain.from_iterable(maker(operators) for maker in MAKERS):
        if mutant.name in names:
            raise AssertionError(f"two mutants are called {mutant.name}")
        names.add(mutant.name)
        if mutant.equivalent:
            yield mutant
            continue
        reasons = {name: reason(mutant.name, load(name)) for name in mutant.operators}
        faulty = tuple(name for name, why in reasons.items() if not why)
        yield from _on_its_basis(mutant, faulty)
        yield from _no_faults(mutant, {name: why for name, why in reasons.items() if why})


def _on_its_basis(mutant: Mutant, operators: tuple[str, ...]) -> Iterator[Mutant]:
    """The mutant; apart from it those for operators in which cases of the other basis find it."""
    other = DOCUMENTED if mutant.basis == MEASURED else MEASURED
    apart = tuple(name for name in operators if has_other_basis(mutant.name, load(name)))
    if apart and len(mutant.operators) == 1:
        yield replace(mutant, basis=other)
        return
    together = tuple(name for name in operators if name not in apart)
    if together:
        yield replace(mutant, operators=together)
    for name in apart:
        yield replace(mutant, name=f"{mutant.name}/{name}", operators=(name,), basis=other)


def _no_faults(mutant: Mutant, reasons: Mapping[str, str]) -> Iterator[Mutant]:
    """The mutant as what it is where it is no fault: one for all operators if they have one reason, else one each."""
    if reasons and (len(mutant.operators) == 1 or ANYWHERE in EQUIVALENT.get(mutant.name, {})):
        yield replace(mutant, equivalent=next(iter(reasons.values())))
        return
    for name, why in reasons.items():
        yield replace(mutant, name=f"{mutant.name}/{name}", operators=(name,), equivalent=why)


@cache
def _by_name() -> Mapping[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants()}


def find_mutant(name: str) -> Mutant:
    """The mutant of that name. Raises KeyError; the message names the nearest."""
    known = _by_name()
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.3)
        raise KeyError(f"no mutant {name!r}; near it: {', '.join(near) or 'none'}")
    return known[name]
