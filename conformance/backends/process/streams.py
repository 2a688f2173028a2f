"""Threads that write and read the pipes of a program, so that nobody waits for one for ever."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import FileIO
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Thread
from time import monotonic
from typing import Any

Pieces = Sequence[bytes | memoryview]
"""What is written, one after another."""

PIPE_SIZE = 1 << 20
"""Bytes of a pipe's buffer."""


class StreamThread:
    """A thread that does one task at a time on a stream, and closes the stream when it is stopped, as no other thread can."""

    def __init__(self, stream: FileIO) -> None:
        self.stream = stream
        self.tasks: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        self.results: SimpleQueue[Any] = SimpleQueue()
        self.thread = Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (task := self.tasks.get()) is not None:
            try:
                result = task()
            except Exception as error:  # any exception goes to the waiting thread
                result = error
            del task  # it holds the resources of a case
            self.results.put(result)
            del result
        with suppress(OSError):
            self.stream.close()

    def submit(self, task: Callable[[], Any]) -> None:
        """Gives it a task to do after those before."""
        self.tasks.put(task)

    def result(self, deadline: float) -> Any:
        """What the task returned or raised. Raises Empty at the deadline."""
        result = self.results.get(timeout=min(max(0.0, deadline - monotonic()), TIMEOUT_MAX))
        if isinstance(result, Exception):
            raise result
        return result

    def stop(self) -> None:
        """Ends it after the tasks that it has."""
        self.tasks.put(None)


def write_pieces(stream: FileIO, pieces: Pieces) -> None:
    """Writes all of them, however many bytes one write takes."""
    for piece in pieces:
        view = memoryview(piece)
        while len(view):
            view = view[stream.write(view) :]


def widen(stream: FileIO) -> None:
    """Enlarges a pipe's buffer, so that a large tensor needs fewer context switches. Linux only; may fail."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
