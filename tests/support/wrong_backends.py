"""A backend that does something wrong, and a case run on it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import Bytes, Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.record.record import Result
from dmlcts.spec.model.desc import OperatorDesc

OR = "ELEMENT_WISE_BIT_OR/UINT8/4d"
XOR = "ELEMENT_WISE_BIT_XOR/UINT32/4d"
ROUND = "ELEMENT_WISE_ROUND/FLOAT32/4d/HALVES_TO_NEAREST_EVEN"
NEGATIVE = "ELEMENT_WISE_BIT_OR/UINT32/negative/same-sizes/BTensor-size2"
# The first operators; then attributes of every kind, tensors of several types of which one may be absent, and sizes with symbols.
SAMPLE = (
    *(
        f"ELEMENT_WISE_{name}"
        for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND", "CLIP1", "QUANTIZE_LINEAR")
    ),
    "ACTIVATION_SOFTMAX",
)


class Good(ReferenceBackend):
    """The reference, which a test lets do something besides: ``after`` a dispatch that it has executed rightly, or ``instead`` of it."""

    def __init__(
        self, after: Callable[[Dispatch], object] | None = None, instead: Callable[[Dispatch], object] | None = None, **info: Any
    ) -> None:
        super().__init__()
        self.after, self.instead = after, instead
        self.info = replace(self.info, **info)

    def run(self, dispatch: Dispatch) -> None:
        if self.instead is not None:
            self.instead(dispatch)
            return
        super().run(dispatch)
        if self.after is not None:
            self.after(dispatch)


class Computing(ReferenceBackend):
    """The reference but for what it computes."""

    def __init__(self, value: Callable[[Mapping[str, np.ndarray]], np.ndarray], **info: Any) -> None:
        super().__init__()
        self.value = value
        self.info = replace(self.info, **info)

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"OutputTensor": self.value(inputs)}


def run(case: Case | str, backend: ReferenceBackend) -> Result:
    return execute(find_case(case) if isinstance(case, str) else case, backend, backend.info)


def after(case: Case | str, change: Callable[[Dispatch], object]) -> Result:
    return run(case, Good(after=change))


def resource(dispatch: Dispatch, name: str = "OutputTensor") -> Bytes:
    return dispatch.resources[dispatch.bindings[name].resource]


def start(dispatch: Dispatch, name: str = "OutputTensor") -> int:
    return dispatch.bindings[name].offset


def end(dispatch: Dispatch, name: str = "OutputTensor") -> int:
    return start(dispatch, name) + dispatch.bindings[name].size


def put(dispatch: Dispatch, at: int, value: int, name: str = "OutputTensor") -> None:
    resource(dispatch, name)[at] = value


def output(dispatch: Dispatch) -> np.ndarray:
    return read_tensor(resource(dispatch), dispatch.desc.tensor("OutputTensor"), start(dispatch))


def write(dispatch: Dispatch, values: np.ndarray) -> None:
    write_tensor(resource(dispatch), dispatch.desc.tensor("OutputTensor"), values, start(dispatch))


def swapped(dispatch: Dispatch) -> None:
    values = output(dispatch)
    flat = values.reshape(-1).copy()
    flat[[0, 1]] = flat[[1, 0]]
    write(dispatch, flat.reshape(values.shape))
