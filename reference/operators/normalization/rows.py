"""Rows: what is normalized together, and the steps from their elements to a mean and a variance or a norm."""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("normalization.axes")
def row_axes(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions of a row: those named, in whatever order, or those that CrossChannel says. One named twice counts once."""
    if "Axes" in desc.fields:
        return tuple(sorted(set(desc.integers("Axes"))))
    if "Axis" in desc.fields:
        return (desc.integer("Axis"),)
    return (1, 2, 3) if desc.flag("CrossChannel") else (2, 3)


@stage("normalization.mean")
def mean_of(total: Array, count: int) -> Array:
    """The mean of ``count`` elements that add up to ``total``."""
    return total / count


@stage("normalization.center")
def subtract_mean(x: Array, mean: Array) -> Array:
    """The elements without their mean."""
    return x - mean


@stage("normalization.square")
def squares(difference: Array, x: Array) -> Array:
    """What is added up for a variance, a norm of order 2 or a response; of a difference from the mean, ``x`` being the element itself."""
    return difference * difference


@stage("normalization.variance")
def variance_of(total: Array, count: int) -> Array:
    """The variance of ``count`` elements, the squares of whose differences from their mean add up to ``total``."""
    return total / count


@stage("normalization.magnitude")
def magnitudes(xp: Any, x: Array) -> Array:
    """What is added up for a norm of order 1."""
    return xp.abs(x)
