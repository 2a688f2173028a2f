"""``dmlcts spec``: new, list, show, check, coverage and compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from dmlcts.conformance.commands import spec_factors, spec_new
from dmlcts.conformance.commands.common import json_option, mapper, operator_named, print_json, processes_option
from dmlcts.conformance.commands.spec_show import print_operator
from dmlcts.conformance.execution import binding_checks
from dmlcts.conformance.runner.options import UsageError
from dmlcts.conformance.runner.terminal import console, counted
from dmlcts.generator.checks import CHECKS
from dmlcts.generator.checks.given import Given
from dmlcts.generator.coverage import COLUMNS, Coverage, coverage
from dmlcts.generator.recipes import RECIPES
from dmlcts.generator.special import SPECIAL
from dmlcts.generator.suite import make_cases
from dmlcts.reference.registry import reference_of
from dmlcts.spec import file_form
from dmlcts.spec.abi import abi
from dmlcts.spec.document import LARGEST, SpecError, read
from dmlcts.spec.expression import ExpressionError, compile_expression
from dmlcts.spec.foreign import ForeignError, read_text
from dmlcts.spec.loader import load, load_document, load_file, measured_folder, operator_names, operators_folder, profiles_folder
from dmlcts.spec.measured import checked
from dmlcts.spec.model import Operator, Values
from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import PageError, read_page
from dmlcts.spec.promises import plain
from dmlcts.spec.yaml_writer import yaml_text


@click.group("spec")
def command() -> None:
    """The specs: DirectML's promises, one YAML file for each operator."""


command.add_command(spec_new.command)
command.add_command(spec_factors.factors)
command.add_command(spec_factors.arrays)


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """Lists the operators that have a spec."""
    operators = sound()
    if as_json:
        print_json([_row(operator) for operator in operators])
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("operator", "type", "since", "levels", "tolerance", "examples", "errata"):
        table.add_column(column, justify="right" if column in ("type", "examples", "errata") else "left", overflow="fold")
    for operator in operators:
        row = _row(operator)
        levels = " ".join(row["levels"])
        table.add_row(
            row["operator"], str(row["type"]), row["since"], levels, row["tolerance"], str(row["examples"]), str(row["errata"])
        )
    console().print(table)
    click.echo(f"{len(operators)} of the {len(abi().operator_types)} operators of feature level 6_4")


def sound() -> list[Operator]:
    """The operators whose specs are right; what is wrong with the others goes to standard error."""
    found = []
    for name in operator_names():
        try:
            found.append(load(name))
        except SpecError as error:
            click.echo(f"dmlcts: {error}", err=True)
    return found


def _row(operator: Operator) -> dict[str, Any]:
    return {
        "operator": operator.name,
        "type": operator.type,
        "since": str(operator.introduced),
        "levels": [str(level) for level in sorted({table.level for table in operator.support})],
        "tolerance": operator.tolerance.judge,
        "examples": len(operator.examples),
        "errata": len(operator.errata),
    }


@command.command("show")
@click.argument("operator")
@json_option
@click.option("--yaml", "as_yaml", is_flag=True, help="print a self-contained spec file, with nothing inherited")
def show(operator: str, as_json: bool, as_yaml: bool) -> None:
    """Prints a whole operator: its own file, everything inherited, defaults, and measurements."""
    found = operator_named(operator)
    if as_json:
        data = {"measured": plain(found.measured), "accepts": plain(found.accepts)}
        print_json(plain(found) | data)
    elif as_yaml and found.file:
        click.echo(yaml_text(load_document(read(found.file), found.file).data), nl=False)
    else:
        print_operator(console(), found)


@command.command("check")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@json_option
def check(files: tuple[Path, ...], as_json: bool) -> None:
    """Checks spec files: the given ones, or all. Exits with 1 if one is invalid; errors name file, line and field."""
    folders = (operators_folder(), profiles_folder(), measured_folder())
    every = tuple(file for folder in folders for file in sorted(folder.rglob("*.yaml")))
    chosen = files or every
    problems = [{"file": str(file), "problem": problem} for file in chosen for problem in _problems(file)]
    if as_json:
        print_json({"checked": len(chosen), "problems": problems})
    else:
        for problem in problems:
            click.echo(problem["problem"], err=True)
        click.echo(f"{len(chosen)} files checked, {len(problems)} problems")
    raise click.exceptions.Exit(1 if problems else 0)


def _problems(file: Path) -> Iterator[str]:
    """What is wrong with a spec file; the first thing alone where it is so wrong that nothing can be made of it."""
    try:
        if file.parent.name == "measured":
            checked(read(file), file)
            return
        if file.parent.name == "profiles":
            load_document(read(file), file)
        else:
            yield from unknown_names(load_file(file))
        if file.resolve().is_relative_to(file_form.spec_folder()):
            yield from file_form.problems(read(file), file.resolve())
    except SpecError as error:
        yield str(error)


def unknown_names(operator: Operator) -> list[str]:
    """Names in a spec that the generator does not know: recipes and their parameters, sets of special values."""
    found = []
    for tensor, values in operator.values.items():
        where = f"{operator.file}: cases.values.{tensor}"
        if values.recipe not in RECIPES:
            found.append(f"{where}.random.recipe: unknown recipe {values.recipe!r}; known: {', '.join(RECIPES)}")
        elif values.parameters.keys() != RECIPES[values.recipe].parameters:
            needed = ", ".join(sorted(RECIPES[values.recipe].parameters)) or "no parameters"
            found.append(f"{where}.random: {values.recipe} takes {needed}")
        else:
            found += [f"{where}.random.{name}: {problem}" for name, problem in _wrong_expressions(operator, values)]
        named = {*values.special, *values.measured} - values.sets.keys() - values.parts.keys()
        for name in sorted({*named, *(of for of, _ in values.parts.values())}):
            if name not in SPECIAL:
                found.append(f"{where}: unknown set of special values {name!r}; known: {', '.join(SPECIAL)}")
    return found


