"""The two metrics: fractional ULPs against exact arithmetic, and ordered steps."""

from fractions import Fraction

import numpy as np
import pytest

from dmlcts.conformance.execution.judge import FORMATS, steps, ulp
from dmlcts.conformance.execution.judge.formats import EXTENDED, binary, widen

NATIVE = {"FLOAT16": np.float16, "FLOAT32": np.float32, "FLOAT64": np.float64}


def half(*values: float) -> np.ndarray:
    return np.array(values, np.float16)


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        pytest.param(0.0, -1.0, 15360, id="0 to -1: not the 17408 of raw bit patterns"),
        pytest.param(-0.0, 0.0, 0, id="-0 is +0: not the 32768 of raw bit patterns"),
        pytest.param(-1.0, 1.0, 30720, id="across zero"),
        pytest.param(1.0, 1 + 2**-10, 1, id="neighbours above 1"),
        pytest.param(-1.0, -1 - 2**-10, 1, id="neighbours below -1"),
        pytest.param(2**-24, -(2**-24), 2, id="the denormals around zero"),
        pytest.param(65504.0, np.inf, 1, id="infinity follows the largest number"),
    ],
)
def test_steps(left: float, right: float, apart: int) -> None:
    assert steps(half(left), half(right)) == apart
    assert steps(half(right), half(left)) == apart


@pytest.mark.parametrize("native", NATIVE.values())
def test_steps_between_neighbours(native: type[np.floating]) -> None:
    one = np.array([1, -1, 0], native)
    assert (steps(one, np.nextafter(one, native(2))) == 1).all()
    assert (steps(np.nextafter(one, native(-2)), np.nextafter(one, native(2))) == 2).all()


def test_steps_to_nan_are_none() -> None:
    assert np.isnan(steps(half(np.nan, 1.0), half(1.0, np.nan))).all()


def test_steps_count_every_half() -> None:
    every = np.arange(0x7C01, dtype=np.uint16).view(np.float16)
    assert (steps(every, np.zeros_like(every)) == np.arange(0x7C01)).all()
    assert (steps(-every, every) == 2 * np.arange(0x7C01)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_ulp_is_the_spacing_of_the_format(name: str) -> None:
    """Within a binade, the next number up is one ULP away: at its edges, in it, among denormals, and at the top."""
    native, form = NATIVE[name], FORMATS[name]
    exponents = np.array([form.emin - form.p, form.emin - 1, form.emin, form.emin + 1, -1, 0, 1, form.emax])
    value = np.concatenate([np.ldexp(native(1), exponents), np.ldexp(native(1.75), exponents[1:])])
    with np.errstate(over="ignore"):
        after = np.nextafter(value, native(np.inf))
    spacing = np.where(np.isinf(after), form.last, after.astype(form.wide) - value.astype(form.wide))
    assert (ulp(value.astype(form.wide), form) == spacing).all()
    assert (ulp(-value.astype(form.wide), form) == spacing).all()


@pytest.mark.parametrize("name", FORMATS)
def test_ulp_outside_the_normal_range(name: str) -> None:
    form = FORMATS[name]
    smallest = np.ldexp(form.wide.type(1), form.emin - form.p)
    with np.errstate(over="ignore", invalid="ignore"):
        found = ulp(np.array([0.0, -0.0, smallest / 4, np.nan, np.inf, form.limit], form.wide), form)
    assert (found == [smallest, smallest, smallest, smallest, form.last, form.last]).all()


def test_ulp_below_a_power_of_two_is_the_smaller_one() -> None:
    just_below, power = ulp(np.array([np.nextafter(1.0, 0), 1.0]), FORMATS["FLOAT32"])
    assert (just_below, power) == (2**-24, 2**-23)


def test_formats_agree_with_numpy() -> None:
    for name, form in FORMATS.items():
        info = np.finfo(NATIVE[name])
        assert (form.p, form.emin, form.smallest, form.largest) == (info.nmant, info.minexp, info.smallest_normal, info.max)
    assert FORMATS["FLOAT32"].limit == 2.0**128
    assert np.isinf(binary(52, -1022, np.float64).limit)


@pytest.mark.skipif(EXTENDED.itemsize == 8, reason="no type here is wider than float64")
def test_exact_numbers_keep_what_float64_would_lose() -> None:
    exact = Fraction(1, 3)
    found = widen(np.array([exact, 2**63 - 1, float("inf")], object), EXTENDED)
    assert found[0] != widen(np.array([1 / 3]), EXTENDED)[0]
    high = float(found[0])
    assert abs(Fraction(high) + Fraction(float(found[0] - high)) - exact) < Fraction(1, 2**64)
    assert found[1] == EXTENDED.type(2) ** 63 - 1
    assert found[2] == np.inf
