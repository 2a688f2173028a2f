"""Trigonometric and hyperbolic functions, and their inverses.

What the documentation promises of sine and cosine is an absolute error (Direct3D's floating-point rules), of the others nothing: a result
of 0 for every small argument is within such a bound. Known implementations are far better, each in its way, and cases of basis measured
demand what all of them reach (DirectML.dll on a software adapter, onnxruntime, PyTorch), at least twice over:

- sine, cosine and tangent are as exact as an argument that FLOAT32 rounds, besides a few ULP: relative to a small argument, too;
- the arc tangent has a relative error of 1.4e-4 at 0 and an absolute one of 1.2e-5 at most, in the polynomial that DirectML.dll runs;
- the arc sine is exact to a few ULP, or the polynomial that shader compilers take for it, which gives 6.8e-5 at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import pi
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.exponential import exponential
from dmlcts.reference.operators.element_wise.special_functions import either_zero
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.scale_bias import ROUNDOFF, Function, apply_with_error, scale_argument, unary
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

DOMAIN = 100 * pi
"""The largest argument, of either sign, for which Direct3D's floating-point rules promise anything of sin and cos."""

SINE_ERROR = {"FLOAT32": 0.0008, "FLOAT16": 0.003}
"""The absolute error that they allow there."""

ARGUMENT_ERROR = 2 * ROUNDOFF
"""The relative error of an argument that measured cases allow: rounded, and rounded again where it is brought into one period."""

ATAN_ERROR = 2.0**-12, 2.0**-15
"""The relative and the absolute error of an arc tangent, of which the smaller one holds in measured cases."""

ASIN_ERROR = 2.0**-20
"""The relative error of an arc sine in measured cases, and of the polynomial, which is subtracted from a right angle, the absolute one."""

reference("ELEMENT_WISE_ACOS")(unary(lambda xp, x: xp.acos(x)))
reference("ELEMENT_WISE_ACOSH")(unary(lambda xp, x: xp.acosh(x)))
reference("ELEMENT_WISE_COSH")(exponential(lambda xp, x: xp.cosh(x)))
reference("ELEMENT_WISE_SINH")(either_zero(exponential(lambda xp, x: xp.sinh(x))))

for _name, _function in {
    "ASINH": lambda xp, x: xp.asinh(x),
    "ATANH": lambda xp, x: xp.atanh(x),
    "TANH": lambda xp, x: xp.tanh(x),
}.items():
    reference(f"ELEMENT_WISE_{_name}")(either_zero(unary(_function)))


def _with_measured(xp: Any, answer: Answer, error: Array) -> Answer:
    """The answer with ``error`` as what measured cases allow, besides what a scaled argument is off by."""
    error = xp.where(xp.isfinite(error), error, 0.0)
    return replace(answer, measured_slack=error if answer.slack is None else error + answer.slack)


def atan(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The arc tangent."""
    answer = apply_with_error(
        xp, partial(apply_function, lambda xp, x: xp.atan(x)), *scale_argument(xp, desc, inputs["InputTensor"])
    )
    relative, absolute = ATAN_ERROR
    return {"OutputTensor": _with_measured(xp, answer, xp.minimum(relative * xp.abs(answer.value), absolute))}


def asin(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The arc sine, or the polynomial that Abramowitz and Stegun give for it (4.4.45), which shader compilers take: either is right."""
    argument, error = scale_argument(xp, desc, inputs["InputTensor"])
    exact, polynomial = (
        apply_with_error(xp, partial(apply_function, function), argument, error)
        for function in (lambda xp, x: xp.asin(x), _asin_polynomial)
    )
    exact = _with_measured(xp, exact, ASIN_ERROR * xp.abs(exact.value))
    polynomial = _with_measured(xp, polynomial, xp.full_like(argument, ASIN_ERROR))
    return {"OutputTensor": replace(exact, contested={MEASURED: polynomial})}


def _asin_polynomial(xp: Any, x: Array) -> Array:
    size = xp.abs(x)
    angle = pi / 2 - xp.sqrt(1 - size) * (1.5707288 + size * (-0.2121144 + size * (0.0742610 + size * -0.0187293)))
    return xp.where(x < 0, -angle, angle)


reference("ELEMENT_WISE_ASIN")(either_zero(asin))
reference("ELEMENT_WISE_ATAN")(either_zero(atan))


def _periodic(
    xp: Any, function: Function, slope: Function, desc: OperatorDesc, inputs: Mapping[str, Array]
) -> tuple[Answer, Array]:
    """A periodic function's answer, defined on ``DOMAIN``, and its argument. Of an infinity it is NaN; beyond the domain, anything.

    ``slope`` is how much the function changes with its argument.
    """
    argument, error = scale_argument(xp, desc, inputs["InputTensor"])
    answer = apply_with_error(xp, partial(apply_function, function), argument, error)
    reached = xp.abs(argument) if error is None else xp.abs(argument) + error
    promised = (reached <= DOMAIN) | ~xp.isfinite(argument)
    answer = _with_measured(xp, answer, ARGUMENT_ERROR * xp.abs(argument) * xp.abs(slope(xp, argument)))
    return replace(answer, defined=promised if answer.defined is None else promised & answer.defined), argument


@reference("ELEMENT_WISE_COS")
def cos(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The cosine, of -100 pi to 100 pi."""
    return {"OutputTensor": _periodic(xp, lambda xp, x: xp.cos(x), lambda xp, x: xp.sin(x), desc, inputs)[0]}


@reference("ELEMENT_WISE_SIN")
def sin(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sine, of -100 pi to 100 pi."""
    return {"OutputTensor": _periodic(xp, lambda xp, x: xp.sin(x), lambda xp, x: xp.cos(x), desc, inputs)[0]}


@reference("ELEMENT_WISE_TAN")
def tan(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The tangent, of -100 pi to 100 pi: a sine divided by a cosine, and off by as much as theirs being off makes it.

    Nothing says how exact it must be. With errors e in both, ``(sin + e) / (cos + e)`` lies off by ``e * (1 + |tan|) / |cos|``: by less
    than anybody would notice at 0, and by anything at a pole, where it is not defined how large it is, nor of which sign.
    """
    answer, argument = _periodic(xp, lambda xp, x: xp.tan(x), lambda xp, x: xp.cos(x) ** -2, desc, inputs)
    error, cosine = SINE_ERROR[desc.tensor("OutputTensor").data_type], xp.abs(xp.cos(argument))
    off = error * (1.0 + xp.abs(answer.value)) / xp.maximum(cosine, error)
    slack = off if answer.slack is None else off + answer.slack
    defined = (cosine > error) | ~xp.isfinite(argument)
    return {"OutputTensor": replace(answer, slack=xp.where(argument == 0, 0.0, slack), defined=answer.defined & defined)}


@reference("ELEMENT_WISE_ATAN_YX")
def atan_yx(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The angle from the positive x axis to the point (BTensor, ATensor), from -pi to pi. The page leaves the origin undefined."""
    y, x = (inputs[name].astype(xp.float64) for name in ("ATensor", "BTensor"))
    return {"OutputTensor": Answer(apply_function(lambda xp, y, x: xp.atan2(y, x), xp, y, x), defined=(x != 0) | (y != 0))}
