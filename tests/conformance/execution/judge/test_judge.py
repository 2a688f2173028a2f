"""The judge on small outputs: each class accepts what is right and refuses what is subtly wrong."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import CORRECTLY_ROUNDED, FORMATS, ZERO_SIGN, Verdict, judge
from dmlcts.conformance.execution.judge.formats import EXTENDED, binary
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

NATIVE = {"FLOAT16": np.float16, "FLOAT32": np.float32, "FLOAT64": np.float64}
PRESERVE = BackendInfo("strict", denormals="preserve")
FLUSH = BackendInfo("flushing", denormals="flush")
DENORMAL = {"FLOAT16": 2.0**-15, "FLOAT32": 2.0**-130, "FLOAT64": 2.0**-1030}


def exactly(
    actual: Any, expected: Any, data_type: str, compare: str = "value", info: BackendInfo = PRESERVE, **more: Any
) -> Verdict:
    return judge(
        np.array(actual, data_type.lower()), Answer(np.array(expected)), Tolerance("exact", compare), data_type, info, **more
    )


def real(
    actual: Any,
    expected: Any,
    data_type: str,
    parameters: Any,
    info: BackendInfo = PRESERVE,
    name: str = "ulp",
    checks: Any = (),
    **more: Any,
) -> Verdict:
    """Judges floats; ``more`` goes into the answer."""
    output = np.atleast_1d(np.array(actual, NATIVE[data_type]))
    value = np.atleast_1d(np.asarray(expected, FORMATS[data_type].wide))
    return judge(output, Answer(value, **more), Tolerance(name, "value", parameters), data_type, info, checks=checks)


def test_a_number_is_right_where_inputs_were_nan_and_so_is_the_bound() -> None:
    nan = np.array([np.nan, 1.0])
    for actual, wrong in (([-1.0, 3.0], 0), ([-1.0000001, 3.0], 1), ([np.nan, 3.0], 1)):
        found = real(actual, [-1.0, 3.0], "FLOAT32", {}, name="accumulate", magnitude=nan, terms=np.array([3.0, 3.0]))
        assert (found.ok, found.wrong) == (wrong == 0, wrong)


# exact


def test_exact_integers() -> None:
    assert exactly([1, 2, 255], [1, 2, 255], "UINT8") == Verdict(True, 0, 3)
    verdict = exactly([[1, 2], [3, 4]], [[1, 2], [4, 4]], "INT32", tensor="CTensor")
    assert (verdict.ok, verdict.wrong, verdict.elements, verdict.worst_ulp) == (False, 1, 4, None)
    (mismatch,) = verdict.mismatches
    assert (mismatch.tensor, mismatch.index, mismatch.expected, mismatch.actual) == ("CTensor", (1, 0), "4", "3")
    assert verdict.message == "CTensor: 1 of 4 elements wrong (25 %), worst at [1, 0]: expected 4, actual 3; allowed exact"


@pytest.mark.parametrize("data_type", ["INT64", "UINT64"])
def test_exact_64_bit_integers_are_not_compared_as_floats(data_type: str) -> None:
    big = 2**53
    assert exactly([big + 1], [big + 1], data_type).ok
    assert not exactly([big + 1], np.array([big]), data_type).ok
    assert not exactly([big + 1], np.array([float(big)]), data_type).ok
    assert exactly([big], np.array([float(big)]), data_type).ok
    assert not exactly([2**63 - 1], np.array([2.0**63]), data_type).ok


def test_exact_mixed_signedness() -> None:
    assert not exactly([2**64 - 1], np.array([-1]), "UINT64").ok
    assert exactly([2**64 - 1], np.array([2**64 - 1], object), "UINT64").ok


@pytest.mark.parametrize(
    ("data_type", "carrier", "expected"),
    [
        ("INT4", np.int8, ml_dtypes.int4),
        ("INT4", ml_dtypes.int4, np.int8),
        ("UINT4", np.uint8, ml_dtypes.uint4),
        ("UINT4", ml_dtypes.uint4, np.uint8),
        ("UINT4", ml_dtypes.uint4, ml_dtypes.uint4),
    ],
)
@pytest.mark.parametrize("compare", ["value", "bits"])
def test_exact_4_bit_integers_in_every_carrier(data_type: str, carrier: Any, expected: Any, compare: str) -> None:
    values = [-8, -1, 0, 7] if data_type == "INT4" else [0, 1, 8, 15]
    answer, tolerance = Answer(np.array(values).astype(expected)), Tolerance("exact", compare)
    assert judge(np.array(values).astype(carrier), answer, tolerance, data_type, PRESERVE).ok
    verdict = judge(np.array([*values[:3], 6]).astype(carrier), answer, tolerance, data_type, PRESERVE)
    assert verdict.wrong == 1
    assert verdict.mismatches[0].actual.startswith("6")


@pytest.mark.parametrize("data_type", NATIVE)
def test_exact_floats(data_type: str) -> None:
    native = NATIVE[data_type]
    numbers = [1.0, -2.5, 0.0, np.inf, -np.inf, np.nan]
    assert exactly(numbers, [1.0, -2.5, -0.0, np.inf, -np.inf, -np.nan], data_type).ok
    off = np.nextafter(native(1), native(2))
    for position, wrong in (
        (0, off),
        (1, 2.5),
        (2, np.nan),
        (2, DENORMAL[data_type]),
        (3, -np.inf),
        (3, np.nan),
        (5, 0.0),
        (5, np.inf),
    ):
        changed = [*numbers[:position], wrong, *numbers[position + 1 :]]
        verdict = exactly(changed, numbers, data_type)
        assert verdict.wrong == 1, wrong
        assert verdict.mismatches[0].index == (position,)
    # An exact result's distance is counted in numbers of the type.
    assert exactly([off], [1.0], data_type).worst_ulp == 1


def test_exact_expected_value_is_not_rounded() -> None:
    assert not exactly([0.1], np.array([0.1]), "FLOAT32").ok
    assert exactly([0.1], np.array([0.1], np.float32), "FLOAT32").ok


def test_exact_floats_by_bits() -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert exactly(zeros, zeros, "FLOAT32", "bits").ok
    verdict = exactly(zeros, zeros[::-1], "FLOAT32", "bits")
    assert verdict.wrong == 2
    assert (verdict.mismatches[0].expected, verdict.mismatches[0].actual) == ("-0.0 (0x80000000)", "0.0 (0x00000000)")
    payloads = np.array([0x7FC00001, 0x7FC00002], np.uint32)
    moved = payloads.view(np.float32)
    assert judge(moved, Answer(payloads), Tolerance("exact", "bits"), "FLOAT32", PRESERVE).ok
    verdict = judge(moved[::-1].copy(), Answer(payloads), Tolerance("exact", "bits"), "FLOAT32", PRESERVE)
    assert verdict.wrong == 2
    assert verdict.mismatches[0].expected == "nan (0x7FC00001)"


def test_exact_integers_by_bits_are_shown_in_both_ways() -> None:
    (mismatch,) = exactly([-2], np.array([5], np.int8), "INT8", "bits").mismatches
    assert (mismatch.expected, mismatch.actual, mismatch.allowed) == ("5 (0x05)", "-2 (0xFE)", "equal bits")


def test_data_movement_never_flushes() -> None:
    tiny = np.array([DENORMAL["FLOAT32"]], np.float32)
    assert exactly([0.0], tiny, "FLOAT32", "value", FLUSH).ok
    assert not exactly([0.0], tiny, "FLOAT32", "bits", FLUSH).ok


# ulp


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("data_type", NATIVE)
def test_ulp_bound_is_fractional(data_type: str, sign: int) -> None:
    """A result is accepted up to n ULPs from the unrounded reference and not a thousandth further, in every part of the range."""
    form = FORMATS[data_type]
    exponents = np.array([form.emin - form.p + 3, form.emin, -1, 0, form.emax])
    actual = sign * np.ldexp(form.wide.type(1.0), exponents)
    unit = np.ldexp(form.wide.type(1), np.maximum(exponents, form.emin) - form.p)
    for n in (0.5, 1.0, 2.5):
        inside, outside = actual + sign * unit * n, actual + sign * unit * (n + 2**-10)
        assert real(actual, inside, data_type, {"ulps": n}).ok
        verdict = real(actual, outside, data_type, {"ulps": n})
        assert verdict.wrong == actual.size
        assert verdict.worst_ulp == pytest.approx(n + 2**-10)


def test_ulp_accepts_either_neighbour_and_grades_the_nearer() -> None:
    rng = np.random.default_rng(1)
    for data_type in ("FLOAT16", "FLOAT32"):
        native = NATIVE[data_type]
        value = rng.standard_normal(2000) * np.exp2(rng.integers(-12, 12, 2000))
        nearest = value.astype(native)
        other = np.nextafter(nearest, np.where(nearest > value, -np.inf, np.inf).astype(native))
        assert real(nearest, value, data_type, {"ulps": 0.5}).grade == CORRECTLY_ROUNDED
        verdict = real(other, value, data_type, {"ulps": 1})
        assert (verdict.ok, verdict.grade) == (True, "")
        beyond = np.nextafter(nearest, np.where(nearest > value, np.inf, -np.inf).astype(native))
        assert real(beyond, value, data_type, {"ulps": 1}).wrong == value.size


def test_double_rounding_costs_the_grade() -> None:
    """1 + 2^-11 + 2^-30 rounds up in FLOAT16; by way of FLOAT32 it becomes a tie and rounds down."""
    value = 1 + 2.0**-11 + 2.0**-30
    once, twice = np.float16(1 + 2**-10), np.float16(np.float32(value))
    assert twice == 1
    assert real(once, value, "FLOAT16", {"ulps": 0.5}).grade == CORRECTLY_ROUNDED
    assert not real(twice, value, "FLOAT16", {"ulps": 0.5}).ok
    verdict = real(twice, value, "FLOAT16", {"ulps": 1})
    assert (verdict.ok, verdict.grade) == (True, "")


def test_truncated_half_store() -> None:
    value, cut = 1 + 2.0**-10 - 2.0**-20, 1.0
    assert not real(cut, value, "FLOAT16", {"ulps": 0.5}).ok
    truncating = BackendInfo("truncating", half_store="truncate")
    verdict = real(cut, value, "FLOAT16", {"ulps": 0.5}, truncating)
    assert (verdict.ok, verdict.grade) == (True, "")
    assert not real(1 - 2**-11, value, "FLOAT16", {"ulps": 0.5}, truncating).ok
    assert not real(np.nextafter(np.float32(value), np.float32(0)), value, "FLOAT32", {"ulps": 0.5}, truncating).ok


@pytest.mark.parametrize(
    ("expected", "accepted", "refused"),
    [
        pytest.param(65504.0, [65504.0, 65472.0, np.inf], [65440.0, -np.inf, np.nan], id="the largest number"),
        pytest.param(65520.0, [65504.0, np.inf], [65472.0, -np.inf], id="half way to 2^16"),
        pytest.param(1e6, [np.inf, 65504.0], [65472.0, -np.inf, np.nan, 0.0], id="overflow counts as 2^16"),
        pytest.param(-1e6, [-np.inf, -65504.0], [np.inf, 65504.0], id="negative overflow"),
        pytest.param(np.inf, [np.inf], [65504.0, -np.inf, np.nan, 0.0], id="a true infinity is exact"),
        pytest.param(-np.inf, [-np.inf], [-65504.0, np.inf, np.nan], id="a true -infinity is exact"),
        pytest.param(np.nan, [np.nan, -np.nan], [0.0, np.inf, -np.inf, 65504.0], id="NaN with NaN"),
        pytest.param(1.0, [1.0, 1 + 2**-10, 1 - 2**-11], [np.nan, np.inf, -1.0, 0.0, 1 + 2**-9], id="a number"),
        pytest.param(0.0, [0.0, -0.0, 2**-24, -(2**-24)], [2**-23, -(2**-23), np.nan], id="zero"),
    ],
)
def test_special_values(expected: float, accepted: list[float], refused: list[float]) -> None:
    for actual in accepted:
        assert real(actual, expected, "FLOAT16", {"ulps": 1}).ok, actual
    for actual in refused:
        assert not real(actual, expected, "FLOAT16", {"ulps": 1}).ok, actual


@pytest.mark.parametrize("data_type", NATIVE)
def test_denormal_policy(data_type: str) -> None:
    smallest, tiny = float(FORMATS[data_type].smallest), DENORMAL[data_type]
    for info, ok in ((PRESERVE, False), (FLUSH, True), (BackendInfo("silent"), True)):
        verdict = real([0.0, -0.0], [tiny, -tiny], data_type, {"ulps": 1}, info, checks=(ZERO_SIGN,))
        assert (verdict.ok, verdict.grade) == (ok, "")
        assert real([tiny], [tiny], data_type, {"ulps": 1}, info).grade == CORRECTLY_ROUNDED
        assert not real([0.0], [smallest], data_type, {"ulps": 0}, info).ok, "a normal number is not flushed"
        assert real([0.0], [smallest], data_type, {"ulps": 1}, info).ok == ok, "unless its error may make it denormal"
        assert not real([0.0], [smallest * (1 + 2.0**-8)], data_type, {"ulps": 1}, info).ok
        assert not real([smallest], [tiny], data_type, {"ulps": 1}, info).ok, "a denormal becomes zero and nothing else"


def test_only_what_the_policy_excuses_is_left_out_of_the_worst_error() -> None:
    verdict = real([0.0, 0.0], [2.0**-15, 2.0**-26], "FLOAT16", {"ulps": 1}, FLUSH)
    assert (verdict.ok, verdict.worst_ulp, verdict.grade) == (True, 0.25, "")


@pytest.mark.parametrize("name", ["exact", "ulp", "mixed"])
def test_sign_of_zero(name: str) -> None:
    given = {"expected": [0.0, -0.0, 1.0], "data_type": "FLOAT32", "parameters": {}, "name": name}
    assert real([-0.0, 0.0, 1.0], **given).ok
    assert real([0.0, -0.0, 1.0], **given, checks=(ZERO_SIGN,)).ok
    verdict = real([0.0, 0.0, 1.0], **given, checks=(ZERO_SIGN,))
    assert verdict.wrong == 1
    assert verdict.mismatches[0].allowed == "a zero of the expected sign"
    flushed = {"expected": [DENORMAL["FLOAT32"]], "data_type": "FLOAT32", "parameters": {}, "name": name, "info": FLUSH}
    assert real([-0.0], **flushed).ok
    assert not real([-0.0], **flushed, checks=(ZERO_SIGN,)).ok


def test_the_sign_of_a_sum_of_zeros_is_not_checked() -> None:
    answer = Answer(np.array([0.0, -0.0]), magnitude=np.array([0.0, 0.0]), terms=np.array([1, 2]))
    actual = np.array([-0.0, 0.0], np.float32)
    assert judge(actual, answer, Tolerance("accumulate"), "FLOAT32", PRESERVE, checks=(ZERO_SIGN,)).ok


def test_integers_are_exact_in_every_class() -> None:
    answer, tolerance = Answer(np.array([5])), Tolerance("ulp", "value", {"ulps": 4})
    assert judge(np.array([5], np.int32), answer, tolerance, "INT32", PRESERVE).ok
    assert not judge(np.array([6], np.int32), answer, tolerance, "INT32", PRESERVE).ok


# float64


@pytest.mark.skipif(EXTENDED.itemsize == 8, reason="no type here is wider than float64")
@pytest.mark.parametrize("exact", [False, True], ids=["longdouble", "Fraction"])
def test_float64_against_a_wider_reference(exact: bool) -> None:
    value = Fraction(1) + Fraction(1, 2**53) + Fraction(1, 2**60)  # a little above the tie
    reference = (
        np.array([value], object) if exact else np.array([EXTENDED.type(1) + EXTENDED.type(2) ** -53 + EXTENDED.type(2) ** -60])
    )
    up, down = np.array([1 + 2**-52]), np.array([1.0])
    half_ulp = Tolerance("ulp", "value", {"ulps": 0.5})
    assert judge(up, Answer(reference), half_ulp, "FLOAT64", PRESERVE).grade == CORRECTLY_ROUNDED
    verdict = judge(down, Answer(reference), half_ulp, "FLOAT64", PRESERVE)
    assert verdict.worst_ulp == pytest.approx(0.5 + 2**-8, abs=1e-6)
    assert not verdict.ok


def test_float64_without_a_wider_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: the reference may be half an ULP off itself, which the bound adds, and infinity is still one ULP past the top."""
    monkeypatch.setitem(FORMATS, "FLOAT64", binary(52, -1022, np.float64))
    assert real([1 + 2**-52], [1.0], "FLOAT64", {"ulps": 0.5}).ok
    assert not real([1 + 2**-51], [1.0], "FLOAT64", {"ulps": 0.5}).ok
    assert not real([1 + 2**-52], [1.0], "FLOAT64", {}, name="exact").ok
    top = np.finfo(np.float64).max
    assert real([np.inf, np.nan, -np.inf], [top, np.nan, -np.inf], "FLOAT64", {"ulps": 1}).worst_ulp == 1
    assert not real([-np.inf], [top], "FLOAT64", {"ulps": 1}).ok
    assert not real([np.nextafter(top, 0)], [np.inf], "FLOAT64", {"ulps": 1}).ok


