"""Prepares what a DirectML.dll needs to run here: ``dmlcts setup``.

Each step is a function that finds its result in the cache or makes it, in a folder that takes its name only when it is complete.
Two kinds of failure are kept apart: ``BackendUnavailable`` if a prerequisite is missing (a download, a package, a program, permissions),
and ``SetupError`` if all prerequisites are there but the result does not work, which is a defect of the suite.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml import debian, windows
from dmlcts.conformance.backends.directml.dll import Dll, read_dll
from dmlcts.conformance.backends.directml.seal import changes, not_the_default, seal_of
from dmlcts.conformance.backends.directml.stack import (
    CHROOT,
    ENGINES,
    EXE,
    NATIVE,
    SUITE,
    Stack,
    check_platform,
    default_dll,
    enter,
    environment,
    home,
    need_prepared,
    packages_seen,
    prepared_stack,
    read_marker,
    sha256_of,
    stack_of,
)
from dmlcts.conformance.backends.directml.windows import last_lines

WHEEL, VERSION = "onnxruntime-directml==1.24.4", "1.15.4"
SHA256 = "b73972115320e906a49602f2027a3266622881b0d325ba685e0f165a9482a8d7"
"""Of the DirectML.dll in that wheel: the one that the specs' measurements were made with."""

GIVEN = "given"
"""The folder of DLLs that were given with --dll."""

LIMIT = 1800.0
"""Seconds that one command may take."""

Say = Callable[[str], None]

Trial = Callable[[Callable[[], Backend]], BackendInfo]
"""(what opens a backend) -> its own description, once a case has passed on it. Raises SetupError."""


class SetupError(Exception):
    """All prerequisites are there, but the result does not work. Exit code 1."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asks for. ``engine`` is ``chroot`` or one of ENGINES, None for the best there is; ``mirror`` is a Debian mirror's address."""

    dll: Path | None = None
    engine: str | None = None
    mirror: str | None = None
    force: bool = False


def set_up(wish: Wish, say: Say, trial: Trial) -> BackendInfo | None:
    """Prepares what is missing, and tries it with one case; None if nothing was missing.

    Raises:
        BackendUnavailable: something could not be had. SetupError: it is all there and does not work.
    """
    start = monotonic()
    home().mkdir(parents=True, exist_ok=True)
    if os.name == "nt":
        info = _set_up_windows(wish, say, trial)
    else:
        check_platform()
        with lock_setup(say):
            info = _set_up_linux(wish, say, trial)
    if info is not None:
        say(f"Ready after {monotonic() - start:.0f} s; {_gigabytes(home()):.1f} GB in {home()}")
    return info


def check(trial: Trial) -> BackendInfo:
    """Compares what is there with what was set up, tries it with one case, and makes nothing. Raises BackendUnavailable and SetupError."""
    from dmlcts.conformance.backends.directml.backend import open_directml

    if os.name == "nt":
        windows.find_host()
    else:
        stack, marker = need_prepared()
        check_seal(stack, marker)
        if problem := problem_of_dll(marker):
            raise SetupError(problem)
    return trial(lambda: open_directml(""))


def check_seal(stack: Stack, marker: Mapping[str, Any]) -> None:
    """Compares a stack with the one that was set up. Raises SetupError if it has changed."""
    if changed := changes(stack, marker["seal"]):
        shown = ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
        raise SetupError(
            f"the stack in {stack.folder} has changed since it was set up: {shown}; run `dmlcts setup --force` to make it anew"
        )


def problem_of_dll(marker: Mapping[str, Any]) -> str:
    """What is wrong with the default DLL, and what to do; empty if it is the one that was fetched or given."""
    path = default_dll(marker)
    advice = "give it again with `dmlcts setup --dll PATH`" if str(marker["dll"]).startswith(f"{GIVEN}/") else "run `dmlcts setup`"
    try:
        dll = read_dll(path)
    except BackendUnavailable as error:
        return f"{error}; {advice}"
    problem = not_the_default(dll, marker)
    return problem and f"{path} is {problem}: its version is {dll.version or 'unknown'}, its SHA-256 {dll.sha256}; {advice}"


