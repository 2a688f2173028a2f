"""Cases as models: what is written runs, and gives what the case expects."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import BackendInfo, Dispatch
from dmlcts.conformance.backends.buffers import element_bytes, read_tensor
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.commands.cli import dmlcts
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.conformance.dxdispatch.run import State
from dmlcts.conformance.dxdispatch.write import INLINE, desc_fields, model_text, write_model
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.conformance.runner.planning.options import read_case
from dmlcts.generator.case.case import REFERENCE, REJECTION, VALUES, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.case.places import output_names
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.values.layouts import layout_of
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import literal_array, literal_defined, numpy_dtype
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_file
from dmlcts.spec.untrusted.desc_json import read_desc

OPERATORS = Path(__file__).parents[2] / "data" / "operators"
KINDS = ("example", "table", "combination", "values", "sizes", "gaps", "random", "network", "typical")
# The first operators; then attributes of every kind, and tensors of several types, one of which may be absent.
FIRST = tuple(f"ELEMENT_WISE_{name}" for name in ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND"))
SAMPLE = (*FIRST, "ELEMENT_WISE_CLIP1", "ELEMENT_WISE_QUANTIZE_LINEAR")
EACH = 8
"""Cases of each kind and operator."""


def sample(operator: str, kind: str) -> list[Case]:
    cases = [case for case in operator_cases(operator) if case.kind == kind and case.expect in (REFERENCE, VALUES)]
    return cases[:: -(-len(cases) // EACH) or 1]


def run_file(file: Path) -> State:
    backend = open_backend("reference")
    state = State(read_model(file))
    assert not [step for step in state.run(backend, backend.describe(), file.parent) if not hasattr(step, "array")]
    return state


def output(case: Case, state: State, name: str) -> np.ndarray[Any, Any]:
    """An output read from its resource by the case's own desc."""
    return read_tensor(state.contents[case.in_place.get(name, name)], case.desc.tensor(name))


def agrees(case: Case, state: State) -> bool:
    """Whether the outputs are what the case expects; for a contested case, what one of the two says."""
    operator, info = case.operator, BackendInfo("x", denormals="preserve", accumulator=52, nearest=True)
    expected: list[Mapping[str, Answer]] = [
        {n: Answer(literal_array(v), defined=literal_defined(v)) for n, v in outputs.items()} for outputs in case.answers.values()
    ]
    return any(
        all(
            judge(output(case, state, n), answer, tolerance, case.desc.tensor(n).data_type, info, n, case.checks).ok
            for n, answer in answers.items()
            for tolerance in [tolerance_of(operator, n, case.desc)]
        )
        for answers in expected or [compute(case.desc, inputs(case))]
    )


# Round trips


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operator", SAMPLE)
def test_what_is_written_runs_and_gives_what_the_case_expects(operator: str, kind: str, tmp_path: Path) -> None:
    for index, case in enumerate(sample(operator, kind)):
        folder = tmp_path / str(index)
        folder.mkdir()
        file = write_model(case, inputs(case), folder)
        before = State(read_model(file))
        assert str(read_model(file).dispatchables["operator"].desc) == str(
            case.desc
        )  # a NaN among the attributes is not equal to itself
        for name, array in inputs(case).items():
            stored = read_tensor(before.contents[case.in_place.get(name, name)], case.desc.tensor(name))
            assert stored.tobytes() == array.tobytes(), (case.id, name)
        is_settled = bool(case.in_place) and any(data.alike for data in case.data.values())  # one whole number, rounded in place
        if len(case.in_place) < 2 and not is_settled:  # x | x is there already where the output lies on both inputs
            assert not agrees(case, before), f"{case.id} agrees before it has run"
        state = run_file(file)
        assert agrees(case, state), case.id
        for name in output_names(load(operator), case.desc):
            tensor = case.desc.tensor(name)
            holder = case.in_place.get(name, name)
            between = ~element_bytes(tensor)
            now, then = (s.contents[holder][: tensor.bytes][between] for s in (state, before))
            assert now.tobytes() == then.tobytes(), f"{case.id}: bytes between elements changed"


def test_every_kind_of_case_is_in_the_sample() -> None:
    found = {kind: sum(len(sample(operator, kind)) for operator in SAMPLE) for kind in KINDS}
    assert all(found.values()), found
    every = {c.kind for operator in SAMPLE for c in operator_cases(operator) if c.expect in (REFERENCE, VALUES)}
    assert every == set(KINDS)


