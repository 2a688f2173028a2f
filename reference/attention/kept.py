"""Keys and values that are kept in place: MULTIHEAD_ATTENTION1 with PastSequenceLengthsTensor.

The page says nothing of it; all of this is measured on DirectML.dll. OutputPresentKeyTensor and OutputPresentValueTensor are buffers with
room for more positions than there are yet. They hold the past when the operator starts, as many positions a batch as its length says;
the new keys and values are written behind it, and the rest stays as it is. The first query attends to what is up to the first new key,
each further one to one key more: MaskFilterValue is added to all other scores, those of positions that hold nothing yet among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.attention.operands import Estimate, Inputs, element_type, fill_error, four
from dmlcts.spec.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class Kept:
    """Keys and values to attend to.

    ``added`` is the mask that comes with keys kept in place. ``blind`` says of such that nobody told what the buffers held before:
    ``written`` then marks the positions (of batch, 1, positions, 1) that are known all the same.
    """

    key: Estimate
    value: Estimate
    added: Estimate | None = None
    written: Array | None = None
    blind: bool = False

    def defined(self, xp: Any, sizes: tuple[int, ...]) -> Array | None:
        """Which elements of the output are known: none, if the buffers' content is not."""
        return xp.zeros(sizes, dtype=xp.bool) if self.blind else None

    def known(self, xp: Any, like: Array, sizes: tuple[int, ...]) -> Array | None:
        """Which elements of a buffer are known afterwards."""
        return xp.reshape(xp.broadcast_to(self.written, like.shape), sizes) if self.blind else None


def kept(xp: Any, desc: OperatorDesc, inputs: Inputs, key: Estimate, value: Estimate, queries: int) -> Kept:
    """The buffers with the new keys and values in them. What they held before is among the inputs, by the outputs' names."""
    lengths = xp.reshape(inputs["PastSequenceLengthsTensor"], (-1,)).astype(xp.int64)
    room, count = desc.tensor("OutputPresentKeyTensor").sizes[-2], key.value.shape[2]
    at = xp.arange(room)[None, :] - lengths[:, None]  # which of the new ones stands there
    written = ((at >= 0) & (at < count))[:, None, :, None]
    taken = xp.clip(at, 0, count - 1)[:, None, :, None]
    number: Any = desc.fields["MaskFilterValue"]
    fill = xp.asarray(float(xp.float32(number)))
    hidden = (at[:, None, :] > xp.arange(queries)[None, :, None])[:, None, :, :]
    added = Estimate(xp.where(hidden, fill, 0.0), xp.where(hidden, fill_error(xp, fill, element_type(desc)), 0.0))

    def put(new: Estimate, name: str) -> Estimate:
        before = inputs.get(name)
        places = xp.broadcast_to(taken, (*new.value.shape[:2], room, new.value.shape[3]))
        held = xp.zeros(places.shape, dtype=xp.float64) if before is None else four(xp, before)
        parts = ((new.value, held), (new.error, xp.zeros_like(held)))
        return Estimate(*(xp.where(written, xp.take_along_axis(mine, places, axis=2), old) for mine, old in parts))

    blind = "OutputPresentKeyTensor" not in inputs
    return Kept(put(key, "OutputPresentKeyTensor"), put(value, "OutputPresentValueTensor"), added, written, blind)
