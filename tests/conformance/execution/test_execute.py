"""Execution against backends that compute wrongly, each in one way: what is wrong fails, with a message that says what it was."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from wrong_backends import (
    NEGATIVE,
    OR,
    ROUND,
    SAMPLE,
    XOR,
    Computing,
    Good,
    after,
    output,
    put,
    resource,
    run,
    start,
    swapped,
    write,
)

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.generator.case.case import Case, Data
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.reports.record.record import Result
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import literal_array, literal_defined, numpy_dtype
from dmlcts.spec.model.operator import Literal, Tolerance

# What is right


@pytest.mark.parametrize("case", [OR, XOR, ROUND, NEGATIVE, "ELEMENT_WISE_ROUND/FLOAT32/example/adding-a-half-rounds"])
def test_the_reference_passes(case: str) -> None:
    result = run(case, Good())
    assert (result.status, result.message, result.mismatches, result.wrong, result.desc) == ("pass", "", (), 0, None)
    assert (result.case, result.operator, result.kind) == (case, case.partition("/")[0], find_case(case).kind)
    assert result.seconds > 0


@pytest.mark.parametrize("name", SAMPLE)
def test_the_reference_passes_smoke(name: str) -> None:
    backend = Good()
    for case in select(operator_cases(name), level="smoke", basis="measured"):
        result = run(case, backend)
        assert result.status == "pass", result


def test_any_answer_of_a_contested_example_passes_and_the_result_says_whose_it_was() -> None:
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/example/adding-a-half-rounds")

    def like_the_dll(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.trunc(x + np.copysign(np.float32(0.5), x))

    def half_and_half(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.where(np.arange(x.size) % 2 == 0, like_the_dll(given), np.rint(x)).astype(np.float32)

    assert run(case, Good()).matched_answer == "documented"
    assert run("ELEMENT_WISE_ROUND/FLOAT32/example/toward-zero", Good()).matched_answer == ""
    dll = run(case, Computing(like_the_dll))
    assert (dll.status, dll.matched_answer) == ("pass", "measured")
    mixed = run(case, Computing(half_and_half))
    assert (mixed.status, mixed.matched_answer) == ("fail", "")
    assert mixed.wrong == 5


# Values


def test_one_wrong_element_fails_and_is_named() -> None:
    result = after(OR, lambda d: put(d, start(d) + 7, resource(d)[start(d) + 7] ^ 4))
    assert (result.status, result.wrong, result.elements) == ("fail", 1, 30)
    assert result.mismatches[0].index == (1, 0, 0, 1)
    assert result.message.startswith("OutputTensor: 1 of 30 elements wrong (3.33 %), worst at [1, 0, 0, 1]: expected ")
    assert result.desc is not None


def last_is_old(dispatch: Dispatch) -> None:
    before = output(dispatch)
    ReferenceBackend().run(dispatch)
    values = output(dispatch)
    values[(-1,) * values.ndim] = before[(-1,) * values.ndim]
    write(dispatch, values)


@pytest.mark.parametrize(
    "case", [OR, XOR, ROUND, "ELEMENT_WISE_BIT_COUNT/INT16-UINT8/4d", "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT64/4d"]
)
def test_an_element_left_unwritten_is_wrong_and_no_other_is(case: str) -> None:
    result = run(case, Good(instead=last_is_old))
    sizes = find_case(case).desc.tensor("OutputTensor").sizes
    assert (result.status, result.wrong) == ("fail", 1)
    assert result.mismatches[0].index == tuple(size - 1 for size in sizes)


@pytest.mark.parametrize("case", [OR, XOR, ROUND])
def test_two_elements_exchanged_are_both_wrong(case: str) -> None:
    result = after(case, swapped)
    assert (result.status, result.wrong) == ("fail", 2)


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_written_is_wrong_in_every_element(name: str) -> None:
    idle = Good(instead=lambda _: None)
    for case in select(operator_cases(name), level="core", basis="measured"):
        if case.in_place:
            continue  # the output begins as the input, which may be right: A | A is A
        if case.kind in ("table", "values", "example", "gaps") or (case.kind == "combination" and case.level == "smoke"):
            result = run(case, idle)
            assert result.status == "fail", case.id
            assert result.elements == result.wrong > 0, case.id


# NaN, the sign of zero, denormals


def rounded(case: str, value: Callable[[np.ndarray], np.ndarray], **info: Any) -> Result:
    return run(case, Computing(lambda given: value(given["InputTensor"]), **info))


NANS = "ELEMENT_WISE_ROUND/FLOAT32/values/nans/TOWARD_ZERO"


def test_any_nan_is_right_and_a_number_is_not() -> None:
    with np.errstate(invalid="ignore"):
        assert rounded(NANS, lambda x: np.full_like(x, np.nan)).status == "pass"
        assert rounded(NANS, lambda x: np.full_like(x, -np.nan)).status == "pass"
        zero = rounded(NANS, lambda x: np.zeros_like(x))
        assert (zero.status, zero.wrong) == ("fail", 8)
        numbers = rounded(ROUND, lambda x: np.where(x == x.flat[0], np.nan, np.rint(x)).astype(x.dtype))
        assert (numbers.status, numbers.wrong) == ("fail", 1)


def test_infinities_keep_their_sign() -> None:
    case = "ELEMENT_WISE_ROUND/FLOAT16/values/infinities/TOWARD_ZERO"
    assert rounded(case, np.trunc).status == "pass"
    assert rounded(case, np.abs).wrong == 1
    assert rounded(case, lambda x: np.clip(x, -65504, 65504)).wrong == 2


def test_the_sign_of_zero_is_looked_at_on_the_measured_basis_alone() -> None:
    def unsigned(x: np.ndarray) -> np.ndarray:
        return (np.trunc(x) + np.zeros_like(x)).astype(x.dtype)  # -0 + 0 is 0

    measured = rounded("ELEMENT_WISE_ROUND/FLOAT32/example/sign-of-zero-toward-zero-float32", unsigned)
    assert (measured.status, measured.wrong) == ("fail", 4)
    assert "a zero of the expected sign" in measured.message
    assert rounded("ELEMENT_WISE_ROUND/FLOAT32/values/zeros/TOWARD_ZERO", unsigned).status == "pass"
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/values/zeros/TOWARD_ZERO")
    assert run(replace(case, checks=("zero-sign",)), Computing(lambda given: unsigned(given["InputTensor"]))).wrong == 1


def flushing(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < np.finfo(x.dtype).smallest_normal, np.copysign(x.dtype.type(0), x), x).astype(x.dtype)


REAL = Tolerance("exact")


@pytest.fixture
def real_copy(monkeypatch: pytest.MonkeyPatch) -> Case:
    """A case of an operator on real numbers whose result depends on denormals: ROUND's desc, and 2^100 times the input as its answer."""
    case = find_case("ELEMENT_WISE_ROUND/FLOAT32/values/denormals/TOWARD_ZERO")

    def scaled(desc: OperatorDesc, given: Mapping[str, np.ndarray]) -> dict[str, Answer]:
        return {"OutputTensor": Answer(given["InputTensor"].astype(np.float64) * 2.0**100)}

    monkeypatch.setattr("dmlcts.conformance.execution.answers.recent", scaled)
    return case


