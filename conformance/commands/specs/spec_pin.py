"""``dmlcts spec pin``."""

from __future__ import annotations

from itertools import chain

import click

from dmlcts.conformance.commands.common import mapper, names_given, processes_option
from dmlcts.generator.suite.graph_cases.graph_case import GRAPHS
from dmlcts.generator.suite.pin import FILE, changes, pins_of, read_pins, write_pins
from dmlcts.spec.reading.loader import operator_names


@click.command("pin")
@click.argument("operators", nargs=-1)
@click.option("--check", is_flag=True, help="write nothing; exit with 1 if the cases are not those that are pinned")
@processes_option
def command(operators: tuple[str, ...], check: bool, processes: int) -> None:
    """Writes which cases the operators have: a line an operator and level, with hashes of the ids and of the contents; `graphs` has lines of its own.

    It prints each line that changes. A change of old cases ends the comparison with earlier runs: the commit's message says why.
    """
    every = [*operator_names(), GRAPHS]
    of_graphs = [GRAPHS] if GRAPHS in operators else []
    names = [*names_given([name for name in operators if name != GRAPHS]), *of_graphs] or every
    stored = read_pins()
    with mapper(processes) as mapped:
        found = list(chain.from_iterable(mapped(pins_of, names)))
    changed = [
        *changes(found, stored),
        *((pin, "there is no such operator") for pin in stored.values() if pin.operator not in every),
    ]
    for pin, how in changed:
        click.echo(f"{pin.operator}, level {pin.level}: {how}")
    if check:
        click.echo(
            f"{len(set(names) - {GRAPHS})} operators{' and the graphs' if GRAPHS in names else ''} checked, {len(changed)} lines of {FILE.name} differ"
            + ("; `dmlcts spec pin` writes them" if changed else "")
        )
        raise click.exceptions.Exit(1 if changed else 0)
    kept = [pin for pin in stored.values() if pin.operator not in names and pin.operator in every]
    write_pins([*found, *kept])
    click.echo(f"{len(found) + len(kept)} lines in {FILE.name}, {len(changed)} changed")
