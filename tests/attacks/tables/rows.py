"""Stored rows of combinations that are damaged, in a copy of the package: an error that names the file, or the same cases as before; never fewer in silence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attack import ROOMS, ROOT, Attack, Outcome, Run
from expect import exits

NAME = "ELEMENT_WISE_NEGATE"
STORED = (ROOT / "generator" / "covering" / "rows" / f"{NAME}.txt").read_bytes()
LINES = STORED.splitlines(keepends=True)
FACTS, ROWS = b"".join(LINES[:4]), LINES[4:]
FILE = f"lib/dmlcts/generator/covering/rows/{NAME}.txt"
SHOW = Run(
    ("-P", "-c", "from dmlcts.conformance.commands.cli import main; main()", "show", "--operator", NAME, "--level", "core"), program=(sys.executable,), environment={"PYTHONPATH": "lib"}
)  # fmt: skip


def copied(folder: Path) -> None:
    """A copy of the package, by links but for the rows."""
    package = folder / "lib" / "dmlcts"
    package.mkdir(parents=True)
    for room in ROOMS:
        if room != "generator":
            (package / room).symlink_to(ROOT / room)
    generator = package / "generator"
    (generator / "covering" / "rows").mkdir(parents=True)
    for entry in (*(ROOT / "generator").iterdir(), *(ROOT / "generator" / "covering").iterdir()):
        if entry.name not in ("covering", "rows"):
            (package / entry.relative_to(ROOT)).symlink_to(entry)


def complete(outcome: Outcome) -> str:
    """All cases of the operator's stored rows are there, or the error names the file."""
    lines = len(outcome.output.splitlines())
    if outcome.code == 2:
        return (
            "" if NAME in outcome.errors and len(outcome.errors.strip().splitlines()) == 1 else "the error does not name the file"
        )
    return "" if outcome.code == 0 and lines >= CASES else f"exit {outcome.code}, {lines} cases instead of {CASES}"


CASES = json.loads(LINES[0])["ends"]["core"]
"""There are more, but no fewer."""

DAMAGE: dict[str, Callable[[], bytes | None]] = {
    "as it was": lambda: STORED,
    "removed": lambda: None,
    "empty": lambda: b"",
    "its last row lost": lambda: b"".join([FACTS, *ROWS[:-1]]),
    "its first row lost": lambda: b"".join([FACTS, *ROWS[1:]]),
    "half of it lost": lambda: STORED[: len(STORED) // 2],
    "all rows lost": lambda: FACTS,
    "a row twice": lambda: STORED + ROWS[-1],
    "a row shorter": lambda: b"".join([FACTS, ROWS[0][1:], *ROWS[1:]]),
    "an unknown character": lambda: b"".join([FACTS, b"?" + ROWS[0][1:], *ROWS[1:]]),
    "a value that is none": lambda: b"".join([FACTS, b"z" * (len(ROWS[0]) - 1) + b"\n", *ROWS[1:]]),
    "carriage returns": lambda: STORED.replace(b"\n", b"\r\n"),
    "a mark of byte order": lambda: b"\xef\xbb\xbf" + STORED,
    "UTF-16": lambda: STORED.decode().encode("utf-16"),
    "zeros": lambda: bytes(len(STORED)),
    "its names of factors lost": lambda: b"".join([*LINES[:2], *LINES[3:]]),
    "its lists lost": lambda: b"".join([LINES[0], *LINES[2:]]),
    "another name of a value": lambda: STORED.replace(b'"packed"', b'"packet"', 1),
    "a second section without rows": lambda: STORED + FACTS,
    "the section twice": lambda: STORED + STORED,
    "no facts": lambda: b"".join(ROWS),
    "facts that are a list": lambda: b"".join([b"[]\n", *ROWS]),
    "another digest": lambda: STORED.replace(b'"digest": "', b'"digest": "0', 1),
    "lower ends": lambda: b"".join([FACTS.replace(b'"core": ', b'"core": 1, "x": ', 1), *ROWS]),
    "marks of a merge": lambda: b"".join([FACTS, b"<<<<<<< ours\n", *ROWS, b"=======\n", b">>>>>>> theirs\n"]),
}  # fmt: skip


def attacks() -> Iterator[Attack]:
    for name, damage in DAMAGE.items():
        data = damage()
        run = Run(SHOW.arguments, (complete,), SHOW.environment, program=SHOW.program, seconds=200)
        yield Attack(
            f"rows: {name}",
            (copied, lambda folder, data=data: (folder / FILE).write_bytes(data) if data is not None else None, run),
        )
    run = Run(SHOW.arguments, (exits(2),), SHOW.environment, program=SHOW.program)
    yield Attack(
        "rows as they were are refused", (copied, lambda folder: (folder / FILE).write_bytes(STORED), run), self_check=True
    )


ATTACKS = tuple(attacks()) if sys.platform != "win32" else ()
