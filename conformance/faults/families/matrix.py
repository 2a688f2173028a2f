"""What implementations of matrix products get wrong: terms, rows and batches, what a transposition reads, and what is added to the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.quantized import REQUANTIZE, RESCALE, difference, own_part, with_differences, zero_points
from dmlcts.conformance.faults.families.sums import ACTIVATION, exact, low_bits, of_integers, of_reals, of_terms
from dmlcts.conformance.faults.model.fault import (
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    as_float16,
    change_result,
    has,
    with_attributes,
    without_input,
)
from dmlcts.spec.model.desc import OperatorDesc

_INTEGER, _TO_FLOAT, _QUANTIZED = "MATRIX_MULTIPLY_INTEGER", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "QUANTIZED_LINEAR_MATRIX_MULTIPLY"

_PRODUCT = "matrix.product"


def products(right: Callable[..., Array], xp: Any, a: Array, b: Array, *dtype: Any) -> Iterator[Array]:
    """Each product of a sum: of one column of A by one row of B."""
    for term in range(a.shape[-1]):
        yield right(xp, a[..., term : term + 1], b[..., term : term + 1, :], *dtype)


# Terms, rows, columns, batches


def _at_most(count: int, axis: int) -> Callable[[Array], Array]:
    """So many rows or columns computed, and 0 beyond."""
    return lambda found: found * (np.arange(found.shape[axis]) < count).reshape(-1, *[1] * (-1 - axis))


def _by_element(right: Callable[..., Array], xp: Any, a: Array, b: Array, *dtype: Any) -> Array:
    return a.astype("f8") * b.astype("f8") if a.shape == b.shape else right(xp, a, b, *dtype)


PRODUCTS: Faults = {
    **of_terms(lambda weight: {_PRODUCT: lambda right, xp, a, b, *dtype: right(xp, a * weight(np.arange(a.shape[-1])), b, *dtype)}),
    "32-rows-at-most": Fault("computes 32 rows at most", stages=change_result(_PRODUCT, _at_most(32, -2))),
    "64-columns-at-most": Fault("computes 64 columns at most", stages=change_result(_PRODUCT, _at_most(64, -1))),
    "element-by-element": Fault("multiplies matrices of the same sizes element by element", stages={_PRODUCT: _by_element}),
}
"""Of any matrix product."""


# GEMM


def _misread(does: str, names: str, a: str, b: str) -> Fault:
    """Matrices read as they lie in memory, although they are transposed; or transposed, although they are not: where TransA and TransB are so."""
    other = {"NONE": "TRANSPOSE", "TRANSPOSE": "NONE"}

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        return {
            **right,
            **{f"{name}Tensor": np.reshape(x := right[f"{name}Tensor"], (*x.shape[:-2], *x.shape[:-3:-1])) for name in names},
        }

    return Fault(
        does,
        desc=with_attributes(lambda fields: {f"Trans{name}": other[fields[f"Trans{name}"]] for name in names}),
        inputs=inputs,
        when=lambda desc: desc.fields["TransA"] in a.split() and desc.fields["TransB"] in b.split(),
    )


TRANSPOSITION: Faults = {
    "both-unseen": _misread("transposes nothing where both are transposed", "AB", "TRANSPOSE", "TRANSPOSE"),
    "one-for-both": _misread("transposes B with A", "B", "TRANSPOSE", "NONE"),
}


def _step(does: str, stage: str, change: Callable[[Array, float], Array]) -> Fault:
    """The product, or C, multiplied otherwise by Alpha or Beta."""
    return Fault(does, stages={stage: lambda right, xp, x, factor: change(x, factor)})


def _unread(x: Array, factor: float) -> Array:
    return factor * x if factor else 0 * np.nan_to_num(x)


def _factors(does: str, change: Callable[[float, float], tuple[float, float]]) -> Fault:
    """Other numbers in the place of Alpha and Beta."""
    names = ("Alpha", "Beta")
    return Fault(
        does, desc=with_attributes(lambda fields: dict(zip(names, change(*(fields[name] for name in names)), strict=True)))
    )


FACTORS: Faults = {
    "alpha-of-0-for-1": _factors("treats an Alpha of 0 as none", lambda alpha, beta: (alpha or 1.0, beta)),
    "alpha-of-c-too": _factors("multiplies C by Alpha, too", lambda alpha, beta: (alpha, alpha * beta)),
    "beta-of-0-for-1": _factors("treats a Beta of 0 as none", lambda alpha, beta: (alpha, beta or 1.0)),
    "alpha-of-0-leaves-matrices-out": _step("does not read the matrices where Alpha is 0", "matrix.alpha", _unread),
    "beta-of-0-leaves-c-out": _step("does not read C where Beta is 0", "matrix.beta", _unread),
    "c-after-activation": Fault(
        "adds C to what the activation gives",
        lambda desc, inputs, right: right + desc.fields["Beta"] * inputs["CTensor"].astype("f8"),
        inputs=without_input("CTensor"),
        when=has("CTensor", "FusedActivation"),
    ),
    "alpha-after-activation": Fault(
        "multiplies what the activation gives by Alpha",
        lambda desc, inputs, right: desc.fields["Alpha"] * right.astype("f8"),
        desc=with_attributes(lambda fields: {"Alpha": 1.0}),
        when=has("FusedActivation"),
    ),
}


# Integers


def _without_product_of_points(desc: OperatorDesc, right: Inputs) -> Inputs:
    """One more product in each sum, a column by a row: it subtracts as much as the product of both zero points."""
    a, b = (difference(right, name) for name in "AB")
    p, q = (own_part(right, name, "ZeroPoint").astype(np.int64) for name in "AB")
    column, row = 0 * a[..., :1] - a.shape[-1] * p, 0 * b[..., :1, :] + q
    return with_differences(right, {"A": np.concatenate([a, column], -1), "B": np.concatenate([b, row], -2)})


INTEGERS: Faults = {
    **zero_points("A", "B"),
    "product-of-points-lost": Fault(
        "leaves out the product of both zero points, where they come off afterwards", inputs=_without_product_of_points
    ),
}


def _is_single(desc: OperatorDesc) -> bool:
    return desc.tensor("AScaleTensor").data_type == "FLOAT32"


def _scaled_last(fault: Fault) -> Fault:
    """A fault of integer sums in MATRIX_MULTIPLY_INTEGER_TO_FLOAT, whose reference scales first: scales of 1, and the right ones at last."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        ones = {f"{name}ScaleTensor": np.ones_like(right[f"{name}ScaleTensor"]) for name in "AB"}
        return without_input("BiasTensor")(desc, {**right, **ones})

    def value(desc: OperatorDesc, given: Inputs, right: Array) -> Any:
        return right * own_part(given, "A", "Scale").astype("f8") * own_part(given, "B", "Scale") + given.get("BiasTensor", 0.0)

    return replace(fault, value=value, inputs=inputs, when=_is_single)


