"""Models that are wrong: each is refused before anything runs, with exit code 2 and a line that says where."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.dxdispatch.model_json import plain
from dmlcts.conformance.dxdispatch.read import ModelError, read_model

UINT = {"DataType": "UINT32", "Sizes": [3]}
FLOAT = {"DataType": "FLOAT32", "Sizes": [3]}

GOOD: dict[str, Any] = {
    "resources": {
        "a": {"initialValuesDataType": "UINT32", "initialValues": [1, 2, 4]},
        "b": {"initialValuesDataType": "UINT32", "initialValues": {"valueCount": 3, "value": 16}},
        "out": {"initialValuesDataType": "UINT32", "initialValues": {"valueCount": 3, "valueStart": 0, "valueDelta": 1}},
        "f": {"initialValuesDataType": "FLOAT32", "initialValues": [1.5, "nan", 3]},
    },
    "dispatchables": {
        "or": {"type": "ELEMENT_WISE_BIT_OR", "desc": {"ATensor": UINT, "BTensor": UINT, "OutputTensor": UINT}},
        "round": {
            "type": "ELEMENT_WISE_ROUND",
            "desc": {"InputTensor": FLOAT, "OutputTensor": FLOAT, "RoundingMode": "TOWARD_ZERO"},
        },
    },
    "commands": [
        {"type": "dispatch", "dispatchable": "or", "bindings": {"ATensor": "a", "BTensor": "b", "OutputTensor": "out"}},
        {"type": "print", "resource": "out"},
        {"type": "writeFile", "resource": "out", "targetPath": "out.npy"},
    ],
}

ABSENT = object()


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good model with one thing at ``path`` (steps by ``/``) set, or removed."""
    model = copy.deepcopy(GOOD)
    at: Any = model
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in steps:
        at = at[step]
    if value is ABSENT:
        del at[last]
    else:
        at[last] = value
    return model


def constant(**given: Any) -> dict[str, Any]:
    return {"valueCount": 3, "value": 1, **given}


