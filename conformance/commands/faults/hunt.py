"""``dmlcts faults hunt``, ``by-kind`` and ``list``."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults.advice import advice
from dmlcts.conformance.commands.faults.common import SEED, add_costs, operators_of, planted_in, track_work
from dmlcts.conformance.faults.catalogue import find_mutant
from dmlcts.conformance.faults.hunt.hunt import Cost, Hunt, hunt, hunt_by_kind, wanted_mutants
from dmlcts.conformance.faults.hunt.subsumption import is_stale, left_out
from dmlcts.conformance.faults.hunt.table import costs_table
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster.address import Cluster

_everything_option = click.option(
    "--all", "everything", is_flag=True, help="also what is found whenever another fault is, and what is no fault"
)


@click.command("hunt")
@common.operators_argument
@common.expression_option
@common.level_option
@common.basis_option
@_everything_option
@common.shard_option
@click.option("--list", "listed", is_flag=True, help="name every fault and the case that finds it")
@json_option
@processes_option
@cluster_options
def hunt_command(
    operators: tuple[str, ...],
    expression: str,
    level: str,
    basis: str,
    everything: bool,
    shard: str,
    listed: bool,
    as_json: bool,
    processes: int,
    cluster: Cluster | None,
) -> None:
    """Counts the planted faults that the suite finds: runs each mutant of the reference until a case fails.

    Faults that are found whenever another one is (subsumed) are skipped; -k or --all includes them. A mutant is a backend too: dmlcts run
    --backend python:dmlcts.conformance.faults:OPERATOR/FAULT.

    \b
    Exit codes: 0 every fault is found, and no legal variation fails; 1 not so; 2 usage error, or the reference itself does not pass.
    """
    if not operators:
        common.check_reviewed()
    work, skipped = _choose(operators_of(operators, shard), expression, basis, everything)
    hunts, costs = [], dict[str, Cost]()
    with mapper(processes, cluster) as mapped:
        found = track_work(mapped, partial(_hunt, hunt, level, basis), list(work.items()))
        for labels, (kills, spent) in zip(work.values(), found, strict=True):
            hunts += [Hunt(find_mutant(mutant), kill) for mutant, kill in zip(labels, kills, strict=True)]
            add_costs(costs, spent)
    if as_json:
        print_json([_json(entry) for entry in hunts])
    else:
        stale = [name for name in work if is_stale(name, planted_in(name))]
        _print(hunts, level, listed, costs, skipped, stale)
    raise click.exceptions.Exit(1 if any(entry.is_surprising for entry in hunts) else 0)


@click.command("by-kind")
@common.operators_argument
@common.expression_option
@common.level_option
@common.basis_option
@common.shard_option
@click.option("--count", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="faults an operator")
@processes_option
@cluster_options
def by_kind_command(
    operators: tuple[str, ...],
    expression: str,
    level: str,
    basis: str,
    shard: str,
    count: int,
    processes: int,
    cluster: Cluster | None,
) -> None:
    """Hunts some faults of each operator, drawn by a seed, with each kind of case alone: what each kind finds, and what it costs."""
    work, _ = _choose(operators_of(operators, shard), expression, basis, everything=False)
    sample = [(name, _draw(name, labels, count)) for name, labels in work.items()]
    costs = dict[str, Cost]()
    with mapper(processes, cluster) as mapped:
        for spent in track_work(mapped, partial(_hunt, hunt_by_kind, level, basis), sample):
            add_costs(costs, spent)
    click.echo(f"Up to {count} faults of each operator, drawn by the seed {SEED}, each hunted with every kind of case alone.")
    for line in costs_table(costs):
        click.echo(line)


@click.command("list")
@common.operators_argument
@common.expression_option
@common.basis_option
@json_option
def list_command(operators: tuple[str, ...], expression: str, basis: str, as_json: bool) -> None:
    """Names every fault and what it does, without a hunt."""
    work, _ = _choose(operators_of(operators), expression, basis, everything=True)
    found = [find_mutant(name) for labels in work.values() for name in labels]
    if as_json:
        print_json([{key: value for key, value in _json(Hunt(mutant, None)).items() if key != "kill"} for mutant in found])
        return
    for mutant in found:
        click.echo(f"{mutant.name}: {mutant.fault.does}{f' (no fault: {mutant.no_fault})' if mutant.no_fault else ''}")


def _choose(names: Sequence[str], expression: str, basis: str, everything: bool) -> tuple[dict[str, list[str]], int]:
    """The names of the faults to hunt by operator, and how many are skipped as subsumed. Raises UsageError if there is none."""
    matching = common.matching_labels(expression)
    everything = everything or bool(expression)
    work, skipped = dict[str, list[str]](), 0
    for name in names:
        planted = planted_in(name)
        easy = set() if everything else left_out(name, planted)
        skipped += len(easy)
        chosen = (mutant for mutant in wanted_mutants(planted, basis) if matching(mutant.label) and mutant.label not in easy)
        if labels := [mutant.name for mutant in chosen if everything or not mutant.no_fault]:
            work[name] = labels
    if not work:
        raise UsageError("no fault matches; `dmlcts faults list OPERATOR` names those there are")
    return work, skipped


def _draw(operator: str, names: Sequence[str], count: int) -> list[str]:
    """A sample of an operator's faults, the same every time."""
    faults = [name for name in names if not find_mutant(name).no_fault]
    return random.Random(f"{SEED}/{operator}").sample(faults, min(count, len(faults)))  # noqa: S311 (a sample, no secret)


def _hunt(how: Callable[..., Any], level: str, basis: str, work: tuple[str, Sequence[str]]) -> Any:
    """Runs in another process: faults go there by name, since functions do not travel."""
    operator, names = work
    return how(operator, [find_mutant(name) for name in names], level, basis)


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


def _print(hunts: Sequence[Hunt], level: str, listed: bool, costs: Mapping[str, Cost], skipped: int, stale: Sequence[str]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for entry in hunts:
        mutant = entry.mutant
        if entry.is_surprising:
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
    console.print("What each kind of case found first, of those that were tried until one failed:")
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
        + (f"; {skipped:,} are skipped, as they are found whenever one of these is (--all includes them)" if skipped else ""),
        style="bold" if any(entry.is_surprising for entry in hunts) else "green",
    )
    for line in advice(hunts, level):
        console.print(escape(line))
    if stale:
        which = ", ".join(stale[:3]) + (f" and {len(stale) - 3} more" if len(stale) > 3 else "")
        console.print(
            f"all faults of {which} were hunted, as they are new or have changed; "
            f"at the end `dmlcts faults subsume{' NAME' if len(stale) > 1 else f' {which}'}` works out which ones later hunts may skip"
        )
