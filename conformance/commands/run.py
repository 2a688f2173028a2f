"""``dmlcts run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dmlcts.conformance.commands.common import Seconds
from dmlcts.conformance.runner.terminal import console
from dmlcts.generator.case import LEVELS

if TYPE_CHECKING:
    from dmlcts.reports.record import Record

OUT, OUT_OF_CASES = "results", "results-case"
"""The default output folders. Running one case again does not replace the results of the whole run."""


@click.command("run")
@click.option(
    "--backend",
    "-b",
    default="reference",
    show_default=True,
    help="what to test: reference, directml, python:MODULE:CLASS, process:COMMAND ...; see `dmlcts backends`",
)
@click.option(
    "--level",
    "-l",
    type=click.Choice(LEVELS),
    default="core",
    show_default=True,
    help="how many cases; each level includes the one before",
)
@click.option(
    "--basis",
    type=click.Choice(["documented", "measured"]),
    default="documented",
    show_default=True,
    help="documented promises only, or also what DirectML.dll was measured to do",
)
@click.option("--feature-level", default="", help="highest feature level, such as 4_1  [default: the backend's]")
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="only cases with these words in the id: 'ROUND and not negative'"
)
@click.option(
    "-n",
    "processes",
    type=click.IntRange(0),
    default=0,
    help="number of worker processes; 0 runs all cases in this one",
    show_default=True,
)
@click.option(
    "--shard", default="", metavar="I/N", help="only the I-th of N parts, for several machines; combine with `dmlcts merge`"
)
@click.option("--case", "cases", multiple=True, metavar="ID", help="only this case, whatever other options select; may be repeated")
@click.option("--case-file", "case_files", multiple=True, type=click.Path(exists=True, dir_okay=False), help="a case in a file")
@click.option("--seed", default="", help="other random examples in property cases; the same seed gives the same ones")
@click.option(
    "--timeout",
    type=Seconds(),
    default=30.0,
    show_default=True,
    help="limit for one dispatch, in seconds; no effect on reference and inprocess:",
)
@click.option(
    "--require",
    multiple=True,
    metavar="WHAT",
    help="an operator, a data type, OPERATOR/TYPE, `validation` (of invalid descs) or a profile file (YAML): unsupported there is a failure; "
    "may be repeated",
)
@click.option("--waivers", multiple=True, type=click.Path(), help="a YAML file of known failures; may be repeated")
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False),
    help=f"folder for results and reports; replaces an older run's; other folders must be empty  [default: {OUT}; with --case, {OUT_OF_CASES}]",
)
@click.option("--quiet", "-q", is_flag=True, help="print only the summary")
def command(processes: int, quiet: bool, out: str | None, require: tuple[str, ...], **given: Any) -> None:
    """Runs cases on a backend and writes results.jsonl, claim.json, junit.xml, ctrf.json, summary.md and index.html to the output folder.

    Results are kept in any event: after Ctrl-C or another signal the reports list what was not run. If a run was killed, `dmlcts report`
    writes its reports.

    \b
    Exit codes: 0 all passed, 1 something failed (or nothing passed, or no case tests what --require names),
    2 usage or input error, or an output folder that is not a run's,
    3 the backend could not be started, 4 nothing failed, but something that the backend claims is unsupported,
    130 stopped by Ctrl-C, 128 + N stopped by signal N.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.commands.summary import print_summary
    from dmlcts.conformance.runner import journal
    from dmlcts.conformance.runner.options import RunOptions
    from dmlcts.conformance.runner.progress import Progress
    from dmlcts.conformance.runner.requirements import requirements
    from dmlcts.conformance.runner.run import EXIT_INTERRUPTED, command_line, exit_code, running
    from dmlcts.conformance.runner.signals import as_interrupt
    from dmlcts.reports import write_all

    given["required"] = requirements(require)
    folder = Path(out or (OUT_OF_CASES if given["cases"] or given["case_files"] else OUT))
    terminal = console()
    with as_interrupt() as stopped:
        try:
            with running(RunOptions(out=str(folder), **given), processes, Progress(terminal, quiet), command_line()) as record:
                write_all(record, folder)
                journal.end(folder)
        except KeyboardInterrupt:  # before the first case, or while the reports are written
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(stopped.exit_code(EXIT_INTERRUPTED)) from None
    print_summary(record, terminal, folder)
    if not (given["cases"] or given["case_files"]) and (hint := more_to_run(record)):
        terminal.print(hint, style="dim")
    raise click.exceptions.Exit(stopped.exit_code(exit_code(record)) if record.manifest.interrupted else exit_code(record))


_MORE = {"smoke": ("core", "a first look: a few cases of each operator"), "core": ("full", "for every change; a release runs all")}
"""By level: the next one, and the purpose of the level."""


def more_to_run(record: Record) -> str:
    """A hint at the next level; empty after level full, or if cases were selected by name."""
    level = record.manifest.level
    if level not in _MORE or record.manifest.selection:
        return ""
    following, what = _MORE[level]
    return f"level {level} is {what}. To run more: dmlcts run --level {following} --basis {record.manifest.basis} -n 2"
