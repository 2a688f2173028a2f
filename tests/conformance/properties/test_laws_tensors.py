"""Laws about operators whose tensors differ in their sizes: what they may say, and that they fail where they should."""

from typing import Any

import numpy as np
import pytest
from product_operator import Products, product_operator

from dmlcts.conformance.properties.law_dispatch import LawTrial
from dmlcts.conformance.properties.laws import law_outcome
from dmlcts.conformance.properties.relations import execute_property
from dmlcts.generator.case.case import AGREEMENT, Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.properties import property_cases
from dmlcts.reports.record.record import FAIL, PASS, Result
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import SpecError


def tried(case: Case, backend: Products, examples: int = 100) -> Result:
    return execute_property(case, backend, backend.info, examples=examples)


GIVEN = {"a": "ATensor", "b": "BTensor", "c": "CTensor"}


def operator_with(law: str, given: dict[str, str] | None = None, **more: Any) -> Operator:
    return product_operator(relations={"it": {"law": law, "given": given or {"a": "ATensor", "b": "BTensor"}, **more}})


def outcome(operator: Operator, wrong: str = "", **arrays: Any) -> Any:
    """What the law comes to for the variables, in the first case."""
    case = next(case for case in property_cases(plan_of(operator)) if case.expect != AGREEMENT)
    backend = Products(wrong)
    given = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    return law_outcome(LawTrial(case, backend, backend.info, None), given)


A, B = np.arange(6.0).reshape(1, 1, 2, 3), np.arange(12.0).reshape(1, 1, 3, 4) - 5


@pytest.mark.parametrize(
    "law",
    [
        "f(a, b + b) == f(a, b) + f(a, b)",
        "f(a, b)[:, :, :, 1:] == f(a, b[:, :, :, 1:])",
        "f(a, b)[:, :, ::-1] == f(a[:, :, ::-1], b)",
        "f(a, b) == swapped(f(swapped(b, 2, 3), swapped(a, 2, 3)), 2, 3)",
        "concat(f(a, b), f(a, b), 2) == f(concat(a, a, 2), b)",
        "f(padded(a, [0, 0, 1, 0], [0, 0, 0, 0]), b)[:, :, :1] == 0",
        "f(a, b, Scale=2) == 2 * f(a, b, Scale=1)",
        "f(a, b, CTensor=f(a, b)) == 2 * f(a, b)",
        "f(a, b, output='OutputTensor') == f(a, b)",
        "sums(f(a, b), [2, 3]) == sums(f(like(a[:, :, :1], 1) * sums(a, 2), b), [2, 3])",
        "largest(f(a, b), 3) >= f(a, b)",
        "sizes(f(a, b))[2] == sizes(a)[2]",
        "reshaped(f(a, b), [8])[0] == f(a, b)[0, 0, 0, 0]",
    ],
)
def test_laws_that_hold(law: str) -> None:
    law = law.replace("'", '"')
    assert outcome(operator_with(law), a=A, b=B).status == PASS
    broken = f"not ({law})" if "sizes(f" in law or "reshaped" in law else law.replace("==", "!=").replace(">=", "<")
    assert outcome(operator_with(broken), a=A, b=B).status == FAIL


def test_a_law_finds_what_is_wrong_and_says_where() -> None:
    found = outcome(operator_with("f(a, b) == f(a[:, :, :, ::-1], b[:, :, ::-1])"), "last term left out", a=A, b=B)
    assert found.status == FAIL
    assert "does not hold for a of 1x1x2x3, b of 1x1x3x4 at [0, 0, 0, 0]" in found.message


def test_an_optional_input_is_there_when_it_is_given() -> None:
    operator = operator_with("f(a, b, c) - f(a, b) == c", GIVEN)
    assert outcome(operator, a=A, b=B, c=np.ones((1, 1, 2, 4))).status == PASS
    assert outcome(operator, "C ignored", a=A, b=B, c=np.ones((1, 1, 2, 4))).status == FAIL


def test_an_attribute_has_the_value_that_the_case_has() -> None:
    operator = operator_with("f(a, b) == Scale * f(a, b, Scale=1)")
    cases = [case for case in property_cases(plan_of(operator)) if case.expect != AGREEMENT]
    assert {case.desc.fields["Scale"] for case in cases} == {1, 2, -0.5}
    for case in cases:
        backend = Products()
        assert tried(case, backend).status == PASS