def _wrong_expressions(operator: Operator, values: Values) -> Iterator[tuple[str, str]]:
    """The recipe parameters that are not valid expressions over the desc's fields."""
    for name in sorted(RECIPES[values.recipe].computed):
        try:
            unknown = compile_expression(str(values.parameters[name])).names - {field.name for field in operator.fields}
        except ExpressionError as error:
            yield name, str(error)
        else:
            yield from ((name, f"there is no field {field}") for field in sorted(unknown))


@command.command("coverage")
@click.argument("operators", nargs=-1)
@click.option("--interactions", "together", is_flag=True, help="count the pairs and triples of factor values in the cases instead")
@json_option
@processes_option
def coverage_(operators: tuple[str, ...], together: bool, as_json: bool, processes: int) -> None:
    """Lists the promises of the specs that no case tests, and what is wrong with the cases. Exits with 1 if there is anything.

    With --interactions it exits with 1 if an operator has less than all pairs at level core, or less than 99 % of the triples at level full.
    """
    names = [operator.name for operator in [operator_named(name) for name in operators] or sound()]
    if together:
        raise click.exceptions.Exit(0 if spec_factors.print_interactions(names, processes, as_json) else 1)
    stderr = Console(stderr=True)
    with mapper(processes) as mapped:
        results = mapped(_covered, names)
        found = list(track(results, "specs", len(names), console=stderr, transient=True, disable=not stderr.is_terminal))
    if as_json:
        print_json([_coverage_json(entry, problems) for entry, problems in found])
    else:
        _print_coverage(found)
    raise click.exceptions.Exit(0 if all(entry.complete and not problems for entry, problems in found) else 1)


MOST_OF_A_CHECK = 5
"""How many complaints of one check are printed."""

Covered = tuple[Coverage, tuple[str, ...]]
"""An operator's coverage, and what is wrong with its cases."""


def _covered(name: str) -> Covered:
    operator = load(name)
    given = Given(operator, make_cases(operator))
    problems = tuple(problem for check in (*CHECKS, *binding_checks.CHECKS) for problem in _first(list(check(given))))
    return coverage(operator, given.cases, reference_of(operator.name) is not None), problems


def _first(problems: list[str]) -> list[str]:
    """The first things that a check finds: one flaw of a spec may show in each of its cases."""
    more = len(problems) - MOST_OF_A_CHECK
    return (
        problems
        if more <= 0
        else [*problems[:MOST_OF_A_CHECK], f"... and {more} more like that of {problems[0].partition(':')[0]}"]
    )


def _coverage_json(entry: Coverage, problems: tuple[str, ...]) -> dict[str, Any]:
    columns = {c.name: {"promised": c.promised, "covered": c.covered, "missing": list(c.missing)} for c in entry.columns}
    complete = entry.complete and not problems
    return {"operator": entry.operator, "cases": entry.cases, "complete": complete, "columns": columns, "problems": list(problems)}


def _print_coverage(found: list[Covered]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator", overflow="fold")
    for name in (*COLUMNS, "cases"):
        table.add_column(name, justify="right")
    for entry, _ in found:
        cells = [
            f"[red]{c.covered}/{c.promised}[/]" if c.missing else str(c.promised) if c.promised else "–" for c in entry.columns
        ]
        table.add_row(entry.operator, *cells, str(entry.cases))
    out = console()
    out.print(table)
    for entry, problems in found:
        for column in entry.columns:
            for label in column.missing:
                out.print(f"[red]no case:[/] {entry.operator} {escape(label)}")
        for problem in problems:
            out.print(f"[red]wrong:[/] {escape(problem)}", soft_wrap=True)
    complete = sum(entry.complete and not problems for entry, problems in found)
    out.print(
        f"{complete} of {len(found)} specs are complete: every promise in them has a case, and no check of the cases complains"
    )


@command.command("compare")
@click.argument("pages", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def compare_(pages: tuple[Path, ...], as_json: bool) -> None:
    """Compares published reference pages (Markdown, in English or localized) with the specs.

    Prints every difference, and the erratum of the spec that explains it. Exits with 1 if a difference has no erratum.
    """
    found = []
    for file in pages:
        try:
            page = read_page(read_text(file, LARGEST), file)
        except ForeignError as error:
            raise UsageError(f"{file}: {error}") from None
        except PageError as error:
            raise UsageError(str(error)) from None
        operator = operator_named(page.operator)
        found.append((file, page, compare(page, operator)))
    unexplained = sum(difference.erratum is None for _, _, differences in found for difference in differences)
    if as_json:
        print_json(
            [
                {"page": str(f), "operator": p.operator, "unread": list(p.unread), "differences": [asdict(d) for d in differences]}
                for f, p, differences in found
            ]
        )
    else:
        out = console()
        for file, page, differences in found:
            out.print(f"[bold]{page.operator}[/] {escape(str(file))}: {counted(len(differences), 'difference')}")
            for difference in differences:
                explained = f"erratum {difference.erratum}" if difference.erratum else "[bold red]in no erratum[/]"
                out.print(f"  {escape(difference.key)}: {escape(difference.message)} ({explained})")
            for text in page.unread:
                out.print(f"  [yellow]not read:[/] {escape(text)}")
        out.print(f"{counted(unexplained, 'difference')} that no erratum explains")
    raise click.exceptions.Exit(1 if unexplained else 0)
