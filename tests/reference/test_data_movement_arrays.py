"""Joins and splits: values worked out by hand."""

import numpy as np

from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc


def test_split_into_unequal_parts() -> None:
    parts = tuple(TensorDesc("INT8", (2, size)) for size in (1, 3, 2))
    desc = OperatorDesc("SPLIT", {"InputTensor": TensorDesc("INT8", (2, 6)), "OutputCount": 3, "OutputTensors": parts, "Axis": 1})
    split = reference_of("SPLIT")
    assert split is not None
    found = split(np, desc, {"InputTensor": np.arange(12, dtype=np.int8).reshape(2, 6)})
    values = {name: answer.value.tolist() for name, answer in found.items()}
    assert values == {
        "OutputTensors[0]": [[0], [6]],
        "OutputTensors[1]": [[1, 2, 3], [7, 8, 9]],
        "OutputTensors[2]": [[4, 5], [10, 11]],
    }


def test_join_keeps_the_order_and_the_bits() -> None:
    first, second = (
        np.array([[0x7F800001, 1]], np.uint32).view(np.float32),
        np.array([[0x80000000, 0xFFC00123]], np.uint32).view(np.float32),
    )
    inputs = (TensorDesc("FLOAT32", (1, 2)),) * 2
    desc = OperatorDesc("JOIN", {"InputCount": 2, "InputTensors": inputs, "OutputTensor": TensorDesc("FLOAT32", (2, 2)), "Axis": 0})
    join = reference_of("JOIN")
    assert join is not None
    found = join(np, desc, {"InputTensors[0]": first, "InputTensors[1]": second})["OutputTensor"].value
    assert found.view(np.uint32).tolist() == [[0x7F800001, 1], [0x80000000, 0xFFC00123]]
