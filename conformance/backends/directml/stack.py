"""What is prepared on this machine to run a DirectML.dll, and the command that runs it.

On Windows that is the host alone. On Linux the host runs under Wine, in a Debian system of its own, a *stack*: a folder for chroot,
or an image of a container engine. Everything lies below the cache folder:

    directml/DirectML-1.15.4/DirectML.dll   downloaded by the user's pip
    directml/chroot-SYSTEM/                 a stack; SYSTEM stands for the packages
        root/                               the Debian system
        root/dmlcts/                        hosts, Wine's prefix, DLLs under test, compiled shaders, kernels that are dumped or replaced
        packages.json                       the packages that were installed
        ready-HOST.json                     written at the very end: without it, nothing here is used. It has the SHA-256 of the default DLL and
                                            the stack's seal (seal.py)
    directml/podman-SYSTEM/                 the same for an engine, whose image it names
    directml/windows/HOST.exe               a host that was built on Windows

HOST stands for the host's sources, so that versions of the suite do not disturb each other, and an outdated host is never used.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable
from dmlcts.conformance.backends.directml.dll import Dll
from dmlcts.spec.untrusted.files import MIB, InputError, parse_json, read_text

NATIVE = Path(__file__).resolve().parent / "native"
"""The host's sources, in a checkout and in an installed package alike."""

SUITE = "sid"
"""The Debian suite that has all that is needed: Wine 10, and a libvkd3d that takes DXIL."""

EXE = "dmlcts-directml-host.exe"
SETUP = "dmlcts setup"
CHROOT, ENGINES = "chroot", ("podman", "docker")
READ, WRITTEN = "--replace-kernels", "--dump-kernels"
"""The host's options that name a folder of this machine, with files NAME.bin that it reads or writes."""

FORGOTTEN = 7 * 86400.0
"""Seconds after which a copy of a DLL that no run has used is removed."""


def cache_folder() -> Path:
    """Where prepared things lie: DMLCTS_CACHE if it is set, else ``dmlcts`` where this platform keeps caches."""
    if own := os.environ.get("DMLCTS_CACHE"):
        return Path(own).expanduser().absolute()
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "dmlcts"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dmlcts"


def home() -> Path:
    """The part of the cache that is DirectML's."""
    return cache_folder() / "directml"


def packages_seen() -> dict[str, str]:
    """The packages of a stack, and the versions with which this suite was measured."""
    lines = (NATIVE / "wine" / "packages.txt").read_text(encoding="utf-8").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    return {word[0]: word[1] for word in words}


def system_id() -> str:
    """What a Debian system is named by: its suite and its packages. Their versions move, and are recorded instead."""
    return _digest([SUITE.encode(), *(name.encode() for name in packages_seen())])


def host_id() -> str:
    """What a host is named by: its sources, and what it runs in."""
    folders = [NATIVE / name for name in ("src", "cmake", "wine")]
    files = [NATIVE / "CMakeLists.txt", *sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())]
    parts = (part for file in files for part in (file.name.encode(), file.read_bytes().replace(b"\r\n", b"\n")))
    return _digest([*parts, system_id().encode()])


