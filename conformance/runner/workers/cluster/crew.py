"""The workers of a cluster, reached through dask.distributed: who is there, and what they are asked to do.

Dask connects, encrypts, moves functions and results, and notices workers that die; each worker offers a resource, of which a task takes one, so that an adapter
is used by one task at a time, whoever else uses the cluster. Which cases go where, and what is tried again, is decided in conformance/runner/workers/cluster/pool.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from dmlcts.conformance.backends.backend import BackendUnavailable, Elsewhere
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster.address import Cluster
from dmlcts.conformance.runner.workers.cluster.likeness import Likeness, likeness_here
from dmlcts.conformance.runner.workers.cluster.part import describe_backend

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

CONNECTING = 30.0
"""Seconds in which a scheduler must answer."""

WITHOUT_WORKERS = 60.0
"""Seconds that a run waits for a worker when none is left. Then it ends, and can go on later."""

_LOOK = 1.0
"""Seconds between two looks at who is there."""


class Crew:
    """The workers that offer the resource. Made by ``connect``."""

    def __init__(self, cluster: Cluster, client: Client) -> None:
        self.cluster, self.client = cluster, client
        self.events: SimpleQueue[Future[Any]] = SimpleQueue()
        self._places: dict[str, int] = {}
        self._looked = self._seen = monotonic() - WITHOUT_WORKERS

    def places(self) -> dict[str, int]:
        """The workers that are there, each with how many tasks it takes at once.

        Raises BackendUnavailable if the scheduler is gone, or there has been no worker for a while.
        """
        now = monotonic()
        if now - self._looked < _LOOK:
            return self._places
        self._looked = now
        self._places = {
            address: slots
            for address, worker in self._workers().items()
            if (slots := min(int(worker["resources"].get(self.cluster.resource, 0)), worker["nthreads"])) > 0
        }
        if self._places:
            self._seen = now
        elif now - self._seen >= WITHOUT_WORKERS:
            raise BackendUnavailable(
                f"no worker of {self.cluster.address} offers the resource {self.cluster.resource}; "
                f'start some with: dask worker {self.cluster.address} --nthreads 1 --resources "{self.cluster.resource}=1"'
            )
        return self._places

    @property
    def slots(self) -> int:
        """How many tasks its workers take at once."""
        return sum(self.places().values())

    def _workers(self) -> dict[str, Any]:
        try:
            if self.client.status == "running":
                found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
                return found
        except (OSError, ValueError, RuntimeError):  # whatever dask says of a connection that ends
            pass
        raise self.lost_error()

    def lost_error(self) -> BackendUnavailable:
        """The error for a scheduler that is gone."""
        return BackendUnavailable(
            f"the scheduler {self.cluster.address} is gone; what has run is kept: the same command with --resume goes on with a run, and `dmlcts report` reads a search"
        )

    def check_likeness(self, backend: str = "") -> Likeness:
        """That of this machine, which each worker has too. Raises UsageError for one that is not like it, BackendUnavailable if it cannot tell."""
        here = likeness_here(backend)
        try:
            found = self.client.run(likeness_here, backend, workers=list(self.places()), on_error="return")
        except (OSError, ValueError, RuntimeError):  # whatever dask says of a connection that ends
            raise self.lost_error() from None
        for address, other in found.items():
            if not isinstance(other, Likeness):
                raise BackendUnavailable(
                    f"the worker {address} cannot run the suite: {other!r}; install directml-conformance there, the same version"
                )
            if unlike := here.difference(other):
                raise UsageError(f"the worker {address} is not like this machine: {unlike}; install the same on all")
        return here

    def describe(self, backend: str) -> Elsewhere:
        """A backend as one of the workers describes it. Raises BackendUnavailable if it cannot be opened there."""
        return Elsewhere(*self.call(describe_backend, backend))

    def submit(self, place: str, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Has a worker call a function, and no other if it dies. When that has ended, in whatever way, the future is in ``events``."""
        future = self.client.submit(
            function, *arguments, workers=[place], resources={self.cluster.resource: 1}, pure=False, retries=0
        )
        future.add_done_callback(self.events.put)
        return future

    def next_event(self, seconds: float) -> Future[Any] | None:
        """The next future that has ended; None if none does in time. Without a limit, Windows would not notice Ctrl-C."""
        try:
            return self.events.get(timeout=seconds)
        except Empty:
            return None

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function gives on any of the workers. Raises as ``map``."""
        (found,) = self._collect([self._submit_anywhere(function, *arguments)])
        return found

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """What a function gives for each item, in order, on any of the workers; a worker that dies costs its items another try.

        Raises what the function raises, and BackendUnavailable where workers die again and again, or the scheduler is gone.
        """
        return self._collect([self._submit_anywhere(function, item) for item in items])

    def run_each(self, function: Callable[[Any], T], items: Iterator[Any]) -> Iterator[T]:
        """What a function gives for each item, as it comes, on any of the workers; an item is made when a worker is free for it. Raises as ``map``."""
        running = set[Any]()
        while True:
            self.places()
            while len(running) < self.slots and (item := next(items, None)) is not None:
                running.add(self._submit_anywhere(function, item))
            if not running:
                return
            if (future := self.next_event(_LOOK / 2)) is not None and future in running:
                running.discard(future)
                yield self._result_of(future)

    def _submit_anywhere(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future = self.client.submit(function, *arguments, resources={self.cluster.resource: 1}, pure=False)
        future.add_done_callback(self.events.put)
        return future

    def _collect(self, futures: Sequence[Future[Any]]) -> Iterator[Any]:
        for future in futures:
            while not future.done():
                self.places()
                self.next_event(_LOOK / 2)
            yield self._result_of(future)

    def _result_of(self, future: Future[Any]) -> Any:
        """What a future that has ended gives. Raises as ``map``."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        try:
            return self.ask_for(future.result)
        except KilledWorker as error:
            raise BackendUnavailable(f"workers of {self.cluster.address} died again and again: {error}") from None
        except FutureCancelledError:
            raise self.lost_error() from None

    def ask_for(self, get: Callable[[], T]) -> T:
        """What dask gives of a future that has ended, for which it asks the scheduler. Raises BackendUnavailable if that is gone, and what ``get`` raises."""
        from distributed.comm.core import CommClosedError

        try:
            return get()
        except CommClosedError:
            raise self.lost_error() from None

    def tell(self, function: Callable[..., Any], *arguments: Any, wait: bool) -> list[Any]:
        """Has every worker call a function, at once, whatever else it is at. Returns what those gave that answered; nothing without ``wait``."""
        try:
            found = self.client.run(function, *arguments, workers=list(self.places()), wait=wait, on_error="ignore")
        except (OSError, ValueError, RuntimeError, BackendUnavailable):
            return []
        return list(found.values()) if wait else []


@contextmanager
def connect(cluster: Cluster) -> Iterator[Crew]:
    """The workers of a cluster, until the context is left.

    Raises:
        UsageError: dask.distributed is not installed.
        BackendUnavailable: the scheduler does not answer, or no worker offers the resource.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(f"--cluster needs dask.distributed ({error}): pip install 'directml-conformance[cluster]'") from None
    for name in ("distributed", "distributed.client", "distributed.core", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # a lost connection has a message of our own
    try:
        client = Client(cluster.address, timeout=CONNECTING, set_as_default=False)
    except Exception as error:  # of TLS without certificates, dask says a TypeError
        raise BackendUnavailable(f"the scheduler {cluster.address} does not answer: {error}") from None
    try:
        crew = Crew(cluster, client)
        crew.places()
        yield crew
    finally:
        with suppress(OSError, ValueError, RuntimeError):
            client.close(timeout=2)