@pytest.mark.parametrize("operator", SAMPLE)
def test_one_wrong_byte_of_an_input_is_found(operator: str, tmp_path: Path) -> None:
    """In each of some cases, wherever the right answer is another one then: a limit or saturation may hide it."""
    cases = (
        c
        for c in operator_cases(operator)
        if c.kind == "combination" and layout_of(c.desc.fields[first_input(c)]) == "permuted" and not c.in_place
    )
    shown = 0
    for index, case in enumerate(islice(cases, 5)):
        folder, name = tmp_path / str(index), first_input(case)
        folder.mkdir()
        file, raw, tensor = write_model(case, inputs(case), folder), folder / f"{name}.bin", case.desc.tensor(name)
        assert agrees(case, run_file(file))
        content = np.fromfile(raw, np.uint8)
        at = int(np.flatnonzero(element_bytes(tensor))[-1])  # the last element's highest byte
        content[at] ^= 0xFE  # the sign, and an odd number of bits, which a count of bits shows too
        content.tofile(raw)
        wrong = {**inputs(case), name: read_tensor(content, tensor)}
        same = np.array_equal(stored(case, wrong), stored(case, inputs(case)))
        assert agrees(case, run_file(file)) == same
        shown += not same
    assert shown


def stored(case: Case, content: Mapping[str, Any]) -> Any:
    """What an exact implementation stores in the first output."""
    name = output_names(case.operator, case.desc)[0]
    return compute(case.desc, content)[name].stored_value.astype(numpy_dtype(case.desc.tensor(name).data_type))


def first_input(case: Case) -> str:
    return next(iter(case.data))


def test_the_command_line_gives_the_same(tmp_path: Path) -> None:
    for kind in KINDS:
        case = next(c for name in SAMPLE for c in sample(name, kind))
        folder = tmp_path / kind
        folder.mkdir()
        write_model(case, inputs(case), folder)
        result = CliRunner().invoke(dmlcts, ["exec", str(folder / "model.json"), "--out", str(folder / "out")])
        assert result.exit_code == 0, result.output
        for name in output_names(case.operator, case.desc):
            written = np.load(folder / "out" / f"{case.in_place.get(name, name)}.npy")
            assert written.tobytes() == output(case, run_file(folder / "model.json"), name).tobytes()
            assert written.shape == case.desc.tensor(name).sizes


# How things are written


def case_of(desc: OperatorDesc, operator: Operator | None = None, **more: Any) -> Case:
    return Case("made", "table", "smoke", desc, operator or load(desc.type), "6_4", "UINT8", **more)


def or_desc(**tensors: TensorDesc) -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_BIT_OR", tensors)


def test_few_packed_values_stand_in_the_model_and_others_in_files(tmp_path: Path) -> None:
    few, many, apart = TensorDesc("UINT16", (INLINE,)), TensorDesc("UINT16", (INLINE + 1,)), TensorDesc("UINT16", (3,), (2,))
    for tensor, files in ((few, []), (many, ["ATensor.bin", "BTensor.bin"]), (apart, ["ATensor.bin", "BTensor.bin"])):
        folder = tmp_path / str(tensor.count)
        folder.mkdir()
        array = np.arange(tensor.count, dtype=np.uint16)
        case = case_of(or_desc(ATensor=tensor, BTensor=tensor, OutputTensor=tensor))
        write_model(case, {"ATensor": array, "BTensor": array}, folder)
        assert sorted(p.name for p in folder.iterdir()) == [*files, "model.json"]
        assert output(case, run_file(folder / "model.json"), "OutputTensor").tolist() == array.tolist()
    raw = np.fromfile(tmp_path / "3" / "ATensor.bin", np.uint16)
    assert raw[::2].tolist() == [0, 1, 2]
    assert raw[1] == raw[3] == raw[5] != 0  # what execution puts between the elements


@pytest.mark.parametrize("operator", SAMPLE)
def test_a_model_without_a_folder_holds_the_same_bytes(operator: str, tmp_path: Path) -> None:
    case = next(
        c
        for c in operator_cases(operator)
        if c.kind == "combination" and layout_of(c.desc.fields[first_input(c)]) == "permuted" and not c.in_place
    )
    beside = write_model(case, inputs(case), tmp_path)
    alone = tmp_path / "alone" / "model.json"
    alone.parent.mkdir()
    alone.write_text(model_text(case, inputs(case)), encoding="utf-8")
    contents = [
        {name: resource.content.tobytes() for name, resource in read_model(file).resources.items()} for file in (beside, alone)
    ]
    assert contents[0] == contents[1]
    assert agrees(case, run_file(alone))


