"""``dmlcts spec``: list, show, check and compare; new, factors, arrays and coverage have modules of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.commands.common import json_option, operator_named, print_json, sound
from dmlcts.conformance.commands.specs import (
    spec_coverage,
    spec_factors,
    spec_findings,
    spec_new,
    spec_pin,
    spec_promises,
)
from dmlcts.conformance.commands.specs.site import command as site
from dmlcts.conformance.commands.specs.spec_show import print_operator
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.screen.terminal import console, count_of
from dmlcts.conformance.sequences.promises.pages import PromisingPage, compare_promises, find_promising_page
from dmlcts.conformance.sequences.promises.promise import Promise, promises
from dmlcts.generator.checks.hints import hints
from dmlcts.generator.checks.written import written_wrong
from dmlcts.generator.covering.cases import arrays_of, is_stale
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.pages.compare import PageDifference, compare
from dmlcts.spec.pages.page import PageError, read_page
from dmlcts.spec.pages.sections import constants_of
from dmlcts.spec.reading import file_form
from dmlcts.spec.reading.document import LARGEST, SpecError, read
from dmlcts.spec.reading.loader import load_document, load_file, measured_folder, operators_folder, profiles_folder
from dmlcts.spec.reading.measured import checked_census, networks_of, validated_document
from dmlcts.spec.reading.promises import plain
from dmlcts.spec.untrusted.files import InputError, read_text, shorten_text
from dmlcts.spec.writing.yaml_writer import yaml_text


@click.group("spec")
def command() -> None:
    """The specs: DirectML's promises, one YAML file for each operator."""


command.add_command(spec_new.command)
command.add_command(spec_factors.factors)
command.add_command(spec_factors.arrays)
command.add_command(spec_coverage.command)
command.add_command(spec_pin.command)
command.add_command(spec_findings.command)
command.add_command(site.command)


@command.command("list")
@click.argument("what", default="")
@json_option
def list_(what: str, as_json: bool) -> None:
    """Lists the operators that have a spec; or promises of the API: `api` for all, an area, a name."""
    if what:
        found = _promises_called(what)
        if as_json:
            print_json([spec_promises.promise_json(promise) for promise in found])
        else:
            spec_promises.print_list(console(), found)
        return
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
    click.echo(f"{len(promises())} promises of the API: dmlcts spec list api")


def _promises_called(text: str) -> list[Promise]:
    """The promises that a word names. Raises UsageError."""
    if found := spec_promises.promises_called(text):
        return found
    raise UsageError(f"no promise of the API is called {shorten_text(text)!r}, and no area; `dmlcts spec list api` lists them")


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
    """Prints a whole operator: its own file, everything inherited, defaults, and measurements. Or a promise of the API, with its calls."""
    if promised := spec_promises.promises_called(operator):
        if as_yaml:
            raise UsageError(
                f"{shorten_text(operator)} is no operator; a promise is in YAML already, with what it shares in shared.yaml"
            )
        if as_json:
            print_json([spec_promises.promise_json(promise) for promise in promised])
        for promise in [] if as_json else promised:
            spec_promises.print_promise(console(), promise)
        return
    found = operator_named(operator)
    if as_json:
        data = {
            "networks": networks_of(measured_folder(), found.name),
            "measured": plain(found.probe_measurements),
            "accepts": plain(found.accepts),
            "constants": constants_of(found),
        }
        print_json(plain(found) | data)
    elif as_yaml and found.file:
        click.echo(yaml_text(load_document(read(found.file), found.file).data), nl=False)
    else:
        print_operator(console(), found)


@command.command("check")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@json_option
def check(files: tuple[Path, ...], as_json: bool) -> None:
    """Checks spec files: the given ones, or all. Exits with 1 if one is invalid; errors name file, line and field.

    Of files that are given it also says what a right spec may lack.
    """
    folders = (operators_folder(), profiles_folder(), measured_folder())
    every = (*(file for folder in folders for file in sorted(folder.rglob("*.yaml"))), *spec_promises.promise_files())
    chosen = files or every
    problems = [{"file": str(file), "problem": problem} for file in chosen for problem in _problems(file)]
    wrong = {problem["file"] for problem in problems}
    advice = {str(file): list(_advice(file)) for file in files if str(file) not in wrong}
    if as_json:
        print_json({"checked": len(chosen), "problems": problems, "hints": advice})
    else:
        for problem in problems:
            click.echo(problem["problem"], err=True)
        for line in chain.from_iterable(advice.values()):
            click.echo(line)
        click.echo(f"{_count_of(len(chosen), 'file')} checked, {_count_of(len(problems), 'problem')}")
    raise click.exceptions.Exit(1 if problems else 0)


