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
from dmlcts.conformance.mutants.families.sums import ACTIVATION, exact, has, low_bits, of_integers, of_reals
from dmlcts.conformance.mutants.fault import (
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    after,
    as_float16,
    with_attributes,
    with_input,
)
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

_INTEGER, _TO_FLOAT, _QUANTIZED = "MATRIX_MULTIPLY_INTEGER", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT", "QUANTIZED_LINEAR_MATRIX_MULTIPLY"

_PRODUCT = "matrix.product"


def products(right: Callable[..., Array], xp: Any, a: Array, b: Array, *dtype: Any) -> Iterator[Array]:
    """Each product of a sum: of one column of A by one row of B."""
    for term in range(a.shape[-1]):
        yield right(xp, a[..., term : term + 1], b[..., term : term + 1, :], *dtype)


# Terms, rows, columns, batches


def _product(change: Callable[[Array, Array], tuple[Array, Array]]) -> Mapping[str, Instead]:
    """The product of other matrices."""
    return {_PRODUCT: lambda right, xp, a, b, *dtype: right(xp, *change(a, b), *dtype)}


def _terms(does: str, kept: Callable[[int], slice]) -> Fault:
    """Some products of a sum, of so many, alone."""
    return Fault(does, stages=_product(lambda a, b: (a[..., kept(a.shape[-1])], b[..., kept(a.shape[-1]), :])))


def _at_most(count: int, what: str, axis: int) -> Fault:
    """So many rows or columns computed, and 0 beyond."""

    def change(product: Array) -> Array:
        kept = (np.arange(product.shape[axis]) < count).reshape(-1, *[1] * (-1 - axis))
        return np.where(kept, product, 0)

    return Fault(f"computes {count} {what} at most", stages=after(_PRODUCT, change))


def _same_sizes(instead: Callable[..., Array]) -> Mapping[str, Instead]:
    """What is computed of two matrices of the same sizes; the right product of others."""
    return {_PRODUCT: lambda right, xp, a, b, *dtype: (instead if a.shape == b.shape else right)(xp, a, b, *dtype)}


def _batches_exchanged(x: Array) -> Array:
    return x.swapaxes(0, 1).reshape(x.shape)


PRODUCTS: Faults = {
    "last-term-lost": _terms("leaves out the last product of a sum", lambda count: slice(count - 1)),
    "first-term-lost": _terms("leaves out the first product of a sum", lambda count: slice(1, count)),
    **{
        f"rest-of-{n}-lost": _terms(
            f"leaves out the products that are left of a division by {n}",
            lambda count, n=n: slice(count // n * n or count),  # type: ignore[misc]
        )
        for n in (2, 4, 16)
    },
    **{f"{n}-terms-at-most": _terms(f"adds up {n} products at most", lambda count, n=n: slice(n)) for n in (16, 64, 256)},  # type: ignore[misc]
    **{f"rows-beyond-{n}-lost": _at_most(n, "rows", -2) for n in (16, 32)},
    **{f"columns-beyond-{n}-lost": _at_most(n, "columns", -1) for n in (16, 64)},
    "last-batch-lost": Fault(
        "leaves out the last of several batches",
        stages=after(_PRODUCT, lambda found: np.concatenate([found[:-1], 0 * found[-1:]]) if len(found) > 1 else found),
        when=lambda desc: len(desc.tensor("ATensor").sizes) > 2,
    ),
    "terms-reversed": Fault("reads the rows of B in reverse", stages=_product(lambda a, b: (a, b[..., ::-1, :]))),
    "magnitudes": Fault("adds up magnitudes", stages=_product(lambda a, b: (np.abs(a), np.abs(b)))),
    "element-by-element": Fault(
        "multiplies element by element where both matrices have the same sizes",
        stages=_same_sizes(lambda xp, a, b, *dtype: a.astype("f8") * b.astype("f8")),
    ),
    "factors-exchanged": Fault(
        "multiplies square matrices in the other order",
        stages={_PRODUCT: lambda right, xp, a, b, *dtype: right(xp, *((b, a) if a.shape == b.shape else (a, b)), *dtype)},
    ),
    **{
        f"{name}-batches-exchanged": Fault(
            f"exchanges batches and channels of {name}Tensor",
            inputs=with_input(f"{name}Tensor", _batches_exchanged),
            when=lambda desc: len(desc.tensor("ATensor").sizes) == 4,
        )
        for name in "AB"
    },
}
"""Of any matrix product."""


# GEMM


def _transposes(a: str, b: str = "") -> Callable[[OperatorDesc], bool]:
    return lambda desc: desc.fields["TransA"] == a and b in ("", desc.fields["TransB"])


def _by_columns(x: Array) -> Array:
    """A matrix whose memory is read as if it were the other way round."""
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]).swapaxes(-1, -2)


