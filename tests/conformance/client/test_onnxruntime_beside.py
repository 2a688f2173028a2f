"""ONNX Runtime is the one beside the DirectML.dll, in a folder without that, or the one that was set up."""

from pathlib import Path

from dmlcts.conformance.client.models.onnxruntime import onnxruntime_for
from dmlcts.conformance.client.programs.programs import Programs


def test_what_lies_beside_the_dll_is_used_away_from_it(tmp_path: Path) -> None:
    wheel, run = tmp_path / "wheel", tmp_path / "run"
    wheel.mkdir()
    run.mkdir()
    (wheel / "DirectML.dll").write_bytes(b"DirectML")
    (wheel / "onnxruntime.dll").write_bytes(b"its own")
    found = onnxruntime_for(Programs(None, tmp_path), wheel / "DirectML.dll", run)
    assert found.read_bytes() == b"its own"
    assert [file.name for file in found.parent.iterdir()] == ["onnxruntime.dll"]
    assert run in found.parents


def test_without_one_it_is_that_of_the_setup(tmp_path: Path) -> None:
    programs = Programs(None, tmp_path)
    (tmp_path / "DirectML.dll").write_bytes(b"DirectML")
    assert onnxruntime_for(programs, tmp_path / "DirectML.dll", tmp_path) == programs.onnxruntime
    assert onnxruntime_for(programs, None, tmp_path) == programs.onnxruntime
