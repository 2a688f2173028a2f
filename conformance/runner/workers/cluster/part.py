"""What runs in a worker of a cluster: a part of a run, on a backend that stays open between the parts.

A worker of dask is a process that may die: nothing of a run lies on its machine, and what it finds goes back at the end of each part. What a search knows comes with
each part (``Selection.state``). Waivers and requirements are judged where the run was started (``Session.measure``, ``Session.conclude``), so that their files need not be
on any other machine.
"""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Timer
from time import perf_counter
from typing import Any

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.properties.causes import Cause
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.beyond import Work
from dmlcts.conformance.runner.planning.breaker import Breaker, ending_of
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import Selection
from dmlcts.conformance.runner.workers.cluster.likeness import Likeness, likeness_here
from dmlcts.conformance.runner.workers.search import PART, corpus_names, work_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import Ran, broken_result, not_run
from dmlcts.conformance.sequences.takes_part import performs_itself
from dmlcts.generator.case.case import Case
from dmlcts.reports.record.record import Result

_OPERATORS = 2
"""Of so many operators a worker keeps the cases that it has made: making them takes up to seconds, and it is given parts of the next one early."""

_IDLE = 60.0
"""Seconds after which a worker that gets no more parts closes the backend: whoever started the run may be gone."""


@dataclass(frozen=True, slots=True)
class Run:
    """What all parts of a run share: its ``name``, options as JSON, the contents of its case files, the backend's description, and what its machines must be like."""

    name: str
    options: str
    files: tuple[tuple[str, str], ...]
    described: BackendInfo
    likeness: Likeness


@dataclass(frozen=True, slots=True)
class Found:
    """What a part gave: the cases of an operator, or results by index, in the order in which they ran, and what has changed of the ``state`` that came with it.

    A drawn case that failed has a cause.
    """

    cases: tuple[Result, ...] = ()
    results: tuple[tuple[int, Result, Cause | None], ...] = ()
    seconds: float = 0.0
    state: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(eq=False)
