"""``dmlcts mutants``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from dmlcts.conformance.commands.common import Mapper, mapper, names_given, print_json, processes_option
from dmlcts.conformance.commands.faults.mutants_others import show, show_alarms
from dmlcts.conformance.faults.catalogue import check_review, find_mutant, mutants_of, mutated_operators
from dmlcts.conformance.faults.hunt.hunt import Cost, Hunt, Hunter, ReferenceFails, hunt, hunt_by_kind, wanted
from dmlcts.conformance.faults.hunt.subsumption import digest, hardest, is_stale, left_out, write
from dmlcts.conformance.faults.hunt.table import costs_table
from dmlcts.conformance.faults.interactions.hunting import Fate, hunt_interactions
from dmlcts.conformance.faults.interactions.planting import spread
from dmlcts.conformance.faults.interactions.shares import too_few
from dmlcts.conformance.faults.legal.legal import FalseAlarm, false_alarms
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.conformance.faults.reviewed import ReviewError
from dmlcts.conformance.runner.work.options import UsageError, shard_of
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.case.id_filter import matcher
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

SEED = 10
"""Of the sample that --by-kind draws, and of the faults of --interactions unless another is given."""


@click.command("mutants")
@click.argument("operators", nargs=-1)
@click.option("-k", "expression", default="", metavar="EXPR", help="only faults whose name has these: 'strides and not output'")
@click.option("--level", "-l", type=click.Choice(LEVELS), default="full", show_default=True, help="which cases")
@click.option(
    "--basis",
    type=click.Choice([DOCUMENTED, MEASURED]),
    default=MEASURED,
    show_default=True,
    help="which cases; for documented ones, what measured ones alone find is not planted",
)
@click.option("--all", "everything", is_flag=True, help="hunt also what is found whenever another fault is, and what is no fault")
@click.option(
    "--by-kind", type=click.IntRange(1), metavar="N", help="hunt N faults an operator with each kind of case alone, drawn by a seed"
)
@click.option(
    "--interactions", type=click.IntRange(1), metavar="N", help="hunt N other faults, on two and three conditions, drawn by a seed"
)
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="of --interactions")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="write a case for each survivor of --interactions, for `dmlcts run --case-file`",
)
@click.option("--legal", is_flag=True, help="run every case on legal variations instead, which none may call a fault")
@click.option(
    "--subsumption", is_flag=True, help="work out anew which faults are found whenever another is, and write it down; slow"
)
@click.option("--shard", default="1/1", metavar="I/N", help="only every N-th operator, from the I-th on, for several machines")
@click.option("--list", "listed", is_flag=True, help="name every fault and the case that finds it")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--table",
    "table_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="write the shares of --interactions as a page",
)
@processes_option
def command(
    operators: tuple[str, ...],
    expression: str,
    level: str,
    basis: str,
    everything: bool,
    by_kind: int | None,
    interactions: int | None,
    seed: int,
    out: Path | None,
    legal: bool,
    subsumption: bool,
    shard: str,
    listed: bool,
    as_json: bool,
    table_file: Path | None,
    processes: int,
) -> None:
    """How many planted faults the suite finds: runs each mutant of the reference until a case fails.

    A fault is left out that is found whenever another is, unless -k or --all asks for it. A mutant is a backend too: dmlcts run --backend
    python:dmlcts.conformance.faults:OPERATOR/FAULT.

    With --interactions, faults that need two or three conditions at once: on sizes, strides, ranks, attributes, offsets, data. Of each
    operator family 98 % of those on two and 95 % of those on three must be found. With --legal, what an implementation may do otherwise than
    the reference: sums in another order, fused multiply-add, a last bit that depends on the desc. No case may fail.

    \b
    Exit codes: 0 every fault is found (or enough of them), and what is no fault is not; 1 not so;
    2 usage error, or the reference itself does not pass.
    """
    try:
        matching = matcher(expression)
        if not operators:
            check_review()
    except (ReviewError, ValueError) as error:
        raise UsageError(str(error)) from None
    part, parts = shard_of(shard)
    names = _operators(operators)[part - 1 :: parts]
    if not names:
        raise UsageError(f"--shard {shard}: there are fewer operators than parts")
    with mapper(processes) as mapped:
        if subsumption:
            _work_out(names, mapped)
            return
        if table_file and not interactions:
            raise UsageError("--table is about --interactions: give that too")
        if interactions:
            planted = list(spread(names, interactions).items())
            raise click.exceptions.Exit(_hunt_interactions(mapped, planted, seed, level, basis, as_json, out, table_file))
        if legal:
            raise click.exceptions.Exit(_hunt_alarms(mapped, names, level, basis, expression, as_json))
        no_faults = everything or bool(expression)
        chosen = {name: [m for m in wanted(mutants_of(name).values(), basis) if matching(m.label)] for name in names}
        easy = {name: set() if no_faults else left_out(name, _all(name)) for name in names}
        hunted = {
            name: [m.name for m in chosen[name] if m.label not in easy[name] and (no_faults or not m.no_fault)] for name in names
        }
        work = {name: labels for name, labels in hunted.items() if labels}
        if not work:
            raise UsageError("no fault matches; `dmlcts mutants --all --list OPERATOR` names those there are")
        hunts, costs = [], dict[str, Cost]()
        for name, (kills, spent) in zip(
            work, _tracked(mapped, partial(_hunted, hunt, level, basis), list(work.items())), strict=True
        ):
            hunts += [Hunt(find_mutant(mutant), kill) for mutant, kill in zip(work[name], kills, strict=True)]
            _add(costs, spent)
        if by_kind:
            costs = {}
            sample = [(name, _drawn(name, labels, by_kind)) for name, labels in work.items()]
            for spent in _tracked(mapped, partial(_hunted, hunt_by_kind, level, basis), sample):
                _add(costs, spent)
    stale = [name for name in work if is_stale(name, _all(name))]
    sampled = f"Up to {by_kind} faults of each operator, drawn by the seed {SEED}, each hunted with every kind of case alone."
    about = sampled if by_kind else ""
    if as_json:
        print_json([_json(entry) for entry in hunts])
    else:
        _print(hunts, listed, costs, about, sum(map(len, easy.values())), stale)
    raise click.exceptions.Exit(1 if any(entry.surprising for entry in hunts) else 0)


def _operators(given: Sequence[str]) -> list[str]:
    """The names of the operators given, of all with mutants if none are. Raises UsageError."""
    known = mutated_operators()
    names = names_given(given)
    for name in names:
        if name not in known:
            raise UsageError(f"{name} has no reference, so that there are no mutants of it")
    return [name for name in known if name in (names or known)]


def _all(operator: str) -> list[Mutant]:
    return list(mutants_of(operator).values())


def _drawn(operator: str, names: Sequence[str], count: int) -> list[str]:
    """A sample of an operator's faults, the same every time."""
    faults = [name for name in names if not find_mutant(name).no_fault]
    return random.Random(f"{SEED}/{operator}").sample(faults, min(count, len(faults)))  # noqa: S311 (a sample, no secret)


