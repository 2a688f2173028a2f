"""A host's standard error: its last bytes are kept, and which of them were written since a request began.

A host that rejects a desc writes the reason before it answers. The answer may be read first, since the two come through different pipes. On
POSIX, whoever asks first reads what is in the pipe, so that a reason is never missed. On Windows, where no pipe can be asked whether it holds
anything, the thread that reads is given some milliseconds.
"""

from __future__ import annotations

import os
import select
from io import FileIO
from threading import RLock
from time import sleep

from dmlcts.spec.untrusted import sanitize

KEPT, SHOWN = 4096, 2048
"""How many bytes are kept, and how many of those are shown of one request: a backend may reject every case of a run."""

_READ, _READS = 1 << 16, 64
"""Bytes of one read, and how often a pipe is read before an answer is believed to be all: another program may write to it for ever."""

_PATIENCE = 0.005
"""Seconds for the thread that reads, on Windows."""


class StandardError:
    """The end of a stream that a thread reads by ``follow``. All else may be called by another thread."""

    def __init__(self, stream: FileIO) -> None:
        self._stream, self._lock = stream, RLock()
        self._kept, self._count, self._ended = bytearray(), 0, False

    def follow(self) -> None:
        """Reads until the stream ends."""
        while not self._ended:
            if _CAN_POLL:
                _holds_something(self._stream, None)
                self._read_what_is_there()
            else:
                self._keep(self._stream.read(_READ))

    def mark(self) -> int:
        """How many bytes have come: what is written from now on comes after this."""
        if _CAN_POLL:
            self._read_what_is_there()
        return self._count

    def lines_since(self, mark: int) -> str:
        """The last whole lines, SHOWN bytes at most, of what was written since ``mark`` was returned. Clean text."""
        if _CAN_POLL:
            self._read_what_is_there()
        else:
            sleep(_PATIENCE)
        with self._lock:
            new = self._count - mark
            data = bytes(self._kept[-min(new, SHOWN) :]) if new else b""
        _, newline, rest = data.partition(b"\n")
        return text_of(rest if newline and new > SHOWN else data).strip()

    def text(self) -> str:
        """The last KEPT bytes. Clean text."""
        with self._lock:
            return text_of(bytes(self._kept))

    def _read_what_is_there(self) -> None:
        with self._lock:
            for _ in range(_READS):
                if self._ended or not _holds_something(self._stream, 0):
                    return
                self._keep(self._stream.read(_READ))

    def _keep(self, chunk: bytes | None) -> None:
        with self._lock:
            self._ended = not chunk
            self._kept += chunk or b""
            del self._kept[:-KEPT]
            self._count += len(chunk or b"")


_CAN_POLL = os.name == "posix"


def _holds_something(stream: FileIO, seconds: float | None) -> bool:
    """Whether a read would not wait: there is something, or the end."""
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def text_of(data: bytes) -> str:
    """What a host wrote, as clean text."""
    return sanitize.block(data.decode("utf-8", "replace"))
