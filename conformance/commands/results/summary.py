"""The summary of a run in the terminal: the essentials at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.sequences.promises.profile import profile_called, profile_names
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.explain.explanation import MOST_SHOWN, Explanation, remarks, rest_sentence
from dmlcts.reports.kernels.table import coverage
from dmlcts.reports.kernels.text import coverage_text
from dmlcts.reports.record.groups import deciding_results
from dmlcts.reports.record.record import FAILURES, NOT_RUN, PASS, SEARCH, STATUSES, UNSUPPORTED, Record, Result
from dmlcts.reports.record.verdict import SYMBOLS, interruption, matrix, total, unused_waivers, without_support

_SHOWN = 5
"""How many are shown of the cases that decide the exit code, and of the operators that a search did not come to; the report has them all."""

_STYLES = {
    "pass": "green",
    "fail": "bold red",
    "error": "bold magenta",
    "unexpected_pass": "bold yellow",
    "waived": "yellow",
    "not_run": "yellow",
}


def print_summary(record: Record, console: Console, out: Path | None = None, explanations: Sequence[Explanation] = ()) -> None:
    """Prints counts by operator, what explains the failures, the first cases that decide the exit code, the claim, and how many kernels were reached."""
    claimed = claim_of(record)
    shown = [status for status in STATUSES if claimed.counts[status] or status == PASS]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator", overflow="fold")
    for status in shown:
        table.add_column(f"{SYMBOLS[status]} {status.replace('_', ' ')}", justify="right", style=_STYLES.get(status, ""))
    found = matrix(record.results)
    lacking = without_support(found)
    named = dict.fromkeys(result.operator for result in record.results if result.operator not in lacking)
    rows = {operator: total(found[operator].values()) for operator in named}
    if lacking:
        rows[f"{len(lacking)} operators"] = total(lacking.values())
    for operator, counts in rows.items():
        table.add_row(escape(operator), *(f"{counts[status]:,}" if counts[status] else "" for status in shown))
    console.print(table)
    if record.manifest.profile.get("name") in profile_names():
        print_profile(record, console)
    print_explanations(explanations[:MOST_SHOWN], console)
    if note := rest_sentence(explanations):
        console.print(f"[dim]{escape(note)}[/]")
    decisive = deciding_results(record.results)
    for result in decisive[:_SHOWN]:
        console.print(f"\n[bold red]{SYMBOLS[result.status]} {escape(result.case)}[/]\n  {escape(_problem(result))}")
        if result.repro:
            console.print(f"  [dim]{escape(result.repro)}[/]", soft_wrap=True)
    if len(decisive) > _SHOWN:
        console.print(f"\n... and {len(decisive) - _SHOWN:,} more")
    note = interruption(record, _SHOWN)
    if note and (claimed.counts[NOT_RUN] or record.manifest.level == SEARCH):
        console.print(f"\n[yellow]{escape(note)}[/]")
    if note := unused_waivers(record):
        console.print(f"\n[yellow]{escape(note)}[/]")
    console.print(f"\n{escape(claimed.sentence)}", style="green" if claimed.ok else "bold")
    if record.manifest.seconds:
        ran = sum(claimed.counts.values()) - claimed.counts[NOT_RUN]
        console.print(f"{record.manifest.seconds:.1f} s, {ran / record.manifest.seconds:,.0f} cases a second", style="dim")
    reached = coverage(record.results)
    if reached.richness.reached and record.manifest.level != SEARCH:  # a search keeps few of its results
        console.print(
            f"{coverage_text(reached)}{f': dmlcts kernels {out}' if out is not None else ''}",
            style="dim",
            markup=False,
            soft_wrap=True,
        )
    if out is not None:
        console.print(f"report: {escape(str(out / 'index.html'))}", style="dim", soft_wrap=True)


def print_profile(record: Record, console: Console) -> None:
    """Prints the promises of the run's profile in their order, each with what became of it and its page; if the profile stops early, up to the first broken one."""
    profile = profile_called(record.manifest.profile["name"])
    statuses = {result.case: result.status for result in record.results}
    console.print()
    for promise in profile.promises:
        status = statuses.get(promise.id, NOT_RUN)
        page = promise.page.rpartition("/")[2] if status == PASS else promise.url
        line = (
            f"[{_STYLES.get(status, 'dim')}]{SYMBOLS[status]}[/] {promise.name:<16} {escape(promise.says)} [dim]{escape(page)}[/]"
        )
        console.print(line, soft_wrap=True, highlight=False)
        if profile.stops and status in FAILURES:
            return


def _problem(result: Result) -> str:
    return f"unsupported, but within what it claims: {result.message}" if result.status == UNSUPPORTED else result.message


def print_explanations(explanations: Sequence[Explanation], console: Console) -> None:
    """Prints each on a line, below it what is left open and the command that decides it."""
    if explanations:
        console.print()
    for explanation in explanations:
        console.print(f"[bold]{escape(explanation.where)}[/]: {escape(explanation.text)}", soft_wrap=True)
        for remark in remarks(explanation):
            console.print(f"  [dim]{escape(remark)}[/]", soft_wrap=True)
        if explanation.command:
            console.print(f"  [dim]these cases tell: {escape(explanation.command)}[/]", soft_wrap=True)
