"""The second opinions' tables, and what both libraries answer for every operator that they have: element-wise ones against Python's own
arithmetic, dense ones against the examples of their specs, which people have worked out.

The tables are checked everywhere; a library's answers only where it is installed.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable, Unsupported
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.backends.python.load import open_in_process
from dmlcts.conformance.backends.second_opinions.opinion import REFUSALS, OpinionBackend
from dmlcts.conformance.backends.second_opinions.table import KINDS, NodeMapping, Table, read_table, read_way
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.usual import example_cases, usual_cases
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load, operator_names

LIBRARIES = {"onnxruntime": ("onnxruntime", "onnx"), "torch": ("torch",)}
"""The packages that a second opinion needs, by what it is called on the command line."""

KNOWN = yaml.safe_load((Path(__file__).parents[3] / "data" / "second_opinions.yaml").read_text(encoding="utf-8"))

ERRORS = {"FLOAT32": 3e-6, "FLOAT16": 3e-3, "FLOAT64": 0.0}
"""Relative to the answer, or to 1 below it: what tells a wrong formula. How good a library is, a run of the suite says."""


def operators() -> list[str]:
    return [name for name in abi().operator_types if name.startswith(("ELEMENT_WISE_", "ACTIVATION_"))]


def dense() -> list[str]:
    return [name for name in operator_names() if name not in operators()]


def ways(table: Table) -> Iterator[tuple[str, NodeMapping]]:
    for operator, each in table.operators.items():
        for way in each:
            yield operator, way


def opened(library: str) -> OpinionBackend:
    """The backend, where its packages are."""
    for package in LIBRARIES[library]:
        pytest.importorskip(
            package,
            reason=f"pip install 'directml-conformance[{library}]' gives the second opinion {library}",
            exc_type=ImportError,
        )
    backend = open_in_process(library)
    assert isinstance(backend, OpinionBackend)
    return backend


def agrees(answer: np.ndarray, expected: list[float], data_type: str, is_exact: bool = False) -> bool:
    """Whether an answer is what Python's arithmetic gives, within what tells a wrong formula."""
    given = np.array(expected, np.float64 if abi().data_types[data_type].is_float else object)
    if is_exact or not abi().data_types[data_type].is_float:
        return bool((answer == given).all())
    return bool((np.abs(answer.astype(np.float64) - given) <= ERRORS[data_type] * np.maximum(1, np.abs(given))).all())


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_operator_maps_or_the_message_says_why_not(library: str) -> None:
    table = read_table(library)
    assert len(operators()) == 92
    assert len(dense()) > 30
    assert set(operator_names()) == table.operators.keys() | table.not_mapped.keys()
    assert all(reason.strip() for reason in table.not_mapped.values())
    always = {name for name, each in table.operators.items() if any(way.when is None for way in each)}
    assert not always & table.not_mapped.keys(), "what always maps needs no reason"
    assert table.operators.keys() - always <= table.not_mapped.keys(), "what does not always map needs one"


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_table_speaks_the_desc_s_names(library: str) -> None:
    for operator, way in ways(read_table(library)):
        fields = {field.name for field in load(operator).fields} | KINDS.keys()
        for name, alternatives in way.names.items():
            if any(expression.names <= fields for expression in alternatives):
                fields.add(name)
        for expression in way.expressions():
            assert expression.names <= fields, f"{operator}: {expression.text}"
        assert len(way.nodes) == len(load(operator).outputs())
        assert way.bits in ("", "integer", "unsigned")
        assert way.refuses in {"", *REFUSALS}


def tensors(row: dict[str, Any]) -> list[str]:
    """The inputs' names."""
    found: list[str] = row.get("tensors") or (["ATensor", "BTensor"] if "y" in ast_names(row["is"]) else ["InputTensor"])
    return found


def ast_names(text: object) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(str(text), mode="eval")) if isinstance(node, ast.Name)}


