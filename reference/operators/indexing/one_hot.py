"""Two values, of which the second stands where an index names a place along an axis: ONE_HOT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.indexing.places import places
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import MEASURED


@reference("ONE_HOT")
def one_hot(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[b, n, a] = values[1] if n == indices[b, 0, a] else values[0]``: the first two elements of the values. An index without a place has none."""
    values, output = xp.ravel(inputs["ValuesTensor"]), desc.tensor("OutputTensor")
    axis = desc.integer("Axis")
    size = output.sizes[axis]
    along = xp.reshape(xp.arange(size), (-1, *(1,) * (len(output.sizes) - 1 - axis)))
    named = places(xp, inputs["IndicesTensor"], size) == along
    answer = Answer(xp.where(named, values[1], values[0]))
    if _is_second_behind_first(desc.tensor("ValuesTensor")):
        return {"OutputTensor": answer}
    return {"OutputTensor": replace(answer, contested={MEASURED: Answer(answer.value, defined=~named)})}


def _is_second_behind_first(values: TensorDesc) -> bool:
    """Whether the second value lies a step of the last dimension behind the first, where DirectML.dll was measured to look for it."""
    steps = zip(values.sizes, values.effective_strides, strict=True)
    return values.effective_strides[-1] == next(stride for size, stride in reversed(list(steps)) if size > 1)