def test_a_nan_that_json_cannot_say_keeps_its_bits(tmp_path: Path) -> None:
    tensor = TensorDesc("FLOAT32", (2,))
    desc = OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor, "RoundingMode": "TOWARD_ZERO"})
    for bits, inline in ((0x7FC00000, True), (0x7FC00001, False), (0xFFC00000, False), (0x80000000, True)):
        folder = tmp_path / hex(bits)
        folder.mkdir()
        array = np.array([bits, 0x3F800000], np.uint32).view(np.float32)
        file = write_model(case_of(desc), {"InputTensor": array}, folder)
        assert (not (folder / "InputTensor.bin").exists()) == inline
        assert read_model(file).resources["InputTensor"].content.tobytes() == array.tobytes()


def test_a_larger_total_size_is_bound_whole(tmp_path: Path) -> None:
    tensor = TensorDesc("UINT8", (3,), total_size=16)
    array = np.array([1, 2, 3], np.uint8)
    case = case_of(or_desc(ATensor=tensor, BTensor=tensor, OutputTensor=tensor))
    state = run_file(write_model(case, {"ATensor": array, "BTensor": array}, tmp_path))
    assert {name: content.size for name, content in state.contents.items()} == dict.fromkeys(case.desc.fields, 16)
    assert output(case, state, "OutputTensor").tolist() == [1, 2, 3]


def test_four_bit_tensors_are_bytes_with_their_total_size_given(tmp_path: Path) -> None:
    class Bytewise(ArrayBackend):
        info = BackendInfo("bytewise")

        def run(self, dispatch: Dispatch) -> None:
            a, b, out = (dispatch.resources[dispatch.bindings[n].resource] for n in ("ATensor", "BTensor", "OutputTensor"))
            out[:] = a | b

    tensor = TensorDesc("UINT4", (9,))
    a, b = (np.array(v, np.uint8).astype(numpy_dtype("UINT4")) for v in ([1, 2, 3, 4, 5, 6, 7, 8, 9], [8] * 9))
    case = case_of(or_desc(ATensor=tensor, BTensor=tensor, OutputTensor=tensor))
    file = write_model(case, {"ATensor": a, "BTensor": b}, tmp_path)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert {r["initialValuesDataType"] for r in written["resources"].values()} == {"UINT8"}
    assert written["dispatchables"]["operator"]["desc"]["ATensor"]["TotalTensorSizeInBytes"] == 8
    state = State(read_model(file))
    list(state.run(Bytewise(), Bytewise.info, tmp_path))
    assert output(case, state, "OutputTensor").astype(int).tolist() == [9, 10, 11, 12, 13, 14, 15, 8, 9]
    assert state.tensor("OutputTensor").array.dtype == numpy_dtype("UINT4")


def test_an_owned_input_is_bound_to_the_operator(tmp_path: Path) -> None:
    tensor, owned = TensorDesc("UINT8", (4,)), TensorDesc("UINT8", (4,), flags=abi().tensor_flags["OWNED_BY_DML"])
    array = np.array([1, 2, 4, 8], np.uint8)
    case = case_of(or_desc(ATensor=tensor, BTensor=owned, OutputTensor=tensor))
    file = write_model(case, {"ATensor": array, "BTensor": array[::-1].copy()}, tmp_path)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["dispatchables"]["operator"]["bindings"] == {"BTensor": "BTensor"}
    assert written["commands"][0]["bindings"] == {"ATensor": "ATensor", "OutputTensor": "OutputTensor"}
    assert output(case, run_file(file), "OutputTensor").tolist() == [9, 6, 6, 9]


def test_an_array_of_tensors_is_bound_as_an_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = load_file(OPERATORS / "join.yaml")
    monkeypatch.setattr("dmlcts.conformance.dxdispatch.read.load", lambda _: operator)
    tensors = (TensorDesc("FLOAT32", (1, 1, 1, 2)), TensorDesc("FLOAT32", (1, 1, 1, 1)))
    out = TensorDesc("FLOAT32", (1, 1, 1, 3))
    case = case_of(OperatorDesc("JOIN", {"InputCount": 2, "InputTensors": tensors, "OutputTensor": out, "Axis": 3}), operator)
    arrays = {"InputTensors[0]": np.ones(tensors[0].sizes, np.float32), "InputTensors[1]": np.zeros(tensors[1].sizes, np.float32)}
    file = write_model(case, arrays, tmp_path)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["commands"][0]["bindings"] == {
        "InputTensors": ["InputTensors[0]", "InputTensors[1]"],
        "OutputTensor": "OutputTensor",
    }
    model = read_model(file)
    assert model.dispatchables["operator"].desc == case.desc
    assert model.resources["InputTensors[0]"].content.view(np.float32).tolist() == [1, 1]


