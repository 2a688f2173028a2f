"""Faults of running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.elsewise import computed_of, with_attributes
from dmlcts.conformance.mutants.old.fault import FLOATS, HALF, INTEGERS, LONG, SINGLE, WIDE, Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED


@dataclass(frozen=True, slots=True)
class _Operation:
    """What combines all elements up to each along the last dimension; what stands before the first; and the flag of exclusive ones."""

    totals: Callable[..., Array]
    first: int
    flag: str
    function: Callable[..., Any]


_SUM = _Operation(np.cumsum, 0, "HasExclusiveSum", np.add)
_PRODUCT = _Operation(np.cumprod, 1, "HasExclusiveProduct", np.multiply)


def _decreasing(desc: OperatorDesc) -> bool:
    return desc.fields["AxisDirection"] == "DECREASING"


def _moved(desc: OperatorDesc, x: Array) -> Array:
    """With Axis last."""
    axis = desc.fields["Axis"]
    assert isinstance(axis, int)
    return np.moveaxis(x, axis, -1)


def _along(desc: OperatorDesc, x: Array) -> Array:
    """With Axis last, in the direction of the run."""
    moved = _moved(desc, x)
    return moved[..., ::-1] if _decreasing(desc) else moved


def _back(desc: OperatorDesc, runs: Array) -> Array:
    """Runs to their places."""
    axis = desc.fields["Axis"]
    assert isinstance(axis, int)
    return np.moveaxis(runs[..., ::-1] if _decreasing(desc) else runs, -1, axis)


def _shifted(totals: Array, first: Any) -> Array:
    """Each total one further, and ``first`` before all."""
    found: Array = np.concatenate([np.full_like(totals[..., :1], first), totals[..., :-1]], axis=-1)
    return found


Totals = Callable[[Array], Array]
"""Runs -> the totals that have each element in them."""


def _with(operation: _Operation, totals: Totals, dtype: str = "") -> Computed:
    """Other totals, of runs in FLOAT64, in their own type where they are integers, or in another."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x = inputs["InputTensor"]
        runs = _along(desc, x.astype(dtype or ("f8" if x.dtype.kind == "f" else x.dtype)))
        found = totals(runs)
        return _back(desc, _shifted(found, operation.first) if desc.fields[operation.flag] else found)

    return computed


def _exclusive(operation: _Operation, without: Callable[[Array, Array], Array]) -> Computed:
    """Exclusive totals otherwise, of runs and their totals in FLOAT64, or their own type where they are integers."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x = inputs["InputTensor"]
        runs = _along(desc, x.astype("f8" if x.dtype.kind == "f" else x.dtype))
        return (
            _back(desc, without(runs, operation.totals(runs, axis=-1, dtype=runs.dtype))) if desc.fields[operation.flag] else right
        )

    return computed


def _placed(operation: _Operation, result: Callable[[OperatorDesc, Array, _Operation], Array]) -> Computed:
    """Of the input with Axis last, whatever the direction."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x = inputs["InputTensor"]
        axis = desc.fields["Axis"]
        assert isinstance(axis, int)
        return np.moveaxis(result(desc, _moved(desc, x.astype("f8" if x.dtype.kind == "f" else x.dtype)), operation), -1, axis)

    return computed


# Parts


def _parts(operation: _Operation, length: int, carry: Callable[[Array], Array]) -> Totals:
    """Totals of parts of a length, combined with what is carried from the parts' own totals."""

    def totals(runs: Array) -> Array:
        count = runs.shape[-1]
        if count <= length:
            return _usual(operation)(runs)
        fill = -count % length
        padded = np.concatenate([runs, np.full((*runs.shape[:-1], fill), operation.first, runs.dtype)], axis=-1)
        parts = operation.totals(padded.reshape(*runs.shape[:-1], -1, length), axis=-1, dtype=runs.dtype)
        found: Array = operation.function(parts, carry(parts[..., -1])[..., None]).reshape(padded.shape)[..., :count]
        return found

    return totals


def _windows(operation: _Operation, length: Callable[[int], int]) -> Totals:
    """Totals of the last so many elements alone."""

    def totals(runs: Array) -> Array:
        sums = [runs]
        window = length(runs.shape[-1])
        for step in range(1, min(window, runs.shape[-1])):
            before = np.full((*runs.shape[:-1], step), operation.first, runs.dtype)
            sums.append(np.concatenate([before, runs[..., :-step]], axis=-1))
        found: Array = operation.function.reduce(sums, dtype=runs.dtype)  # type: ignore[attr-defined]
        return found

    return totals


