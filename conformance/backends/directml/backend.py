"""``directml`` and ``directml:PATH/DirectML.dll``: DirectML itself, driven by the host in conformance/backends/directml/native.

The path may be followed or replaced by options for the host: ``directml:mine.dll --adapter 1 --compile graph``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml.dll import Dll, read_dll
from dmlcts.conformance.backends.directml.stack import CHROOT, Stack, environment, need_prepared
from dmlcts.conformance.backends.directml.windows import host_command
from dmlcts.conformance.backends.process import ProcessBackend, split_command

START = 60.0
"""Limit for the start, in seconds: the first Wine process after a boot reads a gigabyte."""


class DirectML(ProcessBackend):
    """The host, with the DLL's file in its description."""

    def __init__(self, argv: Sequence[str], dll: Dll | None, environment: Mapping[str, str] | None = None) -> None:
        self._dll = dll
        super().__init__(argv, START, environment)

    def describe(self) -> BackendInfo:
        """The host's description, with the path and the SHA-256 of the DLL."""
        info = super().describe()
        if self._dll is None:
            return info
        return replace(info, details={**info.details, "dll": str(self._dll.path), "sha256": self._dll.sha256})


def open_directml(argument: str) -> DirectML:
    """Starts the host on the DLL of ``argument``, ``PATH OPTIONS...``, and on the prepared or the system's own where it has no path.

    Raises:
        BackendUnavailable: something is missing, or the host does not start; the message says what to do.
    """
    path, options = split_argument(argument)
    given = None if path is None else read_dll(path.expanduser())
    if os.name == "nt":
        return _started(host_command(given, options), given, None, argument)
    stack, default = need_prepared()
    return on_stack(stack, given or read_dll(default), options, argument)


def on_stack(stack: Stack, dll: Dll, options: Sequence[str] = (), argument: str = "") -> DirectML:
    """Starts the host of a stack. Raises BackendUnavailable."""
    try:
        command = stack.command(dll, options)
    except OSError as error:
        raise BackendUnavailable(f"directml: {error.filename}: {error.strerror}; the DLL could not be put there") from None
    return _started(command, dll, environment() if stack.kind == CHROOT else None, argument)


def split_argument(argument: str) -> tuple[Path | None, list[str]]:
    """The path and the host's options. A path with spaces in it stands in quotes.

    Raises:
        BackendUnavailable: a quote is not closed, or what follows the path is no option.
    """
    if not argument.strip():
        return None, []
    try:
        words = split_command(argument)
    except BackendUnavailable as error:
        raise BackendUnavailable(str(error).replace("process:", "directml:", 1)) from None
    path = None if words[0].startswith("--") else Path(words.pop(0))
    if words and not words[0].startswith("--"):
        raise BackendUnavailable(f"directml:{argument}: {words[0]!r} is not an option; put quotes around a path with spaces")
    if "--dll" in words:
        raise BackendUnavailable(f"directml:{argument}: give the DLL's path without --dll, directly after the colon")
    return path, words


def _started(command: Sequence[str], dll: Dll | None, environment: Mapping[str, str] | None, argument: str) -> DirectML:
    try:
        return DirectML(command, dll, environment)
    except BackendUnavailable as error:
        problem = str(error).removeprefix(f"process:{shlex.join(command)}: ")
        raise BackendUnavailable(f"directml{':' if argument else ''}{argument}: {problem}") from None
