"""``dmlcts faults``: planted faults, which the suite must find, and legal variations, which must pass."""

from __future__ import annotations

import click

from dmlcts.conformance.commands.faults import conditions, graphs, legal, sequences, subsume
from dmlcts.conformance.commands.faults.hunt import by_kind_command, hunt_command, list_command


@click.group("faults")
def command() -> None:
    """Tests the suite itself: plants faults in the reference, and counts those that a case finds.

    This is for those who write the suite, not for those who run it on an implementation.
    """


for each in (
    hunt_command,
    conditions.command,
    legal.command,
    sequences.command,
    graphs.command,
    by_kind_command,
    subsume.command,
    list_command,
):
    command.add_command(each)
