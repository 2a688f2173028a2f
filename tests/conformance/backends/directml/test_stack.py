"""What ``directml`` finds of what ``dmlcts setup`` made, and the commands that start the host. No Wine is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dlls import linux, pe_file

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml import setup, stack, windows
from dmlcts.conformance.backends.directml.dll import read_dll
from dmlcts.conformance.backends.opening import open_backend

MARKER = {"dll": "x", "sha256": "0", "seal": {}}
pytestmark = pytest.mark.usefixtures("cache")


@linux
def test_unprepared_is_reported_with_the_command_that_mends_it(cache: Path) -> None:
    with pytest.raises(BackendUnavailable, match=r"there is none in .*run `dmlcts setup`") as error:
        open_backend("directml")
    assert str(cache / "directml") in str(error.value)


@linux
@pytest.mark.parametrize("marker", [[1], "x", {}, {**MARKER, "dll": 1}, {"dll": "x"}, {**MARKER, "seal": None}])
def test_a_marker_that_says_too_little_is_none(marker: object) -> None:
    marked = stack.stack_of(stack.CHROOT)
    marked.folder.mkdir(parents=True)
    setup.write_json(marked.marker, marker)
    with pytest.raises(BackendUnavailable, match="run `dmlcts setup`"):
        open_backend("directml")


@linux
def test_a_stack_of_other_sources_is_not_used(sources: Path) -> None:
    marked = stack.stack_of(stack.CHROOT)
    marked.folder.mkdir(parents=True)
    setup.write_json(marked.marker, MARKER)
    assert stack.prepared_stack() == (marked, MARKER)
    changed = sources / "src" / "main.cpp"
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert stack.prepared_stack() is None
    with pytest.raises(BackendUnavailable, match="of another version of this suite"):
        stack.need_prepared()


def test_what_names_a_stack(sources: Path) -> None:
    host, system = stack.host_id(), stack.system_id()
    file = sources / "src" / "main.cpp"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    (sources / "README.md").write_text("other", encoding="utf-8")
    assert (stack.host_id(), stack.system_id()) == (host, system), "line endings and the README are no part of the host"
    listed = sources / "wine" / "packages.txt"
    listed.write_text(listed.read_text(encoding="utf-8").replace("wine 10.0~", "wine 11.0~"), encoding="utf-8")
    assert stack.system_id() == system, "versions move"
    listed.write_text(listed.read_text(encoding="utf-8") + "xvfb 1\n", encoding="utf-8")
    assert stack.system_id() != system
    assert stack.host_id() != host


def test_dlls_do_not_meet(tmp_path: Path, dll: Path) -> None:
    other = tmp_path / "other.dll"
    other.write_bytes(pe_file(version=(1, 15, 4, 1)))
    folder = tmp_path / "dlls"
    first, second = stack.place(read_dll(dll), folder), stack.place(read_dll(other), folder)
    assert first != second
    dll.write_bytes(pe_file(version=(9, 9, 9, 9)))  # a build goes on while a run is under way
    assert (folder / first / "DirectML.dll").read_bytes() == pe_file()
    os.utime(folder / second, (0, 0))
    assert stack.place(read_dll(dll), folder) not in (first, second)
    assert sorted(path.name for path in folder.iterdir()) == sorted([first, read_dll(dll).sha256[:16]]), (
        "what no run uses is removed"
    )
    assert not list(folder.rglob("*.part"))


@linux
def test_the_command_in_a_chroot(tmp_path: Path, dll: Path) -> None:
    here = stack.Stack(stack.CHROOT, tmp_path / "with space", "abc")
    command = here.command(read_dll(dll), ["--adapter", "1"])
    name = read_dll(dll).sha256[:16]
    assert command[:4] == ["unshare", "--mount", "--propagation", "private"]  # nothing stays mounted
    assert command[-7:] == [str(here.root), "/bin/sh", "/dmlcts/host-abc/run.sh", "--dll", f"Z:\\dmlcts\\dll\\{name}\\DirectML.dll", "--adapter", "1"]  # fmt: skip
    assert (here.root / "dmlcts" / "dll" / name / "DirectML.dll").read_bytes() == dll.read_bytes()


@linux
def test_the_commands_of_an_engine(tmp_path: Path, dll: Path) -> None:
    here = stack.Stack("podman", tmp_path, "abc")
    command = here.command(read_dll(dll), ["--warp"])
    assert command[:4] == ["podman", "run", "--interactive", "--rm"]
    assert f"{tmp_path / 'dll'}:/dmlcts/dll:ro" in command
    after = command[command.index("dmlcts-directml:abc") + 1 :]
    assert after == ["--dll", f"Z:\\dmlcts\\dll\\{read_dll(dll).sha256[:16]}\\DirectML.dll", "--warp"]
    assert (tmp_path / "dll" / read_dll(dll).sha256[:16] / "DirectML.dll").is_file()
    built = setup.image_command(here, force=True)
    assert built[:3] == ["podman", "build", "--no-cache"]
    assert built[-1] == str(stack.NATIVE)
    assert Path(built[built.index("--file") + 1]).is_file()
    assert setup.list_command(here)[:5] == ["podman", "run", "--rm", "--entrypoint", "/usr/bin/dpkg-query"]


def test_the_host_on_windows(tmp_path: Path, dll: Path, sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackendUnavailable, match="run `dmlcts setup`"):
        windows.find_host()
    windows.built_host().parent.mkdir(parents=True)
    windows.built_host().touch()
    assert windows.host_command(None, ["--warp"]) == [str(windows.built_host()), "--warp"]
    packaged = sources / "bin" / stack.EXE
    packaged.parent.mkdir()
    packaged.touch()
    assert windows.host_command(read_dll(dll), ()) == [str(packaged), "--dll", str(dll)]
    monkeypatch.setenv(windows.VARIABLE, str(tmp_path / "mine.exe"))
    with pytest.raises(BackendUnavailable, match=windows.VARIABLE):
        windows.find_host()
    (tmp_path / "mine.exe").touch()
    assert windows.find_host() == tmp_path / "mine.exe"


def test_no_cmake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendUnavailable, match="cmake is not on the PATH; install CMake"):
        windows.build_host(tmp_path / "out.exe", tmp_path / "log")
    assert not (tmp_path / "out.exe").exists()