def _digest(parts: Sequence[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Stack:
    """A Debian system with Wine and the host in it. ``kind`` is ``chroot`` or a container engine's name; ``folder`` is its folder in the cache."""

    kind: str
    folder: Path
    host: str

    @property
    def root(self) -> Path:
        """The Debian system of a chroot."""
        return self.folder / "root"

    @property
    def image(self) -> str:
        """The name of a container image."""
        return f"dmlcts-directml:{self.host}"

    @property
    def path_inside(self) -> str:
        """The host's folder, as it is called in the Debian system."""
        return f"/dmlcts/host-{self.host}"

    @property
    def dlls(self) -> Path:
        """Where DLLs under test are put, on this machine; the Debian system has it as /dmlcts/dll."""
        return self.root / "dmlcts" / "dll" if self.kind == CHROOT else self.folder / "dll"

    @property
    def shared_folder(self) -> Path:
        """Where files lie that hosts and this machine exchange; the Debian system has it as /dmlcts/shared."""
        return self.dlls.with_name("shared")

    @property
    def marker(self) -> Path:
        """The file that says that everything is there and was tried."""
        return self.folder / f"ready-{self.host}.json"

    def copy_of(self, dll: Dll) -> Path:
        """The copy of a DLL that the host loads."""
        return self.dlls / dll.sha256[:16] / "DirectML.dll"

    def command(self, dll: Dll, options: Sequence[str]) -> list[str]:
        """The command that runs the host on a DLL, which is copied to where the host sees it. Raises BackendUnavailable."""
        words = ["--dll", f"Z:\\dmlcts\\dll\\{place(dll, self.dlls)}\\DirectML.dll", *options]
        if self.kind == CHROOT:
            return enter(self.root, ["/bin/sh", f"{self.path_inside}/run.sh", *words])
        # No network, and nothing of this machine but the DLLs. Shaders are kept from one run to the next.
        mounts = ["--volume", f"{self.dlls}:/dmlcts/dll:ro", "--volume", "dmlcts-shaders:/dmlcts/shaders"]
        if self.shared_folder.is_dir():
            mounts += ["--volume", f"{self.shared_folder}:/dmlcts/shared"]
        passed = [f"--env={name}={value}" for name, value in _debug_variables().items()]
        limits = ["--network=none", "--security-opt=label=disable"]
        return [self.kind, "run", "--interactive", "--rm", *limits, *mounts, *passed, self.image, *words]


def full_folders(options: Sequence[str]) -> list[str]:
    """The host's options, with the full path of each folder that they name. A folder to be written is made.

    Raises:
        BackendUnavailable: there is no folder to be read, or the other cannot be made.
    """
    words = list(options)
    for at, option in enumerate(options[:-1]):
        if option not in (READ, WRITTEN):
            continue
        folder = Path(words[at + 1]).expanduser().absolute()
        if option == READ and not folder.is_dir():
            raise BackendUnavailable(f"{option} {folder}: there is no such folder; it is to have a file DIGEST.bin for each kernel")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BackendUnavailable(f"{option} {folder}: {error.strerror}; name a folder that can be made") from None
        words[at + 1] = str(folder)
    return words


class Exchange:
    """Folders of this machine for one host in a stack: what it is to read was copied to where it sees it, and what it writes is fetched from there.

    They are not mounted, since Wine's server opens files for all its programs, and knows the mounts of the one that started it alone.

    ``options`` are the host's, with the folders as it calls them. Raises BackendUnavailable as ``full_folders``, and for files that cannot be
    copied.
    """

    def __init__(self, stack: Stack, options: Sequence[str]) -> None:
        self.options = full_folders(options)
        self._own: Path | None = None
        self._folders: dict[str, tuple[Path, Path]] = {}  # option -> the copy, and the user's
        if READ in options[:-1] or WRITTEN in options[:-1]:
            stack.shared_folder.mkdir(parents=True, exist_ok=True)
            _forget(stack.shared_folder)
            self._own = Path(tempfile.mkdtemp(dir=stack.shared_folder))
            self._own.chmod(0o755)
            for at, option in enumerate(self.options[:-1]):
                if option in (READ, WRITTEN):
                    self.options[at + 1] = self._share(option, Path(self.options[at + 1]), self._own)

    def _share(self, option: str, folder: Path, own: Path) -> str:
        copy = own / option.strip("-")
        copy.mkdir()
        copy.chmod(0o777)  # in a container, the host is another user
        self._folders[option] = copy, folder
        try:
            for file in folder.glob("*.bin") if option == READ else ():
                shutil.copyfile(file, copy / file.name)
        except OSError as error:
            self.close()
            raise BackendUnavailable(f"{option} {folder}: {error.filename}: {error.strerror}") from None
        return _path_in_host(copy)

    def fetch(self) -> None:
        """Moves what the host has written to the user's folder. What is there already stays. Raises BackendFault if it cannot be written."""
        if WRITTEN not in self._folders:
            return
        copy, folder = self._folders[WRITTEN]
        try:
            for file in sorted(copy.glob("*.bin")):
                part = folder / f"{file.name}.{os.getpid()}.part"
                if not (folder / file.name).exists():
                    shutil.copyfile(file, part)
                    part.replace(folder / file.name)
                file.unlink()
        except OSError as error:
            raise BackendFault(f"{WRITTEN} {folder}: {error.filename}: {error.strerror}") from None

    def with_own_paths(self, text: str) -> str:
        """What the host says, with folders as the user called them."""
        for copy, folder in self._folders.values():
            text = text.replace(_path_in_host(copy), str(folder))
        return text

    def close(self) -> None:
        """Removes the copies."""
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)


def _path_in_host(copy: Path) -> str:
    """A folder of an exchange as the host calls it."""
    return f"Z:\\dmlcts\\shared\\{copy.parent.name}\\{copy.name}"


def enter(root: Path, command: Sequence[str]) -> list[str]:
    """A command that runs ``command`` in a chroot. Needs root.

    /proc and /dev are mounted in a mount namespace that ends with the command: nothing stays mounted below the cache.
    """
    script = 'mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$@"'
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, "sh", str(root), *command]


