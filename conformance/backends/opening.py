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
    from dmlcts.conformance.backends.opinions.onnxruntime import open_onnxruntime

    return open_onnxruntime(argument)


def _torch(argument: str) -> Backend:
    from dmlcts.conformance.backends.opinions.torch import open_torch

    return open_torch(argument)


def _python(argument: str) -> Backend:
    module, colon, name = argument.partition(":")
    if not (module and colon and name):
        raise BackendUnavailable(f"python:{argument} must be python:MODULE:CLASS, such as python:mine.backend:Mine")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a class in the folder that the user stands in, as with `python -m`
    try:
        factory = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise BackendUnavailable(f"python:{argument} cannot be imported: {_said(error)}") from error
    try:
        backend: Backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"python:{argument} could not be made: {_said(error)}") from error
    missing = [method for method in ("describe", "run", "close") if not callable(getattr(backend, method, None))]
    if missing:
        raise BackendUnavailable(
            f"python:{argument} has no {', '.join(missing)}; derive it from dmlcts.conformance.backends.array_backend.ArrayBackend"
        )
    _check_description(backend, f"python:{argument}")
    return backend


def _check_description(backend: Backend, spec: str) -> None:
    """A description must have the fields that a process backend's has. Raises BackendUnavailable."""
    from dmlcts.conformance.backends.protocol import ProtocolError, read_info

    try:
        info = backend.describe()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"{spec} cannot describe itself: {_said(error)}") from error
    if not isinstance(info, BackendInfo):
        raise BackendUnavailable(f"{spec} must describe itself by a BackendInfo, and gave a {type(info).__name__}")
    try:
        read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))})
    except (ProtocolError, TypeError, ValueError) as error:
        raise BackendUnavailable(f"{spec}: {error}") from None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


OPENERS: dict[str, Callable[[str], Backend]] = {
    "reference": _reference,
    "directml": _directml,
    "process": _process,
    "python": _python,
    "onnxruntime": _onnxruntime,
    "torch": _torch,
}


def open_backend(spec: str) -> Backend:
    """The backend that ``spec`` names: ``reference``, ``directml``, ``python:MODULE:CLASS``, ``process:COMMAND`` (`dmlcts backends` has them all).

    Raises:
        BackendUnavailable: no such backend, or it cannot be started; the message says what to do.
    """
    kind, _, argument = spec.partition(":")
    if kind not in OPENERS:
        raise BackendUnavailable(f"unknown backend {spec!r}; known: {', '.join(OPENERS)} (see `dmlcts backends`)")
    return OPENERS[kind](argument)
