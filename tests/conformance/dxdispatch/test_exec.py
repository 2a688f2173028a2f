"""``dmlcts exec``: what a model in DxDispatch's form does when it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from exec_models import Write, bit_or, printed, run, uint32

from dmlcts.conformance.dxdispatch.read import ModelError
from dmlcts.spec.model.abi import abi

MODELS = Path(__file__).parents[2] / "models"
OPERATORS = Path(__file__).parents[2] / "data" / "operators"


# Commands


def test_outputs_flow_into_the_next_dispatch_and_prints_come_in_order() -> None:
    assert printed(run(MODELS / "chain.json")) == [
        "Resource 'either': 9, 18, 27, 4294967295 (UINT32)",
        "Resource 'bits' (UINT32):",
        "[0] 2 (0x00000002)",
        "[1] 2 (0x00000002)",
        "[2] 4 (0x00000004)",
        "[3] 32 (0x00000020)",
    ]


def test_outputs_that_no_command_prints_are_printed_at_the_end() -> None:
    assert printed(run(MODELS / "round.json")) == ["Resource 'output': -2.0, -0.0, 0.0, 2.0, nan, -inf, 65504.0 (FLOAT16 [7])"]


def test_a_print_before_the_dispatch_shows_what_was_there(write: Write) -> None:
    model = bit_or({}, [3])
    model["commands"] = [{"type": "print", "resource": "out"}, *model["commands"]]
    assert printed(run(write(model))) == ["Resource 'out': 9, 9, 9 (UINT32)", "Resource 'out': 17, 18, 20 (UINT32 [3])"]


def test_many_values_are_printed_in_short(write: Write) -> None:
    many = {name: uint32({"valueCount": 100, "value": 5}) for name in ("a", "b", "out")}
    assert printed(run(write(bit_or(many, [100])))) == [f"Resource 'out': {', '.join(['5'] * 16)}, ... (UINT32 [100])"]


def test_out_gets_every_output_shaped_as_it_was_last_bound(tmp_path: Path) -> None:
    assert printed(run(MODELS / "chain.json", "--out", tmp_path / "o"))[-2:] == [
        f"Resource 'either' written to {tmp_path / 'o' / 'either.npy'}",
        f"Resource 'bits' written to {tmp_path / 'o' / 'bits.npy'}",
    ]
    either, bits = (np.load(tmp_path / "o" / f"{name}.npy") for name in ("either", "bits"))
    assert either.dtype == np.uint32
    assert either.tolist() == [[9, 18], [27, 4294967295]]
    assert bits.tolist() == [2, 2, 4, 32]
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["bits.npy", "either.npy"]


def test_a_resource_name_becomes_a_file_name_whatever_is_in_it(write: Write, tmp_path: Path) -> None:
    text = json.dumps(bit_or({}, [3])).replace('"out"', '"../x:y"')
    printed(run(write(text), "--out", tmp_path / "o"))
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["..%2Fx%3Ay.npy"]


def test_a_strided_output_is_read_at_its_strides(write: Write) -> None:
    model = bit_or({"out": uint32({"valueCount": 5, "value": 9})}, [3])
    model["dispatchables"]["or"]["desc"]["OutputTensor"] = {"DataType": "UINT32", "Sizes": [3], "Strides": [2]}
    model["commands"].append({"type": "print", "resource": "out"})
    assert printed(run(write(model))) == [
        "Resource 'out': 17, 9, 18, 9, 20 (UINT32)",
        "Resource 'out': 17, 18, 20 (UINT32 [3])",
    ]


def test_in_place(write: Write) -> None:
    model = bit_or({}, [3])
    model["commands"][0]["bindings"]["OutputTensor"] = "a"
    assert printed(run(write(model))) == ["Resource 'a': 17, 18, 20 (UINT32 [3])"]


def test_json_has_every_resource(write: Write, tmp_path: Path) -> None:
    model = bit_or({"f": {"initialValuesDataType": "FLOAT32", "initialValues": [0.5, "nan", "-inf"]}}, [3])
    model["commands"].append({"type": "print", "resource": "f"})
    file = write(model)
    assert json.loads(run(file, "--json").stdout) == {
        "model": file.as_posix(),
        "backend": "reference",
        "status": "completed",
        "printed": [{"resource": "f", "dataType": "FLOAT32", "values": [0.5, "nan", "-inf"]}],
        "resources": {
            "a": {"dataType": "UINT32", "values": [1, 2, 4]},
            "b": {"dataType": "UINT32", "values": [16, 16, 16]},
            "out": {"dataType": "UINT32", "sizes": [3], "values": [17, 18, 20]},
            "f": {"dataType": "FLOAT32", "values": [0.5, "nan", "-inf"]},
        },
        "files": [],
        "notes": [],
    }
    listed = json.loads(run(file, "--json", "--out", tmp_path / "o").stdout)["files"]
    assert listed == [(tmp_path / "o" / "out.npy").as_posix()]


def test_files_are_written_as_the_model_says(write: Write, tmp_path: Path) -> None:
    model = bit_or({"half": {"initialValuesDataType": "FLOAT16", "initialValues": [1, 2, 3]}}, [3])
    for target, resource, more in (
        ("deep\\er/out.npy", "out", {"dimensions": [1, 3]}),
        ("flat.npy", "half", {}),
        ("raw.dat", "half", {}),
        ("begin.npy", "out", {"dimensions": [2]}),
    ):
        model["commands"].append({"type": "writeFile", "targetPath": target, "resource": resource, **more})
    out = tmp_path / "o"
    assert f"Resource 'out' written to {out / 'deep' / 'er' / 'out.npy'}" in printed(run(write(model), "--out", out))
    assert np.load(out / "deep" / "er" / "out.npy").tolist() == [[17, 18, 20]]
    assert np.load(out / "flat.npy").tolist() == [1.0, 2.0, 3.0]
    assert np.load(out / "begin.npy").tolist() == [17, 18]
    assert (out / "raw.dat").read_bytes() == np.array([1, 2, 3, 0], np.float16).tobytes()


def test_without_out_files_go_to_the_current_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    model = bit_or({}, [3])
    model["commands"].append({"type": "writefile", "targetPath": "out.bin", "resource": "out"})
    printed(run(write(model)))
    assert np.fromfile("out.bin", np.uint32).tolist() == [17, 18, 20]


# Constants


def rounded(write: Write, mode: Any) -> Result:
    tensor = {"DataType": "FLOAT32", "Sizes": [4]}
    values = {"initialValuesDataType": "FLOAT32", "initialValues": [-2.5, -0.75, 0.5, 1.75]}
    model = {
        "resources": {"in": values, "out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 4, "value": 9}}},
        "dispatchables": {
            "round": {"type": "ELEMENT_WISE_ROUND", "desc": {"InputTensor": tensor, "OutputTensor": tensor, "RoundingMode": mode}}
        },
        "commands": [{"type": "dispatch", "dispatchable": "round", "bindings": {"InputTensor": "in", "OutputTensor": "out"}}],
    }
    return run(write(model))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_constant_may_be_given_by_its_number(mode: int, write: Write) -> None:
    names = abi().enums["DML_ROUNDING_MODE"].values
    name = next(name for name, number in names.items() if number == mode)
    assert printed(rounded(write, mode)) == printed(rounded(write, name))
    others = [printed(rounded(write, other)) for other in names if other != name]
    assert printed(rounded(write, mode)) not in others


def test_a_number_that_no_constant_has_is_refused(write: Write) -> None:
    result = rounded(write, 17)
    assert result.exit_code == 1
    assert "rejected" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("mode", [True, "TOWARD_NOTHING", 1.5, [1]])
def test_what_is_no_constant_is_a_wrong_model(mode: Any, write: Write) -> None:
    result = rounded(write, mode)
    assert isinstance(result.exception, ModelError)
    assert "DML_ROUNDING_MODE has no" in str(result.exception)


def test_a_reduction_with_the_number_of_a_function(write: Write) -> None:
    """It ended in a KeyError."""
    desc = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 3]}
    functions = abi().enums["DML_REDUCE_FUNCTION"].values
    for name, number in functions.items():
        output = {"DataType": "UINT32" if name.startswith("ARG") else "FLOAT32", "Sizes": [1, 1, 1, 1]}
        given = {"InputTensor": desc, "OutputTensor": output, "AxisCount": 1, "Axes": [3]}
        lines = []
        for function in (name, number):
            model = {
                "resources": {
                    "in": {"initialValuesDataType": "FLOAT32", "initialValues": [2, -1, 5]},
                    "out": {"initialValuesDataType": output["DataType"], "initialValues": [7]},
                },
                "dispatchables": {"reduce": {"type": "REDUCE", "desc": {"Function": function, **given}}},
                "commands": [
                    {"type": "dispatch", "dispatchable": "reduce", "bindings": {"InputTensor": "in", "OutputTensor": "out"}}
                ],
            }
            lines.append(printed(run(write(model))))
        assert lines[0] == lines[1]
