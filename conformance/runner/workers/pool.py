"""Runs a plan in worker processes. Each case is made in one process, where possible, and a process that dies costs one case.

pytest-xdist is not used: it hands out cases only after every process has made all of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import Any, Self

from dmlcts.conformance.backends.backend import CRASHED, BackendUnavailable
from dmlcts.conformance.backends.opening import is_in_process
from dmlcts.conformance.backends.python.python_host import child_environment
from dmlcts.conformance.execution.outcome import HOST
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.breaker import KINDS, Ending, ending_of
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import Selection
from dmlcts.conformance.runner.workers.late_failure import LateFailure
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.threads import one_thread
from dmlcts.conformance.runner.workers.worker import GRACE, Ran
from dmlcts.reports.record.record import ERROR

_MOST = 50
"""The largest number of cases that a process is given at once."""

_AHEAD = 10
"""A process with no more cases than this to run gets further ones of its operator: it must not wait for the pause below."""

_PAUSE, _CHUNK = 0.005, 1 << 16
"""Seconds between two looks at what a process reports, and the most bytes of a look: to wake up for each case takes a tenth of a processor."""

_WORTH_SHARING = 20
"""With fewer cases left, making them in a second process is not worth the time."""

_ATTEMPTS = 3
"""How often a process may die while it makes an operator's cases before the run is given up."""


@dataclass(eq=False)
class _Process:
    """A worker process. ``operator`` is the one whose cases it makes (``listing``) or runs (``indices``); ``began`` tells whether it has made them.

    ``last`` is the case that it ran last. ``place`` is its number among those that run at once: one that replaces it has the same.
    """

    place: int
    popen: subprocess.Popen[str]
    hung_up: bool = False
    killed: bool = False
    last: Ran | None = None
    ready: bool = False
    listing: bool = False
    began: bool = False
    operator: str = ""
    listener: Thread = field(default_factory=Thread)
    indices: deque[int] = field(default_factory=deque)

    def hang_up(self) -> None:
        """Ends the input: the process finishes its case and closes its backend."""
        assert self.popen.stdin is not None
        self.hung_up = True
        with suppress(OSError):
            self.popen.stdin.close()

    def kill(self) -> None:
        """Kills it, and on POSIX what a backend in it left in its group, as that may hold its output open."""
        self.killed = True
        if sys.platform != "win32":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        else:
            self.popen.kill()

    @property
    def idle(self) -> bool:
        return self.ready and not self.listing and not self.indices

    @property
    def nearly_done(self) -> bool:
        """Whether it is about to have run what it was given."""
        return self.began and 0 < len(self.indices) <= _AHEAD

    def tell(self, *command: Any) -> None:
        with suppress(OSError):  # it died; the end of its output says so too
            assert self.popen.stdin is not None
            self.popen.stdin.write(json.dumps(command) + "\n")
            self.popen.stdin.flush()


