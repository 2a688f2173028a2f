"""What ``dmlcts mutants --interactions`` and ``--legal`` print and write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from dmlcts.conformance.commands.common import print_json
from dmlcts.conformance.faults.hunt.hunt import Cost
from dmlcts.conformance.faults.hunt.table import costs_table
from dmlcts.conformance.faults.interactions.hunting import FOUND, NO_DESC, SURVIVES, UNSEEN, Fate
from dmlcts.conformance.faults.interactions.shares import as_json, page, tables, too_few
from dmlcts.conformance.faults.legal.legal import FalseAlarm
from dmlcts.generator.case.case import to_json
from dmlcts.reports.record.files import write_text
from dmlcts.spec.writing.files import writing_to


def show(
    fates: Sequence[Fate],
    costs: Mapping[str, Cost],
    options: Mapping[str, object],
    json_wanted: bool,
    out: Path | None,
    table_file: Path | None,
) -> None:
    """Prints what became of the faults, as JSON or for people, and writes a case for each survivor to ``out``, the page to ``table_file``."""
    files = {} if out is None else _written(fates, out)
    if table_file is not None:
        write_text(table_file, page(fates, options))
    if json_wanted:
        print_json({**options, **as_json(fates)})
        return
    console = Console(highlight=False, soft_wrap=True)
    for fate in fates:
        if fate.fate == SURVIVES:
            found_by = files.get(fate.name) or (fate.witness.id if fate.witness else "")
            console.print(
                f"[bold red]{escape(fate.name)}[/], which {escape(fate.does)}, survives; {escape(str(found_by))} meets its conditions"
            )
    for fate in fates:
        if fate.fate in (NO_DESC, UNSEEN):
            console.print(f"{escape(fate.name)}, which {escape(fate.does)}, does not count: {fate.fate}", style="dim")
    for line in (*tables(fates), "", *costs_table(costs)):
        console.print(escape(line), style="dim")
    counted = sum(fate.fate in (FOUND, SURVIVES) for fate in fates)
    console.print(
        f"{sum(fate.fate == FOUND for fate in fates):,} of {counted:,} faults on two and three conditions are found; "
        f"{len(fates) - counted:,} more do not count"
    )
    for line in too_few(fates):
        console.print(line, style="bold red")


def _written(fates: Sequence[Fate], out: Path) -> dict[str, Path]:
    """The case files of survivors by fault."""
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
    files = {}
    for fate in fates:
        if fate.witness is not None:
            files[fate.name] = out / f"{fate.name.replace('/', '-')}.json"
            write_text(files[fate.name], json.dumps(to_json(fate.witness), indent=1))
    return files


def show_alarms(alarmed: Mapping[str, tuple[int, Sequence[FalseAlarm]]], json_wanted: bool) -> None:
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
