"""What goes wrong where the conditions hold: the last element, packed strides, zeros, a neighbour's value, half precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, as_bfloat16, as_float16
from dmlcts.conformance.faults.transforms import strides
from dmlcts.conformance.faults.transforms.tensors import change_tensor
from dmlcts.generator.plan.tensor_names import tensors_of
from dmlcts.spec.model.operator import Operator

Faults = dict[str, list[tuple[str, Fault]]]
"""By kind: faults with the label of each."""


@cache
def faults_of(operator: Operator) -> Faults:
    """The faults that are planted in an operator."""
    found: Faults = {kind: [] for kind in KINDS}
    for kind, label, fault in _faults(operator):
        found[kind].append((label, fault))
    return {kind: faults for kind, faults in found.items() if faults}


def _faults(operator: Operator) -> Iterator[tuple[str, str, Fault]]:
    for label, fault in strides.faults(operator):
        if label.startswith("strides/ignored/"):
            yield PACKED, label, replace(fault, kinds=())
    for field in tensors_of(operator):
        yield HALF, f"{field.name}/in-half", change_tensor(field, "rounds {} to half of its precision", halve_precision)
        for kind, label, does, change in _OF_OUTPUTS if field.kind == "output" else ():
            yield kind, f"{field.name}/{label}", change_tensor(field, does, change)


def halve_precision(x: Array) -> Array:
    """FLOAT64 and FLOAT32 as FLOAT16, FLOAT16 as bfloat16; of integers the low byte is lost, of 8 bits and less the low half."""
    if x.dtype.kind == "f":
        return as_bfloat16(x) if x.dtype.itemsize == 2 else as_float16(x)
    if x.dtype.kind not in "iu":  # 4 bits, which NumPy does not compute with
        return (x.astype(np.int8) & ~3).astype(x.dtype)
    lost = 4 if x.dtype.itemsize == 1 else 8
    return (x >> lost) << lost


def _replace_element(at: Callable[[int], int], value: Callable[[Array], object]) -> Callable[[Array], Array]:
    """One element replaced: where it is by the number of elements, and its value by all of them in a row."""

    def change(x: Array) -> Array:
        flat = x.reshape(-1).copy()
        flat[at(flat.size)] = value(flat)
        return flat.reshape(x.shape)

    return change


LAST, PACKED, ZERO, NEIGHBOUR, HALF = KINDS = ("last element", "packed strides", "zero", "neighbour", "half precision")

_OF_OUTPUTS: tuple[tuple[str, str, str, Callable[[Array], Array]], ...] = (
    (LAST, "last-is-0", "gives 0 for the last element of {}", _replace_element(lambda n: n - 1, lambda flat: 0)),
    (
        LAST,
        "last-is-before",
        "gives the last element of {} the value before it",
        _replace_element(lambda n: n - 1, lambda flat: flat[-2:][0]),
    ),
    (ZERO, "one-is-0", "gives 0 for the element in the middle of {}", _replace_element(lambda n: n // 2, lambda flat: 0)),
    (ZERO, "all-are-0", "gives 0 for all of {}", np.zeros_like),
    (NEIGHBOUR, "next", "gives the elements of {} the values of the next", lambda x: np.roll(x, -1)),
)
"""The kind, a label, what it does, and the change of an output."""
