"""Progress while cases run: a bar in a terminal, a line now and then in a log."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from types import TracebackType
from typing import Self

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dmlcts.conformance.runner.collect import status_of
from dmlcts.conformance.runner.terminal import counted
from dmlcts.reports.record import PASS, STATUSES

_EVERY = 5.0
"""Seconds between two lines in a log."""


class Progress:
    """Counts results as they come in. A pytest plugin, and a context manager for the time of the run."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self.console, self.quiet = console, quiet
        self.counts: Counter[str] = Counter()
        self.total = 0
        self.last = monotonic()
        columns = (
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Bar(*columns, console=console, transient=True)

    def begin(self, total: int, processes: int) -> None:
        """The run is about to start."""
        self.total = total
        if not self.quiet:
            where = f" in {counted(processes, 'process', 'es')}" if processes else ""
            self.console.print(f"{counted(total, 'case')}{where}")

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self.quiet:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if not self.quiet:
            self.bar.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """pytest: a case is done."""
        self.counts[status_of(report)] += 1
        if self.quiet:
            return
        now, done = monotonic(), self.counts.total()
        if self.console.is_terminal:
            if now - self.last > 0.1 or done == self.total:
                self.last = now
                self.bar.update(self.task, completed=done, description=self.counts_text())
        elif now - self.last > _EVERY:
            self.last = now
            self.console.print(f"{done:,} of {self.total:,}: {self.counts_text()}")

    def counts_text(self) -> str:
        """The counts so far: passes last, and nothing that is zero."""
        order = [status for status in STATUSES if status != PASS and self.counts[status]] + [PASS]
        return ", ".join(f"{self.counts[status]:,} {status.replace('_', ' ')}" for status in order)
