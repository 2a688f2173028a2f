"""How a case fails, by what a record says of it."""

from __future__ import annotations

import pytest

from dmlcts.reports.explain.symptom import VALUES, common_detail, symptom_of
from dmlcts.reports.record.record import ALLOWED_BY_PAGE, ERROR, FAIL, Mismatch, Result


def result(message: str = "", status: str = FAIL, wrong: tuple[tuple[str, str], ...] = (), **evidence: object) -> Result:
    found = tuple(Mismatch("OutputTensor", (0,), expected, actual, allowed="1 ULP") for expected, actual in wrong)
    return Result("ADD/1", "ADD", "FLOAT32", "", "documented", "1_0", status, message, mismatches=found, evidence=evidence)


@pytest.mark.parametrize(
    ("given", "symptom"),
    [
        (result(stage="compile", code="0x80004005"), "refused at compile with 0x80004005"),
        (result(stage="create", code=""), "refused at create"),
        (result("96 bytes past the end of OutputTensor were overwritten", memory="..."), "# bytes past the end of OutputTensor were overwritten"),
        (result("the process ended with exit code 139", ERROR), "the process ended with exit code #"),
        (result(wrong=(("1.5", "nan"), ("2", "-nan (0xFFC00000)"))), "NaN in place of numbers"),
        (result(wrong=(("1.5", "nan"), ("2", "3"))), VALUES),
        (result(wrong=(("nan", "nan"),)), VALUES),
        (result(wrong=(("1", "2"),), **{ALLOWED_BY_PAGE: True}), "answers that the page allows"),
        (result(), VALUES),
    ],
)  # fmt: skip
def test_symptom(given: Result, symptom: str) -> None:
    assert symptom_of(given) == symptom


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ((("1.5", "3.0"), ("-2", "-4")), "values 2 times as large"),
        ((("1.5", "0.751"), ("-2", "-1")), "values 0.5 times as large"),
        ((("1.5", "-1.5"), ("-2", "2")), "values of the wrong sign"),
        ((("1.5", "0"), ("-2", "0")), "0 in place of other values"),
        ((("1.5", "3.0"), ("-2", "-5")), ""),
        ((("1.5", "3.0"), ("0", "0.1")), ""),
        ((("1.5", "3.0"), ("2", "inf")), ""),
        ((("a permutation", "3"),), ""),
        ((), ""),
    ],
)
def test_what_wrong_values_have_in_common(wrong: tuple[tuple[str, str], ...], detail: str) -> None:
    assert common_detail([result(wrong=wrong)]) == detail
    assert common_detail([result(wrong=wrong), result(wrong=(("7", "1"),))]) == ""