# mixed


def test_mixed_takes_the_larger_bound() -> None:
    parameters = {"ulps": 2, "absolute": {"FLOAT32": 1 / 1024, "FLOAT16": 1 / 512}}
    near_zero, far = [2.0**-30], [4096.0]
    for data_type, absolute, p in (("FLOAT32", 2**-10, 23), ("FLOAT16", 2**-9, 10)):
        assert real([absolute], near_zero, data_type, parameters, name="mixed").ok
        assert not real([absolute * 1.125], near_zero, data_type, parameters, name="mixed").ok
        assert real([4096.0 + 2 * 2 ** (12 - p)], far, data_type, parameters, name="mixed").ok
        verdict = real([4096.0 + 3 * 2 ** (12 - p)], far, data_type, parameters, name="mixed")
        assert verdict.mismatches[0].ulp == 3
    (mismatch,) = real([1.0], near_zero, "FLOAT32", parameters, name="mixed").mismatches
    assert mismatch.allowed.endswith("(2 ULP or 0.0009766)")


def test_mixed_without_parameters_still_accepts_a_truncated_result() -> None:
    assert real([1.0], [1 + 2.0**-23 - 2.0**-40], "FLOAT32", {}, name="mixed").ok
    assert not real([1.0], [1 + 2.0**-22], "FLOAT32", {}, name="mixed").ok


