"""The verdict on an output, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.reports.record.record import ErrorMap, Mismatch
from dmlcts.spec.model.abi import DataType

CORRECTLY_ROUNDED = "correctly rounded"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one output tensor.

    ``wrong`` of the ``elements`` that are defined lie outside the bound; ``mismatches`` are the first of them. ``worst_ulp`` is the
    largest finite error in ULP of the output's type, passes included, and None where nothing was measured; ``worst_share`` is the
    largest error relative to the allowed one, and None also if there is an error where none is allowed. Elements that a policy excuses (a
    flushed denormal, an intermediate overflow) count in neither. ``vacuous`` elements have a bound of more than half the largest magnitude of their
    tensor, so that 0, or twice the value, could pass. ``ok`` can be False without a wrong element, since long sums are also judged
    together. ``message`` is one line, empty for a pass. ``error_map`` shows where the wrong elements lie, if there are any.
    """

    ok: bool
    wrong: int
    elements: int
    mismatches: tuple[Mismatch, ...] = ()
    worst_ulp: float | None = None
    worst_share: float | None = None
    grade: str = ""
    warnings: tuple[str, ...] = ()
    message: str = ""
    vacuous: int = 0
    error_map: ErrorMap | None = None


def value_text(value: Any, data_type: DataType, as_bits: bool = False) -> str:
    """A value with the shortest exact decimal form: ``-3``, ``0.1``, ``nan``; followed by its bit pattern for ``as_bits``."""
    shown = str(value)
    if not as_bits:
        return shown
    width = data_type.bits
    pattern = int(np.asarray(value).view(f"u{width // 8}")) if data_type.is_float else int(value)
    return f"{shown} (0x{pattern & (1 << width) - 1:0{-(-width // 4)}X})"


def mismatch_message(wrong: int, elements: int, worst: Mismatch) -> str:
    """How many of how many are wrong, and the worst: by how much, where, and what was allowed."""
    by = "" if worst.ulp is None else f" by {worst.ulp:.4g} ULP"
    counted = f"{wrong} of {elements} elements wrong ({100 * wrong / elements:.3g} %), worst{by} at {list(worst.index)}"
    return f"{worst.tensor}: {counted}: expected {worst.expected}, actual {worst.actual}; allowed {worst.allowed}"
