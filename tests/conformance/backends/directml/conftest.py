"""For the tests of the stack that ``dmlcts setup`` makes: an empty cache, a DLL, and a copy of the host's sources. And the host on fakes of DirectML and D3D12."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from directml_host import host_command, host_environment, on_fake_d3d12
from dlls import pe_file
from fake_dlls import MODE, built_fake, written

from dmlcts.conformance.backends.directml import stack, windows
from dmlcts.conformance.backends.process.process import ProcessBackend


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


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives the path of a fake by its mode."""
    host_command(None)  # or the test is skipped
    folder = tmp_path_factory.mktemp("fake_sequences")
    built = built_fake(folder, "")

    def path(mode: str) -> Path:
        file = folder / f"{mode}.dll"
        file.write_bytes(written(built, MODE, mode))
        return file

    return path


@pytest.fixture(scope="module")
def opened(fake: Callable[[str], Path]) -> Iterator[Callable[[str], ProcessBackend]]:
    """Opens the host on a fake of this mode, once for all tests; it is closed at the end."""
    backends: dict[str, ProcessBackend] = {}
    with ExitStack() as stack:

        def start(mode: str) -> ProcessBackend:
            if mode not in backends:
                command = stack.enter_context(on_fake_d3d12(fake(mode)))
                backends[mode] = ProcessBackend(command, 60.0, host_environment())
                stack.callback(backends[mode].close)
            return backends[mode]

        yield start
