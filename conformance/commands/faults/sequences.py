"""``dmlcts faults sequences``: what shows only beyond one dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain

import click
from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import cluster_options, json_option, mapper, print_json, processes_option
from dmlcts.conformance.commands.faults import common
from dmlcts.conformance.commands.faults.common import operators_of, track_work
from dmlcts.conformance.faults.beyond.sequences import FAULTS, LEGAL
from dmlcts.conformance.faults.hunt.sequences import SequenceHunt, hunt_sequences
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.workers.cluster.address import Cluster


@click.command("sequences")
@common.operators_argument
@common.expression_option
@common.level_option
@json_option
@processes_option
@cluster_options
def command(
    operators: tuple[str, ...], expression: str, level: str, as_json: bool, processes: int, cluster: Cluster | None
) -> None:
    """Plants faults in what performs sequences, and legal variations. A fault is found if a case of one of the operators fails.

    \b
    Exit codes: 0 every fault is found, and nothing that is legal; 1 otherwise; 2 usage error.
    """
    matching = common.matching_labels(expression)
    labels = [label for label in (*FAULTS, *LEGAL) if matching(label)]
    if not labels:
        raise UsageError(f"no fault of sequences matches '{expression}'; known: {', '.join((*FAULTS, *LEGAL))}")
    names = operators_of(operators)
    with mapper(processes, cluster) as mapped:
        every = list(chain.from_iterable(track_work(mapped, partial(hunt_sequences, level, labels), names)))
    shown = [_sum_up([hunt for hunt in every if hunt.label == label]) for label in labels]
    if as_json:
        print_json([asdict(hunt) | {"operators": count} for hunt, count in shown])
    else:
        _print(shown, len(names))
    raise click.exceptions.Exit(1 if any(hunt.is_wrong for hunt, _ in shown) else 0)


def _sum_up(hunts: Sequence[SequenceHunt]) -> tuple[SequenceHunt, int]:
    """Of one step in some operators: the first that a case failed in, and in how many operators one did."""
    return next((hunt for hunt in hunts if hunt.case), hunts[0]), sum(bool(hunt.case) for hunt in hunts)


def _print(shown: Sequence[tuple[SequenceHunt, int]], operators: int) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for hunt, count in shown:
        colour = "bold red" if hunt.is_wrong else "green"
        where = f"{count:,} of {operators:,} operators, first by {escape(hunt.case)}" if hunt.case else "no case fails"
        console.print(f"[{colour}]{hunt.label}[/], {'legal' if hunt.is_legal else 'a fault'}: {escape(hunt.does)}: {where}")
    faults = [hunt for hunt, _ in shown if not hunt.is_legal]
    legal = [hunt for hunt, _ in shown if hunt.is_legal]
    found, alarms = sum(not hunt.is_wrong for hunt in faults), sum(hunt.is_wrong for hunt in legal)
    console.print(f"{found} of {len(faults)} faults are found, and {alarms} of {len(legal)} legal variations are called faults")
