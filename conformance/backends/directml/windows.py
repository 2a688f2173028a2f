"""The host on Windows: where it is found, and how it is built."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.dll import Dll
from dmlcts.conformance.backends.directml.stack import EXE, NATIVE, SETUP, home, host_id

VARIABLE = "DMLCTS_DIRECTML_HOST"
ADVICE = (
    "install CMake and Visual Studio's C++ tools (or mingw-w64), or a wheel of this package for win_amd64, which has the host in it"
)


def built_host() -> Path:
    """Where ``dmlcts setup`` puts the host that it builds from this version's sources."""
    return home() / "windows" / f"{host_id()}-{EXE}"


def find_host() -> Path:
    """The host: the one that DMLCTS_DIRECTML_HOST names, else the wheel's, else the one that was built here.

    Raises:
        BackendUnavailable: there is none; the message says how to get it.
    """
    if named := os.environ.get(VARIABLE):
        if not Path(named).is_file():
            raise BackendUnavailable(f"{VARIABLE} names {named}, and there is no such file")
        return Path(named)
    for host in (NATIVE / "bin" / EXE, built_host()):
        if host.is_file():
            return host
    raise BackendUnavailable(f"the host is not there (neither in the package nor as {built_host()}); run `{SETUP}`")


def host_command(dll: Dll | None, options: Sequence[str]) -> list[str]:
    """The command that runs the host on a DLL; without one on the DirectML.dll of System32. Raises BackendUnavailable."""
    return [str(find_host()), *(() if dll is None else ("--dll", str(dll.path.absolute()))), *options]


def build_host(out: Path, log: Path, options: Sequence[str] = ()) -> Path:
    """Builds the host with CMake, from the package's sources, as ``out``. ``options`` are CMake's; ``log`` gets what it says.

    Raises:
        BackendUnavailable: there is no CMake, or it finds no compiler or fails.
    """
    if shutil.which("cmake") is None:
        raise BackendUnavailable(f"cmake is not on the PATH; {ADVICE}")
    with tempfile.TemporaryDirectory() as folder:
        configure = ["cmake", "-S", str(NATIVE), "-B", folder, "-DBUILD_TESTING=OFF", *options]
        with log.open("ab") as output:
            for command in (configure, ["cmake", "--build", folder, "--config", "Release"]):
                if subprocess.run(
                    command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
                ).returncode:
                    raise BackendUnavailable(f"the host could not be built:\n{last_lines(log)}\n{ADVICE}")
        made = next(Path(folder).rglob(EXE))
        out.parent.mkdir(parents=True, exist_ok=True)
        part = out.with_name(f"{out.name}.{os.getpid()}.part")
        shutil.copyfile(made, part)
        part.replace(out)
    return out


def last_lines(log: Path, count: int = 15) -> str:
    """The end of a log, indented."""
    return "\n".join(f"    {line}" for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])
