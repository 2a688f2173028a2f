"""Users' backends, watched for what they leave behind: another case would be judged by it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from dmlcts.conformance.backends.backend import (
    Backend,
    BackendFault,
    BackendInfo,
    BackendUnavailable,
    Bytes,
    Dispatch,
    GraphDispatch,
    run_graph,
)

_KEPT, _MOST_BYTES = 24, 1 << 17
"""So many resources are looked at again after their dispatch, the latest ones; larger ones are not."""

_ONE, _NEXT, _DENORMAL = 1.0, 1.0 + 2.0**-52, 5e-324
_BELOW_HALF, _ABOVE_HALF = 2.0**-54, 3 * 2.0**-54
"""Of the distance from 1 to the next number. All of these are variables, so that Python computes with them when it is asked to."""


class Watched:
    """A backend whose resources are looked at again after later dispatches: it must have written all that it writes when ``run`` returns."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.past: dict[int, tuple[str, Bytes, bytes]] = {}

    def describe(self) -> BackendInfo:
        """The backend's description."""
        return self.backend.describe()

    def run(self, dispatch: Dispatch) -> None:
        """Executes. Raises BackendFault as well where an earlier dispatch wrote after it had returned."""
        self.watch(dispatch.resources, dispatch.desc.type, lambda: self.backend.run(dispatch))

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph, likewise. Raises as ``run``, and Unsupported where the backend does not take it as a whole."""
        self.watch(dispatch.resources, "a graph", lambda: run_graph(self.backend, dispatch))

    def watch(self, dispatched: Sequence[Bytes], operator: str, execute: Callable[[], None]) -> None:
        """Executes, and notes what the resources hold then. Raises BackendFault as ``run``."""
        resources = tuple(dispatched)
        for resource in resources:
            self.past.pop(id(resource), None)  # dxdispatch's models bind a resource many times
        while len(self.past) > _KEPT:
            self._look_back()
        try:
            execute()
        finally:
            for resource in resources:
                if resource.nbytes <= _MOST_BYTES:
                    self.past[id(resource)] = operator, resource, resource.tobytes()

    def close(self) -> None:
        """Closes the backend. Raises BackendFault where a dispatch wrote after it had returned."""
        self.backend.close()
        while self.past:
            self._look_back()

    def _look_back(self) -> None:
        """Looks at the resource that was bound the longest time ago. Raises BackendFault."""
        operator, resource, before = self.past.pop(next(iter(self.past)))
        if resource.tobytes() != before:
            raise BackendFault(f"an earlier dispatch, of {operator}, wrote to a resource after it had returned")


class InProcess(Watched):
    """A backend in the process that judges, whose floating-point arithmetic it must leave as it was.

    Raises, when made:
        BackendUnavailable: ``make`` raises it, or changes the arithmetic for good.
    """

    def __init__(self, make: Callable[[], Backend]) -> None:
        self.restore = _restorer()
        super().__init__(make())
        if self._restore_changes() and (still := unusual_arithmetic()):
            raise BackendUnavailable(f"it changes the arithmetic of this process when it is loaded: {still}; run it as python:")

    def describe(self) -> BackendInfo:
        """The backend's description."""
        try:
            return super().describe()
        finally:
            self._restore_changes()

    def watch(self, dispatched: Sequence[Bytes], operator: str, execute: Callable[[], None]) -> None:
        """Executes. Raises BackendFault as well where the arithmetic was changed, and restores it where the platform can."""
        try:
            super().watch(dispatched, operator, execute)
        finally:
            if changed := self._restore_changes():
                raise BackendFault(f"it left the arithmetic of this process changed: {changed}; restore it, or run it as python:")

    def _restore_changes(self) -> str:
        """What the backend changed, in words; it is restored."""
        if changed := unusual_arithmetic():
            self.restore()
        return changed


def unusual_arithmetic() -> str:
    """What is unusual in this thread's floating-point arithmetic, in words; empty if it rounds to nearest and has denormals."""
    if _DENORMAL * _ONE == 0.0:
        return "denormals are flushed to zero"
    return "" if _ONE + _BELOW_HALF == _ONE and _ONE + _ABOVE_HALF == _NEXT else "results are not rounded to nearest"


def _restorer() -> Callable[[], object]:
    """Restores this thread's floating-point environment as it is now; does nothing where the platform's C library does not offer it."""
    environment = ctypes.create_string_buffer(256)  # a fenv_t has 8 to 32 bytes
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        restore = library.fesetenv
        if library.fegetenv(environment) == 0:
            return lambda: restore(environment)
    return lambda: None
