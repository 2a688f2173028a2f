"""Which mutants are no faults, and why: by rules over what the specs say, and one by one.

A mutant that no case finds stands here only if it changes nothing that an implementation promises. What a case could find and none
does is a hole of the suite, and no matter of this module.
"""

from __future__ import annotations

from dmlcts.conformance.mutants.old.dense import no_faults

ANYWHERE = "*"


def _names(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for name in names)


_LOGICAL = tuple(f"ELEMENT_WISE_LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT"))
_COMPARISONS = tuple(
    f"ELEMENT_WISE_LOGICAL_{name}"
    for name in ("EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "LESS_THAN", "LESS_THAN_OR_EQUAL")
)
_TESTS = _names("ELEMENT_WISE", "IS_NAN", "IS_INFINITY")
_HARDMAX = _names("ACTIVATION", "HARDMAX", "HARDMAX1")
_SOFTMAX = _names("ACTIVATION", "SOFTMAX", "SOFTMAX1")

_REASONS: dict[str, dict[str, tuple[str, ...]]] = {
    "accepts/total-size-odd": {
        "DirectML.dll 1.15.4 accepts total sizes that are no multiples of 4: a refusal is demanded of nobody": (ANYWHERE,)
    },
    "bytes/big-endian/input-0": {
        "the order of bytes does not change how many bits are set": ("ELEMENT_WISE_BIT_COUNT",),
        "the order of bytes does not change whether one is not 0": _LOGICAL,
    },
    "bytes/big-endian/input-1": {"the order of bytes does not change whether one is not 0": _LOGICAL[:3]},
    "in-place/twice": {
        "(a | b) | b == a | b": ("ELEMENT_WISE_BIT_OR",),
        "an integer is rounded to itself": ("ELEMENT_WISE_ROUND",),
        "what is kept is kept again, and 0 is 0 again": ("ACTIVATION_THRESHOLDED_RELU",),
    },
    "numbers/output/at-most-100": {
        "no result is beyond 100": (
            *_names("ELEMENT_WISE", "ACOS", "ASIN", "ATAN", "ATAN_YX", "COS", "SIN", "ERF", "TANH", "SIGN"),
            *_names("ACTIVATION", "SIGMOID", "SOFTSIGN", "TANH", "HARD_SIGMOID"),
            *_SOFTMAX,
            *_HARDMAX,
        ),
    },
    "numbers/output/integers-at-most-100": {
        "the results are 0 and 1": (*_LOGICAL, *_COMPARISONS, *_TESTS),
        "no element has more than 64 bits": ("ELEMENT_WISE_BIT_COUNT",),
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
    },
    "numbers/output/through-float16": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "Direct3D allows an absolute error of 0.0008, which is more than FLOAT16's": _names("ELEMENT_WISE", "SIN", "COS", "TAN"),
    },
    "numbers/output/12-digits": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "Direct3D allows an absolute error of 0.0008, which is more": _names("ELEMENT_WISE", "SIN", "COS", "TAN"),
        "an absolute error of 2^-12 is allowed, as much as DirectML.dll itself is off by": _names("ELEMENT_WISE", "ASIN"),
    },
    "numbers/output/small-as-zero": {
        "the results are -1, 0 and 1": ("ELEMENT_WISE_SIGN",),
        "the results are 0 and 1": _HARDMAX,
        "no result is less than 1": ("ELEMENT_WISE_COSH",),
    },
    "numbers/output/nan-as-zero": {
        "NaN gives 0 in DirectML.dll, and nothing else gives NaN": (
            "ELEMENT_WISE_SIGN",
            *_names("ACTIVATION", "RELU", "SHRINK", "HARD_SIGMOID", "CELU"),
        ),
        "the results are 0 and 1": _HARDMAX,
        "NaN gives a bound": _names("ELEMENT_WISE", "CLIP", "CLIP1", "THRESHOLD"),
        "nothing is demanded of NaN": _names("ELEMENT_WISE", "ATAN", "ATAN_YX", "ADD1"),
    },
    "numbers/output/minus-zero-lost": {
        "no result is -0": (
            *_names("ELEMENT_WISE", "ABS", "ACOS", "COS", "EXP", "LOG", "COSH", "ACOSH", "SIGN", "POW", "CLIP1"),
            *_names("ELEMENT_WISE", "MODULUS_TRUNCATE", "MODULUS_FLOOR", "DIFFERENCE_SQUARE"),
            *_names("ACTIVATION", "HARD_SIGMOID", "SOFTPLUS", "RELU", "SIGMOID", "CELU"),
            "ACTIVATION_SHRINK",
            *_SOFTMAX,
            *_HARDMAX,
        ),
        "the sign of a zero is demanded of nobody here": (
            *_names(
                "ELEMENT_WISE", "ASIN", "ATAN", "ERF", "SINH", "TANH", "ASINH", "ATANH", "DEQUANTIZE_LINEAR", "ADD1", "CONSTANT_POW"
            ),
            *_names("ACTIVATION", "LINEAR", "SCALED_TANH", "TANH", "LOG_SOFTMAX", "LOG_SOFTMAX1"),
            *_names("ACTIVATION", "SCALED_ELU", "PARAMETRIC_SOFTPLUS"),
        ),
    },
    "numbers/input-0/nan-as-zero": {
        "nothing is demanded of NaN": _names("ELEMENT_WISE", "ATAN", "ATAN_YX", "ADD1"),
        "neither is infinite": ("ELEMENT_WISE_IS_INFINITY",),
        "NaN gives what 0 gives: 0": (
            "ELEMENT_WISE_SIGN",
            *_names("ACTIVATION", "RELU", "SHRINK", "CELU", "RELU_GRAD"),
        ),
        "nothing is demanded of a row with a NaN": _HARDMAX,
        "documentation and DirectML.dll differ: either answer passes": _names("ELEMENT_WISE", "CLIP_GRAD", "CLIP_GRAD1"),
    },
    "numbers/input-0/infinities-as-largest": {
        "the largest number lies outside the domain too, and gives NaN": _names("ELEMENT_WISE", "ACOS", "ASIN", "ATANH"),
        "the largest number gives what infinity gives": (
            *_names("ELEMENT_WISE", "ATAN", "ERF", "EXP", "SINH", "COSH", "TANH", "SIGN"),
            *_names("ACTIVATION", "SIGMOID", "TANH", "SCALED_TANH", "RELU_GRAD"),
        ),
        "neither is NaN": ("ELEMENT_WISE_IS_NAN",),
    },
    "numbers/input-0/integers-through-float32": {
        "what is not 0 stays so": _LOGICAL,
        "rounding changes no sign": ("ELEMENT_WISE_SIGN", "ACTIVATION_RELU_GRAD"),
        "quotients are computed in FLOAT32": ("ELEMENT_WISE_QUANTIZE_LINEAR",),
    },
    "numbers/input-0/integers-through-float64": {"rounding changes no sign": ("ELEMENT_WISE_SIGN",)},
    "numbers/input-0/integers-without-sign": {
        "(d + 2^31)^2 == d^2 modulo 2^32": ("ELEMENT_WISE_DIFFERENCE_SQUARE",),
    },
    "numbers/input-0/without-top-bit": {"(d + 2^31)^2 == d^2 modulo 2^32": ("ELEMENT_WISE_DIFFERENCE_SQUARE",)},
    "numbers/input-0/through-float16": {"rounding makes no number NaN": ("ELEMENT_WISE_IS_NAN",)},
    "numbers/input-0/without-sign": {"the sign does not change whether it is NaN": ("ELEMENT_WISE_IS_NAN",)},
    "numbers/input-0/negated": {"the sign does not change whether it is NaN": ("ELEMENT_WISE_IS_NAN",)},
}
"""Mutant, reason, operators."""

EQUIVALENT: dict[str, dict[str, str]] = {
    mutant: {operator: why for why, operators in reasons.items() for operator in operators} for mutant, reasons in _REASONS.items()
}
"""The mutants of any operator that are no fault in some, or ``ANYWHERE``, and why: mutant, operator, reason."""

OWN: dict[str, str] = {}
"""The mutants of one operator that no family marks itself."""

for _mutant, _why, _operators in no_faults():
    if _mutant.partition("/")[0] in _operators:
        OWN[_mutant] = _why
    else:
        EQUIVALENT.setdefault(_mutant, {}).update(dict.fromkeys(_operators, _why))
