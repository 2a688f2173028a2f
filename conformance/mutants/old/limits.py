"""Faults in clipping and thresholds, in the gradient of clipping, in rounding up and down, and in handing elements on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    Computed,
    Fault,
    Faults,
    as_signed,
    as_unsigned,
    detour,
    is_scaled,
    marked,
    merged,
    of_argument,
    of_inputs,
    of_result,
    planted,
    scale_bias,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.conformance.mutants.old.patterns import DETOURS
from dmlcts.conformance.mutants.old.rounding import ROUNDINGS
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

CLIP, CLIP1, THRESHOLD = (f"ELEMENT_WISE_{name}" for name in ("CLIP", "CLIP1", "THRESHOLD"))
GRAD, GRAD1 = "ELEMENT_WISE_CLIP_GRAD", "ELEMENT_WISE_CLIP_GRAD1"
IDENTITY, CEIL, FLOOR = (f"ELEMENT_WISE_{name}" for name in ("IDENTITY", "CEIL", "FLOOR"))


def _bounds(desc: OperatorDesc) -> tuple[float, float]:
    """Min and Max; infinity where there is no Max."""
    least, most = desc.fields["Min"], desc.fields.get("Max", math.inf)
    assert isinstance(least, int | float)
    assert isinstance(most, int | float)
    return float(least), float(most)


def _clipped(function: Callable[[Array, float, float], Any]) -> Computed:
    """Of the scaled argument in FLOAT64, and of both bounds."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        scale, bias = scale_bias(desc)
        return function(inputs["InputTensor"].astype("f8") * scale + bias, *_bounds(desc))

    return computed


def _unscaled(function: Callable[[Array, float, float, float, float], Any]) -> Computed:
    """Of the input itself, scale, bias and both bounds."""
    return lambda desc, inputs, right: function(inputs["InputTensor"].astype("f8"), *scale_bias(desc), *_bounds(desc))


def _beside(function: Callable[[Array, Array, float, float], Any]) -> Computed:
    """Of the input itself, the right output and both bounds."""
    return lambda desc, inputs, right: function(inputs["InputTensor"], right, *_bounds(desc))


_NARROW = ("FLOAT32", "FLOAT16", "INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT32")
"""The types that FLOAT64 holds."""

_LEAST: Mapping[str, Fault] = {
    "below-gives-zero": Fault("gives 0 below Min", _clipped(lambda x, low, high: np.where(x < low, 0, np.fmin(x, high))), _NARROW),
    "least-ignored": Fault("takes no notice of Min", _clipped(lambda x, low, high: np.fmin(x, high)), _NARROW),
    "least-as-most": Fault("takes Min for the upper bound", _clipped(lambda x, low, high: np.fmin(x, low)), _NARROW),
    "magnitude": Fault(
        "limits magnitudes and keeps signs",
        _clipped(lambda x, low, high: np.copysign(np.fmax(low, np.fmin(np.abs(x), high)), x)),
        FLOATS,
    ),
    "before-scale": Fault(
        "limits before it scales",
        _unscaled(lambda x, s, b, low, high: np.fmax(low, np.fmin(x, high)) * s + b),
        _NARROW,
        when=is_scaled,
    ),
    "nan-kept": Fault("gives NaN for NaN", _beside(lambda x, right, low, high: np.where(np.isnan(x), x, right)), FLOATS, MEASURED),
    "zero-kept": Fault("gives 0 for 0, whatever the bounds", _beside(lambda x, right, low, high: np.where(x == 0, 0, right))),
    "signed": Fault(
        "takes unsigned integers for signed ones",
        _beside(lambda x, right, low, high: np.where(as_signed(x) < 0, max(low, 0), right)),
        UNSIGNED,
    ),
    "small-as-least": Fault(
        "rounds to FLOAT16 first", _clipped(lambda x, low, high: np.fmax(low, np.fmin(x.astype("f2").astype("f8"), high))), SINGLE
    ),
}

