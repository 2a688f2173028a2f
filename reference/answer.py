"""The reference's answer for an output: the exact value, and what the judge needs to bound an error.

The value is not rounded to the output's type: integers and bit patterns are exact, real numbers are float64 (more where the output
is FLOAT64), so that the judge can measure an error in fractions of an ULP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
"""An array of NumPy, or of CuPy: the reference is written against what both offer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The reference's answer for one output tensor; every array has the output's sizes, packed.

    ``value``: exact integers, bit patterns in the output's own type, or unrounded float64.
    ``magnitude``: the operator run on absolute inputs (B in the composed bound); class accumulate.
    ``terms``: the number of terms summed (L), alpha, beta and bias adding one each; accumulate, product.
    ``argument``: the input that the bound depends on; exp and pow in class mixed.
    ``slack``: the absolute error that the value may have, before rounding to an integer (class discrete) or because its argument is
    computed too, as ScaleBias does (ulp, mixed); none where None, infinite or NaN.
    ``result``: what is stored, in the output's type, where that is not ``value`` rounded to it: class discrete, where ``value`` is still
    before rounding and saturating.
    ``measured_slack``: ``slack`` in cases of basis measured, where every known implementation is better than what is promised.
    ``contested``: other right answers by basis, where the documentation and DirectML.dll disagree; ``value`` is the answer of the basis
    that is not among them. An implementation must match one basis in all its outputs.
    ``also``: NaN or an infinity that is right besides ``value``, where the formula may lead to either, as 0 divided by 0 does; a finite
    number says nothing. Only classes that measure errors read it.
    ``defined``: False where the output's value is undefined and not judged; None if all of it is defined.
    """

    value: Array
    magnitude: Array | None = None
    terms: Array | int | None = None
    argument: Array | None = None
    slack: Array | float | None = None
    measured_slack: Array | float | None = None
    contested: Mapping[str, Answer] = field(default_factory=dict)
    also: Array | None = None
    defined: Array | None = None
    result: Array | None = None

    @property
    def stored_value(self) -> Array:
        """What an exact implementation stores, before rounding to the output's type."""
        return self.value if self.result is None else self.result


def host(array: Array) -> Any:
    """The array as NumPy's: CuPy's is copied from the device, NumPy's is returned as it is."""
    return array.get() if hasattr(array, "get") else array


def on_device(xp: Any, array: Any) -> Array:
    """A NumPy array as one of a namespace, in a type that it has (``held_type``)."""
    return xp.asarray(array.astype(held_type(xp, array.dtype), copy=False))


def held_type(xp: Any, dtype: Any) -> Any:
    """The type in which an array of a namespace holds values of this one: CuPy has no 4-bit integers, and holds them in 8 bits."""
    if xp is np or dtype.kind != "V":
        return dtype
    return np.dtype(np.uint8 if dtype.name.startswith("u") else np.int8)
