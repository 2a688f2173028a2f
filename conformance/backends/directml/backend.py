"""``directml`` and ``directml:PATH/DirectML.dll``: DirectML itself, driven by the host in conformance/backends/directml/native.

The path may be followed or replaced by options for the host: ``directml:mine.dll --adapter 1 --compile graph``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml.dll import Dll, read_dll
from dmlcts.conformance.backends.directml.seal import Seal, changes, not_the_default, vkd3d_version
from dmlcts.conformance.backends.directml.stack import (
    CHROOT,
    Exchange,
    Stack,
    default_dll,
    environment,
    full_folders,
    need_prepared,
    sha256_of,
)
from dmlcts.conformance.backends.directml.windows import host_command
from dmlcts.conformance.backends.process.process import ProcessBackend, T, split_command
from dmlcts.conformance.backends.process.protocol import Header
from dmlcts.conformance.backends.process.streams import Pieces
from dmlcts.reports.record.versions import replaced_text

START = 60.0
"""Limit for the start, in seconds: the first Wine process after a boot reads a gigabyte."""

CHANGED_STACK = "on a stack that has changed since it was set up"
"""The part of the version that says so: what fails there may be no fault of the DLL."""


class DirectML(ProcessBackend):
    """The host on a DLL, under the name of the file that runs.

    ``loaded`` is the file that the host loads, which must stay as it is; ``dll`` is None for the DirectML.dll of System32. ``remarks`` say what is
    not as it was set up: with one, the version is no release's. ``details`` are parts of the description that the host does not know.
    ``exchange`` has the folders that the host's options name, in a stack.
    """

    def __init__(
        self,
        argv: Sequence[str],
        dll: Dll | None,
        loaded: Path | None = None,
        environment: Mapping[str, str] | None = None,
        remarks: Sequence[str] = (),
        details: Mapping[str, str] | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self._dll, self._loaded, self._remarks, self._details = dll, loaded, list(remarks), dict(details or {})
        self._exchange = exchange
        super().__init__(argv, START, environment)
        if dll is None:
            self._dll = self._own_dll()

    def describe(self) -> BackendInfo:
        """The host's description. The version is the DLL's name, with the remarks if there are any; details have its path and SHA-256."""
        info, dll = super().describe(), self._dll
        if dll is None:
            return replace(info, version=f"{info.version} (of a file that was not read)", details={**info.details, **self._details})
        remarks = [*self._remarks, *filter(None, [replaced_text(info.details)])]
        version = f"{dll.hash_name} ({'; '.join(remarks)})" if remarks else dll.name
        file = {"dll": str(dll.path), "sha256": dll.sha256, "file_version": dll.version}
        return replace(info, version=version, details={**info.details, **file, **self._details})

    def ask(
        self,
        make: Callable[[int], Pieces],
        place: Callable[[Header, int, int], list[memoryview]],
        read: Callable[[Header], T],
        timeout: float | None = None,
    ) -> T:
        """As ``ProcessBackend.ask``; then what the host wrote is where the user wants it."""
        try:
            return super().ask(make, place, read, timeout)
        finally:
            if self._exchange is not None:
                self._exchange.fetch()

    def close(self) -> None:
        """As ``ProcessBackend.close``."""
        try:
            super().close()
        finally:
            if self._exchange is not None:
                self._exchange.close()

    def _start(self) -> BackendInfo:
        if self._dll is not None and self._loaded is not None and not _is_still(self._loaded, self._dll):
            raise BackendFault(f"{self._loaded} is not the DLL that the run began with")
        return super()._start()

    def _own_dll(self) -> Dll | None:
        """The DLL that the host found by itself. A host that names none runs a file that nobody has looked at."""
        try:
            return read_dll(Path(str(super().describe().details.get("dll", ""))))
        except BackendUnavailable:
            return None


def _is_still(file: Path, dll: Dll) -> bool:
    try:
        return sha256_of(file) == dll.sha256
    except OSError:
        return False


def open_directml(argument: str) -> DirectML:
    """Starts the host on the DLL of ``argument``, ``PATH OPTIONS...``, and on the prepared or the system's own where it has no path.

    Raises:
        BackendUnavailable: something is missing, or the host does not start; the message says what to do.
    """
    path, options = split_argument(argument)
    given = None if path is None else read_dll(path.expanduser())
    if os.name == "nt":
        return on_windows(given, options, argument)
    stack, marker = need_prepared()
    if given is not None:
        return on_stack(stack, marker["seal"], given, options, argument)
    own = read_dll(default_dll(marker))
    return on_stack(stack, marker["seal"], own, options, argument, not_the_default(own, marker))


def on_stack(stack: Stack, seal: Seal, dll: Dll, options: Sequence[str] = (), argument: str = "", remark: str = "") -> DirectML:
    """Starts the host of a stack. ``seal`` is that of its set-up, ``remark`` a note about the DLL. Raises BackendUnavailable."""
    exchange = Exchange(stack, options)
    try:
        command = stack.command(dll, exchange.options)
        changed = changes(stack, seal)
    except OSError as error:
        exchange.close()
        raise BackendUnavailable(f"directml: {error.filename}: {error.strerror}; the DLL could not be put there") from None
    remarks = list(filter(None, (remark, CHANGED_STACK if changed else "")))
    details = {"stack": f"changed since it was set up: {', '.join(changed)}"} if changed else {"vkd3d": vkd3d_version(stack)}
    surroundings = environment() if stack.kind == CHROOT else None
    return _start_sealed(
        lambda: DirectML(command, dll, stack.copy_of(dll), surroundings, remarks, details, exchange), command, argument, exchange
    )


def on_windows(dll: Dll | None, options: Sequence[str] = (), argument: str = "") -> DirectML:
    """Starts the host of Windows; without a DLL, on that of System32. Raises BackendUnavailable."""
    command = host_command(dll, full_folders(options))
    details = {"host_sha256": sha256_of(Path(command[0]))}
    return _start_sealed(lambda: DirectML(command, dll, None if dll is None else dll.path, details=details), command, argument)


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


def _start_sealed(
    start: Callable[[], DirectML], command: Sequence[str], argument: str, exchange: Exchange | None = None
) -> DirectML:
    try:
        return start()
    except BackendUnavailable as error:
        problem = str(error).removeprefix(f"process:{shlex.join(command)}: ")
        if exchange is not None:
            problem = exchange.with_own_paths(problem)
            exchange.close()
        raise BackendUnavailable(f"directml{':' if argument else ''}{argument}: {problem}") from None
