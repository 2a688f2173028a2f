"""The answers that were computed last, for who asks twice: the judge of a case, and then the reference as the implementation under test.

Computing them is most of what a case of the reference costs. Nothing is taken on trust: desc and inputs must be the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import compute
from dmlcts.reference.stage import is_replaced
from dmlcts.spec.model.desc import OperatorDesc

_MOST_BYTES = 1 << 26
"""Larger inputs are not kept."""


@dataclass(frozen=True, slots=True)
class _Last:
    desc: OperatorDesc
    inputs: Mapping[str, Array]
    answers: dict[str, Answer]

    def is_of(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> bool:
        return (
            (self.desc is desc or self.desc == desc)
            and self.inputs.keys() == inputs.keys()
            and all(_same_bits(array, inputs[name]) for name, array in self.inputs.items())
        )


_last: _Last | None = None


def recent(desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """As ``registry.compute``; nothing is computed if the last call was for the same. With a stage replaced, or on a GPU, everything is."""
    global _last
    if is_replaced() or not _is_kept(inputs):
        return compute(desc, inputs)
    if _last is None or not _last.is_of(desc, inputs):
        kept = {name: array.copy() for name, array in inputs.items()}
        _last = _Last(desc, kept, compute(desc, inputs))
    return dict(_last.answers)


def _is_kept(inputs: Mapping[str, Array]) -> bool:
    return all(isinstance(array, np.ndarray) for array in inputs.values()) and (
        sum(array.nbytes for array in inputs.values()) <= _MOST_BYTES
    )


def _same_bits(one: Array, other: Array) -> bool:
    return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
