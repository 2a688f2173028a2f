"""``dmlcts faults graphs``: what shows only in graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults.common import track_work
from dmlcts.conformance.faults.hunt.graphs import GraphHunt, Graphs, hunt_graphs, plan_hunts
from dmlcts.conformance.runner.workers.cluster.address import Cluster
from dmlcts.generator.suite.graph_cases.graph_case import STORED


@click.command("graphs")
@click.option(
    "--level",
    "-l",
    type=click.Choice(STORED),
    default=STORED[0],
    show_default=True,
    help="hunt with the graphs of a run of this level",
)
@click.option("--graphs", type=click.IntRange(0), default=0, metavar="N", help="hunt with so many random graphs instead")
@click.option(
    "--count",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    metavar="N",
    help="faults where one or two drawn conditions hold, besides each fault everywhere",
)
@click.option(
    "--seed", type=click.IntRange(0), default=11, show_default=True, metavar="S", help="of random graphs and of the conditions"
)
@json_option
@processes_option
@cluster_options
def command(level: str, graphs: int, count: int, seed: int, as_json: bool, processes: int, cluster: Cluster | None) -> None:
    """Plants faults in what composes graphs, and legal variations. A fault is found if one of the graphs fails.

    A fault that changes no byte of any graph does not count.

    \b
    Exit codes: 0 at least 95 % of the faults that count are found, and nothing that is legal; 1 otherwise; 2 usage error.
    """
    with mapper(processes, cluster) as mapped:
        hunts: list[GraphHunt] = []
        for hunt in track_work(mapped, partial(hunt_graphs, Graphs(level, graphs, seed)), plan_hunts(seed, count)):
            hunts.append(hunt)
            if not as_json:  # as it comes: at level full all of them take an hour
                _print(hunt)
    if as_json:
        print_json([asdict(hunt) for hunt in hunts])
    else:
        _print_sums(hunts)
    raise click.exceptions.Exit(0 if are_enough(hunts) else 1)


ENOUGH = 0.95
"""The share of the faults that must be found."""


def are_enough(hunts: Sequence[GraphHunt]) -> bool:
    """Whether enough faults are found, and no legal variation is called a fault. Without a fault that counts, nothing is shown."""
    faults = [hunt for hunt in hunts if not hunt.is_legal and hunt.shown]
    alarms = [hunt for hunt in hunts if hunt.is_legal and hunt.is_wrong]
    return bool(faults) and not alarms and sum(not hunt.is_wrong for hunt in faults) >= ENOUGH * len(faults)


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _print(hunt: GraphHunt) -> None:
    colour = "bold red" if hunt.is_wrong else "green"
    told = (
        f"found by {hunt.first}"
        if hunt.first
        else f"{hunt.shown:,} graphs {'ran' if hunt.is_legal else 'have other bytes'}, none fails"
        if hunt.shown
        else "shows in no graph"
    )
    _console().print(f"[{colour}]{hunt.label}[/], {'legal' if hunt.is_legal else 'a fault'}, {escape(hunt.where)}: {told}")


def _print_sums(hunts: list[GraphHunt]) -> None:
    faults = [hunt for hunt in hunts if not hunt.is_legal and hunt.shown]
    alarms = [hunt for hunt in hunts if hunt.is_legal and hunt.is_wrong]
    legal = sum(hunt.is_legal for hunt in hunts)
    _console().print(
        f"{sum(not hunt.is_wrong for hunt in faults)} of {len(faults)} faults are found, and {len(alarms)} of {legal} legal variations are called faults"
    )
