"""``dmlcts report``."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from dmlcts.conformance.summary import print_summary
from dmlcts.reports import write_all
from dmlcts.reports.record import read_record


@click.command("report")
@click.argument("results", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
def command(results: Path, out: Path) -> None:
    """Writes the HTML, JUnit, CTRF and Markdown reports of a results file, as run does."""
    record = read_record(results)
    write_all(record, out)
    print_summary(record, Console(highlight=False), out)
