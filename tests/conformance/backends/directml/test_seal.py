"""What runs is named by what it is: a DLL by its contents, a stack by its seal. No Wine is needed, but for the last tests."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from dlls import linux, pe_file

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml import backend, releases, seal, setup, stack
from dmlcts.conformance.backends.directml.dll import read_dll
from dmlcts.conformance.backends.directml.releases import contents_digest, release_of
from dmlcts.conformance.commands.cli import main
from dmlcts.reports.record.versions import is_within

pytestmark = pytest.mark.usefixtures("cache")

HOST = """
import json, struct, sys
prefix = struct.Struct("<8sIQ")
while True:
    _, length, _ = prefix.unpack(sys.stdin.buffer.read(prefix.size) or sys.exit())
    sys.stdin.buffer.read(length)
    text = json.dumps({{"status": "ok", "name": "DirectML", "version": "1.15.4", "details": {{"dll": {dll!r}}}}}).encode()
    sys.stdout.buffer.write(prefix.pack(b"DMLCTS\\x01\\n", len(text), 0) + text)
    sys.stdout.flush()
"""


def signed(contents: bytes, signature: bytes, place: int | None = None) -> bytes:
    """A PE file with room for the headers of PE32+, and a signature, by default at its end."""
    data = bytearray(pe_file(version=None).ljust(600, b"\0") + pe_file()[-16:] + contents)
    struct.pack_into("<H", data, 128 + 24, 0x20B)
    struct.pack_into("<I", data, 128 + 88, len(signature))  # a checksum, which depends on the signature
    if signature:
        struct.pack_into("<II", data, 128 + 168, len(data) if place is None else place, len(signature))
    return bytes(data) + signature


# A DLL's name


def test_a_release_is_known_whatever_its_signature(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(releases, "RELEASES", {contents_digest(signed(b"code", b"")): "1.14.1"})
    for signature in (b"", b"Monday", b"some other Tuesday"):
        (tmp_path / "x.dll").write_bytes(signed(b"code", signature))
        assert read_dll(tmp_path / "x.dll").name == "1.14.1"
    for other in (signed(b"cOde", b"Monday"), signed(b"code", b"Monday") + b"more", signed(b"code more", b"Monday", 620)):
        (tmp_path / "x.dll").write_bytes(other)
        found = read_dll(tmp_path / "x.dll")
        assert found.name == f"1.15.4.0+sha256.{hashlib.sha256(other).hexdigest()[:16]}"
        assert not is_within(found.name, "1.8.0 to 1.15.4")


@pytest.mark.parametrize(
    "data", [pe_file(), signed(b"code", b"Monday", 0xFFFFFFFF), signed(b"code", b"Monday", 10), signed(b"", b"")[:300]]
)
def test_a_file_whose_headers_make_no_sense_is_no_release(data: bytes) -> None:
    assert contents_digest(data) == ""
    assert release_of(data) == ""


def test_no_release_is_named_by_nothing() -> None:
    assert all(len(digest) == 64 for digest in releases.RELEASES)
    assert setup.VERSION in releases.RELEASES.values()


def test_a_dll_without_a_version_is_named_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "x.dll").write_bytes(pe_file(version=None))
    assert read_dll(tmp_path / "x.dll").name.startswith("unknown+sha256.")


# A stack


@pytest.fixture
def made(cache: Path) -> stack.Stack:
    """A folder with a file of each kind that a seal compares, and a marker."""
    found = stack.stack_of(stack.CHROOT)
    library = "usr/lib/x86_64-linux-gnu"
    names = [
        f"{found.path_inside[1:]}/run.sh",
        f"{found.path_inside[1:]}/x86_64-unix/vkd3dn.dll.so",
        f"{library}/libvkd3d.so.1.21.0",
        f"{library}/libvkd3d-shader.so.1.19.0",
        f"{library}/libvulkan.so.1",
        f"{library}/libvulkan_lvp.so",
        "usr/share/vulkan/icd.d/lvp_icd.json",
        *(f"{folder}/d3d12.dll" for folder in seal.FOLDERS),
    ]
    for name in names:
        (found.root / name).parent.mkdir(parents=True, exist_ok=True)
        (found.root / name).write_bytes(b"as it was set up")
    own = cache / "directml" / "DirectML-1.15.4" / "DirectML.dll"
    own.parent.mkdir()
    own.write_bytes(pe_file())
    setup.write_json(found.folder / "packages.json", {"libvkd3d1": "2.1+ds-1"})
    marker = {"dll": "DirectML-1.15.4/DirectML.dll", "sha256": read_dll(own).sha256, "seal": seal.seal_of(found)}
    setup.write_json(found.marker, marker)
    return found


def files(made: stack.Stack) -> list[Path]:
    return [file for file in made.root.rglob("*") if file.is_file()]


@linux
def test_each_file_that_changes_is_seen(made: stack.Stack, tmp_path: Path) -> None:
    before = seal.seal_of(made)
    assert seal.changes(made, before) == []
    assert len(files(made)) == 10
    for file in files(made):
        name = file.relative_to(made.root).as_posix()
        folder = file.parent.relative_to(made.root).as_posix()
        shutil.copy2(file, tmp_path / "kept")
        times = file.stat().st_atime_ns, file.stat().st_mtime_ns
        file.write_bytes(b"as it was set uP" if folder not in seal.FOLDERS else b"longer than as it was set up")
        os.utime(file, ns=times)
        assert seal.changes(made, before) == [folder if folder in seal.FOLDERS else name], "though its time is the same"
        file.unlink()
        assert len(seal.changes(made, before)) == 1, "it is gone"
        shutil.move(tmp_path / "kept", file)
        assert seal.changes(made, before) == []


@linux
def test_a_file_that_is_new_is_seen(made: stack.Stack) -> None:
    before = seal.seal_of(made)
    (made.root / "usr/lib/x86_64-linux-gnu/libvkd3d.so.2").write_bytes(b"")
    (made.root / seal.FOLDERS[-1] / "dxgi.dll").write_bytes(b"")
    assert seal.changes(made, before) == [seal.FOLDERS[-1], "usr/lib/x86_64-linux-gnu/libvkd3d.so.2"]


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives the description of ``directml`` on a host that says that its DLL is DirectML 1.15.4."""
    words = [sys.executable, "-S", "-c", HOST.format(dll="Z:")]
    monkeypatch.setattr(stack, "enter", lambda root, command: words)
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def describe(argument: str = "") -> BackendInfo:
        opened = backend.open_directml(argument)
        opened.close()
        return opened.describe()

    return describe


