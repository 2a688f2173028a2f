"""What an index means: a place along an axis, from its beginning or, where it is negative, from its end."""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage


@stage("indexing.places")
def places(xp: Any, indices: Array, size: int) -> Array:
    """The place that each index names along an axis of ``size``, -1 or ``size`` where there is none."""
    if indices.dtype.kind == "u":
        return xp.minimum(indices, indices.dtype.type(size)).astype(xp.int64)
    counted = indices.astype(xp.int64)
    return xp.clip(xp.where(counted < 0, counted + size, counted), -1, size)


def limit_places(xp: Any, found: Array, size: int) -> Array:
    """The places, and the last one where there is none: what is read then is not defined, and DirectML.dll was measured to read that."""
    return xp.where((found < 0) | (found >= size), size - 1, found)
