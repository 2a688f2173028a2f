"""A case's input arrays: from a recipe, special values or a literal to an array of the tensor's sizes and type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import shake_256
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.case.case import REJECTION, Case, Data
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.values.indices import cycle_values
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.generator.values.special_sets import special_values
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import literal_array, numpy_dtype
from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.rules.shape import FAILURES

Array = NDArray[Any]

_PERIOD = 65_521
"""A prime number: no elements that lie a power of two apart are equal for that reason."""


def inputs(case: Case) -> dict[str, Array]:
    """The input arrays of a case by tensor name, packed: the same on every machine and in every run.

    A negative case has zeros where its desc lacks a field that the bounds of its data need, or leaves nothing between them.

    Raises:
        NotGenerable: so does the desc of any other case.
    """
    found = {}
    for name, data in case.data.items():
        tensor = case.desc.tensor(name)
        try:
            found[name] = array(data, tensor, f"{case.id}/{name}", case.desc.fields)
        except (NotGenerable, *FAILURES) as error:
            if case.expect != REJECTION:
                raise NotGenerable(f"{case.id}: the data of {name}: {error}") from error
            found[name] = np.zeros(tensor.sizes, numpy_dtype(tensor.data_type))
    return {name: found[case.in_place.get(name, name)] for name in found}  # inputs that share a resource have the same content


def array(data: Data, tensor: TensorDesc, seed: str, fields: Mapping[str, object] = MappingProxyType({})) -> Array:
    """One tensor's array; ``seed`` names the byte stream of a recipe, ``fields`` are its desc's.

    Where a stride is 0, the elements along that dimension are the same element, so they are equal in the array as well.
    """
    if data.literal is not None:
        return literal_array(data.literal)
    if data.special:
        values = np.roll(data_values(data, tensor.data_type), -int(data.parameters.get("after", 0)))
        return cycle_values(np.repeat(values, int(data.parameters.get("each", 1))), tensor.count).reshape(tensor.sizes)
    if data.alike:  # a recipe knows what is valid everywhere in a tensor that is one element
        tensor = replace(tensor, strides=(0,) * len(tensor.sizes))
    made = recipe_array(data.recipe, data.parameters, tensor, stream(seed, recipe_bytes(data.recipe, tensor)), fields)
    return same_where_broadcast(made, tensor)


def data_values(data: Data, data_type: str) -> Array:
    """The values of a special set, each once."""
    skip, points, where = (str(data.parameters.get(key, "")) for key in ("skip", "points", "where"))
    return special_values(data.special, data_type, skip, points, where)


def recipe_bytes(recipe: str, tensor: TensorDesc) -> int:
    """How many raw bytes a recipe needs for a tensor."""
    return tensor.count * RECIPES[recipe].width(tensor.data_type)


def recipe_array(
    recipe: str,
    parameters: Mapping[str, float | int | str],
    tensor: TensorDesc,
    raw: bytes,
    fields: Mapping[str, object] = MappingProxyType({}),
) -> Array:
    """``recipe_bytes`` raw bytes as the tensor's values; ``fields`` are the desc's, which parameters may use.

    Raises:
        NotGenerable: the desc lacks a field that a parameter uses.
    """
    entry = RECIPES[recipe]
    cells = np.frombuffer(raw, np.uint8).reshape(tensor.count, entry.width(tensor.data_type))
    known = {
        name: _parameter_value(value, fields) if name in entry.computed and isinstance(value, str) else value
        for name, value in parameters.items()
    }
    return entry.make(cells, tensor.data_type, {**known, "tensor": tensor}).reshape(tensor.sizes)


def _parameter_value(parameter: float | int | str, fields: Mapping[str, object]) -> Any:
    """The value of a parameter's expression for a desc. Raises NotGenerable if it cannot be computed."""
    try:
        return compile_expression(str(parameter)).evaluate(fields)
    except FAILURES as error:
        raise NotGenerable(f"{parameter} cannot be computed for this desc ({error})") from None


def same_where_broadcast(values: Array, tensor: TensorDesc) -> Array:
    """The array with elements that are one element in memory filled from the first of them: along strides of 0, and where rows overlap."""
    has_rows = tensor.strides is not None and overlaps(tensor)
    if tensor.strides is None or (0 not in tensor.strides and not has_rows):
        return values
    first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in tensor.strides)
    values = values[first]
    if has_rows:
        places = sum(np.ix_(*(stride * np.arange(size) for stride, size in zip(tensor.strides, values.shape, strict=True))))
        _, at, which = np.unique(places, return_index=True, return_inverse=True)
        values = values.ravel()[at][which].reshape(values.shape)
    return np.ascontiguousarray(np.broadcast_to(values, tensor.sizes))


def overlaps(tensor: TensorDesc) -> bool:
    """Whether places of a tensor coincide apart from its broadcast dimensions."""
    steps = sorted(
        (stride, size) for stride, size in zip(tensor.effective_strides, tensor.sizes, strict=True) if stride and size > 1
    )
    reach = 0
    for stride, size in steps:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def stream(seed: str, count: int) -> bytes:
    """``count`` bytes that depend on the seed alone: SHAKE-256 of its UTF-8 form, which no library version changes; after ``_PERIOD`` bytes again.

    The hash took a quarter of all time of level full.
    """
    made = shake_256(seed.encode()).digest(min(count, _PERIOD))
    return made if count <= _PERIOD else (made * (count // _PERIOD + 1))[:count]
