"""Faults of the functions of REDUCE. Those of rows and of places are in ``reduction``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.reduction import KEYS
from dmlcts.conformance.mutants.fault import (
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
    Steps,
    Table,
    Where,
    as_float16,
    computed,
    roundings,
)
from dmlcts.reference.answer import Answer
from dmlcts.reference.reduction.rows import axes_of
from dmlcts.spec.desc import OperatorDesc


def _is(functions: str) -> Where:
    return lambda desc: desc.fields["Function"] in functions.split()


def _sum(x: Array) -> Array:
    total: Array = x.sum(axis=-1, dtype=x.dtype)
    return total


def _in(dtype: str, join: Callable[..., Array] = np.cumsum) -> Callable[[Array], Array]:
    """One after another, each step in a type."""
    return lambda terms: join(terms.astype(dtype), axis=-1, dtype=dtype)[..., -1]


def _saturated(join: Callable[..., Any]) -> Callable[[Array], Array]:
    """Integers that stay within their type."""

    def change(terms: Array) -> Array:
        info, exact = np.iinfo(terms.dtype), join(terms, axis=-1, dtype="f8")
        wrapped = join(terms, axis=-1, dtype=terms.dtype)
        return np.where(exact > info.max, info.max, np.where(exact < info.min, info.min, wrapped)).astype(terms.dtype)

    return change


def _largest(x: Array) -> Any:
    return x.max(axis=-1, keepdims=True)


def _by_logarithms(x: Array) -> Any:
    logarithms = np.log(np.abs(x.astype("f4"))).sum(axis=-1, dtype="f4")
    return np.prod(np.sign(x), axis=-1) * np.exp(logarithms.astype("f8"))


def _exponentials(of: Callable[[Array], Array]) -> Callable[[Array], Answer]:
    return lambda x: Answer(of(x))


def _value(of: Callable[[Array], Array]) -> Callable[[Array, str], Array]:
    """Of the elements, terms, whatever the function."""
    return lambda x, function: of(x)


_STEPS: Mapping[str, Steps] = {
    "SUM AVERAGE L1 L2 LOG_SUM SUM_SQUARE": {
        "reduction.total": {
            "sums-in-float16": ("adds up in FLOAT16", lambda terms: _in("f2")(terms).astype("f8"), FLOATS),
        },
    },
    "L2 LOG_SUM": {"reduction.total": {"sums-steadied": ("adds 0.001 to sums", lambda terms: _sum(terms) + 1e-3)}},
    "SUM L1 SUM_SQUARE": {
        "reduction.total": {
            "sums-saturate": ("keeps sums within the type", _saturated(np.sum), WIDE),
            "sums-in-float32": ("adds up integers in FLOAT32", _in("f4"), WIDE),
            "sums-in-float64": ("adds up 64-bit integers in FLOAT64", _in("f8"), LONG),
            "sums-in-32-bits": ("adds up 32 bits of 64", _in("u4"), LONG),
        },
    },
    "SUM": {
        "reduction.total": {
            "within-float16": (
                "keeps the sums on the way within FLOAT16",
                lambda x: np.minimum(_sum(np.maximum(x, 0)), 65504) + np.maximum(_sum(np.minimum(x, 0)), -65504),
                HALF,
            ),
        },
    },
    "AVERAGE": {
        "reduction.finish": {
            "by-multiple-of-4": ("divides by a multiple of 4", lambda total, count, of: total / (-(-count // 4) * 4)),
            "share-in-float16": (
                "multiplies with a share in FLOAT16",
                lambda total, count, of: total * float(np.float16(1 / count)),
            ),
        },
    },
    "L1": {
        "reduction.terms": {
            "complemented": ("takes the complement for the negative", _value(lambda x: np.where(x < 0, ~x, x)), SIGNED),
        },
    },
    "SUM_SQUARE": {
        "reduction.terms": {
            "squares-in-32-bits": ("squares 32 bits of 64", _value(lambda x: (x.astype("u4") ** 2).astype("u8")), LONG),
        },
    },
    "LOG_SUM": {
        "reduction.finish": {
            "of-magnitude": ("takes the sum's magnitude", lambda total, count, of: np.log(np.abs(total))),
        },
    },
    "LOG_SUM_EXP": {
        "reduction.log-sum-exp": {
            "exp-largest-of-tensor": (
                "subtracts the tensor's largest, in FLOAT32",
                _exponentials(lambda x: x.max() + np.log(_sum(np.exp((x - x.max()).astype("f4")))).astype("f8")),
            ),
            "exp-in-float16": ("holds exponentials as FLOAT16", _exponentials(lambda x: np.log(_sum(as_float16(np.exp(x)))))),
            "exp-small-left-out": (
                "ignores what is 8 below the largest",
                _exponentials(lambda x: np.log(_sum(np.where(x < _largest(x) - 8, 0, np.exp(x))))),
            ),
        },
    },
    "MULTIPLY": {
        "reduction.product": {
            "product-in-float16": ("multiplies in FLOAT16", lambda x: _in("f2", np.cumprod)(x).astype("f8"), FLOATS),
            "product-by-logarithms": ("adds logarithms of magnitudes, in FLOAT32", _by_logarithms, SINGLE),
            "product-without-zeros": (
                "passes over zeros",
                lambda x: np.where(x == 0, 1, x).prod(-1, dtype=x.dtype),
                FLOATS + INTEGERS,
            ),
            "product-saturates": ("keeps products within the type", _saturated(np.prod), WIDE),
            "product-in-32-bits": ("multiplies 32 bits of 64", _in("u4", np.cumprod), LONG),
            "product-in-float32": ("multiplies integers in FLOAT32", _in("f4", np.cumprod), WIDE),
        },
    },
}
"""By functions, stage and label."""


# Extremes


def _extreme(value: Callable[[Array, Callable[..., Array], Callable[..., Array]], Any]) -> Callable[[Array, str], Array]:
    """Of the rows, and of ``numpy.min`` or ``max`` and ``argmin`` or ``argmax``, another element."""
    functions = {"MIN": (np.min, np.argmin), "MAX": (np.max, np.argmax)}
    return lambda row, function: np.asarray(value(row, *functions[function])).astype(row.dtype)


def _by_key(key: Callable[[Array], Array]) -> Callable[[Array, str], Array]:
    return _extreme(lambda row, best, find: np.take_along_axis(row, find(key(row), axis=-1)[..., None], axis=-1)[..., 0])


def _finite(row: Array, best: Callable[..., Array], find: Callable[..., Array]) -> Array:
    largest = np.finfo(row.dtype).max
    return best(np.where(np.isfinite(row), row, largest if best is np.min else -largest), axis=-1)


_EXTREMES: Steps = {
    "reduction.extreme": {
        **{f"extreme-{name}": (does, _by_key(key), types) for name, (does, key, types) in KEYS.items()},
        "extreme-begins-with-0": (
            "begins with 0",
            _extreme(lambda row, best, find: best(np.append(row, 0 * row[..., :1], -1), axis=-1)),
        ),
        "extreme-of-finite": ("begins with the largest number instead of an infinity", _extreme(_finite), FLOATS),
    },
    "reduction.comparable": {
        "extreme-nan-kept": ("gives NaN where there is one", lambda row, worst: row, FLOATS),
        "extreme-nan-as-zero": ("treats NaN as 0", lambda row, worst: np.where(np.isnan(row), row.dtype.type(0), row), FLOATS),
    },
}


# Whatever the function


def _filled(count: int) -> Fault:
    def filled(right: Callable[..., Array], *args: Any) -> Array:
        row = right(*args)
        return np.pad(row, [(0, 0)] * (row.ndim - 1) + [(0, -row.shape[-1] % count)])

    functions = "MAX MIN MULTIPLY AVERAGE LOG_SUM_EXP ARGMAX ARGMIN"
    return Fault(f"fills rows up with zeros to a multiple of {count}", stages={"reduction.rows": filled}, when=_is(functions))


def _by_last_size(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    sizes = [inputs["InputTensor"].shape[axis] for axis in axes_of(desc)] or [1]
    return right * (prod(sizes) / sizes[-1])


_FUNCTIONS: Faults = {
    "filled-up-to-4": _filled(4),
    **{label: fault for functions, steps in _STEPS.items() for label, fault in computed(steps, _is(functions)).items()},
    **computed(_EXTREMES, _is("MIN MAX")),
    **roundings("totals", "reduction.total"),
    **roundings("terms", "reduction.terms"),
    "by-last-size": Fault("divides by the last axis's size", _by_last_size, when=_is("AVERAGE")),
}

FAULTS: Table = {"REDUCE": _FUNCTIONS}
"""What implementations of REDUCE get wrong."""
