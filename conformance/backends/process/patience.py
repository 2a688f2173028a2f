"""How long an answer is awaited: a host that is slow has longer than one that hangs.

A host that reports progress is believed (docs/process-protocol.md). Of any other the processor time is looked at, its own and that of the processes below it: it
grows while a host works, on a processor at least, and does not while it waits for what never comes. An endless loop looks like work,
so that patience has an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic

PATIENCE, QUIET = 4.0, 10.0
"""A host that works has so many times its limit for an answer, as long as no two signs of work are more than so many seconds apart."""

LEAST_WORK = 0.02
"""Seconds of processor time in a second that are work, and the least of a look: clocks tick every 16 ms. An idle interpreter uses a hundredth of it."""


class Patience:
    """The wait for one answer, from now on. ``used`` gives the host's processor time in seconds; None if it reports progress itself, or has none to show.

    ``at`` is what a host that reports was doing last; it is empty without a report.
    """

    def __init__(self, limit: float, used: Callable[[], float] | None = None) -> None:
        self.limit, self.begun = limit, monotonic()
        self.at = ""
        self._used, self._worked, self._work = used, float("-inf"), 0.0
        self._quiet = QUIET if used is None else min(QUIET, limit / 3)

    def on_progress(self, at: str) -> None:
        """The host reports that it came forward."""
        self.at, self._worked = at, monotonic()

    def deadlines(self) -> Iterator[float]:
        """Until when to wait, and after each of them, as long as the host works, until when to wait on."""
        if self._used is not None:
            yield from self._deadlines_of_processor(self._used)
            return
        yield self.begun + self.limit
        while (until := min(self._last, self._worked + self._quiet)) > monotonic():
            yield until

    def _deadlines_of_processor(self, used: Callable[[], float]) -> Iterator[float]:
        """The first look is a while before the limit, so that a hang costs no more than its limit."""
        yield self.begun + self.limit - self._quiet
        first = before = used()
        looked = monotonic()
        while looked < self._last:
            yield min(looked + self._quiet, self._last)
            now, moment = used(), monotonic()
            if now - before < max(LEAST_WORK, LEAST_WORK * (moment - looked)):
                return
            before, looked = now, moment
            self._worked, self._work = moment, now - first

    @property
    def _last(self) -> float:
        return self.begun + PATIENCE * self.limit

    @property
    def is_slow(self) -> bool:
        """Whether the host still worked at the end of all patience."""
        return self._worked + self._quiet > monotonic() >= self._last

    def silence(self) -> str:
        """Why an answer is not awaited any longer."""
        if self._worked < self.begun:
            return f"no answer within {self.limit:g} s"
        doing = f"at {self.at}" if self.at else f"and used {self._work:.3g} s of processor time since its limit came near"
        if self.is_slow:
            return f"slow: no answer within {PATIENCE * self.limit:g} s, {PATIENCE:g} times the limit; it still worked, {doing}"
        waited = max(self.limit, monotonic() - self.begun)
        was = f"it was at {self.at}" if self.at else "it had used its processor until then"
        return f"no answer within {waited:.3g} s, and no sign of work for the last {self._quiet:.3g} s; {was}"


def processor_time(process: int) -> float:
    """The seconds of processor time that a process and those below it have used; 0 for what is gone, or may not be looked at."""
    import psutil

    found = 0.0
    with suppress(psutil.Error, OSError):
        top = psutil.Process(process)
        for each in (top, *top.children(recursive=True)):
            with suppress(psutil.Error, OSError):
                found += sum(each.cpu_times()[:4])  # user and system, on Linux and macOS also of children that ended
    return found
