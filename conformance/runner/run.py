"""``dmlcts run`` from beginning to end: open, select, execute, collect."""

from __future__ import annotations

import contextlib
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from time import perf_counter, process_time

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.backends.opening import is_in_process, opened_to_describe
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.inputs import inputs_of
from dmlcts.conformance.runner.folder.out_folder import claimed
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.conformance.runner.work.options import RunOptions, UsageError
from dmlcts.conformance.runner.work.plan import Plan
from dmlcts.conformance.runner.work.selection import Selection, no_case
from dmlcts.conformance.runner.workers.late_failure import Blame
from dmlcts.conformance.runner.workers.pool import Pool
from dmlcts.conformance.runner.workers.search import work_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import Worker, not_run
from dmlcts.generator.case.case import HUGE
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.gate.waivers import unused
from dmlcts.reports.record.record import FAILURES, NOT_RUN, PASS, SEARCH, Manifest, Record, RecordError, Result
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.reading.promises import spec_files, spec_version

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_BACKEND, EXIT_UNSUPPORTED, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes: all passed; something failed; usage or input error; a backend could not be started; nothing failed, but something that the backend
claims is unsupported; stopped by Ctrl-C."""


def run(options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = ()) -> Record:
    """The record of ``running``, for callers that write no reports to the output folder."""
    with running(options, processes, progress, command) as record:
        return record


@contextlib.contextmanager
def running(
    options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = (), resume: bool = False
) -> Iterator[Record]:
    """Runs the cases that ``options`` select and yields the record, also after an interruption.

    ``processes`` 0 runs in this process, N in N worker processes. Inside the context, the output folder belongs to this run: an older run's
    reports are removed, and it holds the journal until the caller has written the reports and calls ``journal.end``. ``resume`` goes on with
    the run in the output folder: cases that have a result are not run again. From before the backend is opened, an older run's results do not
    count as the folder's any more, so that those of a run that does not start cannot be taken for its own.

    Raises:
        UsageError: no case is selected, the backend reports a lower feature level than is asked for, level huge in several processes, the output
            folder is in use, not a run's, or not writable, or the run in it cannot be resumed.
        BackendUnavailable: the backend cannot be started. WaiverError: the waiver file is wrong.
    """
    if options.level == HUGE and processes > 1:
        raise UsageError("cases of level huge need gigabytes each: run them one at a time, without -n or with -n 1")
    if is_in_process(options.backend):
        processes = max(processes, 1)  # foreign code must not be able to end the controlling process
    out = Path(options.out)
    if resume and not out.is_dir():
        raise UsageError(f"nothing to resume: there is no folder {out}")
    if not work_of(options).has_case():  # a mistake in the options changes nothing
        raise no_case(options)
    with contextlib.ExitStack() as stack:
        older = out.is_dir()
        if older:
            stack.enter_context(claimed(out))
        if older and not resume:
            with _writing(out):
                journal.set_aside(out)
        session = stack.enter_context(Session(options, opened_to_describe(options.backend)))
        options = replace(options, feature_level=reported_level(options.feature_level, session.info))
        selection = work_of(options)
        if not (options.cases or options.case_files or selection.has_case()):  # of the backend's feature level
            raise no_case(options)
        if not older:
            stack.enter_context(claimed(out))
        pool = None
        if processes:
            _print(session.close())  # workers open their own, and a device may allow only one user
            pool = stack.enter_context(Pool(selection, processes, session))
        manifest = manifest_of(options, session.info, selection.operators, command)
        done: dict[str, Result] = {}
        if resume:
            manifest, done = resumed(manifest, selection.operators, out)
        with _writing(out):
            folder = journal.begin(out, manifest, done.values())

        def add_version() -> Manifest:
            """Needs every operator's spec, which takes a second: cases run meanwhile."""
            known = with_version(manifest, selection.operators)
            journal.write_manifest(folder, known)
            return known

        clock = perf_counter()
        progress.begin(len(selection.operators), processes)
        plan = selection.plan(progress, folder, {case: result.status for case, result in done.items()})
        plan.begin_with(session.info.operators)  # the others end as unsupported, whenever they come
        interrupted, here = False, Worker(session, selection, folder, "main")
        try:
            with progress:
                if pool is None:
                    _run_here(plan, here, add_version)
                else:
                    with ThreadPoolExecutor(1) as thread:
                        version = thread.submit(add_version)
                        pool.run(plan)
                    version.result()
        except KeyboardInterrupt:
            interrupted = True
            add_version()
        try:
            problem = "" if interrupted else session.close()  # after a signal the reports come first
            if not problem or not Blame(session, selection, folder).on(here.last, problem, plan):
                _print(problem)
            if pool is not None:
                pool.end(None if interrupted else plan)
            if plan.stopped and not interrupted:
                _list_left(plan, here)
        except KeyboardInterrupt:  # all cases may have run, and have their reports
            interrupted = True
        complete = plan.ended(interrupted)
        if not complete:
            _list_rest(plan, selection, folder)
        record = journal.read_parts(folder)
        without_case: tuple[str, ...] = ()
        if complete:
            record = _complete(record, plan)
            if options.level != SEARCH:  # what a search did not draw says nothing about a waiver
                without_case = unused(session.waivers, [result.case for result in record.results])
        seconds = manifest.seconds + perf_counter() - clock
        ended = replace(
            record.manifest,
            finished=_now(),
            seconds=seconds,
            interrupted=not complete,
            unused_waivers=without_case,
            further=dict(plan.further),
        )
        yield replace(record, manifest=ended)


