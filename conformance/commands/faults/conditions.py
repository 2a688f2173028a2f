"""``dmlcts faults conditions``: faults that need two or three conditions at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults.common import SEED, add_costs, operators_of, track_work
from dmlcts.conformance.faults.hunt.hunt import Cost
from dmlcts.conformance.faults.hunt.table import costs_table
from dmlcts.conformance.faults.interactions.hunting import FOUND, NO_DESC, SURVIVES, UNSEEN, Fate, hunt_interactions
from dmlcts.conformance.faults.interactions.planting import spread_numbers
from dmlcts.conformance.faults.interactions.shares import as_json as shares_as_json
from dmlcts.conformance.faults.interactions.shares import page, tables, too_few
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster.address import Cluster
from dmlcts.generator.case.case import to_json
from dmlcts.reports.record.files import file_name, write_text
from dmlcts.spec.writing.files import writing_to

_ENOUGH = 200
"""Of fewer faults, the shares say little."""


@click.command("conditions")
@common.operators_argument
@click.option(
    "--count", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="faults of all operators together"
)
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="of what is drawn")
@click.option(
    "--rules",
    "by_rules",
    is_flag=True,
    help="three to five conditions each, like the rules by which a library chooses its kernels; none is demanded",
)
@common.level_option
@common.basis_option
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="write a case for each survivor, for `dmlcts run --case-file`",
)
@click.option(
    "--table",
    "table_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="write the shares as a page",
)
@json_option
@processes_option
@cluster_options
def command(
    operators: tuple[str, ...],
    count: int,
    seed: int,
    by_rules: bool,
    level: str,
    basis: str,
    out: Path | None,
    table_file: Path | None,
    as_json: bool,
    processes: int,
    cluster: Cluster | None,
) -> None:
    """Hunts faults that need two or three conditions at once: on sizes, strides, ranks, attributes, offsets, data.

    Of each operator family 98 % of those on two and 95 % of those on three must be found. With --rules no share must be.

    \b
    Exit codes: 0 enough faults are found; 1 not so; 2 usage error, or the reference itself does not pass.
    """
    if by_rules and table_file is not None:
        raise UsageError("--table writes the page of faults on two and three conditions; leave out --rules, or take --json")
    work = list(spread_numbers(operators_of(operators), count).items())
    fates: list[Fate] = []
    costs: dict[str, Cost] = {}
    with mapper(processes, cluster) as mapped:
        for some, spent in track_work(mapped, partial(_hunt, seed, level, basis, by_rules), work):
            fates += some
            add_costs(costs, spent)
    _show(fates, costs, {"seed": seed, "rules": by_rules, "level": level, "basis": basis}, as_json, out, table_file)
    raise click.exceptions.Exit(1 if too_few(fates) else 0)


def _hunt(seed: int, level: str, basis: str, by_rules: bool, work: tuple[str, Sequence[int]]) -> tuple[list[Fate], dict[str, Cost]]:
    operator, numbers = work
    return hunt_interactions(operator, seed, numbers, level, basis, by_rules=by_rules)


def _show(
    fates: Sequence[Fate],
    costs: Mapping[str, Cost],
    options: Mapping[str, object],
    json_wanted: bool,
    out: Path | None,
    table_file: Path | None,
) -> None:
    """Prints what became of the faults, as JSON or for people, and writes a case for each survivor to ``out``, the page to ``table_file``."""
    files = {} if out is None else _write_survivors(fates, out)
    if table_file is not None:
        write_text(table_file, page(fates, options))
    if json_wanted:
        print_json({**options, **shares_as_json(fates)})
        return
    console = Console(highlight=False, soft_wrap=True)
    for fate in fates:
        if fate.fate == SURVIVES:
            found_by = files.get(fate.name) or (fate.witness.id if fate.witness else "")
            console.print(
                f"[bold red]{escape(fate.name)}[/], which {escape(fate.does)}, survives; {escape(str(found_by))} meets its conditions"
            )
    for fate in fates:
        if fate.fate in (NO_DESC, UNSEEN):
            console.print(f"{escape(fate.name)}, which {escape(fate.does)}, does not count: {fate.fate}", style="dim")
    for line in (*tables(fates), "", *costs_table(costs)):
        console.print(escape(line), style="dim")
    counted = sum(fate.fate in (FOUND, SURVIVES) for fate in fates)
    console.print(
        f"{sum(fate.fate == FOUND for fate in fates):,} of {counted:,} faults {'by rules' if options['rules'] else 'on two and three conditions'} are found; "
        f"{len(fates) - counted:,} more do not count"
    )
    for line in (lines := too_few(fates)):
        console.print(line, style="bold red")
    if lines and len(fates) < _ENOUGH:
        console.print(
            f"of {len(fates):,} faults, one or two that survive may be chance: what of the survivors above would an implementation get wrong? "
            f"{'' if out else '`--out FOLDER` writes a case for each; '}a larger `--count`, or another `--seed`, shows whether more survive"
        )


def _write_survivors(fates: Sequence[Fate], out: Path) -> dict[str, Path]:
    """The case files of survivors by fault."""
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
    files = {}
    for fate in fates:
        if fate.witness is not None:
            files[fate.name] = out / file_name(fate.name, ".json")
            write_text(files[fate.name], json.dumps(to_json(fate.witness), indent=1))
    return files
