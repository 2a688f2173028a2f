"""``dmlcts mutants``."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from dmlcts.conformance.commands.common import operator_named, print_json
from dmlcts.conformance.mutants.catalogue import find_mutant, mutants, mutated_operators
from dmlcts.conformance.mutants.hunt import Hunt, Kill, kills_in, reference_failure, summary, wanted
from dmlcts.conformance.mutants.table import table
from dmlcts.conformance.runner.options import UsageError
from dmlcts.generator.case import LEVELS
from dmlcts.generator.matching import matcher
from dmlcts.reports.record import Result
from dmlcts.spec.model import DOCUMENTED, MEASURED


@click.command("mutants")
@click.argument("operators", nargs=-1)
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="only mutants whose name has these words: 'strides and not output'"
)
@click.option("--level", "-l", type=click.Choice(LEVELS), default="core", show_default=True, help="which cases")
@click.option(
    "--basis",
    type=click.Choice([DOCUMENTED, MEASURED]),
    default=MEASURED,
    show_default=True,
    help="which cases; for documented ones, what only DirectML.dll was measured to do is not planted",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--table", "table_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.md", help="write a table in Markdown"
)
@click.option(
    "-n", "processes", type=click.IntRange(0), default=0, show_default=True, help="processes; 0 runs everything in this one"
)
def command(
    operators: tuple[str, ...], expression: str, level: str, basis: str, as_json: bool, table_file: Path | None, processes: int
) -> None:
    """How many planted faults the suite finds: runs each mutant of the reference until a case fails.

    A mutant is a backend too: dmlcts run --backend python:dmlcts.conformance.mutants:NAME.

    \b
    Exit codes: 0 every fault is found, and what is no fault is not; 1 not so;
    2 usage error, or the reference itself does not pass.
    """
    names = _operators(operators)
    chosen = [mutant for mutant in wanted(mutants(), names, basis) if _matching(expression)(mutant.name)]
    if not chosen:
        raise UsageError("no mutant matches; `dmlcts mutants --json` lists those there are")
    with _mapper(processes) as mapped:
        concerned = [name for name in names if any(name in mutant.operators for mutant in chosen)]
        work = [(name, [mutant.name for mutant in chosen if name in mutant.operators]) for name in concerned]
        console = Console(stderr=True)
        found = track(
            mapped(partial(_kills, level, basis), work),
            "operators",
            len(work),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        kills = {name: _killed(kills) for name, kills in zip(concerned, found, strict=True)}
    hunts = [
        Hunt(mutant, {name: kills[name][mutant.name] for name in mutant.operators if mutant.name in kills[name]})
        for mutant in chosen
    ]
    if table_file:
        table_file.write_text(table(hunts, concerned), encoding="utf-8", newline="\n")
    if as_json:
        print_json(summary(hunts, concerned))
    else:
        _print(hunts, concerned)
    raise click.exceptions.Exit(1 if any(entry.surprising for entry in hunts) else 0)


def _operators(given: Sequence[str]) -> list[str]:
    """The names of the operators given, of all with mutants if none are. Raises UsageError."""
    known = [operator.name for operator in mutated_operators()]
    names = [operator_named(name).name for name in given]
    for name in names:
        if name not in known:
            raise UsageError(f"{name} has no reference, so that there are no mutants of it")
    return [name for name in known if name in (names or known)]


def _matching(expression: str) -> Callable[[str], bool]:
    try:
        return matcher(expression)
    except ValueError as error:
        raise UsageError(str(error)) from None


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]]:
    """``map`` in this process or in others, results in order."""
    if not processes:
        yield map
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


# What runs in the other processes: by name, since functions do not travel.


def _kills(level: str, basis: str, work: tuple[str, Sequence[str]]) -> Mapping[str, Kill] | Result:
    """The kills in one operator, by mutant, so that its cases are made once; or the case that the reference itself does not pass."""
    operator, names = work
    failure = reference_failure([operator], level, basis)
    return failure or kills_in(operator, [replace(find_mutant(name), operators=(operator,)) for name in names], level, basis)


def _killed(found: Mapping[str, Kill] | Result) -> Mapping[str, Kill]:
    """Raises UsageError where the reference itself did not pass."""
    if not isinstance(found, Result):
        return found
    said = f"the reference itself does not pass {found.case} ({found.status}): {found.message}"
    raise UsageError(f"{said}; as long as it does not, mutants prove nothing")


# What is printed


def _print(hunts: Sequence[Hunt], operators: Sequence[str]) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    rows = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("mutant", "operators", "killed by"):
        rows.add_column(column, overflow="fold")
    for entry in hunts:
        rows.add_row(escape(entry.mutant.name), _concerned(entry), _fate(entry))
    console.print(rows)
    total = summary(hunts, operators)
    console.print()
    console.print(_totals(total))
    for entry in hunts:
        if entry.surprising:
            console.print(_complaint(entry))
    console.print(
        f"{total['killed']} of {total['total']} faults are found; {total['equivalent']} more change nothing that an implementation promises",
        style="green" if not any(entry.surprising for entry in hunts) else "bold",
    )


def _concerned(entry: Hunt) -> str:
    names = entry.mutant.operators
    return names[0] if len(names) == 1 else f"{len(names)} operators"


def _fate(entry: Hunt) -> str:
    if entry.surprising:
        return "[bold red]found, and should not be[/]" if entry.mutant.equivalent else "[bold red]survives[/]"
    if entry.mutant.equivalent:
        return f"[dim]no fault: {escape(entry.mutant.equivalent)}[/]"
    first, *others = (kill.case for kill in entry.kills.values())
    return escape(first) + (f" [dim]and {len(others)} more[/]" if others else "")


def _totals(total: dict[str, Any]) -> Table:
    rows = Table(box=None, pad_edge=False, header_style="dim")
    rows.add_column("operator", no_wrap=True)
    for column in ("killed", "planted", "no fault"):
        rows.add_column(column, justify="right")
    for operator, counts in total["by_operator"].items():
        rows.add_row(operator, str(counts["killed"]), str(counts["total"]), str(counts["equivalent"]))
    return rows


def _complaint(entry: Hunt) -> str:
    name, does = escape(entry.mutant.name), escape(entry.mutant.does)
    if entry.mutant.equivalent:
        found = ", ".join(kill.case for kill in entry.kills.values())
        return f"[bold red]found, and should not be:[/] {name}, which {does}; by {escape(found)}"
    return f"[bold red]survives:[/] {name}, which {does}, in {', '.join(entry.survives_in)}"
