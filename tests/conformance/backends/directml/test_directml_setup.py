"""What ``dmlcts setup`` makes, and its messages when something is missing. No Wine, no download, no network."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from dlls import linux, pe_file

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml import debian, seal, setup, stack
from dmlcts.conformance.backends.directml.setup import SetupError, Wish
from dmlcts.conformance.backends.reference import open_reference
from dmlcts.conformance.commands.backends.setup import try_one_case
from dmlcts.conformance.commands.cli import main

ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.usefixtures("cache")


# Steps


def test_a_step_that_fails_says_its_last_lines(tmp_path: Path) -> None:
    program = "print(*range(50), sep='\\n'); raise SystemExit(4)"
    with pytest.raises(SetupError) as error:
        setup.run_logged([sys.executable, "-c", program], tmp_path / "log", "do this", SetupError)
    text = str(error.value)
    assert "exit code 4" in text
    assert text.endswith("    49\ndo this")
    assert "    34\n" not in text
    with pytest.raises(BackendUnavailable, match="do that"):
        setup.run_logged(["no-such-program-at-all"], tmp_path / "log", "do that")


def test_a_step_gives_what_its_command_printed_and_no_more(tmp_path: Path) -> None:
    for word in ("one", "two"):
        printed = setup.run_logged([sys.executable, "-c", f"print('{word}')"], tmp_path / "log", "")
        assert printed.split() == [word]


def test_half_made_is_never_there(tmp_path: Path) -> None:
    there = tmp_path / "made"

    def make(text: str, fail: bool) -> None:
        with setup.make_folder(there) as folder:
            (folder / "file").write_text(text, encoding="utf-8")
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make("half", fail=True)
    assert list(tmp_path.iterdir()) == []
    make("whole", fail=False)
    with pytest.raises(KeyboardInterrupt):
        make("half", fail=True)
    assert (there / "file").read_text(encoding="utf-8") == "whole"
    make("again", fail=False)
    assert (there / "file").read_text(encoding="utf-8") == "again"
    assert list(tmp_path.iterdir()) == [there]


def test_nothing_is_removed_below_which_something_is_mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "root" / "dev").mkdir(parents=True)
    monkeypatch.setattr(debian, "mounts", lambda: [Path("/"), tmp_path / "root" / "dev"])
    with pytest.raises(SetupError, match="unmount it"):
        setup.remove(tmp_path / "root")
    assert (tmp_path / "root" / "dev").exists()
    monkeypatch.setattr(debian, "mounts", lambda: [Path("/"), tmp_path])
    setup.remove(tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_mounts_are_read(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("36 35 98:0 / /mnt/a\\040b rw - ext3 /dev/root rw\n", encoding="utf-8")
    assert debian.mounts(table) == [Path("/mnt/a b")]


def fake_pip(data: bytes) -> Callable[..., str]:
    def ran(command: list[str], log: Path, advice: str, *rest: object) -> str:
        assert command[1:4] == ["-m", "pip", "download"]
        assert command[-1] == setup.WHEEL
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "x.whl", "w") as wheel:
            wheel.writestr("onnxruntime/capi/DirectML.dll", data)
        return ""

    return ran


def test_a_dll_that_is_not_the_expected_one_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "run_logged", fake_pip(pe_file()))
    messages: list[str] = []
    with pytest.raises(BackendUnavailable, match=r"is not the DirectML\.dll"):
        setup.download_directml(False, messages.append)
    assert list((cache / "directml").iterdir()) == []
    monkeypatch.setattr(setup, "SHA256", hashlib.sha256(pe_file()).hexdigest())
    found = setup.download_directml(False, messages.append)
    assert [path.name for path in found.path.parent.iterdir()] == ["DirectML.dll"]
    count = len(messages)
    assert setup.download_directml(False, messages.append) == found
    assert len(messages) == count, "it is downloaded once"
    found.path.write_bytes(pe_file(version=(1, 15, 4, 9)))
    assert setup.download_directml(False, messages.append) == found, "it is fetched again"
    assert found.path.read_bytes() == pe_file()
    assert messages[count] == f"{found.path} is not the DLL that was fetched"


def test_packages_that_moved_are_reported() -> None:
    messages: list[str] = []
    seen = stack.packages_seen()
    setup.compare_packages(seen, messages.append)
    assert messages == []
    setup.compare_packages({**seen, "wine": "11.0"} | {"other": "1"}, messages.append)
    assert messages == [f"warning: wine is 11.0; measured with {seen['wine']}"]


def test_trying_it_tells_what_does_not_work() -> None:
    assert try_one_case(lambda: open_reference("")).name == "reference"

    class Wrong:
        def describe(self) -> BackendInfo:
            return BackendInfo("wrong")

        def run(self, dispatch: object) -> None:
            pass

        def close(self) -> None:
            pass

    def missing() -> Wrong:
        raise BackendUnavailable("it crashed")

    with pytest.raises(SetupError, match="elements wrong"):
        try_one_case(Wrong)
    with pytest.raises(SetupError, match="does not start: it crashed"):
        try_one_case(missing)


# Debian's mirror

DEBIAN = 'PRETTY_NAME="Debian"\nID=debian\nVERSION_CODENAME=bookworm\n'
NEW_FORM = """# a comment
Types: deb
# another
URIs: http://mirror.test/debian/
Suites: bookworm bookworm-updates
Components: main
"""


@pytest.mark.parametrize(
    ("files", "address"),
    [
        ({"debian.sources": NEW_FORM}, "http://mirror.test/debian/"),
        ({"x.list": "deb [arch=amd64 signed-by=/k] https://mirror.test/debian sid main contrib\n"}, "https://mirror.test/debian"),
        ({"a.list": "deb http://tools.test bookworm main\n", "debian.sources": NEW_FORM}, "http://mirror.test/debian/"),
        ({"a.list": "deb http://inner.test/mirror bookworm main\n"}, "http://inner.test/mirror"),
        ({"a.list": "deb http://s.test/debian bookworm-security main\n"}, None),
        ({"a.list": "# deb http://s.test/debian bookworm main\n"}, None),
        ({"a.list": "deb-src http://s.test/debian bookworm main\n"}, None),
        ({"a.list.disabled": "deb http://s.test/debian bookworm main\n"}, None),
        ({"a.sources": NEW_FORM + "Enabled: no\n"}, None),
        ({"a.list": "deb cdrom:[x]/ bookworm main\n"}, None),
    ],
)
def test_the_mirror_that_this_machine_uses(files: dict[str, str], address: str | None, tmp_path: Path) -> None:
    apt, release = tmp_path / "apt", tmp_path / "os-release"
    (apt / "sources.list.d").mkdir(parents=True)
    release.write_text(DEBIAN, encoding="utf-8")
    for name, text in files.items():
        (apt / "sources.list.d" / name).write_text(text, encoding="utf-8")
    if address is None:
        with pytest.raises(BackendUnavailable, match="--mirror"):
            debian.mirror(apt, release)
    else:
        assert debian.mirror(apt, release) == address
    release.write_text(DEBIAN.replace("ID=debian", "ID=ubuntu"), encoding="utf-8")
    with pytest.raises(BackendUnavailable, match="--mirror"):
        debian.mirror(apt, release)


# The command


def dmlcts(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


@linux
def test_a_ready_stack_is_left_as_it_is(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ready = stack.stack_of(stack.CHROOT)
    ready.folder.mkdir(parents=True)
    (cache / "directml" / "x").write_bytes(pe_file())
    digest = hashlib.sha256(pe_file()).hexdigest()
    setup.write_json(ready.marker, {"dll": "x", "sha256": digest, "seal": seal.seal_of(ready)})
    monkeypatch.setattr(debian, "problem_of_entering", lambda: "")
    assert dmlcts("setup") == 0
    assert "Nothing to do" in capsys.readouterr().out
    monkeypatch.setattr(debian, "problem_of_entering", lambda: "mounting is not allowed here")
    assert dmlcts("setup") == 3
    assert "cannot be entered: mounting is not allowed here" in capsys.readouterr().err


@linux
def test_what_a_killed_set_up_left_is_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = cache / "directml" / "chroot-1.part-x" / "root"
    left.mkdir(parents=True)
    monkeypatch.setattr(setup, "_set_up_linux", lambda wish, say, trial: None)
    assert setup.set_up(Wish(), lambda text: None, try_one_case) is None
    assert not left.parent.exists()


FAKE_ENGINE = """#!{python}
import os, sys
open({log!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
if "--entrypoint" in sys.argv:
    print("wine\\t10.0~test")
elif sys.argv[1] == "build" and os.path.exists({broken!r}):
    print("no space left")
    sys.exit(125)
"""


@linux
def test_set_up_with_an_engine(cache: Path, tmp_path: Path, dll: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way with a program in podman's place; what it would run is the reference."""
    log, broken, engine = tmp_path / "log", tmp_path / "broken", tmp_path / "bin" / "podman"
    engine.parent.mkdir()
    engine.write_text(FAKE_ENGINE.format(python=sys.executable, log=str(log), broken=str(broken)), encoding="utf-8")
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", str(engine.parent))
    monkeypatch.setattr("dmlcts.conformance.backends.directml.backend.on_stack", lambda stack, seal, dll: open_reference(""))
    messages: list[str] = []
    broken.touch()
    with pytest.raises(BackendUnavailable, match="no space left"):
        setup.set_up(Wish(dll), messages.append, try_one_case)
    assert stack.prepared_stack() is None
    broken.unlink()
    info = setup.set_up(Wish(dll), messages.append, try_one_case)
    assert info is not None
    assert info.name == "reference"
    assert [line.split()[0] for line in log.read_text(encoding="utf-8").splitlines()] == [
        "info",
        "build",
        "info",
        "build",
        "run",
        "image",
    ]
    assert any("wine is 10.0~test; measured with" in line for line in messages)
    found, marker = stack.need_prepared()
    assert found.kind == "podman"
    assert stack.default_dll(marker).read_bytes() == dll.read_bytes()
    assert json.loads((found.folder / "packages.json").read_text(encoding="utf-8")) == {"wine": "10.0~test"}
    assert setup.set_up(Wish(), messages.append, try_one_case) is None
    assert setup.set_up(Wish(dll), messages.append, try_one_case) is not None, "another default DLL, and nothing is built"
    assert log.read_text(encoding="utf-8").count("\nbuild") == 2


@linux
def test_neither_engine_nor_chroot(monkeypatch: pytest.MonkeyPatch, dll: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert dmlcts("setup", "--dll", str(dll)) == 3
    assert "needs root" in capsys.readouterr().err
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert dmlcts("setup", "--dll", str(dll)) == 3
    assert "install util-linux, mount, coreutils" in capsys.readouterr().err


@linux
def test_check_makes_nothing(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("setup", "--check") == 3
    assert "run `dmlcts setup`" in capsys.readouterr().err
    assert not cache.exists()


@linux
def test_backends_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("backends", "--json") == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out) if row["backend"] == "directml"]
    assert not row["usable"]
    assert "dmlcts setup" in row["message"]


# Building the host


def test_an_installed_package_has_all_that_the_host_is_built_from() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["dmlcts.conformance"]
    packed = {file for pattern in patterns for file in (ROOT / "conformance").glob(pattern)}
    needed = [stack.NATIVE / "CMakeLists.txt", stack.NATIVE / "Containerfile"]
    needed += [file for name in ("cmake", "src", "wine") for file in (stack.NATIVE / name).rglob("*") if file.is_file()]
    assert len(needed) > 15
    assert [file for file in needed if file not in packed] == []
