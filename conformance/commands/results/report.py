"""``dmlcts report``."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.conformance.commands.results.summary import print_summary
from dmlcts.conformance.commands.results.supplement import SpecSupplement
from dmlcts.conformance.runner.exit_code import exit_code
from dmlcts.conformance.runner.explaining.explain import MOST_OPERATORS, explain
from dmlcts.conformance.runner.explaining.known import unexplained_operators
from dmlcts.conformance.runner.folder.journal import read_run
from dmlcts.conformance.runner.folder.out_folder import claim_folder
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.reports import write_all


@click.command("report")
@click.argument("results", type=click.Path(path_type=Path, exists=True))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
def command(results: Path, out: Path) -> None:
    """Writes the HTML, JUnit, CTRF and Markdown reports of a run, and exits with the code of that run.

    RESULTS is a results file, or the output folder of a run. A killed run works too: its reports list what was not run, and the code is
    that of an interrupted run, 130.
    """
    record = read_run(results)
    for name in unexplained_operators(record):
        click.echo(
            f"dmlcts: the rows of {name} are stale, so its failures are not explained: `dmlcts spec arrays {name}`", err=True
        )
    with claim_folder(out):
        explanations = explain(record, MOST_OPERATORS)
        write_all(record, out, SpecSupplement(record.manifest.level), explanations)
    print_summary(record, console(), out, explanations)
    raise click.exceptions.Exit(exit_code(record))
