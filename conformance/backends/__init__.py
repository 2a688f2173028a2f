"""The backends that come with the suite, by what stands before the colon on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from dmlcts.conformance.backend import Backend, BackendUnavailable


def _reference(argument: str) -> Backend:
    from dmlcts.conformance.backends.reference import open_reference

    return open_reference(argument)


def _process(argument: str) -> Backend:
    from dmlcts.conformance.backends.process import open_process

    return open_process(argument)


def _python(argument: str) -> Backend:
    module, colon, name = argument.partition(":")
    if not (module and colon and name):
        raise BackendUnavailable(f"python:{argument} must be python:MODULE:CLASS, such as python:mine.backend:Mine")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a class in the folder that the user stands in, as with `python -m`
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BackendUnavailable(f"python:{argument}: {error}") from error
    try:
        backend: Backend = factory()
    except Exception as error:  # whatever the user's constructor raises
        raise BackendUnavailable(f"python:{argument} could not be made: {type(error).__name__}: {error}") from error
    missing = [method for method in ("describe", "run", "close") if not callable(getattr(backend, method, None))]
    if missing:
        raise BackendUnavailable(f"python:{argument} has no {', '.join(missing)}; derive it from dmlcts.conformance.ArrayBackend")
    return backend


OPENERS: dict[str, Callable[[str], Backend]] = {"reference": _reference, "process": _process, "python": _python}


def open_backend(spec: str) -> Backend:
    """The backend that ``spec`` names: ``reference``, ``reference:cuda``, ``python:MODULE:CLASS``, ``process:COMMAND``.

    Raises:
        BackendUnavailable: no such backend, or it cannot be started; the message says what to do.
    """
    kind, _, argument = spec.partition(":")
    if kind not in OPENERS:
        raise BackendUnavailable(f"unknown backend {spec!r}; known: {', '.join(OPENERS)} (see `dmlcts backends`)")
    return OPENERS[kind](argument)
