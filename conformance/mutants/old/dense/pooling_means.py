"""Faults of averages, of Lp norms, and of averages of quantized numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.pooling_windows import DIVISORS, PLACES, UNDILATED, Divisor, Place, as_it_is, slid
from dmlcts.conformance.mutants.old.fault import SINGLE, Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.conformance.mutants.old.rounding import ROUNDINGS
from dmlcts.reference.pooling.windows import divisors, inside
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import DOCUMENTED, MEASURED

_X = "InputTensor"
_XS, _XP, _YS, _YP = "InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"


def _divisors(desc: OperatorDesc) -> Array:
    found: Array = divisors(np, desc)
    return found


def _quotient(total: Array, divisor: Array | float) -> Array:
    found: Array = total / np.asarray(divisor, np.float64)
    return found


def _rooted(total: Array, power: int) -> Array:
    found: Array = np.asarray(total, np.float64) ** (1 / power)
    return found


# Averages


def _average(dtype: str = "f8", place: Place = as_it_is, divisor: Divisor = _divisors) -> Computed:
    return lambda desc, inputs, right: _quotient(slid(desc, inputs[_X].astype(dtype), np.add, 0, place), divisor(desc))


def _divided_first(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    """Sums of elements divided beforehand, in FLOAT16."""
    return slid(desc, (inputs[_X].astype("f8") / float(np.max(_divisors(desc)))).astype("f2"), np.add, 0)


def _nan_as_zero(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    x = inputs[_X].astype("f8")
    return _quotient(slid(desc, np.where(np.isnan(x), 0, x), np.add, 0), _divisors(desc))


def _averages(dilated: bool) -> dict[str, Fault]:
    return {
        **{name: Fault(does, _average(place=place)) for name, (does, place) in PLACES.items()},
        **{
            name: Fault(does, _average(divisor=divisor))
            for name, (does, divisor) in DIVISORS.items()
            if dilated or name not in UNDILATED
        },
        "sums-in-float16": Fault("adds up in FLOAT16", _average("f2"), SINGLE),
        "divided-first": Fault("divides elements in FLOAT16 before it adds them up", _divided_first, SINGLE),
        "largest": Fault("gives the largest element", lambda desc, inputs, right: slid(desc, inputs[_X], np.maximum, -np.inf)),
        "of-magnitudes": Fault(
            "takes magnitudes",
            lambda desc, inputs, right: _quotient(slid(desc, np.abs(inputs[_X]).astype("f8"), np.add, 0), _divisors(desc)),
        ),
        "nan-passed-over": Fault("takes NaN for 0 in its sums", _nan_as_zero, basis=MEASURED),
    }


AVERAGE: Mapping[str, Fault] = _averages(dilated=False)
AVERAGE_DILATED: Mapping[str, Fault] = _averages(dilated=True)


# Norms


def _p(desc: OperatorDesc) -> int:
    found = desc.fields["P"]
    assert isinstance(found, int)
    return found


def _norm(
    power: Callable[[int], int] = lambda p: p,
    root: Callable[[int], int] = lambda p: p,
    dtype: str = "f8",
    place: Place = as_it_is,
    divisor: Divisor = lambda desc: 1.0,
) -> Computed:
    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        terms = np.abs(inputs[_X].astype("f8")) ** power(_p(desc))
        return _rooted(_quotient(slid(desc, terms.astype(dtype), np.add, 0, place), divisor(desc)), root(_p(desc)))

    return computed


def _lower(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    """Powers of elements that are at most 1."""
    return _rooted(slid(desc, np.minimum(np.abs(inputs[_X].astype("f8")), 1) ** _p(desc), np.add, 0), _p(desc))


def _added_to_one(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    return _rooted(slid(desc, np.abs(inputs[_X].astype("f8")) ** _p(desc), np.add, 0) + 1e-3, _p(desc))


NORM: Mapping[str, Fault] = {
    **{name: Fault(does, _norm(place=place)) for name, (does, place) in PLACES.items()},
    "root-forgotten": Fault("takes no root", _norm(root=lambda p: 1)),
    "root-square": Fault("takes the square root whatever P is", _norm(root=lambda p: 2)),
    "power-forgotten": Fault("takes no power", _norm(power=lambda p: 1)),
    "power-square": Fault("takes squares whatever P is", _norm(power=lambda p: 2)),
    "P-lost": Fault("takes 2 for P", _norm(lambda p: 2, lambda p: 2)),
    "P-one": Fault("takes 1 for P", _norm(lambda p: 1, lambda p: 1)),
    "P-one-more": Fault("takes one more for P", _norm(lambda p: p + 1, lambda p: p + 1)),
    "P-at-most-2": Fault("takes no more than 2 for P", _norm(lambda p: min(p, 2), lambda p: min(p, 2))),
    "P-at-most-3": Fault("takes no more than 3 for P", _norm(lambda p: min(p, 3), lambda p: min(p, 3))),
    "averaged": Fault("divides sums by the number of elements", _norm(divisor=lambda desc: np.maximum(inside(np, desc), 1))),
    "sums-in-float16": Fault("adds up in FLOAT16", _norm(dtype="f2"), SINGLE),
    "largest": Fault("gives the largest magnitude", lambda desc, i, right: slid(desc, np.abs(i[_X]), np.maximum, 0)),
    "at-most-1": Fault("takes elements for 1 at most", _lower),
    "epsilon": Fault("adds 0.001 to sums", _added_to_one),
    "even-P-with-signs": Fault(
        "keeps signs of even powers",
        lambda desc, inputs, right: _rooted(
            np.maximum(slid(desc, np.copysign(np.abs(inputs[_X].astype("f8")) ** _p(desc), inputs[_X]), np.add, 0), 0), _p(desc)
        ),
        when=lambda desc: _p(desc) % 2 == 0,
    ),
}


# Quantized averages


def _clipped(value: Array, dtype: np.dtype[Any]) -> Array:
    info = np.iinfo(dtype)
    found: Array = np.clip(np.nan_to_num(value), info.min, info.max)
    return found


def _wrapped(value: Array, dtype: np.dtype[Any]) -> Array:
    found: Array = np.clip(np.nan_to_num(value), -(2.0**62), 2.0**62).astype(np.int64).astype(dtype)
    return found


def _as_they_are(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
    return inputs


def _rounded(value: Array, point: Array, dtype: np.dtype[Any]) -> Array:
    return _clipped(np.rint(value) + point, dtype)


@dataclass(frozen=True, slots=True)
class Quantized:
    """The average in steps, each of which may be another than the right one.

    ``terms`` makes what is added up of elements and zero point; with ``raw_padding``, padding counts as bytes of 0.
    """

    read: Callable[[Mapping[str, Array]], Mapping[str, Array]] = _as_they_are
    terms: Callable[[Array, Array], Array] = lambda x, point: x - point
    place: Place = as_it_is
    raw_padding: bool = False
    total: Callable[[Array], Array] = lambda total: total
    divisor: Divisor = _divisors
    mean: Callable[[Array], Array] = lambda mean: mean
    scaled: Callable[[Array, Array, Array], Array] = lambda mean, scale, out: mean * scale / out
    stored: Callable[[Array, Array, np.dtype[Any]], Array] = _rounded

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        read = self.read(inputs)
        zero = np.zeros((1,) * right.ndim)
        point, out_point = (read[name].astype("f8") if name in read else zero for name in (_XP, _YP))
        total = slid(desc, self.terms(read[_X].astype("f8"), point), np.add, 0, self.place)
        if self.raw_padding and desc.fields["IncludePadding"]:
            total = total - point * (divisors(np, desc) - inside(np, desc))
        mean = self.mean(_quotient(self.total(total), self.divisor(desc)))
        return self.stored(self.scaled(mean, read[_XS].astype("f8"), read[_YS].astype("f8")), out_point, right.dtype)


def _reading(change: Callable[[Mapping[str, Array]], Mapping[str, Array]]) -> Computed:
    return Quantized(read=change)


def _without(name: str) -> Computed:
    return _reading(lambda inputs: {other: x for other, x in inputs.items() if other != name})


def _changed(name: str, change: Callable[[Array], Array]) -> Computed:
    return _reading(lambda inputs: {**inputs, name: change(inputs[name])} if name in inputs else inputs)


def _exchanged(one: str, other: str) -> Computed:
    def change(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        return {**{n: x for n, x in inputs.items() if n not in (one, other)}, **_swap(inputs, one, other)}

    return _reading(change)


def _swap(inputs: Mapping[str, Array], one: str, other: str) -> dict[str, Array]:
    return {a: inputs[b] for a, b in ((one, other), (other, one)) if b in inputs}


def _other_sign(x: Array) -> Array:
    return x.view({"i": "u1", "u": "i1"}[x.dtype.kind])


def _first(x: Array) -> Array:
    return x[:, :1]


_STORED: Mapping[str, tuple[str, Callable[[Array, Array, np.dtype[Any]], Array]]] = {
    "saturation-lost": ("wraps around", lambda value, point, dtype: _wrapped(np.rint(value) + point, dtype)),
    "saturated-before-zero-point": (
        "saturates before it adds the zero point",
        lambda value, point, dtype: _wrapped(_clipped(np.rint(value), dtype) + point, dtype),
    ),
    "saturated-as-signed": (
        "saturates between -128 and 127",
        lambda value, point, dtype: _wrapped(np.clip(np.nan_to_num(np.rint(value) + point), -128, 127), dtype),
    ),
    "saturated-as-unsigned": (
        "saturates between 0 and 255",
        lambda value, point, dtype: _wrapped(np.clip(np.nan_to_num(np.rint(value) + point), 0, 255), dtype),
    ),
    "lowest-unused": (
        "gives no -128, and no 0",
        lambda value, point, dtype: np.maximum(_rounded(value, point, dtype), float(np.iinfo(dtype).min) + 1),
    ),
    "output-zero-point-subtracted": ("subtracts OutputZeroPointTensor", lambda value, point, dtype: _rounded(value, -point, dtype)),
}

_NEAREST = ("away", "half-up", "half-down", "half-inward", "half-odd")

QUANTIZED: Mapping[str, Fault] = {
    **{name: Fault(does, Quantized(place=place)) for name, (does, place) in PLACES.items()},
    **{name: Fault(does, Quantized(divisor=divisor)) for name, (does, divisor) in DIVISORS.items()},
    **{name: Fault(does, Quantized(stored=stored)) for name, (does, stored) in _STORED.items()},
    **{
        f"rounds-{name}": Fault(
            f"rounds {does}",
            Quantized(stored=lambda value, point, dtype, rounding=rounding: _clipped(rounding(value) + point, dtype)),  # type: ignore[misc]
            basis=MEASURED if name in _NEAREST else DOCUMENTED,
        )
        for name, (does, rounding) in ROUNDINGS.items()
        if name != "even"
    },
    "rounded-with-zero-point": Fault(
        "rounds after it adds the zero point",
        Quantized(stored=lambda value, point, dtype: _clipped(np.rint(value + point), dtype)),
        basis=MEASURED,
    ),
    **{f"{name}-lost": Fault(f"takes no notice of {name}", _without(name)) for name in (_XP, _YP)},
    **{f"{name}-one": Fault(f"takes {name} for 1", _changed(name, np.ones_like)) for name in (_XS, _YS)},
    **{
        f"{name}-of-first-channel": Fault(f"takes the first channel's {name} for all", _changed(name, _first))
        for name in (_XS, _XP, _YS, _YP)
    },
    **{
        f"{name}-of-next-channel": Fault(f"takes the next channel's {name}", _changed(name, lambda x: np.roll(x, -1, axis=1)))
        for name in (_XS, _XP, _YS, _YP)
    },
    **{f"{name}-of-other-sign": Fault(f"reads {name} with the other sign", _changed(name, _other_sign)) for name in (_X, _XP, _YP)},
    **{f"{name}-in-float16": Fault(f"reads {name} in FLOAT16", _changed(name, lambda x: x.astype("f2"))) for name in (_XS, _YS)},
    "scales-exchanged": Fault("exchanges the scales", _exchanged(_XS, _YS)),
    "zero-points-exchanged": Fault("exchanges the zero points", _exchanged(_XP, _YP)),
    "scale-multiplied": Fault("multiplies by the output's scale", Quantized(scaled=lambda mean, scale, out: mean * scale * out)),
    "scale-divided": Fault("divides by the input's scale", Quantized(scaled=lambda mean, scale, out: mean / scale / out)),
    "scale-twice": Fault("multiplies by the input's scale twice", Quantized(scaled=lambda mean, scale, out: mean * scale**2 / out)),
    "quotient-of-scales-in-float16": Fault(
        "divides the scales in FLOAT16", Quantized(scaled=lambda mean, scale, out: mean * (scale / out).astype("f2"))
    ),
    "zero-point-added": Fault("adds InputZeroPointTensor", Quantized(terms=lambda x, point: x + point)),
    "zero-point-wraps": Fault(
        "keeps 8 bits of a difference", Quantized(terms=lambda x, point: (x - point).astype(np.int64).astype(np.int8).astype("f8"))
    ),
    "difference-saturated": Fault(
        "saturates differences at 8 bits", Quantized(terms=lambda x, point: np.clip(x - point, -128, 127))
    ),
    "sums-of-16-bits": Fault("keeps 16 bits of a sum", Quantized(total=lambda t: t.astype(np.int64).astype(np.int16).astype("f8"))),
    "sums-saturated": Fault("saturates a sum at 16 bits", Quantized(total=lambda total: np.clip(total, -32768, 32767))),
    "mean-rounded": Fault("rounds the mean before it scales it", Quantized(mean=np.rint)),
    "mean-truncated": Fault("cuts the mean before it scales it", Quantized(mean=np.trunc)),
    "padding-of-zero-bytes": Fault("pads with bytes of 0", Quantized(raw_padding=True), basis=MEASURED),
}
