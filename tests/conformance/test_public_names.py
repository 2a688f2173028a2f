"""The names that an implementer imports: one place, pinned."""

import pytest

import dmlcts.conformance
from dmlcts.conformance import ArrayBackend, Backend, BackendInfo, Dispatch, OperatorDesc, Rejected, TensorDesc, Unsupported

PUBLIC = (
    "ArrayBackend",
    "Backend",
    "BackendFault",
    "BackendInfo",
    "BufferBinding",
    "Dispatch",
    "GraphDispatch",
    "OperatorDesc",
    "Rejected",
    "TensorDesc",
    "Unsupported",
)


def test_the_public_names() -> None:
    assert sorted(dmlcts.conformance.__all__) == sorted(PUBLIC)
    assert {name: getattr(dmlcts.conformance, name).__name__ for name in PUBLIC} == {name: name for name in PUBLIC}


def test_a_name_that_is_not_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Layout'"):
        dmlcts.conformance.__getattr__("Layout")


def test_a_backend_needs_nothing_else() -> None:
    class Mine(ArrayBackend):
        info = BackendInfo("mine", "1.0", data_types=("UINT8",))

        def compute(self, desc, inputs):  # type: ignore[no-untyped-def]
            raise Unsupported(desc.type)

    backend: Backend = Mine()
    desc = OperatorDesc("ELEMENT_WISE_BIT_NOT", {"InputTensor": TensorDesc("UINT8", (1, 1, 1, 4)), "OutputTensor": None})
    with pytest.raises((Rejected, Unsupported)):
        backend.run(Dispatch(desc, [], {}, ()))
