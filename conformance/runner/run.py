"""``dmlcts run`` from beginning to end: open, select, execute, collect."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.backends.opening import is_in_process, opened_to_describe
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.complete import complete_record
from dmlcts.conformance.runner.folder.manifest import manifest_of, now, resume_manifest, with_version
from dmlcts.conformance.runner.folder.out_folder import claim_folder
from dmlcts.conformance.runner.kernels.corpus import write_corpora
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import Selection, no_case
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.workers.cluster.address import Cluster, check_backend
from dmlcts.conformance.runner.workers.cluster.crew import Crew, connect
from dmlcts.conformance.runner.workers.cluster.pool import ClusterPool
from dmlcts.conformance.runner.workers.late_failure import LateFailure
from dmlcts.conformance.runner.workers.pool import Pool
from dmlcts.conformance.runner.workers.search import work_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import Worker, not_run
from dmlcts.conformance.sequences.takes_part import performs_itself
from dmlcts.generator.case.case import HUGE
from dmlcts.reports.gate.waivers import unused_patterns
from dmlcts.reports.record.record import BEYOND_OPERATORS, SEARCH, Manifest, Record, Result
from dmlcts.spec.model.abi import feature_level


def run(options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = ()) -> Record:
    """The record of ``run_selected``, for callers that write no reports to the output folder."""
    with run_selected(options, processes, progress, command) as record:
        return record


@contextlib.contextmanager
def run_selected(
    options: RunOptions,
    processes: int,
    progress: Progress,
    command: Sequence[str] = (),
    resume: bool = False,
    cluster: Cluster | None = None,
) -> Iterator[Record]:
    """Runs the cases that ``options`` select and yields the record, also after an interruption.

    ``processes`` 0 runs in this process, N in N worker processes; where there is a ``cluster``, its workers run the cases. Inside the context, the output folder belongs to this run: an older run's
    reports are removed, and it holds the journal until the caller has written the reports and calls ``journal.end``. ``resume`` goes on with
    the run in the output folder: cases that have a result are not run again. From before the backend is opened, an older run's results do not
    count as the folder's any more, so that those of a run that does not start cannot be taken for its own.

    Raises:
        UsageError: no case is selected, the backend reports a lower feature level than is asked for, level huge in several processes, the output
            folder is in use, not a run's, or not writable, the run in it cannot be resumed, or the workers of the cluster are not like this machine.
        BackendUnavailable: the backend cannot be started, or the cluster is out of reach. WaiverError: the waiver file is wrong.
    """
    if is_in_process(options.backend):
        processes = max(processes, 1)  # foreign code must not be able to end the controlling process
    _check(options, processes, resume, cluster)
    with contextlib.ExitStack() as stack:
        opened = _open(options, resume, stack, cluster)
        pool: Pool | ClusterPool | None = None
        if opened.crew is not None:
            processes = opened.crew.slots
            pool = stack.enter_context(ClusterPool(opened.selection, opened.crew, opened.session))
        elif processes:
            _print(opened.session.close())  # workers open their own, and a device may allow only one user
            pool = stack.enter_context(Pool(opened.selection, processes, opened.session))
        begun = _begin(opened, progress, processes, command, resume)
        clock = perf_counter()
        interrupted = _execute(begun, progress, pool)
        interrupted = _close(begun, pool, interrupted) or interrupted
        yield _finish(begun, interrupted, clock)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A run whose backend is open: its options with the feature level that counts, what they select, and the cluster that has the backend, if one does."""

    options: RunOptions
    session: Session
    selection: Selection
    crew: Crew | None


@dataclass(frozen=True, slots=True)
class _Begun:
    """A run whose journal is open: its plan, and the worker of this process."""

    opened: _Opened
    manifest: Manifest
    folder: Path
    plan: RunPlan
    here: Worker

    def add_version(self) -> None:
        """Adds the version of the spec, which needs every operator's and takes a second: cases run meanwhile."""
        journal.write_manifest(self.folder, with_version(self.manifest, self.opened.selection.operators))


