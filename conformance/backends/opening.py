"""The suite's backends, by the word before the colon on the command line."""

from __future__ import annotations

from collections.abc import Callable

from dmlcts.conformance.backends.backend import Backend, BackendUnavailable
from dmlcts.conformance.backends.python.in_process import InProcess
from dmlcts.conformance.backends.python.load import FOREIGN, open_in_process


def _reference(argument: str) -> Backend:
    from dmlcts.conformance.backends.reference import open_reference

    return open_reference(argument)


def _process(argument: str) -> Backend:
    from dmlcts.conformance.backends.process.process import open_process

    return open_process(argument)


def _directml(argument: str) -> Backend:
    from dmlcts.conformance.backends.directml.backend import open_directml

    return open_directml(argument)


OURS: dict[str, Callable[[str], Backend]] = {"reference": _reference, "directml": _directml, "process": _process}
"""Backends with code of the suite only; foreign code runs in a separate process behind them."""

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
    from dmlcts.conformance.backends.python.python_host import open_hosted

    return open_hosted(f"inprocess:{argument}" if kind == "python" else spec, spec)


def is_in_process(spec: str) -> bool:
    """Whether a backend runs foreign code in the process that opens it."""
    return spec.partition(":")[0] == "inprocess"


def separate_process(spec: str) -> str:
    """The same backend for a process that must survive it: in-process code is run in a child process."""
    return f"python:{spec.partition(':')[2]}" if is_in_process(spec) else spec


def opened_to_describe(spec: str) -> Backend:
    """The backend for a process that only needs its description."""
    return open_backend(separate_process(spec))