def _count_of(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _problems(file: Path) -> Iterator[str]:
    """What is wrong with a spec file; the first thing alone where it is so wrong that nothing can be made of it."""
    try:
        if file.parent.name == "measured":
            validated_document(read(file), file)
            return
        if file.parent.name == "census":
            checked_census(read(file), file)
            return
        if spec_promises.is_about_promises(file):
            spec_promises.check_file(file)
            return
        if file.parent.name == "profiles":
            load_document(read(file), file)
        else:
            operator = load_file(file)
            yield from written_wrong(operator)
            yield from _stale_rows(operator, file)
        if file.resolve().is_relative_to(file_form.spec_folder()):
            for problem in file_form.problems(read(file), file.resolve()):
                yield problem.replace(str(file.resolve()), str(file), 1)
    except SpecError as error:
        yield str(error)


def _advice(file: Path) -> Iterator[str]:
    """What the right spec of an operator may lack, and what to do next."""
    if file.parent.name in ("measured", "census", "profiles") or spec_promises.is_about_promises(file):
        return
    operator = load_file(file, measured_folder())
    yield from (f"{operator.name}: {hint}" for hint in hints(operator))
    yield f"next: dmlcts spec coverage {operator.name}"


def _stale_rows(operator: Operator, file: Path) -> Iterator[str]:
    """Of an operator of the package: that its stored rows are those of another state of its spec."""
    own = file.resolve().is_relative_to(operators_folder())
    try:
        if own and not arrays_of(operator):
            yield (
                f"{file}: no rows of {operator.name} are stored: when fields, tables, constraints, shapes and attributes are written, "
                f"`dmlcts spec arrays {operator.name}` computes them, which takes minutes"
            )
        elif own and is_stale(operator):
            yield f"{file}: the stored rows of {operator.name} are stale: `dmlcts spec arrays {operator.name}` adds those that are missing"
    except NotGenerable as error:
        yield f"{file}: its cases cannot be made: {error}"


@command.command("compare")
@click.argument("pages", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def compare_(pages: tuple[Path, ...], as_json: bool) -> None:
    """Compares published reference pages (Markdown, in English or localized) with the specs.

    Prints every difference, and the erratum of the spec that explains it. Of a page that promises of the API rest on: whether it still names what
    they are about. Exits with 1 if a difference has no erratum.
    """
    found = [_compare(file) for file in pages]
    unexplained = sum(difference.erratum is None for each in found for difference in each.differences)
    if as_json:
        print_json([each.as_json() for each in found])
    else:
        out = console()
        for each in found:
            out.print(f"[bold]{each.about}[/] {escape(str(each.file))}: {count_of(len(each.differences), 'difference')}")
            for difference in each.differences:
                explained = f"erratum {difference.erratum}" if difference.erratum else "[bold red]in no erratum[/]"
                out.print(f"  {escape(difference.key)}: {escape(difference.message)} ({explained})")
            for text in each.unread:
                out.print(f"  [yellow]not read:[/] {escape(text)}")
            if each.promising:
                names = ", ".join(promise.name for promise in each.promising.promises) or "no promise"
                out.print(f"  read at {each.promising.commit[:12]} for {names}", soft_wrap=True)
        out.print(f"{count_of(unexplained, 'difference')} that no erratum explains")
    raise click.exceptions.Exit(1 if unexplained else 0)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A page that was compared: of an operator, or one that promises of the API rest on."""

    file: Path
    about: str
    differences: list[PageDifference]
    unread: tuple[str, ...] = ()
    promising: PromisingPage | None = None

    def as_json(self) -> dict[str, Any]:
        """What is printed as JSON."""
        of = (
            {"operator": self.about}
            if self.promising is None
            else {
                "about": self.about,
                "commit": self.promising.commit,
                "promises": [promise.name for promise in self.promising.promises],
            }
        )
        return {
            "page": str(self.file),
            **of,
            "unread": list(self.unread),
            "differences": [asdict(each) for each in self.differences],
        }


def _compare(file: Path) -> _Compared:
    """Raises UsageError."""
    try:
        text = read_text(file, LARGEST)
        if promising := find_promising_page(text, file):
            return _Compared(file, promising.name, compare_promises(promising, text), promising=promising)
        page = read_page(text, file)
    except InputError as error:
        raise UsageError(f"{file}: {error}") from None
    except PageError as error:
        raise UsageError(str(error)) from None
    return _Compared(file, page.operator, compare(page, operator_named(page.operator)), page.unread)
