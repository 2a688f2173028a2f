"""What runs DirectML.dll (``dmlcts setup``), changed while a run uses it: a copy of it by hard links, so that the one that all share stays as it is.

Only where it is prepared. Whatever is taken away, the run ends, its results so far are kept, and it is not green unless all of its cases ran.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attack import Attack, Outcome, Run, waited
from expect import exits, no_claim, status

from dmlcts.conformance.backends.directml import stack

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
RUN = (
    "run",
    "BIT_OR",
    "--level",
    "smoke",
    "-k",
    "4d and not negative",
    "-q",
    "--backend",
    "directml",
    "--out",
    "out",
    "--timeout",
    "20",
)
HOME = {"DMLCTS_CACHE": "cache"}


def copied(folder: Path) -> None:
    """The prepared folder, by hard links: removing, renaming and replacing a file changes the copy alone."""
    subprocess.run(["cp", "-al", str(stack.cache_folder()), str(folder / "cache")], check=True)


def begun(folder: Path) -> bool:
    return any(file.read_bytes().count(b"\n") for file in (folder / "out" / "parts").glob("1-ran-*"))


def midway(change: Callable[[Path], object]) -> Callable[[Path, subprocess.Popen[bytes]], None]:
    def meanwhile(folder: Path, process: subprocess.Popen[bytes]) -> None:
        with waited() as wait:
            if wait(lambda: process.poll() is not None or begun(folder)) and process.poll() is None:
                change(folder)

    return meanwhile


def dlls(folder: Path) -> list[Path]:
    return [path for path in (folder / "cache").rglob("*") if path.name.lower() == "directml.dll"]


def replaced(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


CHANGES: dict[str, Callable[[Path], object]] = {
    "the whole folder is removed": lambda folder: shutil.rmtree(folder / "cache", ignore_errors=True),
    "the whole folder is renamed": lambda folder: (folder / "cache").rename(folder / "gone"),
    "the DLL is removed": lambda folder: [file.unlink() for file in dlls(folder)],
    "the DLL is replaced by text": lambda folder: [replaced(file, b"no DLL\n" * 1000) for file in dlls(folder)],
    "the DLL is replaced by half of it": lambda folder: [replaced(file, file.read_bytes()[: file.stat().st_size // 2]) for file in dlls(folder)],
}  # fmt: skip


def honest(outcome: Outcome) -> str:
    """Exit 0 only where every case passed."""
    bad = [result["status"] for result in outcome.results().values() if result["status"] != "pass"]
    return "exit 0 with cases that did not pass" if outcome.code == 0 and (bad or not outcome.results()) else ""


def attacks() -> Iterator[Attack]:
    for name, change in CHANGES.items():
        run = Run(RUN, (honest, exits(0, 1, 2, 3)), HOME, meanwhile=midway(change), seconds=240, leaves=True)
        yield Attack(f"midway, {name}", (copied, run))
        if "renamed" not in name:
            before = Run(RUN, (no_claim, exits(1, 2, 3)), HOME, seconds=240, leaves=True)
            yield Attack(f"before, {name}", (copied, lambda folder, change=change: change(folder) and None, before))
    yield Attack(
        "a stack that is whole is none",
        (copied, Run((*RUN, "--case", CASE), (status(CASE, "fail"),), HOME, leaves=True, seconds=240)),
        self_check=True,
    )


def prepared() -> bool:
    try:
        stack.need_prepared()
    except Exception:
        return False
    return True


ATTACKS = tuple(attacks()) if sys.platform == "linux" and prepared() else ()
