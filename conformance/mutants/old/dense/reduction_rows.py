"""Faults of operators with Axes, whatever they make of a row: rows along wrong dimensions, of other elements, or without some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.mutants.old.elsewise import computed_of, with_attributes
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc, TensorDesc

_REFERENCE = ReferenceBackend()


def row_axes(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions of a row, in ascending order."""
    axes = desc.fields["Axes"]
    assert isinstance(axes, tuple)
    return tuple(sorted({int(axis) for axis in axes}))


def rows_of(desc: OperatorDesc, x: Array, axes: tuple[int, ...] | None = None) -> Array:
    """The rows of an array, one after another as their results lie in the output; along other axes in the order given."""
    along = row_axes(desc) if axes is None else axes
    rest = [axis for axis in range(x.ndim) if axis not in along]
    return x.transpose(*rest, *along).reshape(-1, prod(x.shape[axis] for axis in along))


def of_rows(function: Callable[[Array], Any], dtype: str = "f8") -> Computed:
    """Of the rows in FLOAT64 or another type; in their own where ``dtype`` is empty."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        x = inputs["InputTensor"]
        return np.asarray(function(rows_of(desc, x.astype(dtype) if dtype else x))).reshape(right.shape)

    return computed


def on_rows(change: Callable[[Array], Array]) -> Computed:
    """The reference on changed rows, which are of a length of their own."""
    return _on(lambda desc, x: change(rows_of(desc, x)))


def _on(found: Callable[[OperatorDesc, Array], Array]) -> Computed:
    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        rows = found(desc, inputs["InputTensor"])
        taken, given = desc.tensor("InputTensor"), desc.tensor("OutputTensor")
        flat = desc.with_fields(
            InputTensor=TensorDesc(taken.data_type, rows.shape),
            OutputTensor=TensorDesc(given.data_type, (len(rows), 1)),
            AxisCount=1,
            Axes=(1,),
        )
        return _REFERENCE.compute(flat, {"InputTensor": rows})["OutputTensor"].reshape(right.shape)

    return computed


# Elements left out, or taken for others


def _up_to(length: int) -> Callable[[Array], Array]:
    return lambda rows: rows[:, :length]


def _whole(count: int) -> Callable[[Array], Array]:
    """Without what is left of a division of a longer row."""
    return lambda rows: rows[:, : rows.shape[1] // count * count] if rows.shape[1] > count else rows


def _instead(at: int, other: int) -> Callable[[Array], Array]:
    """One element for another, so that places stay what they are."""

    def change(rows: Array) -> Array:
        found = rows.copy()
        if rows.shape[1] > 1:
            found[:, at] = rows[:, other]
        return found

    return change


def _side_by_side(desc: OperatorDesc, x: Array) -> Array:
    """As many elements as a row has, but those that lie side by side."""
    rows: Array = x.reshape(rows_of(desc, x).shape)
    return rows


def _steps_of_1(desc: OperatorDesc, x: Array) -> Array:
    """From each row's first element on, those that follow in memory."""
    first = rows_of(desc, np.arange(x.size).reshape(x.shape))
    places = (first[:, :1] + np.arange(first.shape[1])) % x.size
    found: Array = x.reshape(-1)[places]
    return found


ELEMENTS: Mapping[str, Fault] = {
    "last-left-out": Fault("leaves out the last element of a row", on_rows(lambda r: r[:, : max(r.shape[1] - 1, 1)])),
    "first-lost": Fault("takes the second element for the first", on_rows(_instead(0, 1))),
    "last-lost": Fault("takes the one before it for the last element", on_rows(_instead(-1, -2))),
    "middle-lost": Fault("takes the first element for that in the middle", on_rows(lambda r: _instead(r.shape[1] // 2, 0)(r))),
    **{
        f"beyond-{count}-left-out": Fault(f"leaves out what a row has beyond {count:,} elements", on_rows(_up_to(count)))
        for count in (4, 32, 64, 128, 256, 1024, 4096)
    },
    **{
        f"rest-of-{count}-left-out": Fault(
            f"leaves out what remains of a row's division by {count:,}, beyond it", on_rows(_whole(count))
        )
        for count in (4, 32, 64, 256, 1024)
    },
    "side-by-side": Fault("takes elements that lie side by side for a row", _on(_side_by_side)),
    "steps-of-1": Fault("steps by 1 along a row, whatever its stride", _on(_steps_of_1)),
}
"""Faults in the elements that a row is made of."""


# Wrong dimensions

Axes = tuple[int, ...]

_CHOICES: Mapping[str, tuple[str, Callable[[Axes, int], Axes]]] = {
    "last-axis": ("goes along the last dimension", lambda axes, count: (count - 1,)),
    "first-axis": ("goes along the first dimension", lambda axes, count: (0,)),
    "second-axis": ("goes along the second dimension", lambda axes, count: (min(1, count - 1),)),
    "whole-tensor": ("takes the whole tensor for a row", lambda axes, count: tuple(range(count))),
    "no-axis": ("takes each element for a row", lambda axes, count: ()),
    "others": ("goes along the dimensions that are not in Axes", lambda axes, count: tuple(set(range(count)) - set(axes)) or axes),
    "from-the-first": ("takes the dimensions from the first of Axes on", lambda axes, count: tuple(range(axes[0], count))),
    "up-to-the-last": (
        "takes the dimensions between the first and the last of Axes, too",
        lambda axes, count: tuple(range(axes[0], axes[-1] + 1)),
    ),
    "counted-from-the-end": ("counts Axes from the end", lambda axes, count: tuple(sorted(count - 1 - axis for axis in axes))),
    "counted-from-1": ("counts Axes from 1", lambda axes, count: tuple(sorted({max(axis - 1, 0) for axis in axes}))),
    "next-axes": ("goes along the dimension after each of Axes", lambda axes, count: tuple(sorted((a + 1) % count for a in axes))),
    "one-axis-more": (
        "takes the dimension before the first of Axes, too",
        lambda axes, count: tuple(sorted({max(axes[0] - 1, 0), *axes})),
    ),
    "as-many-first": ("goes along as many dimensions from the first on", lambda axes, count: tuple(range(len(axes)))),
    "as-many-last": ("goes along as many dimensions up to the last", lambda axes, count: tuple(range(count - len(axes), count))),
    "of-the-last-4": (
        "takes Axes for those of the last four dimensions",
        lambda axes, count: tuple(sorted({min(axis + max(count - 4, 0), count - 1) for axis in axes})),
    ),
    "below-the-fifth": (
        "takes no notice of Axes beyond the fourth",
        lambda axes, count: tuple(axis for axis in axes if axis < 4) or axes[:1],
    ),
}


def _chosen(choice: Callable[[Axes, int], Axes]) -> Computed:
    def change(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        given = tuple(sorted(set(fields["Axes"])))
        axes = choice(given, fields["InputTensor"].DimensionCount) if given else given
        return {"AxisCount": len(axes), "Axes": axes}

    return computed_of(with_attributes(change))


AXES: Mapping[str, Fault] = {name: Fault(does, _chosen(choice)) for name, (does, choice) in _CHOICES.items()}
"""Faults in the dimensions that a row runs along."""
