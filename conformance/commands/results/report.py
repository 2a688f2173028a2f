"""``dmlcts report``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dmlcts.reports.runs.run import Run

ORDERS = ("version", "given")


@click.command("report")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="version",
    show_default=True,
    help="of several runs of one implementation: old to new by version and time, or as given",
)
def command(results: tuple[Path, ...], out: Path, order: str) -> None:
    """Writes the HTML, JUnit, CTRF and Markdown reports of a run, and exits with the code of that run.

    RESULTS is a results file, or the output folder of a run. A killed run works too: its reports list what was not run, and the code is
    that of an interrupted run, 130.

    Of several runs, of releases, drivers or days, it writes one page that sets them side by side, with runs.json, summary.md and history.jsonl beside it
    (docs/results.md), and exits with 0. Runs may differ in level, adapter or version of the suite: the page says what cannot be compared.
    """
    raise click.exceptions.Exit(_report(results[0], out) if len(results) == 1 else report_runs(results, out, order))


def _report(results: Path, out: Path) -> int:
    """Writes the reports of a run, and returns its exit code."""
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.commands.results.summary import print_summary
    from dmlcts.conformance.commands.results.supplement import SpecSupplement
    from dmlcts.conformance.runner.exit_code import exit_code
    from dmlcts.conformance.runner.explaining.explain import MOST_OPERATORS, explain
    from dmlcts.conformance.runner.explaining.known import unexplained_operators
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.folder.out_folder import claim_folder
    from dmlcts.conformance.runner.screen.terminal import console
    from dmlcts.reports import write_all

    record = read_run(results)
    for name in unexplained_operators(record):
        click.echo(
            f"dmlcts: the rows of {name} are stale, so its failures are not explained: `dmlcts spec arrays {name}`", err=True
        )
    with claim_folder(out):
        explanations = explain(record, MOST_OPERATORS)
        write_all(record, out, SpecSupplement(record.manifest.level), explanations)
    print_summary(record, console(), out, explanations)
    return exit_code(record)


MANY = 20_000_000
"""So many bytes of results are read by several processes: each takes half a second to start."""


def report_runs(results: Sequence[Path], out: Path, order: str = "version") -> int:
    """Writes the page of several runs, and returns 0. Raises UsageError, RecordError, HistoryError, OSError."""
    from dmlcts.conformance.commands.common import mapper
    from dmlcts.reports.runs.comparison import cause_text, compare_runs
    from dmlcts.reports.runs.page import write_runs
    from dmlcts.reports.runs.run import in_order, name_runs

    _check_folder(out)
    size = sum(file.stat().st_size for path in results for file in ([path] if path.is_file() else path.glob("*.jsonl")))
    with mapper(min(len(results), os.cpu_count() or 1) if size > MANY else 0) as each:
        runs = list(each(read_condensed, results))
    comparison = compare_runs(name_runs(in_order(runs) if order == "version" else runs))
    for remark in comparison.remarks:
        click.echo(f"warning: {remark}", err=True)
    page = write_runs(comparison, out)
    for run in comparison.runs:
        click.echo(f"{run.key}: {run.sentence}")
    for cause in comparison.causes[:_SHOWN]:
        names = ", ".join(cause.operators[:_SHOWN]) + (
            f" and {len(cause.operators) - _SHOWN} more" if len(cause.operators) > _SHOWN else ""
        )
        click.echo(f"{names}: {cause.symptom or 'wrong values'}: {cause_text(cause, comparison.runs)}")
    if len(comparison.causes) > _SHOWN:
        click.echo(f"... and {len(comparison.causes) - _SHOWN:,} more causes of failures")
    click.echo(f"report: {page}")
    return 0


_SHOWN = 5


def read_condensed(path: Path) -> Run:
    """A run with its explanations, condensed at once, so that no two whole records are in memory. Raises RecordError."""
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.explain.explanation import FILE, read_texts
    from dmlcts.reports.runs.run import condense

    return condense(read_run(path), read_texts((path if path.is_dir() else path.parent) / FILE))


def _check_folder(out: Path) -> None:
    """Raises UsageError if a folder holds files, but no such page."""
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.reports.runs.page import DATA, OWN

    entries = {entry.name for entry in out.iterdir()} if out.is_dir() else set()
    if entries and DATA not in entries:
        raise UsageError(
            f"{out} holds files but no {DATA} of several runs, so it is not overwritten; choose an empty folder with --out"
        )
    if links := [name for name in sorted(entries & OWN) if (out / name).is_symlink()]:
        raise UsageError(
            f"{out / links[0]} is a symbolic link, through which the report would write; remove it, or choose another folder"
        )
