"""The hash of what decides a run's results: options, files, and the backend's code where it is a file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from dmlcts.conformance.runner.folder.inputs import code_of, inputs_of
from dmlcts.conformance.runner.planning.options import RunOptions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a module, a package and a program, of which none can be imported."""
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for name in ("mine.py", "package/__init__.py", "package/inner/__init__.py", "package/inner/deep.py", "host"):
        (tmp_path / name).write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("backend", "files"),
    [
        ("python:mine:Mine", ["mine.py"]),
        ("inprocess:mine:Mine", ["mine.py"]),
        ("python:package:Mine", ["package/__init__.py"]),
        ("python:package.inner.deep:Mine", ["package/inner/deep.py"]),
        ("process:./host --log mine.py", ["host"]),
        ("process:python -u mine.py", ["mine.py"]),
        (f"process:{shlex.quote(sys.executable)} mine.py 3", [sys.executable, "mine.py"]),
        ("python:mine.deeper:Mine", []),
        ("python:nosuch:Mine", []),
        ("python::", []),
        ("python:time:Mine", []),
        ("python:package..inner:Mine", []),
        ("process:nosuch --option", []),
        ('process:"open', []),
        ("process:", []),
        ("reference", []),
        ("directml:nosuch.dll", []),
    ],
)
def test_the_code_of_a_backend_is_found_and_not_run(backend: str, files: list[str], folder: Path) -> None:
    assert [file.absolute() for file in code_of(backend)] == [folder / file for file in files]


def test_a_module_on_the_path_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert code_of("python:mine:Mine") == ()
    monkeypatch.syspath_prepend(str(folder))
    assert code_of("python:mine:Mine") == (folder / "mine.py",)


@pytest.mark.parametrize("backend", ["python:mine:Mine", "process:./host"])
def test_other_code_is_another_input_and_another_day_or_folder_is_not(backend: str, folder: Path) -> None:
    options = RunOptions(backend=backend)
    before = inputs_of(options)
    assert inputs_of(RunOptions(backend=backend, out="elsewhere", maxfail=3, today="2020-01-01")) == before
    assert inputs_of(RunOptions(backend=backend, shard="2/4", seed="7", minutes=3.0)) == before
    assert inputs_of(RunOptions(backend=backend, timeout=5.0)) != before
    for name in ("mine.py", "host"):
        (folder / name).write_text("raise SystemExit('changed')\n", encoding="utf-8")
    assert inputs_of(options) != before


def test_files_count_by_their_content_and_use_wherever_they_lie(folder: Path) -> None:
    (folder / "again.py").write_bytes((folder / "mine.py").read_bytes())
    before = inputs_of(RunOptions(waivers=("mine.py",)))
    assert inputs_of(RunOptions(waivers=(str(folder / "again.py"),))) == before
    assert inputs_of(RunOptions(case_files=("mine.py",))) != before
    assert inputs_of(RunOptions(waivers=("mine.py", "again.py"))) != before
    (folder / "mine.py").write_text("changed", encoding="utf-8")
    assert inputs_of(RunOptions(waivers=("mine.py",))) != before
