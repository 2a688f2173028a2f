"""Backends with two faults, of which the first is frequent and hides the second, or with one that always shows."""

from __future__ import annotations

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.backends.reference import ReferenceBackend


def damaged(dispatch: Dispatch) -> None:
    """The first byte of the first output is wrong."""
    binding = dispatch.bindings[dispatch.outputs[0]]
    dispatch.resources[binding.resource][binding.offset] ^= 0x55


class FrequentAndRare(ReferenceBackend):
    """Wrong wherever the output has strides; and, if it has none, in cases of FLOAT16 where a long dimension is read with a stride of 0."""

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        if frequent(dispatch) or rare(dispatch):
            damaged(dispatch)


class Always(ReferenceBackend):
    """Wrong in every case."""

    def run(self, dispatch: Dispatch) -> None:
        super().run(dispatch)
        damaged(dispatch)


class RefusedAndWrong(ReferenceBackend):
    """Refuses descs whose output has strides; the rare fault is as above."""

    def run(self, dispatch: Dispatch) -> None:
        if frequent(dispatch):
            raise Rejected("no strides", "create", "0x80004001")
        super().run(dispatch)
        if rare(dispatch):
            damaged(dispatch)


def frequent(dispatch: Dispatch) -> bool:
    return dispatch.desc.tensor("OutputTensor").strides is not None


def rare(dispatch: Dispatch) -> bool:
    tensor = dispatch.desc.tensor("ATensor")
    is_read_again = tensor.strides is not None and any(
        size >= 200 and not stride for size, stride in zip(tensor.sizes, tensor.strides, strict=True)
    )
    return tensor.data_type == "FLOAT16" and is_read_again
