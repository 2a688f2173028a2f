"""``dmlcts census``."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.census import census_of, summary, write_census, write_spec_census
from dmlcts.conformance.runner.planning.options import UsageError


@click.command("census", epilog="Exit codes: 0 it was counted, 2 a capture cannot be read.")
@click.argument("captures", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="write the census to this JSON file")
@click.option(
    "--spec",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="write a file for each operator to this folder of the spec",
)
def command(captures: tuple[Path, ...], out: Path | None, folder: Path | None) -> None:
    """Count what clients dispatch: distinct dispatches, grouped into kinds by their structure (docs/clients.md).

    Each capture counts as a model of its file's name.
    """
    try:
        census = census_of((read_capture(file), file.name.removesuffix(".capture")) for file in captures)
    except CaptureError as error:
        raise UsageError(str(error)) from None
    for line in summary(census):
        click.echo(line)
    if out is not None:
        write_census(census, out)
        click.echo(f"written: {out}")
    if folder is not None:
        click.echo(f"written: {write_spec_census(census, folder)} files in {folder}")
