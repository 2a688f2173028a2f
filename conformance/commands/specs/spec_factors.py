"""``dmlcts spec factors`` and ``arrays``."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.commands.common import json_option, mapper, names_given, operator_named, print_json, processes_option
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.generator.covering.cases import computed, digest, is_stale
from dmlcts.generator.covering.stored import store, stored
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.choose import with_random
from dmlcts.spec.reading.loader import load, operator_names


@click.command("factors")
@click.argument("operator")
@json_option
def factors(operator: str, as_json: bool) -> None:
    """Prints the factors of an operator: what its cases vary, and the values that they combine."""
    model = model_of(plan_of(operator_named(operator)))
    array = stored(model.plan.operator.name, digest(model))
    if as_json:
        print_json(
            {
                "operator": model.plan.operator.name,
                "factors": [{"name": factor.name, "values": list(factor.values)} for factor in model.factors],
                "rows": dict(array.ends) if array else None,
            }
        )
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("factor")
    table.add_column("values", overflow="fold")
    for factor in model.factors:
        table.add_row(escape(factor.name), escape(" · ".join(factor.values)))
    console().print(table)
    if array:
        click.echo(", ".join(f"{rows} rows at level {level}" for level, rows in array.ends.items()))
    else:
        click.echo(f"no array is stored for these factors; `dmlcts spec arrays {model.plan.operator.name}` computes one")


@click.command("arrays")
@click.argument("operators", nargs=-1)
@click.option("--check", is_flag=True, help="compute nothing; exit with 1 if an array is stale")
@processes_option
def arrays(operators: tuple[str, ...], check: bool, processes: int) -> None:
    """Computes the covering arrays of operators whose promises or factors have changed, and stores them."""
    names = names_given(operators) or list(operator_names())
    stale = [name for name in names if is_stale(load(name))]
    if check:
        for name in stale:
            click.echo(f"{name}: its covering array is stale; `dmlcts spec arrays {name}` computes it anew")
        click.echo(f"{len(names) - len(stale)} of {len(names)} covering arrays are up to date")
        raise click.exceptions.Exit(1 if stale else 0)
    with mapper(processes) as mapped:
        for name, ends in zip(stale, mapped(_store, stale), strict=True):
            click.echo(f"{name}: {', '.join(f'{rows} rows at level {level}' for level, rows in ends.items())}")


def _store(name: str) -> dict[str, int]:
    plan = plan_of(load(name))
    found = with_random(plan, computed(plan))
    store(name, found)
    return dict(found.ends)