def _last_step_lost(count: int) -> int:
    """As of steps of 1, 2, 4 and so on, without the last that is needed."""
    return 1 << max((count - 1).bit_length() - 1, 0) if count > 1 else 1


# Everything


def _axis(change: Callable[[int, int], int]) -> Computed:
    return computed_of(with_attributes(lambda fields: {"Axis": change(int(fields["Axis"]), fields["InputTensor"].DimensionCount)}))


def _flat(operation: _Operation) -> Totals:
    return lambda runs: operation.totals(np.ascontiguousarray(runs).reshape(-1), dtype=runs.dtype).reshape(runs.shape)


def _in(operation: _Operation, dtype: str) -> Totals:
    """One after another, each step rounded to a type."""
    return lambda runs: operation.totals(runs.astype(dtype), axis=-1, dtype=dtype)


def _usual(operation: _Operation) -> Totals:
    return lambda runs: operation.totals(runs, axis=-1, dtype=runs.dtype)


def _of(operation: _Operation, change: Callable[[Array], Array]) -> Totals:
    """Of changed runs."""
    return lambda runs: _usual(operation)(change(runs).astype(runs.dtype))


def _reversed_output(desc: OperatorDesc, x: Array, operation: _Operation) -> Array:
    totals = _usual(operation)(x)
    found = _shifted(totals, operation.first) if desc.fields[operation.flag] else totals
    return found[..., ::-1] if _decreasing(desc) else found


def _reversed_input(desc: OperatorDesc, x: Array, operation: _Operation) -> Array:
    totals = _usual(operation)(x[..., ::-1] if _decreasing(desc) else x)
    return _shifted(totals, operation.first) if desc.fields[operation.flag] else totals


def _shifted_forward(desc: OperatorDesc, x: Array, operation: _Operation) -> Array:
    totals = _usual(operation)(x[..., ::-1])[..., ::-1] if _decreasing(desc) else _usual(operation)(x)
    return _shifted(totals, operation.first) if desc.fields[operation.flag] else totals


def _shifted_backward(desc: OperatorDesc, x: Array, operation: _Operation) -> Array:
    totals = _usual(operation)(x[..., ::-1])[..., ::-1] if _decreasing(desc) else _usual(operation)(x)
    return _shifted(totals[..., ::-1], operation.first)[..., ::-1] if desc.fields[operation.flag] else totals


def _without_first(operation: _Operation) -> Callable[[Array, Array], Array]:
    """Without the first element instead of each itself."""

    def without(runs: Array, totals: Array) -> Array:
        rest = runs.copy()
        rest[..., 0] = operation.first
        return _usual(operation)(rest)

    return without


def _across(runs: Array, totals: Array, first: int) -> Array:
    flat = np.ascontiguousarray(totals).reshape(-1)
    return np.concatenate([flat[:1] * 0 + first, flat[:-1]]).astype(totals.dtype).reshape(totals.shape)


def _lost_at(at: int, first: int) -> Callable[[Array], Array]:
    def change(runs: Array) -> Array:
        found = runs.copy()
        found[..., at] = first
        return found

    return change


