"""The judge's other ways: rounded integers, properties, undefined elements, what a verdict says, and answers that do not fit."""

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import CLASSES, Verdict, host, judge
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

INFO = BackendInfo("x", denormals="preserve")


def rounded(actual: Any, value: Any, data_type: str = "INT8", slack: Any = None, **parameters: float) -> Verdict:
    output = np.array([actual], data_type.lower())
    answer = Answer(np.array([value], np.longdouble), slack=slack)
    return judge(output, answer, Tolerance("discrete", "value", parameters), data_type, INFO)


@pytest.mark.parametrize(
    ("value", "slack", "accepted"),
    [
        pytest.param(2.5, None, {2}, id="a tie goes to even"),
        pytest.param(3.5, None, {4}, id="a tie goes to even, up"),
        pytest.param(2.5, 1e-6, {2, 3}, id="a value near a tie may fall on either side"),
        pytest.param(2.4, 1e-6, {2}, id="far from a tie only one integer is right"),
        pytest.param(2.4, 0.7, {2, 3}, id="a wide slack"),
        pytest.param(-0.5, 1e-6, {-1, 0}, id="around zero"),
        pytest.param(130.0, None, {127}, id="saturates up"),
        pytest.param(-1e9, None, {-128}, id="saturates down"),
        pytest.param(np.inf, None, {127}, id="infinity saturates"),
        pytest.param(127.5, 1e-6, {127}, id="the edge"),
        pytest.param(np.nan, None, set(), id="NaN has no integer"),
    ],
)
def test_discrete_to_nearest(value: float, slack: float | None, accepted: set[int]) -> None:
    assert {i for i in range(-128, 128) if rounded(i, value, slack=slack).ok} == accepted


@pytest.mark.parametrize(
    ("rounding", "value", "accepted"),
    [(1, 2.9999999, {2, 3}), (1, -2.7, {-2}), (2, -2.2, {-3}), (2, 3.0, {2, 3}), (3, 2.2, {3}), (3, -3.0, {-3, -2}), (0, 2.2, {2})],
)
def test_discrete_roundings(rounding: int, value: float, accepted: set[int]) -> None:
    assert {i for i in range(-128, 128) if rounded(i, value, slack=1e-6, rounding=rounding).ok} == accepted


def test_discrete_unsigned_4_bit_and_float_outputs() -> None:
    assert judge(np.array([15], np.uint8), Answer(np.array([99.0])), Tolerance("discrete"), "UINT4", INFO).ok
    assert not judge(np.array([16], np.uint8), Answer(np.array([99.0])), Tolerance("discrete"), "UINT4", INFO).ok
    floor = Tolerance("discrete", "value", {"rounding": 2})
    output = np.array([2.0, 3.0, np.nan, -np.inf], np.float32)
    answer = Answer(np.array([3 - 1e-9, 3 - 1e-9, np.nan, -np.inf]), slack=1e-6)
    assert judge(output, answer, floor, "FLOAT32", INFO).ok
    assert judge(output[[1, 1, 0, 0]], answer, floor, "FLOAT32", INFO).wrong == 2


def test_discrete_64_bit_ends() -> None:
    assert rounded(2**63 - 1, 1e30, "INT64").ok
    assert rounded(-(2**63), -1e30, "INT64").ok
    assert rounded(2**64 - 1, 1e30, "UINT64").ok
    assert not rounded(2**62, 1e30, "INT64").ok


def test_discrete_says_what_is_allowed() -> None:
    (mismatch,) = rounded(5, 2.5, slack=0.1).mismatches
    assert (mismatch.expected, mismatch.actual, mismatch.allowed, mismatch.ulp) == ("2.5", "5", "an integer from 2 to 3", None)


# check


def in_range(output: np.ndarray) -> np.ndarray:
    """an index below 4"""
    return output < 4


