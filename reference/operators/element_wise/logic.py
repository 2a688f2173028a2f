"""Comparisons, logic and tests of single elements: what is true is 1, what is false 0.

Every element that is not 0 counts as true. Floating-point numbers compare as IEEE 754 has it: both zeros are equal, and NaN is neither
below, above nor equal to anything. The documentation says nothing of NaN; DirectML.dll was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


def _truth(xp: Any, truth: Array) -> dict[str, Answer]:
    return {"OutputTensor": Answer(truth.astype(xp.uint8))}


@stage("element_wise.truth")
def is_true(xp: Any, x: Array) -> Array:
    """Which elements count as true: all that are not 0."""
    return x != 0


def _comparison(function: Callable[[Any, Array, Array], Array]) -> Reference:
    """The reference of a function of two numbers."""

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        return _truth(xp, apply_function(function, xp, inputs["ATensor"], inputs["BTensor"]))

    return run


def _logic(function: Callable[[Any, Array, Array], Array]) -> Reference:
    """The reference of a function of two truths."""

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        return _truth(xp, function(xp, is_true(xp, inputs["ATensor"]), is_true(xp, inputs["BTensor"])))

    return run


reference("ELEMENT_WISE_LOGICAL_EQUALS")(_comparison(lambda xp, a, b: a == b))
reference("ELEMENT_WISE_LOGICAL_GREATER_THAN")(_comparison(lambda xp, a, b: a > b))
reference("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL")(_comparison(lambda xp, a, b: a >= b))
reference("ELEMENT_WISE_LOGICAL_LESS_THAN")(_comparison(lambda xp, a, b: a < b))
reference("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL")(_comparison(lambda xp, a, b: a <= b))
reference("ELEMENT_WISE_LOGICAL_AND")(_logic(lambda xp, a, b: a & b))
reference("ELEMENT_WISE_LOGICAL_OR")(_logic(lambda xp, a, b: a | b))
reference("ELEMENT_WISE_LOGICAL_XOR")(_logic(lambda xp, a, b: a ^ b))


@reference("ELEMENT_WISE_LOGICAL_NOT")
def logical_not(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """1 for 0, and 0 for everything else."""
    return _truth(xp, ~is_true(xp, inputs["InputTensor"]))


@reference("ELEMENT_WISE_IS_NAN")
def is_nan(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """1 for NaN, quiet or signalling, of any payload and sign."""
    return _truth(xp, apply_function(lambda xp, x: xp.isnan(x), xp, inputs["InputTensor"]))


_MODES: Mapping[str, Callable[[Any, Array], Array]] = {
    "EITHER": lambda xp, x: xp.isinf(x),
    "POSITIVE": lambda xp, x: xp.isinf(x) & (x > 0),
    "NEGATIVE": lambda xp, x: xp.isinf(x) & (x < 0),
}


@reference("ELEMENT_WISE_IS_INFINITY")
def is_infinity(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """1 for the infinities that InfinityMode asks for."""
    return _truth(xp, apply_function(_MODES[desc.constant("InfinityMode")], xp, inputs["InputTensor"]))
