"""What running cases costs besides the cases: ``python benchmarks/harness.py``.

Medians of three, on the reference:

- start-up: ``dmlcts --help``, and a run of one case, from nothing to the reports;
- cases a second of level core from nothing to the reports, in one process (-n 0) and in two (-n 2), and of level full on every basis in two;
- the harness's own cost of a small case (no property case) of a few operators: everything from the selection to the reports that is neither
  making its data, nor computing the right answer, nor the backend's run; its ratio to those three, and its share of the whole.

Nothing is asserted: a machine under load is no failure.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest import mock

TIMES = 3
SMALL = "not property and (ELEMENT_WISE_ADD or ELEMENT_WISE_BIT_OR or ELEMENT_WISE_QUANTIZE_LINEAR or ACTIVATION_SIGMOID or ACTIVATION_SOFTMAX1)"
DMLCTS = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")


def seconds(work: Callable[[], object]) -> float:
    """The median time of ``work``."""
    found = []
    for _ in range(TIMES):
        start = perf_counter()
        work()
        found.append(perf_counter() - start)
    return median(found)


def dmlcts(*arguments: str) -> float:
    """The median time of a command in a process of its own. Raises CalledProcessError if it fails."""
    return seconds(lambda: subprocess.run([*DMLCTS, *arguments], check=True, stdout=subprocess.DEVNULL))


class Clock:
    """Adds up the time spent in functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted."""

        def call(*arguments: Any, **named: Any) -> Any:
            start = perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += perf_counter() - start

        return call


@contextmanager
def work_timed() -> Iterator[Clock]:
    """Times what a case is about: its data, the right answer, and the backend's run."""
    from dmlcts.conformance.backends.reference import ReferenceBackend
    from dmlcts.conformance.execution import answers, execute

    clock = Clock()
    with (
        mock.patch.object(execute, "case_inputs", clock.timed(execute.case_inputs)),
        mock.patch.object(answers, "compute", clock.timed(answers.compute)),
        mock.patch.object(ReferenceBackend, "run", clock.timed(ReferenceBackend.run)),
    ):
        yield clock


def cost_of_a_case(folder: Path) -> tuple[float, float]:
    """The harness's seconds a small case, and those of the work; the cases themselves are made before."""
    from rich.console import Console

    from dmlcts.conformance.runner.folder import journal
    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.run import run
    from dmlcts.conformance.runner.screen.progress import Progress
    from dmlcts.reports import write_all

    options = RunOptions(expression=SMALL, out=str(folder))

    def once() -> tuple[float, float]:
        with work_timed() as clock:
            start = perf_counter()
            record = run(options, 0, Progress(Console(file=StringIO()), quiet=True))
            write_all(record, folder)
            journal.end(folder)
            whole = perf_counter() - start
        return (whole - clock.seconds) / len(record.results), clock.seconds / len(record.results)

    once()
    found = [once() for _ in range(TIMES)]
    return median(harness for harness, _ in found), median(work for _, work in found)


def main() -> None:
    """Measures and prints."""
    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.planning.selection import selected_cases

    core, full = (len(selected_cases(options)) for options in (RunOptions(), RunOptions(level="full", basis="measured")))
    one = selected_cases(RunOptions(expression=SMALL))[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = ("run", "--quiet", "--out", name)
        print(f"dmlcts --help                      {dmlcts('--help'):7.2f} s")
        print(f"dmlcts run, one case               {dmlcts(*run, '--case', one.id):7.2f} s")
        for label, cases, options in (
            ("core, -n 0", core, ("-n", "0")),
            ("core, -n 2", core, ("-n", "2")),
            ("full, -n 2", full, ("-n", "2", "--level", "full", "--basis", "measured")),
        ):
            taken = dmlcts(*run, *options)
            print(f"{label}, {cases:,} cases           {taken:7.2f} s {cases / taken:8,.0f} cases a second, start to end")
        harness, work = cost_of_a_case(folder)
    print(f"harness, a small case              {harness * 1e3:7.3f} ms {harness / work:8.2f} x the work (data, answer, backend)")
    print(f"share of the harness               {harness / (harness + work) * 100:7.1f} %")
    print(f"work, a small case                 {work * 1e3:7.3f} ms")


if __name__ == "__main__":
    main()
