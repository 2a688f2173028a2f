"""What it costs to name kernels, and whether that changes a result: ``python benchmarks/kernels.py [OPERATOR...] [--without COMMAND]``.

Some cases of level core of each OPERATOR (30 of all kinds by default) run on the prepared host for DirectML.dll with code paths and without, in turn:

- **bytes**: of each dispatch, all resources afterwards, or the refusal, must be the same. Of properties, which dispatch what earlier answers say, every dispatch counts;
- **cost**: medians of the processor time, the suite's and the host's apart.

"Without" is the same host, which is not asked, or COMMAND: a host of the process protocol, such as a build from before there were hooks. ``{HOST}`` in it stands for the prepared command, in
which ``--replace OLD=NEW`` replaces a part.

Exit codes: 0 the same bytes, 1 other bytes. The cost is no test: a machine under load is no failure.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from statistics import median
from time import process_time

from directml import Host

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.process.patience import processor_time
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import operator_cases

OPERATORS = (
    "ACTIVATION_RELU", "ACTIVATION_SOFTMAX1", "ARGMAX", "AVERAGE_POOLING", "BATCH_NORMALIZATION", "CAST", "CONVOLUTION", "CUMULATIVE_SUMMATION",
    "DEPTH_TO_SPACE", "DIAGONAL_MATRIX", "ELEMENT_WISE_ADD1", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_CLIP", "ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_QUANTIZE_LINEAR",
    "FILL_VALUE_SEQUENCE", "GATHER", "GEMM", "GRU", "JOIN", "LSTM", "MAX_POOLING", "MEAN_VARIANCE_NORMALIZATION", "ONE_HOT", "PADDING", "REDUCE", "RESAMPLE", "SCATTER",
    "SLICE1", "TOP_K",
)  # fmt: skip


@dataclass
class Noted:
    """A backend that notes, by case, a digest of everything that its dispatches left behind."""

    backend: ProcessBackend
    digests: dict[str, list[str]] = field(default_factory=dict)
    case: str = ""

    def describe(self) -> BackendInfo:
        """The backend's description."""
        return self.backend.describe()

    def run(self, dispatch: Dispatch) -> None:
        """Executes a dispatch, and notes what it left behind. Raises as the backend does."""
        answered = "ok"
        try:
            self.backend.run(dispatch)
        except (Rejected, Unsupported, BackendFault) as answer:
            answered = f"{type(answer).__name__} {answer} {getattr(answer, 'code', '')}"
            raise
        finally:
            found = sha256(answered.encode())
            for resource in dispatch.resources:
                found.update(resource)
            self.digests.setdefault(self.case, []).append(found.hexdigest())

    def close(self) -> None:
        """Closes the backend."""
        self.backend.close()

    def host_seconds(self) -> float:
        """The processor time of the host that runs."""
        host = self.backend._host
        return processor_time(host.popen.pid) if host is not None else 0.0


def run_cases(backend: Noted, cases: Sequence[Case], with_paths: bool) -> tuple[float, float]:
    """The seconds of processor time of the suite and of the host that some cases take."""
    session = Session(RunOptions(level="core", paths=with_paths), backend)
    backend.digests.clear()
    own, host = process_time(), backend.host_seconds()
    for case in cases:
        backend.case = case.id
        session.run(case)
    return process_time() - own, backend.host_seconds() - host


def compare(
    operator: str, pair: Mapping[bool, Noted], most: int, times: int
) -> tuple[int, int, list[str], dict[bool, list[tuple[float, float]]]]:
    """The cases and dispatches of an operator, the cases that left other bytes, and the times of both."""
    every = operator_cases(operator, "core")
    cases = every[:: max(1, len(every) // most)]
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    other: set[str] = set()
    for with_paths in pair:  # once, so that all shaders are compiled
        run_cases(pair[with_paths], cases, with_paths)
    for turn in range(times):
        for with_paths in (True, False) if turn % 2 else (False, True):
            found[with_paths].append(run_cases(pair[with_paths], cases, with_paths))
        other |= {case.id for case in cases if pair[True].digests.get(case.id) != pair[False].digests.get(case.id)}
    return len(cases), sum(map(len, pair[True].digests.values())), sorted(other), found


def main(operators: Sequence[str], without: str, replaced: str, most: int, times: int) -> int:
    """Prints a line an operator; returns the exit code."""
    own, other = Host(""), Host("")
    if without:
        old, _, new = replaced.partition("=")
        command = [word.replace(old, new) if old else word for word in own.argv]
        other = Host(without)
        other.argv = [part for word in other.argv for part in (command if word == "{HOST}" else [word])]
        other.environment = own.environment
    cases, dispatches, different, sums = 0, 0, list[str](), {True: [0.0, 0.0], False: [0.0, 0.0]}
    with closing(own.open()) as asked, closing(other.open()) as unasked:
        pair = {True: Noted(asked), False: Noted(unasked)}
        for operator in operators:
            count, ran, wrong, found = compare(operator, pair, most, times)
            cases, dispatches, different = cases + count, dispatches + ran, different + wrong
            for with_paths, seconds in found.items():
                for at in (0, 1):
                    sums[with_paths][at] += median(each[at] for each in seconds)
            times_of = {w: [median(each[at] for each in found[w]) for at in (0, 1)] for w in found}
            print(
                f"{operator:30} {count:5} cases {ran:6} dispatches {len(wrong):4} with other bytes   {_cost_text(times_of)}",
                flush=True,
            )
    print(f"{'together':30} {cases:5} cases {dispatches:6} dispatches {len(different):4} with other bytes   {_cost_text(sums)}")
    for case in different[:20]:
        print(f"  other bytes: {case}")
    return 1 if different else 0


def _cost_text(seconds: Mapping[bool, Sequence[float]]) -> str:
    """The suite's and the host's seconds with code paths, and how much more both together are than without."""
    (own, host), before = seconds[True], sum(seconds[False])
    return f"suite {own:6.2f} s ({own - seconds[False][0]:+.2f}), host {host:6.2f} s ({host - seconds[False][1]:+.2f}): {(own + host) / before - 1:+.1%}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", default=OPERATORS)
    parser.add_argument("--without", default="", metavar="COMMAND")
    parser.add_argument("--replace", default="", metavar="OLD=NEW")
    parser.add_argument("--most", type=int, default=60, help="cases of an operator")
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    sys.exit(main(given.operators, given.without, given.replace, given.most, given.times))
