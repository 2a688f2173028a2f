"""Sequence cases: which forms each operator has at which level, and that a case says all that its sequence needs."""

import pytest

from dmlcts.generator.case.case import SEQUENCE, Case
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.repetition import copied_output, copy_desc, copy_level, owned_fields, sequence_cases
from dmlcts.generator.suite.suite import find_case
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.reading.loader import family_of, load, operator_names
from dmlcts.spec.rules.rules import allowed_at, violations
from dmlcts.spec.untrusted.files import schema_of

PLAINEST = next(iter(forms()))


def cases_of(name: str, most: str = "full") -> list[Case]:
    return list(sequence_cases(plan_of(load(name)), most))


def test_core_has_the_plainest_form_of_every_operator_and_each_form_once_a_family() -> None:
    by_family: dict[str | None, set[str]] = {}
    for name in operator_names():
        found = {case.sequence for case in cases_of(name, "core")}
        assert PLAINEST in found, name
        by_family.setdefault(family_of(name), set()).update(found)
    assert all(found == forms().keys() for found in by_family.values()), by_family


def test_full_has_each_form_in_two_unlike_configurations() -> None:
    for name in ("GEMM", "ACTIVATION_RELU", "LSTM", "SPLIT"):
        cases = cases_of(name)
        for form in forms():
            one, other = (case for case in cases if case.sequence == form)
            assert one.desc != other.desc
            assert one.data_type != other.data_type or one.desc.fields.keys() == other.desc.fields.keys()


def test_a_level_has_the_cases_of_those_below_it() -> None:
    assert {case.id for case in cases_of("GEMM", "core")} < {case.id for case in cases_of("GEMM")}
    assert not cases_of("GEMM", "smoke")


def test_an_operator_owns_what_stands_for_weights_in_the_forms_about_it() -> None:
    by_form = {case.sequence: owned_fields(case.desc) for case in cases_of("CONVOLUTION", "core")}
    for form in ("initialized-again", "two-of-one", "threads"):
        assert by_form.pop(form) == ("FilterTensor", "BiasTensor")
    assert set(by_form.values()) == {()}


def test_no_case_owns_what_it_may_not() -> None:
    assert all(not owned_fields(case.desc) for case in cases_of("LSTM"))  # its spec forbids it


def test_a_case_is_found_by_its_id_and_says_what_it_tests() -> None:
    case = find_case("GEMM/FLOAT32/sequence/again/4d")
    assert (case.kind, case.expect, case.sequence, case.level) == (SEQUENCE, SEQUENCE, "again", "core")
    assert "sequence/again" in case.covers


def test_an_output_is_copied_at_a_level_that_has_the_copy() -> None:
    for name in ("QUANTIZE", "ELEMENT_WISE_BIT_COUNT", "TOP_K1", "LSTM"):
        for case in (case for case in cases_of(name) if forms()[case.sequence].copies):
            desc = copy_desc(case)
            assert not violations(load(desc.type), desc)
            assert allowed_at(load(desc.type), desc, feature_level(case.feature_level)), case.id
            assert desc.tensor("InputTensor").sizes == case.desc.tensor(copied_output(case)).sizes


@pytest.mark.parametrize("name", ["ELEMENT_WISE_LOGICAL_AND", "ARGMIN", "GEMM"])
def test_a_copied_output_needs_no_higher_level_than_both_operators(name: str) -> None:
    for case in (case for case in cases_of(name) if forms()[case.sequence].copies):
        assert case.feature_level in (str(copy_level(case)), str(plan_of(case.operator).level_of(case.desc)))


def test_the_schema_of_cases_knows_the_forms() -> None:
    assert schema_of("dmlcts.generator.case", "case")["properties"]["sequence"]["enum"] == list(forms())


def test_what_a_page_calls_an_error_is_asked_of_measured_behaviour_alone() -> None:
    assert {case.basis for case in cases_of("GEMM") if case.sequence == "initialized-again"} == {"measured"}
    assert {case.basis for case in cases_of("GEMM") if case.sequence != "initialized-again"} == {"documented"}
