"""The backends that come with the suite, by what stands before the colon on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BackendUnavailable


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
        sys.path.insert(0, str(Path.cwd()))  # a class in the folder that the user stands in, as with `python -m`
    try:
        factory = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise BackendUnavailable(f"cannot be imported: {_text(error)}") from error
    try:
        backend: Backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"could not be made: {_text(error)}") from error
    missing = [method for method in ("describe", "run", "close") if not callable(getattr(backend, method, None))]
    if missing:
        raise BackendUnavailable(f"has no {', '.join(missing)}; derive it from dmlcts.conformance.ArrayBackend")
    _check_description(backend)
    return backend


def _check_description(backend: Backend) -> None:
    """A description must have the fields that a process backend's has. Raises BackendUnavailable."""
    from dmlcts.conformance.backends.protocol import ProtocolError, read_info

    try:
        info = backend.describe()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"cannot describe itself: {_text(error)}") from error
    if not isinstance(info, BackendInfo):
        raise BackendUnavailable(f"must describe itself by a BackendInfo, and gave a {type(info).__name__}")
    try:
        read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))})
    except (ProtocolError, TypeError, ValueError) as error:
        raise BackendUnavailable(str(error)) from None


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


OURS: dict[str, Callable[[str], Backend]] = {"reference": _reference, "directml": _directml, "process": _process}
"""Backends whose code is the suite's own: what is not runs in a process of its own behind them."""

FOREIGN: dict[str, Callable[[str], Backend]] = {"inprocess": _in_process, "onnxruntime": _onnxruntime, "torch": _torch}
"""Backends that are other people's code. ``open_backend`` runs them in a child process, but for ``inprocess``."""

KINDS = (*OURS, "python", *FOREIGN)
"""What may stand before the colon."""


def open_backend(spec: str) -> Backend:
    """The backend that ``spec`` names: ``reference``, ``directml``, ``python:MODULE:CLASS``, ``process:COMMAND`` (`dmlcts backends` has them all).

    Code that is not the suite's own runs in a child process: what it does ends at worst that process. ``inprocess:MODULE:CLASS`` is the same class
    as ``python:MODULE:CLASS`` without one: faster, and a crash, a hang or ``os._exit`` of it is one of the process that runs the cases.

    Raises:
        BackendUnavailable: no such backend, or it cannot be started; the message says what to do.
    """
    kind, _, argument = spec.partition(":")
    if kind in OURS:
        return OURS[kind](argument)
    if kind == "inprocess":
        return open_in_process(spec)
    if kind != "python" and kind not in FOREIGN:
        raise BackendUnavailable(f"unknown backend {spec!r}; known: {', '.join(KINDS)} (see `dmlcts backends`)")
    from dmlcts.conformance.backends.python_host import open_hosted

    return open_hosted(f"inprocess:{argument}" if kind == "python" else spec, spec)


def is_in_process(spec: str) -> bool:
    """Whether a backend's code would run in the process that opens it, and is not the suite's own."""
    return spec.partition(":")[0] == "inprocess"


def opened_to_describe(spec: str) -> Backend:
    """The backend as a process may open it that must survive it: for what it says of itself, and not to run in-process code."""
    return open_backend(f"python:{spec.partition(':')[2]}" if is_in_process(spec) else spec)


def open_in_process(spec: str) -> Backend:
    """A backend of other people's code, in this process. Raises BackendUnavailable."""
    kind, _, argument = spec.partition(":")
    return FOREIGN[kind](argument)
