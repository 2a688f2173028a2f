"""What faults of operators on tensors of different sizes are made of: the reference, run on another desc or on other inputs.

What comes out is cut, or filled with zeros, to the sizes of the output (mutant.fitted).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.mutants.old.fault import Computed
from dmlcts.conformance.mutants.old.mutant import Array, fitted
from dmlcts.spec.desc import OperatorDesc, TensorDesc

Inputs = Mapping[str, Array]
_REFERENCE = ReferenceBackend()


def computed_of(change: Callable[[OperatorDesc], OperatorDesc], output: str = "") -> Computed:
    """Of the same inputs and a changed desc."""
    return lambda desc, inputs, right: _run(change(desc), inputs, right, output)


def computed_from(change: Callable[[OperatorDesc, Inputs], Inputs], output: str = "") -> Computed:
    """Of changed inputs, whose sizes the desc follows."""
    return lambda desc, inputs, right: _run(desc, change(desc, inputs), right, output)


def with_attributes(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[OperatorDesc], OperatorDesc]:
    """A desc with other attributes."""
    return lambda desc: desc.with_fields(**change(desc.fields))


def _run(desc: OperatorDesc, inputs: Inputs, right: Array, output: str) -> Array:
    sized: dict[str, object] = {}
    for name, array in inputs.items():
        tensor = desc.tensor(name)
        sized[name] = TensorDesc(tensor.data_type, array.shape)
    absent = {
        name: None
        for name, value in desc.fields.items()
        if isinstance(value, TensorDesc) and _is_input(name) and name not in inputs
    }
    outputs = _REFERENCE.compute(desc.with_fields(**sized, **absent), inputs)
    return fitted(outputs[output or output_like(outputs, right)], right.shape)


def _is_input(name: str) -> bool:
    return not name.startswith("Output")


def output_like(outputs: Mapping[str, Array], right: Array) -> str:
    """The output that the right array is of: the one of its type and sizes, or the first."""
    return next(
        (name for name, array in outputs.items() if array.dtype == right.dtype and array.shape == right.shape), next(iter(outputs))
    )


def added_up(dtype: str) -> Callable[[Array, int], Array]:
    """Adds the terms along an axis one after another in a type of few bits."""

    def total(terms: Array, axis: int) -> Array:
        sums: Array = np.cumsum(terms.astype(dtype), axis=axis, dtype=dtype)
        last: Array = np.take(sums, -1, axis=axis)
        return last.astype(np.float64)

    return total
