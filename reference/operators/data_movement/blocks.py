"""Channels to blocks of height and width, and back.

The channels of the depth side are three numbers in one: a block's row, its column, and the channel of the space side. DEPTH_COLUMN_ROW
has the channel last (fastest), as the operators without Order do, COLUMN_ROW_DEPTH has it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("data_movement.channel_first")
def _channel_first(desc: OperatorDesc) -> bool:
    """Whether the channel of the space side is the slowest of the three."""
    return desc.constant("Order", default="DEPTH_COLUMN_ROW") == "COLUMN_ROW_DEPTH"


@reference("DEPTH_TO_SPACE")
@reference("DEPTH_TO_SPACE1")
def depth_to_space(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[n, c, h * b + i, w * b + j] = input[n, channel(c, i, j), h, w]``."""
    x, b = inputs["InputTensor"], desc.integer("BlockSize")
    n, channels, h, w = x.shape
    c = channels // (b * b)
    if _channel_first(desc):
        parts, order = (n, c, b, b, h, w), (0, 1, 4, 2, 5, 3)
    else:
        parts, order = (n, b, b, c, h, w), (0, 3, 4, 1, 5, 2)
    return {"OutputTensor": Answer(xp.reshape(xp.permute_dims(xp.reshape(x, parts), order), (n, c, h * b, w * b)))}


@reference("SPACE_TO_DEPTH")
@reference("SPACE_TO_DEPTH1")
def space_to_depth(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[n, channel(c, i, j), h, w] = input[n, c, h * b + i, w * b + j]``."""
    x, b = inputs["InputTensor"], desc.integer("BlockSize")
    n, c, height, width = x.shape
    h, w = height // b, width // b
    order = (0, 1, 3, 5, 2, 4) if _channel_first(desc) else (0, 3, 5, 1, 2, 4)
    return {"OutputTensor": Answer(xp.reshape(xp.permute_dims(xp.reshape(x, (n, c, h, b, w, b)), order), (n, c * b * b, h, w)))}
