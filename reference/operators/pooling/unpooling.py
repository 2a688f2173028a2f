"""The inverse of maximum pooling: each input element goes where its index says, and zeros fill the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


@reference("MAX_UNPOOLING")
def max_unpooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output.flat[indices] = input`` into zeros. An index beyond the output writes nothing; what several name is not defined.

    The page demands nothing of indices and says nothing of such. An older state of it calls them out of bounds and not defined.
    """
    x, indices = xp.reshape(inputs["InputTensor"], (-1,)), xp.reshape(inputs["IndicesTensor"], (-1,))
    output = desc.tensor("OutputTensor")
    within = indices < output.count
    places = indices[within].astype(xp.int64)
    flat = xp.zeros(output.count, dtype=x.dtype)
    flat[places] = x[within]
    named = xp.bincount(places, minlength=output.count)
    return {"OutputTensor": Answer(xp.reshape(flat, output.sizes), defined=xp.reshape(named < 2, output.sizes))}
