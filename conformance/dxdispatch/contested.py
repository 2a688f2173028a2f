"""The reference as a backend of models: where answers are contested, it gives the one of a basis, and says which others are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.reference.answer import Answer, host
from dmlcts.reference.answer_cache import recent
from dmlcts.reports.claim.claim import MEASURED_VERSION
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

Array = NDArray[Any]

SOURCES = {DOCUMENTED: "what the documentation says", MEASURED: f"what {MEASURED_VERSION} gives"}
"""What an answer of each basis rests on."""


class ContestedReference(ReferenceBackend):
    """``reference``, which gives answers of ``basis`` where they are contested. ``notes`` has a sentence for each output for which another answer differs."""

    def __init__(self, reference: ReferenceBackend, basis: str) -> None:
        super().__init__(reference.xp)
        self.info = reference.info
        self.basis = basis
        self.notes: list[str] = []

    def answers(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        """The answers of this basis, by output."""
        found = recent(desc, inputs)
        chosen = {name: answer.contested.get(self.basis, answer) for name, answer in found.items()}
        for name, answer in found.items():
            self.notes += _notes(desc, name, answer, self.basis)
        return chosen


def _notes(desc: OperatorDesc, name: str, answer: Answer, basis: str) -> Iterator[str]:
    """A sentence for each other answer for an output that differs from the one of this basis."""
    data_type, chosen = desc.tensor(name).data_type, answer.contested.get(basis, answer)
    others = {other: one for other, one in answer.contested.items() if other != basis}
    if basis in answer.contested:
        others |= {DOCUMENTED if basis == MEASURED else MEASURED: answer}
    for other, one in others.items():
        here, there = (_stored_array(each, data_type) for each in (chosen, one))
        differ = here.view(bits_dtype(data_type)) != there.view(bits_dtype(data_type))
        free = _undefined_elements(one, here) & ~_undefined_elements(chosen, here)
        if (differ | free).any():
            at = tuple(int(i) for i in np.argwhere(differ | free)[0])
            value = "any value" if free[at] else there[at]
            yield (
                f"{desc.type}: another answer for {name} is accepted too, {SOURCES[other]}: it differs in {int((differ | free).sum()):,} of "
                f"{differ.size:,} elements, first at {list(at)}: {value} instead of {here[at]}; `--basis {other}` gives it"
            )


def _undefined_elements(answer: Answer, like: Array) -> Array:
    return np.zeros(like.shape, np.bool_) if answer.defined is None else ~np.broadcast_to(host(answer.defined), like.shape)


def _stored_array(answer: Answer, data_type: str) -> Array:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(host(answer.stored_value).astype(numpy_dtype(data_type), copy=False))
