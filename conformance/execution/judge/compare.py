"""The common comparison of all tolerance classes, and its entry point ``judge``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge.bounds import CLASSES, Bound, BoundInputs, bits, equal, local, property_text
from dmlcts.conformance.execution.judge.error_map import error_map
from dmlcts.conformance.execution.judge.formats import steps
from dmlcts.conformance.execution.judge.verdict import CORRECTLY_ROUNDED, Verdict, mismatch_message, value_text
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import Mismatch
from dmlcts.spec.model.abi import DataType, abi
from dmlcts.spec.model.operator import Tolerance

Array = NDArray[Any]

ZERO_SIGN = "zero-sign"
"""The check (``Case.checks``) for the sign of zeros."""

MEASURED = ("ulp", "mixed", "accumulate", "product")
"""The classes that measure errors against an unrounded reference."""

GRADED = ("ulp", "mixed", "accumulate")
"""The classes in which results within half an ULP earn the grade ``correctly rounded``."""

CARRIERS: dict[str, tuple[np.dtype[Any], ...]] = {
    **{name: (np.dtype(name.lower()),) for name in ("FLOAT16", "FLOAT32", "FLOAT64")},
    **{f"{kind}{width}": (np.dtype(f"{kind}{width}".lower()),) for kind in ("INT", "UINT") for width in (8, 16, 32, 64)},
    "INT4": (np.dtype(ml_dtypes.int4), np.dtype(np.int8)),
    "UINT4": (np.dtype(ml_dtypes.uint4), np.dtype(np.uint8)),
}
"""The NumPy types that an output of each data type may come in."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which elements are ``right``; where errors are measured, each in ULP and with its sign.

    ``exempt`` are right by a policy (a flushed denormal, an intermediate overflow) and not by their distance; ``unsigned`` are zeros
    of the wrong sign. ``shares`` are the errors relative to the allowed ones: NaN for 0 of 0.
    """

    right: Array
    ulps: Array | None = None
    signed: Array | None = None
    exempt: Array | None = None
    unsigned: Array | None = None
    shares: Array | None = None


def judge(
    actual: Array,
    answer: Answer,
    tolerance: Tolerance,
    data_type: str,
    info: BackendInfo,
    tensor: str = "OutputTensor",
    checks: Collection[str] = (),
    limit: int = 8,
    terms_vary: bool = True,
) -> Verdict:
    """Judges one output tensor; ``limit`` is the number of wrong elements to list.

    Errors of long sums are judged together only where ``terms_vary``: where the same terms come again and again, so do the errors.

    Raises:
        ValueError: the answer does not fit the output or its tolerance class; the reference is wrong, not the backend.
        KeyError: no such data type or tolerance class.
    """
    output = abi().data_types[data_type]
    if actual.dtype not in CARRIERS[data_type]:
        raise ValueError(f"{tensor} must be {data_type}, not {actual.dtype}")
    expected = None if callable(answer.value) else local(answer.value)
    if expected is not None:
        if expected.shape != actual.shape:
            raise ValueError(f"{tensor} has the sizes {list(actual.shape)}, but its reference {list(expected.shape)}")
        if output.bits == 4:
            # NumPy cannot compare the 4-bit types of ml_dtypes with its own.
            actual, expected = (x.astype(np.int8) if x.dtype.kind == "V" else x for x in (actual, expected))
        if tolerance.compare == "bits" and output.is_float and expected.dtype.kind == "u":
            # Bit patterns, perhaps of NaNs whose payload counts.
            expected = bits(expected, output).view(actual.dtype)
    name = tolerance.judge
    # Integers are exact: the spec says wrap or saturate, and the classes for real numbers apply to float types.
    if not output.is_float and name not in ("discrete", "check"):
        name = "exact"
    if name == "accumulate":  # the sign of a sum of zeros follows from what it begins with, and from how it is rounded on its way
        checks = set(checks) - {ZERO_SIGN}
    if name in ("exact", "check") and expected is not None and _all_equal(actual, expected, tolerance, output, checks):
        return Verdict(True, 0, _count(answer, actual))
    with np.errstate(all="ignore"):
        given = BoundInputs(actual, expected, answer, tolerance, output, info)
        bound = CLASSES[name](given)
        bound = bound if terms_vary else replace(bound, long_sums=None)
        found = compare_within(given, bound, checks) if bound.right is None else Comparison(bound.right)
        return _verdict(given, bound, found, name, tensor, limit)


def _all_equal(actual: Array, expected: Array, tolerance: Tolerance, data_type: DataType, checks: Collection[str]) -> bool:
    """Whether a single comparison of arrays already shows that all elements are right."""
    if tolerance.compare == "bits":
        return bool((bits(actual, data_type) == bits(expected, data_type)).all())
    return bool(equal(actual, expected).all()) and not (data_type.is_float and ZERO_SIGN in checks)


def compare_within(given: BoundInputs, bound: Bound, checks: Collection[str]) -> Comparison:
    """Compares real numbers: ``|actual - r| <= allowed``, and the values that are not finite."""
    form, reference = given.form, given.reference
    actual = given.actual.astype(given.wide)
    clipped = np.copysign(given.size, reference)
    signed = actual - clipped
    error = np.abs(signed)
    infinite = np.isinf(actual)
    if infinite.any():
        # An infinite result lies at 2^(emax+1), one ULP past the largest number.
        error = np.where(infinite, (form.largest - np.copysign(1, actual) * clipped) + form.last, error)
    allowed = _stored_bound(given, bound)
    right = error <= allowed
    special = ~np.isfinite(reference)
    if special.any():
        # any NaN matches NaN; infinities must have the right sign.
        same = (actual == reference) | (np.isnan(actual) & np.isnan(reference))
        right, error = np.where(special, same, right), np.where(special, np.where(same, 0.0, np.inf), error)
    exempt = None
    if not right.all():
        # Where inputs are NaN, so is the bound, but a contested answer may be a number: that number alone is right.
        allowed = np.where(np.isnan(allowed), 0.0, allowed)
        right |= error == 0
        exempt = np.zeros_like(right)
        if bound.overflow is not None:
            infinite, nonfinite = bound.overflow()
            exempt |= infinite & (actual == np.copysign(np.inf, reference))
            exempt |= nonfinite & ~np.isfinite(actual)
        # Direct3D flushes a denormal result to a zero of its sign; the sign is checked below, like that of every other zero. A result may be
        # denormal by its allowed error, as that of an arctangent that is too small by 2^-13.
        if given.info.denormals != "preserve":
            exempt |= (actual == 0) & (given.size - allowed < form.smallest)
        if given.answer.also is not None:
            also = local(given.answer.also)
            exempt |= ~np.isfinite(also) & ((actual == also) | (np.isnan(actual) & np.isnan(also)))
        exempt &= ~right
        right |= exempt
    unsigned = None
    if ZERO_SIGN in checks:
        # Where the exact value may lie on either side of zero, or be zero, so may a zero.
        either = (given.slack >= np.abs(reference)) & (given.slack > 0)
        unsigned = right & (actual == 0) & (np.signbit(actual) != np.signbit(reference)) & ~either
        right &= ~unsigned
    # A ratio that float64 does not hold, of errors in FLOAT64, counts as infinite: no JSON holds it either.
    ulps, shares = ((error / unit).astype(np.float64, copy=False) for unit in (given.ulp, allowed))
    return Comparison(right, ulps, signed, exempt, unsigned, shares)


def _stored_bound(given: BoundInputs, bound: Bound) -> Array | float:
    """The allowed error, plus what the store and the reference may add. Where no error is allowed, nothing is added."""
    allowed = bound.allowed
    # Direct3D lets a FLOAT16 store truncate.
    if given.data_type.name == "FLOAT16" and given.info.half_store == "truncate":
        return np.where(np.greater(allowed, 0), np.maximum(allowed, given.ulp), allowed)
    # No format is wider than FLOAT64, or the reference did not use it: then it is rounded itself.
    if given.data_type.name == "FLOAT64" and given.reference_rounded:
        return np.where(np.greater(allowed, 0), allowed + given.ulp / 2, allowed)
    return allowed


def _verdict(given: BoundInputs, bound: Bound, found: Comparison, name: str, tensor: str, limit: int) -> Verdict:
    defined = None if given.answer.defined is None else local(given.answer.defined).astype(bool)
    if defined is not None:
        found = replace(found, right=found.right | ~defined)
    elements, wrong = _count(given.answer, given.actual), int(found.right.size - np.count_nonzero(found.right))
    vacuous = _vacuous(given, bound, defined)
    if not wrong:
        return replace(_right(given, bound, found, name, tensor, elements, defined), vacuous=vacuous)
    if given.format is not None and name not in MEASURED and given.expected is not None and given.expected.dtype != object:
        # Both are numbers of the type, so their distance is counted in these.
        found = replace(found, ulps=steps(given.actual, given.expected.astype(given.actual.dtype)))
    at = np.flatnonzero(~found.right)
    mismatches = tuple(_mismatch(given, bound, found, tensor, int(i)) for i in at[:limit])
    # What has no distance (a NaN in the wrong place) is the worst.
    far = at[0] if found.ulps is None else at[np.argmax(np.nan_to_num(found.ulps.flat[at], nan=np.inf))]
    message = mismatch_message(wrong, elements, _mismatch(given, bound, found, tensor, int(far)))
    worst, share = _worst(found, defined)
    share = share if name in MEASURED else None
    shown = error_map(tensor, found.right, found.ulps, defined)
    return Verdict(False, wrong, elements, mismatches, worst, share, "", bound.warnings, message, vacuous, shown)


def _vacuous(given: BoundInputs, bound: Bound, defined: Array | None) -> int:
    """How many judged elements have a vacuous bound: more than half the largest magnitude in the reference.

    Not the range from minimum to maximum: outputs of one element, or of equal ones, have no range, and the fault that a wide bound usually
    hides is an output of zeros. Values below the smallest normal number may be flushed, and an integer may be the other one of a tie, so
    bounds are never compared with less than these.
    """
    if bound.right is None:
        width, least = _stored_bound(given, bound), float(given.form.smallest)
    elif bound.width is not None:
        width, least = bound.width, 2.0
    else:
        return 0
    judged = np.isfinite(given.reference) if defined is None else np.isfinite(given.reference) & defined
    size = np.abs(given.reference) if given.format is None else given.size
    scale = np.max(size, where=judged, initial=least)
    return int(np.count_nonzero(judged & (width > scale / 2)))


def _right(
    given: BoundInputs, bound: Bound, found: Comparison, name: str, tensor: str, elements: int, defined: Array | None
) -> Verdict:
    """The verdict if every single element is right."""
    warnings, remark = bound.warnings, ""
    if bound.long_sums is not None and found.signed is not None:
        judged = found.right if found.exempt is None else found.right & ~found.exempt
        remark = bound.long_sums.remark(found.signed, given.reference, judged if defined is None else judged & defined)
        # Statistics presume rounding to nearest: for a backend that does not declare it, they are only a hint.
        if remark and not given.info.nearest:
            warnings, remark = (*warnings, remark), ""
    worst, share = _worst(found, defined) if name in MEASURED else (None, None)
    # A result that a policy excuses is right, but not correctly rounded.
    rounded = worst is not None and worst <= 0.5 and (found.exempt is None or not found.exempt.any())
    grade = CORRECTLY_ROUNDED if rounded and name in GRADED else ""
    return Verdict(not remark, 0, elements, (), worst, share, grade, warnings, remark and f"{tensor}: {remark}")


def _worst(found: Comparison, defined: Array | None) -> tuple[float | None, float | None]:
    """The largest finite error in ULP among the elements that are judged by their distance, and relative to the allowed error.

    The share is None if there is an error where none is allowed.
    """
    if found.ulps is None:
        return None, None
    counted = np.isfinite(found.ulps)
    if defined is not None:
        counted &= defined
    if found.exempt is not None:
        counted &= ~found.exempt
    if not counted.any():
        return None, None
    worst = float(np.max(found.ulps, where=counted, initial=0.0))
    # fmax ignores the NaN of an element without an error where none is allowed.
    share = float("inf") if found.shares is None else float(np.fmax.reduce(found.shares, axis=None, where=counted, initial=0.0))
    return worst, share if np.isfinite(share) else None


def _mismatch(given: BoundInputs, bound: Bound, found: Comparison, tensor: str, i: int) -> Mismatch:
    as_bits = given.tolerance.compare == "bits"
    index = tuple(int(x) for x in np.unravel_index(i, given.actual.shape))
    actual = value_text(given.actual.flat[i], given.data_type, as_bits)
    values = given.expected
    expected = property_text(given.answer) if values is None else value_text(values.flat[i], given.data_type, as_bits)
    error = None if found.ulps is None or not np.isfinite(found.ulps.flat[i]) else float(found.ulps.flat[i])
    return Mismatch(tensor, index, expected, actual, error, _allowed_text(given, bound, found, i))


def _allowed_text(given: BoundInputs, bound: Bound, found: Comparison, i: int) -> str:
    if found.unsigned is not None and found.unsigned.flat[i]:
        return "a zero of the expected sign"
    if bound.says is not None:
        return bound.says(i)
    allowed = np.broadcast_to(_stored_bound(given, bound), given.actual.shape).flat[i] / given.ulp.flat[i]
    return f"{float(allowed):.4g} ULP" + (f" ({bound.because})" if bound.because else "")


def _count(answer: Answer, actual: Array) -> int:
    """How many elements are judged."""
    return actual.size if answer.defined is None else int(np.count_nonzero(local(answer.defined)))
