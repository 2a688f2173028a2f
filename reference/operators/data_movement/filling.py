"""Tensors that are made of a number or two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.data_movement.moving import constant
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@reference("FILL_VALUE_CONSTANT")
def fill_value_constant(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Value`` everywhere."""
    output = desc.tensor("OutputTensor")
    return {"OutputTensor": Answer(xp.full(output.sizes, constant(xp, desc, "Value", "OutputTensor")))}


@reference("FILL_VALUE_SEQUENCE")
def fill_value_sequence(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``ValueStart + k * ValueDelta`` in the k-th element. Integers wrap around.

    The page adds ValueDelta time and again. Whether each sum is rounded is left open, so that the bound is that of a sum.
    """
    output = desc.tensor("OutputTensor")
    start, delta = (constant(xp, desc, name, "OutputTensor") for name in ("ValueStart", "ValueDelta"))
    steps = _steps(xp, output.sizes)
    if start.dtype.kind != "f":
        return {"OutputTensor": Answer(start + steps.astype(start.dtype) * delta)}
    start, delta, steps = start.astype(xp.float64), delta.astype(xp.float64), steps.astype(xp.float64)
    return {
        "OutputTensor": Answer(start + steps * delta, magnitude=xp.abs(start) + steps * xp.abs(delta), terms=2),
    }


@stage("data_movement.steps")
def _steps(xp: Any, sizes: tuple[int, ...]) -> Array:
    """How many elements are before each, in row-major order."""
    return xp.reshape(xp.arange(int(np.prod(sizes))), sizes)


@reference("DIAGONAL_MATRIX")
def diagonal_matrix(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Value`` where ``column - row == Offset``, 0 elsewhere."""
    offset = desc.integer("Offset")
    return {"OutputTensor": _fill_diagonals(xp, desc, inputs, (offset, offset + 1))}


@reference("DIAGONAL_MATRIX1")
def diagonal_matrix1(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Value`` where ``begin <= column - row < end``; everywhere else, if end is before begin."""
    limits = desc.integer("DiagonalFillBegin"), desc.integer("DiagonalFillEnd")
    return {"OutputTensor": _fill_diagonals(xp, desc, inputs, limits)}


def _fill_diagonals(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], limits: tuple[int, int]) -> Answer:
    """Value on the diagonals within the limits, the input or zeros elsewhere."""
    output, value = desc.tensor("OutputTensor"), constant(xp, desc, "Value", "OutputTensor")
    rest = inputs["InputTensor"] if "InputTensor" in inputs else xp.zeros(output.sizes, dtype=value.dtype)
    return Answer(xp.where(_diagonal_mask(xp, output.sizes, limits), value, rest))


@stage("data_movement.diagonals")
def _diagonal_mask(xp: Any, sizes: tuple[int, ...], limits: tuple[int, int]) -> Array:
    """Where of the last two dimensions the diagonals within the limits are; where they are not, if the limits are exchanged."""
    begin, end = limits
    diagonal = xp.arange(sizes[-1])[None, :] - xp.arange(sizes[-2])[:, None]
    return (end >= begin) ^ (diagonal >= begin) ^ (diagonal < end)
