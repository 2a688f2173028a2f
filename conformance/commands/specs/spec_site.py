"""``dmlcts spec site``: the specs as a site of static pages."""

from __future__ import annotations

from inspect import getdoc
from pathlib import Path

import click

from dmlcts.conformance.commands.common import Mapper, mapper, names_given, processes_option, sound
from dmlcts.conformance.commands.specs.spec_promises import site_page
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.registry import reference_of
from dmlcts.reports.site import CaseLine, OperatorPage, write_site
from dmlcts.spec.reading.loader import load

LEVEL = "core"
"""The level whose cases the pages list: those of level full would be a hundred times the text."""


@click.command("site")
@click.argument("operators", nargs=-1)
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="the folder to write into"
)
@processes_option
def command(operators: tuple[str, ...], out: Path, processes: int) -> None:
    """Writes the specs as a site: a page for each operator, all of them by default, and a matrix of all by data type and feature level.

    The promises of the API are on a page of their own, by area. A page has the operator's tensor support by level, constraints, formula, examples, errata, what was measured, and its cases. The site is
    static: open DIR/index.html.
    """
    names = names_given(operators) or [operator.name for operator in sound()]
    with mapper(processes) as mapped:
        pages = _pages(names, mapped)
    try:
        index = write_site(pages, out, [site_page()])
    except OSError as error:
        raise UsageError(str(error)) from None
    click.echo(f"{len(pages)} operators: {index}")


def _pages(names: list[str], mapped: Mapper) -> list[OperatorPage]:
    found = zip(names, mapped(_cases, names), strict=True)
    return [OperatorPage(load(name), _formula(name), lines, tested_by) for name, (lines, tested_by) in found]


def _cases(name: str) -> tuple[list[CaseLine], dict[str, str]]:
    """The operator's cases, and for the label of each promise the first case that tests it."""
    lines, tested_by = [], dict[str, str]()
    for case in operator_cases(name, LEVEL):
        if case.level in ("smoke", LEVEL):
            lines.append(CaseLine(case.id, case.kind, case.basis, case.level, case.feature_level))
            for label in case.covers:
                tested_by.setdefault(label, case.id)
    return lines, tested_by


def _formula(name: str) -> str:
    """What the reference function says that it computes."""
    function = reference_of(name)
    return (getdoc(function) or "") if function else ""