_BOTH: Mapping[str, Fault] = {
    "most-ignored": Fault("takes no notice of Max", _clipped(lambda x, low, high: np.fmax(x, low)), _NARROW),
    "above-gives-zero": Fault("gives 0 above Max", _clipped(lambda x, low, high: np.where(x > high, 0, np.fmax(x, low))), _NARROW),
    "wraps": Fault(
        "brings what is outside back by the range", _clipped(lambda x, low, high: low + np.mod(x - low, high - low)), FLOATS
    ),
    "most-last": Fault(
        "takes Max after Min",
        _beside(lambda x, right, low, high: np.where(low > high, high, right)),
        _NARROW,
    ),
    "nan-as-least": Fault(
        "gives Min for NaN", _beside(lambda x, right, low, high: np.where(np.isnan(x), low, right)), FLOATS, MEASURED
    ),
    "nan-as-zero": Fault(
        "takes NaN for 0",
        _clipped(lambda x, low, high: np.fmax(low, np.fmin(np.nan_to_num(x, posinf=np.inf, neginf=-np.inf), high))),
        FLOATS,
        MEASURED,
    ),
    "in-float32": Fault(
        "limits 64-bit integers in FLOAT32",
        _beside(lambda x, right, low, high: np.fmax(np.float32(low), np.fmin(x.astype("f4"), np.float32(high)))),
        LONG,
    ),
    "in-float64": Fault(
        "limits 64-bit integers in FLOAT64", _beside(lambda x, right, low, high: np.fmax(low, np.fmin(x.astype("f8"), high))), LONG
    ),
    "low-32-bits": Fault(
        "limits the low 32 bits",
        _beside(lambda x, right, low, high: np.fmax(low, np.fmin((x & 0xFFFFFFFF).astype("f8"), high))),
        LONG,
    ),
}

_Compared = Callable[[Any, float], Any]


def _gate(desc: OperatorDesc, x: Array, above: _Compared, below: _Compared) -> Any:
    """Where the gradient passes. An integer and a bound are compared as NumPy does it, in FLOAT64 if they are of 64 bits."""
    least, most = _bounds(desc)
    return above(x, least) & below(x, most)


def _gated(above: _Compared, below: _Compared, seen: Callable[[Array], Array] = lambda x: x) -> Computed:
    """The gradient where what is seen of the input is above Min and below Max."""
    return lambda desc, inputs, right: np.where(
        _gate(desc, seen(inputs["InputTensor"]), above, below), inputs["InputGradientTensor"], 0
    )