def reported_level(asked: str, info: BackendInfo) -> str:
    """The feature level of a run: what is asked for, or what the backend reports. Raises UsageError if it reports a lower one than is asked for."""
    if asked and feature_level(asked) > feature_level(info.feature_level):
        raise UsageError(
            f"--feature-level {asked}: {info.name} reports feature level {info.feature_level}, so it promises nothing beyond; leave the option out, "
            "or let the backend report a higher level"
        )
    return asked or info.feature_level


@contextlib.contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = error.strerror or error
        raise UsageError(f"the output folder {out} cannot be written: {message}; choose another with --out") from None


def _print(problem: str) -> None:
    """Prints a problem that costs no case; none if it is empty."""
    if problem:
        print(f"dmlcts: {problem}", file=sys.stderr)


def _run_here(plan: Plan, worker: Worker, after_the_first: Callable[[], object]) -> None:
    """Runs a plan in this process."""
    with worker:
        first = True
        while plan.unlisted:
            operator = plan.unlisted.popleft()
            plan.add(operator, worker.listed(operator))
            while operator in plan.left:
                (index,) = plan.take(operator, 1)
                status, is_known, ending = worker.run(operator, index)
                plan.ran(operator, index, status, is_known)
                plan.watch(0, operator, ending)
            if first:
                after_the_first()
            first = False


def _list_left(plan: Plan, worker: Worker) -> None:
    """Lists the operators that a run which was stopped has not come to; none of their cases is run."""
    with worker:
        for operator in plan.not_listed:
            plan.add(operator, worker.listed(operator))


_LISTING = 5.0
"""Seconds of this process for listing the cases that an interrupted run did not reach: `docker stop` waits for 10 s."""


def _list_rest(plan: Plan, selection: Selection, folder: Path) -> None:
    """Lists the cases that an interrupted run did not reach as not run, as long as time allows; another Ctrl-C ends it."""
    until = process_time() + _LISTING
    with contextlib.suppress(KeyboardInterrupt):
        for operator in plan.not_listed:
            if process_time() > until:
                return
            journal.write_list(folder, plan.operators.index(operator), map(not_run, selection.cases(operator)))


def _complete(record: Record, plan: Plan) -> Record:
    """The record of a run that reached its end: a result for each case of the plan and no other.

    Raises:
        RecordError: the journal lacks a case, or has another status than was reported when the case ran. Foreign code may have written to it.
    """
    cases = {case_id: plan.statuses.get(case_id, NOT_RUN) for ids in plan.ids.values() for case_id in ids}
    found = {result.case: result.status for result in record.results}
    wrong = [case_id for case_id, status in cases.items() if found.get(case_id) != status]
    if wrong and not plan.stopped:
        first = f"{wrong[0]}: {found.get(wrong[0], 'no result')} instead of {cases[wrong[0]]}"
        raise RecordError(
            f"something changed the journal of this run: {len(wrong):,} of {len(cases):,} cases are wrong, such as {first}"
        )
    lacking = [name for name in (*record.manifest.unlisted, *plan.not_listed) if name not in plan.not_reached]
    if lacking:
        raise RecordError(f"something changed the journal of this run: it lacks {', '.join(dict.fromkeys(lacking))}")
    stopped, by_operator = (plan.breaker.run, plan.breaker.operators) if plan.breaker else ("", {})
    # A resumed run may have had others; of a search that was interrupted, a failure may be in the journal that nobody reported any more.
    late = FAILURES if record.manifest.level == SEARCH else frozenset[str]()
    results = tuple(
        _left_out(result, by_operator.get(result.operator, stopped))
        for result in record.results
        if result.case in cases or result.status in late
    )
    manifest = replace(
        record.manifest,
        selected=len(results),
        unlisted=list(plan.not_reached),
        stopped=stopped,
        stopped_operators=dict(by_operator),
    )
    return Record(manifest, results)