def test_a_backend_may_flush_denormal_inputs_unless_it_says_that_it_preserves_them(real_copy: Case) -> None:
    scale = np.float32(2.0**100)
    right = Computing(lambda given: given["InputTensor"] * scale, denormals="any")
    flushed = Computing(lambda given: flushing(given["InputTensor"]) * scale, denormals="any")
    assert run(real_copy, right).status == "pass"
    assert run(real_copy, flushed).status == "pass"
    flushed.info = replace(flushed.info, denormals="flush")
    assert run(real_copy, flushed).status == "pass"
    flushed.info = replace(flushed.info, denormals="preserve")
    result = run(real_copy, flushed)
    assert (result.status, result.wrong) == ("fail", 8)


def test_a_retry_with_flushed_inputs_passes_nothing_that_is_wrong(real_copy: Case) -> None:
    scale = np.float32(2.0**100)

    def first_wrong(given: Mapping[str, np.ndarray]) -> np.ndarray:
        found = flushing(given["InputTensor"]) * scale
        found.flat[0] = 1.0
        return found

    def halfway(given: Mapping[str, np.ndarray]) -> np.ndarray:
        x = given["InputTensor"]
        return np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, flushing(x), x).astype(np.float32) * scale

    for value in (first_wrong, halfway):
        result = run(real_copy, Computing(value, denormals="flush"))
        assert result.status == "fail"
        # The message is about the inputs as they are, not about the flushed ones.
        assert result.wrong == (8 if value is first_wrong else 4)


@pytest.mark.parametrize(
    "name",
    ["ELEMENT_WISE_BIT_COUNT/FLOAT32-UINT8", "ELEMENT_WISE_BIT_COUNT/FLOAT64-UINT32", "ELEMENT_WISE_BIT_COUNT/FLOAT16-UINT32"],
)
def test_bits_of_a_denormal_are_never_flushed(name: str) -> None:
    case = find_case(f"{name}/values/bit-patterns")

    def counted(given: Mapping[str, np.ndarray]) -> np.ndarray:
        return compute(case.desc, {"InputTensor": flushing(given["InputTensor"])})["OutputTensor"].value.astype(
            numpy_dtype(case.desc.tensor("OutputTensor").data_type)
        )

    result = run(case, Computing(counted, denormals="flush"))
    assert result.status == "fail"


# Examples with elements that are not defined


def test_literals_say_which_elements_are_defined() -> None:
    literal = Literal("FLOAT32", (2, 2), (1.5, "_", "nan", 0))
    found = literal_array(literal)
    assert found.ravel()[[0, 1, 3]].tolist() == [1.5, 0, 0]
    defined = literal_defined(literal)
    assert defined is not None
    assert defined.tolist() == [[True, False], [True, True]]
    assert literal_defined(Literal("UINT8", (2,), (1, 2))) is None


def test_elements_that_are_not_defined_are_not_judged() -> None:
    tensor = TensorDesc("UINT8", (3,))
    case = replace(
        find_case(OR),
        desc=OperatorDesc("ELEMENT_WISE_BIT_OR", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}),
        expect="values",
        data={
            "ATensor": Data(literal=Literal("UINT8", (3,), (1, 2, 3))),
            "BTensor": Data(literal=Literal("UINT8", (3,), (4, 4, 4))),
        },
        answers={"documented": {"OutputTensor": Literal("UINT8", (3,), (5, "_", 7))}},
    )
    for values, status, wrong in (([5, 6, 7], "pass", 0), ([5, 99, 7], "pass", 0), ([5, 6, 8], "fail", 1), ([4, 99, 7], "fail", 1)):
        result = run(case, Computing(lambda given, values=values: np.array(values, np.uint8)))
        assert (result.status, result.wrong, result.elements) == (status, wrong, 2)
