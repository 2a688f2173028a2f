"""The suite's backends, by the word before the colon on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.in_process import InProcess
from dmlcts.spec import clean


def _reference(argument: str) -> Backend:
    from dmlcts.conformance.backends.reference import open_reference

    return open_reference(argument)


def _process(argument: str) -> Backend:
    from dmlcts.conformance.backends.process import open_process

    return open_process(argument)


def _directml(argument: str) -> Backend:
    from dmlcts.conformance.backends.directml.backend import open_directml

    return open_directml(argument)


def _onnxruntime(argument: str) -> Backend:
    from dmlcts.conformance.backends.second_opinions.onnxruntime import open_onnxruntime

    return open_onnxruntime(argument)


def _torch(argument: str) -> Backend:
    from dmlcts.conformance.backends.second_opinions.torch import open_torch

    return open_torch(argument)


def _in_process(argument: str) -> Backend:
    """A user's class, made in this process."""
    module, colon, name = argument.partition(":")
    if not (module and colon and name):
        raise BackendUnavailable(f"{argument!r} must be MODULE:CLASS, such as mine.backend:Mine")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # so that a class in the current folder is found, as with `python -m`
    try:
        factory = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        raise BackendUnavailable(f"cannot be imported: {clean.raised(error)}") from error
    try:
        backend: Backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"could not be made: {clean.raised(error)}") from error
    missing = [method for method in ("describe", "run", "close") if not callable(getattr(backend, method, None))]
    if missing:
        raise BackendUnavailable(f"has no {', '.join(missing)}; derive it from dmlcts.conformance.ArrayBackend")
    _check_description(backend)
    return backend


def _check_description(backend: Backend) -> None:
    """Checks that a description has the fields of a process backend's. Raises BackendUnavailable."""
    from dmlcts.conformance.backends.protocol import ProtocolError, read_info

    try:
        info = backend.describe()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"cannot describe itself: {clean.raised(error)}") from error
    if not isinstance(info, BackendInfo):
        raise BackendUnavailable(f"must return a BackendInfo from describe(), not a {type(info).__name__}")
    try:
        read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))})
    except (ProtocolError, TypeError, ValueError) as error:
        raise BackendUnavailable(str(error)) from None


OURS: dict[str, Callable[[str], Backend]] = {"reference": _reference, "directml": _directml, "process": _process}
"""Backends with code of the suite only; foreign code runs in a separate process behind them."""

FOREIGN: dict[str, Callable[[str], Backend]] = {"inprocess": _in_process, "onnxruntime": _onnxruntime, "torch": _torch}
"""Backends with foreign code. ``open_backend`` runs them in a child process, except ``inprocess``."""

KINDS = (*OURS, "python", *FOREIGN)
"""The words before the colon."""


def open_backend(spec: str) -> Backend:
    """The backend that ``spec`` names: ``reference``, ``directml``, ``python:MODULE:CLASS``, ``process:COMMAND`` (`dmlcts backends` lists them).

    Foreign code runs in a child process, so that a crash ends only that process. ``inprocess:MODULE:CLASS`` is the same as
    ``python:MODULE:CLASS`` without a child process: faster, but a crash, a hang or ``os._exit`` affects the process that runs the cases.

    Raises:
        BackendUnavailable: no such backend, or it cannot be started; the message says what to do.
    """
    kind, _, argument = spec.partition(":")
    if kind in OURS:
        return OURS[kind](argument)
    if kind == "inprocess":
        return InProcess(lambda: open_in_process(spec))
    if kind != "python" and kind not in FOREIGN:
        raise BackendUnavailable(f"unknown backend {spec!r}; known: {', '.join(KINDS)} (see `dmlcts backends`)")
    from dmlcts.conformance.backends.python_host import open_hosted

    return open_hosted(f"inprocess:{argument}" if kind == "python" else spec, spec)


def is_in_process(spec: str) -> bool:
    """Whether a backend runs foreign code in the process that opens it."""
    return spec.partition(":")[0] == "inprocess"


def apart(spec: str) -> str:
    """The same backend for a process that must survive it: in-process code is run in a child process."""
    return f"python:{spec.partition(':')[2]}" if is_in_process(spec) else spec


def opened_to_describe(spec: str) -> Backend:
    """The backend for a process that only needs its description."""
    return open_backend(apart(spec))


def open_in_process(spec: str) -> Backend:
    """A backend with foreign code, in this process. Raises BackendUnavailable."""
    kind, _, argument = spec.partition(":")
    return FOREIGN[kind](argument)
