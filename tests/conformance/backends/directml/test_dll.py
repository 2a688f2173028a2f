"""The DLL that is named to ``directml``: its headers, its version, and how it is named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from dlls import pe_file

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.backend import split_argument
from dmlcts.conformance.backends.directml.dll import read_dll
from dmlcts.conformance.backends.opening import open_backend

pytestmark = pytest.mark.usefixtures("cache")


def test_a_dll_is_read(dll: Path) -> None:
    found = read_dll(dll)
    assert (found.version, len(found.sha256)) == ("1.15.4.0", 64)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "No such file"),
        (b"", "does not begin like a PE file"),
        (b"MZ", "does not begin like a PE file"),
        (b"# text\n" * 100, "does not begin like a PE file"),
        (b"MZ" + bytes(200), "no PE header"),
        (b"MZ" + bytes(58) + b"\xff\xff\xff\xff", "no PE header"),
        (pe_file()[:150], "no PE header"),
        (pe_file(machine=0x14C), "another processor (machine 0x014c"),
        (pe_file(flags=0x22), "is a program, not a DLL"),
    ],
)
def test_what_is_no_dll_is_reported(data: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "x.dll"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(BackendUnavailable) as error:
        open_backend(f"directml:'{file}'")
    assert message.lower() in str(error.value).lower()
    assert str(file) in str(error.value)


def test_a_version_that_is_not_there_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "x.dll"
    file.write_bytes(pe_file(version=None) + struct.pack("<II", 0xFEEF04BD, 0x10000))  # cut off in the middle
    assert read_dll(file).version == ""


@pytest.mark.parametrize(
    ("argument", "path", "options"),
    [
        ("", None, []),
        (" ", None, []),
        ("a.dll", "a.dll", []),
        ("'with space/a.dll' --adapter 1", "with space/a.dll", ["--adapter", "1"]),
        (" --warp", None, ["--warp"]),
        ("--compile graph", None, ["--compile", "graph"]),
    ],
)
def test_a_path_and_options(argument: str, path: str | None, options: list[str]) -> None:
    assert split_argument(argument) == (None if path is None else Path(path), options)


@pytest.mark.parametrize(
    ("argument", "message"),
    [("with space/a.dll", "put quotes around"), ("'a.dll", "directml:'a.dll: No closing"), ("--dll a.dll", "without --dll")],
)
def test_an_argument_that_makes_no_sense(argument: str, message: str) -> None:
    with pytest.raises(BackendUnavailable, match=message):
        split_argument(argument)
