"""Hints about specs that are complete and promise little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmlcts.generator.checks.hints import hints
from dmlcts.spec.model.operator import MEASURED, Operator
from dmlcts.spec.reading.loader import load, operator_names

FULL = load("TOP_K1")
"""An operator with examples, laws, workloads, critical sizes, and all measured."""


def test_a_spec_that_has_all_gets_no_hint() -> None:
    assert list(hints(FULL)) == []


@pytest.mark.parametrize(
    ("poorer", "hint"),
    [
        (replace(FULL, examples=()), "no example: "),
        (replace(FULL, relations=()), "no law: "),
        (replace(FULL, workloads={}), "no workload: "),
        (replace(FULL, turning=None), "`cases.turning: {axes: Axis}`"),
        (replace(FULL, sources=tuple(replace(source, commit="") for source in FULL.sources)), "no commit: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_lack_is_one_hint(poorer: Operator, hint: str) -> None:
    found = list(hints(poorer))
    assert [hint in text for text in found] == [True]


def test_an_operator_without_axes_needs_no_critical_sizes_of_single_ones() -> None:
    assert not any("turning" in hint for hint in hints(load("ELEMENT_WISE_ADD")))


def test_a_measured_rule_wants_a_measurement() -> None:
    operator = load("ROI_ALIGN")
    assert any(constraint.basis == MEASURED for constraint in operator.constraints)
    unmeasured = replace(
        operator,
        measurements=tuple,
        errata=tuple(replace(erratum, measured="") for erratum in operator.errata),
        examples=tuple(example for example in operator.examples if example.basis != MEASURED),
    )
    new = [hint for hint in hints(unmeasured) if hint not in set(hints(operator))]
    assert any("constraint samples is measured" in hint for hint in new)
    assert any("never held against DirectML.dll" in hint for hint in new)


@pytest.mark.parametrize("name", operator_names())
def test_every_operator_was_held_against_the_dll_and_names_its_commit(name: str) -> None:
    assert not any(hint.startswith(("never", "no evidence", "no commit")) for hint in hints(load(name)))
