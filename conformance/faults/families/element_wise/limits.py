"""Faults of clipping and thresholds, and of the gradient of clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import Types, change_stored, step, table
from dmlcts.conformance.faults.model.fault import FLOATS, Fault, Table
from dmlcts.reference.answer import Array


def _limit_instead(does: str, instead: Callable[[Array, Any, Any], Any], types: Types = ()) -> Fault:
    """``instead(x, Min, Max)`` of what is scaled already; an infinite Max where there is none."""

    def limit(x: Array, low: Any, high: Any) -> Array:
        return np.asarray(instead(x, low, math.inf if high is None else high)).astype(x.dtype)

    return step(does, "element_wise.limit", limit, types)


def _outside_instead(does: str, outside: Callable[[Array, float, float], Any]) -> Fault:
    """Where no gradient passes, of the input, Min and Max."""
    return step(does, "element_wise.outside", outside)


_FAULTS: Table = {
    "CLIP CLIP1 THRESHOLD": {
        "below-gives-zero": _limit_instead("gives 0 below Min", lambda x, low, high: np.where(x < low, 0, np.fmin(x, high))),
        "least-ignored": _limit_instead("ignores Min", lambda x, low, high: np.fmin(x, high)),
        "magnitude": _limit_instead(
            "limits magnitudes", lambda x, low, high: np.copysign(np.fmax(low, np.fmin(np.abs(x), high)), x), FLOATS
        ),
        "nan-kept": change_stored("gives NaN for NaN", lambda y, x: np.where(np.isnan(x), x, y), FLOATS),
        "zero-kept": change_stored("gives 0 for 0, whatever the bounds", lambda y, x: np.where(x == 0, x, y)),
    },
    "CLIP CLIP1": {"most-ignored": _limit_instead("ignores Max", lambda x, low, high: np.fmax(x, low))},
    "CLIP1": {"most-last": _limit_instead("applies Max after Min", lambda x, low, high: np.fmin(np.fmax(x, low), high))},
    "CLIP_GRAD CLIP_GRAD1": {
        "open": _outside_instead("lets the gradient pass at both bounds", lambda x, low, high: (x < low) | (x > high)),
        "passes-at-least": _outside_instead("lets the gradient pass at Min", lambda x, low, high: (x < low) | (x >= high)),
        "passes-at-most": _outside_instead("lets the gradient pass at Max", lambda x, low, high: (x <= low) | (x > high)),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
