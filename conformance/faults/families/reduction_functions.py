"""Faults of the functions of REDUCE. Those of rows and of places are in ``reduction``."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.reduction import KEYS
from dmlcts.conformance.faults.model.fault import (
    FLOATS,
    HALF,
    INTEGERS,
    LONG,
    SIGNED,
    SINGLE,
    WIDE,
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    Where,
    as_float16,
    roundings,
)
from dmlcts.reference.answer import Answer
from dmlcts.reference.operators.reduction.rows import axes_of
from dmlcts.spec.model.desc import OperatorDesc


def _is(functions: str) -> Where:
    return lambda desc: desc.fields["Function"] in functions.split()


def _sum(x: Array) -> Array:
    total: Array = x.sum(axis=-1, dtype=x.dtype)
    return total


def _cumulate_in(dtype: str, join: Callable[..., Array] = np.cumsum) -> Callable[[Array], Array]:
    """One after another, each step in a type."""
    return lambda terms: join(terms.astype(dtype), axis=-1, dtype=dtype)[..., -1]


def _saturate(join: Callable[..., Any]) -> Callable[[Array], Array]:
    """Integers that stay within their type."""

    def change(terms: Array) -> Array:
        info, exact = np.iinfo(terms.dtype), join(terms, axis=-1, dtype="f8")
        wrapped = join(terms, axis=-1, dtype=terms.dtype)
        return np.where(exact > info.max, info.max, np.where(exact < info.min, info.min, wrapped)).astype(terms.dtype)

    return change


def _by_logarithms(x: Array) -> Any:
    logarithms = np.log(np.abs(x.astype("f4"))).sum(axis=-1, dtype="f4")
    return np.prod(np.sign(x), axis=-1) * np.exp(logarithms.astype("f8"))


def _wrong(functions: str, stage: str, does: str, change: Callable[..., Any], types: tuple[str, ...] = ()) -> Fault:
    """Another thing computed in a stage's place, where Function is one of these: of the stage's arguments but the array namespace."""
    stages = {f"reduction.{stage}": lambda right, xp, *args: change(*args)}
    return Fault(does, types=types, when=_is(functions), stages=stages)


def _exponentials(does: str, of: Callable[[Array], Array]) -> Fault:
    return _wrong("LOG_SUM_EXP", "log-sum-exp", does, lambda x: Answer(of(x)))


def _by_last_size(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    sizes = [inputs["InputTensor"].shape[axis] for axis in axes_of(desc)] or [1]
    return right * (prod(sizes) / sizes[-1])


_SUMS: Faults = {
    "sums-in-float16": _wrong(
        "SUM AVERAGE L1 L2 LOG_SUM SUM_SQUARE", "total", "adds up in FLOAT16", lambda x: _cumulate_in("f2")(x).astype("f8"), FLOATS
    ),
    "sums-steadied": _wrong("L2 LOG_SUM", "total", "adds 0.001 to sums", lambda x: _sum(x) + 1e-3),
    "sums-saturate": _wrong("SUM L1 SUM_SQUARE", "total", "keeps sums within the type", _saturate(np.sum), WIDE),
    "sums-in-float32": _wrong("SUM L1 SUM_SQUARE", "total", "adds up integers in FLOAT32", _cumulate_in("f4"), WIDE),
    "sums-in-float64": _wrong("SUM L1 SUM_SQUARE", "total", "adds up 64-bit integers in FLOAT64", _cumulate_in("f8"), LONG),
    "sums-in-32-bits": _wrong("SUM L1 SUM_SQUARE", "total", "adds up 32 bits of 64", _cumulate_in("u4"), LONG),
    "within-float16": _wrong(
        "SUM",
        "total",
        "keeps the sums on the way within FLOAT16",
        lambda x: np.minimum(_sum(np.maximum(x, 0)), 65504) + np.maximum(_sum(np.minimum(x, 0)), -65504),
        HALF,
    ),
    "by-multiple-of-4": _wrong(
        "AVERAGE", "finish", "divides by a multiple of 4", lambda total, count, of: total / (-(-count // 4) * 4)
    ),
    "by-last-size": Fault("divides by the last axis's size", _by_last_size, when=_is("AVERAGE")),
    "share-in-float16": _wrong(
        "AVERAGE", "finish", "multiplies with a share in FLOAT16", lambda total, count, of: total * float(np.float16(1 / count))
    ),
    "complemented": _wrong(
        "L1",
        "terms",
        "computes the complement of negative numbers for their negation",
        lambda x, function: np.where(x < 0, ~x, x),
        SIGNED,
    ),
    "squares-in-32-bits": _wrong(
        "SUM_SQUARE", "terms", "squares 32 bits of 64", lambda x, function: (x.astype("u4") ** 2).astype("u8"), LONG
    ),
    "of-magnitude": _wrong(
        "LOG_SUM", "finish", "takes the logarithm of the sum's magnitude", lambda total, count, of: np.log(np.abs(total))
    ),
    "exp-largest-of-tensor": _exponentials(
        "subtracts the tensor's largest, in FLOAT32",
        lambda x: x.max() + np.log(_sum(np.exp((x - x.max()).astype("f4")))).astype("f8"),
    ),
    "exp-in-float16": _exponentials("holds exponentials as FLOAT16", lambda x: np.log(_sum(as_float16(np.exp(x))))),
    "exp-small-left-out": _exponentials(
        "ignores what is 8 below the largest", lambda x: np.log(_sum(np.where(x < x.max(axis=-1, keepdims=True) - 8, 0, np.exp(x))))
    ),
    **roundings("totals", "reduction.total"),
    **roundings("terms", "reduction.terms"),
}

_PRODUCTS: Faults = {
    name: _wrong("MULTIPLY", "product", does, change, types)
    for name, does, change, types in (
        ("product-in-float16", "multiplies in FLOAT16", lambda x: _cumulate_in("f2", np.cumprod)(x).astype("f8"), FLOATS),
        ("product-by-logarithms", "adds logarithms of magnitudes, in FLOAT32", _by_logarithms, SINGLE),
        ("product-without-zeros", "passes over zeros", lambda x: np.where(x == 0, 1, x).prod(-1, dtype=x.dtype), FLOATS + INTEGERS),
        ("product-saturates", "keeps products within the type", _saturate(np.prod), WIDE),
        ("product-in-32-bits", "multiplies 32 bits of 64", _cumulate_in("u4", np.cumprod), LONG),
        ("product-in-float32", "multiplies integers in FLOAT32", _cumulate_in("f4", np.cumprod), WIDE),
    )
}


# Extremes


def _by_key(key: Callable[[Array], Array]) -> Callable[[Array, str], Array]:
    def extreme(row: Array, function: str) -> Array:
        find = np.argmin if function == "MIN" else np.argmax
        return np.take_along_axis(row, find(key(row), axis=-1)[..., None], axis=-1)[..., 0]

    return extreme


def _finite(row: Array, function: str) -> Array:
    """Of the finite elements; of none"""
    largest = np.finfo(row.dtype).max
    find, worst = (np.min, largest) if function == "MIN" else (np.max, -largest)
    return np.asarray(find(np.where(np.isfinite(row), row, worst), axis=-1), row.dtype)


_EXTREMES: Faults = {
    **{f"extreme-{name}": _wrong("MIN MAX", "extreme", does, _by_key(key), types) for name, (does, key, types) in KEYS.items()},
    "extreme-of-finite": _wrong("MIN MAX", "extreme", "begins with the largest number instead of an infinity", _finite, FLOATS),
    "extreme-nan-kept": _wrong("MIN MAX", "comparable", "gives NaN where there is one", lambda row, worst: row, FLOATS),
    "extreme-nan-as-zero": _wrong(
        "MIN MAX", "comparable", "treats NaN as 0", lambda row, worst: np.where(np.isnan(row), row.dtype.type(0), row), FLOATS
    ),
}


def _fill_empty(right: Callable[..., Array], *args: Any) -> Array:
    row = right(*args)
    return np.pad(row, [(0, 0)] * (row.ndim - 1) + [(0, -row.shape[-1] % 4)])


_FILLED: Faults = {
    "filled-up-to-4": Fault(
        "fills rows up with zeros to a multiple of 4",
        stages={"reduction.rows": _fill_empty},
        when=_is("MAX MIN MULTIPLY AVERAGE LOG_SUM_EXP ARGMAX ARGMIN"),
    )
}

FAULTS: Table = {"REDUCE": {**_SUMS, **_PRODUCTS, **_EXTREMES, **_FILLED}}
"""What implementations of REDUCE get wrong."""