@pytest.mark.parametrize(("data_type", "b", "p"), [("FLOAT32", 3, 23), ("FLOAT16", 1, 10)])
def test_exp_and_pow_bound_grows_with_the_argument(data_type: str, b: int, p: int) -> None:
    parameters = {"argument": {"FLOAT32": 3, "FLOAT16": 1}}
    for x in (0.0, 2.0, -8.0):
        value = np.exp(x)
        units = (b + 1 + abs(x)) * value * 2.0**-p  # of the error, whatever the type's spacing
        for factor, ok in ((0.75, True), (1.5, False)):
            reference = float(NATIVE[data_type](value))
            verdict = real([reference], [reference - factor * units], data_type, parameters, name="mixed", argument=np.array([x]))
            assert verdict.ok is ok, (x, factor)


def test_exp_bound_at_the_ends() -> None:
    """Underflow to a denormal is rounded to its spacing; an infinite argument has an exact result."""
    given = {"parameters": {"argument": 3}, "data_type": "FLOAT32", "name": "mixed"}
    value = np.exp(-100.0)
    assert real([np.float32(value)], [value], argument=np.array([-100.0]), **given).ok
    assert not real([0.0], [value * 2**10], argument=np.array([-93.0]), **given).ok
    assert real([0.0, np.inf], [0.0, np.inf], argument=np.array([-np.inf, np.inf]), **given).ok
    assert not real([1e-30], [0.0], argument=np.array([-np.inf]), **given).ok
    assert not real([3e38], [np.inf], argument=np.array([np.inf]), **given).ok
    assert not real([2.0], [1.0], argument=np.array([np.inf]), **given).ok