def _check(options: RunOptions, processes: int, resume: bool, cluster: Cluster | None) -> None:
    """Refuses what cannot be run, before anything is changed. Raises UsageError."""
    if cluster:
        _check_for_cluster(options)
    if options.level == HUGE and processes > 1:
        raise UsageError("cases of level huge need gigabytes each: run them one at a time, without -n or with -n 1")
    if resume and not Path(options.out).is_dir():
        raise UsageError(f"nothing to resume: there is no folder {Path(options.out)}")
    if not work_of(options).has_case():
        raise no_case(options)


def _check_for_cluster(options: RunOptions) -> None:
    """Refuses what cannot be run on a cluster. Raises UsageError."""
    if options.level == HUGE:
        raise UsageError("cases of level huge need a machine's memory each: run them without --cluster")
    check_backend(options.backend)


def _open(options: RunOptions, resume: bool, stack: contextlib.ExitStack, cluster: Cluster | None) -> _Opened:
    """Claims the output folder, sets an older run aside, and opens the backend, or asks the cluster to describe it."""
    out = Path(options.out)
    older = out.is_dir()
    if older:
        stack.enter_context(claim_folder(out))
    if older and not resume:
        with _write_output(out):
            journal.set_aside(out)
    crew = stack.enter_context(connect(cluster)) if cluster else None
    backend = crew.describe(options.backend) if crew else opened_to_describe(options.backend)
    session = stack.enter_context(Session(options, backend))
    options = replace(options, feature_level=reported_level(options.feature_level, session.info))
    selection = without_calls_of_the_suite(work_of(options), session)
    if not (options.cases or options.case_files or selection.has_case()):  # of the backend's feature level
        raise no_case(options)
    if not older:
        stack.enter_context(claim_folder(out))
    return _Opened(options, session, selection, crew)


def without_calls_of_the_suite(selection: Selection, session: Session) -> Selection:
    """The selection; if nothing but the level selects, without promises of the API and graphs whose calls the suite would have to perform itself."""
    given = selection.options
    is_asked = given.operators or given.expression or given.network or given.cases or given.case_files
    if is_asked or session.backend is None or performs_itself(session.backend):
        return selection
    return replace(selection, operators=tuple(name for name in selection.operators if name not in BEYOND_OPERATORS))


def _begin(opened: _Opened, progress: Progress, processes: int, command: Sequence[str], resume: bool) -> _Begun:
    """Opens the journal and makes the plan, without what an earlier run has done."""
    options, session, selection, out = opened.options, opened.session, opened.selection, Path(opened.options.out)
    manifest = manifest_of(options, session.info, selection.operators, command)
    done: dict[str, Result] = {}
    if resume:
        manifest, done = resume_manifest(manifest, selection.operators, out)
    with _write_output(out):
        folder = journal.begin(out, manifest, done.values())
    progress.begin(len(selection.operators), processes)
    plan = selection.plan(progress, folder, {case: result.status for case, result in done.items()})
    plan.begin_with(session.info.operators)  # the others end as unsupported, whenever they come
    return _Begun(opened, manifest, folder, plan, Worker(session, selection, folder, "main"))


def _execute(run: _Begun, progress: Progress, pool: Pool | ClusterPool | None) -> bool:
    """Carries out the plan, here or in the pool. Returns whether Ctrl-C interrupted it."""
    try:
        with progress:
            if pool is None:
                _run_here(run.plan, run.here, run.add_version)
            else:
                with ThreadPoolExecutor(1) as thread:
                    version = thread.submit(run.add_version)
                    pool.run(run.plan)
                version.result()
    except KeyboardInterrupt:
        run.add_version()
        return True
    return False