def _set_up_windows(wish: Wish, say: Say, trial: Trial) -> BackendInfo | None:
    from dmlcts.conformance.backends.directml.backend import on_windows

    dll = None if wish.dll is None else read_dll(wish.dll)
    try:
        host: Path | None = windows.find_host()
    except BackendUnavailable:
        host = None
    if host is not None and dll is None and not wish.force:
        return None
    if host is None or wish.force:
        with step("Building the host", say):
            windows.build_host(windows.built_host(), home() / "setup.log")
    with step("Trying it with one case", say):
        return trial(lambda: on_windows(dll))


def _set_up_linux(wish: Wish, say: Say, trial: Trial) -> BackendInfo | None:
    from dmlcts.conformance.backends.directml.backend import on_stack

    found = prepared_stack()
    usable = found is not None and not wish.force and wish.engine in (None, found[0].kind)
    if found is not None and usable:
        if found[0].kind == CHROOT and (problem := debian.problem_of_entering()):
            raise BackendUnavailable(f"{found[0].folder} cannot be entered: {problem}")
        check_seal(*found)
        if wish.dll is None and not problem_of_dll(found[1]):
            return None
    dll = _wished_dll(wish, found[1] if found is not None and usable else None, say)
    if found is not None and usable:
        stack = found[0]
    else:
        stack = stack_of(wish.engine or best_kind())
        (make_chroot if stack.kind == CHROOT else make_image)(stack, wish, say)
    seal = seal_of(stack)
    with step("Trying it with one case", say):
        info = trial(lambda: on_stack(stack, seal, dll))
    marker = {
        "dll": dll.path.relative_to(home()).as_posix(),
        "sha256": dll.sha256,
        "info": info.to_json(),
        "made": datetime.now(UTC).isoformat(),
        "seal": seal,
    }
    write_json(stack.marker, marker)
    for other in sorted(home().glob(f"{stack.kind}-*")):
        if other != stack.folder and ".part-" not in other.name:
            say(f"{other} is of another version of this suite: remove it if that is gone")
    return info


def _wished_dll(wish: Wish, marker: Mapping[str, Any] | None, say: Say) -> Dll:
    """The DLL that is to be the default: one that is given stays it. Raises BackendUnavailable, and SetupError if it has changed."""
    if wish.dll is not None:
        return keep_given(read_dll(wish.dll))
    if marker is None or not str(marker["dll"]).startswith(f"{GIVEN}/"):
        return download_directml(wish.force, say)
    if problem := problem_of_dll(marker):
        raise SetupError(problem)
    return read_dll(default_dll(marker))


# DirectML.dll


def download_directml(force: bool, say: Say) -> Dll:
    """DirectML.dll out of Microsoft's wheel, by the user's own pip; anew if the one that is there has changed. Raises BackendUnavailable."""
    there = home() / f"DirectML-{VERSION}" / "DirectML.dll"
    if there.exists() and not force:
        if sha256_of(there) == SHA256:
            return check_dll(read_dll(there))
        say(f"{there} is not the DLL that was fetched")
    with step(f"Downloading DirectML.dll {VERSION} (from the wheel {WHEEL})", say), make_folder(there.parent) as folder:
        from_wheel("DirectML.dll", folder)
        check_dll(read_dll(folder / "DirectML.dll"))
    return read_dll(there)


def from_wheel(name: str, folder: Path, wheel: str = WHEEL, python: str = "3.12") -> None:
    """Puts a file out of Microsoft's wheel, for that Python, downloaded by the user's own pip, into a folder. Raises BackendUnavailable."""
    target = ["--no-deps", "--only-binary=:all:", "--python-version", python, "--platform", "win_amd64"]
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *target, "--dest", str(folder), wheel]
    run_logged(
        command, folder / "pip.log", "check that pip can download, or download that wheel elsewhere and give its DLL with --dll"
    )
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        # Older wheels have it below NAME.data/purelib/.
        place = next((each for each in archive.namelist() if f"/{each}".endswith(f"/onnxruntime/capi/{name}")), None)
        if place is None:
            raise BackendUnavailable(f"the wheel {file.name} has no onnxruntime/capi/{name}")
        (folder / name).write_bytes(archive.read(place))
    file.unlink()


