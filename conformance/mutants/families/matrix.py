"""What implementations of matrix products get wrong: terms, rows and batches, what a transposition reads, and what is added to the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.quantized import (
    REQUANTIZE,
    RESCALE,
    difference,
    own,
    scales,
    with_differences,
    zero_points,
)
from dmlcts.conformance.mutants.families.sums import ACTIVATION, exact, has, low_bits, of_integers, of_reals, of_terms
from dmlcts.conformance.mutants.fault import Array, Fault, Faults, Inputs, Table, after, as_float16, with_attributes, with_input
from dmlcts.spec.desc import OperatorDesc

_INTEGER, _TO_FLOAT, _QUANTIZED = "MATRIX_MULTIPLY_INTEGER", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "QUANTIZED_LINEAR_MATRIX_MULTIPLY"

_PRODUCT = "matrix.product"


def products(right: Callable[..., Array], xp: Any, a: Array, b: Array, *dtype: Any) -> Iterator[Array]:
    """Each product of a sum: of one column of A by one row of B."""
    for term in range(a.shape[-1]):
        yield right(xp, a[..., term : term + 1], b[..., term : term + 1, :], *dtype)


# Terms, rows, columns, batches


def _of(does: str, change: Callable[[Array, Array], tuple[Array, Array]], rank: int = 0) -> Fault:
    """The product of other matrices, of so many dimensions, or of any."""
    when = (lambda desc: len(desc.tensor("ATensor").sizes) == rank) if rank else None
    return Fault(does, stages={_PRODUCT: lambda right, xp, a, b, *dtype: right(xp, *change(a, b), *dtype)}, when=when)


def _at_most(count: int, axis: int) -> Callable[[Array], Array]:
    """So many rows or columns computed, and 0 beyond."""
    return lambda found: found * (np.arange(found.shape[axis]) < count).reshape(-1, *[1] * (-1 - axis))


def _by_element(right: Callable[..., Array], xp: Any, a: Array, b: Array, *dtype: Any) -> Array:
    return a.astype("f8") * b.astype("f8") if a.shape == b.shape else right(xp, a, b, *dtype)


def _other_order(a: Array, b: Array) -> tuple[Array, Array]:
    return (b, a) if a.shape == b.shape else (a, b)


def _batches_exchanged(x: Array) -> Array:
    return x.swapaxes(0, 1).reshape(x.shape)


PRODUCTS: Faults = {
    **of_terms(lambda weight: {_PRODUCT: lambda right, xp, a, b, *dtype: right(xp, a * weight(np.arange(a.shape[-1])), b, *dtype)}),
    **{f"{n}-rows-at-most": Fault(f"computes {n} rows at most", stages=after(_PRODUCT, _at_most(n, -2))) for n in (16, 32)},
    **{f"{n}-columns-at-most": Fault(f"computes {n} columns at most", stages=after(_PRODUCT, _at_most(n, -1))) for n in (16, 64)},
    "terms-reversed": _of("reads the rows of B in reverse", lambda a, b: (a, b[..., ::-1, :])),
    "a-batches-exchanged": _of("exchanges batches and channels of A", lambda a, b: (_batches_exchanged(a), b), 4),
    "b-batches-exchanged": _of("exchanges batches and channels of B", lambda a, b: (a, _batches_exchanged(b)), 4),
    "factors-exchanged": _of("multiplies matrices of the same sizes in the other order", _other_order),
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
    "TransA-unseen": _misread("reads A as if it were not transposed", "A", "TRANSPOSE", "NONE TRANSPOSE"),
    "TransB-unseen": _misread("reads B as if it were not transposed", "B", "NONE TRANSPOSE", "TRANSPOSE"),
    "both-unseen": _misread("transposes nothing where both are transposed", "AB", "TRANSPOSE", "TRANSPOSE"),
    "one-for-both": _misread("transposes B with A", "B", "TRANSPOSE", "NONE"),
}

_FACTORS: Mapping[str, tuple[str, Callable[[float, float], tuple[float, float]]]] = {
    "alpha-squared": ("multiplies both matrices by Alpha", lambda alpha, beta: (alpha * alpha, beta)),
    "alpha-of-0-for-1": ("treats an Alpha of 0 as none", lambda alpha, beta: (alpha or 1.0, beta)),
    "alpha-for-beta": ("multiplies C by Alpha in place of Beta", lambda alpha, beta: (alpha, alpha)),
    "alpha-of-c-too": ("multiplies C by Alpha, too", lambda alpha, beta: (alpha, alpha * beta)),
    "beta-of-product-too": ("multiplies the product by Beta, too", lambda alpha, beta: (alpha * beta, beta)),
    "beta-of-0-for-1": ("treats a Beta of 0 as none", lambda alpha, beta: (alpha, beta or 1.0)),
    "c-in-place-of-product": ("gives C alone where Alpha is not 1", lambda alpha, beta: (float(alpha == 1), beta)),
}


def _step(does: str, stage: str, change: Callable[[Array, float], Array]) -> Fault:
    """The product, or C, multiplied otherwise by Alpha or Beta."""
    return Fault(does, stages={stage: lambda right, xp, x, factor: change(x, factor)})


def _unread(x: Array, factor: float) -> Array:
    return factor * x if factor else 0 * np.nan_to_num(x)


def _factors(change: Callable[[float, float], tuple[float, float]]) -> Callable[[OperatorDesc], OperatorDesc]:
    return with_attributes(lambda fields: dict(zip(("Alpha", "Beta"), change(fields["Alpha"], fields["Beta"]), strict=True)))


def _without(name: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    return lambda desc, inputs: {other: x for other, x in inputs.items() if other != name}


def _number(desc: OperatorDesc, name: str) -> float:
    value: Any = desc.fields[name]
    return float(value)


FACTORS: Faults = {
    **{name: Fault(does, desc=_factors(change)) for name, (does, change) in _FACTORS.items()},
    "alpha-added": _step("adds Alpha", "matrix.alpha", np.add),
    "beta-added": _step("adds Beta to C", "matrix.beta", np.add),
    "alpha-of-0-leaves-matrices-out": _step("does not read the matrices where Alpha is 0", "matrix.alpha", _unread),
    "beta-of-0-leaves-c-out": _step("does not read C where Beta is 0", "matrix.beta", _unread),
    "c-of-first-row": Fault(
        "adds C to one row", inputs=with_input("CTensor", lambda c: c * (np.arange(c.shape[-2]) == 0)[:, None])
    ),
    "c-after-activation": Fault(
        "adds C to what the activation gives",
        lambda desc, inputs, right: right + _number(desc, "Beta") * inputs["CTensor"].astype("f8"),
        inputs=_without("CTensor"),
        when=has("CTensor", "FusedActivation"),
    ),
    "alpha-after-activation": Fault(
        "multiplies what the activation gives by Alpha",
        lambda desc, inputs, right: _number(desc, "Alpha") * right.astype("f8"),
        desc=with_attributes(lambda fields: {"Alpha": 1.0}),
        when=has("FusedActivation"),
    ),
}


# Integers


def _extra_term(does: str, term: Callable[[Array, Array, Array, Array], tuple[Array, Array]]) -> Fault:
    """One more product in each sum, a column by a row: what is off where zero points come off afterwards.

    They are made of both matrices less their zero points and of these: A, B, A's, B's.
    """

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        a, b = (difference(right, name) for name in "AB")
        column, row = term(a, b, *(own(right, name, "ZeroPoint").astype(np.int64) for name in "AB"))
        with_column, with_row = np.concatenate([a, column + 0 * a[..., :1]], -1), np.concatenate([b, row + 0 * b[..., :1, :]], -2)
        return with_differences(right, {"A": with_column, "B": with_row})

    return Fault(f"{does}, where zero points come off afterwards", inputs=inputs)


INTEGERS: Faults = {
    **zero_points("A", "B"),
    "product-of-points-lost": _extra_term("leaves out their product", lambda a, b, p, q: (-a.shape[-1] * p, q)),
    "point-of-a-times-first-row": _extra_term(
        "takes A's off with one row of B", lambda a, b, p, q: (p, b[..., 1:, :].sum(-2, keepdims=True))
    ),
    "point-of-b-times-first-column": _extra_term(
        "takes B's off with one column of A", lambda a, b, p, q: (a[..., 1:].sum(-1, keepdims=True), q)
    ),
}


def _is_single(desc: OperatorDesc) -> bool:
    return desc.tensor("AScaleTensor").data_type == "FLOAT32"


def _scaled_last(fault: Fault) -> Fault:
    """A fault of integer sums in MATRIX_MULTIPLY_INTEGER_TO_FLOAT, whose reference scales first: scales of 1, and the right ones at last."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        ones = {f"{name}ScaleTensor": np.ones_like(right[f"{name}ScaleTensor"]) for name in "AB"}
        return _without("BiasTensor")(desc, {**right, **ones})

    def value(desc: OperatorDesc, given: Inputs, right: Array) -> Any:
        return right * own(given, "A", "Scale").astype("f8") * own(given, "B", "Scale") + given.get("BiasTensor", 0.0)

    return replace(fault, value=value, inputs=inputs, when=_is_single)