def _add(costs: dict[str, Cost], more: Mapping[str, Cost]) -> None:
    for kind, cost in more.items():
        known = costs.get(kind, Cost())
        costs[kind] = Cost(*(one + other for one, other in zip(astuple(known), astuple(cost), strict=True)))


def _tracked(mapped: Mapper, function: Callable[[Any], Any], work: Sequence[Any]) -> Iterator[Any]:
    """The results, with progress on a terminal. Raises UsageError where the reference itself does not pass."""
    console = Console(stderr=True)
    try:
        yield from track(
            mapped(function, work), "operators", len(work), console=console, transient=True, disable=not console.is_terminal
        )
    except ReferenceFails as error:
        raise UsageError(f"{error}; as long as it does not, mutants prove nothing") from None


def _work_out(names: Sequence[str], mapped: Mapper) -> None:
    """Writes which faults of these operators are the hardest, one operator after another, so that nothing is lost on the way."""
    for name, labels in zip(names, _tracked(mapped, _hardest, names), strict=True):
        write({name: labels}, {name: digest(_all(name))})
        click.echo(f"{name}: {len(labels)} of {sum(not m.no_fault for m in _all(name))} faults are not found whenever another is")


def _hunt_interactions(
    mapped: Mapper, work: Sequence[Any], seed: int, level: str, basis: str, as_json: bool, out: Path | None, table_file: Path | None
) -> int:
    """Hunts faults under conditions and prints what became of them. The exit code: 1 if too few are found."""
    fates: list[Fate] = []
    costs: dict[str, Cost] = {}
    for some, spent in _tracked(mapped, partial(_interacting, seed, level, basis), work):
        fates += some
        _add(costs, spent)
    show(fates, costs, {"seed": seed, "level": level, "basis": basis}, as_json, out, table_file)
    return 1 if too_few(fates) else 0


