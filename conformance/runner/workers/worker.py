"""Makes the cases of operators and runs them on a session, in this process or as a worker process of conformance/runner/workers/pool.

A worker process is ``python -m dmlcts.conformance.runner.workers.worker``. It reads a JSON array a line from standard input and writes one a line to
standard output:

| to the worker | from the worker |
|---|---|
| process name, options as JSON, the backend's description as the run has it (the first line) | ``ready``, or ``unavailable`` and the reason |
| ``list``, operator | ``listed``, the ids of its selected cases; or ``broken`` and the traceback |
| ``run``, operator, indices in that list | ``began``, then ``ran``, the status, whether the cause is known, and the ending (breaker), a line for each case |
| ``leave``, operator | ``left``, operator, once it runs no case of it any more |
| any | ``unwritable`` and why, if the journal cannot be written: it ends then |
| the end of its input | ``closed`` and what went wrong, empty if its backend has closed |

The end of its input ends it: also when the process that started it was killed.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from time import sleep
from traceback import format_exception
from typing import Any, TextIO

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.properties.causes import CAUSE
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.beyond import Work
from dmlcts.conformance.runner.planning.breaker import Ending, ending_of
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import Selection
from dmlcts.conformance.runner.workers.search import work_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.graphs.case import graph_not_run
from dmlcts.conformance.sequences.promises.judge import promise_not_run
from dmlcts.conformance.sequences.promises.promise import Promise
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase
from dmlcts.reports.record.record import ERROR, NOT_RUN, Lines, Result
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.writing.files import WriteError, writing_to

GRACE = 10.0
"""Seconds that a process has to finish its case and to close its backend after its input has ended. Then it is killed."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A case that was run: its operator, its index in the operator's list, and its id."""

    operator: str
    index: int
    case: str


class Worker:
    """Makes and runs the cases of a selection. A context manager: leaving it closes its file of results. ``last`` is the case that it ran last."""

    def __init__(self, session: Session, selection: Selection, folder: Path, process: str) -> None:
        self.session, self.selection, self.folder, self.process = session, selection, folder, process
        self.process_id = os.getpid()
        self.made: dict[str, list[Work]] = {}
        self.stream: TextIO | None = None
        self.lines: Lines | None = None
        self.last: Ran | None = None

    def cases(self, operator: str) -> list[Work]:
        """The selected cases of an operator, made once as long as no other's are asked for."""
        if operator not in self.made:
            gc.unfreeze()
            self.made = {operator: self.selection.work(operator)}
            gc.freeze()  # so many objects stay: a collection that goes through them takes a part of a second
        return self.made[operator]

    def list_cases(self, operator: str) -> list[str]:
        """Makes the cases of an operator, notes them in the journal as not run, and returns their ids."""
        cases = self.cases(operator)
        journal.write_list(self.folder, self.selection.number(operator), map(not_run, cases))
        return [case.id for case in cases]

    def run(self, operator: str, index: int) -> tuple[str, bool, Ending]:
        """Runs a case and writes its result to the journal if it is kept. Returns the status, whether it is of a known cause, and how the case ended."""
        if self.stream is None or self.lines is None:
            with writing_to(self.folder):
                self.stream = (self.folder / journal.RAN.format(process=self.process)).open("a", encoding="utf-8", newline="\n")
            self.lines = Lines(self.stream)
        case = self.cases(operator)[index]
        result = result_in(self.session, case)
        if os.getpid() != self.process_id:
            os._exit(0)  # the backend called fork, and this is the child: the parent goes on
        if isinstance(case, Case):
            self.selection.note(operator, case, result, self.process)
        is_known = CAUSE in result.evidence
        if self.selection.keeps(operator, result.status, is_known):
            with writing_to(self.folder):
                self.lines.result(result)
                self.stream.flush()
        self.last = Ran(operator, index, case.id)
        return result.status, is_known, ending_of(result)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        gc.unfreeze()
        if self.stream is not None:
            with writing_to(self.folder):  # what could not be written is tried once more
                self.stream.close()