def _before_point(name: str) -> Fault:
    """The zero point taken off what is scaled: one in units of the scale."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        return {**right, f"{name}ZeroPointTensor": own(right, name, "ZeroPoint") / own(right, name, "Scale").astype("f8")}

    return Fault(f"takes the zero point of {name} off what is scaled", inputs=inputs)


SCALED: Faults = {**scales("A", "B"), **{f"{name}-scaled-before-point": _before_point(name) for name in "AB"}}
"""Of both operators with scales."""


def _low_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {name: x.astype(x.dtype.kind + "1") if x.dtype.kind in "iu" else x for name, x in inputs.items()}


def _scaled_bias(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {**inputs, "BiasTensor": inputs["BiasTensor"] * own(inputs, "A", "Scale") * own(inputs, "B", "Scale")}


TO_FLOAT: Faults = {
    **{name: _scaled_last(fault) for name, fault in of_integers(_PRODUCT, products).items()},
    "sums-of-32-bits": _scaled_last(Fault("keeps 32 bits of a sum", stages=after(_PRODUCT, lambda sums: low_bits(sums, 32)))),
    "matrices-of-8-bits": Fault("keeps 8 bits of wider integers", inputs=_low_bytes),
    "sums-truncated": Fault("cuts the product to integers", stages=after(_PRODUCT, np.trunc)),
    "product-in-float16": Fault("keeps the product in FLOAT16", stages=after(_PRODUCT, as_float16), when=_is_single),
    "bias-scaled": Fault("multiplies the bias by the scales", inputs=_scaled_bias),
}

ADDED: Faults = {
    "addend-multiplied": Fault("multiplies by what it should add", stages={"matrix.add": lambda right, xp, x, c: x * c})
}

FAULTS: Table = {
    f"GEMM {_INTEGER} {_TO_FLOAT} {_QUANTIZED}": PRODUCTS,
    f"GEMM {_TO_FLOAT}": ADDED,
    f"{_INTEGER} {_TO_FLOAT} {_QUANTIZED}": INTEGERS,
    f"{_INTEGER} {_QUANTIZED}": of_integers(_PRODUCT, products),
    f"{_TO_FLOAT} {_QUANTIZED}": SCALED,
    "GEMM": {**TRANSPOSITION, **FACTORS, **of_reals(_PRODUCT, products), **ACTIVATION},
    _INTEGER: exact(_PRODUCT),
    _TO_FLOAT: TO_FLOAT,
    _QUANTIZED: {**scales("Output"), **RESCALE, **REQUANTIZE},
}
