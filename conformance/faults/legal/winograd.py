"""A convolution by Winograd's transforms, F(2 x 2, 3 x 3), in FLOAT32: 16 multiplications in place of 36, as libraries and drivers choose it for windows of 3 by 3.

It adds inputs up before it multiplies them. So an error is of the size of the largest input of a tile of 4 by 4, and inputs near the
largest number give NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array
from dmlcts.reference.operators.convolution.windows import Layer, forward

_INPUT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float32)
_FILTER = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_OUTPUT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float32)
"""The transforms of a tile of the input, of a filter, and of their product: each is applied from both sides."""

_TILE, _STEP = 4, 2
"""The size of an input's tile, and how far tiles are apart: as far as there are results in one, in each dimension."""


def by_transforms(right: Callable[..., Array], xp: Any, layer: Layer) -> Array:
    """The sums (N, G, M, *T) of a layer with windows of 3 by 3 that lie one apart; of others what ``right``, the reference's sum, gives."""
    geometry = layer.geometry
    if layer.sums is not forward or layer.w.shape[3:] != (3, 3) or {*geometry.strides, *geometry.dilations} != {1}:
        return right(xp, layer)
    with np.errstate(all="ignore"):
        tiles = np.lib.stride_tricks.sliding_window_view(_pad_input(layer), (_TILE, _TILE), axis=(-2, -1))[
            ..., ::_STEP, ::_STEP, :, :
        ]
        products = np.einsum("ngcyxij,gmcij->ngmyxij", _both(_INPUT, tiles), _both(_FILTER, layer.w.astype(np.float32)))
        out = _both(_OUTPUT, products)
    *leading, rows, columns, _, _ = out.shape
    image = np.swapaxes(out, -3, -2).reshape(*leading, rows * _STEP, columns * _STEP)
    return image[..., : geometry.sizes[0], : geometry.sizes[1]].astype(np.float64)


def _pad_input(layer: Layer) -> Array:
    """The input as far as its tiles reach, which leave no result out."""
    x = layer.taken_elements(layer.x).astype(np.float32)
    widths = [(0, 0)] * 3
    for start, size, has in zip(layer.geometry.start, layer.geometry.sizes, x.shape[3:], strict=True):
        reach = -(-size // _STEP) * _STEP + _TILE - _STEP
        widths.append((start, max(0, reach - start - has)))
    return np.pad(x, widths)


def _both(transform: Array, of: Array) -> Array:
    """A transform of the last two dimensions."""
    found: Array = transform @ of @ transform.T
    return found
