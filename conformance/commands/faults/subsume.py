"""``dmlcts faults subsume``: which faults are found whenever another one is."""

from __future__ import annotations

from tempfile import TemporaryDirectory

import click

from dmlcts.conformance.commands.common import cluster_options, mapper, processes_option
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults.common import operators_of, planted_in, track_work
from dmlcts.conformance.faults.hunt.hunt import Hunter
from dmlcts.conformance.faults.hunt.subsumption import digest, hardest, write
from dmlcts.conformance.runner.workers.cluster.address import Cluster
from dmlcts.spec.model.operator import MEASURED


@click.command("subsume")
@common.operators_argument
@common.shard_option
@processes_option
@cluster_options
def command(operators: tuple[str, ...], shard: str, processes: int, cluster: Cluster | None) -> None:
    """Works out which faults are found whenever another one is, and writes it down, so that hunts skip them. Slow."""
    names = operators_of(operators, shard)
    with mapper(processes, cluster) as mapped:  # one operator after another is written, so that nothing is lost on the way
        for name, labels in zip(names, track_work(mapped, _hardest, names), strict=True):
            write({name: labels}, {name: digest(planted_in(name))})
            faults = sum(not mutant.no_fault for mutant in planted_in(name))
            click.echo(f"{name}: {len(labels)} of {faults} faults are not found whenever another is")


def _hardest(operator: str) -> list[str]:
    with TemporaryDirectory() as folder:
        return hardest(Hunter(operator, "core", MEASURED, folder), planted_in(operator))
