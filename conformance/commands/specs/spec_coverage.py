"""``dmlcts spec coverage``: promises that no case tests, and pairs and triples of factor values that no case has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from dmlcts.conformance.commands.common import json_option, mapper, names_given, print_json, processes_option, sound
from dmlcts.conformance.commands.specs.spec_promises import coverage_json, print_coverage, unused_calls
from dmlcts.conformance.execution import binding_checks
from dmlcts.conformance.runner.screen.terminal import console
from dmlcts.conformance.sequences.promises.promise import promises
from dmlcts.generator.checks import CHECKS
from dmlcts.generator.checks.given import OperatorCases
from dmlcts.generator.checks.hints import hints
from dmlcts.generator.checks.promises import COLUMNS, Coverage, coverage
from dmlcts.generator.suite.interactions import KINDS, Covered, interactions
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.registry import reference_of
from dmlcts.reports.record.record import API
from dmlcts.spec.reading.loader import load

MOST_OF_A_CHECK = 5
"""How many complaints of one check are printed."""


@dataclass(frozen=True, slots=True)
class Found:
    """An operator's coverage, what is wrong with its cases, what its spec may lack, and the pairs and triples of its cases if those were counted."""

    coverage: Coverage
    problems: tuple[str, ...]
    hints: tuple[str, ...]
    together: Mapping[str, Covered]

    @property
    def complete(self) -> bool:
        """Whether each promise has a case, and no check complains."""
        return self.coverage.complete and not self.problems

    @property
    def too_few(self) -> list[str]:
        """The kinds of tuples of which the cases have too few."""
        return [kind for kind, covered in self.together.items() if covered.share < KINDS[kind].least]


@click.command("coverage")
@click.argument("operators", nargs=-1)
@click.option("--interactions", "together", is_flag=True, help="count the pairs and triples of factor values in the cases as well")
@json_option
@processes_option
def command(operators: tuple[str, ...], together: bool, as_json: bool, processes: int) -> None:
    """Lists the promises of the specs that no case tests, and what is wrong with the cases. Exits with 1 if there is anything.

    With --interactions it exits with 1 too if an operator has less than all pairs at level core, less than all pairs with a long dimension at
    level full, or less than 99 % of the triples there. For operators that are named it also says what a complete spec may lack. `api` stands for
    the promises of the API: which calls none of them makes.
    """
    about_api = API in operators
    if about_api and as_json:
        print_json(coverage_json(promises()))
    complete = not about_api or (not unused_calls(promises()) if as_json else print_coverage(console()))
    named = [name for name in operators if name != API]
    if about_api and not named:
        raise click.exceptions.Exit(0 if complete else 1)
    names = names_given(named) or [operator.name for operator in sound()]
    stderr = Console(stderr=True)
    with mapper(processes) as mapped:
        results = mapped(partial(_find, together=together), names)
        found = list(track(results, "specs", len(names), console=stderr, transient=True, disable=not stderr.is_terminal))
    if as_json:
        entries = list(map(_json, found))
        print_json({"operators": entries} if together else entries)
    else:
        _print_coverage(found)
        if operators:
            _print_hints(found)
        if together:
            _print_together(found)
    raise click.exceptions.Exit(0 if complete and all(entry.complete and not entry.too_few for entry in found) else 1)


def _find(name: str, together: bool) -> Found:
    operator = load(name)
    given = OperatorCases(operator, operator_cases(name))
    problems = tuple(problem for check in (*CHECKS, *binding_checks.CHECKS) for problem in _first(list(check(given))))
    covered = coverage(operator, given.cases, reference_of(operator.name) is not None)
    return Found(covered, problems, tuple(hints(operator)), interactions(operator, given.cases) if together else {})


def _first(problems: list[str]) -> list[str]:
    """The first things that a check finds: one flaw of a spec may show in each of its cases."""
    more = len(problems) - MOST_OF_A_CHECK
    return (
        problems
        if more <= 0
        else [*problems[:MOST_OF_A_CHECK], f"... and {more} more like that of {problems[0].partition(':')[0]}"]
    )


def _json(found: Found) -> dict[str, Any]:
    entry = found.coverage
    columns = {c.name: {"promised": c.promised, "covered": c.covered_count, "missing": list(c.missing)} for c in entry.columns}
    tuples = {k: {"feasible": c.feasible, "covered": c.covered, "missing": list(c.missing)} for k, c in found.together.items()}
    own = {"operator": entry.operator, "cases": entry.cases, "complete": found.complete}
    return {
        **own,
        "columns": columns,
        "problems": list(found.problems),
        "hints": list(found.hints),
        **({"enough": not found.too_few, **tuples} if tuples else {}),
    }


def _print_coverage(found: Sequence[Found]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator", overflow="fold")
    for name in (*COLUMNS, "cases"):
        table.add_column(name, justify="right")
    for entry in (each.coverage for each in found):
        cells = [
            f"[red]{c.covered_count}/{c.promised}[/]" if c.missing else str(c.promised) if c.promised else "–"
            for c in entry.columns
        ]
        table.add_row(entry.operator, *cells, str(entry.cases))
    out = console()
    out.print(table)
    for each in found:
        for column in each.coverage.columns:
            for label in column.missing:
                out.print(f"[red]no case:[/] {each.coverage.operator} {escape(label)}")
        for problem in each.problems:
            out.print(f"[red]wrong:[/] {escape(problem)}", soft_wrap=True)
    complete = sum(each.complete for each in found)
    out.print(
        f"{complete} of {len(found)} specs are complete: every promise in them has a case, and no check of the cases complains"
    )


def _print_hints(found: Sequence[Found]) -> None:
    """What to do next about the complete ones: complete means that what is promised is tested, not that enough is promised."""
    out = console()
    for each in found:
        if each.complete:
            name = each.coverage.operator
            for hint in each.hints:
                out.print(f"[yellow]{name}:[/] {escape(hint)}", soft_wrap=True)
            for command in (f"run {name} --level full --basis measured", f"faults hunt {name}"):
                out.print(f"next: dmlcts {command}", soft_wrap=True)


def _print_together(found: Sequence[Found]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("operator", *(f"{name.replace('_', ' ')} at {kind.level}" for name, kind in KINDS.items())):
        table.add_column(column, justify="left" if column == "operator" else "right")
    for each in found:
        shown = {kind: f"{c.covered:,} of {c.feasible:,} ({100 * c.share:.2f} %)" for kind, c in each.together.items()}
        table.add_row(each.coverage.operator, *(shown.get(kind, "–") for kind in KINDS))
    out = console()
    out.print(table)
    for each in found:
        for kind in each.too_few:
            for values in each.together[kind].missing:
                out.print(f"[red]no case:[/] {each.coverage.operator} {escape(values)}", soft_wrap=True)
    enough = sum(not each.too_few for each in found)
    out.print(
        f"{enough} of {len(found)} operators have every pair at level core, and at level full every pair with a long dimension and 99 % of the triples"
    )
