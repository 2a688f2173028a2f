"""Faults of GEMM: transposition, factors, the third matrix, the activation, precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dmlcts.conformance.mutants.old.dense.convolution_terms import activated, real
from dmlcts.conformance.mutants.old.dense.matrix_terms import (
    Added,
    Inputs,
    added,
    by_columns,
    has,
    of_factors,
    of_first_batch,
    of_sums,
    one_by_one,
    replaced,
)
from dmlcts.conformance.mutants.old.dense.normalization_parts import number
from dmlcts.conformance.mutants.old.fault import FLOATS, HALF, SINGLE, Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array, Where
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

_has_c = has("CTensor")
_has_activation = has("FusedActivation")

Ending = Callable[[Array, Array, float, float], Array]
"""(sums, C, Alpha, Beta) -> what is activated."""


def _ended(ending: Ending) -> Computed:
    def finish(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
        c = np.broadcast_to(real(inputs, "CTensor"), sums.shape)
        return activated(desc, ending(sums, c, number(desc, "Alpha"), number(desc, "Beta")))

    return of_sums(finish)


def _transforms(a: str, b: str) -> Where:
    return lambda desc: (desc.fields["TransA"], desc.fields["TransB"]) == (a, b)


def _transposed(name: str) -> Where:
    return lambda desc: desc.fields[f"Trans{name}"] == "TRANSPOSE"


def _half(x: Array | float) -> Array:
    return np.asarray(x).astype(np.float16).astype(np.float64)


def _with_c(change: Callable[[Array], Array]) -> Ending:
    return lambda sums, c, alpha, beta: alpha * sums + beta * change(c)


_ALPHA: Mapping[str, tuple[str, Ending]] = {
    "alpha-lost": ("takes no notice of Alpha", lambda s, c, alpha, beta: s + beta * c),
    "alpha-twice": ("multiplies by Alpha twice, once for each matrix", lambda s, c, alpha, beta: alpha * alpha * s + beta * c),
    "alpha-added": ("adds Alpha", lambda s, c, alpha, beta: s + alpha + beta * c),
    "alpha-without-sign": ("loses Alpha's sign", lambda s, c, alpha, beta: abs(alpha) * s + beta * c),
    "alpha-of-integers": ("cuts Alpha to an integer", lambda s, c, alpha, beta: np.trunc(alpha) * s + beta * c),
    "alpha-of-0-for-1": ("takes an Alpha of 0 for none", lambda s, c, alpha, beta: (alpha or 1) * s + beta * c),
    "alpha-for-beta": ("multiplies C by Alpha in place of Beta", lambda s, c, alpha, beta: alpha * (s + c)),
    "alpha-of-c-too": ("multiplies C by Alpha, too", lambda s, c, alpha, beta: alpha * (s + beta * c)),
    "alpha-and-beta-exchanged": ("exchanges Alpha and Beta", lambda s, c, alpha, beta: beta * s + alpha * c),
}

_BETA: Mapping[str, tuple[str, Ending]] = {
    "beta-lost": ("takes no notice of Beta", lambda s, c, alpha, beta: alpha * s + c),
    "beta-of-product-too": ("multiplies the product by Beta, too", lambda s, c, alpha, beta: beta * (alpha * s + c)),
    "beta-added": ("adds Beta to C", lambda s, c, alpha, beta: alpha * s + (c + beta)),
    "beta-without-sign": ("loses Beta's sign", lambda s, c, alpha, beta: alpha * s + abs(beta) * c),
    "beta-of-integers": ("cuts Beta to an integer", lambda s, c, alpha, beta: alpha * s + np.trunc(beta) * c),
    "beta-of-0-for-1": ("takes a Beta of 0 for none", lambda s, c, alpha, beta: alpha * s + (beta or 1) * c),
    "beta-and-1": ("multiplies C by 1 + Beta", lambda s, c, alpha, beta: alpha * s + (1 + beta) * c),
    "c-lost": ("adds no C", lambda s, c, alpha, beta: alpha * s),
    "c-subtracted": ("subtracts C", lambda s, c, alpha, beta: alpha * s - beta * c),
    "c-multiplied": ("multiplies by C", lambda s, c, alpha, beta: alpha * s * beta * c),
    "c-of-first-row": ("adds the first row of C to each", _with_c(lambda c: c[..., :1, :])),
    "c-of-first-column": ("adds the first column of C to each", _with_c(lambda c: c[..., :1])),
    "c-of-first-element": ("adds the first element of C to each", _with_c(lambda c: c[..., :1, :1])),
    "c-of-first-batch": ("adds the first batch's C in each", _with_c(of_first_batch)),
    "c-by-columns": ("reads C column after column", _with_c(by_columns)),
    "c-of-first-row-alone": (
        "adds C to the first row alone",
        _with_c(lambda c: c * (np.arange(c.shape[-2]) == 0)[:, None]),
    ),
    "c-twice": ("adds C twice", lambda s, c, alpha, beta: alpha * s + 2 * beta * c),
    "c-in-place-of-product": ("takes C alone where Alpha is not 1", lambda s, c, alpha, beta: s * (alpha == 1) + beta * c),
}

_ALONE: Mapping[str, tuple[str, Ending]] = {
    "beta-of-0-leaves-c-out": (
        "does not read C where Beta is 0",
        lambda s, c, alpha, beta: alpha * s + (beta * c if beta else 0),
    ),
}


def _of_magnitude(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return activated(desc, np.abs(_linear(desc, inputs, sums)))


def _linear(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return number(desc, "Alpha") * sums + number(desc, "Beta") * real(inputs, "CTensor")


def _c_last(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return activated(desc, number(desc, "Alpha") * sums) + number(desc, "Beta") * real(inputs, "CTensor")


def _alpha_last(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return number(desc, "Alpha") * activated(desc, sums + number(desc, "Beta") * real(inputs, "CTensor"))


def _twice(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return activated(desc, activated(desc, _linear(desc, inputs, sums)))


def _alpha_of_0(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
    return activated(desc, _linear(desc, inputs, sums if number(desc, "Alpha") else np.zeros_like(sums)))


_ENDS: Mapping[str, Fault] = {
    **{name: Fault(does, _ended(ending), when=lambda desc: number(desc, "Alpha") != 1) for name, (does, ending) in _ALPHA.items()},
    **{name: Fault(does, _ended(ending), when=_has_c) for name, (does, ending) in _BETA.items()},
    **{name: Fault(does, _ended(ending), basis=MEASURED, when=_has_c) for name, (does, ending) in _ALONE.items()},
    "alpha-of-0-leaves-matrices-out": Fault(
        "does not read the matrices where Alpha is 0",
        of_sums(_alpha_of_0),
        basis=MEASURED,
        when=lambda desc: number(desc, "Alpha") == 0,
    ),
    "activation-lost": Fault("does not activate", of_sums(_linear), when=_has_activation),
    "activation-of-magnitude": Fault("activates the magnitude", of_sums(_of_magnitude), when=_has_activation),
    "activation-twice": Fault("activates twice", of_sums(_twice), when=_has_activation),
    "activation-before-c": Fault(
        "adds C to what the activation gives", of_sums(_c_last), when=lambda desc: _has_activation(desc) and _has_c(desc)
    ),
    "activation-before-alpha": Fault("multiplies what the activation gives by Alpha", of_sums(_alpha_last), when=_has_activation),
}

_TRANSFORMS: Mapping[str, Fault] = {
    "TransA-unseen": Fault(
        "reads A as if it were not transposed", of_factors(lambda a, b: (by_columns(a), b)), when=_transposed("A")
    ),
    "TransB-unseen": Fault(
        "reads B as if it were not transposed", of_factors(lambda a, b: (a, by_columns(b))), when=_transposed("B")
    ),
    "both-ignored": Fault(
        "transposes nothing where both are transposed",
        of_factors(lambda a, b: (by_columns(a), by_columns(b))),
        when=_transforms("TRANSPOSE", "TRANSPOSE"),
    ),
    "one-for-both": Fault(
        "transposes B with A", of_factors(lambda a, b: (a, by_columns(b))), when=_transforms("TRANSPOSE", "NONE")
    ),
    "product-transposed": Fault(
        "transposes the product where both are transposed",
        of_sums(add=lambda a, b: by_columns(added(a, b))),
        when=_transforms("TRANSPOSE", "TRANSPOSE"),
    ),
    "transposed-first-batch": Fault(
        "takes the first batch of a transposed A in each", of_factors(lambda a, b: (of_first_batch(a), b)), when=_transposed("A")
    ),
}


def _cut(digits: int) -> Callable[[Array], Array]:
    """FLOAT32 with so many digits behind the first."""
    mask = np.uint32(0xFFFFFFFF << (23 - digits) & 0xFFFFFFFF)
    return lambda x: (np.ascontiguousarray(x, np.float32).view(np.uint32) & mask).view(np.float32)


def _nan_passed_over(total: Array, product: Array) -> Array:
    return total + np.where(np.isnan(product), 0, product)


def _through_half(a: Array, b: Array) -> Array:
    return _half(added(a, b))


def _fast(a: Array, b: Array) -> Array:
    """As by Strassen's way: what is lost is of the size of the largest sum."""
    sums = added(a, b)
    most = np.max(np.abs(sums), axis=(-1, -2), keepdims=True, initial=0, where=np.isfinite(sums))
    return np.where(np.isfinite(sums), sums + most * 2.0**-16, sums)


