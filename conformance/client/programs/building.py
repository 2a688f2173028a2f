"""Builds the client program and the capture DLL, and fetches ONNX Runtime: ``dmlcts setup --client``."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml import stack as host
from dmlcts.conformance.backends.directml.setup import Say, SetupError, from_wheel, lock_setup, make_folder, run_logged, step
from dmlcts.conformance.backends.directml.stack import Stack, enter, environment, home
from dmlcts.conformance.backends.directml.windows import ADVICE, last_lines
from dmlcts.conformance.client.programs.programs import (
    NATIVE,
    ONNXRUNTIME_DLL,
    Programs,
    downloaded_onnxruntime,
    need_stack,
    programs_of,
)
from dmlcts.conformance.client.programs.tables import tables


def prepare(force: bool, say: Say) -> Programs:
    """Makes what is missing. The host must be ready. Raises BackendUnavailable and SetupError."""
    stack = need_stack()
    programs = programs_of(stack)
    if os.name == "nt":
        _prepare(programs, force, say)
    else:
        with lock_setup(say):
            _prepare(programs, force, say)
    return programs


def _prepare(programs: Programs, force: bool, say: Say) -> None:
    downloaded = downloaded_onnxruntime()
    if force or not downloaded.is_file():
        with step(f"Downloading {ONNXRUNTIME_DLL}", say), make_folder(downloaded.parent) as folder:
            from_wheel(ONNXRUNTIME_DLL, folder)
    if force or programs.missing_file:
        with step("Building the client and the capture DLL", say):
            if programs.stack is None:
                _build_on_windows(programs)
            else:
                _build_in_chroot(programs.stack, programs)


def _sources(folder: Path) -> None:
    """All that is compiled, below ``folder``: ``client``, ``host`` and ``tables``."""
    left = shutil.ignore_patterns("bin", "__pycache__")
    shutil.copytree(NATIVE, folder / "client", ignore=left)
    shutil.copytree(host.NATIVE, folder / "host", ignore=left)
    (folder / "tables").mkdir()
    (folder / "tables" / "operator_tables.inc").write_text(tables(), encoding="utf-8", newline="\n")


def _build_in_chroot(stack: Stack, programs: Programs) -> None:
    part = stack.root / "dmlcts" / f"client-part-{os.getpid()}"
    try:
        _sources(part)
        inside = f"/dmlcts/{part.name}"
        folders = [f"{inside}/{name}" for name in ("client", "host", "tables", "out")]
        run_logged(
            enter(stack.root, ["/bin/sh", f"{inside}/client/make.sh", *folders]),
            stack.folder / "setup.log",
            "this is a defect of the suite, or of the current packages; please report it",
            SetupError,
            environment(),
        )
        _put(part / "out", programs)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _build_on_windows(programs: Programs) -> None:
    if shutil.which("cmake") is None:
        raise BackendUnavailable(f"cmake is not on the PATH; {ADVICE}")
    log = home() / "setup.log"
    with tempfile.TemporaryDirectory() as name:
        part = Path(name)
        _sources(part)
        configure = [
            "cmake",
            "-S",
            str(part / "client"),
            "-B",
            str(part / "build"),
            f"-DHOST={part / 'host'}",
            f"-DTABLES={part / 'tables'}",
        ]
        build = ["cmake", "--build", str(part / "build"), "--config", "Release"]
        install = ["cmake", "--install", str(part / "build"), "--config", "Release", "--prefix", str(part / "out")]
        with log.open("ab") as output:
            for command in (configure, build, install):
                if subprocess.run(
                    command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
                ).returncode:
                    raise BackendUnavailable(f"the client could not be built:\n{last_lines(log)}\n{ADVICE}")
        _put(part / "out", programs)


def _put(made: Path, programs: Programs) -> None:
    """Adds ONNX Runtime to what was made, and gives all of it its place at once."""
    onnxruntime = made / programs.onnxruntime.relative_to(programs.folder)
    onnxruntime.parent.mkdir()
    shutil.copyfile(downloaded_onnxruntime(), onnxruntime)
    programs.folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(programs.folder, ignore_errors=True)
    shutil.move(made, programs.folder)
