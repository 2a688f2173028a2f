"""``dmlcts repro``."""

from __future__ import annotations

from pathlib import Path

import click

from dmlcts.conformance.commands.common import case_named
from dmlcts.conformance.dxdispatch.case_folder import write_case
from dmlcts.spec.writing.files import writing_to


@click.command("repro")
@click.argument("case")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend for the printed command")
def command(case: str, out: Path, backend: str) -> None:
    """Writes a case to a folder: case.json, model.json (a DxDispatch model), the inputs and the expected outputs as .npy.

    CASE is a case's id, or a JSON file of a failed property case.
    """
    found = case_named(case)
    with writing_to(out):
        written = write_case(found, out)
        click.echo(f"{found.id}: {', '.join(written)} in {out}")
    again = f'--case "{found.id}"' if not Path(case).is_file() else f'--case-file "{(out / "case.json").as_posix()}"'
    click.echo(f'run it: dmlcts run --backend "{backend}" {again}')
