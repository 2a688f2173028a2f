"""``dmlcts run``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.conformance.commands.common import Seconds, cluster_options
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.generator.case.case import LEVELS

if TYPE_CHECKING:
    from rich.console import Console

    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.signals import StopSignal
    from dmlcts.conformance.runner.workers.cluster.address import Cluster
    from dmlcts.reports.explain.explanation import Explanation
    from dmlcts.reports.record.record import Record

OUT, OUT_OF_CASES = "results", "results-case"
"""The default output folders. Running one case again does not replace the results of the whole run."""


class _Processes(click.IntRange):
    """A number of worker processes, or ``auto``: one for each core."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        if value == "auto":
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return int(super().convert(value, param, context))


operators_argument = click.argument("operators", nargs=-1, metavar="[OPERATOR]...")
backend_option = click.option(
    "--backend",
    "-b",
    default="reference",
    show_default=True,
    help="what to test: reference, directml, python:MODULE:CLASS, process:COMMAND ...; see `dmlcts backends`",
)
basis_option = click.option(
    "--basis",
    type=click.Choice(["documented", "measured"]),
    default="documented",
    show_default=True,
    help="documented promises only, or also what DirectML.dll was measured to do",
)
feature_level_option = click.option(
    "--feature-level", default="", help="highest feature level, such as 4_1, at most what the backend reports  [default: that]"
)
operator_option = click.option(
    "--operator",
    "more_operators",
    multiple=True,
    metavar="NAME",
    help="only this operator, like OPERATOR: its name, which may lack ELEMENT_WISE_ or ACTIVATION_, or a pattern with *; may be repeated",
)
processes_option = click.option(
    "-n",
    "processes",
    type=_Processes(0),
    default=0,
    metavar="N|auto",
    help="number of worker processes; auto is one a core; 0 runs all cases in this one",
    show_default=True,
)
NOT_EXECUTED = "nothing was executed"
"""Why a run with --no-execute claims nothing."""

paths_option = click.option(
    "--no-paths",
    "paths",
    is_flag=True,
    callback=lambda context, option, left_out: not left_out,
    help="do not ask the backend which code paths (kernels) each case runs; see `dmlcts kernels`",
)
execute_option = click.option(
    "--no-execute",
    "execute",
    is_flag=True,
    callback=lambda context, option, left_out: not left_out,
    help="compile each case and note its kernels, and execute none: fails where the backend refuses one, and claims nothing (docs/kernels.md)",
)
timeout_option = click.option(
    "--timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    help="limit for one dispatch, in seconds; four times that while the host works; no effect on reference and inprocess:",
)
waivers_option = click.option("--waivers", multiple=True, type=click.Path(), help="a YAML file of known failures; may be repeated")
quiet_option = click.option("--quiet", "-q", is_flag=True, help="print only the summary")