def _every(operation: _Operation) -> dict[str, Fault]:
    other = _PRODUCT if operation is _SUM else _SUM
    first = operation.first
    return {
        "last-axis": Fault("goes along the last dimension", _axis(lambda axis, count: count - 1)),
        "first-axis": Fault("goes along the first dimension", _axis(lambda axis, count: 0)),
        "next-axis": Fault("goes along the dimension after Axis", _axis(lambda axis, count: (axis + 1) % count)),
        "axis-from-the-end": Fault("counts Axis from the end", _axis(lambda axis, count: count - 1 - axis)),
        "axis-from-1": Fault("counts Axis from 1", _axis(lambda axis, count: max(axis - 1, 0))),
        "axis-of-the-last-4": Fault(
            "takes Axis for one of the last four", _axis(lambda axis, count: min(axis + max(count - 4, 0), count - 1))
        ),
        "row-after-row": Fault("goes on from row to row", _with(operation, _flat(operation))),
        **{
            f"parts-of-{length}": Fault(
                f"begins anew after {length:,} elements",
                _with(operation, _parts(operation, length, lambda ends: np.full_like(ends, first))),
            )
            for length in (4, 32, 64, 256, 1024, 4096)
        },
        **{
            f"carry-from-{length}": Fault(
                f"carries from parts of {length:,} elements to the next part alone",
                _with(operation, _parts(operation, length, lambda ends: _shifted(ends, first))),
            )
            for length in (4, 32, 256, 1024)
        },
        "carry-too-far": Fault(
            "combines parts of 32 elements with their own totals too",
            _with(operation, _parts(operation, 32, lambda ends: operation.totals(ends, axis=-1, dtype=ends.dtype))),
        ),
        "last-step-lost": Fault(
            "leaves out the last of its doubling steps", _with(operation, _windows(operation, _last_step_lost))
        ),
        "last-two": Fault(
            "combines each element with the one before it alone", _with(operation, _windows(operation, lambda count: 2))
        ),
        "total-everywhere": Fault(
            "gives the total everywhere",
            _with(operation, lambda runs: np.broadcast_to(_usual(operation)(runs)[..., -1:], runs.shape)),
        ),
        "other-operation": Fault(
            f"computes running {'products' if operation is _SUM else 'sums'}", _with(operation, _usual(other))
        ),
        "copied": Fault("gives the elements", _with(operation, lambda runs: runs)),
        "running-largest": Fault("gives running maxima", _with(operation, lambda runs: np.maximum.accumulate(runs, axis=-1))),
        "of-magnitudes": Fault("takes magnitudes", _with(operation, _of(operation, np.abs)), FLOATS),
        "first-left-out": Fault("leaves out the first element of a row", _with(operation, _of(operation, _lost_at(0, first)))),
        "last-left-out": Fault("leaves out the last element of a row", _with(operation, _of(operation, _lost_at(-1, first)))),
        "begins-wrongly": Fault(
            f"begins with {1 - first}",
            _with(operation, lambda runs: operation.function(_usual(operation)(runs), runs.dtype.type(1 - first))),
        ),
        "reversed-output": Fault(
            "turns the output alone around where DECREASING", _placed(operation, _reversed_output), when=_decreasing
        ),
        "reversed-input": Fault(
            "turns the input alone around where DECREASING", _placed(operation, _reversed_input), when=_decreasing
        ),
        "exclusive-forward": Fault(
            "puts exclusive totals one further in memory, whatever the direction", _placed(operation, _shifted_forward)
        ),
        "exclusive-backward": Fault(
            "puts exclusive totals one back in memory, whatever the direction", _placed(operation, _shifted_backward)
        ),
        "exclusive-keeps-first": Fault(
            "keeps the first element in exclusive totals", _exclusive(operation, lambda runs, totals: _shifted_from(totals, runs))
        ),
        "exclusive-begins-wrongly": Fault(
            f"begins exclusive totals with {1 - first}", _exclusive(operation, lambda runs, totals: _shifted(totals, 1 - first))
        ),
        "exclusive-without-first": Fault(
            "leaves out the first element for each itself", _exclusive(operation, _without_first(operation))
        ),
        "exclusive-across-rows": Fault(
            "takes the row before for what comes before the first",
            _exclusive(operation, lambda runs, totals: _across(runs, totals, first)),
        ),
        "exclusive-twice": Fault(
            "leaves out two elements", _exclusive(operation, lambda runs, totals: _shifted(_shifted(totals, first), first))
        ),
        "exclusive-ignored-decreasing": Fault(
            f"takes no notice of {operation.flag} where DECREASING",
            _with_flag(operation, lambda desc: bool(desc.fields[operation.flag]) and not _decreasing(desc)),
        ),
        "exclusive-ignored-increasing": Fault(
            f"takes no notice of {operation.flag} where INCREASING",
            _with_flag(operation, lambda desc: bool(desc.fields[operation.flag]) and _decreasing(desc)),
        ),
        "exclusive-inverted": Fault(
            f"takes {operation.flag} for its opposite", _with_flag(operation, lambda desc: not desc.fields[operation.flag])
        ),
        "direction-inverted": Fault(
            "takes AxisDirection for its opposite",
            computed_of(
                with_attributes(
                    lambda fields: {"AxisDirection": "INCREASING" if fields["AxisDirection"] == "DECREASING" else "DECREASING"}
                )
            ),
        ),
        "in-float16": Fault("computes in FLOAT16", _with(operation, _in(operation, "f2")), FLOATS),
        "terms-in-float16": Fault(
            "takes elements for FLOAT16", _with(operation, _of(operation, lambda runs: runs.astype("f2"))), SINGLE
        ),
        "saturates": Fault("keeps totals within the type", _with(operation, _usual(operation), "f8"), ("INT32", "UINT32")),
        "in-float32": Fault("computes integers in FLOAT32", _with(operation, _usual(operation), "f4"), WIDE),
        "in-float64": Fault("computes 64-bit integers in FLOAT64", _with(operation, _usual(operation), "f8"), LONG),
        "in-32-bits": Fault("computes 32 bits of 64", _with(operation, _usual(operation), "u4"), LONG),
        "nan-passed-over": Fault(
            "passes over NaN",
            _with(operation, _of(operation, lambda runs: np.where(np.isnan(runs), first, runs))),
            FLOATS,
            basis=MEASURED,
        ),
        "infinity-as-largest": Fault(
            "takes infinities for the largest number",
            _with(operation, _of(operation, lambda runs: np.nan_to_num(runs, nan=np.nan, posinf=3e38, neginf=-3e38))),
            SINGLE,
            basis=MEASURED,
        ),
        "within-float16": Fault(
            "keeps totals on the way within FLOAT16",
            _with(operation, lambda runs: np.clip(_usual(operation)(runs), -65504, 65504)),
            HALF,
            basis=MEASURED,
        ),
    }


