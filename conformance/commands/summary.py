"""The summary of a run in the terminal: the essentials at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlcts.reports.claim import claim_of
from dmlcts.reports.explanation import MOST_SHOWN, Explanation, more
from dmlcts.reports.record import FAILURES, NOT_RUN, PASS, STATUSES, Record
from dmlcts.reports.verdict import SYMBOLS, interruption, unused_waivers

_SHOWN = 5
"""The number of failures shown; the report has them all."""

_STYLES = {
    "pass": "green",
    "fail": "bold red",
    "error": "bold magenta",
    "unexpected_pass": "bold yellow",
    "waived": "yellow",
    "not_run": "yellow",
}


def print_summary(record: Record, console: Console, out: Path | None = None, explanations: Sequence[Explanation] = ()) -> None:
    """Prints counts by operator, what explains the failures, the first failures with the command that runs each again, and the claim."""
    claimed = claim_of(record)
    shown = [status for status in STATUSES if claimed.counts[status] or status == PASS]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator", overflow="fold")
    for status in shown:
        table.add_column(f"{SYMBOLS[status]} {status.replace('_', ' ')}", justify="right", style=_STYLES.get(status, ""))
    by_operator: dict[str, dict[str, int]] = {}
    for result in record.results:
        row = by_operator.setdefault(result.operator, dict.fromkeys(STATUSES, 0))
        row[result.status] += 1
    for operator, counts in by_operator.items():
        table.add_row(escape(operator), *(f"{counts[status]:,}" if counts[status] else "" for status in shown))
    console.print(table)
    print_explanations(explanations[:MOST_SHOWN], console)
    if note := more(explanations):
        console.print(f"[dim]{escape(note)}[/]")
    failures = [result for result in record.results if result.status in FAILURES]
    for result in failures[:_SHOWN]:
        console.print(f"\n[bold red]{SYMBOLS[result.status]} {escape(result.case)}[/]\n  {escape(result.message)}")
        console.print(f"  [dim]{escape(result.repro)}[/]", soft_wrap=True)
    if len(failures) > _SHOWN:
        console.print(f"\n... and {len(failures) - _SHOWN:,} more")
    note = interruption(record)
    if note and claimed.counts[NOT_RUN]:
        console.print(f"\n[yellow]{escape(note)}[/]")
    if note := unused_waivers(record):
        console.print(f"\n[yellow]{escape(note)}[/]")
    console.print(f"\n{escape(claimed.sentence)}", style="green" if claimed.ok else "bold")
    if record.manifest.seconds:
        ran = sum(claimed.counts.values()) - claimed.counts[NOT_RUN]
        console.print(f"{record.manifest.seconds:.1f} s, {ran / record.manifest.seconds:,.0f} cases a second", style="dim")
    if out is not None:
        console.print(f"report: {escape(str(out / 'index.html'))}", style="dim", soft_wrap=True)


def print_explanations(explanations: Sequence[Explanation], console: Console) -> None:
    """Prints each on a line, below it what is left open and the command that decides it."""
    if explanations:
        console.print()
    for explanation in explanations:
        console.print(f"[bold]{escape(explanation.where)}[/]: {escape(explanation.text)}", soft_wrap=True)
        if explanation.question:
            console.print(f"  [dim]{escape(explanation.question)}[/]", soft_wrap=True)
        if explanation.command:
            console.print(f"  [dim]these cases tell: {escape(explanation.command)}[/]", soft_wrap=True)