def _low_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {name: x.astype(x.dtype.kind + "1") if x.dtype.kind in "iu" else x for name, x in inputs.items()}


TO_FLOAT: Faults = {
    **{name: _scaled_last(fault) for name, fault in of_integers(_PRODUCT, products).items()},
    "sums-of-32-bits": _scaled_last(
        Fault("keeps 32 bits of a sum", stages=change_result(_PRODUCT, lambda sums: low_bits(sums, 32)))
    ),
    "matrices-of-8-bits": Fault("keeps 8 bits of wider integers", inputs=_low_bytes),
    "product-in-float16": Fault("keeps the product in FLOAT16", stages=change_result(_PRODUCT, as_float16), when=_is_single),
}

FAULTS: Table = {
    f"GEMM {_INTEGER} {_TO_FLOAT} {_QUANTIZED}": PRODUCTS,
    f"{_INTEGER} {_TO_FLOAT} {_QUANTIZED}": INTEGERS,
    f"{_INTEGER} {_QUANTIZED}": of_integers(_PRODUCT, products),
    "GEMM": {**TRANSPOSITION, **FACTORS, **of_reals(_PRODUCT, products), **ACTIVATION},
    _INTEGER: exact(_PRODUCT),
    _TO_FLOAT: TO_FLOAT,
    _QUANTIZED: {**RESCALE, **REQUANTIZE},
}
