"""Faults of products of integers: zero points, signs, widths, scales, biases, and how they are quantized."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.matrix_terms import (
    Added,
    Inputs,
    added,
    by_columns,
    factors_of,
    has,
    of_factors,
    of_first_batch,
    of_inputs,
    of_sums,
    one_by_one,
    own,
    quotient,
    replaced,
    right_finish,
    without,
)
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.conformance.mutants.old.rounding import ROUNDINGS
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import DOCUMENTED, MEASURED

_AP, _BP, _YP = "AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor"
_AS, _BS, _YS = "AScaleTensor", "BScaleTensor", "OutputScaleTensor"
_BIAS = "BiasTensor"


def _other_sign(x: Array) -> Array:
    """Integers with a sign as integers without, and the reverse."""
    return x.view({"i": "u", "u": "i"}[x.dtype.kind] + str(x.dtype.itemsize))


def _next(x: Array) -> Array:
    return np.roll(x.reshape(-1), -1).reshape(x.shape)


def _reversed(x: Array) -> Array:
    return x.reshape(-1)[::-1].reshape(x.shape)


def _first(x: Array) -> Array:
    return np.full_like(x, x.flat[0])


def _last(x: Array) -> Array:
    return np.full_like(x, x.flat[-1])


_PLACES: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "of-first": ("takes the first element for each of", _first),
    "of-last": ("takes the last element for each of", _last),
    "of-next": ("takes the next element of", _next),
    "reversed": ("goes from the last element on in", _reversed),
}


def _several(name: str) -> Callable[[OperatorDesc], bool]:
    """Whether the desc has a tensor of more than one element."""
    return lambda desc: has(name)(desc) and desc.tensor(name).count > 1


def _misplaced(*names: str) -> dict[str, Fault]:
    return {
        f"{name}-{place}": Fault(f"{does} {name}", replaced(change, name), when=_several(name))
        for name in names
        for place, (does, change) in _PLACES.items()
    }


def _read_for(name: str, other: str) -> Computed:
    """The first element of one tensor read for all of another."""

    def change(inputs: Inputs) -> Inputs:
        if name not in inputs or other not in inputs:
            return inputs
        x = inputs[name]
        return {**inputs, name: np.full_like(x, inputs[other].reshape(-1)[:1].view(x.dtype)[0])}

    return of_inputs(change)


def _exchanged(one: str, other: str) -> Computed:
    """The first elements of two tensors, each read for the other."""

    def change(inputs: Inputs) -> Inputs:
        if one not in inputs or other not in inputs:
            return inputs
        a, b = inputs[one], inputs[other]
        return {
            **inputs,
            one: np.full_like(a, b.reshape(-1)[:1].view(a.dtype)[0]),
            other: np.full_like(b, a.reshape(-1)[:1].view(b.dtype)[0]),
        }

    return of_inputs(change)


# Zero points and widths


def _wrapped(x: Array, dtype: Any) -> Array:
    return x.astype(np.int64).astype(dtype).astype(np.float64)


def _limited(x: Array, dtype: Any) -> Array:
    return np.clip(x, np.iinfo(dtype).min, np.iinfo(dtype).max)


def _differences(change: Callable[[Array, Any], Array], name: str) -> Computed:
    """The differences of a matrix and its zero point, changed before they are multiplied."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        a, b = factors_of(desc, inputs)
        dtype = inputs[f"{name}Tensor"].dtype
        return right_finish(desc, inputs, added(change(a, dtype), b) if name == "A" else added(a, change(b, dtype)))

    return computed


