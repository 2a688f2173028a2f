"""Backends with foreign code, opened in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BackendUnavailable
from dmlcts.spec.untrusted import sanitize


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
        raise BackendUnavailable(f"cannot be imported: {sanitize.error_line(error)}") from error
    try:
        backend: Backend = factory()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"could not be made: {sanitize.error_line(error)}") from error
    missing = [method for method in ("describe", "run", "close") if not callable(getattr(backend, method, None))]
    if missing:
        raise BackendUnavailable(f"has no {', '.join(missing)}; derive it from dmlcts.conformance.ArrayBackend")
    _check_description(backend)
    return backend


def _check_description(backend: Backend) -> None:
    """Checks that a description has the fields of a process backend's. Raises BackendUnavailable."""
    from dmlcts.conformance.backends.process.protocol import ProtocolError, read_info

    try:
        info = backend.describe()
    except (Exception, SystemExit) as error:
        raise BackendUnavailable(f"cannot describe itself: {sanitize.error_line(error)}") from error
    if not isinstance(info, BackendInfo):
        raise BackendUnavailable(f"must return a BackendInfo from describe(), not a {type(info).__name__}")
    try:
        read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))})
    except (ProtocolError, TypeError, ValueError) as error:
        raise BackendUnavailable(str(error)) from None


FOREIGN: dict[str, Callable[[str], Backend]] = {"inprocess": _in_process, "onnxruntime": _onnxruntime, "torch": _torch}
"""Backends with foreign code. ``open_backend`` runs them in a child process, except ``inprocess``."""


def open_in_process(spec: str) -> Backend:
    """A backend with foreign code, in this process. Raises BackendUnavailable."""
    kind, _, argument = spec.partition(":")
    return FOREIGN[kind](argument)
