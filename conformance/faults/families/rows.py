"""What faults of normalizations and reductions share: rows along wrong dimensions, and rows without some of their elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, with_attributes
from dmlcts.spec.model.desc import OperatorDesc

Axes = tuple[int, ...]


def _up_to(count: int, rows: Array) -> Array:
    return rows[..., :count]


def _whole(count: int, rows: Array) -> Array:
    """Without what is left of a division of a longer row."""
    length = rows.shape[-1]
    return rows[..., : length // count * count] if length > count else rows


ELEMENTS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "last-left-out": ("ignores the last element of a row", lambda rows: rows[..., : max(rows.shape[-1] - 1, 1)]),
    **{f"beyond-{n}-left-out": (f"ignores what a row has beyond {n:,} elements", partial(_up_to, n)) for n in (256, 4096)},
    **{f"rest-of-{n}-left-out": (f"ignores what remains of a row's division by {n:,}", partial(_whole, n)) for n in (4, 32, 1024)},
}
"""By name: what it does, and the rows (the last dimension) that are left; of one element at least."""

_AXES: Mapping[str, tuple[str, Callable[[Axes, int], Axes]]] = {
    "up-to-the-last": (
        "goes along all dimensions between the axes too",
        lambda axes, count: tuple(range(min(axes), max(axes) + 1)),
    ),
    "counted-from-the-end": ("counts axes from the end", lambda axes, count: tuple(count - 1 - axis for axis in axes)),
    "one-axis-more": ("goes along the dimension before the first axis too", lambda axes, count: (max(min(axes) - 1, 0), *axes)),
    "as-many-last": ("goes along as many dimensions, the last ones", lambda axes, count: tuple(range(count - len(axes), count))),
    "of-the-last-4": (
        "treats axes as those of the last four dimensions",
        lambda axes, count: tuple(min(axis + max(count - 4, 0), count - 1) for axis in axes),
    ),
    "below-the-fifth": ("ignores axes beyond the fourth", lambda axes, count: tuple(a for a in axes if a < 4) or axes[:1]),
}
"""By name: what it does, and (right axes, number of dimensions) -> those that are taken."""

_OF_SEVERAL = ("up-to-the-last", "below-the-fifth", "as-many-last")
"""What makes no difference with a single axis, or is planted under another name."""


def along_wrong_axes(stage: str, several: bool = True) -> Faults:
    """Rows along other axes than those that a stage of the desc gives; of which there may be ``several``."""

    def instead(change: Callable[[Axes, int], Axes], right: Callable[[OperatorDesc], Axes], desc: OperatorDesc) -> Axes:
        axes = right(desc)
        return tuple(sorted(set(change(axes, len(desc.tensor("InputTensor").sizes))))) if axes else axes

    return {
        name: Fault(does, stages={stage: partial(instead, change)})
        for name, (does, change) in _AXES.items()
        if several or name not in _OF_SEVERAL
    }


def along_wrong_axis(*names: str) -> Faults:
    """A run along another dimension than Axis."""

    def misread(change: Callable[[Axes, int], Axes], fields: Mapping[str, Any]) -> Mapping[str, object]:
        return {"Axis": change((fields["Axis"],), len(fields["InputTensor"].sizes))[0]}

    return {name: Fault(_AXES[name][0], desc=with_attributes(partial(misread, _AXES[name][1]))) for name in names}
