"""Cases kept in a folder: generator/case/case_cache."""

import pickle
from pathlib import Path

import pytest

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.generator.case.case_cache import VARIABLE, cached_cases
from dmlcts.generator.suite.suite import make_cases
from dmlcts.spec.reading.loader import load

NAME = "ACTIVATION_RELU"


def refuse() -> tuple[()]:
    raise AssertionError("made again")


@pytest.mark.parametrize("name", [NAME, "JOIN", "ACTIVATION_SOFTMAX1", "RNN", "CONVOLUTION"])
def test_what_is_kept_is_what_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    cases = make_cases(load(name), "core")
    assert cached_cases(name, "core", lambda: cases) is cases
    found = cached_cases(name, "core", refuse)
    assert found == cases
    assert found[0].operator is load(name)
    assert [file.suffix for file in tmp_path.glob("*/*")] == [".pickle"]


def test_levels_and_versions_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    cached_cases(NAME, "smoke", lambda: make_cases(load(NAME), "smoke"))
    with pytest.raises(AssertionError, match="made again"):
        cached_cases(NAME, "core", refuse)
    with monkeypatch.context() as other:
        other.setattr("dmlcts.generator.case.case_cache._digest", lambda: "another")
        with pytest.raises(AssertionError, match="made again"):
            cached_cases(NAME, "smoke", refuse)
    assert cached_cases(NAME, "smoke", refuse)


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("dmlcts.generator.case.case_cache.shared", "")
    monkeypatch.chdir(tmp_path)
    cached_cases(NAME, "smoke", lambda: make_cases(load(NAME), "smoke"))
    assert not list(tmp_path.iterdir())


def test_a_write_that_stops_leaves_no_file_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        cached_cases(NAME, "smoke", lambda: (lambda: None,))  # type: ignore[arg-type,return-value]
    assert not list(tmp_path.glob("*/*.pickle"))


@pytest.mark.parametrize("backend", ["directml", "python:vendor:Backend", "reference:cuda"])
def test_kept_cases_judge_no_implementation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(UsageError, match=f"{VARIABLE} is set"):
        RunOptions(backend=backend)
    assert RunOptions(backend="reference").backend == "reference"
