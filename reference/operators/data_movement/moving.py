"""What the operators that move elements share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype


def constant(xp: Any, desc: OperatorDesc, name: str, like: str) -> Array:
    """A scalar of an attribute, in the type of the tensor ``like``; what was a FLOAT loses its fraction in an integer type."""
    value, dtype = desc.scalar(name), numpy_dtype(desc.tensor(like).data_type)
    return xp.asarray(value if dtype.kind == "f" else int(value), dtype=dtype)


@stage("data_movement.elements_at")
def elements_at(xp: Any, x: Array, places: Iterable[Array]) -> Array:
    """``output[i, j, ...] = x[places[0][i], places[1][j], ...]``: along each dimension the elements at these places, bits and all."""
    for axis, along in enumerate(places):
        x = xp.take(x, along, axis=axis)
    return x
