"""A fused activation: the operator inside a desc, applied to a result that was not stored in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import compute
from dmlcts.reference.scale_bias import through
from dmlcts.spec.desc import OperatorDesc


def activated(xp: Any, fields: Mapping[str, object], value: Array, error: Array, name: str = "FusedActivation") -> Answer:
    """The activation in the field ``name`` of ``value`` (float64), which may be off by ``error``; ``value`` itself if there is none.

    ``error`` is what the implementation's own computation of ``value`` may be off by; with the activation's own slack it is the answer's.
    """
    inner = fields.get(name)
    if not isinstance(inner, OperatorDesc):
        return Answer(value, slack=error)
    exact = compute(inner, {"InputTensor": value})["OutputTensor"]
    answer: Any = through(xp, lambda xp, x: compute(inner, {"InputTensor": x})["OutputTensor"].value, value, error)
    slack = answer.slack if exact.slack is None else answer.slack + exact.slack
    defined = answer.defined if exact.defined is None else answer.defined & exact.defined
    return Answer(answer.value, slack=slack, argument=answer.argument, defined=defined)