def test_check_with_a_property() -> None:
    output = np.array([[0, 3], [4, 1]], np.uint32)
    verdict = judge(output, Answer(in_range), Tolerance("check"), "UINT32", INFO)
    assert (verdict.ok, verdict.wrong, verdict.elements) == (False, 1, 4)
    (mismatch,) = verdict.mismatches
    assert (mismatch.index, mismatch.expected, mismatch.actual) == ((1, 0), "an index below 4", "4")
    assert judge(output % 4, Answer(in_range), Tolerance("check"), "UINT32", INFO).ok
    spared = np.array([[True, True], [False, True]])
    assert judge(output, Answer(in_range, defined=spared), Tolerance("check"), "UINT32", INFO).ok


def test_check_of_the_whole_output() -> None:
    """A permutation of equal keys: any order will do, but nothing may be missing."""
    answer = Answer(lambda output: sorted(output.tolist()) == [0, 1, 2])
    assert judge(np.array([2, 0, 1], np.uint32), answer, Tolerance("check"), "UINT32", INFO).ok
    assert judge(np.array([2, 0, 2], np.uint32), answer, Tolerance("check"), "UINT32", INFO).wrong == 3


def test_check_without_a_property_is_exact_where_defined() -> None:
    answer = Answer(np.array([1, 2, 0, 0]), defined=np.array([True, True, False, False]))
    verdict = judge(np.array([1, 2, 77, 78], np.uint32), answer, Tolerance("check"), "UINT32", INFO)
    assert (verdict.ok, verdict.elements) == (True, 2)
    assert judge(np.array([1, 3, 77, 78], np.uint32), answer, Tolerance("check"), "UINT32", INFO).wrong == 1


# what every class does


def answer_for(name: str, value: np.ndarray, **more: Any) -> Answer:
    return Answer(value, magnitude=np.abs(value), terms=4, argument=np.zeros_like(value), **more)


@pytest.mark.parametrize("name", CLASSES)
def test_undefined_elements_are_not_looked_at(name: str) -> None:
    value = np.array([1.0, 2.0, 3.0])
    output = np.array([1.0, np.nan, 3.0], np.float32)
    assert not judge(output, answer_for(name, value), Tolerance(name), "FLOAT32", INFO).ok
    verdict = judge(output, answer_for(name, value, defined=np.array([True, False, True])), Tolerance(name), "FLOAT32", INFO)
    assert (verdict.ok, verdict.wrong, verdict.elements) == (True, 0, 2)
    verdict = judge(output, answer_for(name, value, defined=np.array([False, True, True])), Tolerance(name), "FLOAT32", INFO)
    assert (verdict.ok, verdict.wrong, verdict.elements) == (False, 1, 2)
    assert verdict.mismatches[0].index == (1,)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_refuses_a_shifted_output(name: str) -> None:
    """The right values one place too far, and the last one missing."""
    value = np.arange(1.0, 9.0)
    for data_type in ("FLOAT16", "FLOAT32", "FLOAT64", "INT32", "UINT8"):
        output = value.astype(data_type.lower())
        assert judge(output, answer_for(name, value), Tolerance(name), data_type, INFO).ok
        assert judge(np.roll(output, 1), answer_for(name, value), Tolerance(name), data_type, INFO).wrong == 8
        output[-1] = 0
        assert judge(output, answer_for(name, value), Tolerance(name), data_type, INFO).wrong == 1


def test_mismatches_are_the_first_and_the_message_names_the_worst() -> None:
    value = np.ones((4, 8))
    output = value.astype(np.float32)
    output[1:, 3] = np.array([1 + 2**-20, 1 + 2**-10, 1 + 2**-21])
    verdict = judge(output, Answer(value), Tolerance("ulp"), "FLOAT32", INFO, limit=2)
    assert verdict.wrong == 3
    assert [m.index for m in verdict.mismatches] == [(1, 3), (2, 3)]
    assert [m.ulp for m in verdict.mismatches] == [8.0, 8192.0]
    assert verdict.worst_ulp == 8192
    assert verdict.message == (
        "OutputTensor: 3 of 32 elements wrong (9.38 %), worst by 8192 ULP at [2, 3]: expected 1.0, actual 1.0009766; allowed 1 ULP"
    )
    output[3, 7] = np.nan
    assert "worst at [3, 7]: expected 1.0, actual nan" in judge(output, Answer(value), Tolerance("ulp"), "FLOAT32", INFO).message