def _corrected(correction: Callable[[Array, Array, Array, Array], Array]) -> Computed:
    """Wrong by a function of the matrices and their zero points."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        a, b = (own(inputs, f"{name}Tensor") for name in ("A", "B"))
        p, q = (own(inputs, name) for name in (_AP, _BP))
        return right_finish(desc, inputs, added(a - p, b - q) + correction(a, p, b, q))

    return computed


def _pairs_saturated(a: Array, b: Array) -> Array:
    """Two products at a time, whose sum saturates at 16 bits, as some instructions add them."""
    total: Array = np.zeros((*a.shape[:-1], b.shape[-1]))
    for first in range(0, a.shape[-1], 2):
        total = total + _limited(added(a[..., first : first + 2], b[..., first : first + 2, :]), np.int16)
    return total


def _short(x: Array) -> Array:
    return _wrapped(x, np.int16)


_ADDED: Mapping[str, tuple[str, Added]] = {
    "products-of-16-bits": ("keeps 16 bits of a product", one_by_one(lambda total, p: total + _short(p))),
    "products-saturated": ("saturates products at 16 bits", one_by_one(lambda total, p: total + _limited(p, np.int16))),
    "pairs-saturated": ("saturates the sum of two products at 16 bits", _pairs_saturated),
    "sums-of-16-bits": ("keeps 16 bits of a sum", lambda a, b: _short(added(a, b))),
    "sums-saturated": ("saturates a sum at 16 bits", lambda a, b: _limited(added(a, b), np.int16)),
}

POINTS: Mapping[str, Fault] = {
    **{f"{name}-lost": Fault(f"takes no notice of {name}", without(name), when=has(name)) for name in (_AP, _BP)},
    **{
        f"{name}-added": Fault(f"adds {name}", replaced(lambda x: -x.astype(np.int64), name), when=has(name)) for name in (_AP, _BP)
    },
    **{
        f"{name}-of-other-sign": Fault(f"reads {name} with the other sign", replaced(_other_sign, name), when=has(name))
        for name in ("ATensor", "BTensor", _AP, _BP)
    },
    **_misplaced(_AP, _BP),
    "points-exchanged": Fault("exchanges the zero points", _exchanged(_AP, _BP), when=has(_AP, _BP)),
    "point-of-b-for-a": Fault("takes the zero point of B for that of A", _read_for(_AP, _BP), when=has(_AP, _BP)),
    "point-of-a-for-b": Fault("takes the zero point of A for that of B", _read_for(_BP, _AP), when=has(_AP, _BP)),
    "product-of-points-lost": Fault(
        "leaves out the product of both zero points, where it takes them off afterwards",
        _corrected(lambda a, p, b, q: -a.shape[-1] * p * q),
        when=has(_AP, _BP),
    ),
    "product-of-points-once": Fault(
        "counts the product of both zero points once, where it takes them off afterwards",
        _corrected(lambda a, p, b, q: (1 - a.shape[-1]) * p * q),
        when=has(_AP, _BP),
    ),
    "point-of-a-times-first-row": Fault(
        "takes the zero point of A off with the first row of B alone",
        _corrected(lambda a, p, b, q: p * b[..., 1:, :].sum(axis=-2, keepdims=True)),
        when=has(_AP),
    ),
    "point-of-b-times-first-column": Fault(
        "takes the zero point of B off with the first column of A alone",
        _corrected(lambda a, p, b, q: q * a[..., 1:].sum(axis=-1, keepdims=True)),
        when=has(_BP),
    ),
    **{
        f"{name}-{how}": Fault(f"{does} {name}", _differences(change, name), when=has(f"{name}ZeroPointTensor"))
        for name in ("A", "B")
        for how, does, change in (
            ("difference-wraps", "subtracts the zero point in the type of", _wrapped),
            ("difference-saturates", "saturates in its type what is left of", _limited),
            ("difference-at-least-0", "takes 0 for what lies below the zero point in", lambda x, dtype: np.maximum(x, 0)),
        )
    },
    **{
        f"{name}-low-bit-lost": Fault(f"leaves out the lowest bit of {name}", replaced(lambda x: x & ~x.dtype.type(1), name))
        for name in ("ATensor", "BTensor")
    },
    **{name: Fault(does, of_sums(add=add)) for name, (does, add) in _ADDED.items()},
}
"""Of all operators on integers."""


# Scales


def _float16(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float64)


SCALES: Mapping[str, Fault] = {
    **{f"{name}-lost": Fault(f"takes no notice of {name}", replaced(np.ones_like, name)) for name in (_AS, _BS)},
    **{f"{name}-twice": Fault(f"multiplies by {name} twice", replaced(np.square, name)) for name in (_AS, _BS)},
    **{f"{name}-divides": Fault(f"divides by {name}", replaced(np.reciprocal, name)) for name in (_AS, _BS)},
    **{f"{name}-without-sign": Fault(f"loses the sign of {name}", replaced(np.abs, name)) for name in (_AS, _BS)},
    **_misplaced(_AS, _BS),
    "scale-of-b-for-a": Fault("takes the scale of B for that of A", _read_for(_AS, _BS)),
    "scale-of-a-for-b": Fault("takes the scale of A for that of B", _read_for(_BS, _AS)),
    "scales-in-steps-of-64ths": Fault(
        "keeps scales in steps of 1/64", replaced(lambda x: np.rint(np.float64(64) * x) / 64, _AS, _BS)
    ),
    "A-scaled-before-point": Fault(
        "takes the zero point of A off what is scaled",
        lambda desc, inputs, right: right_finish(
            desc,
            {**inputs, _AS: np.ones_like(inputs[_AS])},
            added(own(inputs, "ATensor") * own(inputs, _AS) - own(inputs, _AP), own(inputs, "BTensor") - own(inputs, _BP)),
        ),
        when=has(_AP),
    ),
    "B-scaled-before-point": Fault(
        "takes the zero point of B off what is scaled",
        lambda desc, inputs, right: right_finish(
            desc,
            {**inputs, _BS: np.ones_like(inputs[_BS])},
            added(own(inputs, "ATensor") - own(inputs, _AP), own(inputs, "BTensor") * own(inputs, _BS) - own(inputs, _BP)),
        ),
        when=has(_BP),
    ),
}
"""Of both operators with scales."""

_SINGLE_ONLY: Callable[[OperatorDesc], bool] = lambda desc: desc.tensor(_AS).data_type == "FLOAT32"  # noqa: E731

_BIASES: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "bias-lost": ("adds no bias", np.zeros_like),
    "bias-subtracted": ("subtracts the bias", np.negative),
    "bias-twice": ("adds the bias twice", lambda c: 2 * c),
    "bias-of-first-row": ("adds the first row of the bias to each", lambda c: np.broadcast_to(c[..., :1, :], c.shape)),
    "bias-of-first-column": ("adds the first column of the bias to each", lambda c: np.broadcast_to(c[..., :1], c.shape)),
    "bias-of-first-batch": ("adds the first batch's bias in each", of_first_batch),
    "bias-by-columns": ("reads the bias column after column", by_columns),
    "bias-next": ("adds the next element of the bias", _next),
    "bias-without-sign": ("loses the bias's sign", np.abs),
    "bias-of-integers": ("cuts the bias to integers", np.trunc),
}


def _of_bias(value: Callable[[Array, Array, Array], Array]) -> Computed:
    """What is made of the sums, the scales' product and the bias."""

    def finish(desc: OperatorDesc, inputs: Inputs, sums: Array) -> Array:
        return value(sums, own(inputs, _AS) * own(inputs, _BS), own(inputs, _BIAS))

    return of_sums(finish)


