"""A DirectML.dll that is wrong on purpose (tests/fake_directml), with a D3D12 that computes nothing: built once, then written in each mode.

Needs mingw-w64's compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
SOURCES = [str(HERE / "fake_directml" / name) for name in ("fake.cpp", "computing.cpp", "d3d12.cpp")]
HEADERS = HERE.parent / "conformance" / "backends" / "directml" / "native" / "src"
COMPILER = "x86_64-w64-mingw32-g++"

MODE, REAL = b"the mode of this fake", b"the path of a real DirectML.dll, in UTF-8"
"""What stands in the fake where its mode, and the path of the real one, are to be written."""


def built_fake(folder: Path, real: str) -> bytes:
    """The fake, with the path of the real DLL as its host sees it, and still without a mode. Skips the test where there is no compiler."""
    compiler = shutil.which(COMPILER)
    if not compiler:
        pytest.skip(f"{COMPILER} is not on the PATH; it comes with mingw-w64")
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-static", "-s", f"-I{HEADERS}", *SOURCES]
    subprocess.run([compiler, *flags, "-o", str(folder / "built.dll")], check=True, timeout=120)
    return written(folder.joinpath("built.dll").read_bytes(), REAL, real)


def written(dll: bytes, place: bytes, text: str) -> bytes:
    """The DLL with a text in one of the two places."""
    start, new = dll.index(place), text.encode().ljust(len(place), b"\0") + b"\0"
    return dll[:start] + new + dll[start + len(new) :]
