"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import pi
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.element_wise.exponential import exponential
from dmlcts.reference.element_wise.function import applied
from dmlcts.reference.element_wise.special_functions import either_zero
from dmlcts.reference.registry import reference
from dmlcts.reference.scale_bias import Function, scaled, through, unary
from dmlcts.spec.desc import OperatorDesc

DOMAIN = 100 * pi
"""The largest argument, of either sign, for which Direct3D's floating-point rules promise anything of sin and cos."""

SINE_ERROR = {"FLOAT32": 0.0008, "FLOAT16": 0.003}
"""The absolute error that they allow there."""

reference("ELEMENT_WISE_ACOS")(unary(lambda xp, x: xp.acos(x)))
reference("ELEMENT_WISE_ACOSH")(unary(lambda xp, x: xp.acosh(x)))
reference("ELEMENT_WISE_COSH")(exponential(lambda xp, x: xp.cosh(x)))
reference("ELEMENT_WISE_SINH")(either_zero(exponential(lambda xp, x: xp.sinh(x))))

for _name, _function in {
    "ASIN": lambda xp, x: xp.asin(x),
    "ASINH": lambda xp, x: xp.asinh(x),
    "ATAN": lambda xp, x: xp.atan(x),
    "ATANH": lambda xp, x: xp.atanh(x),
    "TANH": lambda xp, x: xp.tanh(x),
}.items():
    reference(f"ELEMENT_WISE_{_name}")(either_zero(unary(_function)))


def _periodic(xp: Any, function: Function, desc: OperatorDesc, inputs: Mapping[str, Array]) -> tuple[Answer, Array]:
    """A periodic function's answer, defined on ``DOMAIN``, and its argument. Of an infinity it is NaN; beyond the domain, anything."""
    argument, error = scaled(xp, desc, inputs["InputTensor"])
    answer = through(xp, partial(applied, function), argument, error)
    reached = xp.abs(argument) if error is None else xp.abs(argument) + error
    promised = (reached <= DOMAIN) | ~xp.isfinite(argument)
    return replace(answer, defined=promised if answer.defined is None else promised & answer.defined), argument


@reference("ELEMENT_WISE_COS")
def cos(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The cosine, of -100 pi to 100 pi."""
    return {"OutputTensor": _periodic(xp, lambda xp, x: xp.cos(x), desc, inputs)[0]}


@reference("ELEMENT_WISE_SIN")
def sin(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sine, of -100 pi to 100 pi."""
    return {"OutputTensor": _periodic(xp, lambda xp, x: xp.sin(x), desc, inputs)[0]}


@reference("ELEMENT_WISE_TAN")
def tan(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The tangent, of -100 pi to 100 pi: a sine divided by a cosine, and off by as much as theirs being off makes it.

    Nothing says how exact it must be. With errors e in both, ``(sin + e) / (cos + e)`` lies off by ``e * (1 + |tan|) / |cos|``: by less
    than anybody would notice at 0, and by anything at a pole, where it is not defined how large it is, nor of which sign.
    """
    answer, argument = _periodic(xp, lambda xp, x: xp.tan(x), desc, inputs)
    error, cosine = SINE_ERROR[desc.tensor("OutputTensor").data_type], xp.abs(xp.cos(argument))
    off = error * (1.0 + xp.abs(answer.value)) / xp.maximum(cosine, error)
    slack = off if answer.slack is None else off + answer.slack
    defined = (cosine > error) | ~xp.isfinite(argument)
    return {"OutputTensor": replace(answer, slack=xp.where(argument == 0, 0.0, slack), defined=answer.defined & defined)}


@reference("ELEMENT_WISE_ATAN_YX")
def atan_yx(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The angle from the positive x axis to the point (BTensor, ATensor), from -pi to pi. The page leaves the origin undefined."""
    y, x = (inputs[name].astype(xp.float64) for name in ("ATensor", "BTensor"))
    return {"OutputTensor": Answer(applied(lambda xp, y, x: xp.atan2(y, x), xp, y, x), defined=(x != 0) | (y != 0))}
