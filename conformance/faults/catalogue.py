"""Every mutant, by operator: the faults of its family's tables (``families``), and those of any operator (``transforms``).

Both are found by what lies in their folders; nothing needs to be listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from dmlcts.conformance.faults import families, transforms
from dmlcts.conformance.faults.interactions.planting import PREFIX, RULE_PREFIX, planted_as
from dmlcts.conformance.faults.legal.legal import legal_of
from dmlcts.conformance.faults.model.fault import Fault, Faults
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.conformance.faults.reviewed import MEASURED as ON_MEASURED
from dmlcts.conformance.faults.reviewed import NO_FAULT, OPEN, ReviewError, review, unused_entries
from dmlcts.reference.registry import references
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Operator
from dmlcts.spec.reading.loader import load, operator_names


def mutated_operators() -> tuple[str, ...]:
    """The names of the operators that there are mutants of: all that have a spec and a reference."""
    return tuple(name for name in operator_names() if name in references())


@cache
def mutants_of(name: str) -> Mapping[str, Mutant]:
    """The mutants of an operator by label, those of its own first.

    Raises:
        ValueError: two faults have one name, or a table says something that it cannot mean.
    """
    operator = load(name)
    found: dict[str, Mutant] = {}
    for label, fault in _faults(operator):
        if label in found:
            raise ValueError(f"two faults of {name} are called {label}")
        reasons = review(name, label)
        basis = MEASURED if ON_MEASURED in reasons or _is_measured(operator, label) else DOCUMENTED
        found[label] = Mutant(name, label, fault, basis, reasons.get(NO_FAULT, ""), reasons.get(OPEN, ""))
    return found


def _is_measured(operator: Operator, label: str) -> bool:
    """Whether the spec itself says that what a fault breaks was measured alone: a constraint, sizes that are the same, a permission."""
    sort, _, what = label.partition("/")
    bases = {c.basis for c in operator.constraints if what == c.label or (c.same == "Sizes" and what.startswith("sizes-"))}
    if sort == "in-place" or label.startswith("refuses/in-place"):
        bases = {permission.basis for permission in operator.in_place}
    return sort in ("accepts", "in-place", "refuses") and bases == {MEASURED}


def mutants() -> Iterator[Mutant]:
    """Every mutant, in a fixed order. Raises ValueError as ``mutants_of`` does."""
    for name in mutated_operators():
        yield from mutants_of(name).values()


def find_mutant(name: str) -> Mutant:
    """The mutant called ``OPERATOR/LABEL``, one under conditions (``OPERATOR/if-SEED-NUMBER``) or a legal variation too. Raises KeyError; the message names the nearest."""
    operator, _, label = name.partition("/")
    if operator not in mutated_operators():
        near = get_close_matches(operator, mutated_operators(), n=3, cutoff=0.3)
        raise KeyError(f"no mutant {name!r}, for there are none of {operator!r}; near it: {', '.join(near) or 'none'}")
    if label.startswith((PREFIX, RULE_PREFIX)):
        return planted_as(operator, label).mutant
    known = {**mutants_of(operator), **legal_of(operator)}
    if label not in known:
        near = get_close_matches(label, known, n=3, cutoff=0.3)
        raise KeyError(f"no mutant {name!r}; near it: {', '.join(f'{operator}/{other}' for other in near) or 'none'}")
    return known[label]


def check_review() -> None:
    """Raises ReviewError where an entry of ``reviewed.yaml`` speaks of no fault that is planted."""
    entries = list(unused_entries((mutant.operator, mutant.label) for mutant in mutants()))
    if entries:
        raise ReviewError(f"no fault is planted of which these speak: {'; '.join(map(str, entries))}")


# What lies in the folders


class TableError(ValueError):
    """A table of faults names an operator that there is not; the message says which file and what."""


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for module in sorted(walk_packages(package.__path__, f"{package.__name__}."), key=lambda found: found.name):
        yield import_module(module.name)


@cache
def _tables() -> tuple[tuple[tuple[str, ...], Faults], ...]:
    """Globs of operators, and their faults. Raises TableError where a glob is like no operator."""
    found = []
    for module in _modules(families):
        for operators, faults in getattr(module, "FAULTS", {}).items():
            globs = tuple(operators.split())
            for glob in globs:
                if not any(fnmatchcase(name, glob) for name in mutated_operators()):
                    file = f"{module.__name__.removeprefix('dmlcts.').replace('.', '/')}.py"
                    raise TableError(f"{file}: FAULTS: {glob!r} matches no operator that has a spec and a reference function")
            found.append((globs, faults))
    return tuple(found)


def _faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    for globs, faults in _tables():
        if any(fnmatchcase(operator.name, glob) for glob in globs):
            yield from faults.items()
    for module in _modules(transforms):
        yield from module.faults(operator)