def _passing(passed: Callable[[Array, Array], Any], stopped: Callable[[Array], Any]) -> Computed:
    """What passes of input and gradient, and what is given where nothing passes."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x, gradient = inputs.values()
        return np.where(_gate(desc, x, np.greater, np.less), passed(x, gradient), stopped(gradient))

    return computed


def _any(x: Array, bound: float) -> Array:
    return np.full(x.shape, True)


_GRADIENT: Mapping[str, Fault] = {
    "open": Fault("lets the gradient pass at both bounds", _gated(np.greater_equal, np.less_equal)),
    "passes-at-least": Fault("lets the gradient pass at Min", _gated(np.greater_equal, np.less)),
    "passes-at-most": Fault("lets the gradient pass at Max", _gated(np.greater, np.less_equal)),
    "least-ignored": Fault("takes no notice of Min", _gated(_any, np.less)),
    "most-ignored": Fault("takes no notice of Max", _gated(np.greater, _any)),
    "inverted": Fault("lets the gradient pass outside", _passing(lambda x, gradient: 0, lambda gradient: gradient)),
    "input-passes": Fault("lets the input pass", _passing(lambda x, gradient: x, np.zeros_like)),
    "one-passes": Fault("gives 1 where the gradient passes", _passing(lambda x, gradient: 1, np.zeros_like)),
    "product-passes": Fault("lets the product with the input pass", _passing(lambda x, gradient: x * gradient, np.zeros_like)),
    "always-passes": Fault("lets every gradient pass", _passing(lambda x, gradient: gradient, lambda gradient: gradient)),
    "gradient-limited": Fault(
        "limits the gradient",
        lambda desc, inputs, right: np.clip(inputs["InputGradientTensor"].astype("f8"), *_bounds(desc)),
        _NARROW,
    ),
    "magnitudes": Fault("looks at magnitudes", _gated(np.greater, np.less, lambda x: np.abs(x.astype("f8"))), FLOATS + SIGNED),
    "signed": Fault("takes unsigned inputs for signed ones", _gated(np.greater, np.less, as_signed), UNSIGNED),
    "unsigned": Fault("takes signed inputs for unsigned ones", _gated(np.greater, np.less, as_unsigned), SIGNED),
    "in-float16": Fault("compares in FLOAT16", _gated(np.greater, np.less, lambda x: x.astype("f2")), SINGLE),
    "low-32-bits": Fault("looks at the low 32 bits", _gated(np.greater, np.less, lambda x: x & 0xFFFFFFFF), LONG),
    "stops-at-nan": Fault(
        "gives 0 where the input is NaN",
        _gated(np.greater, np.less),
        FLOATS,
        equivalent="documentation and DirectML.dll differ: either answer passes",
    ),
}


# Rounding up and down, with ScaleBias


def _rounded(right: str) -> dict[str, Fault]:
    function = ROUNDINGS[right][1]
    others = {
        f"as-{name}": Fault(f"rounds {does}", of_argument(rounding))
        for name, (does, rounding) in ROUNDINGS.items()
        if name not in ("ceil", "floor")
    }
    return others | {
        "before-scale": Fault("rounds before it scales", _scaled(lambda x, s, b: function(x) * s + b), when=is_scaled),
        "before-bias": Fault("rounds before it adds the bias", _scaled(lambda x, s, b: function(x * s) + b), when=is_scaled),
        "through-int32": Fault(
            "limits results to INT32",
            of_argument(lambda x: np.where(np.isnan(x), x, np.clip(function(x), -(2.0**31), 2.0**31 - 1))),
            SINGLE,
        ),
        "through-int16": Fault(
            "limits results to INT16",
            of_argument(lambda x: np.where(np.isnan(x), x, np.clip(function(x), -(2.0**15), 2.0**15 - 1))),
        ),
        "of-float16": Fault("rounds to FLOAT16 first", of_argument(lambda x: function(x.astype("f2").astype("f8"))), SINGLE),
        "beyond-8388608": Fault(
            "gives 0 from 2^23 on", of_argument(lambda x: np.where(np.abs(x) >= 2.0**23, 0, function(x))), SINGLE
        ),
        "integers-moved": Fault(
            "moves integers by one", of_argument(lambda x: function(x) + np.where(x == np.rint(x), 1 if right == "ceil" else -1, 0))
        ),
        "near-integers": Fault(
            "takes what is within 1/1,000 of an integer for it",
            of_argument(lambda x: np.where(np.abs(x - np.rint(x)) < 0.001, np.rint(x), function(x))),
        ),
        "nan-as-zero": Fault("gives 0 for NaN", of_result(lambda right: np.where(np.isnan(right), 0, right)), basis=MEASURED),
        "infinity-as-largest": Fault(
            "gives the largest number for infinity", of_result(lambda right: np.nan_to_num(right, nan=np.nan)), basis=MEASURED
        ),
    }


def _scaled(function: Callable[[Array, float, float], Any]) -> Computed:
    return lambda desc, inputs, right: function(inputs["InputTensor"].astype("f8"), *scale_bias(desc))


# What is handed on


def _whole_and_scaled(desc: OperatorDesc) -> bool:
    return is_scaled(desc) and "INT" in desc.tensor("InputTensor").data_type


_HANDED_ON: Faults = {
    IDENTITY: {
        **{
            f"{label}-{name.lower()}": Fault(f"{does} in {name}", detour(change), (name,), when=lambda desc: not is_scaled(desc))
            for name in FLOATS
            for label, (does, change) in DETOURS.items()
        },
        "integers-rounded": Fault("rounds scaled integers to the nearest", of_argument(np.rint), when=_whole_and_scaled),
        "integers-floored": Fault("rounds scaled integers down", of_argument(np.floor), SIGNED, when=_whole_and_scaled),
        "rectified": Fault("gives 0 for negative numbers", of_argument(lambda x: np.maximum(x, 0)), FLOATS),
        "scale-cut": Fault(
            "cuts the product with the scale to an integer", _scaled(lambda x, s, b: np.trunc(x * s) + b), when=is_scaled
        ),
        "through-float32": Fault("hands FLOAT64 on as FLOAT32", of_inputs(lambda x: x.astype("f4")), ("FLOAT64",)),
        "64-bits-through-float64": Fault("hands 64-bit integers on as FLOAT64", of_inputs(lambda x: x.astype("f8")), LONG),
    }
}

_DETOURS_OF_NAN = [f"{IDENTITY}/nan-{what}-{name.lower()}" for what in ("quieted", "canonical") for name in FLOATS]

LIMITS = marked(
    merged(
        {CLIP: {**_LEAST, **_BOTH}, CLIP1: {**_LEAST, **_BOTH}, THRESHOLD: _LEAST},
        {GRAD: _GRADIENT, GRAD1: _GRADIENT},
        {CEIL: _rounded("ceil"), FLOOR: _rounded("floor")},
        _HANDED_ON,
    ),
    (*_DETOURS_OF_NAN, f"{IDENTITY}/integers-rounded", f"{IDENTITY}/integers-floored", f"{THRESHOLD}/signed"),
    {f"{CLIP}/most-last": "documentation and DirectML.dll differ where Min lies above Max, and then either answer passes"},
)


def limit_mutants() -> Iterator[Mutant]:
    """Every value fault of limits."""
    yield from planted(LIMITS)
