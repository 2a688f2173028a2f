"""Faults in the activations made of straight lines and one quotient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    INTEGERS,
    SIGNED,
    SINGLE,
    UNSIGNED,
    Fault,
    Faults,
    as_signed,
    attributes,
    beside,
    detour,
    marked,
    of_attributes,
    of_inputs,
    of_result,
    planted,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.conformance.mutants.old.patterns import DETOURS
from dmlcts.spec.model import DOCUMENTED, MEASURED


def pieces(does: str, function: Callable[..., Any], types: tuple[str, ...] = (), basis: str = DOCUMENTED) -> Fault:
    """Of the input in FLOAT64 and the FLOAT attributes."""
    return Fault(does, of_attributes(function), types, basis)


def _line(x: Array, alpha: float, beta: float) -> Array:
    return alpha * x + beta


_LINES: Faults = {
    "IDENTITY": {
        **{
            f"{label}-{name.lower()}": Fault(f"{does} in {name}", detour(change), (name,))
            for name in ("FLOAT32", "FLOAT16")
            for label, (does, change) in DETOURS.items()
        },
        "limited": pieces("limits to -1 and 1", lambda x: np.clip(x, -1, 1)),
        "through-integers": pieces("hands on integer parts", np.trunc),
    },
    "RELU": {
        "leaky": pieces("multiplies what is below 0 by 0.01", lambda x: np.where(x < 0, 0.01 * x, x), FLOATS),
        "six": pieces("limits to 6", lambda x: np.clip(x, 0, 6)),
        "magnitude": pieces("gives the magnitude", np.abs),
        "minimum": pieces("gives the smaller of 0 and the input", lambda x: np.minimum(x, 0)),
        "unsigned": Fault("takes integers for unsigned ones", of_inputs(lambda x: x), SIGNED),
        "from-1": pieces("gives 0 below 1", lambda x: np.where(x < 1, 0, x)),
        "nan-kept": Fault("gives NaN for NaN", beside(lambda x, right: np.where(np.isnan(x), x, right)), FLOATS, MEASURED),
        "infinity-as-largest": Fault(
            "gives the largest number for infinity", of_result(lambda right: np.nan_to_num(right, nan=np.nan)), FLOATS, MEASURED
        ),
    },
    "RELU_GRAD": {
        "always-passes": Fault("lets every gradient pass", of_inputs(lambda x, g: g)),
        "never-passes": Fault("lets no gradient pass", of_inputs(lambda x, g: np.zeros_like(g))),
        "from-1": Fault("lets the gradient pass from 1 on", of_inputs(lambda x, g: np.where(x >= 1, g, 0)), FLOATS),
        "up-to-6": Fault("stops the gradient beyond 6", of_inputs(lambda x, g: np.where((x > 0) & (x < 6), g, 0))),
        "with-sign": Fault("multiplies by the input's sign", of_inputs(lambda x, g: g * np.sign(x))),
        "sum": Fault("adds the input", of_inputs(lambda x, g: np.where(x > 0, x + g, 0))),
        "gradient-without-sign": Fault("gives the gradient's magnitude", of_inputs(lambda x, g: np.where(x > 0, np.abs(g), 0))),
        "gradient-negated": Fault("turns the gradient's sign over", of_inputs(lambda x, g: np.where(x > 0, -g, 0))),
        "gradient-limited": Fault("limits the gradient to -1 and 1", of_inputs(lambda x, g: np.where(x > 0, np.clip(g, -1, 1), 0))),
        "gradient-of-last": Fault("takes the last gradient for all", of_inputs(lambda x, g: np.where(x > 0, g.flat[-1], 0))),
        "passes-at-0": Fault("lets the gradient pass at 0", of_inputs(lambda x, g: np.where(x >= 0, g, 0))),
        "passes-at-minus-0": Fault(
            "lets the gradient pass at -0", of_inputs(lambda x, g: np.where((x > 0) | ((x == 0) & np.signbit(x)), g, 0)), FLOATS
        ),
        "passes-at-nan": Fault(
            "lets the gradient pass at NaN", of_inputs(lambda x, g: np.where((x > 0) | np.isnan(x), g, 0)), FLOATS, MEASURED
        ),
        "one-passes": Fault("gives 1 where the gradient passes", of_inputs(lambda x, g: x > 0)),
        "product-passes": Fault("multiplies by the input", of_inputs(lambda x, g: np.where(x > 0, x * g, 0))),
        "inverted": Fault("lets the gradient pass below 0", of_inputs(lambda x, g: np.where(x < 0, g, 0))),
        "leaky": Fault("lets a hundredth pass below 0", of_inputs(lambda x, g: np.where(x > 0, g, g * g.dtype.type(0.01))), FLOATS),
        "half-at-0": Fault(
            "lets half the gradient pass at 0", of_inputs(lambda x, g: np.where(x > 0, g, np.where(x == 0, g / 2, 0))), FLOATS
        ),
        "unsigned": Fault("takes negative integers for positive ones", of_inputs(lambda x, g: np.where(x != 0, g, 0)), SIGNED),
        "by-product": Fault(
            "multiplies by the truth, so that NaN and infinities remain",
            of_inputs(lambda x, g: g * (x > 0).astype(g.dtype)),
            FLOATS,
            MEASURED,
        ),
        "low-byte": Fault(
            "looks at the low byte", of_inputs(lambda x, g: np.where((x > 0) & (x & 0xFF != 0), g, 0)), ("INT16", "INT32")
        ),
    },
    "PARAMETERIZED_RELU": {
        "slope-of-last": Fault("takes the last slope for all", of_inputs(lambda x, s: np.where(x >= 0, x, s.flat[-1] * x))),
        "slope-divides": Fault("divides below 0", of_inputs(lambda x, s: np.where(x >= 0, x, x / s)), FLOATS),
        "slope-subtracted": Fault("subtracts the slope", of_inputs(lambda x, s: np.where(x >= 0, x, x - s))),
        "slope-at-most-1": Fault("limits slopes to 1", of_inputs(lambda x, s: np.where(x >= 0, x, np.minimum(s, 1) * x))),
        "slope-in-float16": Fault(
            "rounds slopes to FLOAT16", of_inputs(lambda x, s: np.where(x >= 0, x, s.astype("f2") * x)), SINGLE
        ),
        "slope-cut": Fault("cuts slopes to integers", of_inputs(lambda x, s: np.where(x >= 0, x, np.trunc(s) * x)), FLOATS),
        "slope-of-one-byte": Fault(
            "reads the low byte of slopes", of_inputs(lambda x, s: np.where(x >= 0, x, s.astype("i1") * x)), ("INT16", "INT32")
        ),
        "of-magnitude": Fault("multiplies the magnitude", of_inputs(lambda x, s: np.where(x >= 0, x, s * np.abs(x)))),
        "from-minus-1": Fault("keeps what is above -1", of_inputs(lambda x, s: np.where(x > -1, x, s * x)), FLOATS),
        "unsigned": Fault("takes negative integers for positive ones", of_inputs(lambda x, s: x), SIGNED),
        "products-in-float16": Fault(
            "multiplies in FLOAT16", of_inputs(lambda x, s: np.where(x >= 0, x, x.astype("f2") * s.astype("f2"))), SINGLE
        ),
        "slope-of-row": Fault("takes the first slope of each row", of_inputs(lambda x, s: np.where(x >= 0, x, s[..., :1] * x))),
        "slope-added": Fault("adds the slope", of_inputs(lambda x, s: np.where(x >= 0, x, s + x))),
        "slope-of-positive": Fault("multiplies what is above 0", of_inputs(lambda x, s: np.where(x >= 0, s * x, x))),
        "slope-everywhere": Fault("multiplies everything", of_inputs(lambda x, s: s * x)),
        "larger": Fault("gives the larger of the input and the product", of_inputs(lambda x, s: np.maximum(x, s * x))),
        "slope-without-sign": Fault("takes the slope's magnitude", of_inputs(lambda x, s: np.where(x >= 0, x, np.abs(s) * x))),
        "rectified": Fault("gives 0 below 0", of_inputs(lambda x, s: np.maximum(x, 0))),
        "saturates": Fault(
            "saturates where products must wrap around",
            of_inputs(lambda x, s: np.where(x >= 0, x, np.clip(s.astype("i8") * x, np.iinfo(x.dtype).min, np.iinfo(x.dtype).max))),
            SIGNED,
            MEASURED,
        ),
    },
    "LEAKY_RELU": {
        "larger": pieces("gives the larger of the input and the product", lambda x, alpha: np.maximum(x, alpha * x)),
        "rectified": pieces("gives 0 below 0", lambda x, alpha: np.maximum(x, 0)),
        "everywhere": pieces("multiplies everything", lambda x, alpha: alpha * x),
        "of-magnitude": pieces("multiplies the magnitude", lambda x, alpha: np.where(x < 0, alpha * np.abs(x), x)),
        "divides": pieces("divides below 0", lambda x, alpha: np.where(x < 0, x / alpha, x)),
        "added": pieces("adds Alpha below 0", lambda x, alpha: np.where(x < 0, x + alpha, x)),
    },
    "LINEAR": {
        "beta-first": pieces("adds Beta before it multiplies", lambda x, alpha, beta: alpha * (x + beta)),
        "rectified": pieces("gives 0 below 0", lambda x, alpha, beta: np.maximum(_line(x, alpha, beta), 0)),
        "beta-subtracted": pieces("subtracts Beta", lambda x, alpha, beta: alpha * x - beta),
        "product-in-float16": Fault(
            "rounds the product to FLOAT16", of_attributes(lambda x, alpha, beta: (alpha * x).astype("f2") + beta), SINGLE
        ),
    },
    "HARD_SIGMOID": {
        "not-below": pieces("does not limit to 0", lambda x, alpha, beta: np.minimum(_line(x, alpha, beta), 1)),
        "not-above": pieces("does not limit to 1", lambda x, alpha, beta: np.maximum(_line(x, alpha, beta), 0)),
        "beta-first": pieces("adds Beta before it multiplies", lambda x, alpha, beta: np.clip(alpha * (x + beta), 0, 1)),
        "limits-to-six": pieces("limits to 6 and divides by 6", lambda x, alpha, beta: np.clip(x + 3, 0, 6) / 6),
        "to-minus-1": pieces("limits to -1 and 1", lambda x, alpha, beta: np.clip(_line(x, alpha, beta), -1, 1)),
        "curve": pieces("computes a sigmoid", lambda x, alpha, beta: 1 / (1 + np.exp(-_line(x, alpha, beta)))),
        "nan-kept": Fault("gives NaN for NaN", beside(lambda x, right: np.where(np.isnan(x), x, right)), basis=MEASURED),
    },
    "HARD_SWISH": {
        "not-below": pieces("does not limit to 0", lambda x, alpha, beta: x * np.minimum(_line(x, alpha, beta), 1)),
        "not-above": pieces("does not limit to 1", lambda x, alpha, beta: x * np.maximum(_line(x, alpha, beta), 0)),
        "limits-to-six": pieces("computes x * clip(x + 3, 0, 6) / 6", lambda x, alpha, beta: x * np.clip(x + 3, 0, 6) / 6),
        "beta-first": pieces("adds Beta before it multiplies", lambda x, alpha, beta: x * np.clip(alpha * (x + beta), 0, 1)),
        "rectified": pieces("gives 0 below 0", lambda x, alpha, beta: np.maximum(x, 0) * np.clip(_line(x, alpha, beta), 0, 1)),
    },
    "SHRINK": {
        "bias-added": pieces(
            "adds the bias above the threshold", lambda x, bias, t: np.where(x > t, x + bias, np.where(x < -t, x - bias, 0)), FLOATS
        ),
        "bias-not-below": pieces(
            "does not add the bias below", lambda x, bias, t: np.where(x > t, x - bias, np.where(x < -t, x, 0)), FLOATS + SIGNED
        ),
        "bias-subtracted-twice": pieces(
            "subtracts the bias on both sides", lambda x, bias, t: np.where(np.abs(x) > t, x - bias, 0), FLOATS + SIGNED
        ),
        "one-side": pieces("gives 0 below the threshold", lambda x, bias, t: np.where(x > t, x - bias, 0), FLOATS + SIGNED),
        "open": pieces(
            "shrinks at the threshold, too", lambda x, bias, t: np.where(x >= t, x - bias, np.where(x <= -t, x + bias, 0)), FLOATS
        ),
        "kept-between": pieces(
            "keeps what is within the threshold", lambda x, bias, t: np.where(x > t, x - bias, np.where(x < -t, x + bias, x))
        ),
        "threshold-of-0": pieces(
            "takes 0 for the threshold", lambda x, bias, t: np.where(x > 0, x - bias, np.where(x < 0, x + bias, 0))
        ),
        "unsigned-as-signed": Fault(
            "takes unsigned integers for signed ones",
            lambda desc, inputs, right: np.where(as_signed(inputs["InputTensor"]) > attributes(desc)[1], right, 0),
            UNSIGNED,
        ),
        "wraps": Fault(
            "lets integers wrap around",
            lambda desc, inputs, right: np.where(
                right != 0,
                inputs["InputTensor"].astype("i8")
                - np.sign(inputs["InputTensor"].astype("i8")) * int(np.rint(attributes(desc)[0])),
                right,
            ),
            INTEGERS,
            MEASURED,
        ),
        "nan-kept": Fault("gives NaN for NaN", beside(lambda x, right: np.where(np.isnan(x), x, right)), FLOATS, MEASURED),
    },
    "SOFTSIGN": {
        "without-magnitude": pieces("divides by 1 + x", lambda x: x / (1 + x)),
        "of-square": pieces("divides by sqrt(1 + x * x)", lambda x: x / np.sqrt(1 + x * x)),
        "magnitude": pieces("gives the magnitude", lambda x: np.abs(x) / (1 + np.abs(x))),
        "not-signed": pieces("gives the sign beyond 1,000", lambda x: np.where(np.abs(x) > 1000, np.sign(x), x / (1 + np.abs(x)))),
        "in-float16": Fault(
            "divides in FLOAT16", of_attributes(lambda x: x.astype("f2") / (np.float16(1) + np.abs(x.astype("f2")))), SINGLE
        ),
        "infinity-as-1": Fault(
            "gives 1 for infinity", of_attributes(lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))), basis=MEASURED
        ),
    },
    "THRESHOLDED_RELU": {
        "negative-kept": pieces("keeps what is below 0", lambda x, alpha: np.where((x > alpha) | (x < 0), x, 0)),
        "at-threshold": pieces("keeps what is Alpha", lambda x, alpha: np.where(x < alpha, 0, x)),
        "threshold-of-0": pieces("takes 0 for Alpha", lambda x, alpha: np.where(x <= 0, 0, x)),
        "shifted": pieces("subtracts Alpha", lambda x, alpha: np.where(x <= alpha, 0, x - alpha)),
        "maximum": pieces("gives Alpha below it", lambda x, alpha: np.maximum(x, alpha)),
        "of-magnitude": pieces("compares magnitudes", lambda x, alpha: np.where(np.abs(x) <= alpha, 0, x)),
        "nan-as-0": pieces("gives 0 for NaN", lambda x, alpha: np.where(x > alpha, x, 0), FLOATS, MEASURED),
    },
}


_PAYLOAD = "NaN agrees with NaN, whatever its payload"

LINES = marked(
    {f"ACTIVATION_{name}": faults for name, faults in _LINES.items()},
    (
        "ACTIVATION_IDENTITY/minus-zero-lost-float32",
        "ACTIVATION_IDENTITY/minus-zero-lost-float16",
        "ACTIVATION_SHRINK/unsigned-as-signed",
        "ACTIVATION_PARAMETERIZED_RELU/slope-of-one-byte",
    ),
    {f"ACTIVATION_IDENTITY/nan-{what}-{name}": _PAYLOAD for what in ("quieted", "canonical") for name in ("float32", "float16")},
)


def line_mutants() -> Iterator[Mutant]:
    """Every value fault of the activations made of straight lines."""
    yield from planted(LINES)
