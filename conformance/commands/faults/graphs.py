"""``dmlcts faults graphs``: what shows only in graphs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults.common import track_work
from dmlcts.conformance.faults.hunt.graphs import GraphHunt, hunt_graphs, plan_hunts
from dmlcts.conformance.runner.workers.cluster.address import Cluster


@click.command("graphs")
@click.option(
    "--graphs",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    metavar="N",
    help="random graphs that each fault is hunted with",
)
@click.option(
    "--count",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="faults where one or two drawn conditions hold, besides each fault everywhere",
)
@click.option("--seed", type=click.IntRange(0), default=11, show_default=True, metavar="S", help="of the graphs and the conditions")
@json_option
@processes_option
@cluster_options
def command(graphs: int, count: int, seed: int, as_json: bool, processes: int, cluster: Cluster | None) -> None:
    """Plants faults in what composes graphs, and legal variations. A fault is found if one of the graphs fails.

    A fault that changes no byte of any graph does not count.

    \b
    Exit codes: 0 every fault that counts is found, and nothing that is legal; 1 otherwise; 2 usage error.
    """
    with mapper(processes, cluster) as mapped:
        hunts = list(track_work(mapped, partial(hunt_graphs, seed, graphs, ()), plan_hunts(seed, count)))
    if as_json:
        print_json([asdict(hunt) for hunt in hunts])
    else:
        _print(hunts)
    raise click.exceptions.Exit(1 if any(hunt.is_wrong for hunt in hunts) else 0)


def _print(hunts: list[GraphHunt]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for hunt in hunts:
        colour = "bold red" if hunt.is_wrong else "green"
        told = (
            f"found by graph {hunt.first}"
            if hunt.first is not None
            else f"{hunt.shown:,} graphs have other bytes, none fails"
            if hunt.shown
            else "shows in no graph"
        )
        console.print(f"[{colour}]{hunt.label}[/], {'legal' if hunt.is_legal else 'a fault'}, {escape(hunt.where)}: {told}")
    faults = [hunt for hunt in hunts if not hunt.is_legal and hunt.shown]
    alarms = [hunt for hunt in hunts if hunt.is_legal and hunt.is_wrong]
    legal = sum(hunt.is_legal for hunt in hunts)
    console.print(
        f"{sum(not hunt.is_wrong for hunt in faults)} of {len(faults)} faults are found, and {len(alarms)} of {legal} legal variations are called faults"
    )
