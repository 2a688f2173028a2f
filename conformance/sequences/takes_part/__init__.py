"""Which backends take part in sequences, and how: with a method ``perform`` of their own, by version 2 of the process protocol, or by their single dispatches."""

from __future__ import annotations

from dmlcts.conformance.backends.backend import Backend, Elsewhere
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.python.in_process import Watched
from dmlcts.conformance.backends.python.python_host import HostedBackend
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.sequences.calls import Call, Perform, Reply
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.conformance.sequences.takes_part.wire import perform_on_host
from dmlcts.reports.record.paths import CodePath


def perform_on(backend: Backend, timeout: float | None = None) -> Perform | None:
    """What performs a sequence on a backend; None if nothing does.

    A backend in this process with a method ``perform`` gets the calls as they are. Python classes, in a process of their own or not, run the
    dispatches one after another. A program gets the calls if it speaks version 2 of the process protocol. One that speaks version 1 is asked for none: it makes
    everything anew for each request, so that a pass would say nothing about what lasts longer than a dispatch.
    """
    whole = _without_watchers(backend)
    own: Perform | None = getattr(whole, "perform", None)
    if own is not None:
        return own
    if isinstance(whole, ProcessBackend) and not isinstance(whole, HostedBackend):
        return _on_host(whole, _traced_in(backend), timeout) if whole.protocol > 1 else None
    return Performer(backend, timeout).perform


def _on_host(program: ProcessBackend, traced: Traced | None, timeout: float | None) -> Perform:
    """What has a program perform a sequence, and notes the code paths that it names."""

    def perform(calls: list[Call]) -> list[Reply]:
        if traced is None:
            return perform_on_host(program, calls, timeout)
        paths: list[CodePath] = []
        try:
            return perform_on_host(program, calls, timeout, paths)
        finally:
            traced.note(paths)

    return perform


def _traced_in(backend: Backend) -> Traced | None:
    """What notes the code paths of a backend, if anything does."""
    while isinstance(backend, Watched):
        backend = backend.backend
    return backend if isinstance(backend, Traced) else None


def performs_itself(backend: Backend) -> bool:
    """Whether a backend performs sequences itself: where the suite does it, on single dispatches, they say nothing about devices, binding or recording."""
    whole = _without_watchers(backend)
    if isinstance(whole, Elsewhere):
        return whole.performs
    if isinstance(whole, ProcessBackend) and not isinstance(whole, HostedBackend):
        return whole.protocol > 1
    return hasattr(whole, "perform")


def end_host(backend: Backend) -> None:
    """Ends the process of a backend that has one: it starts another when it is asked again. Raises BackendFault if it does not end in order."""
    whole = _without_watchers(backend)
    if isinstance(whole, ProcessBackend):
        whole.close()


def _without_watchers(backend: Backend) -> Backend:
    """The backend itself: what notes code paths, or looks for late writes, is no part of it."""
    while isinstance(backend, Traced | Watched):
        backend = backend.backend
    return backend