def _shifted_from(totals: Array, runs: Array) -> Array:
    found = _shifted(totals, 0)
    found[..., 0] = runs[..., 0]
    return found


def _with_flag(operation: _Operation, flag: Callable[[OperatorDesc], bool]) -> Computed:
    return computed_of(lambda desc: desc.with_fields(**{operation.flag: flag(desc)}))


RUNNING: Mapping[str, Mapping[str, Fault]] = {
    "CUMULATIVE_SUMMATION": {
        **_every(_SUM),
        "exclusive-subtracted": Fault(
            "subtracts each element from the stored total",
            _exclusive(_SUM, lambda runs, totals: totals.astype("f2").astype("f8") - runs),
            HALF,
        ),
        "averaged": Fault(
            "gives running averages", _with(_SUM, lambda runs: np.cumsum(runs, axis=-1) / np.arange(1, runs.shape[-1] + 1)), FLOATS
        ),
        "squared": Fault("adds squares", _with(_SUM, _of(_SUM, np.square))),
    },
    "CUMULATIVE_PRODUCT": {
        **_every(_PRODUCT),
        "exclusive-divided": Fault(
            "divides the total by each element", _exclusive(_PRODUCT, lambda runs, totals: totals / runs), FLOATS
        ),
        "in-logarithms": Fault("adds logarithms", _with(_PRODUCT, lambda runs: np.exp(np.cumsum(np.log(runs), axis=-1))), FLOATS),
        "by-logarithms": Fault(
            "adds logarithms of magnitudes, in FLOAT32",
            _with(
                _PRODUCT,
                lambda runs: (
                    np.cumprod(np.sign(runs), axis=-1) * np.exp(np.cumsum(np.log(np.abs(runs)), axis=-1, dtype="f4").astype("f8"))
                ),
                "f4",
            ),
            SINGLE,
        ),
        "zeros-passed-over": Fault("passes over zeros", _with(_PRODUCT, _of(_PRODUCT, lambda runs: np.where(runs == 0, 1, runs)))),
        "ends-at-zero": Fault("begins anew after a zero", _with(_PRODUCT, lambda runs: _anew(runs)), FLOATS + INTEGERS),
    },
}


def _anew(runs: Array) -> Array:
    """Each total as if the row began after the last zero before it."""
    found = np.empty_like(runs)
    total = np.ones_like(runs[..., 0])
    for at in range(runs.shape[-1]):
        before = runs[..., at - 1] if at else total
        total = np.where(before == 0, 1, total).astype(runs.dtype) * runs[..., at]
        found[..., at] = total
    return found
