"""The step that all element-wise operators share: their function, of operands that are as they are computed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage


@stage("element_wise.function")
def apply_function(function: Callable[..., Array], xp: Any, *operands: Array) -> Array:
    """``function(xp, *operands)``: what the operator computes of its elements, before it is rounded to the output's type.

    Operands are scaled already; real numbers are float64, integers and bit patterns in their own type.
    """
    return function(xp, *operands)