def _close(run: _Begun, pool: Pool | ClusterPool | None, interrupted: bool) -> bool:
    """Closes the backend, whose late failure counts for a case, and the pool. Returns whether Ctrl-C came meanwhile."""
    session, plan = run.opened.session, run.plan
    try:
        problem = "" if interrupted else session.close()  # after a signal the reports come first
        if not problem or not LateFailure(session, run.opened.selection, run.folder).charge(run.here.last, problem, plan):
            _print(problem)
        if pool is not None:
            pool.end(None if interrupted else plan)
        if plan.is_stopped and not interrupted:
            _list_left(plan, run.here)
    except KeyboardInterrupt:  # all cases may have run, and have their reports
        return True
    return False


def _finish(run: _Begun, interrupted: bool, clock: float) -> Record:
    """The record of what has run, held against the plan where the run is complete."""
    plan, options = run.plan, run.opened.options
    complete = plan.has_ended(interrupted)
    if not complete:
        _list_rest(plan, run.opened.selection, run.folder)
    record = journal.read_parts(run.folder)
    without_case: tuple[str, ...] = ()
    if complete:
        record = complete_record(record, plan)
        if options.level != SEARCH:  # what a search did not draw, or a run of other operators, says nothing about a waiver
            named = run.opened.selection.operators if options.operators else ()
            without_case = unused_patterns(run.opened.session.waivers, [result.case for result in record.results], named)
    if options.level == SEARCH and options.corpus:
        write_corpora([run.folder, *map(Path, options.corpus)], run.opened.selection.operators, Path(options.corpus[0]))
    ended = replace(
        record.manifest,
        finished=now(),
        seconds=run.manifest.seconds + perf_counter() - clock,
        interrupted=not complete,
        unused_waivers=without_case,
        further=dict(plan.further),
    )
    return replace(record, manifest=ended)


def reported_level(asked: str, info: BackendInfo) -> str:
    """The feature level of a run: what is asked for, or what the backend reports. Raises UsageError if it reports a lower one than is asked for."""
    if asked and feature_level(asked) > feature_level(info.feature_level):
        raise UsageError(
            f"--feature-level {asked}: {info.name} reports feature level {info.feature_level}, so it promises nothing beyond; leave the option out, "
            "or let the backend report a higher level"
        )
    return asked or info.feature_level


@contextlib.contextmanager
def _write_output(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = error.strerror or error
        raise UsageError(f"the output folder {out} cannot be written: {message}; choose another with --out") from None


def _print(problem: str) -> None:
    """Prints a problem that costs no case; none if it is empty."""
    if problem:
        print(f"dmlcts: {problem}", file=sys.stderr)


def _run_here(plan: RunPlan, worker: Worker, after_the_first: Callable[[], object]) -> None:
    """Runs a plan in this process."""
    with worker:
        first = True
        while plan.unlisted:
            operator = plan.unlisted.popleft()
            plan.add(operator, worker.list_cases(operator))
            while operator in plan.left:
                (index,) = plan.take(operator, 1)
                status, is_known, ending = worker.run(operator, index)
                plan.on_result(operator, index, status, is_known)
                plan.watch(0, operator, ending)
            if first:
                after_the_first()
            first = False


def _list_left(plan: RunPlan, worker: Worker) -> None:
    """Lists the operators that a run which was stopped has not come to; none of their cases is run."""
    with worker:
        for operator in plan.not_listed:
            plan.add(operator, worker.list_cases(operator))


_LISTING = 5.0
"""Seconds of this process for listing the cases that an interrupted run did not reach: `docker stop` waits for 10 s."""


def _list_rest(plan: RunPlan, selection: Selection, folder: Path) -> None:
    """Lists the cases that an interrupted run did not reach as not run, as long as time allows; another Ctrl-C ends it."""
    until = process_time() + _LISTING
    with contextlib.suppress(KeyboardInterrupt):
        for operator in plan.not_listed:
            if process_time() > until:
                return
            journal.write_list(folder, plan.operators.index(operator), map(not_run, selection.work(operator)))


def command_line() -> list[str]:
    """The user's command-line arguments."""
    return sys.argv[1:]