def _hunt_alarms(mapped: Mapper, names: Sequence[str], level: str, basis: str, expression: str, as_json: bool) -> int:
    """Runs all cases on legal variations and prints which fail. The exit code: 1 if any does."""
    alarmed = dict(zip(names, _tracked(mapped, partial(_alarms, level, basis, expression), names), strict=True))
    if expression and not any(count for count, _ in alarmed.values()):
        raise UsageError(f"no legal variation matches '{expression}'")
    show_alarms(alarmed, as_json)
    return 1 if any(alarms for _, alarms in alarmed.values()) else 0


# What runs in the other processes: by name, since functions do not travel.


def _hunted(how: Callable[..., Any], level: str, basis: str, work: tuple[str, Sequence[str]]) -> Any:
    operator, names = work
    return how(operator, [find_mutant(name) for name in names], level, basis)


def _interacting(seed: int, level: str, basis: str, work: tuple[str, Sequence[int]]) -> tuple[list[Fate], dict[str, Cost]]:
    operator, numbers = work
    return hunt_interactions(operator, seed, numbers, level, basis)


def _alarms(level: str, basis: str, expression: str, operator: str) -> tuple[int, list[FalseAlarm]]:
    return false_alarms(operator, level, basis, expression)


def _hardest(operator: str) -> list[str]:
    with TemporaryDirectory() as folder:
        return hardest(Hunter(operator, "core", MEASURED, folder), _all(operator))


# What is printed


def _json(entry: Hunt) -> dict[str, Any]:
    mutant, kill = entry.mutant, asdict(entry.kill) if entry.kill else None
    return {
        "name": mutant.name,
        "does": mutant.fault.does,
        "basis": mutant.basis,
        "no_fault": mutant.no_fault,
        "open": mutant.open,
        "kill": kill,
    }


def _print(hunts: Sequence[Hunt], listed: bool, costs: Mapping[str, Cost], about: str, easy: int, stale: Sequence[str]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for entry in hunts:
        mutant = entry.mutant
        if entry.surprising:
            fate = f"is found, and should not be, by {entry.kill.case}" if entry.kill else "survives"
            console.print(f"[bold red]{escape(mutant.name)}[/], which {escape(mutant.fault.does)}, {escape(fate)}")
        elif listed:
            fate = (
                entry.kill.case
                if entry.kill
                else f"no fault: {mutant.no_fault}"
                if mutant.no_fault
                else f"not found: {mutant.open}"
            )
            console.print(f"{escape(mutant.name)} [dim]({escape(mutant.fault.does)}): {escape(fate)}[/]")
    console.print(about or "What each kind of case found first, of those that were tried until one failed:")
    for line in costs_table(costs):
        console.print(escape(line), style="dim")
    gaps = [entry.mutant for entry in hunts if entry.mutant.open and entry.kill is None]
    for gap in [] if listed else gaps:
        console.print(f"not found so far: {escape(gap.name)}, which {escape(gap.fault.does)} ({escape(gap.open)})", style="yellow")
    counts = Counter("no fault" if entry.mutant.no_fault else "found" if entry.kill else "survives" for entry in hunts)
    faults = counts["found"] + counts["survives"]
    console.print(
        f"{counts['found']:,} of {faults:,} faults are found"
        + (f"; {len(gaps)} known gaps of the suite" if gaps else "")
        + (f"; {counts['no fault']:,} more change nothing that an implementation promises" if counts["no fault"] else "")
        + (f"; {easy:,} are left out, for they are found whenever one of these is (--all hunts them)" if easy else ""),
        style="bold" if any(entry.surprising for entry in hunts) else "green",
    )
    if stale:
        which = ", ".join(stale[:3]) + (f" and {len(stale) - 3} more" if len(stale) > 3 else "")
        console.print(
            f"the faults of {which} have changed, so that all were hunted; `dmlcts mutants --subsumption` works out the hardest anew"
        )
