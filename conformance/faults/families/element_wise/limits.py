"""Faults of clipping and thresholds, and of the gradient of clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import Types, step, stored, table
from dmlcts.conformance.faults.model.fault import FLOATS, Fault, Table
from dmlcts.reference.answer import Array


def _limited(does: str, instead: Callable[[Array, Any, Any], Any], types: Types = ()) -> Fault:
    """``instead(x, Min, Max)`` of what is scaled already; an infinite Max where there is none."""

    def limited(x: Array, low: Any, high: Any) -> Array:
        return np.asarray(instead(x, low, math.inf if high is None else high)).astype(x.dtype)

    return step(does, "element_wise.limit", limited, types)


def _outside(does: str, outside: Callable[[Array, float, float], Any]) -> Fault:
    """Where no gradient passes, of the input, Min and Max."""
    return step(does, "element_wise.outside", outside)


_FAULTS: Table = {
    "CLIP CLIP1 THRESHOLD": {
        "below-gives-zero": _limited("gives 0 below Min", lambda x, low, high: np.where(x < low, 0, np.fmin(x, high))),
        "least-ignored": _limited("ignores Min", lambda x, low, high: np.fmin(x, high)),
        "magnitude": _limited(
            "limits magnitudes", lambda x, low, high: np.copysign(np.fmax(low, np.fmin(np.abs(x), high)), x), FLOATS
        ),
        "nan-kept": stored("gives NaN for NaN", lambda y, x: np.where(np.isnan(x), x, y), FLOATS),
        "zero-kept": stored("gives 0 for 0, whatever the bounds", lambda y, x: np.where(x == 0, x, y)),
    },
    "CLIP CLIP1": {"most-ignored": _limited("ignores Max", lambda x, low, high: np.fmax(x, low))},
    "CLIP1": {"most-last": _limited("applies Max after Min", lambda x, low, high: np.fmin(np.fmax(x, low), high))},
    "CLIP_GRAD CLIP_GRAD1": {
        "open": _outside("lets the gradient pass at both bounds", lambda x, low, high: (x < low) | (x > high)),
        "passes-at-least": _outside("lets the gradient pass at Min", lambda x, low, high: (x < low) | (x >= high)),
        "passes-at-most": _outside("lets the gradient pass at Max", lambda x, low, high: (x <= low) | (x > high)),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
