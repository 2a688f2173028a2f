"""Runs on the backends of tests/hosts/unruly.py, which misbehave in one case and not in others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dmlcts.reports.record.record import Result, read_record

HOSTS = Path(__file__).parents[1] / "hosts"
AT_HAND = os.pathsep.join(filter(None, (str(HOSTS), os.environ.get("PYTHONPATH"))))
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
OTHERS = ("ELEMENT_WISE_BIT_OR/UINT32/4d", "ELEMENT_WISE_BIT_OR/INT8/4d", "ELEMENT_WISE_BIT_AND/UINT8/4d")
"""A case in which the backends of tests/hosts/unruly.py misbehave, and some in which they do not."""

SELECTED = tuple(word for case in (CASE, *OTHERS) for word in ("--case", case))
"""A case in which the unruly backends misbehave."""


def started(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, to its end."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], env={**os.environ, "PYTHONPATH": AT_HAND, **environment},
        capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=100, check=False,
    )  # fmt: skip


def results(folder: Path) -> dict[str, Result]:
    lines = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found = {result.case: result for result in read_record(folder / "results.jsonl").results}
    assert len(found) == len(lines) - 1  # each case once
    return found
