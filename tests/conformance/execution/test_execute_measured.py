"""Bounds of basis measured: what every known implementation reaches beside what is promised. 0 for a small argument is within a promise only."""

from collections.abc import Callable, Mapping
from functools import cache
from math import pi

import numpy as np
import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import operator_cases, select
from dmlcts.reports.record.record import ALLOWED_BY_PAGE
from dmlcts.spec.model.desc import OperatorDesc

Array = np.ndarray
Function = Callable[[Array], Array]

SINGLE = np.float32
EXACT: dict[str, Function] = {"SIN": np.sin, "COS": np.cos, "TAN": np.tan, "ASIN": np.arcsin, "ATAN": np.arctan}
THROUGH_ZERO = [name for name in EXACT if name != "COS"]


@cache
def cases(name: str, data_type: str) -> tuple[Case, ...]:
    """Random and special data without ScaleBias."""
    chosen = select(operator_cases(f"ELEMENT_WISE_{name}"), basis="measured")
    plain = [case for case in chosen if case.data_type == data_type and case.desc.fields["ScaleBias"] is None]
    return tuple(case for case in plain if "/values/" in case.id or case.id.endswith("/4d"))


class Computed(ReferenceBackend):
    """A function of FLOAT32 numbers in the place of every operator; ScaleBias is not looked at."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        x = inputs["InputTensor"]
        return {"OutputTensor": self.function(x.astype(SINGLE)).astype(x.dtype)}


def failures(name: str, function: Function, data_type: str = "FLOAT32") -> dict[str, list[str]]:
    """The ids of the cases that fail, by basis."""
    backend = Computed(function)
    found: dict[str, list[str]] = {"documented": [], "measured": []}
    with np.errstate(all="ignore"):
        for case in cases(name, data_type):
            if execute(case, backend, backend.info).status != "pass":
                found[case.basis].append(case.id.rpartition("/")[2])
    return found


def truncated(x: Array) -> Array:
    """float64 to FLOAT32 toward zero."""
    near = x.astype(SINGLE)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(x), np.nextafter(near, SINGLE(0)), near)


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("name", EXACT)
def test_the_exact_function_passes_rounded_or_truncated(name: str, data_type: str) -> None:
    for store in (lambda x: x.astype(SINGLE), truncated):
        assert failures(name, lambda x, store=store: store(EXACT[name](x.astype(np.float64))), data_type) == {
            "documented": [],
            "measured": [],
        }


def in_one_period(function: Function) -> Function:
    """The function of an argument that is brought into one period in FLOAT32, by the product with a multiple of pi in three parts."""
    parts = (SINGLE(3.140625), SINGLE(9.67502593994140625e-4), SINGLE(1.509957990978376432e-7))

    def run(x: Array) -> Array:
        count = np.rint(x / SINGLE(pi)).astype(SINGLE)
        left = x + count * SINGLE(0)  # NaN of an infinity
        for part in parts:
            left = (left - count * part).astype(SINGLE)
        left = np.where(count == 0, x, left)
        sign = np.where(count % 2, -1, 1) if function is not np.tan else 1
        return (sign * function(left)).astype(SINGLE)

    return run


@pytest.mark.parametrize("name", ["SIN", "COS", "TAN"])
def test_an_argument_brought_into_one_period_passes(name: str) -> None:
    """All that FLOAT32 loses there is far below what is allowed of an argument."""
    assert failures(name, in_one_period(EXACT[name])) == {"documented": [], "measured": []}


def atan_polynomial(x: Array) -> Array:
    """Of a reciprocal beyond 1; off by 1.2e-5 at most, and by 1.3e-4 of a small argument."""
    size = np.abs(x.astype(np.float64))
    u = np.where(size > 1, 1 / np.maximum(size, 1e-300), size)
    square = u * u
    found = u * (0.9998660 + square * (-0.3302995 + square * (0.1801410 + square * (-0.0851330 + square * 0.0208351))))
    return np.where(np.isnan(x), x, np.copysign(np.where(size > 1, pi / 2 - found, found), x)).astype(SINGLE)


def asin_polynomial(x: Array) -> Array:
    size = np.abs(x)
    terms = SINGLE(1.5707288) + size * (SINGLE(-0.2121144) + size * (SINGLE(0.0742610) + size * SINGLE(-0.0187293)))
    found = SINGLE(pi / 2) - np.sqrt(1 - size) * terms
    return np.where(x < 0, -found, found).astype(SINGLE)


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(("name", "polynomial"), [("ASIN", asin_polynomial), ("ATAN", atan_polynomial)])
def test_the_polynomials_of_shader_compilers_pass(name: str, polynomial: Function, data_type: str) -> None:
    assert failures(name, polynomial, data_type) == {"documented": [], "measured": []}


@pytest.mark.parametrize("limit", [6e-5, 2.0**-15])  # below 2^-14, which is promised
@pytest.mark.parametrize("name", THROUGH_ZERO)
def test_zero_for_small_arguments_is_promised_and_yet_found(name: str, limit: float) -> None:
    found = failures(
        name, lambda x: np.where(np.abs(x) < SINGLE(limit), SINGLE(0), EXACT[name](x.astype(np.float64))).astype(SINGLE)
    )
    assert found["documented"] == []
    assert "small" in found["measured"]


@pytest.mark.parametrize("name", THROUGH_ZERO)
def test_zero_for_small_halves_is_found(name: str) -> None:
    found = failures(name, lambda x: np.where(np.abs(x) < 1e-4, SINGLE(0), EXACT[name](x)).astype(SINGLE), "FLOAT16")
    assert {"every-half", "every-number"} & set(found["measured"])


WRONG: dict[str, tuple[str, Function]] = {
    "a sine off by less than the promise": ("SIN", lambda x: np.sin(x) + SINGLE(1e-5)),
    "a cosine off by less than the promise": ("COS", lambda x: np.cos(x) - SINGLE(1e-5)),
    "a sine of an argument with 19 bits": ("SIN", lambda x: np.sin(x * SINGLE(1 + 2.0**-20))),
    "a cosine of the same": ("COS", lambda x: np.cos(x * SINGLE(1 + 2.0**-20))),
    "a tangent of the same": ("TAN", lambda x: np.tan(x * SINGLE(1 + 2.0**-20))),
    "a sine by the first term of its series": ("SIN", lambda x: np.where(np.abs(x) < 0.01, x, np.sin(x))),
    "an arc tangent relatively off": ("ATAN", lambda x: np.arctan(x) * np.where(np.abs(x) < 0.1, SINGLE(1 + 2.0**-11), SINGLE(1))),
    "an arc tangent absolutely off": ("ATAN", lambda x: np.arctan(x) + SINGLE(4e-5) * (np.abs(x) > 1)),
    "an arc sine relatively off": ("ASIN", lambda x: np.arcsin(x) * SINGLE(1 + 2.0**-17)),
    "half of the elements by the polynomial": (
        "ASIN",
        lambda x: np.where(np.arange(x.size).reshape(x.shape) % 2, asin_polynomial(x), np.arcsin(x)),
    ),
    "a polynomial with a wrong coefficient": ("ASIN", lambda x: asin_polynomial(x) + np.sqrt(1 - np.abs(x)) * SINGLE(1e-5)),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_the_promise_lets_pass_is_found_by_measured_cases(fault: str) -> None:
    name, function = WRONG[fault]
    found = failures(name, lambda x: function(x).astype(SINGLE))
    assert found["documented"] == []
    assert found["measured"]


def test_a_failure_of_what_was_measured_says_where_the_page_allows_the_answer() -> None:
    """Within Direct3D's absolute error, and a zero of the other sign; an answer beyond says nothing."""

    def outcome(function: Function, name: str) -> tuple[str, bool]:
        backend = Computed(function)
        (case,) = (case for case in cases("SIN", "FLOAT32") if case.basis == "measured" and case.id.endswith(name))
        with np.errstate(all="ignore"):
            found = execute(case, backend, backend.info)
        assert found.message.endswith("; not what was measured, but the page allows it") == (ALLOWED_BY_PAGE in found.evidence)
        return found.status, ALLOWED_BY_PAGE in found.evidence

    assert outcome(np.sin, "/signed-zeros") == ("pass", False)
    assert outcome(lambda x: np.abs(np.sin(x)), "/signed-zeros") == ("fail", True)
    assert outcome(lambda x: np.sin(x) + SINGLE(0.0004), "/signed-zeros") == ("fail", True)
    assert outcome(lambda x: np.sin(x) + SINGLE(0.004), "/signed-zeros") == ("fail", False)
