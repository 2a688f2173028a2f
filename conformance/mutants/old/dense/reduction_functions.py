"""Faults of REDUCE, function by function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.reduction_places import KEYS, PLACES, Key, place
from dmlcts.conformance.mutants.old.dense.reduction_rows import of_rows, on_rows, row_axes, rows_of
from dmlcts.conformance.mutants.old.elsewise import computed_of, with_attributes
from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    HALF,
    INTEGERS,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Computed,
    Fault,
    as_signed,
)
from dmlcts.conformance.mutants.old.mutant import Array, Where
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

_WORDS = ("INT32", "UINT32")


def _of(*functions: str) -> Where:
    return lambda desc: desc.fields["Function"] in functions


def _as(function: str) -> Computed:
    """Another function."""
    return computed_of(with_attributes(lambda fields: {"Function": function}))


def _sum(rows: Array) -> Array:
    total: Array = rows.sum(axis=1)
    return total


def _one_after_another(dtype: str) -> Callable[[Array], Array]:
    """A sum whose steps round to a type."""

    def total(rows: Array) -> Array:
        sums: Array = np.cumsum(rows.astype(dtype), axis=1, dtype=dtype)
        return sums[:, -1].astype("f8")

    return total


def _whole(function: Callable[[Array], Any]) -> Computed:
    """Of integers in their own type, where they wrap around."""
    return of_rows(function, "")


def _padded(number: float, count: int) -> Callable[[Array], Array]:
    """Rows filled up to a multiple of ``count`` elements."""

    def change(rows: Array) -> Array:
        return np.pad(rows, ((0, 0), (0, -rows.shape[1] % count)), constant_values=rows.dtype.type(number))

    return change


def _named(function: str, faults: Mapping[str, tuple[str, Computed, tuple[str, ...]]]) -> dict[str, Fault]:
    """Faults of one function."""
    return {
        f"{function}/{name}": Fault(f"{does}, in {function}", computed, types, when=_of(function))
        for name, (does, computed, types) in faults.items()
    }


def _of_halves(rows: Array) -> Array:
    half = rows.shape[1] // 2
    first, second = (np.sqrt(_sum(part * part)) for part in (rows[:, :half], rows[:, half:]))
    return first + second


def _by_axis_count(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    count = max(len(row_axes(desc)), 1)
    return of_rows(lambda rows: _sum(rows) / count)(desc, inputs, right)


def _by_last_size(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
    axes = row_axes(desc)
    size = desc.tensor("InputTensor").sizes[axes[-1]] if axes else 1
    return of_rows(lambda rows: _sum(rows) / size)(desc, inputs, right)


_in_half = _one_after_another("f2")

_TAKEN_FOR = {
    "SUM": ("AVERAGE", "L1", "MAX", "SUM_SQUARE"),
    "AVERAGE": ("SUM", "MAX"),
    "L1": ("SUM", "L2", "MAX"),
    "L2": ("SUM_SQUARE", "L1"),
    "LOG_SUM": ("SUM", "LOG_SUM_EXP"),
    "LOG_SUM_EXP": ("LOG_SUM", "MAX"),
    "MULTIPLY": ("SUM", "SUM_SQUARE"),
    "SUM_SQUARE": ("SUM", "L1", "L2"),
    "MAX": ("MIN", "SUM"),
    "MIN": ("MAX", "SUM"),
}

_SUMS: Mapping[str, dict[str, tuple[str, Computed, tuple[str, ...]]]] = {
    "SUM": {
        "in-float16": ("adds up in FLOAT16", of_rows(_in_half), FLOATS),
        "in-bfloat16": (
            "rounds terms to 8 bits",
            of_rows(lambda r: _sum((r.astype("f4").view("u4") & np.uint32(0xFFFF0000)).view("f4"))),
            FLOATS,
        ),
        "saturates": ("keeps sums within the type", of_rows(_sum), _WORDS),
        "in-float32": ("adds up integers in FLOAT32", of_rows(lambda r: r.sum(axis=1, dtype="f4"), "f4"), WIDE),
        "in-float64": ("adds up 64-bit integers in FLOAT64", of_rows(_sum), LONG),
        "in-32-bits": ("adds up 32 bits of 64", _whole(lambda r: r.astype("u4").sum(axis=1, dtype="u4")), LONG),
        "halved": ("adds halves and doubles", of_rows(lambda r: 2 * _sum((r * 0.5).astype("f2").astype("f8"))), SINGLE),
        "begins-with-1": ("begins with 1", of_rows(lambda r: _sum(r) + 1), FLOATS),
        "rectified": ("passes over negative numbers", of_rows(lambda r: _sum(np.maximum(r, 0))), FLOATS),
        "within-float16": (
            "keeps the sums on the way within FLOAT16",
            of_rows(lambda r: np.minimum(_sum(np.maximum(r, 0)), 65504) + np.maximum(_sum(np.minimum(r, 0)), -65504)),
            HALF,
        ),
    },
    "AVERAGE": {
        "by-one-less": ("divides by one less", of_rows(lambda r: _sum(r) / max(r.shape[1] - 1, 1)), ()),
        "by-one-more": ("divides by one more", of_rows(lambda r: _sum(r) / (r.shape[1] + 1)), ()),
        "by-rows": ("divides by the number of rows", of_rows(lambda r: _sum(r) / len(r)), ()),
        "by-tensor": ("divides by the number of all elements", of_rows(lambda r: _sum(r) / r.size), ()),
        "by-AxisCount": ("divides by AxisCount", lambda desc, inputs, right: _by_axis_count(desc, inputs, right), ()),
        "by-last-size": (
            "divides by the size along the last of Axes",
            lambda desc, inputs, right: _by_last_size(desc, inputs, right),
            (),
        ),
        "by-multiple-of-4": (
            "divides by the length up to a multiple of 4",
            of_rows(lambda r: _sum(r) / (-(-r.shape[1] // 4) * 4)),
            (),
        ),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: _in_half(r) / r.shape[1]), ()),
        "share-in-float16": (
            "multiplies with a share in FLOAT16",
            of_rows(lambda r: _sum(r) * float(np.float16(1 / r.shape[1]))),
            SINGLE,
        ),
        "sum-in-float16": ("holds the sum as FLOAT16", of_rows(lambda r: _sum(r).astype("f2").astype("f8") / r.shape[1]), ()),
        "of-sizes": ("averages magnitudes", of_rows(lambda r: _sum(np.abs(r)) / r.shape[1]), ()),
        "without-zeros": (
            "divides by the number of elements that are not 0",
            of_rows(lambda r: _sum(r) / np.maximum((r != 0).sum(1), 1)),
            (),
        ),
        "middle": ("gives the middle between the extremes", of_rows(lambda r: (r.max(1) + r.min(1)) / 2), ()),
        "median": ("gives the median", of_rows(lambda r: np.median(r, axis=1)), ()),
    },
    "L1": {
        "of-sum": ("gives the sum's magnitude", of_rows(lambda r: np.abs(_sum(r))), FLOATS),
        "of-sum-of-integers": (
            "gives the sum's magnitude",
            _whole(lambda r: np.abs(r.sum(axis=1, dtype=r.dtype))),
            ("INT32", "INT64"),
        ),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: _in_half(np.abs(r))), FLOATS),
        "averaged": ("divides by the length", of_rows(lambda r: _sum(np.abs(r)) / r.shape[1]), FLOATS),
        "saturates": ("keeps sums within the type", of_rows(lambda r: _sum(np.abs(r))), _WORDS),
        "in-float32": ("adds up integers in FLOAT32", of_rows(lambda r: np.abs(r).sum(axis=1, dtype="f4"), "f4"), WIDE),
        "in-32-bits": ("adds up 32 bits of 64", _whole(lambda r: np.abs(as_signed(r)).astype("u4").sum(axis=1, dtype="u4")), LONG),
        "signed": (
            "takes unsigned numbers for signed ones",
            _whole(lambda r: np.abs(as_signed(r)).sum(axis=1, dtype=as_signed(r).dtype)),
            UNSIGNED,
        ),
        "unsigned": ("takes signed numbers for unsigned ones", _whole(lambda r: r.sum(axis=1, dtype=r.dtype)), SIGNED),
        "complemented": (
            "takes the complement for the negative",
            _whole(lambda r: np.where(r < 0, ~r, r).sum(axis=1, dtype=r.dtype)),
            SIGNED,
        ),
    },
    "L2": {
        "root-of-sum": ("gives the root of the sum's magnitude", of_rows(lambda r: np.sqrt(np.abs(_sum(r)))), ()),
        "averaged": ("gives the root of the average square", of_rows(lambda r: np.sqrt(_sum(r * r) / r.shape[1])), ()),
        "of-differences": (
            "takes off the average first",
            of_rows(lambda r: np.sqrt(_sum((r - r.mean(1, keepdims=True)) ** 2))),
            (),
        ),
        "squares-in-float16": ("holds squares as FLOAT16", of_rows(lambda r: np.sqrt(_sum((r * r).astype("f2").astype("f8")))), ()),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: np.sqrt(_in_half(r * r))), ()),
        "sum-in-float16": ("holds the sum as FLOAT16", of_rows(lambda r: np.sqrt(_sum(r * r).astype("f2").astype("f8"))), ()),
        "halved": ("gives half", of_rows(lambda r: np.sqrt(_sum(r * r)) / 2), ()),
        "largest": ("gives the largest magnitude", of_rows(lambda r: np.abs(r).max(1)), ()),
        "of-parts-added": ("adds the roots of both halves of a row", of_rows(_of_halves), ()),
        "steadied": ("adds 1e-5 under the root", of_rows(lambda r: np.sqrt(_sum(r * r) + 1e-5)), ()),
        "reciprocal": ("gives the reciprocal root", of_rows(lambda r: 1 / np.sqrt(_sum(r * r))), ()),
    },
    "LOG_SUM": {
        "base-2": ("takes the logarithm to base 2", of_rows(lambda r: np.log2(_sum(r))), ()),
        "base-10": ("takes the logarithm to base 10", of_rows(lambda r: np.log10(_sum(r))), ()),
        "logarithms-added": ("adds the elements' logarithms", of_rows(lambda r: _sum(np.log(np.abs(r)))), ()),
        "of-sizes": ("adds magnitudes", of_rows(lambda r: np.log(_sum(np.abs(r)))), ()),
        "of-magnitude": ("takes the sum's magnitude", of_rows(lambda r: np.log(np.abs(_sum(r)))), ()),
        "one-more": ("adds 1 to the sum", of_rows(lambda r: np.log1p(_sum(r))), ()),
        "steadied": ("adds 0.001 to the sum", of_rows(lambda r: np.log(_sum(r) + 0.001)), ()),
        "averaged": ("takes the average", of_rows(lambda r: np.log(_sum(r) / r.shape[1])), ()),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: np.log(_in_half(r))), ()),
        "sum-in-float16": ("holds the sum as FLOAT16", of_rows(lambda r: np.log(_sum(r).astype("f2").astype("f8"))), ()),
        "at-least-0": ("gives no number below 0", of_rows(lambda r: np.maximum(np.log(_sum(r)), 0)), ()),
    },
    "LOG_SUM_EXP": {
        "base-2": ("takes 2 for e", of_rows(lambda r: np.log2(_sum(np.exp2(r)))), ()),
        "logarithm-to-2": ("takes the logarithm to base 2", of_rows(lambda r: np.log2(_sum(np.exp(r)))), ()),
        "without-logarithm": ("gives the sum of exponentials", of_rows(lambda r: _sum(np.exp(r))), ()),
        "of-sum": ("takes the exponential of the sum", of_rows(_sum), ()),
        "averaged": ("averages the exponentials", of_rows(lambda r: np.log(_sum(np.exp(r)) / r.shape[1])), ()),
        "one-more": ("adds 1 to the sum", of_rows(lambda r: np.log1p(_sum(np.exp(r)))), ()),
        "largest-left-off": (
            "takes off the largest and does not add it again",
            of_rows(lambda r: np.log(_sum(np.exp(r - r.max(1, keepdims=True))))),
            (),
        ),
        "largest-of-tensor": (
            "takes off the tensor's largest, in FLOAT32",
            of_rows(lambda r: r.max() + np.log(_sum(np.exp((r - r.max()).astype("f4")).astype("f8")))),
            (),
        ),
        "exponentials-in-float16": (
            "holds exponentials as FLOAT16",
            of_rows(lambda r: np.log(_sum(np.exp(r).astype("f2").astype("f8")))),
            (),
        ),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: np.log(_in_half(np.exp(r)))), ()),
        "sum-in-float16": ("holds the sum as FLOAT16", of_rows(lambda r: np.log(_sum(np.exp(r)).astype("f2").astype("f8"))), ()),
        "small-left-out": (
            "leaves out what is 8 below the largest",
            of_rows(lambda r: np.log(_sum(np.where(r < r.max(1, keepdims=True) - 8, 0, np.exp(r))))),
            (),
        ),
        "at-least-0": ("gives no number below 0", of_rows(lambda r: np.maximum(np.log(_sum(np.exp(r))), 0)), ()),
    },
    "MULTIPLY": {
        "of-sizes": ("loses the sign", of_rows(lambda r: np.abs(r.prod(axis=1))), FLOATS),
        "in-float16": ("multiplies in FLOAT16", of_rows(lambda r: np.cumprod(r.astype("f2"), axis=1, dtype="f2")[:, -1]), FLOATS),
        "in-logarithms": ("adds logarithms", of_rows(lambda r: np.exp(_sum(np.log(r)))), FLOATS),
        "by-logarithms": (
            "adds logarithms of magnitudes, in FLOAT32",
            of_rows(lambda r: np.prod(np.sign(r), axis=1) * np.exp(np.log(np.abs(r)).sum(axis=1, dtype="f4")), "f4"),
            SINGLE,
        ),
        "zeros-passed-over": ("passes over zeros", of_rows(lambda r: np.where(r == 0, 1, r).prod(axis=1)), FLOATS),
        "zeros-of-integers-passed-over": (
            "passes over zeros",
            _whole(lambda r: np.where(r == 0, 1, r).prod(axis=1, dtype=r.dtype)),
            INTEGERS,
        ),
        "begins-with-0": ("begins with 0", of_rows(lambda r: 0 * r[:, 0]), ()),
        "saturates": ("keeps products within the type", of_rows(lambda r: r.prod(axis=1)), WIDE),
        "in-32-bits": ("multiplies 32 bits of 64", _whole(lambda r: r.astype("u4").prod(axis=1, dtype="u4")), LONG),
        "in-float32": ("multiplies integers in FLOAT32", of_rows(lambda r: r.prod(axis=1, dtype="f4"), "f4"), WIDE),
        "averaged": ("gives the geometric mean", of_rows(lambda r: np.abs(r.prod(axis=1)) ** (1 / r.shape[1])), FLOATS),
    },
    "SUM_SQUARE": {
        "square-of-sum": ("squares the sum", of_rows(lambda r: _sum(r) ** 2), FLOATS),
        "square-of-sum-of-integers": ("squares the sum", _whole(lambda r: r.sum(axis=1, dtype=r.dtype) ** 2), INTEGERS),
        "of-differences": ("takes off the average first", of_rows(lambda r: _sum((r - r.mean(1, keepdims=True)) ** 2)), FLOATS),
        "averaged": ("averages the squares", of_rows(lambda r: _sum(r * r) / r.shape[1]), FLOATS),
        "with-sign": ("keeps the sign of each element", of_rows(lambda r: _sum(r * np.abs(r))), FLOATS),
        "squares-in-float16": ("holds squares as FLOAT16", of_rows(lambda r: _sum((r * r).astype("f2").astype("f8"))), FLOATS),
        "in-float16": ("adds up in FLOAT16", of_rows(lambda r: _in_half(r * r)), FLOATS),
        "saturates": ("keeps sums within the type", of_rows(lambda r: _sum(r * r)), WIDE),
        "in-32-bits": ("squares 32 bits of 64", _whole(lambda r: (r.astype("u4") ** 2).sum(axis=1, dtype="u4")), LONG),
        "squares-in-32-bits": (
            "squares 32 bits of 64 and adds up 64",
            _whole(lambda r: (r.astype("u4") ** 2).sum(axis=1, dtype="u8")),
            LONG,
        ),
        "doubled": ("doubles", of_rows(lambda r: _sum(2 * r)), FLOATS),
    },
}


# MIN and MAX


def _is_largest(desc: OperatorDesc) -> bool:
    return desc.fields["Function"] == "MAX"


def _of_extreme(function: Callable[[Array, bool], Any]) -> Computed:
    """Of the rows in their own type, and of whether the largest is looked for."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        return np.asarray(function(rows_of(desc, inputs["InputTensor"]), _is_largest(desc))).reshape(right.shape)

    return computed


