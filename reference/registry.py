"""The reference function of each operator.

A reference function is ``f(xp, desc, inputs) -> {output name: Answer}``: ``xp`` is the array namespace of the inputs (array-api-compat,
so NumPy or CuPy), ``inputs`` are packed arrays in the tensors' own types by tensor name. It is written from the documentation, gives
exact integers or unrounded float64, and knows nothing of cases, buffers or backends.

Every module below reference/FAMILY is found, and imported when an operator of its family is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from typing import Any

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import family_of

Reference = Callable[[Any, OperatorDesc, Mapping[str, Array]], dict[str, Answer]]

_OPERATORS = "operators"
"""The folder whose modules register functions here. It is found by its name, as plugins are: what lies in it imports this module."""

_FUNCTIONS: dict[str, Reference] = {}


def reference(name: str) -> Callable[[Reference], Reference]:
    """Registers the decorated function as the reference of operator ``name``."""

    def register(function: Reference) -> Reference:
        _FUNCTIONS[name] = function
        return function

    return register


@cache
def reference_of(name: str) -> Reference | None:
    """The reference function of an operator, if there is one.

    It is looked for in the folder that is called as the folder of the operator's spec is, and in the others only where it is not there:
    one operator's function is there in a few milliseconds.
    """
    home = family_of(name)
    for family in sorted(_families(), key=lambda family: family != home):
        _import(family)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
    return None


@cache
def references() -> Mapping[str, Reference]:
    """Every reference function by operator. All modules of all families are imported."""
    for family in _families():
        _import(family)
    return _FUNCTIONS


def _families() -> tuple[str, ...]:
    """The folders of operators."""
    folder = Path(__file__).with_name(_OPERATORS)
    return tuple(sorted(found.name for found in iter_modules([str(folder)]) if found.ispkg))


@cache
def _import(family: str) -> None:
    """Imports every module of a family, whose functions register themselves."""
    folder = import_module(f"{__package__}.{_OPERATORS}.{family}")
    for found in walk_packages(folder.__path__, f"{folder.__name__}."):
        import_module(found.name)


def compute(desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The answers of the operator for these inputs.

    Raises:
        KeyError: the operator has no reference.
    """
    function = reference_of(desc.type)
    if function is None:
        raise KeyError(f"{desc.type} has no reference function: no module below reference/ has one with @reference({desc.type!r})")
    xp = _namespace(tuple(inputs.values()))
    with np.errstate(all="ignore"):  # overflow and NaN are among what the operators are defined for
        return function(xp, desc, inputs)


def _namespace(arrays: tuple[Array, ...]) -> Any:
    """NumPy's own namespace for its arrays, which is the array API's since 2.1; array-api-compat, which takes 0.1 s to import, for CuPy's."""
    if all(isinstance(array, np.ndarray) for array in arrays):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)