def check_dll(dll: Dll) -> Dll:
    """The DLL, if it is the one that the specs were measured with. Raises BackendUnavailable."""
    if not dll.version.startswith(f"{VERSION}.") or dll.sha256 != SHA256:
        raise BackendUnavailable(
            f"{dll.path} is not the DirectML.dll {VERSION} that is expected (version {dll.version or 'unknown'}, SHA-256 {dll.sha256}); "
            "run `dmlcts setup --force` to download it again"
        )
    return dll


def keep_given(dll: Dll) -> Dll:
    """A copy in the cache of a DLL that the user gave."""
    there = home() / GIVEN / dll.sha256[:16] / "DirectML.dll"
    there.parent.mkdir(parents=True, exist_ok=True)
    if dll.path.absolute() != there:
        shutil.copyfile(dll.path, there)
    return read_dll(there)


# The Debian system


def best_kind() -> str:
    """A container engine that answers, else a chroot. Raises BackendUnavailable if neither can be had."""
    for engine in ENGINES:
        if shutil.which(engine) and _answers(engine):
            return engine
    if problem := debian.problem():
        raise BackendUnavailable(f"neither podman nor docker is available, and a chroot cannot be made: {problem}")
    return CHROOT


def make_chroot(stack: Stack, wish: Wish, say: Say) -> None:
    """A Debian system in a folder, with the host and Wine's prefix in it. Raises BackendUnavailable and SetupError."""
    if problem := debian.problem():
        raise BackendUnavailable(f"a chroot cannot be made: {problem}")
    if wish.force or not (stack.folder / "packages.json").exists():
        mirror = wish.mirror or debian.mirror()
        with make_folder(stack.folder) as folder:
            log, root = folder / "setup.log", folder / "root"
            with step(f"Making a Debian system ({SUITE}) in {stack.folder}", say):
                run_logged(debian.bootstrap_command(root, mirror), log, debian.ADVICE, environment={**os.environ, **debian.QUIET})
                debian.copy_apt_settings(root)
            with step("Installing Wine, Mesa, vkd3d and the compilers", say):
                for command in debian.install_commands(tuple(packages_seen())):
                    run_logged(enter(root, command), log, debian.ADVICE, environment={**environment(), **debian.QUIET})
            listed = run_logged(enter(root, debian.LIST_COMMAND), folder / "packages.log", debian.ADVICE, environment=environment())
            write_json(folder / "packages.json", dict(line.split("\t") for line in listed.splitlines() if "\t" in line))
            for name in ("home", "shaders", "dll"):
                (root / "dmlcts" / name).mkdir(parents=True, exist_ok=True)
    compare_packages(read_marker(stack.folder / "packages.json"), say)
    if not (stack.root / stack.path_inside[1:]).exists():
        with step("Building the host", say):
            build_in_chroot(stack)
    if not (stack.root / "dmlcts" / "prefix" / "dmlcts-ready").exists():
        with step("Making Wine's prefix", say):
            command = enter(stack.root, ["/bin/sh", f"{stack.path_inside}/run.sh", "--help"])
            run_logged(command, stack.folder / "setup.log", "run `dmlcts setup --force`", SetupError, environment())


def build_in_chroot(stack: Stack) -> None:
    """Builds the host with mingw-w64, and what joins it to vkd3d with gcc. Raises SetupError."""
    part = stack.root / "dmlcts" / f"part-{os.getpid()}"
    try:
        shutil.copytree(NATIVE, part / "src", ignore=shutil.ignore_patterns("bin", "__pycache__"))
        inside = f"/dmlcts/{part.name}"
        command = enter(stack.root, ["/bin/sh", f"{inside}/src/wine/make.sh", f"{inside}/src", f"{inside}/out"])
        run_logged(
            command,
            stack.folder / "setup.log",
            "this is a defect of the suite, or of the current packages; please report it",
            SetupError,
            environment(),
        )
        (part / "out").rename(stack.root / stack.path_inside[1:])
    finally:
        shutil.rmtree(part, ignore_errors=True)


def compare_packages(found: Mapping[str, str], say: Say) -> None:
    """Says which packages are not those that the suite was measured with."""
    for name, seen in packages_seen().items():
        if found.get(name) != seen:
            say(f"warning: {name} is {found.get(name, 'not installed')}; measured with {seen}")