def test_values_are_shown_with_the_digits_that_bring_them_back() -> None:
    for native in (np.float16, np.float32, np.float64):
        output, value = np.array([1 / 3], native), np.array([2 / 3])
        (mismatch,) = judge(output, Answer(value), Tolerance("ulp"), np.dtype(native).name.upper(), INFO).mismatches
        assert native(mismatch.actual) == output[0]
        assert float(mismatch.expected) == value[0]


def test_worst_ulp_counts_passes_too() -> None:
    value = np.array([1.0, 1 + 2.0**-25])
    assert judge(value.astype(np.float32), Answer(value), Tolerance("ulp"), "FLOAT32", INFO).worst_ulp == 0.25


def test_nothing_measured_has_no_grade() -> None:
    verdict = judge(np.ones(2, np.float32), Answer(np.zeros(2), defined=np.zeros(2, bool)), Tolerance("ulp"), "FLOAT32", INFO)
    assert verdict == Verdict(True, 0, 0)


class Device:
    """An array on a device, as CuPy has them: NumPy may not touch it, ``get`` copies it."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def get(self) -> np.ndarray:
        return self._array


def test_answers_on_a_device_are_copied() -> None:
    value = np.array([1.0, 2.0])
    assert host(Device(value)) is value
    answer = Answer(Device(value), Device(np.abs(value)), Device(np.array([3, 3])), defined=Device(np.array([True, True])))
    assert judge(value.astype(np.float32), answer, Tolerance("accumulate"), "FLOAT32", INFO).ok
    assert not judge(value.astype(np.float32) * 2, answer, Tolerance("accumulate"), "FLOAT32", INFO).ok


@pytest.mark.parametrize(
    ("output", "answer", "tolerance", "says"),
    [
        pytest.param(np.zeros(2), Answer(np.zeros(2)), Tolerance("exact"), "must be FLOAT32, not float64", id="type of the output"),
        pytest.param(
            np.zeros(2, "f4"), Answer(np.zeros((2, 1))), Tolerance("exact"), r"\[2\], but its reference \[2, 1\]", id="sizes"
        ),
        pytest.param(np.zeros(2, "f4"), Answer(np.zeros(2)), Tolerance("exact", "bits"), "not float64", id="bits of a wider type"),
        pytest.param(np.zeros(2, "f4"), Answer(np.zeros(2)), Tolerance("accumulate"), "Answer.magnitude", id="no magnitude"),
        pytest.param(np.zeros(2, "f4"), Answer(np.zeros(2)), Tolerance("product"), "Answer.terms", id="no terms"),
        pytest.param(
            np.zeros(2, "f4"),
            Answer(np.zeros(2)),
            Tolerance("mixed", "value", {"argument": 3}),
            "Answer.argument",
            id="no argument",
        ),
    ],
)
def test_answers_that_do_not_fit(output: np.ndarray, answer: Answer, tolerance: Tolerance, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        judge(output, answer, tolerance, "FLOAT32", INFO)


def test_a_parameter_that_is_missing_for_a_data_type_is_named() -> None:
    tolerance = Tolerance("mixed", "value", {"argument": {"FLOAT32": 3}})
    with pytest.raises(KeyError, match="'argument' for FLOAT16"):
        judge(np.zeros(1, np.float16), Answer(np.zeros(1), argument=np.zeros(1)), tolerance, "FLOAT16", INFO)
