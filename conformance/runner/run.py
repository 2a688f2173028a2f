"""``dmlcts run`` from beginning to end: open, select, execute under pytest, collect."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from time import perf_counter

import pytest

from dmlcts.conformance.backends.backend import BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.opening import is_in_process, opened_to_describe
from dmlcts.conformance.runner import journal
from dmlcts.conformance.runner.collect import CaseRun, Control, not_run
from dmlcts.conformance.runner.options import RunOptions, UsageError, selected_cases
from dmlcts.conformance.runner.out_folder import claimed
from dmlcts.conformance.runner.progress import Progress
from dmlcts.conformance.runner.session import Session
from dmlcts.conformance.runner.terminal import command_text
from dmlcts.generator.case import Case
from dmlcts.reports.claim import claim_of
from dmlcts.reports.record import Manifest, Record
from dmlcts.reports.waivers import unused
from dmlcts.spec.abi import feature_level
from dmlcts.spec.loader import operator_names
from dmlcts.spec.promises import spec_version

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_BACKEND, EXIT_UNSUPPORTED, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes: all passed; something failed; usage or input error; a backend could not be started; nothing failed, but something that the backend
claims is unsupported; stopped by Ctrl-C."""


def run(options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = ()) -> Record:
    """The record of ``running``, for callers that write no reports to the output folder."""
    with running(options, processes, progress, command) as record:
        return record


@contextlib.contextmanager
def running(options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = ()) -> Iterator[Record]:
    """Runs the cases that ``options`` select and yields the record, also after an interruption.

    ``processes`` 0 runs in this process, N in N workers of pytest-xdist. Inside the context, the output folder belongs to this run: an older
    run's reports are removed, and it holds the journal until the caller has written the reports and calls ``journal.end``.

    Raises:
        UsageError: no case is selected, or the output folder is in use, not a run's, or not writable. BackendUnavailable: the backend cannot be
        started. WaiverError: the waiver file is wrong.
    """
    if is_in_process(options.backend):
        processes = max(processes, 1)  # foreign code must not be able to end the controlling process
    with contextlib.ExitStack() as stack:
        with Session(options, opened_to_describe(options.backend)) as session:
            options = replace(options, feature_level=options.feature_level or session.info.feature_level)
            cases = selected_cases(options)
            if not cases:
                raise UsageError(
                    "no case matches these options; `dmlcts spec list` lists operators, `dmlcts show -k EXPR` lists cases"
                )
            manifest = manifest_of(options, session.info, cases, command)
            manifest = replace(manifest, unused_waivers=unused(session.waivers, [case.id for case in cases]))
            out = stack.enter_context(claimed(Path(options.out)))
            folder = _begun(out, Record(manifest, tuple(not_run(case) for case in cases)))
            clock = perf_counter()
            progress.begin(len(cases), processes)
            if processes:
                session.close()  # workers open their own, and a device may allow only one user
                own: CaseRun | Control = Control(session, cases, folder)
            else:
                own = CaseRun(session, cases, folder, "main")
            with progress:
                code = _pytest(_arguments(options, processes, folder), [progress, own])
        reason = journal.reason_to_stop(folder)
        if reason:
            raise BackendUnavailable(f"{reason} (in one of {processes} processes; try fewer: -n 1 or -n 0)")
        record = journal.read_parts(folder)
        seconds, interrupted = perf_counter() - clock, code == pytest.ExitCode.INTERRUPTED
        yield replace(record, manifest=replace(record.manifest, finished=_now(), seconds=seconds, interrupted=interrupted))


def _begun(out: Path, record: Record) -> Path:
    try:
        return journal.begin(out, record)
    except OSError as error:
        message = error.strerror or error
        raise UsageError(f"the output folder {out} cannot be written: {message}; choose another with --out") from None


_UNUSED = (
    "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin", "setuponly",
    "setupplan", "stepwise", "subtests", "terminal", "threadexception", "unraisableexception", "warnings",
)  # fmt: skip
"""pytest plugins that a run does not need; each costs time in every case."""

_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
"""Keeps pytest from loading other plugins and options, in worker processes too."""


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _ENVIRONMENT}
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _pytest(arguments: list[str], plugins: list[object]) -> int:
    """Runs pytest, and returns its exit status."""
    with _environment():
        try:
            return pytest.main(arguments, plugins=plugins)
        except KeyboardInterrupt:  # at a moment when pytest itself does not handle it
            return pytest.ExitCode.INTERRUPTED


def _arguments(options: RunOptions, processes: int, folder: Path) -> list[str]:
    """pytest's command line: our collection and nothing that the run does not use, whatever the user's folder configures."""
    configuration = folder / "pytest.ini"
    configuration.write_text("[pytest]\n", encoding="utf-8")
    arguments = ["-c", str(configuration), "--rootdir", str(folder), "--noconftest"]
    for name in _UNUSED:
        arguments += ["-p", f"no:{name}"]
    if processes:
        arguments += ["-p", "xdist.plugin", "-n", str(processes), "--maxschedchunk", "200", "--max-worker-restart", "1000000"]
        arguments += ["-p", "dmlcts.conformance.runner.collect", "--dmlcts-run", options.to_json()]
    return arguments


def manifest_of(options: RunOptions, info: BackendInfo, cases: Sequence[Case], command: Sequence[str] = ()) -> Manifest:
    """The manifest of a run that starts now; it counts as interrupted until it ends."""
    return Manifest(
        suite_version=metadata.version("directml-conformance"),
        spec_version=spec_version({case.operator.name for case in cases} if not options.shard else operator_names()),
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
        selected=len(cases),
        shard=options.shard,
        interrupted=True,
        selection=options.expression or ", ".join((*options.cases, *options.case_files)),
        required=list(options.required),
        waivers=[{"file": Path(file).name, "sha256": sha256(Path(file).read_bytes()).hexdigest()} for file in options.waivers],
    )


def exit_code(record: Record) -> int:
    """The exit code for a record. A run in which nothing passed and nothing was waived proves nothing, and is not a success."""
    if record.manifest.interrupted:
        return EXIT_INTERRUPTED
    claim = claim_of(record)
    counts = claim.counts
    failed = counts["fail"] + counts["error"] + counts["unexpected_pass"] + counts["not_run"]
    if failed or claim.untested or not counts["pass"] + counts["waived"]:
        return EXIT_FAILED
    return EXIT_UNSUPPORTED if claim.unsupported else EXIT_PASSED


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def command_line() -> list[str]:
    """The user's command-line arguments."""
    return sys.argv[1:]