WRONG: list[tuple[str, Any, str]] = [
    # the outermost form
    ("resources", ABSENT, "resources is missing"),
    ("commands", {}, 'commands: {} is not of type "array"'),
    ("resource", {}, "resource is unknown; known: resources, dispatchables, commands"),
    ("commands/1", "print", 'commands[1]: "print" is not of type "object"'),
    # resources
    ("resources/a/initialValues", ABSENT, "resources.a.initialValues is missing"),
    (
        "resources/a/initialValuesDataType",
        "UINT33",
        "resources.a.initialValuesDataType: unknown data type 'UINT33'; known: UNKNOWN,",
    ),
    (
        "resources/a/initialValuesDataType",
        ABSENT,
        "resources.a.initialValues[0]: without initialValuesDataType, a value is an object",
    ),
    ("resources/b/initialValuesDataType", ABSENT, "resources.b.initialValuesDataType is missing"),
    ("resources/b/initialValuesDataType", 4, 'resources.b.initialValuesDataType: 4 is not of type "string"'),
    ("resources/a/sizeInByte", 4, "resources.a.sizeInByte is unknown; known: type, initialValues"),
    ("resources/a/sizeInBytes", 8, "resources.a.sizeInBytes is 8, but the initial values end at byte 12"),
    ("resources/a/sizeInBytes", 0, "resources.a.sizeInBytes: 0 is less than the minimum of 1"),
    ("resources/a/sizeInBytes", 1 << 62, "resources.a is too large: "),
    ("resources/a/initialValuesOffsetInBytes", 1 << 63, "resources.a is too large: "),
    ("resources/a/sizeInBytes", 1 << 70, "resources.a is too large: "),
    ("resources/a/initialValuesOffsetInBytes", -4, "resources.a.initialValuesOffsetInBytes: -4 is less than the minimum of 0"),
    ("resources/a/type", "texture", 'resources.a.type: "buffer" was expected'),
    ("resources/a/initialValues", [], "resources.a.initialValues is empty"),
    ("resources/a/initialValues", {}, "resources.a.initialValues must have value, or valueStart and valueDelta, or sourcePath"),
    ("resources/a/initialValues", 3, 'resources.a.initialValues: 3 is not of types "'),
    ("resources/a/initialValues", "deferred", "deferred resources are for ONNX models and not supported here"),
    ("resources/a/initialValues", "zeros", "resources.a.initialValues must be an array or an object; not 'zeros'"),
    (
        "resources/b/initialValues",
        constant(valueCount=-1),
        "resources.b.initialValues.valueCount: -1 is less than the minimum of 1",
    ),
    ("resources/b/initialValues", constant(valueCount=0), "resources.b.initialValues.valueCount: 0 is less than the minimum of 1"),
    ("resources/b/initialValues", constant(valueCount=1 << 32), "valueCount: 4294967296 is greater than the maximum of 4294967295"),
    ("resources/b/initialValues", constant(valueCount="3"), 'valueCount: "3" is not of type "integer"'),
    ("resources/b/initialValues", constant(valueCount=1.5), 'valueCount: 1.5 is not of type "integer"'),
    (
        "resources/b/initialValues",
        constant(valueStart=1),
        "resources.b.initialValues.valueStart is unknown; known: valueCount, value",
    ),
    ("resources/b/initialValues", {"value": 1}, "resources.b.initialValues.valueCount is missing"),
    ("resources/b/initialValues", {"valueDelta": 1, "valueCount": 1}, "resources.b.initialValues.valueStart is missing"),
    # values
    ("resources/a/initialValues/1", "nan", "resources.a.initialValues[1] must be a whole number, as UINT32 has no 'nan'"),
    ("resources/a/initialValues/1", 1.0, "resources.a.initialValues[1] must be a whole number, as UINT32 has no 1.0"),
    ("resources/a/initialValues/1", True, "resources.a.initialValues[1] must be a number, not True"),
    ("resources/a/initialValues/1", None, "resources.a.initialValues[1] must be a number, not None"),
    ("resources/a/initialValues/1", [2], "resources.a.initialValues[1] must be a number, not [2]"),
    ("resources/a/initialValues/2", 1 << 32, "resources.a.initialValues[2]: 4294967296 is out of the range of UINT32"),
    ("resources/a/initialValues/2", -1, "resources.a.initialValues[2]: -1 is out of the range of UINT32"),
    (
        "resources/b/initialValues",
        constant(value="nan"),
        "resources.b.initialValues.value must be a whole number, as UINT32 has no",
    ),
    ("resources/b/initialValues", constant(value=-1), "resources.b.initialValues.value: -1 is out of the range of UINT32"),
    ("resources/out/initialValues/valueDelta", -1, "resources.out.initialValues.valueDelta: -1 is out of the range of UINT32"),
    ("resources/f/initialValues/0", 3.5e38, "resources.f.initialValues[0]: 3.5e+38 is out of the range of FLOAT32"),
    ("resources/f/initialValues/0", 10**400, "resources.f.initialValues[0]: 1"),
    ("resources/f/initialValues/0", "infinity", """must be a number or "nan", "inf" or "-inf", not 'infinity'; write "inf\""""),
    ("resources/f/initialValues/0", "-Infinity", """not '-Infinity'; write "-inf\""""),
    ("resources/f/initialValues/0", "+inf", """not '+inf'; write "inf\""""),
    (
        "resources/f",
        {"initialValuesDataType": "FLOAT16", "initialValues": [1, 65520]},
        "f.initialValues[1]: 65520 is out of the range",
    ),
    (
        "resources/f",
        {"initialValuesDataType": "INT4", "initialValues": [8]},
        "resources.f.initialValues[0]: 8 is out of the range of INT4",
    ),
    ("resources/f", {"initialValues": [{"type": "INT8"}]}, "resources.f.initialValues[0].value is missing"),
    (
        "resources/f",
        {"initialValues": [{"type": "INT8", "value": 128}]},
        "resources.f.initialValues[0].value: 128 is out of the range of",
    ),
    (
        "resources/f",
        {"initialValues": [{"type": "INT4", "value": 1}]},
        "resources.f.initialValues[0].type must be a data type of whole",
    ),
    # dispatchables
    ("dispatchables/or/type", ABSENT, "dispatchables.or.type is missing"),
    ("dispatchables/or/type", "HLSL", "dispatchables.or: HLSL shaders are not supported here, only DirectML operators"),
    ("dispatchables/or/type", "onnx", "dispatchables.or: ONNX models are not supported here"),
    ("dispatchables/or/type", "dmlSerializedGraph", "dispatchables.or: serialized graphs are not supported here"),
    ("dispatchables/or/type", "DML_OPERATOR_FROBNICATE", "dispatchables.or.type: no spec for operator 'FROBNICATE'"),
    ("dispatchables/or/type", "element_wise_bit_or", "dispatchables.or.type: no spec for operator 'element_wise_bit_or'"),
    ("dispatchables/or/type", "*", "dispatchables.or.type: no spec for operator '*'"),
    ("dispatchables/or/type", "/etc/*", "dispatchables.or.type: no spec for operator '/etc/*'"),
    (
        "dispatchables/or/desc/CTensor",
        UINT,
        "dispatchables.or: no field CTensor; ELEMENT_WISE_BIT_OR has ATensor, BTensor, OutputTensor",
    ),
    ("dispatchables/or/desc/ATensor", ABSENT, "dispatchables.or.ATensor is missing"),
    ("dispatchables/round/desc/RoundingMode", ABSENT, "dispatchables.round.RoundingMode is missing"),
    ("dispatchables/round/desc/RoundingMode", "DOWN", "dispatchables.round.RoundingMode: DML_ROUNDING_MODE has no 'DOWN'"),
    ("dispatchables/or/desc/ATensor", "a", "dispatchables.or.ATensor: a tensor desc is an object"),
    ("dispatchables/or/desc/ATensor", {"DataType": "UINT32"}, "dispatchables.or.ATensor.Sizes is missing"),
    ("dispatchables/or/desc/ATensor", {**UINT, "DataType": "UINT"}, "dispatchables.or.ATensor.DataType: unknown data type 'UINT'"),
    ("dispatchables/or/desc/ATensor", {**UINT, "Sizes": [3.5]}, "dispatchables.or.ATensor.Sizes must be an array of integers"),
    (
        "dispatchables/or/desc/ATensor",
        {**UINT, "Sizes": [-3]},
        "dispatchables.or.ATensor.Sizes must be whole numbers from 0 to 4294967295",
    ),
    ("dispatchables/or/desc/ATensor", {**UINT, "Strides": [1 << 32]}, "dispatchables.or.ATensor.Strides must be whole numbers"),
    ("dispatchables/or/desc/ATensor", {**UINT, "Flags": "OWNED"}, "dispatchables.or.ATensor.Flags: unknown flag 'OWNED'"),
    (
        "dispatchables/or/desc/ATensor",
        {**UINT, "TotalTensorSizeInBytes": "12"},
        "dispatchables.or.ATensor.TotalTensorSizeInBytes must be",
    ),
    (
        "dispatchables/or/desc/ATensor",
        {**UINT, "GuaranteedBaseOffsetAlignment": "x"},
        "dispatchables.or.ATensor.GuaranteedBaseOffsetAlignment must be whole numbers",
    ),
    ("dispatchables/or/dmlCompileType", "Op", 'dispatchables.or.dmlCompileType: "Op" is not one of'),
    ("dispatchables/or/executionFlags", ["FAST"], "dispatchables.or.executionFlags: unknown flag 'FAST'; known: NONE, "),
    ("dispatchables/or/bindings", {"ATensor": "x"}, "dispatchables.or.bindings.ATensor: no resource 'x'; there are a, b, out, f"),
    # commands
    ("commands/0/type", "draw", "commands[0].type must be dispatch, print or writeFile, not 'draw'"),
    ("commands/0/type", ABSENT, "commands[0].type must be dispatch, print or writeFile, not None"),
    ("commands/0/dispatchable", "and", "commands[0].dispatchable: no dispatchable 'and'; there are or, round"),
    ("commands/0/bindings", ABSENT, "commands[0].bindings is missing"),
    ("commands/0/bindings/ATensor", ABSENT, "commands[0].bindings.ATensor is missing: 'or' has this tensor"),
    ("commands/0/bindings/CTensor", "a", "commands[0].bindings.CTensor: ELEMENT_WISE_BIT_OR has no such tensor; it has ATensor"),
    ("commands/0/bindings/ATensor", "x", "commands[0].bindings.ATensor: no resource 'x'; there are a, b, out, f"),
    ("commands/0/bindings/ATensor", 3, 'commands[0].bindings.ATensor: 3 is not of types "'),
    (
        "commands/0/bindings/ATensor",
        ["a", "b"],
        "commands[0].bindings.ATensor: the desc has 1 tensors there, but 2 resources are bound",
    ),
    ("commands/0/bindings/ATensor", {"elementOffset": 1}, "commands[0].bindings.ATensor.name is missing"),
    ("commands/0/bindings/ATensor", {"name": "a", "offset": 1}, "commands[0].bindings.ATensor.offset is unknown; known: name, "),
    (
        "commands/0/bindings/ATensor",
        {"name": "a", "elementOffset": -1},
        "commands[0].bindings.ATensor.elementOffset: -1 is less than",
    ),
    (
        "commands/0/bindings/ATensor",
        {"name": "a", "elementOffset": 1},
        "commands[0].bindings.ATensor: ATensor needs 12 bytes from byte 4 on, but the resource 'a' has 12",
    ),
    ("resources/a/initialValues", [1, 2], "commands[0].bindings.ATensor: ATensor needs 12 bytes, but the resource 'a' has 8"),
    ("commands/1/resource", "x", "commands[1].resource: no resource 'x'; there are a, b, out, f"),
    ("commands/1/verbose", "yes", 'commands[1].verbose: "yes" is not of type "boolean"'),
    ("commands/2/targetPath", "../out.npy", "commands[2].targetPath: '../out.npy' must be a path below the output folder"),
    ("commands/2/targetPath", "/out.npy", "commands[2].targetPath: '/out.npy' must be a path below the output folder"),
    ("commands/2/targetPath", "C:\\out.npy", "must be a path below the output folder"),
    ("commands/2/targetPath", ".", "commands[2].targetPath: '.' must be a path below the output folder"),
    ("commands/2/targetPath", "out.PNG", "commands[2].targetPath: images are not supported here"),
    ("commands/2/dimensions", [2, 2], "commands[2].dimensions are 4 elements, but 'out' has 3"),
    ("commands/2/dimensions", [0], "commands[2].dimensions[0]: 0 is less than the minimum of 1"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "complex.npy", np.zeros(3, np.complex64))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    np.save(tmp_path / "int.npy", np.zeros(3, np.int32))
    (tmp_path / "short.npy").write_bytes((tmp_path / "int.npy").read_bytes()[:-4])
    (tmp_path / "not.npy").write_bytes(b"PK\x03\x04 not an array")
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "empty.bin").write_bytes(b"")
    (tmp_path / "three.bin").write_bytes(b"\x01\x02\x03")
    return tmp_path