class _Opened:
    """A backend that is open for a run. ``last`` is the case that it ran last."""

    run: Run
    session: Session
    selection: Selection
    folder: ExitStack
    made: OrderedDict[str, list[Work]] = field(default_factory=OrderedDict)
    last: Ran | None = None
    timer: Timer | None = None

    def cases(self, operator: str) -> list[Work]:
        """The selected cases of an operator."""
        if operator not in self.made:
            self.made[operator] = self.selection.work(operator)
        self.made.move_to_end(operator)
        while len(self.made) > _OPERATORS:
            self.made.popitem(last=False)
        return self.made[operator]

    def write_state(self, state: Mapping[str, bytes]) -> None:
        """Leaves in the output folder what came with a part, and nothing else of a search."""
        for name in (journal.FOLDER, *corpus_names(len(self.selection.options.corpus))):
            shutil.rmtree(self.out_folder / name, ignore_errors=True)
            (self.out_folder / name).mkdir(parents=True)
        for name, content in state.items():
            (self.out_folder / name).write_bytes(content)

    def read_changes(self, state: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files of the journal that differ from what came with a part."""
        found = {
            f"{journal.FOLDER}/{file.name}": file.read_bytes() for file in sorted((self.out_folder / journal.FOLDER).iterdir())
        }
        return {name: content for name, content in found.items() if content != state.get(name)}

    @property
    def out_folder(self) -> Path:
        """The output folder on this machine."""
        return Path(self.selection.options.out)

    def close(self) -> tuple[Ran | None, str]:
        """Closes the backend. Returns the case that it ran last, and what went wrong, empty if nothing did."""
        problem = self.session.close()
        self.folder.close()
        return self.last, problem


_idle: dict[str, list[_Opened]] = {}
_closed: dict[str, list[tuple[Ran | None, str]]] = {}
_ended: set[str] = set()
_lock = Lock()
"""The backends that are open and at nothing, by the name of their run; how those closed that were idle for long; the runs that have ended."""


def describe_backend(backend: str) -> tuple[BackendInfo, bool]:
    """The description of a backend, and whether it performs sequences itself. Raises BackendUnavailable."""
    opened = open_backend(backend)
    try:
        return opened.describe(), performs_itself(opened)
    finally:
        opened.close()


def call_alike(likeness: Likeness, function: Callable[[Any], Any], item: Any) -> Any:
    """What a function gives for an item. Raises UsageError if this machine is not like the one that asks."""
    if unlike := likeness.difference(likeness_here()):
        raise UsageError(f"a worker is not like this machine: {unlike}; install the same on all")
    return function(item)


def list_part(run: Run, operator: str, state: Mapping[str, bytes]) -> Found:
    """The selected cases of an operator, each as not run. Raises as ``run_part``, and what making them raises."""
    with _Borrowed(run) as opened:
        opened.write_state(state)
        opened.made.pop(operator, None)
        cases = tuple(map(not_run, opened.cases(operator)))
        return Found(cases=cases, state=opened.read_changes(state))


def run_part(run: Run, operator: str, state: Mapping[str, bytes], indices: Sequence[int]) -> Found:
    """The results of some cases of an operator, by their indices in its list: fewer than asked for where many in a row lose the host, or the run has ended.

    Raises:
        UsageError: this machine is not like the one on which the run was started.
        BackendUnavailable: the backend cannot be opened here, or describes itself otherwise.
    """
    with _Borrowed(run) as opened:
        opened.write_state(state)
        cases, results = opened.cases(operator), list[tuple[int, Result, Cause | None]]()
        breaker, started = Breaker(), perf_counter()
        for index in indices:
            if run.name in _ended or breaker.operators or breaker.run:
                break
            case = cases[index]
            try:
                result, cause = opened.session.measure(case)
            except BaseException as error:  # a spec, or the suite, may be wrong: that costs one case
                result, cause = broken_result(case, error), None
            if isinstance(case, Case):
                opened.selection.note(operator, case, result, PART)
            opened.last = Ran(operator, index, case.id)
            results.append((index, result, cause))
            breaker.on_ending(0, operator, ending_of(result))
        return Found(results=tuple(results), seconds=perf_counter() - started, state=opened.read_changes(state))


def end_run(name: str) -> list[tuple[Ran | None, str]]:
    """Closes what is open here for a run. Returns, for each, the case that it ran last, and what went wrong, empty if nothing did."""
    with _lock:
        _ended.add(name)
        left, closed = _idle.pop(name, []), _closed.pop(name, [])
    return [*closed, *(opened.close() for opened in left)]


class _Borrowed:
    """A context with a backend that is open for a run: one that is at nothing, or a new one."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> _Opened:
        with _lock:
            idle = _idle.get(self.run.name)
            opened = idle.pop() if idle else None
        if opened is None:
            opened = _open_for(self.run)
        elif opened.timer is not None:
            opened.timer.cancel()
        self.opened = opened
        return opened

    def __exit__(self, *_: object) -> None:
        opened, name = self.opened, self.run.name
        with _lock:
            if name not in _ended:
                _idle.setdefault(name, []).append(opened)
                opened.timer = Timer(_IDLE, _close_idle, (opened,))
                opened.timer.daemon = True
                opened.timer.start()
                return
        opened.close()


def _close_idle(opened: _Opened) -> None:
    """Closes what has been idle for long; ``end_run`` tells how that went."""
    name = opened.run.name
    with _lock:
        if opened not in _idle.get(name, []):
            return
        _idle[name].remove(opened)
    closed = opened.close()
    with _lock:
        _closed.setdefault(name, []).append(closed)


def _open_for(run: Run) -> _Opened:
    """Opens the backend for a run. Raises as ``run_part``."""
    options = RunOptions.from_json(run.options)
    if unlike := run.likeness.difference(likeness_here(options.backend)):
        raise UsageError(f"a worker is not like this machine: {unlike}; install the same on all")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="dmlcts-", ignore_cleanup_errors=True)))
        files = []
        for number, (name, text) in enumerate(run.files):
            files.append(folder / f"{number}-{Path(name).name}")
            files[-1].write_text(text, encoding="utf-8", newline="")
        corpora = tuple(str(folder / name) for name in corpus_names(len(options.corpus)))
        options = replace(options, out=str(folder), waivers=(), required=(), case_files=tuple(map(str, files)), corpus=corpora)
        session = Session(options)
        if change := run.described.change(session.info):
            session.close()
            raise BackendUnavailable(f"{options.backend}: it describes itself otherwise on this machine: {change}")
        return _Opened(run, session, work_of(options), stack.pop_all())
