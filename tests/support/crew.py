"""Workers of a cluster in this process, without dask, for tests of what a run gives to whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster import part
from dmlcts.conformance.runner.workers.cluster.likeness import Likeness, likeness_here


class Future:
    """What dask gives for a task: here it has ended as soon as it is asked for."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self.status, self._run = "pending", run

    def end(self) -> None:
        try:
            self.found, self.status = self._run(), "finished"
        except (UsageError, BackendUnavailable) as error:
            self.error, self.status = error, "error"

    def result(self) -> Any:
        return self.found

    def exception(self) -> Exception:
        return self.error

    def cancel(self) -> None:
        self.status = "cancelled"

    def release(self) -> None:
        """Nothing is held."""


class Crew:
    """Workers in this process: ``fatal`` says of a part whether its worker dies of it, which is seen at the next look."""

    def __init__(self, workers: int, fatal: Callable[[str, tuple[int, ...]], bool] = lambda operator, indices: False) -> None:
        self.there = {f"worker-{number}": 1 for number in range(workers)}
        self.fatal, self.started = fatal, workers
        self.handed_out: list[tuple[str, tuple[int, ...]]] = []
        self.waiting: list[tuple[str, Future, str, tuple[int, ...]]] = []
        self.deaths = 0
        self.lost = list[int]()  # with each death, the parts that waited at that worker

    def places(self) -> dict[str, int]:
        return dict(self.there)

    def check_likeness(self, backend: str) -> Likeness:
        return likeness_here(backend)

    def ask_for(self, get: Callable[[], Any]) -> Any:
        return get()

    def submit(
        self, place: str, function: Callable[..., Any], run: part.Run, operator: str, state: dict[str, bytes], *more: Any
    ) -> Future:
        future = Future(lambda: function(run, operator, state, *more))
        indices = more[0] if more else ()
        self.handed_out.append((place, indices))
        self.waiting.append((place, future, operator, indices))
        return future

    def next_event(self, seconds: float) -> Future | None:
        place, future, operator, indices = self.waiting.pop(0)
        if self.fatal(operator, indices):
            self.deaths += 1
            del self.there[place]
            self.there[f"worker-{self.started}"] = 1  # dask starts another
            self.started += 1
            self.lost.append(sum(each[0] == place for each in self.waiting))
            self.waiting = [each for each in self.waiting if each[0] != place]
            return None
        future.end()
        return future

    def tell(self, function: Callable[..., Any], *arguments: Any, wait: bool) -> list[Any]:
        return [function(*arguments)] if wait else []
