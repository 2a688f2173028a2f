"""For the tests of the stack that ``dmlcts setup`` makes: an empty cache, a DLL, and a copy of the host's sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dlls import pe_file

from dmlcts.conformance.backends.directml import stack, windows


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(windows.VARIABLE, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def dll(tmp_path: Path) -> Path:
    file = tmp_path / "a dll.dll"
    file.write_bytes(pe_file())
    return file


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the host's sources, used in their place."""
    copy = tmp_path / "native"
    shutil.copytree(stack.NATIVE, copy, ignore=shutil.ignore_patterns("bin", "__pycache__"))
    monkeypatch.setattr(stack, "NATIVE", copy)
    monkeypatch.setattr(windows, "NATIVE", copy)
    return copy
