"""What rows of the tables of element-wise operators and activations are made of.

``function`` and what follows replace the operator's function (the stages ``element_wise.function`` and ``activation.function``): its
operands are scaled already, real numbers float64, integers in their own type, bit patterns unsigned; attributes follow them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import PRECISIONS, SINGLE, Fault, Faults, Table, Where, change_values
from dmlcts.reference.answer import Answer, Array

Types = tuple[str, ...]

_STAGES = ("element_wise.function", "activation.function")


def table(prefix: str, faults: Table) -> Table:
    """A table with what the names of all its operators begin with."""
    return {" ".join(prefix + name for name in names.split()): rows for names, rows in faults.items()}


def function(does: str, instead: Callable[..., Any], types: Types = (), when: Where | None = None) -> Fault:
    """``instead(*operands)``."""

    def activation(right: Any, given: Any, xp: Any, *operands: Any) -> Answer:
        return Answer(np.asarray(instead(*operands)))

    stages = {_STAGES[0]: lambda right, given, xp, *operands: instead(*operands), _STAGES[1]: activation}
    return Fault(does, types=types, when=when, stages=stages)


def single(does: str, instead: Callable[..., Any], types: Types = SINGLE) -> Fault:
    """``instead(*operands)`` in FLOAT32, where steps round and overflow."""
    return function(does, lambda *operands: instead(*map(np.float32, operands)).astype("f8"), types)


def result(does: str, change: Callable[..., Any], types: Types = (), when: Where | None = None) -> Fault:
    """``change(result, *operands)`` of the right result."""

    def instead(right: Any, given: Any, xp: Any, *operands: Any) -> Any:
        return change_values(right(given, xp, *operands), lambda value: change(value, *operands))

    return Fault(does, types=types, when=when, stages=dict.fromkeys(_STAGES, instead))


def operands(does: str, change: Callable[[Array], Any], types: Types = ()) -> Fault:
    """The right function of operands that are changed."""
    return Fault(does, types=types, stages={_STAGES[0]: lambda right, given, xp, *found: right(given, xp, *map(change, found))})


def step(does: str, stage: str, instead: Callable[..., Any], types: Types = (), when: Where | None = None) -> Fault:
    """``instead(*arguments)`` in the place of another stage, whose first argument is the array namespace."""
    return Fault(does, types=types, when=when, stages={stage: lambda right, xp, *arguments: instead(*arguments)})


def change_stored(does: str, change: Callable[..., Any], types: Types = (), when: Where | None = None) -> Fault:
    """``change(output, *inputs)``, as the tensors hold them."""
    return Fault(does, lambda desc, inputs, right: change(right, *inputs.values()), types, when)


def round_steps(
    what: str, made: Callable[[Callable[[Array], Array]], Callable[..., Any]], row: Callable[..., Fault] = function
) -> Faults:
    """A step of less precision: what ``row`` makes of ``made(rounding)``, for each type that has less. ``what`` names it."""
    return {
        f"{what}-{label}": row(f"computes {what.replace('-', ' ')} in {type_}", made(rounding), types)
        for label, (type_, types, rounding) in PRECISIONS.items()
    }


def as_unsigned(x: Array) -> Array:
    """An element's bits as an unsigned integer."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def as_signed(x: Array) -> Array:
    """An element's bits as a signed integer."""
    return np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")


def width(x: Array) -> int:
    """An element's bits."""
    return 8 * int(x.dtype.itemsize)


def low(bits: int) -> Callable[[Array], Array]:
    """The low bits of integers alone; all of what has no more."""
    return lambda x: x & np.array(-1 if bits >= width(x) else (1 << bits) - 1).astype(x.dtype)