def environment() -> dict[str, str]:
    """The environment of what runs in a chroot: nothing of the user's own but how much Wine and vkd3d are to tell."""
    return {
        "PATH": os.pathsep.join(filter(None, (os.environ.get("PATH"), "/usr/sbin:/usr/bin:/sbin:/bin"))),
        "LANG": "C.UTF-8",
        "HOME": "/dmlcts/home",
        "WINEPREFIX": "/dmlcts/prefix",
        "MESA_SHADER_CACHE_DIR": "/dmlcts/shaders",
        **_debug_variables(),
    }


DEBUG = {"VKD3D_DEBUG": "warn", "VKD3D_SHADER_DEBUG": "warn"}
"""What Wine and vkd3d write to standard error unless the user wishes otherwise: why vkd3d does not translate a shader, it says as a warning."""


def _debug_variables() -> dict[str, str]:
    named = ("WINEDEBUG", "VKD3D_DEBUG", "VKD3D_SHADER_DEBUG")
    return {**DEBUG, **{name: os.environ[name] for name in named if name in os.environ}}


def place(dll: Dll, folder: Path) -> str:
    """Copies a DLL below ``folder``, into a folder that is named by its contents, so that runs with different DLLs do not meet.

    Wine's server opens files for all its programs: a name that means another file for each of them would mix them up. A copy that has changed
    since is made anew.

    Raises:
        BackendUnavailable: the DLL has changed since it was read.
    """
    name = dll.sha256[:16]
    there = folder / name / "DirectML.dll"
    if not there.exists() or sha256_of(there) != dll.sha256:
        data = dll.path.read_bytes()
        if hashlib.sha256(data).hexdigest() != dll.sha256:
            raise BackendUnavailable(f"{dll.path} changed while it was read; start again")
        there.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=there.parent, suffix=".part", delete=False) as part:
            part.write(data)
        Path(part.name).chmod(0o644)
        Path(part.name).replace(there)
    os.utime(there.parent)
    _forget(folder)
    return name


def _forget(folder: Path) -> None:
    """Removes what lies in a folder and no run has used for long."""
    for old in folder.iterdir():
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - FORGOTTEN:
                shutil.rmtree(old)


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def stack_of(kind: str) -> Stack:
    """The stack of this kind for this version of the suite, whether it is there or not."""
    return Stack(kind, home() / f"{kind}-{system_id()}", host_id())


_MARKED = {"dll": str, "sha256": str, "seal": dict}
"""What a marker must have: the default DLL, its SHA-256, and the stack's seal (seal.py)."""


def read_marker(file: Path) -> Mapping[str, Any]:
    """What a file that setup wrote says; nothing where it is not there, or holds no JSON object any more."""
    with suppress(OSError, InputError):
        found = parse_json(read_text(file, MIB))
        if isinstance(found, dict):
            return found
    return {}


def prepared_stack() -> tuple[Stack, Mapping[str, Any]] | None:
    """The stack that is ready, with what its marker says; None if there is none. A marker without all of _MARKED is none."""
    for kind in (CHROOT, *ENGINES):
        stack = stack_of(kind)
        marker = read_marker(stack.marker)
        if all(isinstance(marker.get(name), kind) for name, kind in _MARKED.items()):
            return stack, marker
    return None


def check_platform() -> None:
    """Raises BackendUnavailable where no stack can be."""
    if sys.platform != "linux" or platform.machine().lower() not in ("x86_64", "amd64"):
        raise BackendUnavailable(
            f"a DirectML.dll runs on Windows and on Linux, on an x86-64 machine, and this is {platform.system()} on {platform.machine()}"
        )


def need_prepared() -> tuple[Stack, Mapping[str, Any]]:
    """The stack that is ready, with what its marker says.

    Raises:
        BackendUnavailable: there is none, or this is no machine for one; the message says how to get it.
    """
    check_platform()
    found = prepared_stack()
    if found is None:
        older = next(home().glob("*/ready-*.json"), None) if home().is_dir() else None
        missing = f"there is none in {home()}" if older is None else f"the one in {home()} is of another version of this suite"
        raise BackendUnavailable(f"Wine and the host are not prepared ({missing}); run `{SETUP}`")
    stack, marker = found
    if stack.kind == CHROOT and sys.platform != "win32" and os.geteuid() != 0:
        raise BackendUnavailable(
            f"{stack.folder} is entered by chroot, which needs root: run this as root, or install podman and run `{SETUP} --engine podman`"
        )
    return stack, marker


def default_dll(marker: Mapping[str, Any]) -> Path:
    """The DirectML.dll that ``directml`` means."""
    return home() / str(marker["dll"])