def test_where_limits_a_law() -> None:
    assert outcome(operator_with("f(a, b) == 0", where="width == 16"), a=A, b=B).status == PASS
    assert outcome(operator_with("f(a, b) == 0", where="width == 32"), a=A, b=B).status == FAIL


def test_examples_have_many_sizes_and_the_relations_own_data() -> None:
    operator = operator_with("f(a, b) == f(a, b)", data={"a": {"recipe": "uniform", "low": 2, "high": 3}})
    case = next(case for case in property_cases(plan_of(operator)) if case.expect != AGREEMENT)
    seen: list[Any] = []

    class Watching(Products):
        def run(self, dispatch: Any) -> None:
            seen.append(dispatch.desc.tensor("ATensor").sizes)
            super().run(dispatch)

    backend = Watching()
    assert tried(case, backend).status == PASS
    assert len(set(seen)) > 10


@pytest.mark.parametrize("wrong", ["last term left out"])
def test_a_failing_example_is_shrunken_and_carries_its_data(wrong: str) -> None:
    operator = operator_with("f(a, b) == f(a[:, :, :, ::-1], b[:, :, ::-1])")
    case = next(case for case in property_cases(plan_of(operator)) if case.expect != AGREEMENT)
    backend = Products(wrong)
    result = tried(case, backend)
    assert result.status == FAIL
    example = result.evidence["example"]
    assert set(example["data"]) == {"a", "b"}
    assert example["data"]["a"]["literal"]["sizes"][-1] == 2  # one term alone cannot be left out


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ("f(a, b, Colour=1) == 0", "f has no field called Colour"),
        ("f(a) == 0", "f takes 2 to 3 inputs, but f(a) passes 1"),
        ("f(a, b, a, b) == 0", "f takes 2 to 3 inputs"),
        ("f(a, b, **a) == 0", "** is not part of the expression language"),
    ],
)
def test_wrong_calls_are_errors_of_the_file(law: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        operator_with(law)
    assert message in str(error.value)


def test_tensors_that_do_not_fit_are_an_error_of_the_spec() -> None:
    with pytest.raises(ValueError, match="a law calls ELEMENT_WISE_ADD with tensors that do not fit"):
        outcome(operator_with("f(a, a) == 0"), a=A, b=B)


def test_a_variable_of_an_output_needs_data() -> None:
    given = {"a": "ATensor", "b": "BTensor", "y": "OutputTensor"}
    law = "sums(f(a, b) * y, [0, 1, 2, 3]) == sums(a * f(y, swapped(b, 2, 3)), [0, 1, 2, 3])"
    with pytest.raises(SpecError, match="unknown input tensor 'OutputTensor'"):
        operator_with(law, given)
    operator = operator_with(law, given, data={"y": {"recipe": "small-integers", "limit": 2}})
    case = next(case for case in property_cases(plan_of(operator)) if case.expect != AGREEMENT)
    for wrong, status in (("", PASS), ("last term left out", FAIL)):
        backend = Products(wrong)
        assert tried(case, backend).status == status


# Laws that cannot be evaluated


@pytest.mark.parametrize(
    ("law", "where", "field", "problem"),
    [
        ("f(a, b) == swapped(a, 7, 2)", "", "law", "axis1: axis 7 is out of bounds"),
        ("f(a, b) == concat(a, b, 9)", "", "law", "axis 9 is out of bounds"),
        ("f(a, b) == a + width[0]", "", "law", "not subscriptable"),
        ("f(a, b) == reshaped(f(a, b), [3, 5])", "", "law", "cannot reshape array"),
        ("f(a, b) == f(a, b)", "sizes(a)[0] / 0 == 1", "where", "division by zero"),
    ],
)
def test_a_law_that_cannot_be_evaluated_is_an_error_of_the_spec(law: str, where: str, field: str, problem: str) -> None:
    more = {"where": where} if where else {}
    with pytest.raises(SpecError, match=rf"^<spec>: cases\.relations\.it\.{field}: cannot be evaluated in [A-Z_]+/") as error:
        outcome(operator_with(law, **more), a=A, b=B)
    assert problem in str(error.value)


def test_an_index_that_the_implementation_computed_is_its_failure() -> None:
    """``f`` gives what is no place of the variable."""
    found = outcome(operator_with("like(a, 0)[sizes(f(a, b))[3] * 100] == 0"), a=A, b=B)
    assert found.status == FAIL
