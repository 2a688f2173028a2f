"""``dmlcts merge``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from dmlcts.spec.writing.files import writing_to


@click.command("merge")
@click.argument("shards", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    help="the results file to write; of searches among graphs, the folder",
)
@click.option("--strict", is_flag=True, help="refuse shards that began more than a day apart, instead of a warning")
def command(shards: tuple[Path, ...], out: Path, strict: bool) -> None:
    """Merges the results of several shards, or of searches with different seeds, and exits with the code of a single run.

    A shard is a results file, or the output folder of a run. All must have the same suite, spec, backend with its code, options and selection of
    cases. Give every shard: a missing one is an error.

    Output folders of `dmlcts fuzz --graphs` with different seeds become one: failures with one cause together, each kernel once.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.exit_code import exit_code
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.conformance.sequences.graphs.merge import is_search
    from dmlcts.reports.record.record import SEARCH, write_record
    from dmlcts.reports.runs.merge import MergeError, far_starts, merge

    if (of_graphs := [is_search(path) for path in shards]) and all(of_graphs):
        raise click.exceptions.Exit(_merge_graphs(shards, out))
    if any(of_graphs):
        raise UsageError(f"{shards[of_graphs.index(True)]} is a search among graphs, and {shards[of_graphs.index(False)]} is none")
    if out.is_dir():
        raise UsageError(f"--out: {out} is a directory; name the results file to write")
    records = [read_run(path) for path in shards]
    if (old := far_starts(records)) and strict:
        raise UsageError(old)
    if old:
        click.echo(f"warning: {old}", err=True)
    try:
        record = merge(records)
    except MergeError as error:
        raise UsageError(str(error)) from None
    with writing_to(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_record(record, out)
    click.echo(
        f"{len(record.results):,} results of {len(shards)} {'searches' if record.manifest.level == SEARCH else 'shards'} in {out}"
    )
    raise click.exceptions.Exit(exit_code(record))


def _merge_graphs(searches: Sequence[Path], out: Path) -> int:
    """Merges searches among graphs into a folder, and returns the exit code of one. Raises UsageError and WriteError."""
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.conformance.sequences.graphs.many import PAGE, exit_code, may_write_to, summary_lines, write_results
    from dmlcts.conformance.sequences.graphs.merge import MergeError, merge_searches

    if not may_write_to(out):
        raise UsageError(f"{out} holds other files; name an empty folder with --out")
    try:
        found = merge_searches(searches)
    except MergeError as error:
        raise UsageError(str(error)) from None
    write_results(found, out)
    click.echo("\n".join([*summary_lines(found.tally), f"report: {out / PAGE}"]))
    return exit_code(found.tally.statuses)
