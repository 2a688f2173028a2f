"""Recipes of indices into another tensor: valid ones, and such that no two name the same element.

``below`` says how many places there are, or how many for each element in turn (a tuple of the last dimension indexes several dimensions).
Indices of signed types count from the end as often as from the beginning: a negative one is a place less the number of places. With ``last``, places
are among the last so many, or as many more as it takes that they differ: far ones of many, which random places seldom are.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

Array = NDArray[Any]
Raw = NDArray[np.uint8]
Parameters = Mapping[str, Any]


def indices(raw: Raw, name: str, parameters: Parameters) -> Array:
    """Any place, 4 bytes for each. Raises NotGenerable where there is none."""
    tensor: TensorDesc = parameters["tensor"]
    below = _places_each(tensor, parameters["below"])
    room = np.minimum(below, int(parameters.get("last", below.max())))
    return _from_either_end(below - room + np.floor(_shares(raw) * room).astype(np.int64), below, raw, tensor)


def distinct_indices(raw: Raw, name: str, parameters: Parameters) -> Array:
    """Indices that differ along the axis ``along``, 8 bytes for each. Where there are more of them than places, some come again.

    Raises:
        NotGenerable: the tensor has no such axis, or there are no places.
    """
    tensor: TensorDesc = parameters["tensor"]
    below, along = int(_places_each(tensor, parameters["below"])[0]), int(parameters["along"])
    if not 0 <= along < len(tensor.sizes):
        raise NotGenerable(f"there is no axis {along} of {len(tensor.sizes)}")
    lines = np.moveaxis(np.arange(tensor.count).reshape(tensor.sizes), along, -1)
    places = np.empty(tensor.count, np.int64)
    room = _room(below, lines.shape[-1], parameters)
    places[lines] = below - room + _distinct(raw[lines], room)
    return _from_either_end(places, np.asarray(below), raw, tensor)


def distinct_tuples(raw: Raw, name: str, parameters: Parameters) -> Array:
    """Tuples in the last dimension, no two of which are alike, 8 bytes for each index. Where there are more than places, some come again.

    Raises:
        NotGenerable: there are no places.
    """
    tensor: TensorDesc = parameters["tensor"]
    below = _places_each(tensor, parameters["below"]).reshape(-1, tensor.sizes[-1])
    width, bounds = tensor.sizes[-1], below[0]
    every = prod(int(bound) for bound in bounds)
    room = _room(every, len(below), parameters)
    flat = every - room + _distinct(raw.reshape(-1, width, raw.shape[1])[None, :, 0], room)[0]
    places = np.stack(np.unravel_index(flat, tuple(bounds)), axis=-1)
    return _from_either_end(places.ravel(), below.ravel(), raw, tensor)


def _room(below: int, count: int, parameters: Parameters) -> int:
    """Among how many places so many different ones are."""
    return min(below, max(int(parameters.get("last", below)), count))


def _places_each(tensor: TensorDesc, below: Any) -> Array:
    """The number of places for each element; where the elements of a tuple are one element, the least. Raises NotGenerable."""
    places: Array = np.asarray(below, np.int64)
    if not places.size or np.min(places) < 1:
        raise NotGenerable("there is nothing to index")
    if tensor.strides is not None and tensor.strides[-1] == 0:
        places = np.asarray(np.min(places))
    return cycle_values(places, tensor.count)


def cycle_values(values: Array, count: int) -> Array:
    """So many values: all one after the other, and again from the first. As ``numpy.resize``, which is slow where there are few values."""
    found: Array = np.tile(values.ravel(), -(-count // values.size))[:count]
    return found


def _shares(raw: Raw) -> Array:
    """Numbers from 0 to 1, 1 excluded, from the last four bytes of each element."""
    found: Array = np.ascontiguousarray(raw[..., -4:]).view("<u4")[..., 0] / 2.0**32
    return found


def _distinct(raw: Raw, count: int) -> Array:
    """In each row, as many different numbers below ``count`` as there are elements: each of another part of them, in any order."""
    keys = np.ascontiguousarray(raw[..., :4]).view("<u4")[..., 0]
    turn = np.argsort(np.argsort(keys, axis=-1, kind="stable"), axis=-1, kind="stable")
    least = turn * count // keys.shape[-1]
    most = np.maximum(least, (turn + 1) * count // keys.shape[-1] - 1)
    found: Array = least + np.floor(_shares(raw) * (most - least + 1)).astype(np.int64)
    return found


def _from_either_end(places: Array, below: Array, raw: Raw, tensor: TensorDesc) -> Array:
    signed = tensor.type.kind == "int"
    found: Array = (places - below * (raw[:, -4] & 1) if signed else places).astype(numpy_dtype(tensor.data_type))
    return found