def error_of(folder: Path, model: Any) -> str:
    file = folder / "model.json"
    file.write_text(model if isinstance(model, str) else json.dumps(model), encoding="utf-8")
    with pytest.raises(ModelError) as error:
        read_model(file)
    text = str(error.value)
    assert text.startswith(f"{file}: ")
    assert "\n" not in text
    assert len(text) < 600
    return text.removeprefix(f"{file}: ")


def test_the_good_model_is_good(folder: Path) -> None:
    (folder / "model.json").write_text(json.dumps(GOOD), encoding="utf-8")
    assert len(read_model(folder / "model.json").commands) == 3


@pytest.mark.parametrize(("path", "value", "message"), WRONG, ids=[f"{path}-{i}" for i, (path, _, _) in enumerate(WRONG)])
def test_one_thing_wrong(path: str, value: Any, message: str, folder: Path) -> None:
    found = error_of(folder, changed(path, value))
    assert message in found
    assert not found.startswith("the model.")


FILES = [
    ("missing.bin", "UINT32", "resources.a.initialValues.sourcePath: missing.bin cannot be read: No such file"),
    ("missing.npy", "UINT32", "resources.a.initialValues.sourcePath: missing.npy cannot be read: No such file"),
    ("complex.npy", "UNKNOWN", "an array of complex64 cannot be a tensor"),
    ("text.npy", "UNKNOWN", "an array of <U1 cannot be a tensor"),
    ("object.npy", "UNKNOWN", "object.npy is not a .npy file: its header says (1,) of object"),
    ("int.npy", "UINT32", "the file holds INT32, but initialValuesDataType is UINT32"),
    ("short.npy", "UNKNOWN", "short.npy is not a .npy file: "),
    ("not.npy", "UNKNOWN", "not.npy is not a .npy file: "),
    ("empty.npy", "UNKNOWN", "empty.npy is not a .npy file: "),
    ("empty.bin", "UINT32", "resources.a.initialValues is empty"),
    ("three.bin", "UNKNOWN", "raw bytes have no type; set initialValuesDataType to the type of three.bin"),
    ("three.bin", "UINT32", "ATensor needs 12 bytes, but the resource 'a' has 4"),
    ("cat.jpg", "UINT32", "resources.a.initialValues.sourcePath: images are not supported here"),
]


