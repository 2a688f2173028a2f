"""``dmlcts mutants``."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from dmlcts.conformance.commands.spec import operator_named, print_json
from dmlcts.conformance.mutants.catalogue import check_review, find_mutant, mutants_of, mutated_operators
from dmlcts.conformance.mutants.hunt import Hunt, Kill, hunt, reference_failure, wanted
from dmlcts.conformance.mutants.reviewed import ReviewError
from dmlcts.conformance.runner.options import UsageError
from dmlcts.generator.case import LEVELS
from dmlcts.generator.suite import matcher
from dmlcts.spec.model import DOCUMENTED, MEASURED


@click.command("mutants")
@click.argument("operators", nargs=-1)
@click.option(
    "-k", "expression", default="", metavar="EXPR", help="only faults whose name has these words: 'strides and not output'"
)
@click.option("--level", "-l", type=click.Choice(LEVELS), default="core", show_default=True, help="which cases")
@click.option(
    "--basis",
    type=click.Choice([DOCUMENTED, MEASURED]),
    default=MEASURED,
    show_default=True,
    help="which cases; for documented ones, what measured ones alone find is not planted",
)
@click.option("--list", "listed", is_flag=True, help="name every fault and the case that finds it")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "-n", "processes", type=click.IntRange(0), default=0, show_default=True, help="processes; 0 runs everything in this one"
)
def command(
    operators: tuple[str, ...], expression: str, level: str, basis: str, listed: bool, as_json: bool, processes: int
) -> None:
    """How many planted faults the suite finds: runs each mutant of the reference until a case fails.

    A mutant is a backend too: dmlcts run --backend python:dmlcts.conformance.mutants:OPERATOR/FAULT.

    \b
    Exit codes: 0 every fault is found, and what is no fault is not; 1 not so;
    2 usage error, or the reference itself does not pass.
    """
    try:
        matching = matcher(expression)
        if not operators:
            check_review()
    except (ReviewError, ValueError) as error:
        raise UsageError(str(error)) from None
    names = _operators(operators)
    work = {name: [m.name for m in wanted(mutants_of(name).values(), basis) if matching(m.label)] for name in names}
    work = {name: chosen for name, chosen in work.items() if chosen}
    if not work:
        raise UsageError("no fault matches; `dmlcts mutants --list OPERATOR` names those there are")
    hunts: list[Hunt] = []
    with _mapper(processes) as mapped:
        console = Console(stderr=True)
        done = mapped(partial(_hunted, level, basis), list(work.items()))
        for name, found in zip(work, track(done, "operators", len(work), console=console, transient=True), strict=True):
            hunts += _hunts(work[name], found)
    if as_json:
        print_json([_json(entry) for entry in hunts])
    else:
        _print(hunts, listed)
    raise click.exceptions.Exit(1 if any(entry.surprising for entry in hunts) else 0)


def _operators(given: Sequence[str]) -> list[str]:
    """The names of the operators given, of all with mutants if none are. Raises UsageError."""
    known = mutated_operators()
    names = [operator_named(name).name for name in given]
    for name in names:
        if name not in known:
            raise UsageError(f"{name} has no reference, so that there are no mutants of it")
    return [name for name in known if name in (names or known)]


@contextmanager
def _mapper(processes: int) -> Iterator[Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]]:
    """``map`` in this process or in others, results in order."""
    if not processes:
        yield map
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield pool.map


# What runs in the other processes: by name, since functions do not travel.


def _hunted(level: str, basis: str, work: tuple[str, Sequence[str]]) -> list[Kill | None] | str:
    """What killed each mutant of one operator; or what is wrong with the reference itself."""
    operator, names = work
    failure = reference_failure(operator, level, basis)
    if failure is not None:
        return f"the reference itself does not pass {failure.case} ({failure.status}): {failure.message}"
    return [found.kill for found in hunt(operator, [find_mutant(name) for name in names], level, basis)]


def _hunts(names: Sequence[str], found: list[Kill | None] | str) -> Iterator[Hunt]:
    """Raises UsageError where the reference itself did not pass."""
    if isinstance(found, str):
        raise UsageError(f"{found}; as long as it does not, mutants prove nothing")
    for name, kill in zip(names, found, strict=True):
        yield Hunt(find_mutant(name), kill)


# What is printed


def _json(entry: Hunt) -> dict[str, Any]:
    mutant = entry.mutant
    return {
        "name": mutant.name,
        "does": mutant.fault.does,
        "basis": mutant.basis,
        "no_fault": mutant.no_fault,
        "kill": asdict(entry.kill) if entry.kill else None,
    }


def _print(hunts: Sequence[Hunt], listed: bool) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for entry in hunts:
        mutant = entry.mutant
        if entry.surprising:
            fate = f"is found, and should not be, by {entry.kill.case}" if entry.kill else "survives"
            console.print(f"[bold red]{escape(mutant.name)}[/], which {escape(mutant.fault.does)}, {escape(fate)}")
        elif listed:
            fate = entry.kill.case if entry.kill else f"no fault: {mutant.no_fault}"
            console.print(f"{escape(mutant.name)} [dim]({escape(mutant.fault.does)}): {escape(fate)}[/]")
    faults = [entry for entry in hunts if not entry.mutant.no_fault]
    killed = sum(entry.kill is not None for entry in faults)
    console.print(
        f"{killed} of {len(faults)} faults are found; {len(hunts) - len(faults)} more change nothing that an implementation promises",
        style="bold" if any(entry.surprising for entry in hunts) else "green",
    )
