"""Which backends take part in sequences, and how: with a method ``perform`` of their own, or by their single dispatches."""

from __future__ import annotations

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.python.in_process import Watched
from dmlcts.conformance.backends.python.python_host import HostedBackend
from dmlcts.conformance.sequences.calls import Perform
from dmlcts.conformance.sequences.perform import Performer


def perform_on(backend: Backend, timeout: float | None = None) -> Perform | None:
    """What performs a sequence on a backend; None if nothing does.

    A backend in this process with a method ``perform`` gets the calls as they are. Python classes, in a process of their own or not, run the dispatches one after
    another. A program that speaks version 1 of the process protocol is asked for none: it makes everything anew for each request, so that
    a pass would say nothing about what lasts longer than a dispatch.
    """
    own: Perform | None = getattr(backend.backend if isinstance(backend, Watched) else backend, "perform", None)
    if own is not None:
        return own
    if isinstance(backend, ProcessBackend) and not isinstance(backend, HostedBackend):
        return None
    return Performer(backend, timeout).perform