def test_exp_of_a_denormal_half() -> None:
    """e^-12 is some hundred denormals; an error of |r| 2^-10 (1 + 12), 1.3 of them, may be rounded by another half."""
    spacing, value = 2.0**-24, 102.7 * 2.0**-24
    given = {"data_type": "FLOAT16", "parameters": {"argument": 1}, "name": "mixed", "argument": np.array([-12.0])}
    assert real([104 * spacing], [value], **given).ok
    assert real([101 * spacing], [value], **given).ok
    assert not real([106 * spacing], [value], **given).ok


# product


@pytest.mark.parametrize("data_type", ["FLOAT16", "FLOAT32"])
def test_product_accepts_every_order_and_refuses_a_factor(data_type: str) -> None:
    rng = np.random.default_rng(2)
    native, n = NATIVE[data_type], 24
    factors = (rng.uniform(0.8, 1.25, (500, n)) * rng.choice([-1, 1], (500, n))).astype(native)
    value = np.prod(factors, axis=1, dtype=np.float64)
    for order in (np.arange(n), np.arange(n)[::-1], rng.permutation(n)):
        found = np.ones(500, np.float32)
        for i in order:
            found = found * factors[:, i].astype(np.float32)
        assert real(found, value, data_type, {}, name="product", terms=n).ok
    for mutant in (value * (1 + 2**-9), np.prod(factors[:, 1:], axis=1, dtype=np.float64), -value):
        assert not real(mutant, value, data_type, {}, name="product", terms=n).ok
    assert real(-np.zeros(1), np.zeros(1), data_type, {}, name="product", terms=n).ok
    assert not real([2.0**-10], [0.0], data_type, {}, name="product", terms=n).ok
