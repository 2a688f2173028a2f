"""``dmlcts spec factors`` and ``arrays``."""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.commands.common import json_option, mapper, names_given, operator_named, print_json, processes_option
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.generator.covering.cases import empty_array, is_stale
from dmlcts.generator.covering.grow import compute_rows
from dmlcts.generator.covering.stored import STRENGTHS, CoveringArray, read_arrays, write_arrays
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.choose import with_random
from dmlcts.generator.suite.grown import grow
from dmlcts.spec.reading.loader import load, operator_names


@click.command("factors")
@click.argument("operator")
@json_option
def factors(operator: str, as_json: bool) -> None:
    """Prints the factors of an operator: what its cases vary, and the values that they combine."""
    model = model_of(plan_of(operator_named(operator)))
    every = () if is_stale(model.plan.operator) else read_arrays(model.plan.operator.name)
    rows = {level: sum(len(dict(array.levels("full")).get(level, ())) for array in every) for level in STRENGTHS} if every else None
    if as_json:
        print_json(
            {
                "operator": model.plan.operator.name,
                "factors": [{"name": factor.name, "values": list(factor.values)} for factor in model.factors],
                "rows": rows,
            }
        )
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("factor")
    table.add_column("values", overflow="fold")
    for factor in model.factors:
        table.add_row(escape(factor.name), escape(" · ".join(factor.values)))
    console().print(table)
    if rows:
        click.echo(_rows_in_words(rows))
    else:
        click.echo(f"no rows are stored for these factors; `dmlcts spec arrays {model.plan.operator.name}` computes them")


def _rows_in_words(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count} rows that level {level} adds" for level, count in rows.items())


@click.command("arrays")
@click.argument("operators", nargs=-1)
@click.option("--check", is_flag=True, help="compute nothing; exit with 1 if rows are stale")
@click.option(
    "--fresh",
    is_flag=True,
    help="give up all stored rows and draw new ones: nearly all ids change, so only for a new major version",
)
@processes_option
def arrays(operators: tuple[str, ...], check: bool, fresh: bool, processes: int) -> None:
    """Computes the rows that are missing where an operator's promises or factors have changed, and stores them behind those that are there.

    Rows that are still valid stay, and so do their ids.
    """
    names = names_given(operators) or list(operator_names())
    stale = [name for name in names if fresh or is_stale(load(name))]
    if check:
        for name in stale:
            click.echo(f"{name}: its rows are stale; `dmlcts spec arrays {name}` adds those that are missing")
        click.echo(f"the rows of {len(names) - len(stale)} of {len(names)} operators are up to date")
        raise click.exceptions.Exit(1 if stale else 0)
    if operators and (done := [name for name in names if name not in stale]):
        click.echo(f"the rows of {', '.join(done)} are up to date")
    if stale:
        click.echo(f"dmlcts: computing the rows of {', '.join(stale)}; each operator takes minutes", err=True)
    with mapper(processes) as mapped:
        for name, rows in zip(stale, mapped(_store_fresh if fresh else _store, stale), strict=True):
            click.echo(f"{name}: {_rows_in_words(rows)}")


def _store(name: str) -> dict[str, int]:
    """Adds a section with what is missing."""
    array = grow(load(name))
    write_arrays(name, *read_arrays(name), array)
    return _rows_of(array)


def _store_fresh(name: str) -> dict[str, int]:
    """A single section, whatever was there."""
    plan = plan_of(load(name))
    array = with_random(plan, compute_rows(plan, "full", empty_array(plan)))
    write_arrays(name, array)
    return _rows_of(array)


def _rows_of(array: CoveringArray) -> dict[str, int]:
    return {level: len(rows) for level, rows in array.levels("full")}