@pytest.mark.parametrize(("file", "data_type", "message"), FILES)
def test_files_that_are_not_what_they_should_be(file: str, data_type: str, message: str, folder: Path) -> None:
    resource = {"initialValuesDataType": data_type, "initialValues": {"sourcePath": file}}
    assert message in error_of(folder, changed("resources/a", resource))


TEXTS = [
    ("", "line 1, column 1: not JSON: "),
    ('{\n  "resources": {},\n  "dispatchables" {}\n}', "line 3, column 19: not JSON: Expecting ':' delimiter"),
    ('{\n  /* a\n comment */ // and another\n  "resources": nonsense }', "line 4, column 16: not JSON: "),
    ('{"resources": {}} and more', "line 1, column 19: not JSON: Extra data"),
    ('{"resources": {"a": 1, "b": 2, "a": 3}}', "the key 'a' is given twice in one object"),
    ('{"resources": NaN}', 'NaN is not JSON; write "nan", "inf" or "-inf"'),
    ('{"resources": 1e999}', '1e999 is too large for a number; write "inf" for infinity'),
    ('{"resources": ' + "9" * 5000 + "}", "not JSON: "),
    ("[" * 200000, "nested deeper than 64 levels"),
    ("[]", 'the model: [] is not of type "object"'),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=range(len(TEXTS)))