@click.command("run")
@operators_argument
@backend_option
@click.option(
    "--level",
    "-l",
    type=click.Choice(LEVELS),
    default="core",
    show_default=True,
    help="how many cases; each level includes the one before",
)
@basis_option
@feature_level_option
@operator_option
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="only cases with these words in the id: 'ROUND and not negative'"
)
@processes_option
@cluster_options
@click.option(
    "--network",
    "--profile",
    default="",
    metavar="NAME",
    help="only what a network of the census dispatches, such as resnet50: small at level core, at its own sizes at full (docs/clients.md); or the promises of the API "
    "that a client relies on: onnxruntime, or first-light for whoever begins (docs/sequences.md)",
)
@click.option(
    "--shard", default="", metavar="I/N", help="only the I-th of N parts, for several machines; combine with `dmlcts merge`"
)
@click.option("--case", "cases", multiple=True, metavar="ID", help="only this case, whatever other options select; may be repeated")
@click.option("--case-file", "case_files", multiple=True, type=click.Path(exists=True, dir_okay=False), help="a case in a file")
@click.option(
    "--rerun-failed",
    type=click.Path(exists=True, path_type=Path),
    metavar="RESULTS",
    help="only the cases that failed in this results file or output folder, with its backend, level and seed unless given",
)
@click.option(
    "--changed-since",
    type=click.Path(exists=True, path_type=Path),
    metavar="OLD",
    help="only the cases that run other kernels than in this results file or output folder (docs/kernels.md); claims nothing",
)
@click.option("--resume", is_flag=True, help="go on with the stopped run in the output folder; all other options as before")
@click.option(
    "--maxfail", type=click.IntRange(1), metavar="N", help="stop after N failures; the other cases are reported as not run"
)
@click.option(
    "--keep-going",
    is_flag=True,
    help="run all cases, even if many in a row crash, hang or find no host; without it, the rest of the operator or of the run is left",
)
@click.option("--seed", default="", help="other random examples in property cases; the same seed gives the same ones")
@timeout_option
@paths_option
@execute_option
@click.option(
    "--require",
    multiple=True,
    metavar="WHAT",
    help="an operator, a data type, OPERATOR/TYPE, `api` or a promise, `validation` (of invalid descs) or a profile file (YAML): unsupported there is a failure; "
    "may be repeated",
)
@waivers_option
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False),
    help=f"folder for results and reports; replaces an older run's; other folders must be empty  [default: {OUT}; with --case, {OUT_OF_CASES}]",
)
@click.option(
    "--no-simplify",
    is_flag=True,
    help="do not run the smallest failing case of each explanation again, with ever fewer things unusual; that takes up to 20 s",
)
@quiet_option
@click.pass_context
def command(
    context: click.Context,
    /,
    operators: tuple[str, ...],
    more_operators: tuple[str, ...],
    processes: int,
    cluster: Cluster | None,
    quiet: bool,
    out: str | None,
    require: tuple[str, ...],
    maxfail: int | None,
    rerun_failed: Path | None,
    changed_since: Path | None,
    resume: bool,
    no_simplify: bool,
    **given: Any,
) -> None:
    """Runs cases on a backend and writes results.jsonl, claim.json, junit/*.xml, ctrf/*.json, summary.md and index.html to the output folder.

    With OPERATORs, only their cases; `api`, an area of the API or a promise (DEV-1) selects promises (docs/sequences.md). Cases run as soon as those of the first operator are made.

    Results are kept in any event: after Ctrl-C or another signal the reports list what was not run. If a run was killed, `dmlcts report`
    writes its reports.

    \b
    Exit codes: 0 all passed, 1 something failed (or nothing passed, negative cases aside; or more of an operator's cases are waived than pass;
    or no case tests what --require names; or a case of --rerun-failed is gone),
    2 usage or input error, a backend that reports a lower feature level than asked for, or an output folder that is not a run's,
    3 the backend could not be started, or the cluster is out of reach, 4 nothing failed, but something that the backend claims is unsupported,
    130 stopped by Ctrl-C, 128 + N stopped by signal N.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.exit_code import EXIT_FAILED, EXIT_PASSED, exit_code
    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.planning.requirements import requirements
    from dmlcts.reports.record.verdict import more_to_run

    given["required"] = requirements(require)
    terminal, gone = console(), ""
    if rerun_failed is not None:
        chosen, gone = failed_cases(rerun_failed, {**given, "operators": operators + more_operators}, context)
        given |= chosen
    if changed_since is not None:
        given |= changed_cases(changed_since, RunOptions(operators=operators + more_operators, **given), processes, terminal)
    given |= without_executing(given)
    by_name = bool(given["cases"] or given["case_files"])
    folder = out or (OUT_OF_CASES if by_name else OUT)
    options = RunOptions(out=folder, operators=operators + more_operators, maxfail=maxfail or 0, **given)
    record, stopped = run_and_report(options, processes, terminal, quiet, resume, simplify=not no_simplify, cluster=cluster)
    if not by_name and (hint := more_to_run(record.manifest)):
        terminal.print(hint, style="dim")
    if gone:
        terminal.print(gone, markup=False)
    code = exit_code(record) or (EXIT_FAILED if gone else EXIT_PASSED)
    raise click.exceptions.Exit(stopped.exit_code(code) if record.manifest.interrupted else code)


def run_and_report(
    options: RunOptions,
    processes: int,
    terminal: Console,
    quiet: bool,
    resume: bool = False,
    *,
    endless: bool = False,
    simplify: bool = False,
    cluster: Cluster | None = None,
) -> tuple[Record, StopSignal]:
    """Runs what options describe, writes the reports to the output folder, and prints the summary.

    Returns the record, and which signal stopped the run. A search is ``endless``. To ``simplify`` is to run the smallest case of each
    explanation again, with ever fewer things unusual, after the reports are written, and to write them once more. Raises as ``run_selected``, and Exit if there is no record.
    """
    from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable
    from dmlcts.conformance.commands.results.summary import print_summary
    from dmlcts.conformance.commands.results.supplement import SpecSupplement
    from dmlcts.conformance.runner.exit_code import EXIT_INTERRUPTED
    from dmlcts.conformance.runner.explaining.explain import MOST_OPERATORS, explain
    from dmlcts.conformance.runner.folder import journal
    from dmlcts.conformance.runner.run import command_line, run_selected
    from dmlcts.conformance.runner.screen.progress import Progress
    from dmlcts.conformance.runner.signals import as_interrupt
    from dmlcts.reports import write_all

    folder = Path(options.out)
    with as_interrupt() as stopped:
        try:
            with run_selected(options, processes, Progress(terminal, quiet, endless), command_line(), resume, cluster) as record:
                explanations = explain(record, MOST_OPERATORS)
                write_all(record, folder, SpecSupplement(record.manifest.level), explanations)
                journal.end(folder)
        except KeyboardInterrupt:  # before the first case, or while the reports are written
            journaled = (folder / journal.FOLDER).is_dir()
            hint = f"; `dmlcts report {folder} --out {folder}` writes the reports of what ran" if journaled else ""
            click.echo(f"interrupted{hint}", err=True)
            raise click.exceptions.Exit(stopped.exit_code(EXIT_INTERRUPTED)) from None
        if simplify and not record.manifest.interrupted:
            with suppress(KeyboardInterrupt, BackendUnavailable, BackendFault):  # the reports lie there already
                simpler = simplest_of(explanations, options.backend, cluster)
                if any(each.simplest for each in simpler):
                    explanations = simpler
                    write_all(record, folder, SpecSupplement(record.manifest.level), explanations)
    print_summary(record, terminal, folder, explanations)
    return record, stopped


def simplest_of(explanations: Sequence[Explanation], backend: str, cluster: Cluster | None) -> list[Explanation]:
    """The explanations with what their plainest cases come down to, found where the backend is. Raises BackendUnavailable."""
    from dmlcts.conformance.runner.explaining.simplest import with_simplest
    from dmlcts.conformance.runner.workers.cluster.crew import connect

    if cluster is None:
        return with_simplest(explanations, backend)
    with connect(cluster) as crew:
        found: list[Explanation] = crew.call(with_simplest, explanations, backend)
        return found


def without_executing(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that make a run without --no-execute's dispatches claim nothing. Raises UsageError if it would name no kernels either."""
    from dmlcts.conformance.runner.planning.options import UsageError

    if given["execute"]:
        return {}
    if not given["paths"] or given.get("left_out"):
        raise UsageError("--no-execute notes kernels of all selected cases: leave out --no-paths and --changed-since")
    return {"left_out": NOT_EXECUTED}


