"""Runs a plan on the workers of a cluster: each gets parts of an operator's cases, and a worker that dies costs its parts another try.

What a part gives counts when it is back, and once: the parts of a worker that is gone are given to others, and what it may still say is not heard. A part is a second or two of
work, by what its operator's cases took so far, so that little is lost and results come as they do on one machine.
"""

from __future__ import annotations

from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO
from uuid import uuid4

from dmlcts.conformance.backends.backend import CRASHED, BackendUnavailable
from dmlcts.conformance.execution.outcome import HOST
from dmlcts.conformance.properties.causes import CAUSE, Cause
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.breaker import ending_of
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import Selection
from dmlcts.conformance.runner.workers.cluster.crew import Crew
from dmlcts.conformance.runner.workers.cluster.part import Found, Run, end_run, list_part, run_part
from dmlcts.conformance.runner.workers.late_failure import LateFailure
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.reports.record.record import ERROR, Lines, Result
from dmlcts.spec.writing.files import writing_to

if TYPE_CHECKING:
    from distributed import Future

_AHEAD = 2
"""So many parts for each task that a worker takes at once: the next one is there when one ends."""

_SECONDS, _EACH, _FIRST, _MOST = 1.5, 0.03, 20, 400
"""What a part is meant to take, and what of that each worker adds, since a scheduler needs so long for a part (docs/cluster.md); how many cases it has as long as
nobody knows what they take, and at most."""

_TRIES = 2
"""How many workers may die of a part before its cases are tried one by one, each in a worker without anything else, or of a single case before it is an error."""


@dataclass(eq=False)
class _Task:
    """A part that a worker has. ``indices`` is empty for the list of an operator's cases. ``tries`` counts the workers that died of it."""

    place: str
    operator: str
    indices: tuple[int, ...]
    tries: int


@dataclass
class _Place:
    """A worker. ``number`` tells it from others; ``operators`` are the two whose cases it was given last, the last one first."""

    number: int
    operators: deque[str] = field(default_factory=lambda: deque(maxlen=2))