def dmlcts(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@linux
def test_replaced_kernels_are_part_of_the_version(made: stack.Stack, described: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "read_dll", lambda path: _released(path))
    told = '"details": {"replaced_kernels": {"0123456789abcdef": "fedcba9876543210"}, '
    words = [sys.executable, "-S", "-c", HOST.format(dll="Z:").replace('"details": {', told)]
    monkeypatch.setattr(stack, "enter", lambda root, command: words)
    info = described()
    assert info.version == f"1.15.4.0+sha256.{info.details['sha256'][:16]} (1 of its kernels is replaced)"
    assert not is_within(info.version, "1.8.0 to 1.15.4")


@linux
def test_one_byte_of_the_dll(
    made: stack.Stack, described: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "read_dll", lambda path: _released(path))
    assert described().version == "1.15.4"
    assert described().details["vkd3d"] == "2.1"
    file = stack.home() / "DirectML-1.15.4" / "DirectML.dll"
    file.write_bytes(file.read_bytes() + b"\0")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    info = described()
    assert info.version == f"1.15.4.0+sha256.{digest[:16]} (not the DLL that was fetched)", "even if it is a release"
    assert info.details["sha256"] == digest
    assert dmlcts("setup", "--check") == 1
    message = capsys.readouterr().err
    assert f"{file} is not the DLL that was fetched: its version is 1.15.4.0, its SHA-256 {digest}; run `dmlcts setup`" in message
    file.write_bytes(b"MZ")
    assert dmlcts("setup", "--check") == 1
    assert "is not a DLL" in capsys.readouterr().err


def _released(path: Path) -> Any:
    from dataclasses import replace

    return replace(read_dll(path), release="1.15.4")


@linux
def test_a_stack_that_changed_is_no_release_s(
    made: stack.Stack, described: Any, capsys: pytest.CaptureFixture[str], dll: Path
) -> None:
    file = made.root / made.path_inside[1:] / "run.sh"
    file.write_bytes(b"other")
    for argument in ("", f"'{dll}'"):
        info = described(argument)
        assert info.version == f"1.15.4.0+sha256.{read_dll(dll).sha256[:16]} (on a stack that has changed since it was set up)"
        assert info.details["stack"] == f"changed since it was set up: {file.relative_to(made.root).as_posix()}"
        assert "vkd3d" not in info.details, "nobody knows its version"
    for command in (["setup", "--check"], ["setup"]):
        assert dmlcts(*command) == 1
        assert "run.sh; run `dmlcts setup --force` to make it anew" in capsys.readouterr().err


@linux
def test_a_given_dll_that_changed_must_be_given_again(
    made: stack.Stack, dll: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = setup.keep_given(read_dll(dll))
    marker = {"dll": kept.path.relative_to(stack.home()).as_posix(), "sha256": kept.sha256, "seal": seal.seal_of(made)}
    setup.write_json(made.marker, marker)
    monkeypatch.setattr("dmlcts.conformance.backends.directml.debian.problem_of_entering", lambda: "")
    assert dmlcts("setup") == 0
    kept.path.write_bytes(pe_file(version=(1, 0, 0, 0)))
    assert dmlcts("setup") == 1
    assert "is not the DLL that was given" in (message := capsys.readouterr().err)
    assert "give it again with `dmlcts setup --dll PATH`" in message


# The copy that the host loads


@linux
def test_a_copy_that_was_changed_is_made_anew(made: stack.Stack, dll: Path) -> None:
    found = read_dll(dll)
    made.command(found, [])
    made.copy_of(found).write_bytes(b"other")
    made.command(found, [])
    assert made.copy_of(found).read_bytes() == dll.read_bytes()


def test_a_dll_that_changes_while_it_is_read(tmp_path: Path, dll: Path) -> None:
    found = read_dll(dll)
    dll.write_bytes(pe_file(version=(2, 0, 0, 0)))
    with pytest.raises(BackendUnavailable, match="changed while it was read"):
        stack.place(found, tmp_path / "dlls")
    assert not list((tmp_path / "dlls").rglob("*.dll"))


def test_a_host_is_not_started_again_on_another_dll(tmp_path: Path, dll: Path) -> None:
    found = read_dll(dll)
    opened = backend.DirectML([sys.executable, "-S", "-c", HOST.format(dll=str(dll))], found, dll)
    opened._drop()
    opened._start_again()
    opened._drop()
    dll.write_bytes(pe_file(version=(2, 0, 0, 0)))
    with pytest.raises(BackendFault, match="is not the DLL that the run began with"):
        opened._start_again()
    dll.unlink()
    with pytest.raises(BackendFault, match="is not the DLL that the run began with"):
        opened._start_again()


def test_the_dll_of_the_system_is_named_by_its_file(dll: Path, tmp_path: Path) -> None:
    """As on Windows, where the host finds it."""
    for path, version in ((dll, read_dll(dll).name), (tmp_path / "none.dll", "1.15.4 (of a file that was not read)")):
        opened = backend.DirectML([sys.executable, "-S", "-c", HOST.format(dll=str(path))], None)
        opened.close()
        assert opened.describe().version == version
