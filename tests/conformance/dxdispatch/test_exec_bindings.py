"""What ``dmlcts exec`` binds to the tensors of a desc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exec_models import Recorder, Write, bit_or, run_on

from dmlcts.conformance.dxdispatch.read import ModelError, read_model
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_file

OPERATORS = Path(__file__).parents[2] / "data" / "operators"


@pytest.fixture
def join(monkeypatch: pytest.MonkeyPatch) -> Operator:
    """JOIN, of which the package has no spec: an operator with an array of tensors."""
    operator = load_file(OPERATORS / "join.yaml")
    monkeypatch.setattr("dmlcts.conformance.dxdispatch.read.load", lambda _: operator)
    return operator


def join_model(inputs: Any, **more: Any) -> dict[str, Any]:
    tensors = [{"DataType": "FLOAT32", "Sizes": [1, 1, 1, n]} for n in (3, 2, 5)]
    output = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 10]}
    floats = {"initialValuesDataType": "FLOAT32"}
    return {
        "resources": {
            "A": {**floats, "initialValues": {"valueCount": 10, "valueStart": 1, "valueDelta": 1}},
            "B": {**floats, "initialValues": [100, 115]},
            "Out": {**floats, "initialValues": {"valueCount": 10, "value": 0}},
        },
        "dispatchables": {
            "join": {
                "type": "JOIN",
                "desc": {"InputCount": 3, "InputTensors": tensors, "OutputTensor": output, "Axis": 3},
                **more,
            }
        },
        "commands": [{"type": "dispatch", "dispatchable": "join", "bindings": {"InputTensors": inputs, "OutputTensor": "Out"}}],
    }


def test_an_array_of_tensors_is_bound_in_order_and_parts_of_a_resource_share_it(
    join: Operator, write: Write, tmp_path: Path
) -> None:
    recorder = Recorder()
    inputs = [{"name": "A", "elementCount": 3}, "B", {"name": "A", "elementCount": 5, "elementOffset": 4}]
    state = run_on(recorder, write(join_model(inputs)), tmp_path)
    dispatch, _ = recorder.seen[0]
    parts = {name: (b.resource, b.offset, b.size) for name, b in dispatch.bindings.items()}
    assert parts == {
        "InputTensors[0]": (0, 0, 40),
        "InputTensors[1]": (1, 0, 8),
        "InputTensors[2]": (0, 16, 24),
        "OutputTensor": (2, 0, 40),
    }
    assert dispatch.outputs == ("OutputTensor",)
    assert state.contents["Out"][0] == 0xEE
    assert list(state.outputs) == ["Out"]


def test_the_size_of_an_element_may_be_given(join: Operator, write: Write, tmp_path: Path) -> None:
    recorder = Recorder()
    inputs = ["A", "B", {"name": "A", "elementOffset": 2, "elementSizeInBytes": 8}]
    run_on(recorder, write(join_model(inputs)), tmp_path)
    assert recorder.seen[0][0].bindings["InputTensors[2]"].offset == 16


def test_an_owned_tensor_is_bound_when_the_operator_is_initialized(write: Write, tmp_path: Path) -> None:
    model = bit_or({}, [3])
    model["dispatchables"]["or"]["desc"]["ATensor"] = {"DataType": "UINT32", "Sizes": [3], "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML"}
    model["dispatchables"]["or"]["bindings"] = {"ATensor": "out"}
    del model["commands"][0]["bindings"]["ATensor"]
    model["commands"] *= 2
    recorder = Recorder()
    run_on(recorder, write(model), tmp_path)
    for dispatch, resources in recorder.seen:
        # What it was at the start, although "out" was written meanwhile.
        assert resources[dispatch.bindings["ATensor"].resource] == list(np.uint32([9, 9, 9]).tobytes())
        assert dispatch.bindings["ATensor"].resource != dispatch.bindings["OutputTensor"].resource
    assert recorder.seen[1][1][recorder.seen[1][0].bindings["OutputTensor"].resource][0] == 0xEE


def test_an_array_needs_as_many_resources_as_tensors(join: Operator, write: Write) -> None:
    with pytest.raises(ModelError, match=r"commands\[0\]\.bindings\.InputTensors: the desc has 3 tensors there, but 2 resources"):
        read_model(write(join_model(["A", "B"])))
    with pytest.raises(ModelError, match=r"InputTensors\[2\]: InputTensors\[2\] needs 20 bytes from byte 24 on, .* 'A' has 40"):
        read_model(write(join_model(["A", "B", {"name": "A", "elementOffset": 6}])))


def test_only_an_input_is_bound_when_the_operator_is_initialized(join: Operator, write: Write) -> None:
    with pytest.raises(ModelError, match=r"dispatchables\.join\.bindings\.OutputTensor: only an input"):
        read_model(write(join_model(["A", "B", "A"], bindings={"OutputTensor": "Out"})))
