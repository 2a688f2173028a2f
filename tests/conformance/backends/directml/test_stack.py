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


# Folders that the host's options name

FOLDERS = ("--replace-kernels", "in", "--compile", "graph", "--dump-kernels", "out/new")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which ``in`` and ``out`` are, with a kernel and something else to read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0123456789abcdef.bin").write_bytes(b"a kernel")
    (tmp_path / "in" / "notes.txt").write_bytes(b"")
    return tmp_path


def copies(made: stack.Stack) -> tuple[Path, Path]:
    """The copy to read and the one to write of the only exchange."""
    (own,) = made.shared_folder.iterdir()
    return own / "replace-kernels", own / "dump-kernels"


def test_an_exchange_copies_what_is_read_and_names_it_as_the_host_sees_it(folders: Path) -> None:
    made = stack.Stack(stack.CHROOT, folders / "stack", "h")
    exchange = stack.Exchange(made, FOLDERS)
    read, _ = copies(made)
    assert {file.name: file.read_bytes() for file in read.iterdir()} == {"0123456789abcdef.bin": b"a kernel"}
    inside = rf"Z:\dmlcts\shared\{read.parent.name}"
    assert exchange.options == [
        *("--replace-kernels", rf"{inside}\replace-kernels"),
        *("--compile", "graph"),
        *("--dump-kernels", rf"{inside}\dump-kernels"),
    ]
    assert exchange.with_own_paths(rf"{inside}\replace-kernels\x.bin is empty") == rf"{folders / 'in'}\x.bin is empty"
    exchange.close()
    assert not list(made.shared_folder.iterdir())


def test_an_exchange_fetches_whole_files_and_keeps_those_that_are_there(folders: Path) -> None:
    made = stack.Stack(stack.CHROOT, folders / "stack", "h")
    exchange = stack.Exchange(made, FOLDERS)
    _, written = copies(made)
    there = folders / "out" / "new"
    (there / "b.bin").write_bytes(b"before")
    for name in ("a.bin", "b.bin", "c.bin.1-2.part"):
        (written / name).write_bytes(b"new")
    exchange.fetch()
    assert {file.name: file.read_bytes() for file in there.iterdir()} == {"a.bin": b"new", "b.bin": b"before"}
    assert [file.name for file in written.iterdir()] == ["c.bin.1-2.part"]


def test_hosts_do_not_share_an_exchange_and_old_ones_are_removed(folders: Path) -> None:
    made = stack.Stack(stack.CHROOT, folders / "stack", "h")
    stack.Exchange(made, FOLDERS)
    (old,) = made.shared_folder.iterdir()
    stack.Exchange(made, FOLDERS)
    assert len(list(made.shared_folder.iterdir())) == 2
    os.utime(old, (0, 0))
    stack.Exchange(made, FOLDERS)
    assert len(list(made.shared_folder.iterdir())) == 2
    assert not old.exists()


def test_options_without_a_folder_need_no_exchange(tmp_path: Path) -> None:
    made = stack.Stack(stack.CHROOT, tmp_path / "stack", "h")
    exchange = stack.Exchange(made, ["--compile", "graph"])
    exchange.fetch()
    exchange.close()
    assert exchange.options == ["--compile", "graph"]
    assert not made.shared_folder.exists()


def test_an_engine_sees_the_exchange(folders: Path, dll: Path) -> None:
    made = stack.Stack("podman", folders / "stack", "h")
    mount = f"{made.shared_folder}:/dmlcts/shared"
    assert mount not in made.command(read_dll(dll), [])
    exchange = stack.Exchange(made, FOLDERS)
    command = made.command(read_dll(dll), exchange.options)
    assert command[command.index(mount) - 1] == "--volume"


def test_a_folder_that_is_not_there_or_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        BackendUnavailable, match=r"--replace-kernels .*none: there is no such folder; it is to have a file DIGEST\.bin"
    ):
        stack.full_folders(["--replace-kernels", str(tmp_path / "none")])
    with pytest.raises(BackendUnavailable, match=r"--dump-kernels .*file.below: .*; name a folder that can be made"):
        stack.full_folders(["--dump-kernels", str(tmp_path / "file" / "below")])


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
