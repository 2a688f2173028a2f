"""What must hold of every operator's bindings, as generator/checks of its descs: valid where outputs are wanted, broken where the case says so."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.case import AGREEMENT, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.checks.given import Check, OperatorCases, small
from dmlcts.generator.checks.negative import unlike_covers


def valid_bindings(given: OperatorCases) -> Iterator[str]:
    """What must be computed is bound as it should be."""
    for case in small(case for case in given.positive if case.expect != AGREEMENT and not case.relation):
        yield from (f"{case.id}: its bindings break {label}" for label in sorted(_broken_rules(case)))


def broken_bindings(given: OperatorCases) -> Iterator[str]:
    """A negative case of bindings breaks what it says and no more."""
    for case in given.negative:
        if case.bindings:
            yield from unlike_covers(case.id, case.covers, {f"rejects/{label}" for label in _broken_rules(case)})


def _broken_rules(case: Case) -> set[str]:
    return {found.label for found in binding_violations(lay_out(case, inputs(case), {}).dispatch)}


CHECKS: tuple[Check, ...] = (valid_bindings, broken_bindings)
