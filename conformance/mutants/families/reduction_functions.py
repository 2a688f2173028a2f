"""Faults of the functions of REDUCE. Those of rows and of places are in ``reduction``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.reduction import KEYS, signed
from dmlcts.conformance.mutants.fault import (
    FLOATS,
    HALF,
    INTEGERS,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    Where,
    as_float16,
    roundings,
    with_attributes,
)
from dmlcts.reference.answer import Answer
from dmlcts.reference.reduction.rows import axes_of
from dmlcts.spec.desc import OperatorDesc

Rows = Mapping[str, tuple[str, Callable[..., Any], tuple[str, ...]]]
"""By label: what it does, what is computed, for which data types."""


def _is(*functions: str) -> Where:
    return lambda desc: desc.fields["Function"] in functions


def _faults(functions: str, stage: str, instead: Callable[[Callable[..., Any]], Callable[..., Any]], rows: Rows) -> Faults:
    """Faults of a stage in some functions; ``instead`` makes what is computed into what the stage is replaced by."""
    names = functions.split()
    return {
        f"{names[0]}/{label}" if len(names) == 1 else label: Fault(
            f"{does}, in {' and '.join(names)}", types=types, stages={f"reduction.{stage}": instead(change)}, when=_is(*names)
        )
        for label, (does, change, types) in rows.items()
    }


def _total(functions: str, rows: Rows) -> Faults:
    """Of the terms, another total."""
    return _faults(functions, "total", lambda change: lambda right, xp, terms: change(terms), rows)


def _terms(functions: str, rows: Rows) -> Faults:
    """Of the elements, other terms."""
    return _faults(functions, "terms", lambda change: lambda right, xp, x, function: change(x), rows)


def _finish(functions: str, rows: Mapping[str, tuple[str, Callable[[Array, int], Any]]]) -> Faults:
    """Of the total and the number of terms, another result."""
    given = {label: (*row, ()) for label, row in rows.items()}
    return _faults(functions, "finish", lambda change: lambda right, xp, total, count, function: change(total, count), given)


def _sum(x: Array) -> Array:
    total: Array = x.sum(axis=-1, dtype=x.dtype)
    return total


def _in(dtype: str, join: Callable[..., Array] = np.cumsum) -> Callable[[Array], Array]:
    """One after another, each step in a type."""
    return lambda terms: join(terms.astype(dtype), axis=-1, dtype=dtype)[..., -1]


def _within(join: Callable[..., Any] = np.sum) -> Callable[[Array], Array]:
    """Integers that saturate."""

    def change(terms: Array) -> Array:
        info = np.iinfo(terms.dtype)
        exact = join(terms, axis=-1, dtype="f8")
        wrapped = join(terms, axis=-1, dtype=terms.dtype)
        return np.where(exact > info.max, info.max, np.where(exact < info.min, info.min, wrapped)).astype(terms.dtype)

    return change


def _centered(x: Array) -> Array:
    return (x - x.mean(axis=-1, keepdims=True)) ** 2


def _halves_added(squares: Array) -> Array:
    half = squares.shape[-1] // 2
    return (np.sqrt(_sum(squares[..., :half])) + np.sqrt(_sum(squares[..., half:]))) ** 2


# Sums

_SUMS = "SUM AVERAGE L1 L2 LOG_SUM SUM_SQUARE"
_WHOLE = "SUM L1 SUM_SQUARE"

_TOTALS: Faults = {
    **roundings("totals", "reduction.total"),
    **_total(
        _SUMS,
        {
            "sums-in-float16": ("adds up in FLOAT16", lambda terms: _in("f2")(terms).astype("f8"), FLOATS),
            "sums-begin-with-1": ("begins with 1", lambda terms: _sum(terms) + 1, FLOATS),
            "first-twice": ("adds the first element twice", lambda terms: _sum(terms) + terms[..., 0], ()),
        },
    ),
    **_total(
        _WHOLE,
        {
            "sums-saturate": ("keeps sums within the type", _within(), WIDE),
            "sums-in-float32": ("adds up integers in FLOAT32", _in("f4"), WIDE),
            "sums-in-float64": ("adds up 64-bit integers in FLOAT64", _in("f8"), LONG),
            "sums-in-32-bits": ("adds up 32 bits of 64", _in("u4"), LONG),
            "sums-averaged": ("divides by the length", lambda terms: _sum(terms) / terms.shape[-1], FLOATS),
        },
    ),
    **_total(
        "SUM",
        {
            "halved": ("adds halves in FLOAT16 and doubles", lambda x: 2 * _sum(as_float16(x / 2)), SINGLE),
            "rectified": ("passes over negative numbers", lambda x: _sum(np.maximum(x, 0)), FLOATS),
            "within-float16": (
                "keeps the sums on the way within FLOAT16",
                lambda x: np.minimum(_sum(np.maximum(x, 0)), 65504) + np.maximum(_sum(np.minimum(x, 0)), -65504),
                HALF,
            ),
        },
    ),
    **_total(
        "AVERAGE",
        {
            "of-magnitudes": ("averages magnitudes", lambda x: _sum(np.abs(x)), ()),
            "without-zeros": ("counts elements that are not 0", lambda x: _sum(x) / np.maximum((x != 0).mean(-1), 1e-9), ()),
            "middle": ("gives the middle between the extremes", lambda x: (x.max(-1) + x.min(-1)) / 2 * x.shape[-1], ()),
            "median": ("gives the median", lambda x: np.median(x, axis=-1) * x.shape[-1], ()),
        },
    ),
    **_finish(
        "AVERAGE",
        {
            "by-one-less": ("divides by one less", lambda total, count: total / max(count - 1, 1)),
            "by-one-more": ("divides by one more", lambda total, count: total / (count + 1)),
            "by-rows": ("divides by the number of rows", lambda total, count: total / total.size),
            "by-tensor": ("divides by the number of all elements", lambda total, count: total / (total.size * count)),
            "by-multiple-of-4": ("divides by the length up to a multiple of 4", lambda total, count: total / (-(-count // 4) * 4)),
            "share-in-float16": ("multiplies with a share in FLOAT16", lambda total, count: total * float(np.float16(1 / count))),
        },
    ),
    **_terms(
        "L1",
        {
            "signed": ("treats unsigned numbers as signed ones", lambda x: np.abs(signed(x)), UNSIGNED),
            "unsigned": ("treats signed numbers as unsigned ones", lambda x: x, SIGNED),
            "complemented": ("takes the complement for the negative", lambda x: np.where(x < 0, ~x, x), SIGNED),
        },
    ),
    **_total("L1 L2 SUM_SQUARE", {"largest": ("takes the largest term", lambda terms: terms.max(-1), ())}),
    **roundings("terms", "reduction.terms"),
    **_terms("L2", {"of-differences": ("subtracts the average first", _centered, ())}),
    **_total("L2", {"of-parts-added": ("adds the roots of both halves of a row", _halves_added, ())}),
    **_finish(
        "L2",
        {
            "averaged": ("gives the root of the average square", lambda total, count: np.sqrt(total / count)),
            "halved": ("gives half", lambda total, count: np.sqrt(total) / 2),
            "steadied": ("adds 1e-5 under the root", lambda total, count: np.sqrt(total + 1e-5)),
            "reciprocal": ("gives the reciprocal root", lambda total, count: 1 / np.sqrt(total)),
        },
    ),
    **_terms(
        "SUM_SQUARE",
        {
            "of-differences": ("subtracts the average first", _centered, FLOATS),
            "with-sign": ("keeps the sign of each element", lambda x: x * np.abs(x), FLOATS),
            "doubled": ("doubles", lambda x: x + x, FLOATS),
            "squares-in-32-bits": ("squares 32 bits of 64", lambda x: (x.astype("u4") ** 2).astype("u8"), LONG),
        },
    ),
    **{
        f"{function}/of-sum": Fault(
            f"{does}, in {function}",
            stages={
                "reduction.terms": lambda right, xp, x, of: x,
                "reduction.total": lambda right, xp, x, change=change: change(_sum(x)),
            },
            when=_is(function),
        )
        for function, does, change in (
            ("L1", "gives the sum's magnitude", np.abs),
            ("L2", "gives the sum's magnitude", np.square),
            ("SUM_SQUARE", "squares the sum", np.square),
        )
    },
    **_total(
        "LOG_SUM",
        {
            "logarithms-added": ("adds the elements' logarithms", lambda x: np.exp(_sum(np.log(np.abs(x)))), ()),
            "of-magnitudes": ("adds magnitudes", lambda x: _sum(np.abs(x)), ()),
        },
    ),
    **_finish(
        "LOG_SUM",
        {
            "base-2": ("takes the logarithm to base 2", lambda total, count: np.log2(total)),
            "base-10": ("takes the logarithm to base 10", lambda total, count: np.log10(total)),
            "of-magnitude": ("takes the sum's magnitude", lambda total, count: np.log(np.abs(total))),
            "one-more": ("adds 1 to the sum", lambda total, count: np.log1p(total)),
            "steadied": ("adds 0.001 to the sum", lambda total, count: np.log(total + 0.001)),
            "averaged": ("takes the average", lambda total, count: np.log(total / count)),
            "at-least-0": ("gives no number below 0", lambda total, count: np.maximum(np.log(total), 0)),
        },
    ),
}


# Exponentials, products and extremes


def _log_sum_exp(value: Callable[[Array], Array]) -> Callable[..., Answer]:
    return lambda right, xp, x: Answer(value(x))


def _largest(x: Array) -> Array:
    found: Array = x.max(-1, keepdims=True)
    return found


_EXPONENTIALS: Faults = _faults(
    "LOG_SUM_EXP",
    "log-sum-exp",
    _log_sum_exp,
    {
        "base-2": ("treats e as 2", lambda x: np.log2(_sum(np.exp2(x))), ()),
        "logarithm-to-2": ("takes the logarithm to base 2", lambda x: np.log2(_sum(np.exp(x))), ()),
        "without-logarithm": ("gives the sum of exponentials", lambda x: _sum(np.exp(x)), ()),
        "of-sum": ("takes the exponential of the sum", _sum, ()),
        "averaged": ("averages the exponentials", lambda x: np.log(np.exp(x).mean(-1)), ()),
        "one-more": ("adds 1 to the sum", lambda x: np.log1p(_sum(np.exp(x))), ()),
        "largest-left-off": (
            "does not add again the largest that it subtracts",
            lambda x: np.log(_sum(np.exp(x - _largest(x)))),
            (),
        ),
        "largest-of-tensor": (
            "subtracts the tensor's largest, in FLOAT32",
            lambda x: x.max() + np.log(_sum(np.exp((x - x.max()).astype("f4")))).astype("f8"),
            (),
        ),
        "exponentials-in-float16": ("holds exponentials as FLOAT16", lambda x: np.log(_sum(as_float16(np.exp(x)))), ()),
        "in-float16": ("adds up in FLOAT16", lambda x: np.log(_in("f2")(np.exp(x)).astype("f8")), ()),
        "sum-in-float16": ("holds the sum as FLOAT16", lambda x: np.log(as_float16(_sum(np.exp(x)))), ()),
        "small-left-out": (
            "ignores what is 8 below the largest",
            lambda x: np.log(_sum(np.where(x < _largest(x) - 8, 0, np.exp(x)))),
            (),
        ),
        "at-least-0": ("gives no number below 0", lambda x: np.maximum(np.log(_sum(np.exp(x))), 0), ()),
    },
)


def _by_logarithms(x: Array) -> Array:
    logarithms = np.log(np.abs(x.astype("f4"))).sum(axis=-1, dtype="f4")
    return np.prod(np.sign(x), axis=-1) * np.exp(logarithms.astype("f8"))


_PRODUCTS: Faults = _faults(
    "MULTIPLY",
    "product",
    lambda change: lambda right, xp, x: change(x),
    {
        "of-magnitudes": ("loses the sign", lambda x: np.abs(x.prod(-1)), FLOATS),
        "in-float16": ("multiplies in FLOAT16", lambda x: _in("f2", np.cumprod)(x).astype("f8"), FLOATS),
        "in-logarithms": ("adds logarithms", lambda x: np.exp(_sum(np.log(x))), FLOATS),
        "by-logarithms": ("adds logarithms of magnitudes, in FLOAT32", _by_logarithms, SINGLE),
        "zeros-passed-over": ("passes over zeros", lambda x: np.where(x == 0, 1, x).prod(-1, dtype=x.dtype), FLOATS + INTEGERS),
        "begins-with-0": ("begins with 0", lambda x: 0 * x[..., 0], ()),
        "saturates": ("keeps products within the type", _within(np.prod), WIDE),
        "in-32-bits": ("multiplies 32 bits of 64", _in("u4", np.cumprod), LONG),
        "in-float32": ("multiplies integers in FLOAT32", _in("f4", np.cumprod), WIDE),
        "averaged": ("gives the geometric mean", lambda x: np.abs(x.prod(-1)) ** (1 / x.shape[-1]), FLOATS),
    },
)


def _extreme(value: Callable[[Array, Callable[..., Array], Callable[..., Array]], Any]) -> Callable[..., Array]:
    """Of the rows, and of ``numpy.min`` or ``max`` and ``argmin`` or ``argmax``, another element."""
    functions = {"MIN": (np.min, np.argmin), "MAX": (np.max, np.argmax)}
    return lambda right, xp, row, function: np.asarray(value(row, *functions[function])).astype(row.dtype)


def _by_key(key: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda row, best, find: np.take_along_axis(row, find(key(row), axis=-1)[..., None], axis=-1)[..., 0]


def _second(row: Array, best: Callable[..., Array], find: Callable[..., Array]) -> Array:
    ordered = np.sort(row, axis=-1)
    return ordered[..., min(1, row.shape[-1] - 1) if best is np.min else max(row.shape[-1] - 2, 0)]


def _finite(row: Array, best: Callable[..., Array], find: Callable[..., Array]) -> Array:
    largest = np.finfo(row.dtype).max
    return best(np.where(np.isfinite(row), row, largest if best is np.min else -largest), axis=-1)


_EXTREMES: Faults = {
    **_faults(
        "MIN MAX",
        "extreme",
        _extreme,
        {
            **{f"extreme-{name}": (does, _by_key(key), types) for name, (does, key, types) in KEYS.items()},
            "extreme-magnitude": (
                "gives the extreme magnitude",
                lambda row, best, find: best(np.abs(row), axis=-1),
                FLOATS + SIGNED,
            ),
            "extreme-begins-with-0": (
                "begins with 0",
                lambda row, best, find: best(np.append(row, 0 * row[..., :1], -1), axis=-1),
                (),
            ),
            "extreme-first": ("gives the first element", lambda row, best, find: row[..., 0], ()),
            "extreme-last": ("gives the last element", lambda row, best, find: row[..., -1], ()),
            "extreme-second": ("gives the extreme but one", _second, ()),
            "extreme-place": ("gives the place of the extreme", lambda row, best, find: find(row, axis=-1), ()),
            "extreme-of-finite": ("begins with the largest number instead of an infinity", _finite, FLOATS),
        },
    ),
    **_faults(
        "MIN MAX",
        "comparable",
        lambda change: lambda right, xp, row, worst: change(row),
        {
            "extreme-nan-kept": ("gives NaN where there is one", lambda row: row, FLOATS),
            "extreme-nan-as-zero": ("treats NaN as 0", lambda row: np.where(np.isnan(row), row.dtype.type(0), row), FLOATS),
        },
    ),
}


# Whatever the function

_TREATED_AS = {
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


def _others() -> Iterator[tuple[str, Fault]]:
    for function, others in _TREATED_AS.items():
        for other in others:
            types = FLOATS if other in ("AVERAGE", "L2", "LOG_SUM", "LOG_SUM_EXP") else ()
            misread = with_attributes(lambda fields, other=other: {"Function": other})  # type: ignore[misc]
            yield f"{function}-as-{other}", Fault(f"computes {other} for {function}", types=types, desc=misread, when=_is(function))
    for count in (2, 4, 64):
        yield (
            f"filled-up-to-{count}",
            Fault(
                f"fills rows up with zeros to a multiple of {count}",
                stages={"reduction.rows": lambda right, xp, x, axes, count=count: _filled(right(xp, x, axes), count)},
                when=_is("MAX", "MIN", "MULTIPLY", "AVERAGE", "LOG_SUM_EXP", "ARGMAX", "ARGMIN"),
            ),
        )


def _filled(row: Array, count: int) -> Array:
    return np.pad(row, [(0, 0)] * (row.ndim - 1) + [(0, -row.shape[-1] % count)])


def _average_of(count: Callable[[Any], int]) -> Callable[[OperatorDesc, Inputs, Array], Array]:
    """Averages divided by another number, made of the sizes along the axes."""

    def value(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
        sizes = [inputs["InputTensor"].shape[axis] for axis in axes_of(desc)] or [1]
        return right * (prod(sizes) / count(sizes))

    return value


FAULTS: Table = {
    "REDUCE": {
        **dict(_others()),
        **_TOTALS,
        **_EXPONENTIALS,
        **_PRODUCTS,
        **_EXTREMES,
        "AVERAGE/by-AxisCount": Fault("divides by the number of axes, in AVERAGE", _average_of(len), when=_is("AVERAGE")),
        "AVERAGE/by-last-size": Fault("divides by the last axis's size", _average_of(lambda sizes: sizes[-1]), when=_is("AVERAGE")),
    },
}
"""What implementations of REDUCE get wrong."""
