"""The reference function of each operator.

A reference function is ``f(xp, desc, inputs) -> {output name: Answer}``: ``xp`` is the array namespace of the inputs (array-api-compat,
so NumPy or CuPy), ``inputs`` are packed arrays in the tensors' own types by tensor name. It is written from the documentation, gives
exact integers or unrounded float64, and knows nothing of cases, buffers or backends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.spec.desc import OperatorDesc

Reference = Callable[[Any, OperatorDesc, Mapping[str, Array]], dict[str, Answer]]

_MODULES = (
    "activation.exponential",
    "activation.piecewise",
    "activation.softmax",
    "attention.multihead",
    "convolution.convolution",
    "convolution.quantized",
    "element_wise.arithmetic",
    "element_wise.bits",
    "element_wise.exponential",
    "element_wise.limits",
    "element_wise.logic",
    "element_wise.quantization",
    "element_wise.rounding",
    "element_wise.selection",
    "element_wise.signs",
    "element_wise.trigonometric",
    "matrix.gemm",
    "matrix.quantized",
    "normalization.given",
    "normalization.mean_variance",
    "normalization.neighbours",
    "pooling.maximum",
    "pooling.means",
    "pooling.quantized",
    "pooling.regions",
    "pooling.unpooling",
    "reduction.cumulative",
    "reduction.extremes",
    "reduction.reduce",
)
"""The modules that hold reference functions, below dmlcts.reference."""

_FUNCTIONS: dict[str, Reference] = {}


def reference(name: str) -> Callable[[Reference], Reference]:
    """Registers the decorated function as the reference of operator ``name``."""

    def register(function: Reference) -> Reference:
        _FUNCTIONS[name] = function
        return function

    return register


@cache
def references() -> Mapping[str, Reference]:
    """Every reference function by operator."""
    for module in _MODULES:
        import_module(f"dmlcts.reference.{module}")
    return _FUNCTIONS


def compute(desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The answers of the operator for these inputs.

    Raises:
        KeyError: the operator has no reference.
    """
    function = references().get(desc.type)
    if function is None:
        raise KeyError(f"{desc.type} has no reference function; see reference/registry.py")
    xp = _namespace(tuple(inputs.values()))
    with np.errstate(all="ignore"):  # overflow and NaN are among what the operators are defined for
        return function(xp, desc, inputs)


def _namespace(arrays: tuple[Array, ...]) -> Any:
    """NumPy's own namespace for its arrays, which is the array API's since 2.1; array-api-compat, which takes 0.1 s to import, for CuPy's."""
    if all(isinstance(array, np.ndarray) for array in arrays):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)
