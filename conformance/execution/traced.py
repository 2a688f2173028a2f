"""A backend whose dispatches are asked for the code paths that they ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dmlcts.conformance.backends.backend import Backend, BackendInfo, Dispatch, GraphDispatch, run_graph
from dmlcts.reports.record.paths import MOST_PATHS, CodePath, Paths, code_path


class Traced:
    """A backend that notes the code paths of each dispatch, since ``begin``."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._dispatches: list[Paths] = []

    def describe(self) -> BackendInfo:
        """The backend's description."""
        return self.backend.describe()

    def run(self, dispatch: Dispatch) -> None:
        """Executes a dispatch, and notes its code paths whatever becomes of it. Raises as the backend does."""
        traced = replace(dispatch, paths=[])
        try:
            self.backend.run(traced)
        finally:
            self._dispatches.append(_given_paths(traced))

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph as a whole, likewise. Raises as the backend does, and Unsupported where it does not take it."""
        traced = replace(dispatch, paths=[])
        try:
            run_graph(self.backend, traced)
        finally:
            self._dispatches.append(_given_paths(traced))

    def note(self, paths: Sequence[CodePath]) -> None:
        """Notes the code paths of several dispatches that were asked for at once, as in a sequence."""
        self._dispatches.append(tuple(paths[:MOST_PATHS]))

    def close(self) -> None:
        """Closes the backend."""
        self.backend.close()

    def begin(self) -> None:
        """Forgets the dispatches so far: those of another case follow."""
        self._dispatches.clear()

    def first(self) -> Paths:
        """The code paths of the first dispatch: others may be of the same case made simpler."""
        return self._dispatches[0] if self._dispatches else ()

    def distinct(self) -> Paths:
        """The code paths of all dispatches, each once: a law makes many of one case."""
        return tuple(dict.fromkeys(path for paths in self._dispatches for path in paths))[:MOST_PATHS]


def _given_paths(dispatch: Dispatch | GraphDispatch) -> Paths:
    """The code paths of a dispatch; none where a backend in this process has put there what is no code path."""
    try:
        return tuple(code_path(label, numbers) for label, numbers in (dispatch.paths or ())[:MOST_PATHS])
    except (TypeError, ValueError):
        return ()


def inner(backend: Backend) -> Backend:
    """The backend itself, where it is traced."""
    return backend.backend if isinstance(backend, Traced) else backend