def test_texts_that_are_no_model(text: str, message: str, folder: Path) -> None:
    assert error_of(folder, text).startswith(message)


def test_a_file_that_is_not_utf_8(folder: Path) -> None:
    (folder / "model.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ModelError, match="not UTF-8: the byte 0xFF"):
        read_model(folder / "model.json")


def test_comments_and_trailing_commas_become_blanks_and_strings_stay() -> None:
    text = '{"a // b": "/* c */, ]", // d "\n "e\\"//": [1, /* , ] */ 2 , ] /* f\n g */, }'
    blank = plain(text)
    assert [len(line) for line in blank.split("\n")] == [len(line) for line in text.split("\n")]
    assert json.loads(blank) == {"a // b": "/* c */, ]", 'e"//': [1, 2]}
    assert plain("[1,,]") == "[1, ]"
    with pytest.raises(json.JSONDecodeError):
        json.loads(plain("[1,,]"))


Arguments = Callable[[Path], list[str]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda folder: ["exec", str(folder / "none.json")], "none.json: cannot be read: No such file"),
        (lambda folder: ["exec", str(folder)], "cannot be read: "),
        (lambda folder: ["exec", str(folder / "three.bin")], "three.bin: line 1, column 1: not JSON"),
        (lambda folder: ["exec"], "Missing argument 'MODEL'"),
    ],
)
def test_on_the_command_line_it_is_exit_code_2(
    arguments: Arguments, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments(folder))
    captured = capsys.readouterr()
    assert exit_.value.code == 2
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
