"""How a case fails, in words: what a record says of it besides its status. Failures with one symptom are explained together, of all operators.

A symptom that a backend's own words decide (a stage and its code, the form of a message) says more than wrong values, which may have any cause.
What wrong values have in common is reported for those that are explained together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dmlcts.reports.record.groups import message_form
from dmlcts.reports.record.record import ALLOWED_BY_PAGE, ERROR, FAIL, UNSUPPORTED, Mismatch, Result

VALUES = ""
"""The symptom of wrong values that have nothing special."""

PAGE = "answers that the page allows"
"""The symptom of answers that differ from what was measured and keep the documented tolerance: nothing is left to explain."""

_NAN, _ZERO_SIGN = "NaN in place of numbers", "the sign of a zero"
OF_VALUES = frozenset({VALUES, _NAN, _ZERO_SIGN})
"""The symptoms of wrong values: operators that share one need not share a cause."""

_LONGEST = 90


def symptom_of(result: Result) -> str:
    """The symptom of a result that failed, or that is unsupported."""
    evidence = result.evidence
    if result.status in (ERROR, UNSUPPORTED):
        return _shorten(message_form(result))
    if result.status == FAIL and "memory" in evidence:
        return _shorten(message_form(result))
    if result.status == FAIL and evidence.get("stage"):
        code = evidence.get("code")
        return _shorten(f"refused at {evidence['stage']}{f' with {code}' if code else ''}")
    if ALLOWED_BY_PAGE in evidence:
        return PAGE
    wrong = result.mismatches
    if wrong and all(_is_nan(each.actual) and not _is_nan(each.expected) for each in wrong):
        return _NAN
    if wrong and all(each.allowed == "a zero of the expected sign" for each in wrong):
        return _ZERO_SIGN
    return VALUES


def common_detail(results: Iterable[Result]) -> str:
    """What the wrong values of all these results have in common, such as a factor; empty if nothing."""
    details = {_detail(result.mismatches) for result in results}
    return details.pop() if len(details) == 1 else ""


def _detail(wrong: tuple[Mismatch, ...]) -> str:
    pairs = [pair for each in wrong if (pair := _numbers(each))]
    if not pairs or len(pairs) < len(wrong):
        return ""
    if all(actual == 0 for _, actual in pairs):
        return "0 in place of other values"
    if any(expected == 0 for expected, _ in pairs):
        return ""
    if all(_close(actual, -expected) for expected, actual in pairs):
        return "values of the wrong sign"
    factor = pairs[0][1] / pairs[0][0]
    near = next((each for each in (0.25, 0.5, 2.0, 4.0) if _close(factor, each)), 0.0)
    if near and all(_close(actual, near * expected) for expected, actual in pairs):
        return f"values {near:g} times as large"
    return ""


def _numbers(mismatch: Mismatch) -> tuple[float, float] | None:
    try:
        expected, actual = (float(text.split(" (")[0]) for text in (mismatch.expected, mismatch.actual))
    except ValueError:
        return None
    return (expected, actual) if math.isfinite(expected) and math.isfinite(actual) else None


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-2)


def _is_nan(text: str) -> bool:
    return text.split(" (")[0].lstrip("-").lower() == "nan"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rsplit(' ', 1)[0]} ..."
