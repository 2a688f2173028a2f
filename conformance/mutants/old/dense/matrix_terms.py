"""What faults of matrix products are made of: the factors, how their products are added, and what is made of the sums.

All four operators come down to two factors of real numbers, (..., M, K) and (..., K, N): GEMM's as they are multiplied, integers less their
zero points. A fault changes the inputs, the factors, how their products are added, or what is done to the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.convolution_terms import activated, real
from dmlcts.conformance.mutants.old.dense.normalization_parts import number
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array, Where
from dmlcts.spec.desc import OperatorDesc

GEMM, INTEGER, TO_FLOAT = "GEMM", "MATRIX_MULTIPLY_INTEGER", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"
QUANTIZED = "QUANTIZED_LINEAR_MATRIX_MULTIPLY"

Inputs = Mapping[str, Array]

Factors = tuple[Array, Array]

Change = Callable[[Array, Array], Factors]

Added = Callable[[Array, Array], Array]
"""The sums of two factors."""

Finish = Callable[[OperatorDesc, Inputs, Array], Any]
"""(operator desc, inputs, sums) -> the output."""


def has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def own(inputs: Inputs, name: str) -> Array:
    """A tensor in FLOAT64, in no more dimensions than the matrices have; 0 where it is absent."""
    array, count = real(inputs, name), inputs["ATensor"].ndim
    return array.reshape(array.shape[max(0, array.ndim - count) :])


def factors_of(desc: OperatorDesc, inputs: Inputs) -> Factors:
    """The right factors."""
    a, b = (
        real(inputs, f"{name}Tensor").swapaxes(*((-1, -2) if desc.fields.get(f"Trans{name}") == "TRANSPOSE" else (-1, -1)))
        for name in ("A", "B")
    )
    return a - own(inputs, "AZeroPointTensor"), b - own(inputs, "BZeroPointTensor")


def added(a: Array, b: Array) -> Array:
    """The right sums."""
    found: Array = np.matmul(a, b)
    return found


def one_by_one(add: Callable[[Array, Array], Array], dtype: str = "f8") -> Added:
    """Sums by a function of the sum so far and the next product."""

    def sums(a: Array, b: Array) -> Array:
        a, b = a.astype(dtype), b.astype(dtype)
        total: Array = np.zeros((*a.shape[:-1], b.shape[-1]), dtype)
        for term in range(a.shape[-1]):
            total = add(total, a[..., :, term, None] * b[..., term, None, :]).astype(dtype)
        return total.astype(np.float64)

    return sums


def scaled(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    """GEMM: Alpha times the sums and Beta times C, activated."""
    return activated(desc, number(desc, "Alpha") * sums + number(desc, "Beta") * real(inputs, "CTensor"))


def dequantized(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    """MATRIX_MULTIPLY_INTEGER_TO_FLOAT: scaled, with the bias."""
    return sums * own(inputs, "AScaleTensor") * own(inputs, "BScaleTensor") + real(inputs, "BiasTensor")


def quotient(inputs: Inputs, sums: Array) -> Array:
    """QUANTIZED_LINEAR_MATRIX_MULTIPLY: the sums in units of the output's scale."""
    return sums * own(inputs, "AScaleTensor") * own(inputs, "BScaleTensor") / own(inputs, "OutputScaleTensor")