def changed_cases(older: Path, options: RunOptions, processes: int, terminal: Console) -> dict[str, Any]:
    """The options that run the cases with other kernels than in an older run. Prints what is left out, and raises Exit if that is all.

    Raises UsageError if the user named the cases too, or wants no kernels.
    """
    from dmlcts.conformance.commands.common import mapper
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.kernels.changed import changed_since
    from dmlcts.conformance.runner.planning.options import UsageError

    if options.cases or options.case_files or not options.paths:
        raise UsageError(
            "--changed-since selects the cases itself, by their kernels; leave out --case, --case-file, --rerun-failed and --no-paths"
        )
    record = read_run(older)
    if not any(result.paths for result in record.results):
        raise UsageError(f"{older}: no result has code paths, so what changed is not known")
    with mapper(processes if processes > 1 else 0) as each:
        found = changed_since(options, record, each)
    terminal.print(found.text, markup=False, highlight=False)
    if not found.cases:
        raise click.exceptions.Exit(0)
    return {"cases": found.cases, "left_out": found.left_out}


def failed_cases(results: Path, given: dict[str, Any], context: click.Context) -> tuple[dict[str, Any], str]:
    """The options that run the failed cases of an older run again: on its backend, at its level and seed, unless the user gave others.

    Also returns a sentence about the cases that the suite no longer has, empty if it has all.

    Raises:
        UsageError: nothing failed there, none of what failed is a case any more, or the user selected cases in another way too.
    """
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.planning.beyond import work_called
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.reports.record.record import FAILURES

    for name, option in (
        ("cases", "--case"),
        ("case_files", "--case-file"),
        ("expression", "-k"),
        ("network", "--network"),
        ("operators", "operators"),
        ("shard", "--shard"),
    ):
        if given[name]:
            raise UsageError(f"--rerun-failed selects the cases itself; leave out {option}")
    record = read_run(results)
    failed = [result.case for result in record.results if result.status in FAILURES]
    if not failed:
        raise UsageError(f"{results}: no case failed there, so there is nothing to run again")
    known, stale = [], []
    for case_id in failed:
        try:
            known.append(work_called(case_id).id)
        except KeyError:
            stale.append(case_id)
    if not known:
        raise UsageError(f"{results}: none of the {len(failed):,} cases that failed there exists any more, such as {stale[0]}")
    more = ", ..." if len(stale) > 3 else ""
    gone = f"{len(stale):,} of the {len(failed):,} cases that failed did not run, since the suite has no such case: {', '.join(stale[:3])}{more}"
    manifest, default = record.manifest, click.core.ParameterSource.DEFAULT
    of_record = {"backend": manifest.backend_spec}
    if manifest.level in LEVELS:  # a search has another
        of_record |= {"level": manifest.level, "seed": manifest.seed}
    kept = {name: value for name, value in of_record.items() if value and context.get_parameter_source(name) is default}
    return {**kept, "cases": tuple(known)}, gone if stale else ""
