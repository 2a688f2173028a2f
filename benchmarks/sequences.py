"""What a run costs as the sequence that it stands for: ``python benchmarks/sequences.py``.

Cases of level smoke of six operators, each as a request to run and as one to perform what ``sequence_of`` makes of it, in turn and on the same host
for DirectML.dll: its processor time (that of its processes, which a busy machine does not lengthen) and the time that passes. One round of both comes
before, so that shaders are compiled. Nothing is asserted: a machine under load is no failure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from statistics import median
from time import perf_counter

import psutil
from directml import Host

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.execution.answers import answers_of
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.sequences.script import sequence_of
from dmlcts.conformance.sequences.takes_part.wire import perform_on_host
from dmlcts.generator.case.case import REFERENCE, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import operator_cases

ROUNDS = 5
OPERATORS = ("ELEMENT_WISE_ADD1", "CONVOLUTION", "GEMM", "REDUCE", "GRU", "JOIN")


def dispatches() -> list[Dispatch]:
    """One of each case that compares with the reference, laid out as in a run."""

    def laid_out(case: Case) -> Dispatch:
        given = inputs(case)
        return lay_out(case, given, next(iter(answers_of(case, given).values()))).dispatch

    every = (case for name in OPERATORS for case in operator_cases(name, "smoke"))
    return [laid_out(case) for case in every if case.level == "smoke" and case.expect == REFERENCE]


def processor_time() -> float:
    """Seconds that the processes below this one have used."""
    return sum(sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True))


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Processor time and the time that passed, in seconds."""
    before, start = processor_time(), perf_counter()
    work()
    return processor_time() - before, perf_counter() - start


def is_run(host: ProcessBackend, dispatch: Dispatch) -> bool:
    """Whether the host runs it: what vkd3d does not translate is left out."""
    try:
        host.run(dispatch)
    except Rejected:
        return False
    return True


def main() -> None:
    """Measures and prints."""
    with closing(Host("").open()) as host:
        chosen = [dispatch for dispatch in dispatches() if is_run(host, dispatch)]

        def run() -> None:
            for dispatch in chosen:
                host.run(dispatch)

        def perform() -> None:
            for dispatch in chosen:
                perform_on_host(host, sequence_of(dispatch)[0])

        run()
        perform()
        rounds = [(measured(run), measured(perform)) for _ in range(ROUNDS)]
    count = len(chosen)
    for index, what in enumerate(("processor time", "time")):
        one, other = (median(each[side][index] for each in rounds) / count * 1e3 for side in (0, 1))
        print(
            f"{what:15} a run {one:7.2f} ms, its sequence {other:7.2f} ms, {other / one:5.2f} x, medians of {ROUNDS}, {count} cases"
        )


if __name__ == "__main__":
    main()