class Pool:
    """Worker processes, which start at once and end when the context is left.

    ``session`` need not be open: it adds waivers and the command to the results of cases whose process died.
    """

    def __init__(self, selection: Selection, processes: int, session: Session) -> None:
        self.selection, self.count, self.session = selection, processes, session
        self.options = selection.options
        self.folder = Path(self.options.out) / journal.FOLDER
        self.late_failure = LateFailure(session, selection, self.folder)
        self.started = 0
        self.processes: list[_Process] = []
        self.events: SimpleQueue[tuple[_Process, list[Any]]] = SimpleQueue()
        self.died: Counter[str] = Counter()

    def run(self, plan: RunPlan) -> None:
        """Runs all of a plan, or what it runs until it is stopped: then there may be operators that are not listed.

        Raises:
            BackendUnavailable: a process cannot open the backend, or processes die again and again before they run a case.
        """
        while not plan.is_stopped:  # a process that is to list what is left might not be able to open the backend
            for process in self.processes:
                if process.idle or (process.nearly_done and process.operator in plan.left and not plan.one_by_one):
                    self._give(process, plan)
            left = bool(plan.unlisted or plan.left)
            while left and len(self.processes) < self.count:
                self._start()
            if not left and all(process.idle for process in self.processes):
                return
            try:
                process, messages = self.events.get(timeout=0.5)  # without a limit, Windows would not notice Ctrl-C
            except Empty:
                self._find_dead(plan)
                continue
            if process not in self.processes:
                continue  # what it left speaks in its name
            for message in messages:
                self._on_message(process, message, plan)
            if not messages:
                self._on_exit(process, plan)

    def _find_dead(self, plan: RunPlan) -> None:
        """Processes that died and whose output does not end: something that they left holds it open. It is killed, if it is in their group."""
        for process in [process for process in self.processes if process.popen.poll() is not None]:
            if process.killed:
                self._on_exit(process, plan)
            else:
                process.kill()

    def _give(self, process: _Process, plan: RunPlan) -> None:
        """Gives a process something to do: more of its operator, another operator, or a part of another's."""
        if process.operator not in plan.left and plan.unlisted:
            process.operator, process.listing = plan.unlisted.popleft(), True
            process.tell("list", process.operator)
            return
        if process.operator not in plan.left:
            operator = max(plan.left, key=lambda name: len(plan.left[name]), default="")
            others = [other for other in self.processes if other is not process and other.operator == operator]
            if not operator or (others and len(plan.left[operator]) < _WORTH_SHARING):
                return
            process.operator = operator
        left = len(plan.left[process.operator])
        share = left if plan.unlisted else max(1, left // (2 * self.count))  # others have enough to do
        taken = plan.take(process.operator, min(_MOST, share))
        process.began = process.began and bool(process.indices)
        process.indices.extend(taken)
        process.tell("run", process.operator, taken)

    def _on_message(self, process: _Process, message: list[Any], plan: RunPlan) -> None:
        match message:
            case ["ready"]:
                process.ready = True
            case ["unavailable", reason]:
                raise self._unavailable(str(reason))
            case ["listed", [*ids]] if process.listing:
                process.listing = False
                plan.add(process.operator, ids)
            case ["broken", reason]:
                self.selection.work(process.operator)  # an error in a spec is raised here too
                raise RuntimeError(str(reason))
            case ["unwritable", str(reason)]:
                raise OSError(reason)
            case ["began"]:
                process.began = True
            case ["ran", str(status), bool(is_known), [str(kind), str(text)]] if process.indices and kind in KINDS:
                index = process.indices.popleft()
                process.last = Ran(process.operator, index, plan.ids[process.operator][index])
                self._on_result(process, index, status, Ending(kind, text), plan, is_known)
            case ["left", str(operator)]:
                if operator == process.operator:
                    process.indices.clear()
            case _:
                process.kill()  # a backend in it wrote to where it should not

    def _on_result(self, process: _Process, index: int, status: str, ending: Ending, plan: RunPlan, is_known: bool = False) -> None:
        """A case has a result. What was handed out of an operator that is left with it is taken back."""
        operator = process.operator
        left = plan.leaves(operator)
        plan.on_result(operator, index, status, is_known)
        plan.watch(process.place, operator, ending)
        if plan.is_stopped:
            self._cancel()
        elif plan.leaves(operator) and not left:
            for other in [other for other in self.processes if other.operator == operator and other.indices]:
                other.tell("leave", operator)

    def _cancel(self) -> None:
        """Enough cases failed: what was handed out is not waited for."""
        for process in [other for other in self.processes if other.indices]:
            process.indices.clear()
            process.kill()

    def _on_exit(self, process: _Process, plan: RunPlan) -> None:
        """A process died. Its case becomes an error, the one before if it was at none; what it had not begun is for others."""
        code = process.popen.wait()
        process.kill()
        process.hang_up()
        self.processes.remove(process)
        if not process.ready:
            raise self._unavailable(f"{self.options.backend}: the process ended with exit code {code} while it opened the backend")
        if not (process.indices and process.began):
            self._blame_dead(process, plan)
        if process.listing:
            plan.unlisted.appendleft(process.operator)
        elif process.indices and process.began:
            index = process.indices.popleft()
            result = journal.read_listed(self.folder, self.selection.number(process.operator))[index]
            died = replace(result, status=ERROR, message="the process that ran it died", evidence={HOST: CRASHED})
            crash = self.session.settle(died)
            journal.write_crashed(self.folder, crash)
            plan.give_back(process.operator, process.indices)
            self._on_result(process, index, crash.status, ending_of(crash), plan)
            return
        elif process.indices:
            plan.give_back(process.operator, process.indices)
        else:
            return
        self.died[process.operator] += 1
        if self.died[process.operator] == _ATTEMPTS:
            raise self._unavailable(
                f"a process that made the cases of {process.operator} ended with exit code {code}, again and again"
            )

    def _blame_dead(self, process: _Process, plan: RunPlan) -> None:
        """Of a process with a backend in it that died, the last case is an error: the backend may have done damage a while before."""
        if is_in_process(self.options.backend):
            self.late_failure.charge(process.last, f"its process died, with exit code {process.popen.returncode}", plan)

    def _unavailable(self, reason: str) -> BackendUnavailable:
        return BackendUnavailable(f"{reason} (in one of {self.count} processes; try fewer: -n 1 or -n 0)")

    def _start(self) -> None:
        """Starts a process, in a group of its own: Ctrl-C in the terminal reaches only the process that decides."""
        group: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined,unused-ignore]
            if os.name == "nt"
            else {"process_group": 0}
        )
        environment = child_environment()
        popen = subprocess.Popen(
            [sys.executable, "-P", "-m", "dmlcts.conformance.runner.workers.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=one_thread(environment) if self.count > 1 else environment, text=True, encoding="utf-8", errors="replace", **group,
        )  # fmt: skip
        process = _Process(min(set(range(self.count)) - {other.place for other in self.processes}), popen)
        process.listener = Thread(target=self._listen, args=(process,), daemon=True)
        self.processes.append(process)
        process.tell(str(self.started), self.options.to_json(), self.session.info.to_json())
        self.started += 1
        process.listener.start()

    def _listen(self, process: _Process) -> None:
        """Puts what a process reports into the queue, some messages at once, and nothing when it ended or wrote what is no message."""
        assert process.popen.stdout is not None
        with process.popen.stdout as stream:
            rest, valid = b"", True
            while valid and (read := stream.buffer.read1(_CHUNK)):  # type: ignore[attr-defined]
                *lines, rest = (rest + read).split(b"\n")
                messages = list(_messages(lines))
                valid = len(messages) == len(lines)
                if messages:
                    self.events.put((process, messages))
                sleep(_PAUSE)
        if not (valid and process.hung_up):
            process.popen.kill()
        self.events.put((process, []))

    def __enter__(self) -> Self:
        while len(self.processes) < self.count:
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, plan: RunPlan | None = None) -> None:
        """Ends the processes: they finish the case that they are at, and close their backends.

        With a ``plan``, which has run, the last case of one that dies, or whose backend does not close, becomes an error.
        """
        for process in self.processes:
            process.hang_up()
        until, closed = monotonic() + GRACE, dict[_Process, str]()
        for process in self.processes:
            try:
                process.popen.wait(max(0.1, until - monotonic()))
            except subprocess.TimeoutExpired:
                closed[process] = f"the backend did not close within {GRACE:g} s"
                process.kill()
                process.popen.wait()
            process.listener.join(1.0)
            if process.listener.is_alive():
                process.kill()  # what it left
        while not self.events.empty():
            process, messages = self.events.get()
            for message in messages:
                if message[:1] == ["closed"]:
                    closed.setdefault(process, str(message[1]))
        if plan is not None:
            for process in self.processes:
                died = f"its process died, with exit code {process.popen.returncode}"
                if problem := closed.get(process, died):
                    self.late_failure.charge(process.last, problem, plan)
                elif process.popen.returncode:
                    self._blame_dead(process, plan)
        self.processes.clear()


def _messages(lines: Sequence[bytes]) -> Iterator[Any]:
    """The messages in these lines, up to one that is none of ours."""
    with suppress(ValueError):
        for line in lines:
            yield json.loads(line)