def quantized(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    """QUANTIZED_LINEAR_MATRIX_MULTIPLY: scaled, rounded, moved by the zero point; saturated when it is stored."""
    return np.rint(np.where(np.isnan(q := quotient(inputs, sums)), 0, q)) + own(inputs, "OutputZeroPointTensor")


_FINISHES: Mapping[str, Finish] = {
    GEMM: scaled,
    INTEGER: lambda desc, inputs, sums: sums,
    TO_FLOAT: dequantized,
    QUANTIZED: quantized,
}


def right_finish(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Any:
    """What the operator makes of its sums."""
    return _FINISHES[desc.type](desc, inputs, sums)


def of_factors(change: Change, add: Added = added, finish: Finish = right_finish) -> Computed:
    """Of changed factors, added up otherwise, or with something else made of the sums."""
    return lambda desc, inputs, right: finish(desc, inputs, add(*change(*factors_of(desc, inputs))))


def of_sums(finish: Finish = right_finish, add: Added = added) -> Computed:
    """With something else made of the sums, or these added otherwise."""
    return of_factors(lambda a, b: (a, b), add, finish)


def of_inputs(change: Callable[[Inputs], Inputs], finish: Finish = right_finish) -> Computed:
    """Of changed inputs, of whatever numeric types."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        changed = change(inputs)
        return finish(desc, changed, added(*factors_of(desc, changed)))

    return computed


def replaced(change: Callable[[Array], Array], *names: str) -> Computed:
    """These tensors changed when they are read."""
    return of_inputs(lambda inputs: {name: change(x) if name in names else x for name, x in inputs.items()})


def without(name: str) -> Computed:
    """A tensor taken to be absent."""
    return of_inputs(lambda inputs: {other: x for other, x in inputs.items() if other != name})


def by_columns(x: Array) -> Array:
    """A matrix whose memory is read column after column."""
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]).swapaxes(-1, -2)


def of_first_batch(x: Array) -> Array:
    """The first batch's matrix, for all."""
    return np.broadcast_to(x.reshape(-1, *x.shape[-2:])[0], x.shape)


def _of_next_batch(x: Array) -> Array:
    return np.roll(x.reshape(-1, *x.shape[-2:]), -1, axis=0).reshape(x.shape)


def _transposed_batches(x: Array) -> Array:
    """The matrices with their two leading dimensions in the other order in memory."""
    return x.swapaxes(0, 1).reshape(x.shape) if x.ndim == 4 else x


def _terms(keep: Callable[[int], slice]) -> Change:
    """Only some of the products of a sum."""

    def change(a: Array, b: Array) -> Factors:
        kept = keep(a.shape[-1])
        return a[..., kept], b[..., kept, :]

    return change


def _zero_beyond(count: int, axis: int) -> Added:
    """Sums of which those beyond so many rows or columns are not computed."""

    def sums(a: Array, b: Array) -> Array:
        found = np.moveaxis(added(a, b), axis, 0)
        found[count:] = 0
        return np.moveaxis(found, 0, axis)

    return sums


def _changed(change: Callable[[Array], Array]) -> Added:
    """Sums written otherwise."""
    return lambda a, b: change(added(a, b))


_FACTORS: Mapping[str, tuple[str, Change]] = {
    "last-term-lost": ("leaves out the last product of a sum", _terms(lambda count: slice(count - 1))),
    "first-term-lost": ("leaves out the first product of a sum", _terms(lambda count: slice(1, count))),
    **{
        f"rest-of-{n}-lost": (
            f"leaves out the products that are left of a division by {n}",
            _terms(lambda count, n=n: slice(count // n * n or count)),  # type: ignore[misc]
        )
        for n in (2, 4, 16)
    },
    **{f"{n}-terms-at-most": (f"adds up {n} products at most", _terms(lambda count, n=n: slice(n))) for n in (16, 64, 256)},  # type: ignore[misc]
    "terms-reversed": ("takes the rows of B from the last on", lambda a, b: (a, b[..., ::-1, :])),
    "terms-next": ("takes the next row of B", lambda a, b: (a, np.roll(b, -1, axis=-2))),
    "rows-reversed": ("takes the rows of A from the last on", lambda a, b: (a[..., ::-1, :], b)),
    "rows-next": ("takes the next row of A", lambda a, b: (np.roll(a, -1, axis=-2), b)),
    "rows-of-first": ("takes the first row of A for each", lambda a, b: (np.broadcast_to(a[..., :1, :], a.shape), b)),
    "columns-reversed": ("takes the columns of B from the last on", lambda a, b: (a, b[..., ::-1])),
    "columns-next": ("takes the next column of B", lambda a, b: (a, np.roll(b, -1, axis=-1))),
    "columns-of-first": ("takes the first column of B for each", lambda a, b: (a, np.broadcast_to(b[..., :1], b.shape))),
    "a-by-columns": ("reads A column after column", lambda a, b: (by_columns(a), b)),
    "b-by-columns": ("reads B column after column", lambda a, b: (a, by_columns(b))),
    "a-of-first-batch": ("takes the first matrix A in each batch", lambda a, b: (of_first_batch(a), b)),
    "b-of-first-batch": ("takes the first matrix B in each batch", lambda a, b: (a, of_first_batch(b))),
    "a-of-first-outer-batch": (
        "takes the first batch's matrices A in each",
        lambda a, b: (np.broadcast_to(a[:1], a.shape) if a.ndim > 2 else a, b),
    ),
    "b-of-first-outer-batch": (
        "takes the first batch's matrices B in each",
        lambda a, b: (a, np.broadcast_to(b[:1], b.shape) if b.ndim > 2 else b),
    ),
    "b-of-first-inner-batch": (
        "takes the first channel's matrix B in each",
        lambda a, b: (a, np.broadcast_to(b[:, :1], b.shape) if b.ndim > 3 else b),
    ),
    "b-of-next-batch": ("takes the next batch's matrix B", lambda a, b: (a, _of_next_batch(b))),
    "b-batches-transposed": ("takes the leading dimensions of B in the other order", lambda a, b: (a, _transposed_batches(b))),
    "a-batches-transposed": ("takes the leading dimensions of A in the other order", lambda a, b: (_transposed_batches(a), b)),
    "magnitudes": ("adds up magnitudes", lambda a, b: (np.abs(a), np.abs(b))),
    "b-without-sign": ("loses the sign in B", lambda a, b: (a, np.abs(b))),
}

_SUMS: Mapping[str, tuple[str, Added]] = {
    "by-columns": ("writes the product column after column", _changed(by_columns)),
    "of-first-batch": ("writes the first batch's product in each", _changed(of_first_batch)),
    "last-row-lost": ("computes no last row", _zero_beyond(-1, -2)),
    "last-column-lost": ("computes no last column", _zero_beyond(-1, -1)),
    "rows-beyond-16-lost": ("computes 16 rows at most", _zero_beyond(16, -2)),
    "rows-beyond-32-lost": ("computes 32 rows at most", _zero_beyond(32, -2)),
    "columns-beyond-16-lost": ("computes 16 columns at most", _zero_beyond(16, -1)),
    "columns-beyond-64-lost": ("computes 64 columns at most", _zero_beyond(64, -1)),
    "last-batch-lost": (
        "leaves out the last batch",
        _changed(lambda sums: np.where(np.arange(len(sums)).reshape(-1, *[1] * (sums.ndim - 1)) < len(sums) - 1, sums, 0)),
    ),
    "element-by-element": (
        "multiplies element by element where both matrices have the same sizes",
        lambda a, b: a * b if a.shape == b.shape else added(a, b),
    ),
    "factors-exchanged": (
        "multiplies square matrices in the other order",
        lambda a, b: added(b, a) if a.shape == b.shape else added(a, b),
    ),
}

PRODUCTS: Mapping[str, Fault] = {
    **{name: Fault(does, of_factors(change)) for name, (does, change) in _FACTORS.items()},
    **{name: Fault(does, of_sums(add=add)) for name, (does, add) in _SUMS.items()},
}
"""Faults of any matrix product: terms, rows, columns, batches, sizes."""
