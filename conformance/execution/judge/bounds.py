"""The allowed distance from the reference: one function for each tolerance class, and their table, ``CLASSES``.

Each takes a ``BoundInputs`` and returns a ``Bound``; the comparison itself (compare.py) is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge.formats import EXTENDED, FORMATS, Format, ulp, widen
from dmlcts.conformance.execution.judge.long_sums import LongSums
from dmlcts.reference.answer import Answer, host
from dmlcts.spec.model.abi import DataType
from dmlcts.spec.model.operator import Tolerance

Array = NDArray[Any]


class BoundInputs:
    """The inputs of a bound.

    ``actual`` and ``expected`` have the output's sizes; ``expected`` is None where the answer is a property (class check).
    ``format`` is None for integers.
    """

    def __init__(
        self, actual: Array, expected: Array | None, answer: Answer, tolerance: Tolerance, data_type: DataType, info: BackendInfo
    ) -> None:
        self.actual, self.expected, self.answer, self.tolerance = actual, expected, answer, tolerance
        self.data_type, self.info, self.format = data_type, info, FORMATS.get(data_type.name)

    @property
    def form(self) -> Format:
        """The format of an output that is known to be floating-point."""
        assert self.format is not None
        return self.format

    @cached_property
    def wide(self) -> np.dtype[Any]:
        """The type for computing errors: float64, or a wider one if float64 does not hold every value."""
        if self.format is not None:
            return self.format.wide
        return EXTENDED if self.data_type.bits == 64 else np.dtype(np.float64)

    @cached_property
    def reference(self) -> Array:
        """The expected values, in the wide type, not rounded."""
        assert self.expected is not None
        return widen(self.expected, self.wide)

    @property
    def reference_rounded(self) -> bool:
        """Whether the reference of a FLOAT64 output is no wider than the output, so that it may itself have an error of half an ULP."""
        assert self.expected is not None
        return self.wide == np.float64 or self.expected.dtype == np.float64

    @cached_property
    def size(self) -> Array:
        """``|r|``, at most 2^(emax+1): an overflowing reference is judged as that."""
        size: Array = np.fmin(np.abs(self.reference), self.form.limit)
        return size

    @cached_property
    def ulp(self) -> Array:
        """``ulp_T(r)``."""
        return ulp(self.size, self.form)

    @cached_property
    def slack(self) -> Array | float:
        """``d``: the error of the exact value, as its argument is itself computed; 0 where the answer gives none.

        Also 0 where the answer gives infinity or NaN: a bound that accepts everything would look like a verdict.
        """
        if self.answer.slack is None:
            return 0.0
        slack = local(self.answer.slack).astype(self.wide)
        return np.where(np.isfinite(slack), np.maximum(slack, 0), 0)

    @cached_property
    def spare(self) -> Array | float:
        """What is left of ``d`` at ``size``: what lies beyond 2^(emax+1) counts as that, and the slack must first lead back there."""
        if self.answer.slack is None:
            return 0.0
        # An infinite reference has no distance: fmax replaces its NaN by 0.
        return np.fmax(self.slack - (np.abs(self.reference) - self.size), 0)

    @property
    def reach(self) -> Array:
        """``|r| + d``, where the values are the largest that the slack leads to."""
        return self.size + self.spare

    def parameter(self, name: str, default: float | None = None) -> float:
        """The tolerance's parameter for this data type. Raises KeyError."""
        return self.tolerance.parameter(name, self.data_type.name, default)

    def needs(self, name: str) -> Array:
        """The reference's ``Answer.name``. Raises ValueError if it is None."""
        value = getattr(self.answer, name)
        if value is None:
            raise ValueError(f"tolerance class {self.tolerance.judge} needs Answer.{name}: the reference must give it")
        return widen(local(value), self.wide)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a class accepts: an absolute error of at most ``allowed`` or, where ``right`` is there, exactly the elements that it marks.

    ``because`` follows the allowed ULPs in messages; ``says`` describes what is allowed for the element with a flat index.
    ``width`` is the distance from the value that ``right`` allows, if any. ``overflow`` gives which elements may also be an
    infinity of the reference's sign, and which may be either infinity or NaN; it is asked only where an element is not right. ``long_sums``
    asks for the statistics of long sums.
    """

    allowed: Array | float = 0.0
    right: Array | None = None
    because: str = ""
    says: Callable[[int], str] | None = None
    width: Array | None = None
    overflow: Callable[[], tuple[Array, Array]] | None = None
    long_sums: LongSums | None = None
    warnings: tuple[str, ...] = ()


def local(array: Any) -> Array:
    """An array of NumPy or CuPy, or a number, as a NumPy array."""
    return np.asarray(host(array))


def equal(actual: Array, expected: Array) -> Array:
    """Which elements are equal numbers, exactly."""
    # NumPy would compare a 64-bit integer and a float as floats, in which 2^53 + 1 is 2^53; Python compares them exactly.
    if actual.dtype.kind in "iu" and actual.dtype.itemsize == 8 and expected.dtype.kind == "f":
        actual, expected = actual.astype(object), expected.astype(object)
    found: Array = np.equal(actual, expected)
    return found


def bits(array: Array, data_type: DataType) -> Array:
    """The bit patterns of ``array``. Raises ValueError if it is not of the output's own width."""
    width = max(data_type.bits // 8, 1)
    if array.dtype.itemsize != width or array.dtype.kind not in "iufb":
        raise ValueError(f"compare: bits needs Answer.value in the output's own type: {data_type.name}, not {array.dtype}")
    return array.view(f"u{width}")


def exact(given: BoundInputs) -> Bound:
    """Equal numbers, or equal bit patterns where the spec says ``compare: bits``."""
    assert given.expected is not None
    if given.tolerance.compare == "bits":
        right = bits(given.actual, given.data_type) == bits(given.expected, given.data_type)
        return Bound(right=right, says=lambda _: "equal bits")
    # Real numbers use the common comparison with no error allowed: it handles NaN, the sign of zero and flushed denormals.
    return Bound(right=None if given.format else equal(given.actual, given.expected), says=lambda _: "exact")


def ulps(given: BoundInputs) -> Bound:
    """``n * ulp_T(|r| + d) + d``."""
    return _with_slack(given, given.parameter("ulps", 1.0) * _unit(given))


def mixed(given: BoundInputs) -> Bound:
    """The larger of ``n * ulp_T(r)`` and ``a``, for exp and pow also of ``|r| * 2^-p * (b + 1 + |x|)``; all at ``|r| + d``, and ``d``."""
    count, absolute = given.parameter("ulps", 1.0), given.parameter("absolute", 0.0)
    unit = _unit(given)
    allowed = np.maximum(count * unit, absolute)
    because = f"{count:g} ULP or {absolute:.4g}" if absolute else ""
    if "argument" not in given.tolerance.parameters:
        return _with_slack(given, allowed, because)
    # An infinite argument has the result 0 or inf, which must be exact: 0 * inf is not a bound.
    x = np.nan_to_num(np.abs(given.needs("argument")), nan=0.0, posinf=0.0)
    relative = given.reach * 2.0**-given.form.p
    # Of an overflowing reference as much as leads back from where it is, and not from 2^(emax+1).
    beyond = np.abs(given.reference) - given.size
    grown = (given.reach + beyond) * 2.0**-given.form.p * (given.parameter("argument") + x)
    grown = np.where(beyond > 0, np.maximum(grown - beyond, 0.0), grown)
    # The rounding of the result, and that of a denormal one is a whole ULP, more than |r| * 2^-p.
    grown = grown + np.maximum(relative, unit)
    return _with_slack(given, np.maximum(allowed, grown), because)


def _unit(given: BoundInputs) -> Array:
    """``ulp_T(|r| + d)``: a result may be rounded at the end of the slack."""
    return given.ulp if given.answer.slack is None else ulp(given.reach, given.form)


def _with_slack(given: BoundInputs, allowed: Array, because: str = "") -> Bound:
    """A bound that also allows ``d``, with a remark; with a warning where that accepts every number."""
    spare = given.spare
    if not np.any(spare):
        return Bound(allowed, because=because)
    remark = "the slack of a computed argument included"
    vacuous = np.broadcast_to(spare >= given.form.largest, given.actual.shape)
    return Bound(
        allowed + spare, because=f"{because}, {remark}" if because else remark, warnings=_vacuous(vacuous, "its slack overflows")
    )


def accumulate(given: BoundInputs) -> Bound:
    """The composed bound of a sum of ``L`` terms: rounding while accumulating, then rounding to the output's type, and ``d``."""
    form, p_acc = given.form, accumulator(given)
    sums = accumulator_format(p_acc)
    with np.errstate(over="ignore"):  # in the type of the errors: in a wider one, all that follows would take ten times as long
        smallest, limit = (given.wide.type(end) for end in (sums.smallest, sums.limit))
    magnitude, terms = given.needs("magnitude"), given.needs("terms") + given.parameter("terms", 0.0)
    error = terms * unit_roundoff(given, p_acc)
    # From L * u = 1 on, Higham's bound does not hold.
    vacuous = error >= 1
    grown = np.where(vacuous, np.inf, error / (1 - error)) * magnitude
    # Storing rounds once more, unless the sum already has the output's format.
    stored = 0.0 if p_acc == form.p else ulp(given.size + grown, form)
    # Each term may have been flushed, in the accumulator's range.
    allowed = stored + grown + terms * smallest + given.parameter("ulps", 0.0) * given.ulp + given.parameter("absolute", 0.0)
    # Every term is 0: there is nothing to round.
    allowed = np.where(magnitude == 0, 0.0, allowed) + given.spare

    def overflow() -> tuple[Array, Array]:
        """Whether a partial sum overflows depends on the order: at most, the terms of one sign come before all of the other."""
        size = np.abs(given.reference)
        return (magnitude + size) / 2 * (1 + error) >= limit, (magnitude - size) / 2 * (1 + error) >= limit

    sum_text = f"L = {int(np.max(terms, initial=0))}, p_acc = {p_acc}"
    return Bound(
        allowed,
        because=f"{sum_text}, {'to nearest' if given.info.nearest else 'any rounding'}",
        overflow=overflow,
        long_sums=_long_sums(given, smallest, p_acc, magnitude, terms),
        warnings=_vacuous(np.broadcast_to(vacuous, given.actual.shape), sum_text),
    )


def _long_sums(given: BoundInputs, smallest: Any, p_acc: int, magnitude: Array, terms: Array) -> LongSums | None:
    """The statistics of long sums, but where terms are off themselves: what they are off by may have one sign."""
    if not given.parameter("together", 1):
        return None
    found = LongSums.from_terms(given.form, smallest, p_acc, magnitude, terms)
    return None if found is None or np.any(given.slack) else found


def _vacuous(where: Array, cause: str) -> tuple[str, ...]:
    hit = int(np.count_nonzero(where))
    return (f"the bound is vacuous ({cause}): {hit} of {where.size} elements could not be judged",) if hit else ()


def product(given: BoundInputs) -> Bound:
    """``|r| * ((1+u)^n - 1)`` for ``n`` factors, and the rounding to the output's type."""
    form, p_acc = given.form, accumulator(given)
    factors = given.needs("terms")
    grown = given.size * np.expm1(factors * np.log1p(unit_roundoff(given, p_acc)))
    # Multiplied in the output's own format, the result is already rounded, but a denormal one not relative to itself.
    stored = ulp(np.zeros_like(given.size), form) if p_acc == form.p else ulp(given.size + grown, form)
    return Bound(grown + stored, because=f"{int(np.max(factors, initial=0))} factors, p_acc = {p_acc}")


ROUNDINGS = (np.rint, np.trunc, np.floor, np.ceil)
"""The values of ``rounding``: to nearest even, toward zero, down, up."""


def discrete(given: BoundInputs) -> Bound:
    """Every integer that rounding some value in ``[v - d, v + d]`` gives; an integer type saturates."""
    rounded = ROUNDINGS[int(given.parameter("rounding", 0.0))]
    value = given.reference
    low, high = rounded(value - given.slack), rounded(value + given.slack)
    if given.format is None:
        least, most = given.data_type.limits
        low, high = (np.clip(end, given.wide.type(least), given.wide.type(most)) for end in (low, high))
    actual = given.actual.astype(given.wide)
    right = ((low <= actual) & (actual <= high) & (actual == np.rint(actual))) | (np.isnan(actual) & np.isnan(value))
    return Bound(right=right, says=lambda i: f"an integer from {low.flat[i]:.20g} to {high.flat[i]:.20g}", width=(high - low) / 2)


def check(given: BoundInputs) -> Bound:
    """The elements that the property in ``Answer.value`` marks; without one, exact where ``Answer.defined`` says so."""
    if given.expected is not None:
        return exact(given)
    right = np.broadcast_to(np.asarray(given.answer.value(given.actual), dtype=bool), given.actual.shape)
    return Bound(right=right, says=lambda _: property_text(given.answer))


CLASSES: dict[str, Callable[[BoundInputs], Bound]] = {
    "exact": exact,
    "ulp": ulps,
    "mixed": mixed,
    "accumulate": accumulate,
    "product": product,
    "discrete": discrete,
    "check": check,
}


def property_text(answer: Answer) -> str:
    """A property in words: the first line of its docstring, or its name."""
    words = getattr(answer.value, "__doc__", None) or getattr(answer.value, "__name__", "a property")
    return str(words).strip().splitlines()[0]


def accumulator(given: BoundInputs) -> int:
    """``p_acc``: from the backend's description, else from the spec, else FLOAT32 (FLOAT64 for FLOAT64)."""
    # A backend's value is for FLOAT32 and FLOAT16 only; FLOAT64 is always accumulated in FLOAT64.
    if given.info.accumulator and given.data_type.name != "FLOAT64":
        return given.info.accumulator
    return int(given.parameter("accumulator", max(given.form.p, FORMATS["FLOAT32"].p)))


def accumulator_format(p_acc: int) -> Format:
    """The format with ``p_acc`` mantissa bits; its range determines when a sum overflows and what may be flushed."""
    return next((form for form in FORMATS.values() if p_acc <= form.p), FORMATS["FLOAT64"])


def unit_roundoff(given: BoundInputs, p_acc: int) -> float:
    """``u``: half a unit in the last place if the backend rounds to nearest, a whole one if it may truncate."""
    return float(2.0 ** -(p_acc + given.info.nearest))
