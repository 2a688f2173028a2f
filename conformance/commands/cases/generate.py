"""``dmlcts generate``."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import click

from dmlcts.conformance.runner.screen.terminal import command_text, count_of
from dmlcts.generator.case.case import LEVELS


@click.command("generate")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option("--level", "-l", type=click.Choice(LEVELS), default="core", show_default=True, help="how many cases")
@click.option(
    "--basis", type=click.Choice(["documented", "measured"]), default="documented", show_default=True, help="as of `dmlcts run`"
)
@click.option("--feature-level", default="", help="highest feature level, such as 4_1  [default: all]")
@click.option("-k", "expression", default="", metavar="EXPR", help="only cases with these words in the id")
def command(out: Path, **given: str) -> None:
    """Writes pytest modules, one for each operator, that run with plain pytest: pytest DIR --dmlcts-backend BACKEND."""
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
    from dmlcts.conformance.runner.planning.selection import selected_cases
    from dmlcts.generator.case.emit import write_modules

    cases = selected_cases(RunOptions(**given))  # type: ignore[arg-type]
    if not cases:
        raise UsageError("no case matches these options; `dmlcts show -k EXPR` lists cases")
    files = write_modules(cases, out, metadata.version("directml-conformance"))
    again = command_text(["pytest", str(out), "--dmlcts-backend", "reference"])
    click.echo(f"{count_of(len(cases), 'case')} in {count_of(len(files), 'module')} in {out}; run them with: {again}")
