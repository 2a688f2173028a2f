"""Faults in the values of ROUND."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

ROUND = "ELEMENT_WISE_ROUND"
EVEN, ZERO, AWAY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"

Rounding = Callable[[Array], Array]
"""Numbers into numbers, FLOAT64 unless said otherwise."""


def _with_sign(rounding: Rounding) -> Rounding:
    """What ``rounding`` gives for the magnitude, with the number's sign."""
    return lambda x: np.copysign(rounding(np.abs(x)), x)


def _to_odd(x: Array) -> Array:
    return np.where(np.abs(x - np.trunc(x)) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x))


def _half_up(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.floor(x + 0.5), x)


def _half_down(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.ceil(x - 0.5), x)


ROUNDINGS: dict[str, tuple[str, Rounding]] = {
    "even": ("to the nearest, halves to even", np.rint),
    "trunc": ("toward zero", np.trunc),
    "away": ("to the nearest, halves away from zero", _with_sign(_half_up)),
    "floor": ("down", np.floor),
    "ceil": ("up", np.ceil),
    "outward": ("away from zero", _with_sign(np.ceil)),
    "half-up": ("to the nearest, halves up", _half_up),
    "half-down": ("to the nearest, halves down", _half_down),
    "half-inward": ("to the nearest, halves toward zero", _with_sign(_half_down)),
    "half-odd": ("to the nearest, halves to odd", _to_odd),
}
RIGHT = {EVEN: "even", ZERO: "trunc", AWAY: "away"}


def rounded(rounding: Rounding, mode: str = "", types: tuple[str, ...] = (), native: bool = False) -> Value:
    """A value fault that rounds so; for one mode and these data types alone, if given, and in the tensor's own type if ``native``."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if (mode and desc.fields["RoundingMode"] != mode) or (types and desc.tensor("InputTensor").data_type not in types):
            return right
        x = inputs["InputTensor"]
        return rounding(x if native else x.astype(np.float64)).astype(right.dtype)

    return value


def changed(change: Callable[[Array, Array], Array], mode: str = "", types: tuple[str, ...] = ()) -> Value:
    """A value fault out of (input, right output), both of the tensor's type."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if (mode and desc.fields["RoundingMode"] != mode) or (types and desc.tensor("InputTensor").data_type not in types):
            return right
        return change(inputs["InputTensor"], right).astype(right.dtype)

    return value


def half_added(x: Array) -> Array:
    """A half added in the number's own type, and the fraction cut off: what DirectML.dll does in FLOAT32."""
    cut: Array = np.trunc(x + np.copysign(x.dtype.type(0.5), x))
    return cut


def _half_mended(x: Array) -> Array:
    """A half added in the number's own type, and odd results of halves mended: to even, but for what the sum rounded."""
    up = np.floor(x + x.dtype.type(0.5))
    mended: Array = np.where((up - x == 0.5) & (up % 2 != 0), up - 1, up).astype(x.dtype)
    return mended


def _magic(x: Array) -> Array:
    """1.5 * 2^23 added and subtracted in FLOAT32: the processor rounds, as long as there is room."""
    number = np.float32(1.5 * 2.0**23)
    return (x.astype(np.float32) + number) - number


def _through(name: str) -> Callable[[Array, Array], Array]:
    """Results that are stored as integers on the way, saturated."""
    info = np.iinfo(name)
    return lambda x, right: np.clip(np.nan_to_num(right.astype(np.float64)), float(info.min), float(info.max))


def _fewer_digits(digits: int) -> Rounding:
    """Input with fewer digits than FLOAT32 has, the others cut off."""
    mask = np.uint32(0xFFFFFFFF << (23 - digits) & 0xFFFFFFFF)
    return lambda x: (x.view(np.uint32) & mask).view(np.float32)


