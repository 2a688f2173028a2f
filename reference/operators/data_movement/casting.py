"""Numbers of one data type as those of another.

The page says no more than that each element is cast. What an output's type holds but for a fraction is that number; the fraction is left
out. Everything else is what DirectML.dll was measured to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import MEASURED


@reference("CAST")
def cast(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Floats unrounded: integers as they are, and the judge rounds. Integers by ``_truncate_to`` and ``_narrow_to``."""
    x, name = inputs["InputTensor"], desc.tensor("OutputTensor").data_type
    output = data_type(name)
    if output.is_float:
        return {"OutputTensor": Answer(x if x.dtype == numpy_dtype(name) or x.dtype.kind != "f" else x.astype(xp.float64))}
    if x.dtype.kind != "f":
        return {"OutputTensor": Answer(_narrow_to(xp, x, name))}
    x = x.astype(xp.float64)
    value = _truncate_to(xp, x, name, output.limits)
    if output.bits < 64:
        return {"OutputTensor": Answer(value)}
    # DirectML.dll on a software adapter goes by the limits of 32 bits, and gives the largest 64-bit integer above them.
    short = data_type(name.replace("64", "32")).limits
    by_32_bits = xp.where(x >= short[1] + 1, value.dtype.type(output.limits[1]), _truncate_to(xp, x, name, short))
    differs = bool(xp.any(by_32_bits != value))
    return {"OutputTensor": Answer(value, contested={MEASURED: Answer(by_32_bits)} if differs else {})}


@stage("data_movement.truncated")
def _truncate_to(xp: Any, x: Array, name: str, limits: tuple[int, int]) -> Array:
    """``x`` (float64) without its fraction, limited, 0 for NaN, as integers of the type ``name``."""
    dtype, (least, most) = numpy_dtype(name), limits
    inside = xp.where((x > least) & (x < most), x, 0).astype(dtype)
    return xp.where(x >= most, dtype.type(most), xp.where(x <= least, dtype.type(least), inside))


@stage("data_movement.narrowed")
def _narrow_to(xp: Any, x: Array, name: str) -> Array:
    """An integer in another integer type: the lower bits, where that has 32 or 64; in a narrower one the nearest of the lower 32 bits."""
    dtype, output = numpy_dtype(name), data_type(name)
    if output.bits >= 32:
        return x.astype(dtype)
    low = x.astype(xp.int64 if x.dtype.kind == "i" else xp.uint64).astype(xp.int32 if output.kind == "int" else xp.uint32)
    return xp.clip(low, *output.limits).astype(dtype)