def _misread(does: str, names: str, when: Callable[[OperatorDesc], bool]) -> Fault:
    """Matrices read as they lie in memory, although they are transposed; or transposed, although they are not."""

    def as_stored(x: Array) -> Array:
        return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])

    other = {"NONE": "TRANSPOSE", "TRANSPOSE": "NONE"}
    return Fault(
        does,
        desc=with_attributes(lambda fields: {f"Trans{name}": other[fields[f"Trans{name}"]] for name in names}),
        inputs=lambda desc, inputs: {**inputs, **{f"{name}Tensor": as_stored(inputs[f"{name}Tensor"]) for name in names}},
        when=when,
    )


TRANSPOSITION: Faults = {
    "TransA-unseen": _misread("reads A as if it were not transposed", "A", _transposes("TRANSPOSE")),
    "TransB-unseen": _misread("reads B as if it were not transposed", "B", lambda desc: desc.fields["TransB"] == "TRANSPOSE"),
    "both-ignored": _misread("transposes nothing where both are transposed", "AB", _transposes("TRANSPOSE", "TRANSPOSE")),
    "one-for-both": _misread("transposes B with A", "B", _transposes("TRANSPOSE", "NONE")),
    "product-transposed": Fault(
        "transposes the product where both are transposed",
        stages=after(_PRODUCT, _by_columns),
        when=_transposes("TRANSPOSE", "TRANSPOSE"),
    ),
    "transposed-first-batch": Fault(
        "reads the first matrix of a transposed A in each batch",
        inputs=with_input("ATensor", lambda x: np.broadcast_to(x.reshape(-1, *x.shape[-2:])[0], x.shape)),
        when=_transposes("TRANSPOSE"),
    ),
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


def _factors(change: Callable[[float, float], tuple[float, float]]) -> Callable[[OperatorDesc], OperatorDesc]:
    return with_attributes(lambda fields: dict(zip(("Alpha", "Beta"), change(fields["Alpha"], fields["Beta"]), strict=True)))


def _without(name: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    return lambda desc, inputs: {other: x for other, x in inputs.items() if other != name}


def _scaled_c(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    return right + float(str(desc.fields["Beta"])) * inputs["CTensor"].astype("f8")


FACTORS: Faults = {
    **{name: Fault(does, desc=_factors(change)) for name, (does, change) in _FACTORS.items()},
    "alpha-added": Fault("adds Alpha", stages={"matrix.alpha": lambda right, xp, value, alpha: value + alpha}),
    "beta-added": Fault("adds Beta to C", stages={"matrix.beta": lambda right, xp, c, beta: c + beta}),
    "alpha-of-0-leaves-matrices-out": Fault(
        "does not read the matrices where Alpha is 0",
        stages={"matrix.alpha": lambda right, xp, value, alpha: right(xp, value, alpha) if alpha else np.zeros_like(value)},
    ),
    "beta-of-0-leaves-c-out": Fault(
        "does not read C where Beta is 0",
        stages={"matrix.beta": lambda right, xp, c, beta: right(xp, c, beta) if beta else np.zeros_like(c)},
    ),
    "c-of-first-row-alone": Fault(
        "adds C to the first row alone",
        inputs=with_input("CTensor", lambda c: c * (np.arange(c.shape[-2]) == 0)[:, None].astype(c.dtype)),
        when=has("CTensor"),
    ),
    "c-of-integers": Fault("cuts C to integers", inputs=with_input("CTensor", np.trunc), when=has("CTensor")),
    "c-after-activation": Fault(
        "adds C to what the activation gives", _scaled_c, inputs=_without("CTensor"), when=has("CTensor", "FusedActivation")
    ),
    "alpha-after-activation": Fault(
        "multiplies what the activation gives by Alpha",
        lambda desc, inputs, right: float(str(desc.fields["Alpha"])) * right.astype("f8"),
        desc=with_attributes(lambda fields: {"Alpha": 1.0}),
        when=has("FusedActivation"),
    ),
}


# Integers


def _extra_term(term: Callable[[Array, Array, Array, Array], tuple[Array, Array]]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """One more product in each sum, a column by a row, of A, its zero point, B, its zero point: what is off where zero points come off afterwards."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        a, a_point, b, b_point = (
            x.astype(np.int64) for name in "AB" for x in (right[f"{name}Tensor"], own(right, name, "ZeroPoint"))
        )
        column, row = term(a, a_point, b, b_point)
        column, row = np.broadcast_to(column, (*a.shape[:-1], 1)), np.broadcast_to(row, (*b.shape[:-2], 1, b.shape[-1]))
        differences = {name: difference(right, name) for name in "AB"}
        return with_differences(
            right, {"A": np.concatenate([differences["A"], column], -1), "B": np.concatenate([differences["B"], row], -2)}
        )

    return inputs


_EXTRA: Mapping[str, tuple[str, tuple[str, ...], Callable[[Array, Array, Array, Array], tuple[Array, Array]]]] = {
    "product-of-points-lost": (
        "leaves out the product of both zero points, where it takes them off afterwards",
        ("A", "B"),
        lambda a, p, b, q: (-a.shape[-1] * p, q),
    ),
    "product-of-points-once": (
        "counts the product of both zero points once, where it takes them off afterwards",
        ("A", "B"),
        lambda a, p, b, q: ((1 - a.shape[-1]) * p, q),
    ),
    "point-of-a-times-first-row": (
        "takes the zero point of A off with the first row of B alone",
        ("A",),
        lambda a, p, b, q: (p, b[..., 1:, :].sum(axis=-2, keepdims=True)),
    ),
    "point-of-b-times-first-column": (
        "takes the zero point of B off with the first column of A alone",
        ("B",),
        lambda a, p, b, q: (a[..., 1:].sum(axis=-1, keepdims=True), q),
    ),
}

INTEGERS: Faults = {
    **zero_points("A", "B"),
    **{
        name: Fault(does, inputs=_extra_term(term), when=has(*(f"{of}ZeroPointTensor" for of in points)))
        for name, (does, points, term) in _EXTRA.items()
    },
}
"""Of all products of integers."""


def _scaled_last(fault: Fault) -> Fault:
    """A fault of integer sums in MATRIX_MULTIPLY_INTEGER_TO_FLOAT, whose reference scales first: scales of 1, and the right ones at last."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        ones = {f"{name}ScaleTensor": np.ones_like(right[f"{name}ScaleTensor"]) for name in "AB"}
        return _without("BiasTensor")(desc, {**right, **ones})

    def value(desc: OperatorDesc, given: Inputs, right: Array) -> Array:
        return right * own(given, "A", "Scale").astype("f8") * own(given, "B", "Scale") + given.get("BiasTensor", 0.0)

    return replace(fault, value=value, inputs=inputs, when=_is_single)


def _is_single(desc: OperatorDesc) -> bool:
    return desc.tensor("AScaleTensor").data_type == "FLOAT32"


def _before_point(name: str) -> Fault:
    """The zero point taken off what is scaled: one in units of the scale."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        point = own(right, name, "ZeroPoint") / own(right, name, "Scale").astype("f8")
        return {**right, f"{name}ZeroPointTensor": point}

    return Fault(f"takes the zero point of {name} off what is scaled", inputs=inputs, when=has(f"{name}ZeroPointTensor"))


def _low_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {name: x.astype(x.dtype.kind + "1") if x.dtype.kind in "iu" else x for name, x in inputs.items()}


SCALED: Faults = {**scales("A", "B"), **{f"{name}-scaled-before-point": _before_point(name) for name in "AB"}}

TO_FLOAT: Faults = {
    **{name: _scaled_last(fault) for name, fault in of_integers(_PRODUCT, products).items()},
    "sums-of-32-bits": replace(
        _scaled_last(Fault("keeps 32 bits of a sum", stages=after(_PRODUCT, lambda sums: low_bits(sums, 32)))),
        types=("INT32", "UINT32"),
    ),
    "matrices-of-8-bits": Fault(
        "keeps 8 bits of wider integers",
        inputs=_low_bytes,
        when=lambda desc: not desc.tensor("ATensor").data_type.endswith("INT8"),
    ),
    "sums-truncated": Fault("cuts the product to integers", stages=after(_PRODUCT, np.trunc)),
    "product-in-float16": Fault("keeps the product in FLOAT16", stages=after(_PRODUCT, as_float16), when=_is_single),
    "bias-scaled": Fault(
        "multiplies the bias by the scales",
        inputs=lambda desc, inputs: {
            **inputs,
            "BiasTensor": inputs["BiasTensor"] * own(inputs, "A", "Scale") * own(inputs, "B", "Scale"),
        },
        when=has("BiasTensor"),
    ),
    "bias-of-integers": Fault("cuts the bias to integers", inputs=with_input("BiasTensor", np.trunc), when=has("BiasTensor")),
}

MULTIPLIED: Faults = {
    "addend-multiplied": Fault("multiplies by what it should add", stages={"matrix.add": lambda right, xp, value, c: value * c})
}

FAULTS: Table = {
    f"GEMM {_INTEGER} {_TO_FLOAT} {_QUANTIZED}": PRODUCTS,
    "GEMM": {**TRANSPOSITION, **FACTORS, **of_reals(_PRODUCT, products), **ACTIVATION},
    f"{_INTEGER} {_TO_FLOAT} {_QUANTIZED}": INTEGERS,
    f"{_INTEGER} {_QUANTIZED}": of_integers(_PRODUCT, products),
    _INTEGER: exact(_PRODUCT),
    f"{_TO_FLOAT} {_QUANTIZED}": SCALED,
    _TO_FLOAT: TO_FLOAT,
    f"GEMM {_TO_FLOAT}": MULTIPLIED,
    _QUANTIZED: {**scales("Output"), **RESCALE, **REQUANTIZE},
}