@pytest.mark.parametrize(("data_type", "member"), [("FLOAT16", {"UInt16": 0xFC00}), ("FLOAT32", {"Float32": "-inf"})])
def test_a_scalar_that_is_no_finite_number_is_a_member_of_its_union(data_type: str, member: dict[str, Any]) -> None:
    operator = load("ELEMENT_WISE_CLIP1")
    tensor = TensorDesc(data_type, (3,))
    fields = {"InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": None, "MinMaxDataType": data_type}
    desc = OperatorDesc(operator.name, {**fields, "Min": float("-inf"), "Max": 2.0})
    written = desc_fields(desc, operator)
    assert (written["Min"], written["Max"]) == (member, 2.0)
    assert read_desc({"Type": operator.name, "Desc": written}, lambda _: operator) == desc


def test_a_case_that_expects_no_values_is_no_model(tmp_path: Path) -> None:
    case = next(c for c in operator_cases("ELEMENT_WISE_BIT_OR") if c.expect == REJECTION)
    with pytest.raises(ValueError, match="expects rejection, which a model cannot express"):
        write_model(case, inputs(case), tmp_path)


# repro


@pytest.mark.parametrize("kind", KINDS)
def test_repro_writes_what_exec_runs(kind: str, tmp_path: Path) -> None:
    case = next(c for name in SAMPLE for c in sample(name, kind))
    out = tmp_path / "new" / "folder"
    result = CliRunner().invoke(dmlcts, ["repro", case.id, "--out", str(out), "--backend", "python:a:B"])
    assert result.exit_code == 0, (result.output, result.exception)
    first, again = result.stdout.splitlines()
    listed = first.partition(": ")[2].removesuffix(f" in {out}").split(", ")
    assert {"case.json", "model.json", *(f"{name}.npy" for name in case.data)} <= set(listed)
    assert all((out / name).is_file() for name in listed)
    assert again == f'run it: dmlcts run --backend "python:a:B" --case "{case.id}"'
    assert json.dumps(to_json(read_case(out / "case.json"))) == json.dumps(to_json(case))  # as text: an attribute may be NaN
    assert agrees(case, run_file(out / "model.json"))
    for name, array in inputs(case).items():
        assert np.load(out / f"{name}.npy").tobytes() == array.tobytes()
    run = CliRunner().invoke(dmlcts, ["exec", str(out / "model.json"), "--out", str(out / "outputs")])
    assert run.exit_code == 0
    expected = compute(case.desc, inputs(case))
    for name, answer in expected.items():
        assert np.array_equal(np.load(out / f"{name}.expected.npy"), answer.value, equal_nan=True)


def test_repro_of_a_case_that_must_be_refused_has_no_model(tmp_path: Path) -> None:
    case = next(c for c in operator_cases("ELEMENT_WISE_BIT_OR") if c.expect == REJECTION)
    result = CliRunner().invoke(dmlcts, ["repro", case.id, "--out", str(tmp_path)])
    assert result.exit_code == 0, (result.output, result.exception)
    assert (tmp_path / "case.json").is_file()
    assert not (tmp_path / "model.json").exists()


def test_repro_of_a_case_file_names_the_file_to_run_again(tmp_path: Path) -> None:
    case = sample("ELEMENT_WISE_BIT_OR", "table")[0]
    CliRunner().invoke(dmlcts, ["repro", case.id, "--out", str(tmp_path / "a")])
    shutil.move(tmp_path / "a" / "case.json", tmp_path / "mine.json")
    result = CliRunner().invoke(dmlcts, ["repro", str(tmp_path / "mine.json"), "--out", str(tmp_path / "b")])
    assert result.exit_code == 0, (result.output, result.exception)
    assert f'--case-file "{(tmp_path / "b" / "case.json").as_posix()}"' in result.stdout
    assert agrees(case, run_file(tmp_path / "b" / "model.json"))


def test_repro_of_an_unknown_case_names_near_ones(tmp_path: Path) -> None:
    result = CliRunner().invoke(dmlcts, ["repro", "ELEMENT_WISE_BIT_OR/nothing", "--out", str(tmp_path)])
    assert "no case 'ELEMENT_WISE_BIT_OR/nothing'" in str(result.exception)
