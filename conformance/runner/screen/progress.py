"""Progress while cases run: a bar in a terminal, a line now and then in a log."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from dmlcts.conformance.runner.screen.terminal import count_of
from dmlcts.reports.record.record import PASS, STATUSES

_EVERY = 5.0
"""Seconds between two lines in a log."""


class Progress:
    """Counts cases as they are made and run. A context manager for the time of the run. ``endless``: there is no total."""

    def __init__(self, console: Console, quiet: bool = False, endless: bool = False) -> None:
        self.console, self.quiet, self.endless = console, quiet, endless
        self.terminal = console.is_terminal  # rich reads the environment each time that it is asked
        self.counts: Counter[str] = Counter()
        self.total = self.before = 0
        self.operators = self.made = 0
        self.last = monotonic()
        columns = (
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Bar(*columns, console=console, transient=True)
        self.task = self.bar.add_task("", total=None)

    def begin(self, operators: int, processes: int) -> None:
        """The run is about to start; the cases of no operator are made yet."""
        self.operators = operators
        if not self.quiet:
            where = f" in {count_of(processes, 'process', 'es')}" if processes else ""
            self.console.print(f"{count_of(operators, 'operator')}{where}")

    def __enter__(self) -> Self:
        if self.terminal and not self.quiet:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if not self.quiet:
            self.bar.stop()

    def on_cases(self, cases: int, done: int) -> None:
        """An operator's cases are made; ``done`` of them have a result from an earlier run."""
        self.made += 1
        self.total += cases
        self.before += done
        self._show()

    def on_result(self, status: str) -> None:
        """A case has a result."""
        self.counts[status] += 1
        self._show()

    def _show(self) -> None:
        if self.quiet:
            return
        now = monotonic()
        if not self.terminal and now - self.last <= _EVERY:
            return
        done = self.counts.total() + self.before
        if self.terminal:
            if now - self.last > 0.1 or done == self.total:
                self.last = now
                whole = self.whole
                part = "" if whole or self.endless else f"{self.made} of {count_of(self.operators, 'operator')} begun; "
                self.bar.update(
                    self.task, completed=done, total=self.total if whole else None, description=part + self.counts_text()
                )
        else:
            self.last = now
            of = "cases" if self.endless else f"of {self._total_text()}"
            self.console.print(f"{done:,} {of}: {self.counts_text()}")

    @property
    def whole(self) -> bool:
        """Whether all cases are made; never, if new ones are drawn on and on."""
        return self.made == self.operators and not self.endless

    def _total_text(self) -> str:
        """How many cases there are, as far as they are made."""
        if self.whole:
            return f"{self.total:,}"
        return f"{self.total:,} cases of {self.made} operators (of {self.operators})"

    def counts_text(self) -> str:
        """The counts so far: passes last, and nothing that is zero."""
        order = [status for status in STATUSES if status != PASS and self.counts[status]] + [PASS]
        return ", ".join(f"{self.counts[status]:,} {status.replace('_', ' ')}" for status in order)