BIASES: Mapping[str, Fault] = {
    **{name: Fault(does, replaced(change, _BIAS), when=has(_BIAS)) for name, (does, change) in _BIASES.items()},
    "bias-scaled": Fault("multiplies the bias by the scales", _of_bias(lambda s, scale, c: (s + c) * scale), when=has(_BIAS)),
    "bias-multiplied": Fault("multiplies by the bias", _of_bias(lambda s, scale, c: s * scale * c), when=has(_BIAS)),
    "sums-truncated": Fault("cuts results to integers", _of_bias(lambda s, scale, c: np.trunc(s * scale) + c)),
    "scale-in-float16": Fault(
        "multiplies the scales in FLOAT16", _of_bias(lambda s, scale, c: s * _float16(scale) + c), when=_SINGLE_ONLY
    ),
    "product-in-float16": Fault(
        "keeps the product in FLOAT16", _of_bias(lambda s, scale, c: _float16(s * scale) + c), when=_SINGLE_ONLY
    ),
    "sums-in-float16": Fault("adds up in FLOAT16", of_sums(add=one_by_one(lambda total, p: total + p, "f2")), when=_SINGLE_ONLY),
    "matrices-of-8-bits": Fault(
        "keeps 8 bits of wider integers",
        replaced(lambda x: x.astype("i1" if x.dtype.kind == "i" else "u1"), "ATensor", "BTensor", _AP, _BP),
        when=lambda desc: not desc.tensor("ATensor").data_type.endswith("INT8"),
    ),
    "sums-of-32-bits": Fault(
        "keeps 32 bits of a sum",
        of_factors(lambda a, b: (a, b), lambda a, b: (added(a, b) + 2.0**31) % 2.0**32 - 2.0**31),
        when=lambda desc: desc.tensor("ATensor").data_type in ("INT32", "UINT32"),
    ),
}
"""Of MATRIX_MULTIPLY_INTEGER_TO_FLOAT."""


# Quantization

Ending = Callable[[Array, Array, Array], Any]
"""(what is rounded, the output's zero point, the right output) -> the output."""


def _end(ending: Ending) -> Computed:
    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        q = quotient(inputs, added(*factors_of(desc, inputs)))
        return ending(q, own(inputs, _YP), right)

    return computed


def _number(q: Array) -> Array:
    return np.where(np.isnan(q), 0, q)


def _low_byte(x: Array) -> Array:
    """As integers whose low byte is kept."""
    return np.clip(_number(x), -(2.0**62), 2.0**62).astype(np.int64)


