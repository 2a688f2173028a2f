"""Initial values of resources: sequences, files, sizes and offsets."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from exec_models import Write, run, uint32

from dmlcts.conformance.dxdispatch import read
from dmlcts.conformance.dxdispatch.read import ModelError, read_model
from dmlcts.conformance.dxdispatch.values import initial_values, numbers, pack
from dmlcts.conformance.execution import memory
from dmlcts.spec.model.dtypes import numpy_dtype


def values(data: Any, given: str = "UNKNOWN", folder: Path = Path()) -> tuple[str, list[Any]]:
    found, content = initial_values(data, given, folder, "x")
    return found, content.tolist() if found == "UNKNOWN" else content.view(numpy_dtype(found)).tolist()


def test_sequences_add_up_in_their_own_type() -> None:
    assert values({"valueCount": 4, "valueStart": 1, "valueDelta": 2.5}, "FLOAT32") == ("FLOAT32", [1, 3.5, 6, 8.5])
    assert values({"valueCount": 3, "valueStart": 254, "valueDelta": 1}, "UINT8") == ("UINT8", [254, 255, 0])
    assert values({"valueCount": 3, "valueStart": 127, "valueDelta": -128}, "INT8") == ("INT8", [127, -1, 127])
    top = (1 << 64) - 1
    assert values({"valueCount": 2, "valueStart": top, "valueDelta": 1}, "UINT64") == ("UINT64", [top, 0])
    assert values({"valueCount": 3, "valueStart": -(1 << 63), "valueDelta": -1}, "INT64")[1][:2] == [-(1 << 63), (1 << 63) - 1]


def test_a_sequence_of_floats_rounds_at_each_step() -> None:
    for name, dtype in (("FLOAT16", np.float16), ("FLOAT32", np.float32), ("FLOAT64", np.float64)):
        one, expected = dtype(0.1), []
        for _ in range(2000):
            expected.append(float(one))
            one = dtype(one + dtype(0.1))
        assert values({"valueCount": 2000, "valueStart": 0.1, "valueDelta": 0.1}, name)[1] == expected
        assert expected[-1] != float(dtype(200.0))


def test_a_float16_is_rounded_twice_as_dxdispatch_does() -> None:
    tie = 1 + 2.0**-11 + 2.0**-30  # to FLOAT16 in one step: up; by way of FLOAT32: a tie, and down to even
    assert float(np.float16(tie)) != 1
    assert numbers([tie], "FLOAT16", "x").tolist() == [1.0]


def test_numbers_that_round_into_the_range_are_in_it() -> None:
    assert numbers([3.4028235e38, 65519.99, -0.0], "FLOAT32", "x").tolist()[0] == float(np.finfo(np.float32).max)
    assert numbers([65519.0], "FLOAT16", "x").tolist() == [65504.0]
    assert np.signbit(numbers([-0.0], "FLOAT16", "x")).all()


def test_four_bit_values_share_bytes_the_first_in_the_low_nibble() -> None:
    assert pack(numbers([1, -1, 7, -8, 3], "INT4", "x"), "INT4").tolist() == [0xF1, 0x87, 0x03]
    assert pack(numbers([1, 15], "UINT4", "x"), "UINT4").tolist() == [0xF1]
    found, content = initial_values({"valueCount": 4, "valueStart": 6, "valueDelta": 1}, "INT4", Path(), "x")
    assert (found, content.tolist()) == ("INT4", [0x76, 0x98])
    assert initial_values({"valueCount": 3, "value": 9}, "UINT4", Path(), "x")[1].tolist() == [0x99, 0x09]


def test_values_of_several_types_stand_one_after_the_other() -> None:
    elements = [{"name": "n", "type": "UINT32", "value": 6}, {"type": "FLOAT16", "value": 1.5}, {"type": "INT8", "value": -1}]
    assert values(elements) == ("UNKNOWN", [*np.uint32(6).tobytes(), *np.float16(1.5).tobytes(), 255])


def test_arrays_from_files_have_their_own_type(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.array([[1, 2], [3, 4]], ">i2").T)
    np.save(tmp_path / "bool.npy", np.array([True, False]))
    assert values({"sourcePath": "big.npy"}, folder=tmp_path) == ("INT16", [1, 3, 2, 4])
    assert values({"sourcePath": "bool.npy"}, "UINT8", tmp_path) == ("UINT8", [1, 0])


def test_files_are_read_below_the_model_alone_unless_others_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m"
    (model / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    np.array([1.0], np.float64).tofile(tmp_path / "sub" / "x.dat")

    def read(source: str, outside: bool) -> list[float]:
        return initial_values({"sourcePath": source}, "FLOAT64", model, "x", outside)[1].view(np.float64).tolist()

    for source in ("../sub/x.dat", "..\\sub\\x.dat", str(tmp_path / "sub" / "x.dat")):
        with pytest.raises(ModelError, match="is not below the model's folder; allow it with --read-outside"):
            read(source, outside=False)
        assert read(source, outside=True) == [1.0]
    assert read("sub/x.dat", outside=True) == [1.0]  # as DxDispatch: beside the model, and then in the current folder
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        read("sub/x.dat", outside=False)
    np.array([2.0], np.float64).tofile(model / "sub" / "x.dat")
    assert read("sub\\x.dat", outside=False) == read("sub/x.dat", outside=True) == [2.0]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_symbolic_link_counts_as_the_file_to_which_it_leads(tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.mkdir()
    np.array([1.0], np.float64).tofile(tmp_path / "x.dat")
    np.array([2.0], np.float64).tofile(model / "y.dat")
    (model / "out.dat").symlink_to(tmp_path / "x.dat")
    (model / "up").symlink_to(tmp_path)
    (model / "in.dat").symlink_to("y.dat")
    for source in ("out.dat", "up/x.dat"):
        with pytest.raises(ModelError, match="is not below the model's folder"):
            initial_values({"sourcePath": source}, "FLOAT64", model, "x")
    assert initial_values({"sourcePath": "in.dat"}, "FLOAT64", model, "x")[1].view(np.float64).tolist() == [2.0]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_symbolic_link_does_not_lead_a_written_file_out_of_the_folder(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (out / "link").symlink_to(tmp_path / "elsewhere")
    commands = [{"type": "writeFile", "resource": "a", "targetPath": "link/x.npy"}]
    result = run(write({"resources": {"a": uint32([7])}, "dispatchables": {}, "commands": commands}), "--out", out)
    assert "a symbolic link leads out of" in str(result.exception)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
@pytest.mark.parametrize("name", ["x.npy", "x.dat"])
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ModelError, match="a folder, a pipe or a device, not a file"):
        initial_values({"sourcePath": name}, "FLOAT64", tmp_path, "x")


def test_sizes_and_offsets_of_resources(write: Write) -> None:
    resources = {
        "wide": uint32([7], sizeInBytes=12),
        "late": uint32([7], initialValuesOffsetInBytes=4),
        "odd": {"initialValuesDataType": "UINT8", "initialValues": [1, 2, 3, 4, 5]},
    }
    model = read_model(write({"resources": resources, "dispatchables": {}, "commands": []}))
    found = {name: (r.content.view(np.uint32).tolist(), r.count) for name, r in model.resources.items()}
    assert found == {"wide": ([7, 0, 0], 3), "late": ([0, 7], 2), "odd": ([0x04030201, 5], 5)}


# Memory


@pytest.mark.parametrize("form", ["constant", "size", "file"])
@pytest.mark.parametrize(("available", "most"), [(6 * 4096, 4096), (0, 1024)])
def test_resources_may_have_a_sixth_of_the_memory_that_is_available_and_a_little_in_any_event(
    form: str, available: int, most: int, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=available))
    monkeypatch.setattr(read, "LARGEST", 1024)

    def of(size: int) -> dict[str, Any]:
        (tmp_path / "raw.bin").write_bytes(bytes(size))
        return {
            "constant": uint32({"valueCount": size // 4, "value": 1}),
            "size": uint32([1], sizeInBytes=size),
            "file": uint32({"sourcePath": "raw.bin"}),
        }[form]

    half = uint32({"valueCount": most // 8, "value": 1})
    model = {"dispatchables": {}, "commands": []}
    assert read_model(write({**model, "resources": {"a": half, "b": of(most // 2)}})).resources["b"].shown == most // 2
    with pytest.raises(ModelError, match=r"leaves|too large") as raised:
        read_model(write({**model, "resources": {"a": half, "b": of(most // 2 + 4)}}))
    assert "resources.b" in str(raised.value)
    assert f"{most // 2:,}" in str(raised.value)
