"""GEMM: the product of two matrices, scaled, plus a third one, and a fused activation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.matrix.products import magnitude, parts_error, plus, product, total_error
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import OVERFLOW, accumulated_answer, between_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@reference("GEMM")
def gemm(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Alpha * A' B' + Beta * C``, activated. A' is (..., M, K) and B' (..., K, N), each transposed where TransA or TransB says so.

    What infinities and NaN meet follows from the formula, a factor of 0 included: 0 times infinity is NaN, as in DirectML.dll. Of FLOAT16,
    the parts of a long sum may have been stored in between, and the scaled product, before C is added. A product that overflows FLOAT32 leaves
    open what Alpha makes of it.
    """
    a, b, c = _matrix(xp, desc, inputs, "A"), _matrix(xp, desc, inputs, "B"), inputs.get("CTensor")
    alpha, beta = (desc.number(name) for name in ("Alpha", "Beta"))
    value, size, terms = product(xp, a, b), magnitude(xp, a, b), a.shape[-1]
    half = a.dtype == xp.float16
    parts = parts_error(xp, a, b) if half else None
    if alpha != 1:
        parts = _overflow(xp, value, size) if parts is None else abs(alpha) * parts
        value, size, terms = scaled_product(xp, value, alpha), abs(alpha) * size, terms + 1
    if c is None:
        return {"OutputTensor": accumulated_answer(xp, desc, value, size, terms, parts)}
    error = total_error(parts, between_error(xp, xp.abs(value)) if half else None)
    if beta != 1:
        c, terms = scaled_addend(xp, c.astype(xp.float64), beta), terms + 1
    return {"OutputTensor": accumulated_answer(xp, desc, plus(xp, value, c), size + xp.abs(c), terms + 1, error)}


@stage("matrix.alpha")
def scaled_product(xp: Any, value: Array, alpha: float) -> Array:
    """``Alpha * A' B'``, of the product; where Alpha is not 1."""
    return alpha * value


@stage("matrix.beta")
def scaled_addend(xp: Any, c: Array, beta: float) -> Array:
    """``Beta * C``; where Beta is not 1."""
    return beta * c


def _overflow(xp: Any, value: Array, size: Array) -> Array | None:
    """Infinite where a sum may overflow on its way, in one order or another; None if none can."""
    over = xp.isfinite(value) & ~(size < OVERFLOW)
    return xp.where(over, xp.inf, 0.0) if bool(xp.any(over)) else None


def _matrix(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], name: str) -> Array:
    """A matrix as it is multiplied."""
    matrix = inputs[f"{name}Tensor"]
    return xp.swapaxes(matrix, -1, -2) if desc.constant(f"Trans{name}") == "TRANSPOSE" else matrix