def dispatched(
    operator: str, row: dict[str, Any], types: str | list[str]
) -> tuple[OperatorDesc, dict[str, np.ndarray], list[float]]:
    """A desc, its inputs, and what Python says."""
    names, output = tensors(row), row.get("output", "OutputTensor")
    each = [types] * (len(names) + 1) if isinstance(types, str) else types
    values = KNOWN["defaults"]["FLOAT" if abi().data_types[each[0]].is_float else "INTEGER"] | row
    columns = [values[column] for column in "xyz"[: len(names)]] + row.get("rest", [])
    size = (len(columns[0]),)
    descs = {name: TensorDesc(data_type, size) for name, data_type in zip([*names, output], each, strict=True)}
    attributes = {name: tuple(value) if isinstance(value, list) else value for name, value in row.get("attributes", {}).items()}
    if "MinMaxDataType" in attributes:
        attributes["MinMaxDataType"] = each[0]
    inputs = {
        name: np.array(column[: size[0]], numpy_dtype(data_type))
        for name, column, data_type in zip(names, columns, each, strict=False)
    }
    most = 0 if abi().data_types[each[-1]].is_float else int(np.iinfo(numpy_dtype(each[-1])).max)
    scope = {**vars(math), "row": columns[0], "most": most, **attributes}
    code = compile(str(row["is"]), operator, "eval")
    elements = enumerate(zip(*columns, strict=False))
    known = [eval(code, scope | dict(zip("xyz", element, strict=False)) | {"i": i}) for i, element in elements]
    return OperatorDesc(operator, {**descs, **attributes}), inputs, known


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operator", operators())
def test_a_library_answers_as_python_computes(library: str, operator: str) -> None:
    row = KNOWN["operators"][operator]
    backend = opened(library)
    answered = []
    for types in row.get("types", ["FLOAT32", "FLOAT16"]):
        desc, inputs, known = dispatched(operator, row, types)
        before = {name: array.copy() for name, array in inputs.items()}
        try:
            (answer,) = backend.compute(desc, inputs).values()
        except Unsupported as error:
            message = str(error)
            continue
        answered.append(types)
        output = list(desc.tensors())[-1][1]
        assert (answer.dtype, answer.shape) == (numpy_dtype(output.data_type), output.sizes)
        assert agrees(answer, known, output.data_type, row.get("exact", False)), f"{types}: {answer} is not {known}"
        assert not agrees(answer, [value + 1 for value in known], output.data_type, row.get("exact", False))
        assert all(array.tobytes() == before[name].tobytes() for name, array in inputs.items())
    if library in row.get("lacks", []):
        assert (answered, message.partition(" does")[0]) == ([], operator)
    else:
        assert answered, f"a mapping that works for no type is none: {message}"


# Dense operators


def cases(operator: str) -> list[Case]:
    """Every example that the documentation demands, and a case for each table of the operator; those of DirectML.dll where the page demands nothing."""
    spec = load(operator)
    found = [*example_cases(plan_of(spec), "full"), *usual_cases(plan_of(spec), "smoke")]
    return [case for case in found if case.basis == "documented"] or found


def statuses(backend: OpinionBackend, operator: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"pass": [], "unsupported": []}
    for case in cases(operator):
        result = execute(case, backend, backend.describe())
        found.setdefault(result.status, []).append(f"{case.id}: {result.message}")
    return found


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operator", dense())
def test_a_library_answers_as_examples_and_reference_say(library: str, operator: str) -> None:
    backend = opened(library)
    found = statuses(backend, operator)
    off = [case for status, named in found.items() if status not in ("pass", "unsupported") for case in named]
    assert [case for case in off if not any(known in case for known in OFF[library])] == []
    assert bool(found["pass"]) == (operator in read_table(library).operators), found["unsupported"]