def make_image(stack: Stack, wish: Wish, say: Say) -> None:
    """A container image. Raises BackendUnavailable."""
    stack.dlls.mkdir(parents=True, exist_ok=True)
    with step(f"Building the image {stack.image} with {stack.kind}", say):
        advice = "see the engine's output; `dmlcts setup --engine chroot` needs no engine, but root"
        run_logged(image_command(stack, wish.force), stack.folder / "setup.log", advice)
    lines = run_logged(list_command(stack), stack.folder / "packages.log", "run `dmlcts setup --force`").splitlines()
    packages = dict(line.split("\t") for line in lines if "\t" in line)
    write_json(stack.folder / "packages.json", packages)
    compare_packages(packages, say)


def image_command(stack: Stack, force: bool) -> list[str]:
    """The command that builds a stack's image."""
    again = ["--no-cache"] if force else []
    named = ["--build-arg", f"HOST={stack.host}", "--tag", stack.image]
    return [stack.kind, "build", *again, "--file", str(NATIVE / "Containerfile"), *named, str(NATIVE)]


def list_command(stack: Stack) -> list[str]:
    """The command that lists the packages of a stack's image."""
    program, *arguments = debian.LIST_COMMAND
    return [stack.kind, "run", "--rm", "--entrypoint", program, stack.image, *arguments]


def host_of(stack: Stack) -> Path:
    """The host's program in a chroot, on this machine."""
    return stack.root / stack.path_inside[1:] / EXE


# Tools


def run_logged(
    command: Sequence[str],
    log: Path,
    advice: str,
    error: type[Exception] = BackendUnavailable,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What a command printed, which is put into the log as well. Raises ``error`` with its last lines and the advice if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        start = output.tell()
        try:
            code = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=LIMIT,
                check=False,
            ).returncode
            problem = f"ended with exit code {code}" if code else ""
        except (OSError, subprocess.TimeoutExpired) as failed:
            problem = str(failed)
    if problem:
        raise error(f"{command[0]} {problem}. Its last lines:\n{last_lines(log)}\n{advice}")
    return log.read_bytes()[start:].decode("utf-8", "replace")


@contextmanager
def make_folder(folder: Path) -> Iterator[Path]:
    """A folder to work in, which takes the place of ``folder`` if all goes well and is removed if not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part-", dir=folder.parent))
    part.chmod(0o755)
    try:
        yield part
        old = part.with_name(f"{part.name}.old")
        if folder.exists():
            folder.rename(old)
        part.rename(folder)
        remove(old)
    except BaseException:
        remove(part)
        raise


def remove(folder: Path) -> None:
    """Removes a folder, unless something is mounted below it, which is never this suite's doing."""
    if any(mount.is_relative_to(folder) for mount in debian.mounts()):
        raise SetupError(f"something is mounted below {folder}: unmount it, then remove that folder")
    shutil.rmtree(folder, ignore_errors=True)


def write_json(file: Path, data: object) -> None:
    """Writes a file at once: it is there whole, or not at all."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(json.dumps(data, indent=1), encoding="utf-8", newline="\n")
    part.replace(file)


@contextmanager
def lock_setup(say: Say) -> Iterator[None]:
    """Keeps two set-ups of one cache from each other, and removes what one left that was killed."""
    import fcntl  # POSIX has it

    with (home() / "setup.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            say("Another `dmlcts setup` uses this cache: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)  # type: ignore[attr-defined,unused-ignore]
        for part in home().glob("*.part-*"):
            remove(part)
        yield


@contextmanager
def step(title: str, say: Say) -> Iterator[None]:
    """Says what begins, and how long it took."""
    say(f"{title} ...")
    start = monotonic()
    yield
    say(f"  done, {monotonic() - start:.1f} s")


def _answers(engine: str) -> bool:
    try:
        return (
            subprocess.run([engine, "info"], capture_output=True, stdin=subprocess.DEVNULL, timeout=20, check=False).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _gigabytes(folder: Path) -> float:
    total = 0
    for parent, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):  # Wine's server may remove one meanwhile
                total += (Path(parent) / name).lstat().st_size
    return total / 1e9