def _of_type(name: str) -> Callable[[OperatorDesc], bool]:
    return lambda desc: desc.tensor("OutputTensor").data_type == name


_ENDS: Mapping[str, tuple[str, Ending]] = {
    "wraps": ("does not saturate", lambda q, point, right: _low_byte(np.rint(q) + point)),
    "at-least-point": ("gives no less than the zero point", lambda q, point, right: np.maximum(np.rint(_number(q)), 0) + point),
    "at-most-point": ("gives no more than the zero point", lambda q, point, right: np.minimum(np.rint(_number(q)), 0) + point),
    "off-by-one": ("gives 1 more", lambda q, point, right: np.rint(_number(q)) + point + 1),
}

_POINT_ENDS: Mapping[str, tuple[str, Ending]] = {
    "output-point-lost": ("takes no notice of the output's zero point", lambda q, point, right: np.rint(_number(q))),
    "output-point-subtracted": ("subtracts the output's zero point", lambda q, point, right: np.rint(_number(q)) - point),
    "saturates-before-point": (
        "saturates before it adds the zero point",
        lambda q, point, right: _limited(np.rint(_number(q)), right.dtype) + point,
    ),
    "wraps-behind-point": (
        "saturates before it adds the zero point, and wraps around then",
        lambda q, point, right: _low_byte(_limited(np.rint(_number(q)), right.dtype) + point),
    ),
    "output-point-before-scale": (
        "takes the output's zero point for one in units of 1/2",
        lambda q, point, right: np.rint(_number(q)) + np.trunc(point / 2),
    ),
}

_NAN: Mapping[str, tuple[str, Ending]] = {
    "nan-as-0": ("gives 0 for NaN", lambda q, point, right: np.where(np.isnan(q), 0, np.rint(_number(q)) + point)),
    "nan-as-least": ("gives the least number for NaN", lambda q, point, right: np.rint(np.where(np.isnan(q), -np.inf, q)) + point),
    "nan-as-largest": (
        "gives the largest number for NaN",
        lambda q, point, right: np.rint(np.where(np.isnan(q), np.inf, q)) + point,
    ),
    "point-before-rounding": ("adds the zero point before it rounds", lambda q, point, right: np.rint(_number(q) + point)),
}

QUANTIZATION: Mapping[str, Fault] = {
    **_misplaced(_YS, _YP),
    f"{_YS}-lost": Fault(f"takes no notice of {_YS}", replaced(np.ones_like, _YS)),
    f"{_YS}-multiplied": Fault(f"multiplies by {_YS}", replaced(np.reciprocal, _YS)),
    f"{_YS}-without-sign": Fault(f"loses the sign of {_YS}", replaced(np.abs, _YS)),
    f"{_YP}-of-other-sign": Fault(f"reads {_YP} with the other sign", replaced(_other_sign, _YP), when=has(_YP)),
    "output-scale-of-a": Fault("takes the scale of A for the output's", _read_for(_YS, _AS)),
    "output-scale-of-b": Fault("takes the scale of B for the output's", _read_for(_YS, _BS)),
    "output-point-of-a": Fault("takes the zero point of A for the output's", _read_for(_YP, _AP), when=has(_AP, _YP)),
    "output-point-of-b": Fault("takes the zero point of B for the output's", _read_for(_YP, _BP), when=has(_BP, _YP)),
    **{name: Fault(does, _end(end)) for name, (does, end) in _ENDS.items()},
    **{name: Fault(does, _end(end), when=has(_YP)) for name, (does, end) in _POINT_ENDS.items()},
    **{name: Fault(does, _end(end), basis=MEASURED) for name, (does, end) in _NAN.items()},
    "saturates-at-127": Fault(
        "saturates symmetrically",
        _end(lambda q, point, right: np.maximum(np.rint(_number(q)) + point, -127)),
        when=_of_type("INT8"),
    ),
    "saturates-as-signed": Fault(
        "saturates UINT8 at 127", _end(lambda q, point, right: np.clip(np.rint(_number(q)) + point, 0, 127)), when=_of_type("UINT8")
    ),
    **{
        f"rounds-{name}": Fault(
            f"rounds {does}",
            _end(lambda q, point, right, rounded=rounded: rounded(_number(q)) + point),  # type: ignore[misc]
            basis=MEASURED if name.startswith(("half", "away")) else DOCUMENTED,
        )
        for name, (does, rounded) in ROUNDINGS.items()
        if name != "even"
    },
}
"""Of QUANTIZED_LINEAR_MATRIX_MULTIPLY."""
