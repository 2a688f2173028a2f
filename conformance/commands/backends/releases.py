"""``dmlcts releases``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dmlcts.conformance.commands.common import cluster_options
from dmlcts.generator.case.case import LEVELS

if TYPE_CHECKING:
    from dmlcts.conformance.runner.workers.cluster.address import Cluster
    from dmlcts.reports.record.record import Record

_PROCESSES = 2
"""Processes of a run on this machine, unless others are asked for."""

PAGE = "page"
"""The folder of the page, beside those of the releases."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs on each release: options of ``dmlcts run``, and where their folders lie."""

    operators: tuple[str, ...]
    level: str
    basis: str
    processes: int
    cluster: Cluster | None
    waivers: tuple[Path, ...]
    out: Path


@click.command("releases")
@click.argument("operators", nargs=-1)
@click.option("--versions", default="", metavar="V,V", help="the releases, separated by commas  [default: all that are known]")
@click.option("--level", "-l", type=click.Choice(LEVELS), default="core", show_default=True, help="how many cases")
@click.option(
    "--basis", type=click.Choice(["documented", "measured"]), default="measured", show_default=True, help="as of `dmlcts run`"
)
@click.option("-n", "processes", type=click.IntRange(0), help="processes of a run  [default: 2; none with --cluster]")
@cluster_options
@click.option(
    "--waivers", multiple=True, type=click.Path(path_type=Path, exists=True), help="a YAML file of known failures; may be repeated"
)
@click.option(
    "--out",
    "-o",
    default="releases",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="the folder to write to",
)
@click.option("--list", "only_list", is_flag=True, help="print the releases that are known, and run nothing")
def command(
    operators: tuple[str, ...],
    versions: str,
    level: str,
    basis: str,
    processes: int | None,
    cluster: Cluster | None,
    waivers: tuple[Path, ...],
    out: Path,
    only_list: bool,
) -> None:
    """Runs the suite on Microsoft's releases of DirectML.dll, one after the other, and sets them side by side.

    Your pip downloads each out of a public wheel of onnxruntime-directml, into the cache (docs/directml.md); `dmlcts setup` comes first. Stopped, it
    goes on where it was: a release that is done is kept, as long as options and spec are the same. OUT gets a folder for each release, and `page` with
    the page of all (docs/results.md). OPERATORS are names or patterns, as of `dmlcts run`.

    \b
    Exit codes: 0 all runs were successes, 1 something failed in one, 2 usage or input error, 3 a release could not be had or started,
    4 nothing failed, but something that is claimed is unsupported, 130 stopped by Ctrl-C.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.backends.backend import BackendUnavailable
    from dmlcts.conformance.backends.directml.wheels import WHEELS, fetch_release
    from dmlcts.conformance.commands.results.report import report_runs

    if only_list:
        for release, (wheel, _) in WHEELS.items():
            click.echo(f"{release:8} from onnxruntime-directml {wheel}")
        return
    plan = Plan(operators, level, basis, _PROCESSES if processes is None else processes, cluster, waivers, out)
    codes: dict[str, int] = {}
    for release in releases_named(versions):
        try:
            dll = fetch_release(release, click.echo)
        except BackendUnavailable as error:
            click.echo(f"dmlcts releases: {release}: {error}", err=True)
            codes[release] = 3
            continue
        codes[release] = run_release(release, backend_of(dll.path), plan)
        if codes[release] >= 128:
            raise click.exceptions.Exit(codes[release])
    done = [out / release for release, code in codes.items() if code not in (2, 3)]
    if len(done) > 1:
        report_runs(done, out / PAGE)
    for release, code in codes.items():
        click.echo(f"{release}: {_ENDS.get(code, f'exit code {code}')}")
    raise click.exceptions.Exit(max(codes.values(), key=_WORST.index, default=0))


_ENDS = {0: "success", 1: "something failed", 2: "its run was refused", 3: "not run", 4: "something that it claims is unsupported"}
_WORST = (0, 4, 1, 2, 3)
"""Exit codes, the worst last."""


def releases_named(versions: str) -> list[str]:
    """The releases that a user named, or all, from old to new. Raises UsageError for one that is not known, or cannot be tested."""
    from dmlcts.conformance.backends.directml.wheels import NOT_HERE, WHEELS
    from dmlcts.conformance.runner.planning.options import UsageError

    wanted = [version.strip() for version in versions.split(",") if version.strip()]
    for version in wanted:
        if version in NOT_HERE:
            raise UsageError(f"DirectML {version} cannot be tested: {NOT_HERE[version]}")
        if version not in WHEELS:
            raise UsageError(
                f"no release {version!r} is known; known: {', '.join(WHEELS)}; another DLL runs with --backend directml:PATH"
            )
    return [release for release in WHEELS if not wanted or release in wanted]


def backend_of(dll: Path) -> str:
    """The backend of a DLL, as of ``--backend``."""
    path = dll.as_posix()
    return f"directml:'{path}'" if " " in path else f"directml:{path}"


def run_release(release: str, backend: str, plan: Plan) -> int:
    """Runs the cases on one release in a process of its own, goes on with a run that was stopped, or keeps a complete one. Returns the exit code."""
    import subprocess
    import sys

    from dmlcts.conformance.runner.exit_code import exit_code

    folder = plan.out / release
    state, record = _state(folder, backend, plan)
    if record is not None and state == _COMPLETE:
        click.echo(f"{release}: already done in {folder}")
        return exit_code(record)
    words: list[str] = [
        "run",
        *plan.operators,
        "--backend",
        backend,
        "--level",
        plan.level,
        "--basis",
        plan.basis,
        *_where(plan),
    ]
    words += [part for file in plan.waivers for part in ("--waivers", str(file))] + ["--out", str(folder), "--quiet"]
    program = [sys.executable, "-P", "-m", "dmlcts.conformance.commands.start"]  # -P: no module of the current folder
    click.echo(f"{release}: {'going on with' if state == _STOPPED else 'running'} level {plan.level} into {folder}")
    if state == _STOPPED and (code := subprocess.run([*program, *words, "--resume"], check=False).returncode) != 2:
        return code
    return subprocess.run([*program, *words], check=False).returncode


def _where(plan: Plan) -> list[str]:
    """The options of ``dmlcts run`` that say where the cases run."""
    if plan.cluster is None:
        return ["-n", str(plan.processes)]
    return ["--cluster", plan.cluster.address, "--resource", plan.cluster.resource]


_COMPLETE, _STOPPED, _NONE = "complete", "stopped", "none"


def _state(folder: Path, backend: str, plan: Plan) -> tuple[str, Record | None]:
    """Whether a folder has such a run, complete or stopped, and its record if it is complete."""
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.planning.selection import operators_named
    from dmlcts.reports.record.record import RecordError
    from dmlcts.spec.reading.promises import spec_version

    if not folder.is_dir():
        return _NONE, None
    try:
        record = read_run(folder)
    except RecordError:
        return _NONE, None
    manifest = record.manifest
    ran = (manifest.backend_spec, manifest.level, manifest.basis, manifest.selection, [each["sha256"] for each in manifest.waivers])
    if ran != (backend, plan.level, plan.basis, ", ".join(plan.operators), _hashes(plan.waivers)):
        return _NONE, None
    if manifest.interrupted or not manifest.finished:
        return _STOPPED, None
    return (_COMPLETE, record) if manifest.spec_version == spec_version(operators_named(plan.operators)) else (_NONE, None)


def _hashes(files: Sequence[Path]) -> list[str]:
    from hashlib import sha256

    return [sha256(file.read_bytes()).hexdigest() for file in files]