def _left_out(result: Result, why: str) -> Result:
    """A result that says why its case was not run, if it was not."""
    return replace(result, message=f"not run: {why}") if why and result.status == NOT_RUN else result


_SAME = (
    "suite_version", "backend_spec", "backend", "level", "basis", "feature_level", "seed", "shard", "selection", "spec_version", "spec_files",
    "inputs",
)  # fmt: skip
"""Manifest entries that must be equal to resume a run."""

_HASHES = {
    "inputs": "the waivers, case files, --timeout or the backend's code",
    "spec_files": "the spec files, before the version of the spec was known",
}
"""What differs where these entries do; their values tell nobody anything."""


def resumed(manifest: Manifest, operators: Sequence[str], out: Path) -> tuple[Manifest, dict[str, Result]]:
    """The manifest of a run of these operators that goes on, and the results that it has so far, by case.

    A run that was killed before it knew the version of its spec goes on if the spec's files are the same, byte for byte.

    Raises:
        UsageError: the output folder has no run, one that is complete, or one with other options, versions or files. Nothing has been
            changed then.
    """
    try:
        before = journal.read_run(out)
    except RecordError as error:
        raise UsageError(f"nothing to resume: {error}") from None
    if before.manifest.spec_version:
        manifest = with_version(manifest, operators)
    for name in _SAME:
        earlier, now = (json.loads(json.dumps(getattr(m, name))) for m in (before.manifest, manifest))  # a file has no tuples
        if earlier != now:
            values = _HASHES.get(name, f"{name} was {earlier!r} and is {now!r}")
            raise UsageError(
                f"the run in {out} cannot be resumed with other options or versions: {values}; start it anew without --resume"
            )
    done = {result.case: result for result in before.results if result.status != NOT_RUN}
    if before.manifest.finished and not before.manifest.interrupted and len(done) >= before.manifest.selected:
        raise UsageError(f"the run in {out} is complete, so there is nothing to resume; start it anew without --resume")
    first = before.manifest
    return replace(manifest, started=first.started, seconds=first.seconds, resumed=[*first.resumed, _now()]), done


_SHOWN = 5
"""How many selected ids a manifest names."""


def _selection_text(options: RunOptions) -> str:
    """What selects the cases besides level, basis and shard; empty if nothing does."""
    named = (*options.cases, *options.case_files)
    if named:
        more = [f"{len(named) - _SHOWN:,} more"] if len(named) > _SHOWN else []
        return ", ".join((*named[:_SHOWN], *more))
    operators = ", ".join(options.operators)
    return f"{operators}: {options.expression}" if operators and options.expression else operators or options.expression


def manifest_of(options: RunOptions, info: BackendInfo, operators: Sequence[str], command: Sequence[str] = ()) -> Manifest:
    """The manifest of a run that starts now; it counts as interrupted until it ends, the cases of no operator are listed yet, and it has no ``spec_version``."""
    return Manifest(
        suite_version=metadata.version("directml-conformance"),
        spec_version="",
        backend=info.to_json(),
        backend_spec=options.backend,
        command=command_text(["dmlcts", *(command or ["run"])]),
        level=options.level,
        basis=options.basis,
        feature_level=str(feature_level(options.feature_level)),
        seed=options.seed,
        platform={
            "system": platform.system(),
            "release": platform.release(),
            "version": platform.version(),
            "machine": platform.machine(),
            "python": platform.python_version(),
        },
        started=_now(),
        shard=options.shard,
        interrupted=True,
        selection=_selection_text(options),
        unlisted=list(operators),
        inputs=inputs_of(options),
        spec_files=spec_files(),
        required=list(options.required),
        waivers=[{"file": Path(file).name, "sha256": sha256(Path(file).read_bytes()).hexdigest()} for file in options.waivers],
    )


def with_version(manifest: Manifest, operators: Sequence[str]) -> Manifest:
    """The manifest with the version of these operators' specs, which are loaded. Raises SpecError."""
    return manifest if manifest.spec_version else replace(manifest, spec_version=spec_version(operators), spec_files="")


def exit_code(record: Record) -> int:
    """The exit code for a record. A run in which nothing passed proves nothing, and is not a success, even if every failure is waived; neither is one
    in which more of an operator's cases are waived than pass."""
    if record.manifest.interrupted or not record.manifest.finished:
        return EXIT_INTERRUPTED
    claim = claim_of(record)
    if claim.ok:
        return EXIT_PASSED
    counts = claim.counts
    failed = any(counts[status] for status in (*FAILURES, NOT_RUN)) or claim.untested or claim.mostly_waived or not counts[PASS]
    return EXIT_UNSUPPORTED if claim.unsupported and not failed else EXIT_FAILED


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def command_line() -> list[str]:
    """The user's command-line arguments."""
    return sys.argv[1:]