class ClusterPool:
    """The workers of a cluster as ``Pool`` is the processes of this machine. ``session`` adds waivers, requirements and commands to what comes back."""

    def __init__(self, selection: Selection, crew: Crew, session: Session) -> None:
        self.selection, self.crew, self.session = selection, crew, session
        options = selection.options
        files = tuple((name, Path(name).read_text(encoding="utf-8")) for name in options.case_files)
        sent = replace(options, waivers=(), required=())
        self.work = Run(uuid4().hex, sent.to_json(), files, session.info, crew.check_likeness(options.backend))
        self.folder = Path(options.out) / journal.FOLDER
        self.late_failure = LateFailure(session, selection, self.folder)
        self.places: dict[str, _Place] = {}
        self.tasks: dict[Future[Any], _Task] = {}
        self.again: deque[_Task] = deque()
        self.pace: dict[str, float] = {}
        self.stream: TextIO | None = None
        self.lines: Lines | None = None
        self.has_ended = False

    def run(self, plan: RunPlan) -> None:
        """Runs all of a plan, or what it runs until it is stopped.

        Raises:
            BackendUnavailable: the backend cannot be opened on a worker, the scheduler is gone, no worker is left, or workers die again and again while they make
                an operator's cases. UsageError: a worker is not like this machine.
        """
        while not plan.is_stopped:
            self._find_dead()
            self._give(plan)
            if not (self.tasks or self.again or plan.unlisted or plan.left):
                return
            if (future := self.crew.next_event(0.5)) is not None and (task := self.tasks.pop(future, None)) is not None:
                self._on_end(future, task, plan)
        self._cancel()

    def _find_dead(self) -> None:
        """The parts of workers that are gone are to be tried again."""
        there = self.crew.places()
        for future, task in list(self.tasks.items()):
            if task.place not in there:
                del self.tasks[future]
                with suppress(OSError, RuntimeError):
                    future.cancel()
                self._try_again(task)
        self.places = {address: place for address, place in self.places.items() if address in there}

    def _try_again(self, task: _Task) -> None:
        """Has a part of which a worker died tried again: as a whole first, then each of its cases by itself.

        Raises BackendUnavailable where making an operator's cases is what kills.
        """
        tries = task.tries + 1
        if not task.indices and tries >= _TRIES:
            raise BackendUnavailable(f"one worker after another died while they made the cases of {task.operator}")
        if len(task.indices) > 1 and tries >= _TRIES:
            self.again.extend(_Task("", task.operator, (index,), 1) for index in task.indices)
        else:
            self.again.append(replace(task, tries=tries))

    def _give(self, plan: RunPlan) -> None:
        """Gives each worker that has too little to do a part. One of which a worker died gets a worker for itself: of what dies there, nothing else is to blame."""
        self._judge_suspects(plan)
        suspects = len(self.again)
        given = defaultdict[str, list[_Task]](list)
        for task in self.tasks.values():
            given[task.place].append(task)
        for address, slots in self.crew.places().items():
            if address not in self.places:
                self.places[address] = _Place(self._free_number())
            place, own = self.places[address], given[address]
            if any(task.tries for task in own):
                continue
            if suspects:
                suspects -= 1
                if not own:
                    self._hand_out(address, self.again.popleft())
                continue
            for _ in range(len(own), slots * _AHEAD):
                if plan.one_by_one and self.tasks:
                    return
                if (following := self._next(address, place, plan)) is None:
                    break
                self._hand_out(address, following)

    def _hand_out(self, address: str, task: _Task) -> None:
        function, more = (run_part, (task.indices,)) if task.indices else (list_part, ())
        state = self.selection.state(task.operator)
        self.tasks[self.crew.submit(address, function, self.work, task.operator, state, *more)] = replace(task, place=address)

    def _judge_suspects(self, plan: RunPlan) -> None:
        """A single case of which worker after worker died is an error; of an operator that is left, none is tried again."""
        for task in list(self.again):
            if task.indices and (task.tries >= _TRIES or plan.leaves(task.operator)):
                self.again.remove(task)
                if not plan.leaves(task.operator):
                    self._blame(task, plan)

    def _free_number(self) -> int:
        return min(set(range(len(self.places) + 1)) - {place.number for place in self.places.values()})

    def _next(self, address: str, place: _Place, plan: RunPlan) -> _Task | None:
        """The next part for a worker: more of what it has the cases of, the list of another operator, or a part of what others have most of."""
        operator = next((name for name in place.operators if name in plan.left), "")
        if not operator and plan.unlisted:
            place.operators.appendleft(plan.unlisted.popleft())
            return _Task(address, place.operators[0], (), 0)
        operator = operator or max(plan.left, key=lambda name: len(plan.left[name]), default="")
        if not operator:
            return None
        if operator not in place.operators:
            place.operators.appendleft(operator)
        return _Task(address, operator, tuple(plan.take(operator, self._count(operator, plan))), 0)

    def _count(self, operator: str, plan: RunPlan) -> int:
        """How many cases a part has: fewer at the end, so that no worker waits for another."""
        seconds = max(_SECONDS, _EACH * len(self.places))
        wanted = int(seconds / self.pace[operator]) if self.pace.get(operator) else _FIRST
        left = len(plan.left[operator])
        share = wanted if plan.unlisted else left // (2 * len(self.places)) + 1
        return max(1, min(wanted, share, _MOST))

    def _on_end(self, future: Future[Any], task: _Task, plan: RunPlan) -> None:
        """A part has ended. Raises what it raised."""
        from distributed import KilledWorker

        if future.status == "error":
            error = self.crew.ask_for(future.exception)
            if isinstance(error, KilledWorker):
                self._try_again(task)
                return
            if isinstance(error, BackendUnavailable):
                raise BackendUnavailable(f"{error} (on the worker {task.place})")
            assert error is not None
            raise error
        if future.status != "finished":
            self.again.append(task)  # cancelled: the worker or the scheduler is about to be found gone
            return
        found: Found = self.crew.ask_for(future.result)
        future.release()
        with writing_to(self.folder):
            self.selection.add_state(found.state)
        if not task.indices:
            journal.write_list(self.folder, self.selection.number(task.operator), found.cases)
            plan.add(task.operator, [result.case for result in found.cases])
            return
        if found.results:
            self.pace[task.operator] = found.seconds / len(found.results)
        number = self.places[task.place].number if task.place in self.places else 0
        for index, result, cause in found.results:
            if not plan.is_stopped:
                self._keep(task.operator, index, result, cause, number, plan)
        ran = {index for index, _, _ in found.results}
        plan.give_back(task.operator, [index for index in task.indices if index not in ran])

    def _keep(self, operator: str, index: int, result: Result, cause: Cause | None, place: int, plan: RunPlan) -> None:
        """Writes a result to the journal if it is kept, and counts it. Raises RuntimeError if it is of another case than was asked for."""
        if index >= len(plan.ids[operator]) or result.case != plan.ids[operator][index]:
            raise RuntimeError(f"a worker ran {result.case} as case {index} of {operator}, which is another there")
        settled = self.session.conclude(result, cause)
        is_known = CAUSE in settled.evidence
        if self.selection.keeps(operator, settled.status, is_known):
            self._write(settled)
        plan.on_result(operator, index, settled.status, is_known)
        plan.watch(place, operator, ending_of(settled))

    def _write(self, result: Result) -> None:
        with writing_to(self.folder):
            if self.lines is None:
                self.stream = (self.folder / journal.RAN.format(process="cluster")).open("a", encoding="utf-8", newline="\n")
                self.lines = Lines(self.stream)
            self.lines.result(result)
            assert self.stream is not None
            self.stream.flush()

    def _blame(self, task: _Task, plan: RunPlan) -> None:
        """A case of which worker after worker died is an error."""
        (index,) = task.indices
        listed = journal.read_listed(self.folder, self.selection.number(task.operator))[index]
        died = replace(listed, status=ERROR, message="the worker that ran it died, and so did another", evidence={HOST: CRASHED})
        self._keep(task.operator, index, died, None, 0, plan)

    def _cancel(self) -> None:
        """What was handed out is not waited for."""
        for future in self.tasks:
            with suppress(OSError, RuntimeError):
                future.cancel()
        self.tasks.clear()
        self.again.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, plan: RunPlan | None = None) -> None:
        """Ends the run on all workers: they finish the case that they are at, and close their backends.

        With a ``plan``, which has run, the last case of one whose backend does not close becomes an error.
        """
        if self.has_ended:
            return
        self.has_ended = True
        self._cancel()
        for closed in self.crew.tell(end_run, self.work.name, wait=plan is not None):
            for last, problem in closed:
                if problem and plan is not None:
                    self.late_failure.charge(last, problem, plan)
        if self.stream is not None:
            with writing_to(self.folder):
                self.stream.close()
            self.stream = None
