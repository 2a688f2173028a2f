"""Faults in quotients and in the remainders that they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    HALF,
    INTEGERS,
    LONG,
    SIGNED,
    SINGLE,
    WIDE,
    Computed,
    Fault,
    Faults,
    as_signed,
    as_unsigned,
    marked,
    merged,
    of_inputs,
    of_reals,
    of_result,
    planted,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

DIVIDE = "ELEMENT_WISE_DIVIDE"
FLOOR, TRUNCATE = "ELEMENT_WISE_MODULUS_FLOOR", "ELEMENT_WISE_MODULUS_TRUNCATE"


def _divided(function: Callable[[Array, Array], Any]) -> Computed:
    """Of integers without divisors of zero, whose quotients are left as they are."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        a, b = inputs.values()
        return np.where(b == 0, right, function(a, np.where(b == 0, b.dtype.type(1), b)))

    return computed


def _nearest(a: Array, b: Array) -> Array:
    """The quotient rounded to the nearest integer."""
    return np.asarray(np.rint(a.astype("f8") / b.astype("f8")).clip(-(2.0**62), 2.0**62), "i8")


_NARROW_SIGNED = ("INT8", "INT16", "INT32")

_QUOTIENTS: Faults = {
    DIVIDE: {
        "floors": Fault("rounds quotients of integers down", _divided(lambda a, b: a // b), SIGNED),
        "rounds": Fault(
            "rounds quotients of integers to the nearest", _divided(_nearest), (*_NARROW_SIGNED, "UINT8", "UINT16", "UINT32")
        ),
        "unsigned": Fault("divides without sign", _divided(lambda a, b: as_unsigned(a) // as_unsigned(b)), SIGNED),
        "signed": Fault(
            "divides with a sign",
            _divided(lambda a, b: np.trunc(as_signed(a).astype("f8") / as_signed(b))),
            ("UINT8", "UINT16", "UINT32"),
        ),
        "in-float32": Fault("divides integers in FLOAT32", _divided(lambda a, b: np.trunc(a.astype("f4") / b.astype("f4"))), WIDE),
        "in-float64": Fault("divides integers in FLOAT64", _divided(lambda a, b: np.trunc(a.astype("f8") / b.astype("f8"))), LONG),
        "reciprocal-in-float16": Fault(
            "multiplies by a reciprocal in FLOAT16", of_inputs(lambda a, b: a * (np.float16(1) / b)), HALF
        ),
        "reciprocal-of-16-digits": Fault(
            "multiplies by a reciprocal of 16 digits",
            of_reals(lambda a, b: a * ((1 / b).astype("f4").view("u4") & np.uint32(0xFFFFFF80)).view("f4")),
            SINGLE,
        ),
        "reciprocal-overflows": Fault(
            "multiplies by a reciprocal, which overflows for denormals",
            of_inputs(lambda a, b: np.where(np.isinf(1 / b), np.copysign(np.inf, a * b), a / b)),
            SINGLE,
        ),
        "by-zero-gives-zero": Fault(
            "gives 0 for numbers divided by 0", of_reals(lambda a, b: np.where(b == 0, 0, a / b)), FLOATS, MEASURED
        ),
        "by-zero-without-sign": Fault(
            "gives infinity without sign for numbers divided by 0",
            of_reals(lambda a, b: np.where(b == 0, np.abs(a / b), a / b)),
            FLOATS,
            MEASURED,
        ),
        "least-by-minus-one-saturates": Fault(
            "gives the largest number for the least divided by -1",
            _divided(
                lambda a, b: np.where((b == -1) & (a == np.iinfo(a.dtype).min), np.iinfo(a.dtype).max, np.trunc(a.astype("f8") / b))
            ),
            ("INT8", "INT16"),
            MEASURED,
        ),
    }
}


def _beside_divisor(function: Callable[[Array, Array], Any]) -> Computed:
    """Of the divisor and the right output."""
    return lambda desc, inputs, right: function(inputs["BTensor"], right)


def _remainders(rounded: Callable[[Array], Array]) -> dict[str, Fault]:
    """Faults of ``a - b * rounded(a / b)``."""
    return {
        "nearest": Fault("gives what is left of the nearest multiple", of_reals(lambda a, b: a - b * np.rint(a / b)), FLOATS),
        "without-sign": Fault("gives the magnitude", of_result(np.abs), FLOATS + _NARROW_SIGNED),
        "of-magnitudes": Fault("works on magnitudes", of_reals(lambda a, b: np.fmod(np.abs(a), np.abs(b))), FLOATS),
        "quotient": Fault("gives the quotient", _divided(lambda a, b: a // b), INTEGERS),
        "quotient-of-reals": Fault("gives the quotient's fraction", of_reals(lambda a, b: np.fmod(a / b, 1)), FLOATS),
        "unsigned": Fault("divides without sign", _divided(lambda a, b: as_unsigned(a) % as_unsigned(b)), SIGNED),
        "in-float32": Fault(
            "works on integers in FLOAT32",
            _divided(lambda a, b: a.astype("f4") - b.astype("f4") * np.trunc(a.astype("f4") / b.astype("f4"))),
            WIDE,
        ),
        "through-int32": Fault(
            "brings the quotient through INT32",
            of_reals(lambda a, b: a - b * rounded(np.clip(a / b, -(2.0**31), 2.0**31 - 1))),
            FLOATS,
        ),
        "divisor-added": Fault(
            "adds the divisor to every negative remainder", _beside_divisor(lambda b, right: np.where(right < 0, right + b, right))
        ),
        "divisor-of-a-multiple": Fault(
            "gives the divisor for its multiples", _beside_divisor(lambda b, right: np.where((right == 0) & (b != 0), b, right))
        ),
    }


QUOTIENTS = marked(
    merged(_QUOTIENTS, {FLOOR: _remainders(np.floor), TRUNCATE: _remainders(np.trunc)}),
    (f"{FLOOR}/through-int32", f"{TRUNCATE}/through-int32"),
)


def quotient_mutants() -> Iterator[Mutant]:
    """Every value fault of division."""
    yield from planted(QUOTIENTS)
