"""Text in the terminal, in a log, in a pipe and in a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import UnsupportedOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_LINE = 250
"""Columns of a table in a log."""


def console() -> Console:
    """Standard output for all commands: plain text (``:name:`` is not an emoji); in a pipe or a log, lines are neither cut nor wrapped.

    If the reader has gone, as with ``head``, output stops and the work continues.
    """
    from rich.console import Console  # here, so that `--help` is quick

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            silence()

    terminal = sys.stdout.isatty()
    return Patient(highlight=False, emoji=False, soft_wrap=not terminal, width=None if terminal else _LINE)


def silence() -> None:
    """Redirects standard output to the null device, so that later writes do not fail, at the latest at the interpreter's exit."""
    with suppress(OSError, UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def open_streams() -> None:
    """Opens the standard streams that were closed (``>&-``), on the null device: nothing else can then get their descriptors."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 (they stay open)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def set_encoding() -> None:
    """UTF-8, or what PYTHONIOENCODING asks for; unsupported characters become '?'. Windows pipes have other defaults."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = None if os.environ.get("PYTHONIOENCODING") else "utf-8"
            stream.reconfigure(encoding=encoding, errors="replace")


def command_text(words: Sequence[str]) -> str:
    """A command as it can be pasted into this platform's shell."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def count_of(number: int, noun: str, plural: str = "s") -> str:
    """``1 difference``, ``2 differences``; ``plural`` is the plural ending."""
    return f"{number:,} {noun}{'' if number == 1 else plural}"