def _by_key(key: Key) -> Computed:
    """The element whose key is the extreme one."""
    return _of_extreme(lambda rows, largest: np.take_along_axis(rows, place(key(rows), largest, False)[:, None], axis=1)[:, 0])


def _extreme(rows: Array, largest: bool) -> Array:
    found: Array = (np.max if largest else np.min)(rows, axis=1)
    return found


def _second(rows: Array, largest: bool) -> Array:
    """The extreme but one of a row, of one that has two elements."""
    ordered = np.sort(rows, axis=1)
    found: Array = ordered[:, (-2 if largest else 1) if rows.shape[1] > 1 else 0]
    return found


def _beside_nan(number: float) -> Callable[[Array, bool], Array]:
    """The extreme with a number for NaN."""
    return lambda rows, largest: _extreme(np.where(np.isnan(rows), rows.dtype.type(number), rows), largest)


def _finite(rows: Array, largest: bool) -> Array:
    least = rows.dtype.type(np.finfo(rows.dtype).min if largest else np.finfo(rows.dtype).max)
    return _extreme(np.where(np.isfinite(rows), rows, least), largest)


_EXTREMES: Mapping[str, Fault] = {
    **{name: Fault(does, _by_key(key), types) for name, (does, key, types) in KEYS.items()},
    "magnitude": Fault(
        "gives the extreme of magnitudes", _of_extreme(lambda r, largest: _extreme(np.abs(r), largest)), FLOATS + SIGNED
    ),
    "begins-with-0": Fault("begins with 0", _of_extreme(lambda r, largest: _extreme(np.pad(r, ((0, 0), (1, 0))), largest))),
    "first": Fault("gives the first element", _of_extreme(lambda r, largest: r[:, 0])),
    "last": Fault("gives the last element", _of_extreme(lambda r, largest: r[:, -1])),
    "second": Fault("gives the extreme but one", _of_extreme(_second)),
    "place": Fault("gives the place of the extreme", _of_extreme(lambda r, largest: place(r, largest, False))),
    "through-float16": Fault(
        "gives the extreme as FLOAT16", _of_extreme(lambda r, largest: _extreme(r, largest).astype("f2")), SINGLE
    ),
    "nan-kept": Fault("gives NaN where there is one", _of_extreme(_extreme), FLOATS, basis=MEASURED),
    "nan-as-zero": Fault("takes NaN for 0", _of_extreme(_beside_nan(0)), FLOATS, basis=MEASURED),
    "largest-number-of-none": Fault(
        "begins with the largest number instead of an infinity", _of_extreme(_finite), FLOATS, basis=MEASURED
    ),
}


