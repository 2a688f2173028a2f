"""``dmlcts spec``: list, show, check, coverage and compare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.runner.options import UsageError
from dmlcts.conformance.runner.terminal import console, counted
from dmlcts.generator.coverage import COLUMNS, Coverage, coverage
from dmlcts.generator.recipes import RECIPES
from dmlcts.generator.special import SPECIAL
from dmlcts.reference.registry import references
from dmlcts.spec.abi import abi
from dmlcts.spec.document import SpecError
from dmlcts.spec.expression import ExpressionError, compile_expression
from dmlcts.spec.loader import load, load_all, load_file, operators_folder
from dmlcts.spec.model import Measurement, Operator, Values
from dmlcts.spec.pages.compare import compare
from dmlcts.spec.pages.page import PageError, read_page

if TYPE_CHECKING:
    from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")


def print_json(data: Any) -> None:
    """Prints data as JSON."""
    click.echo(json.dumps(data, indent=1, ensure_ascii=False))


@click.group("spec")
def command() -> None:
    """What DirectML promises: one YAML file an operator."""


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The operators that have a spec."""
    operators = load_all()
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


def operator_named(name: str) -> Operator:
    """The operator that a user names, in any case. Raises UsageError."""
    try:
        return load(name.upper())
    except KeyError as error:
        raise UsageError(error.args[0]) from None


@command.command("show")
@click.argument("operator")
@json_option
def show(operator: str, as_json: bool) -> None:
    """One operator: fields, tables, constraints, errata."""
    found = operator_named(operator)
    if as_json:
        print_json(json.loads(json.dumps(asdict(found), default=str)))
        return
    out = console()
    out.print(f"[bold]{found.name}[/]  type {found.type}, since feature level {found.introduced}\n{escape(found.summary)}\n")
    _print_rows(out, "fields", [(f.name, f"{'optional ' if f.optional else ''}{f.kind}", f.enum or f.type) for f in found.fields])
    for support in found.tables():
        when = "".join(f", {name} in {', '.join(map(str, values))}" for name, values in support.when.items())
        rows = [(n, "-".join(map(str, sorted({*r.dimensions}))) + "d", " ".join(r.data_types)) for n, r in support.tensors.items()]
        _print_rows(out, f"tensor support at feature level {support.level}{when}", rows)
    _print_rows(out, "constraints", [(c.label, c.basis, c.text) for c in found.constraints])
    _print_rows(out, "in place", [(p.output, p.basis, f"may alias {' or '.join(p.inputs)}") for p in found.in_place])
    _print_rows(out, "relations", [(r.label, r.basis, r.law.text) for r in found.relations])
    _print_rows(out, "examples", [(e.id, e.basis, e.evidence) for e in found.examples])
    measured = [(m.by, m.date, f"{m.confirmed} of {m.cells} cells confirmed; {_beyond(m)}") for m in found.measured]
    _print_rows(out, "measured (dmlcts probe)", measured)
    _print_rows(out, "errata", [(e.id, e.severity, f"{e.text} [{e.evidence}]") for e in found.errata])
    out.print(f"file: {found.file}", style="dim")


def _beyond(measured: Measurement) -> str:
    """Where an implementation differs from the documentation, in a line."""
    lists = {"accepts beyond": measured.accepts, "refuses besides": measured.refuses, "unknown": measured.unknown}
    said = []
    for name, entries in lists.items():
        if entries:
            said.append(f"{name} " + ", ".join(f"{entry.what} {' '.join(entry.ways)}".strip() for entry in entries))
    return "; ".join(said) or "no difference"


def _print_rows(out: Console, title: str, rows: list[tuple[str, str, str]]) -> None:
    if rows:
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for row in rows:
            table.add_row(*(escape(cell) for cell in row))
        out.print(f"[dim]{escape(title)}[/]")
        out.print(table, "")


@command.command("check")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@json_option
def check(files: tuple[Path, ...], as_json: bool) -> None:
    """Checks spec files: the given ones, or all. Exits with 1 if one is wrong, and names file, line and field."""
    checked = files or tuple(sorted(operators_folder().rglob("*.yaml")))
    problems = []
    for file in checked:
        try:
            problems += [{"file": str(file), "problem": said} for said in unknown_names(load_file(file))]
        except SpecError as error:
            problems.append({"file": str(file), "problem": str(error)})
    if as_json:
        print_json({"checked": len(checked), "problems": problems})
    else:
        for problem in problems:
            click.echo(problem["problem"], err=True)
        click.echo(f"{len(checked)} files checked, {len(problems)} problems")
    raise click.exceptions.Exit(1 if problems else 0)


def unknown_names(operator: Operator) -> list[str]:
    """What a spec names and the generator does not know: recipes and their parameters, sets of special values."""
    found = []
    for tensor, values in operator.values.items():
        where = f"{operator.file}: values.{tensor}"
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
    """The parameters of a recipe that must be expressions over the desc's fields and are not."""
    for name in sorted(RECIPES[values.recipe].computed):
        try:
            unknown = compile_expression(str(values.parameters[name])).names - {field.name for field in operator.fields}
        except ExpressionError as error:
            yield name, str(error)
        else:
            yield from ((name, f"there is no field {field}") for field in sorted(unknown))


@command.command("coverage")
@click.argument("operators", nargs=-1)
@json_option
def coverage_(operators: tuple[str, ...], as_json: bool) -> None:
    """Which promises of the specs no case tests. Exits with 1 if there is one."""
    chosen = [operator_named(name) for name in operators] or load_all()
    found = [coverage(operator, operator.name in references()) for operator in chosen]
    if as_json:
        print_json([_coverage_json(entry) for entry in found])
    else:
        _print_coverage(found)
    raise click.exceptions.Exit(0 if all(entry.complete for entry in found) else 1)


def _coverage_json(entry: Coverage) -> dict[str, Any]:
    columns = {c.name: {"promised": c.promised, "covered": c.covered, "missing": list(c.missing)} for c in entry.columns}
    return {"operator": entry.operator, "cases": entry.cases, "complete": entry.complete, "columns": columns}


def _print_coverage(found: list[Coverage]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator", overflow="fold")
    for name in (*COLUMNS, "cases"):
        table.add_column(name, justify="right")
    for entry in found:
        cells = [
            f"[red]{c.covered}/{c.promised}[/]" if c.missing else str(c.promised) if c.promised else "–" for c in entry.columns
        ]
        table.add_row(entry.operator, *cells, str(entry.cases))
    out = console()
    out.print(table)
    for entry in found:
        for column in entry.columns:
            for label in column.missing:
                out.print(f"[red]no case:[/] {entry.operator} {escape(label)}")
    complete = sum(entry.complete for entry in found)
    out.print(f"{complete} of {len(found)} specs are complete: every promise in them has a case")


@command.command("compare")
@click.argument("pages", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def compare_(pages: tuple[Path, ...], as_json: bool) -> None:
    """Compares published reference pages (Markdown, in English or localized) with the specs.

    Prints every difference, and the erratum of the spec that explains it. Exits with 1 if one is explained by none.
    """
    found = []
    for file in pages:
        try:
            page = read_page(file.read_text(encoding="utf-8-sig"), file)
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: cannot be read: {error}") from None
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
