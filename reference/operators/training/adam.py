"""The Adam optimizer (Kingma and Ba, 2014): one step, with the bias of the moments taken out of the step's length.

The page gives formulas and no precision. Each step is bounded as it is computed in FLOAT32: what it may be off by is the slack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_UNIT = 2.0**-23
"""Of a number computed in FLOAT32, where truncation is allowed."""

_EXP_AND_LOG = 2.0**-21
"""A power is computed as exp2(y * log2(x)). Direct3D allows exp2 this relative error, and log2 of 0.5 to 2 this absolute one."""


@reference("ADAM_OPTIMIZER")
def adam_optimizer(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The moments and the parameters after one step.

    At TrainingStep 0 the formula's step length is 0 / 0. DirectML.dll was measured to use 1.
    """
    x, m, v, g = (
        inputs[f"{name}Tensor"].astype(xp.float64)
        for name in ("InputParameters", "InputFirstMoment", "InputSecondMoment", "Gradient")
    )
    step = float(xp.reshape(inputs["TrainingStepTensor"], (-1,))[0])
    rate, beta1, beta2, epsilon = (desc.number(name) for name in ("LearningRate", "Beta1", "Beta2", "Epsilon"))
    first, second = moment(m, g, beta1), moment(v, g * g, beta2)
    first_error = 3 * _UNIT * moment(xp.abs(m), xp.abs(g), beta1)
    second_error = 4 * _UNIT * moment(xp.abs(v), g * g, beta2)
    length, share = step_length(step, beta1, beta2)
    root = xp.sqrt(second)
    below = root + epsilon
    # a root's relative error is half of its argument's, and no more than the root of the error itself
    below_error = xp.minimum(second_error / xp.maximum(root, 1e-300), xp.sqrt(second_error)) + 4 * _UNIT * below
    move = rate * length * first / below
    relative = share + below_error / below + 6 * _UNIT
    error = xp.abs(move) * relative + abs(rate * length) * first_error / below * (1 + relative) + _UNIT * xp.abs(x)
    return {
        "OutputParametersTensor": Answer(x - move, slack=error, defined=xp.isfinite(error) & (below_error < below / 2)),
        "OutputFirstMomentTensor": Answer(first, slack=first_error),
        "OutputSecondMomentTensor": Answer(second, slack=second_error),
    }


@stage("training.moment")
def moment(before: Array, now: Array, beta: float) -> Array:
    """A running mean, by ``beta`` of what was before."""
    return beta * before + (1 - beta) * now


@stage("training.step_length")
def step_length(step: float, beta1: float, beta2: float) -> tuple[float, float]:
    """``sqrt(1 - Beta2^T) / (1 - Beta1^T)``, and what it may be off by, relative to it."""
    if step == 0:
        return 1.0, 0.0
    first, second = _remainder(beta1, step), _remainder(beta2, step)
    length = np.sqrt(second[0]) / first[0]
    return length, second[1] + first[1] + 6 * _UNIT


def _remainder(beta: float, step: float) -> tuple[Any, Any]:
    """``1 - beta^step``, and what it may be off by, relative to it."""
    power = np.float64(beta) ** step
    left = np.float64(1) - power
    exponent = abs(step * np.log2(np.float64(beta))) if beta > 0 else 0.0
    return left, power * ((1 + step) * _EXP_AND_LOG + exponent * _UNIT) / left + _UNIT
