"""What a host that lacks something leaves of the pairs of values."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dmlcts.conformance.runner.explaining.pairs import pairs_left_out
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.explain.explanation import Explanation
from dmlcts.reports.record.record import PASS, UNSUPPORTED, Result


def left_out(operator: str, status: Callable[[Case], str]) -> list[Explanation]:
    cases = operator_cases(operator, "core")
    results = [Result(case.id, operator, case.data_type, case.kind, case.basis, case.feature_level, status(case)) for case in cases]
    return list(pairs_left_out(operator, results))


def has_activation(case: Case) -> bool:
    return case.desc.fields["FusedActivation"] is not None


def test_a_host_without_fused_activations_is_told_what_they_took() -> None:
    (found,) = left_out("GEMM", lambda case: UNSUPPORTED if has_activation(case) else PASS)
    assert found.conditions == ("FusedActivation ACTIVATION_LINEAR and 19 others",)
    assert 0 < found.failing < found.inside
    assert found.outside < found.inside
    share = 100 * (found.inside - found.failing) // found.inside
    assert f"{share} % ran" in found.text
    assert "none with FusedActivation ACTIVATION_LINEAR and 19 others, and of the pairs without these" in found.text


@pytest.mark.parametrize("operator", ["GEMM", "CONVOLUTION", "ELEMENT_WISE_ADD1"])
def test_a_host_without_fused_activations_runs_nearly_all_other_pairs(operator: str) -> None:
    """Where only rows with activations were combined, half of these ran."""
    (found,) = left_out(operator, lambda case: UNSUPPORTED if has_activation(case) else PASS)
    assert found.failing_outside < 0.03 * found.outside


def test_what_the_description_excludes_is_no_news() -> None:
    cases = operator_cases("ELEMENT_WISE_ADD1", "core")
    results = [
        Result(
            case.id,
            "ELEMENT_WISE_ADD1",
            case.data_type,
            case.kind,
            case.basis,
            case.feature_level,
            UNSUPPORTED,
            undeclared="data type",
        )
        if case.data_type == "FLOAT16"
        else Result(case.id, "ELEMENT_WISE_ADD1", case.data_type, case.kind, case.basis, case.feature_level, PASS)
        for case in cases
    ]
    assert list(pairs_left_out("ELEMENT_WISE_ADD1", results)) == []


@pytest.mark.parametrize("status", [PASS, UNSUPPORTED])
def test_nothing_is_said_where_all_ran_or_nothing_did(status: str) -> None:
    assert left_out("ELEMENT_WISE_ADD1", lambda case: status) == []


def test_a_single_case_takes_no_pair_that_others_have() -> None:
    first = next(case.id for case in operator_cases("ELEMENT_WISE_ADD1", "core") if case.kind == "table")
    assert left_out("ELEMENT_WISE_ADD1", lambda case: UNSUPPORTED if case.id == first else PASS) == []