def _in_float32(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
    x = inputs["InputTensor"]
    if x.dtype != np.float16:
        return right
    roundings: dict[str, Rounding] = {EVEN: np.rint, ZERO: np.trunc, AWAY: half_added}
    return roundings[str(desc.fields["RoundingMode"])](x.astype(np.float32)).astype(np.float16)


def _denormal(x: Array) -> Array:
    small: Array = (x != 0) & (np.abs(x) < np.finfo(x.dtype).smallest_normal)
    return small


_FAULTS: dict[str, tuple[str, Value]] = {
    "half-added-float16": ("adds a half in FLOAT16 and cuts", rounded(half_added, AWAY, ("FLOAT16",), native=True)),
    "half-added-to-even": (
        "adds a half in FLOAT32, cuts, and mends halves",
        rounded(_half_mended, EVEN, ("FLOAT32",), native=True),
    ),
    "magic-number": ("rounds to even by adding and subtracting 1.5 * 2^23", rounded(_magic, EVEN, ("FLOAT32",), native=True)),
    "mode-ignored": ("rounds to even in every mode", rounded(np.rint)),
    "identity": ("does not round", rounded(lambda x: x)),
    "sign-lost": ("gives magnitudes", changed(lambda x, right: np.abs(right))),
    "sign-turned": ("turns the sign", changed(lambda x, right: -right)),
    "negatives-as-positives": ("gives 0 for negative numbers", changed(lambda x, right: np.where(x < 0, 0, right))),
    "one-half-to-1": ("gives 1 for 0.5 in every mode", changed(lambda x, right: np.where(x == 0.5, 1, right))),
    "denormals-to-1": ("gives 1 for positive denormals", changed(lambda x, right: np.where(_denormal(x) & (x > 0), 1, right))),
    "denormals-kept": ("gives denormals back", changed(lambda x, right: np.where(_denormal(x), x, right))),
    "largest-to-infinity": (
        "gives infinity for the largest numbers",
        changed(lambda x, right: np.where(np.abs(x) == np.finfo(x.dtype).max, np.copysign(np.inf, x), right)),
    ),
    "through-int8": ("stores results as INT8", changed(_through("i1"))),
    "through-int16": ("stores results as INT16", changed(_through("i2"))),
    "through-int32": ("stores FLOAT32 results as INT32", changed(_through("i4"), types=("FLOAT32",))),
    "through-int64": ("stores FLOAT32 results as INT64", changed(_through("i8"), types=("FLOAT32",))),
    "through-float16": (
        "stores FLOAT32 results as FLOAT16",
        changed(lambda x, right: right.astype(np.float16), types=("FLOAT32",)),
    ),
    "wrapped-at-32-bits": (
        "cuts FLOAT32 results to 32 bits",
        changed(lambda x, right: (np.clip(right.astype("f8"), -(2.0**62), 2.0**62).astype("i8") << 32) >> 32, types=("FLOAT32",)),
    ),
    "beyond-16777216": (
        "gives 0 beyond 2^24",
        changed(lambda x, right: np.where(np.abs(x) > 2.0**24, 0, right), types=("FLOAT32",)),
    ),
    "identity-from-4194304-on": (
        "does not round FLOAT32 from 2^22 on",
        changed(lambda x, right: np.where(np.abs(x) >= 2.0**22, x, right), types=("FLOAT32",)),
    ),
    "identity-from-512-on": (
        "does not round FLOAT16 from 2^9 on",
        changed(lambda x, right: np.where(np.abs(x) >= 2.0**9, x, right), types=("FLOAT16",)),
    ),
    "ten-digits": (
        "rounds FLOAT32 with the ten binary digits of a tensor core's format",
        rounded(lambda x: np.rint(_fewer_digits(10)(x)), EVEN, ("FLOAT32",), native=True),
    ),
    "seven-digits": (
        "rounds FLOAT32 with seven binary digits",
        rounded(lambda x: np.rint(_fewer_digits(7)(x)), EVEN, ("FLOAT32",), native=True),
    ),
}

_MEASURED: dict[str, tuple[str, Value]] = {
    "nan-to-0": ("gives 0 for NaN", changed(lambda x, right: np.nan_to_num(right, nan=0, posinf=np.inf, neginf=-np.inf))),
    "nan-to-infinity": ("gives infinity for NaN", changed(lambda x, right: np.where(np.isnan(x), np.inf, right))),
    "negative-nan-to-0": ("gives 0 for NaN with a sign", changed(lambda x, right: np.where(np.isnan(x) & np.signbit(x), 0, right))),
    "infinity-to-largest": (
        "gives the largest number for infinity",
        changed(lambda x, right: np.where(np.isinf(x), np.nan_to_num(x), right)),
    ),
    "infinity-to-nan": ("gives NaN for infinity", changed(lambda x, right: np.where(np.isinf(x), np.nan, right))),
    "infinity-to-0": ("gives 0 for infinity", changed(lambda x, right: np.where(np.isinf(x), 0, right))),
    "infinity-without-sign": ("gives positive infinity for both", changed(lambda x, right: np.where(np.isinf(x), np.inf, right))),
    **{
        f"minus-zero-lost-{RIGHT[mode]}": (f"gives 0 for -0 in {mode}", changed(lambda x, right: np.where(x == 0, 0, right), mode))
        for mode in (EVEN, ZERO)
    },
    **{
        f"negative-to-plus-zero-{name}": (
            f"gives 0 and not -0 for negative numbers in {mode}",
            changed(lambda x, right: np.where((right == 0) & (x < 0), 0, right), mode),
        )
        for mode, name in RIGHT.items()
    },
    "zero-to-minus-zero": ("gives -0 for 0", changed(lambda x, right: np.where((x == 0) & ~np.signbit(x), -0.0, right))),
}
"""NaN, infinities and the sign of zero: the documentation says nothing of them, and DirectML.dll was measured."""

_SAME: dict[str, tuple[str, str, Value]] = {
    "half-added": (
        "adds a half in FLOAT32 and cuts",
        "documentation and DirectML.dll differ where the sum rounds, and then either answer passes",
        rounded(half_added, AWAY, ("FLOAT32",), native=True),
    ),
    "float16-in-float32": (
        "rounds FLOAT16 in FLOAT32, by adding a half where halves go away from zero",
        "FLOAT32 holds every sum of a FLOAT16 and a half, and FLOAT16 every integer that it gives",
        _in_float32,
    ),
    "minus-zero-lost-away": (
        f"gives 0 for -0 in {AWAY}",
        "the documentation does not say, and what DirectML.dll gives may be its adapter's doing",
        changed(lambda x, right: np.where(x == 0, 0, right), AWAY),
    ),
    "nan-payload-lost": (
        "gives another NaN for NaN",
        "NaN agrees with NaN, whatever its payload",
        changed(lambda x, right: np.where(np.isnan(x), np.nan, right)),
    ),
    "denormals-flushed": (
        "makes denormals zeros of their sign first",
        "in every mode a denormal becomes a zero of its sign",
        changed(lambda x, right: np.where(_denormal(x), np.copysign(0, x), right)),
    ),
}


def rounding_mutants() -> Iterator[Mutant]:
    """Every value fault of ROUND."""
    for mode, right in RIGHT.items():
        for name, (does, rounding) in ROUNDINGS.items():
            if name != right:
                yield Mutant(f"{ROUND}/{mode}-as-{name}", (ROUND,), f"rounds {does} in {mode}", value=rounded(rounding, mode))
    for name, (does, value) in _FAULTS.items():
        yield Mutant(f"{ROUND}/{name}", (ROUND,), does, value=value)
    for name, (does, value) in _MEASURED.items():
        yield Mutant(f"{ROUND}/{name}", (ROUND,), does, basis=MEASURED, value=value)
    for name, (does, reason, value) in _SAME.items():
        yield Mutant(f"{ROUND}/{name}", (ROUND,), does, equivalent=reason, value=value)
