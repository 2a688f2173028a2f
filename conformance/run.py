"""``dmlcts run`` from beginning to end: open, select, execute under pytest, collect, report."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from time import perf_counter

import pytest

from dmlcts.conformance.backend import BackendInfo
from dmlcts.conformance.backends import open_backend
from dmlcts.conformance.collect import PARTS, placeholder
from dmlcts.conformance.options import RunOptions, UsageError, selected_cases
from dmlcts.conformance.progress import Progress
from dmlcts.generator.case import Case
from dmlcts.reports.record import Manifest, Record, RecordError, Result, read_lines, read_result, unfinished
from dmlcts.reports.waivers import read_waivers
from dmlcts.spec.loader import operators_folder

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_BACKEND, EXIT_INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: all passed; something failed; usage or input error; a backend could not be started; stopped by Ctrl-C."""


def run(options: RunOptions, processes: int, progress: Progress, command: Sequence[str] = ()) -> Record:
    """Executes what ``options`` choose and returns the record, whatever happens on the way; nothing is written but the parts.

    ``processes`` 0 runs in this process, N in N others through pytest-xdist.

    Raises:
        UsageError: no case is selected, or the output folder cannot be written. BackendUnavailable: the backend cannot be started.
        WaiverError: the waiver file is wrong.
    """
    if options.waivers:
        read_waivers(Path(options.waivers))
    info = described(options.backend)
    options = replace(options, feature_level=options.feature_level or info.feature_level)
    cases = selected_cases(options)
    if not cases:
        raise UsageError("no case matches these options; `dmlcts spec list` and `dmlcts show` say what there is")
    parts = prepared(Path(options.out))
    started, clock = datetime.now(UTC), perf_counter()
    progress.begin(len(cases), processes)
    with progress, _environment():
        code = pytest.main(_arguments(options, processes, parts), plugins=[progress])
    results = unfinished([placeholder(case) for case in cases], read_parts(parts))
    shutil.rmtree(parts, ignore_errors=True)
    manifest = manifest_of(options, info, cases, command)
    interrupted = code == pytest.ExitCode.INTERRUPTED
    finished = datetime.now(UTC)
    manifest = replace(
        manifest, started=_iso(started), finished=_iso(finished), seconds=perf_counter() - clock, interrupted=interrupted
    )
    return Record(manifest, tuple(results))


def described(backend_spec: str) -> BackendInfo:
    """What a backend says of itself. Raises BackendUnavailable."""
    backend = open_backend(backend_spec)
    try:
        return backend.describe()
    finally:
        backend.close()


def prepared(out: Path) -> Path:
    """The folder for the parts of a run, empty. Raises UsageError if it cannot be written."""
    parts = out / PARTS
    try:
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True)
        (parts / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"the output folder {out} cannot be written: {error.strerror or error}; choose another with --out"
        ) from None
    return parts


_UNUSED = (
    "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml", "logging", "nose", "pastebin", "setuponly",
    "setupplan", "stepwise", "subtests", "terminal", "threadexception", "unraisableexception", "warnings",
)  # fmt: skip
"""pytest's own plugins that a run has no use for; each costs time in every case."""


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """For a while, an environment in which pytest loads no plugin that it is not told to, in worker processes too."""
    before = dict(os.environ)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ.pop("PYTEST_ADDOPTS", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _arguments(options: RunOptions, processes: int, parts: Path) -> list[str]:
    """pytest's command line: our collection and nothing that the run does not use, whatever the folder's own configuration says."""
    arguments = ["-c", str(parts / "pytest.ini"), "--rootdir", str(parts), "-p", "dmlcts.conformance.collect"]
    arguments += ["--dmlcts-run", options.to_json()]
    for name in _UNUSED:
        arguments += ["-p", f"no:{name}"]
    if processes:
        arguments += ["-p", "xdist.plugin", "-n", str(processes), "--maxschedchunk", "200"]
    return arguments


def read_parts(parts: Path) -> list[Result]:
    """Every result that the processes wrote, one for a case: the last, where a case ran twice."""
    found: dict[str, Result] = {}
    for file in sorted(parts.glob("*.jsonl")):
        with contextlib.suppress(RecordError):
            for _, kind, data in read_lines(file):
                if kind == "result":
                    result = read_result(data)
                    found[result.case] = result
    return list(found.values())


def manifest_of(options: RunOptions, info: BackendInfo, cases: Sequence[Case], command: Sequence[str] = ()) -> Manifest:
    """The manifest of a run that is yet to start."""
    return Manifest(
        suite_version=metadata.version("directml-conformance"),
        spec_version=spec_version(),
        backend=info.to_json(),
        backend_spec=options.backend,
        command=" ".join(["dmlcts", *command]) if command else "dmlcts run",
        level=options.level,
        basis=options.basis,
        feature_level=options.feature_level,
        seed=options.seed,
        platform={"system": platform.platform(), "machine": platform.machine(), "python": platform.python_version()},
        started="",
        selected=len(cases),
        shard=options.shard,
        selection=options.expression or ", ".join((*options.cases, *options.case_files)),
    )


def spec_version() -> str:
    """A short hash of every spec file's name and bytes: two runs with the same one tested the same promises."""
    digest = sha256()
    for file in spec_files():
        digest.update(file.stem.encode())
        digest.update(file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:12]


def spec_files() -> Iterator[Path]:
    """Every spec file that comes with the package, in a fixed order."""
    yield from sorted(operators_folder().rglob("*.yaml"), key=lambda file: file.stem)


def exit_code(record: Record) -> int:
    """The exit code that a record stands for."""
    counts = record.counts()
    if record.manifest.interrupted:
        return EXIT_INTERRUPTED
    failed = counts["fail"] + counts["error"] + counts["unexpected_pass"] + counts["not_run"]
    return EXIT_FAILED if failed else EXIT_PASSED


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def command_line() -> list[str]:
    """The arguments as the user gave them, quoted where they have spaces."""
    return [f'"{argument}"' if " " in argument else argument for argument in sys.argv[1:]]
