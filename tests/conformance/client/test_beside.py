"""The capture DLL beside a program: there while it runs, and never in place of the program's own afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlcts.conformance.client.beside import KEPT, NAME, OURS, BesideError, lend_dll, restore


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    file = tmp_path / "capture.dll"
    file.write_bytes(b"ours")
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    return tmp_path / "app"


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_the_programs_own_dll_is_put_back(folder: Path, ours: Path) -> None:
    (folder / NAME).write_bytes(b"its own")
    seen = []

    def run() -> None:
        with lend_dll(folder, ours) as own:
            assert own is not None
            seen.extend([(folder / NAME).read_bytes(), own.read_bytes()])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert seen == [b"ours", b"its own"]
    assert names(folder) == [NAME]
    assert (folder / NAME).read_bytes() == b"its own"


def test_nothing_is_left_where_there_was_no_dll(folder: Path, ours: Path) -> None:
    with lend_dll(folder, ours) as own:
        assert own is None
        assert (folder / NAME).read_bytes() == b"ours"
    assert names(folder) == []


@pytest.mark.parametrize("steps", range(4))
def test_a_call_that_was_killed_at_any_step_loses_no_dll(steps: int, folder: Path, ours: Path) -> None:
    (folder / NAME).write_bytes(b"its own")
    if steps > 0:
        (folder / NAME).rename(folder / KEPT)
    if steps > 1:
        (folder / OURS).touch()
    if steps > 2:
        (folder / NAME).write_bytes(b"ours")
    restore(folder)
    assert names(folder) == [NAME]
    assert (folder / NAME).read_bytes() == b"its own"


def test_a_capture_dll_that_was_put_there_by_hand_is_not_taken_for_the_programs(folder: Path, ours: Path) -> None:
    (folder / NAME).write_bytes(b"ours")
    with pytest.raises(BesideError, match="is the capture DLL itself"), lend_dll(folder, ours):
        pass
    with pytest.raises(BesideError, match="is no folder"), lend_dll(folder / "none", ours):
        pass
