"""The cases that run other kernels than in an older run: the backend is asked for kernels without executing, and the others are left out.

A host that can compile without executing says so sooner (``execute`` in docs/process-protocol.md); one that cannot executes, and its results are
not looked at. What the older run says nothing of is run: cases that it did not have, rejections, and laws, whose data are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.runner.kernels.compiling import compile_case, is_one_dispatch
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selection_of
from dmlcts.generator.case.case import Case
from dmlcts.reports.record.paths import labels_of
from dmlcts.reports.record.record import BEYOND_OPERATORS, Record
from dmlcts.reports.record.verdict import count_of

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedCases:
    """The ``cases`` to run: those that run ``other`` kernels than before, and those of which the older run says nothing. ``same`` are left out."""

    cases: tuple[str, ...]
    other: int
    same: int

    @property
    def left_out(self) -> str:
        """A sentence about what is not run."""
        total = len(self.cases) + self.same
        return f"{self.same:,} of {count_of(total, 'selected case')} are left out, as they run the same kernels as before"

    @property
    def text(self) -> str:
        """What is run, and what is left out, in a line."""
        unknown = len(self.cases) - self.other
        return f"{self.other:,} run other kernels, of {unknown:,} the older run has none; {self.left_out}"


def changed_since(
    options: RunOptions, old: Record, each: Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]] = map
) -> ChangedCases:
    """What of the cases that options select runs other kernels than in an older record. ``each`` maps operators in this process, or in several.

    Raises:
        UsageError: as ``selection_of``. BackendUnavailable: the backend cannot be started.
    """
    backend = backend_of(options.backend)
    options = replace(options, feature_level=options.feature_level or backend.describe().feature_level)
    before: dict[str, dict[str, Labels]] = {}
    for result in old.results:
        if result.paths:
            before.setdefault(result.operator, {})[result.case] = labels_of(result.paths)
    tasks = [
        (options.to_json(), name, before.get(name, {})) for name in selection_of(options).operators if name not in BEYOND_OPERATORS
    ]
    found = list(each(changed_of, tasks))
    backend.close()
    backend_of.cache_clear()
    return ChangedCases(
        tuple(case for cases, _, _ in found for case in cases),
        sum(other for _, other, _ in found),
        sum(same for _, _, same in found),
    )


@cache
def backend_of(spec: str) -> Traced:
    """The backend, in a process of its own, opened once in this process."""
    return Traced(open_backend(separate_process(spec)))


def changed_of(task: tuple[str, str, Mapping[str, Labels]]) -> tuple[list[str], int, int]:
    """Of an operator's cases: the ids of those to run, how many of them run other kernels than before, and how many are left out."""
    text, operator, before = task
    options = RunOptions.from_json(text)
    selection = replace(selection_of(options), operators=(operator,))
    cases, other, same = list[str](), 0, 0
    for case, is_other in _compare_kernels(selection.cases(operator), before, backend_of(options.backend), options.timeout):
        if is_other is False:
            same += 1
            continue
        cases.append(case.id)
        other += is_other is True
    return cases, other, same


def _compare_kernels(
    cases: Iterable[Case], before: Mapping[str, Labels], backend: Traced, timeout: float
) -> Iterator[tuple[Case, bool | None]]:
    """Each case, with whether it runs other kernels than before; None where that is not known."""
    for case in cases:
        if case.id not in before or not is_one_dispatch(case):
            yield case, None
        else:
            backend.begin()
            compile_case(case, backend, backend.describe(), timeout)
            yield case, labels_of(backend.first()) != before[case.id]
