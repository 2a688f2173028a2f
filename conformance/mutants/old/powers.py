"""Faults in powers: POW and CONSTANT_POW."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    INTEGERS,
    SINGLE,
    Computed,
    Fault,
    Faults,
    is_scaled,
    marked,
    planted,
    scale_bias,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

POW, CONSTANT_POW = "ELEMENT_WISE_POW", "ELEMENT_WISE_CONSTANT_POW"


def _powered(function: Callable[[Array, Array], Any]) -> Computed:
    """Of base and exponent in FLOAT64, the base scaled."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        scale, bias = scale_bias(desc)
        base = inputs["InputTensor"].astype("f8") * scale + bias
        if "ExponentTensor" in inputs:
            return function(base, inputs["ExponentTensor"].astype("f8"))
        return function(base, np.full(base.shape, float(np.float32(desc.fields["Exponent"]))))  # type: ignore[arg-type]

    return computed


def _right_where(test: Callable[[Array, Array], Array], otherwise: Callable[[Array, Array], Any]) -> Computed:
    """The right output where the test of base and exponent says so, and something else elsewhere."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        kept = _powered(test)(desc, inputs, right)
        return np.where(kept, right, _powered(otherwise)(desc, inputs, right))

    return computed


def _whole(desc: OperatorDesc) -> bool:
    """Whether base and exponent are integers, and the base is not scaled."""
    return all(desc.tensor(name).data_type in INTEGERS for name in ("InputTensor", "ExponentTensor")) and not is_scaled(desc)


def _wide(x: Array) -> Array:
    return np.clip(x, -(2.0**62), 2.0**62)


_BOTH: Mapping[str, Fault] = {
    "by-logarithms": Fault(
        "computes exp(e * log(|x|)), without sign", _powered(lambda x, e: np.exp(e * np.log(np.abs(x)))), FLOATS
    ),
    "negative-base-as-nan": Fault(
        "gives NaN for every negative base", _powered(lambda x, e: np.where(x < 0, np.nan, np.power(x, e))), FLOATS
    ),
    "negative-base-of-fraction": Fault(
        "gives a number for a negative base and a fraction",
        _right_where(lambda x, e: (x >= 0) | (e == np.floor(e)), lambda x, e: np.abs(x) ** e),
        FLOATS,
    ),
    "sign-of-odd-lost": Fault(
        "gives positive numbers for odd exponents",
        _powered(lambda x, e: np.where(e == np.floor(e), np.abs(np.power(x, e)), np.power(x, e))),
        FLOATS,
    ),
    "exponent-rounded": Fault("rounds the exponent", _powered(lambda x, e: np.power(x, np.rint(e))), FLOATS),
    "product": Fault("multiplies", _powered(lambda x, e: x * e)),
    "exponential": Fault("raises the exponent to the power of the base", _powered(lambda x, e: np.power(e, x)), FLOATS),
    "negative-exponent": Fault("takes the exponent's magnitude", _powered(lambda x, e: np.power(x, np.abs(e))), FLOATS),
    "logarithm-in-float16": Fault(
        "rounds the product with the logarithm to FLOAT16",
        _powered(lambda x, e: np.copysign(np.exp2((e * np.log2(np.abs(x))).astype("f2").astype("f8")), np.power(x, e))),
        SINGLE,
    ),
    "zeroth-power": Fault("gives 0 for the exponent 0", _powered(lambda x, e: np.where(e == 0, 0, np.power(x, e))), FLOATS),
    "first-power": Fault(
        "gives the absolute value for the exponent 1", _powered(lambda x, e: np.where(e == 1, np.abs(x), np.power(x, e))), FLOATS
    ),
    "nan-to-zeroth": Fault(
        "gives 1 for NaN to the power of 0",
        _right_where(lambda x, e: ~(np.isnan(x) & (e == 0)), lambda x, e: 1.0),
        FLOATS,
        MEASURED,
    ),
}

_POWERS: Faults = {
    CONSTANT_POW: {
        **_BOTH,
        "scale-after": Fault(
            "scales the power", lambda desc, inputs, right: _after(desc, inputs["InputTensor"].astype("f8")), when=is_scaled
        ),
    },
    POW: {
        **_BOTH,
        "integers-saturate": Fault(
            "limits powers of 32-bit integers that must wrap around",
            _right_where(lambda x, e: np.isnan(x), lambda x, e: np.power(x, e)),
            ("INT32", "UINT32"),
            when=_whole,
        ),
        "integers-in-float32": Fault(
            "computes integers in FLOAT32",
            _powered(lambda x, e: np.power(x.astype("f4"), e.astype("f4"))),
            ("INT32", "UINT32"),
            when=_whole,
        ),
        "negative-exponent-of-integers": Fault(
            "takes the magnitude of negative exponents of integers",
            _right_where(lambda x, e: e >= 0, lambda x, e: np.power(x, np.abs(e))),
            INTEGERS,
            when=_whole,
        ),
        "negative-exponent-gives-1": Fault(
            "gives 1 for negative exponents of integers", _right_where(lambda x, e: e >= 0, lambda x, e: 1.0), INTEGERS, when=_whole
        ),
        "base-unsigned": Fault(
            "takes the magnitude of integers",
            _powered(lambda x, e: np.power(np.abs(x), e)),
            ("INT8", "INT16", "INT32"),
            when=_whole,
        ),
    },
}


POWERS = marked(_POWERS, (f"{CONSTANT_POW}/first-power",))


def _after(desc: OperatorDesc, x: Array) -> Array:
    scale, bias = scale_bias(desc)
    return np.power(x, float(np.float32(desc.fields["Exponent"]))) * scale + bias  # type: ignore[arg-type]


def power_mutants() -> Iterator[Mutant]:
    """Every value fault of powers."""
    yield from planted(POWERS)
