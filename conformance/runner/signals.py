"""Signals that end a run like Ctrl-C: a canceled CI job, ``docker stop``, a closed terminal. Results so far are kept and reported."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""The signals, where the platform has them. SIGINT is Python's own."""


class StopSignal:
    """Which signal came first; 0 for none, or for Ctrl-C alone."""

    number = 0

    def exit_code(self, otherwise: int) -> int:
        """128 plus the signal's number, as in a shell; ``otherwise`` if none came."""
        return 128 + self.number if self.number else otherwise


@contextmanager
def as_interrupt() -> Iterator[StopSignal]:
    """Within, each of the signals raises KeyboardInterrupt in the main thread, once; later ones are ignored.

    A signal that is ignored already, as SIGHUP under nohup, stays so.
    """
    stopped = StopSignal()

    def raise_interrupt(number: int, frame: FrameType | None) -> None:
        if not stopped.number:
            stopped.number = number
            raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, raise_interrupt) for number in numbers}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