# Of several functions

_SEVERAL: Mapping[str, Fault] = {
    **{
        f"filled-up-to-{count}": Fault(
            f"fills rows up with zeros to a multiple of {count}",
            on_rows(_padded(0, count)),
            when=_of("MAX", "MIN", "MULTIPLY", "AVERAGE", "LOG_SUM_EXP", "ARGMAX", "ARGMIN"),
        )
        for count in (2, 4, 64)
    },
    "first-twice": Fault(
        "begins with the first element and takes it again",
        on_rows(lambda rows: np.concatenate([rows[:, :1], rows], axis=1)),
        when=_of("SUM", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MULTIPLY", "SUM_SQUARE"),
    ),
}


def _faults() -> Iterator[tuple[str, Fault]]:
    yield from _SEVERAL.items()
    for function, others in _TAKEN_FOR.items():
        for other in others:
            real = other in ("AVERAGE", "L2", "LOG_SUM", "LOG_SUM_EXP")
            yield (
                f"{function}-as-{other}",
                Fault(f"computes {other} for {function}", _as(other), FLOATS if real else (), when=_of(function)),
            )
    for function, named in _SUMS.items():
        yield from _named(function, named).items()
    for function in ("MAX", "MIN"):
        for name, fault in _EXTREMES.items():
            yield f"{function}/{name}", replace(fault, does=f"{fault.does}, in {function}", when=_of(function))
    for function in ("ARGMAX", "ARGMIN"):
        for name, fault in PLACES.items():
            yield f"{function}/{name}", replace(fault, does=f"{fault.does}, in {function}", when=_both(_of(function), fault.when))


def _both(one: Where, other: Where | None) -> Where:
    return one if other is None else lambda desc: one(desc) and other(desc)


FUNCTIONS: Mapping[str, Fault] = dict(_faults())
"""Of REDUCE."""
