"""Builds the wheel for win_amd64, which carries the host: ``python conformance/backends/directml/native/build_wheel.py [--host EXE] [--out FOLDER]``.

Without ``--host`` it takes the host of the chroot that ``dmlcts setup`` made of these very sources, and builds one with CMake if there
is none: with mingw-w64 where this is not Windows. Needs this package and ``build`` installed. The checkout is not touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.setup import host_of
from dmlcts.conformance.backends.directml.stack import CHROOT, EXE, NATIVE, stack_of
from dmlcts.conformance.backends.directml.windows import build_host

ROOT = Path(__file__).resolve().parents[4]
PARTS = ("pyproject.toml", "setup.py", "README.md", "spec", "generator", "reference", "conformance", "reports")


def host(folder: Path) -> Path:
    """A host of these sources. Raises BackendUnavailable."""
    ready = host_of(stack_of(CHROOT))
    if ready.is_file():
        return ready
    toolchain = () if os.name == "nt" else (f"-DCMAKE_TOOLCHAIN_FILE={NATIVE / 'cmake' / 'mingw-w64.cmake'}",)
    return build_host(folder / EXE, folder / "build.log", toolchain)


def build_wheel(exe: Path, out: Path, work: Path) -> None:
    """Builds the wheel from a copy of the package with the host in it. Raises CalledProcessError."""
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, work / name, ignore=shutil.ignore_patterns("__pycache__", "bin"))
        else:
            shutil.copyfile(ROOT / name, work / name)
    there = work / "conformance" / "backends" / "directml" / "native" / "bin" / EXE
    there.parent.mkdir()
    shutil.copyfile(exe, there)
    # Python alone, but for one platform: the tag is py3-none-win_amd64.
    tag = "--config-setting=--build-option=--plat-name=win_amd64"
    subprocess.run(
        [sys.executable, "-m", "build", "--quiet", "--wheel", tag, "--outdir", str(out.absolute()), str(work)], check=True
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--host", type=Path, help=f"a {EXE} that is there already")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the folder for the wheel (default: dist)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "package"
        work.mkdir()
        try:
            build_wheel(chosen.host or host(Path(folder)), chosen.out, work)
        except (BackendUnavailable, OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"build_wheel: {error}")


if __name__ == "__main__":
    main()