OFF = {
    "onnxruntime": [
        "REDUCE/INT32-INT32/4d/SUM",
        "REDUCE/INT64-INT64/4d/SUM",
        "FusedActivation=ACTIVATION_SIGMOID",
        "ROI_POOLING/FLOAT32/example/thirteen-bins",  # a bin's end is 13 times 7 / 13 in FLOAT32, which is above 7
        "MATRIX_MULTIPLY_INTEGER/INT8-UINT8-INT32/4d",  # sums of two products saturate at 16 bits on processors without VNNI
    ],
    "torch": [],
}
"""What the libraries get wrong themselves, as docs/second-opinions.md says."""


@pytest.mark.parametrize(
    ("library", "operator", "call"),
    [
        ("onnxruntime", "REDUCE", "ReduceMean(InputTensor, Axes)"),
        ("onnxruntime", "MATRIX_MULTIPLY_INTEGER", "MatMulInteger(ATensor, BTensor)"),
        ("torch", "GEMM", "reshape(bmm(A, B), OutputTensor.Sizes)"),
        ("torch", "MULTIHEAD_ATTENTION", "reshape(ValueTensor, OutputTensor.Sizes), NOTHING, NOTHING"),
    ],
)
def test_a_call_that_is_not_the_operator_is_found_out(library: str, operator: str, call: str) -> None:
    backend = opened(library)
    backend.table = replace(backend.table, operators={operator: (read_way(library, call),)})
    assert statuses(backend, operator).keys() & {"fail", "error"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_optional_output_may_be_left_out(library: str) -> None:
    x, y, indices = TensorDesc("FLOAT32", (1, 2, 1, 3)), TensorDesc("FLOAT32", (1, 2, 1, 2)), TensorDesc("UINT64", (1, 2, 1, 2))
    window = {
        "DimensionCount": 2,
        "Strides": (1, 1),
        "WindowSize": (1, 2),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        "Dilations": (1, 1),
    }
    desc = OperatorDesc("MAX_POOLING2", {"InputTensor": x, "OutputTensor": y, "OutputIndicesTensor": indices, **window})
    inputs = {"InputTensor": np.array([[[[5, 1, 3]], [[2, 8, 9]]]], np.float32)}
    both = opened(library).compute(desc, inputs)
    assert (both["OutputTensor"].ravel().tolist(), both["OutputIndicesTensor"].ravel().tolist()) == ([5, 3, 8, 9], [0, 2, 4, 5])
    assert both["OutputIndicesTensor"].dtype == np.uint64
    assert opened(library).compute(desc.with_fields(OutputIndicesTensor=None), inputs).keys() == {"OutputTensor"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_index_beyond_the_output_is_not_asked(library: str) -> None:
    x, indices = TensorDesc("FLOAT32", (1, 1, 1, 2)), TensorDesc("UINT32", (1, 1, 1, 2))
    desc = OperatorDesc(
        "MAX_UNPOOLING", {"InputTensor": x, "IndicesTensor": indices, "OutputTensor": TensorDesc("FLOAT32", (1, 1, 2, 2))}
    )
    inputs = {"InputTensor": np.array([[[[7, 8]]]], np.float32), "IndicesTensor": np.array([[[[3, 0]]]], np.uint32)}
    assert opened(library).compute(desc, inputs)["OutputTensor"].ravel().tolist() == [8, 0, 0, 7]
    with pytest.raises(Unsupported, match="beyond the output"):
        opened(library).compute(desc, inputs | {"IndicesTensor": np.array([[[[4, 0]]]], np.uint32)})


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_index_without_a_place_is_not_asked(library: str) -> None:
    x, indices, y = TensorDesc("UINT16", (2, 3)), TensorDesc("UINT32", (1, 2)), TensorDesc("UINT16", (2, 2))
    fields = {"InputTensor": x, "IndicesTensor": indices, "OutputTensor": y, "Axis": 1, "IndexDimensions": 1}
    desc, numbers = OperatorDesc("GATHER", fields), np.array([[1, 2, 3], [4, 5, 65535]], np.uint16)

    def gathered(*at: int) -> list[list[int]]:
        inputs = {"InputTensor": numbers, "IndicesTensor": np.array([at], np.uint32)}
        found: list[list[int]] = opened(library).compute(desc, inputs)["OutputTensor"].tolist()
        return found

    assert gathered(2, 0) == [[3, 1], [65535, 4]]
    for beyond in (3, 2**32 - 1):  # which as a signed number would be the last one
        with pytest.raises(Unsupported, match="beyond its axis"):
            gathered(0, beyond)


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_of_an_array_of_outputs_is_a_result_of_its_own(library: str) -> None:
    x, parts = TensorDesc("INT8", (4, 1)), tuple(TensorDesc("INT8", (size, 1)) for size in (1, 2, 1))
    desc = OperatorDesc("SPLIT", {"InputTensor": x, "OutputCount": 3, "OutputTensors": parts, "Axis": 0})
    found = opened(library).compute(desc, {"InputTensor": np.array([[1], [2], [3], [4]], np.int8)})
    assert {name: array.ravel().tolist() for name, array in found.items()} == {
        "OutputTensors[0]": [1],
        "OutputTensors[1]": [2, 3],
        "OutputTensors[2]": [4],
    }


# Around the operator


@pytest.mark.parametrize("library", LIBRARIES)
def test_scale_and_bias_come_before_the_operator(library: str) -> None:
    x = TensorDesc("FLOAT32", (2, 2))
    desc = OperatorDesc("ELEMENT_WISE_SQRT", {"InputTensor": x, "OutputTensor": x, "ScaleBias": ScaleBias(2.0, 1.0)})
    answer = opened(library).compute(desc, {"InputTensor": np.array([[0, 1.5], [4, 12]], np.float32)})
    assert answer["OutputTensor"].tolist() == [[1, 2], [3, 5]]
    without = opened(library).compute(desc.with_fields(ScaleBias=None), {"InputTensor": np.array([[0, 1], [4, 9]], np.float32)})
    assert without["OutputTensor"].tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fused_activation_comes_after_it(library: str) -> None:
    x = TensorDesc("FLOAT16", (3,))
    fused = OperatorDesc("ACTIVATION_LEAKY_RELU", {"InputTensor": None, "OutputTensor": None, "Alpha": 0.5})
    desc = OperatorDesc("ELEMENT_WISE_ADD1", {"ATensor": x, "BTensor": x, "OutputTensor": x, "FusedActivation": fused})
    answer = opened(library).compute(
        desc, {"ATensor": np.array([1, -3, 2], np.float16), "BTensor": np.array([1, 1, -6], np.float16)}
    )
    assert answer["OutputTensor"].tolist() == [2, -1, -2]


@pytest.mark.parametrize("library", LIBRARIES)
def test_one_axis_of_several_is_taken(library: str) -> None:
    x = TensorDesc("FLOAT32", (2, 2))
    desc = OperatorDesc("ACTIVATION_SOFTMAX1", {"InputTensor": x, "OutputTensor": x, "AxisCount": 1, "Axes": (0,)})
    inputs = {"InputTensor": np.log(np.array([[1, 2], [3, 8]], np.float32))}
    assert opened(library).compute(desc, inputs)["OutputTensor"] == pytest.approx(np.array([[0.25, 0.2], [0.75, 0.8]]), rel=1e-6)
    with pytest.raises(Unsupported, match="has one"):
        opened(library).compute(desc.with_fields(AxisCount=2, Axes=(0, 1)), inputs)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("mode", "expected"), [("EITHER", [1, 1, 0, 0]), ("POSITIVE", [0, 1, 0, 0]), ("NEGATIVE", [1, 0, 0, 0])])
def test_infinities_of_either_sign(library: str, mode: str, expected: list[int]) -> None:
    descs = {"InputTensor": TensorDesc("FLOAT32", (4,)), "OutputTensor": TensorDesc("UINT8", (4,))}
    x = np.array([-np.inf, np.inf, np.nan, 3e38], np.float32)
    desc = OperatorDesc("ELEMENT_WISE_IS_INFINITY", {**descs, "InfinityMode": mode})
    assert opened(library).compute(desc, {"InputTensor": x})["OutputTensor"].tolist() == expected


@pytest.mark.parametrize("library", LIBRARIES)
def test_bits_are_bits_in_every_type(library: str) -> None:
    x = TensorDesc("FLOAT64", (2,))
    desc = OperatorDesc("ELEMENT_WISE_BIT_AND", {"ATensor": x, "BTensor": x, "OutputTensor": x})
    a, b = np.array([0xFFF8_0000_0000_0001, 3], np.uint64), np.array([0xFFFF_FFFF_FFFF_FFFF, 6], np.uint64)
    answer = opened(library).compute(desc, {"ATensor": a.view(np.float64), "BTensor": b.view(np.float64)})["OutputTensor"]
    assert answer.dtype == np.float64
    assert answer.view(np.uint64).tolist() == [0xFFF8_0000_0000_0001, 2]


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_would_end_the_process_is_unsupported(library: str) -> None:
    backend, x = opened(library), TensorDesc("INT32", (2,))
    desc = OperatorDesc("ELEMENT_WISE_DIVIDE", {"ATensor": x, "BTensor": x, "OutputTensor": x})
    least = -(2**31)

    def divided(a: list[int], b: list[int]) -> list[int]:
        found: list[int] = backend.compute(desc, {"ATensor": np.array(a, np.int32), "BTensor": np.array(b, np.int32)})[
            "OutputTensor"
        ].tolist()
        return found

    assert divided([-7, least], [2, -2]) == [-3, 2**30]  # toward zero
    for a, b in (([1, 2], [1, 0]), ([1, least], [1, -1])):
        with pytest.raises(Unsupported, match="by zero, or the least by -1"):
            divided(a, b)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_shift_by_the_width_is_not_asked(library: str) -> None:
    backend, x = opened(library), TensorDesc("UINT8", (2,))
    desc = OperatorDesc("ELEMENT_WISE_BIT_SHIFT_LEFT", {"ATensor": x, "BTensor": x, "OutputTensor": x})
    inputs = {"ATensor": np.array([3, 3], np.uint8), "BTensor": np.array([7, 0], np.uint8)}
    assert backend.compute(desc, inputs)["OutputTensor"].tolist() == [128, 3]
    with pytest.raises(Unsupported, match="width"):
        backend.compute(desc, inputs | {"BTensor": np.array([8, 0], np.uint8)})


@pytest.mark.parametrize("library", LIBRARIES)
def test_integers_are_clipped_at_integers_only(library: str) -> None:
    backend, x = opened(library), TensorDesc("INT32", (3,))
    desc = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": x, "OutputTensor": x, "ScaleBias": None, "Min": -1.0, "Max": 2.0})
    inputs = {"InputTensor": np.array([-5, 0, 5], np.int32)}
    assert backend.compute(desc, inputs)["OutputTensor"].tolist() == [-1, 0, 2]
    with pytest.raises(Unsupported, match=r"2\.5 is no int32"):
        backend.compute(desc.with_fields(Max=2.5), inputs)


@pytest.mark.parametrize("library", LIBRARIES)
def test_it_says_what_it_is(library: str) -> None:
    info = opened(library).describe()
    assert isinstance(info, BackendInfo)
    assert info.name == library
    assert info.version == import_module(library).__version__
    assert "INT4" not in info.data_types
    assert "UINT64" in info.data_types


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_package_says_how_to_get_it(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in LIBRARIES[library]:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BackendUnavailable, match=rf"pip install 'directml-conformance\[{library}\]'"):
        open_in_process(library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_argument_is_refused(library: str) -> None:
    with pytest.raises(BackendUnavailable, match=f"{library}:cuda is unknown"):
        open_backend(f"{library}:cuda")