def result_in(session: Session, case: Work) -> Result:
    """The result of a case. An error in the spec or in the suite itself costs this case, not the run."""
    try:
        return session.run(case)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a backend in this process may raise anything
        return session.settle(broken_result(case, error))


def broken_result(case: Work, error: BaseException) -> Result:
    """The result of a case that ended in an error of the spec or of the suite."""
    if isinstance(error, SpecError):
        return replace(not_run(case), status=ERROR, message=f"the spec is wrong: {sanitize.line(error)}")
    evidence = {"traceback": sanitize.block("".join(format_exception(error)[-6:]))}
    message = f"internal error of the suite (please report it): {sanitize.error_line(error)}"
    return replace(not_run(case), status=ERROR, message=message, evidence=evidence)


def not_run(case: Work) -> Result:
    """The result of a case that was selected and has not run."""
    if isinstance(case, Promise):
        return promise_not_run(case)
    if isinstance(case, GraphCase):
        return graph_not_run(case)
    return Result(case.id, case.operator.name, case.data_type, case.kind, case.basis, case.feature_level, NOT_RUN, "not run")


def main() -> None:
    """A worker process, to its end."""
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    commands = os.fdopen(os.dup(0), encoding="utf-8", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what a backend reads or prints, and what its children inherit, is none of ours
    os.dup2(2, 1)

    def say(*message: Any) -> None:
        messages.write(json.dumps(message) + "\n")
        messages.flush()

    process, options, described = json.loads(commands.readline())
    queue: SimpleQueue[list[Any] | None] = SimpleQueue()
    Thread(target=_read, args=(commands, queue), daemon=True).start()
    run_options = RunOptions.from_json(options)
    out = Path(run_options.out).absolute()  # a backend may change the current folder
    selection = work_of(replace(run_options, out=str(out)))
    try:
        session = Session(run_options)
        if change := BackendInfo.from_json(described).change(session.info):
            session.close()
            raise BackendUnavailable(f"{run_options.backend}: it describes itself otherwise in another process: {change}")
    except BackendUnavailable as error:
        say("unavailable", str(error))
        return
    say("ready")
    with session:
        try:
            with Worker(session, selection, out / journal.FOLDER, process) as worker:
                _obey(queue, worker, say)
        except WriteError as error:  # no fault of the case that ran
            say("unwritable", str(error))
        say("closed", session.close())


def _obey(queue: SimpleQueue[list[Any] | None], worker: Worker, say: Callable[..., None]) -> None:
    """Does what it is told, to the end of the input."""
    while (command := queue.get()) is not None:
        match command:
            case ["list", operator]:
                try:
                    say("listed", worker.list_cases(operator))
                except WriteError:
                    raise
                except Exception as error:
                    say("broken", "".join(format_exception(error)))
            case ["leave", operator]:
                say("left", operator)
            case ["run", operator, indices]:
                worker.cases(operator)
                say("began")
                for index in indices:
                    if _ended:
                        return
                    if operator in _left:
                        break
                    say("ran", *worker.run(operator, index))


_ended: list[bool] = []
"""Not empty once the input has ended."""

_left: set[str] = set()
"""The operators of which no further case is to be run, as soon as that is read."""


def _read(commands: TextIO, queue: SimpleQueue[list[Any] | None]) -> None:
    """Reads commands; at their end, the process has a few seconds left."""
    for line in commands:
        command = json.loads(line)
        if command[0] == "leave":
            _left.add(command[1])
        queue.put(command)
    _ended.append(True)
    queue.put(None)
    sleep(2 * GRACE)  # the run that started it waits half as long, unless it was killed
    os._exit(1)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the run was killed
        os._exit(1)
    sys.stderr.flush()
    os._exit(0)  # without waiting for the thread that reads