_ADDED: Mapping[str, tuple[str, Added, tuple[str, ...]]] = {
    "sums-in-float16": ("adds up in FLOAT16", one_by_one(lambda total, p: total + p, "f2"), SINGLE),
    "sums-of-float16-in-float16": ("adds up FLOAT16 in FLOAT16", one_by_one(lambda total, p: total + p, "f2"), HALF),
    "products-in-float16": ("multiplies in FLOAT16", one_by_one(lambda total, p: total + _half(p)), SINGLE),
    "product-in-float16": ("keeps the product of the matrices in FLOAT16", _through_half, SINGLE),
    "error-of-largest": ("is off by a part of the largest sum", _fast, SINGLE),
}

_NUMBERS: Mapping[str, Fault] = {
    **{name: Fault(does, of_sums(add=add), types) for name, (does, add, types) in _ADDED.items()},
    "10-digits": Fault("reads FLOAT32 with 10 digits", replaced(_cut(10), "ATensor", "BTensor"), SINGLE),
    "7-digits": Fault("reads FLOAT32 with 7 digits", replaced(_cut(7), "ATensor", "BTensor"), SINGLE),
    "b-in-float16": Fault("reads B as FLOAT16", replaced(_half, "BTensor"), SINGLE),
    "c-in-float16": Fault("reads C as FLOAT16", replaced(_half, "CTensor"), SINGLE, when=_has_c),
    "c-of-integers": Fault("cuts C to integers", replaced(np.trunc, "CTensor"), when=_has_c),
    "alpha-in-float16": Fault("takes Alpha for FLOAT16", _ended(lambda s, c, alpha, beta: _half(alpha) * s + beta * c), SINGLE),
    "beta-in-float16": Fault(
        "takes Beta for FLOAT16", _ended(lambda s, c, alpha, beta: alpha * s + _half(beta) * c), SINGLE, when=_has_c
    ),
    "nan-passed-over": Fault(
        "passes over products that are NaN", of_sums(add=one_by_one(_nan_passed_over)), FLOATS, basis=MEASURED
    ),
}

NUMBERS: Mapping[str, Fault] = {**_TRANSFORMS, **_ENDS, **_NUMBERS}
"""Faults of GEMM alone."""
