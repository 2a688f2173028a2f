"""``dmlcts faults legal``: what is no fault, and must pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults.common import operators_of, track_work
from dmlcts.conformance.faults.legal.legal import FalseAlarm, false_alarms
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster.address import Cluster


@click.command("legal")
@common.operators_argument
@common.expression_option
@common.level_option
@common.basis_option
@common.shard_option
@json_option
@processes_option
@cluster_options
def command(
    operators: tuple[str, ...],
    expression: str,
    level: str,
    basis: str,
    shard: str,
    as_json: bool,
    processes: int,
    cluster: Cluster | None,
) -> None:
    """Runs every case on legal variations of the reference: sums in another order, fused multiply-add, a last bit that depends on the desc.

    \b
    Exit codes: 0 no case fails; 1 some case fails; 2 usage error, or the reference itself does not pass.
    """
    common.matching_labels(expression)
    names = operators_of(operators, shard)
    with mapper(processes, cluster) as mapped:
        alarmed = dict(zip(names, track_work(mapped, partial(_alarms, level, basis, expression), names), strict=True))
    if expression and not any(count for count, _ in alarmed.values()):
        raise UsageError(f"no legal variation matches '{expression}'")
    _show(alarmed, as_json)
    raise click.exceptions.Exit(1 if any(alarms for _, alarms in alarmed.values()) else 0)


def _alarms(level: str, basis: str, expression: str, operator: str) -> tuple[int, list[FalseAlarm]]:
    return false_alarms(operator, level, basis, expression)


def _show(alarmed: Mapping[str, tuple[int, Sequence[FalseAlarm]]], json_wanted: bool) -> None:
    """Prints how many legal variations there are of each operator, and the cases that fail on them, as JSON or for people."""
    alarms = [alarm for _, some in alarmed.values() for alarm in some]
    count = sum(count for count, _ in alarmed.values())
    if json_wanted:
        print_json({"variations": {name: count for name, (count, _) in alarmed.items()}, "alarms": list(map(asdict, alarms))})
        return
    console = Console(highlight=False, soft_wrap=True)
    for alarm in alarms:
        console.print(
            f"[bold red]{escape(alarm.name)}[/], which {escape(alarm.does)}, is legal, and {escape(alarm.kill.case)} fails"
        )
    for (kind, law), cases in Counter((alarm.kill.kind, alarm.relation) for alarm in alarms).most_common():
        console.print(f"{cases:,} cases of kind {kind}{f', law {law}' if law else ''}")
    console.print(f"{len({alarm.name for alarm in alarms}):,} of {count:,} legal variations are called faults")
