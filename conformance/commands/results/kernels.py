"""``dmlcts kernels``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dmlcts.conformance.commands.common import json_option, print_json, processes_option
from dmlcts.conformance.runner.planning.options import UsageError

if TYPE_CHECKING:
    from dmlcts.reports.kernels.table import Kernel
    from dmlcts.reports.record.record import Record

_MOST_SHOWN = 20
"""How many operators, and kernels with failures, are listed without --all."""

_FEW = 3
"""How many kernels that an operator lacks are listed without --all."""


@click.command("kernels")
@click.argument("results", type=click.Path(path_type=Path, exists=True))
@click.argument("names", nargs=-1, metavar="[KERNEL]...")
@click.option("--baseline", type=click.Path(path_type=Path, exists=True), metavar="OLD", help="say what changed since an older run")
@click.option(
    "--known",
    "others",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    metavar="OTHER",
    help="say what is lacking of the kernels that this run reaches too, or this folder of `fuzz --corpus`; may be repeated",
)
@click.option("--conditions", is_flag=True, help="say which layouts, sizes and types each kernel has met, alone and in pairs")
@click.option("--all", "every", is_flag=True, help="list every kernel, and every operator")
@click.option(
    "--dump",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="write the bytecode of each KERNEL to this folder, beside the smallest case that runs it",
)
@click.option("--backend", "-b", default="", help="the backend for --dump, with the host for DirectML.dll  [default: the run's]")
@processes_option
@json_option
def command(
    results: Path,
    names: tuple[str, ...],
    baseline: Path | None,
    others: tuple[Path, ...],
    conditions: bool,
    every: bool,
    dump: Path | None,
    backend: str,
    processes: int,
    as_json: bool,
) -> None:
    """Lists the kernels (code paths) that the cases of a run reached, as far as the backend names them.

    RESULTS is a results file, or the output folder of a run. For each operator: how many kernels its cases reach, how many are reached by one
    case alone, and an estimate of how many there are, with its interval; and how many were not created, and how many cases name none. Then the kernels that failing cases run. With KERNELs, labels or parts of
    them, everything about these.

    --baseline OLD compares with an older run: which cases run other kernels (another release, driver or compiler), and which failures go with that.

    --known OTHER says which kernels this run lacks of all that it and the OTHERs reach, with a case that reaches each: other levels, searches, devices.

    --conditions counts, for each kernel that 10 cases of an operator or more run, the cases of each layout, batch, rest of a size, data type, optional tensor and
    offset, alone and in pairs, and says which are missing that other cases of the operator have. With KERNELs, the whole table of these.

    --dump DIR KERNEL... runs the smallest case of each of these kernels again, and writes the bytecode (DIGEST.bin) and the case as a DxDispatch model to DIR: a
    reproduction of one shader. The bytecode is the DLL's: it is yours to look at, not to pass on.

    \b
    Exit codes: 0 listed, 2 usage or input error (such as results without code paths, or no such kernel), 3 the backend could not be started.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.kernels.table import kernels

    record = read_run(results)
    _need_paths(record, results)
    if baseline is not None:
        if names or dump or conditions or others:
            raise UsageError("--baseline compares whole runs: leave out KERNEL, --dump, --conditions and --known")
        _print_changes(record, baseline, as_json)
        return
    if others:
        if names or dump or conditions:
            raise UsageError("--known compares whole runs: leave out KERNEL, --dump and --conditions")
        _print_known(record, others, every, as_json)
        return
    found = kernels(record.results)
    chosen = _chosen(found, names, results)
    if conditions:
        if dump is not None:
            raise UsageError("--conditions and --dump exclude each other")
        _print_conditions(record, names and {kernel.label for kernel in chosen}, every, processes, as_json)
        return
    if dump is not None:
        from dmlcts.conformance.runner.kernels.dump import dump_kernels

        if not names:
            raise UsageError("--dump needs the KERNELs to write: labels, or parts of them, as this command lists them")
        for line in dump_kernels(chosen, dump, backend or record.manifest.backend_spec):
            click.echo(line)
        return
    _print(record, found, chosen, bool(names), every, as_json)


def _need_paths(record: Record, place: Path) -> None:
    """Raises UsageError if no result has code paths."""
    if not any(result.paths for result in record.results):
        raise UsageError(
            f"{place}: no result has code paths; the backend names none, the run had --no-paths, or it is older than they are"
        )


def _chosen(found: list[Kernel], names: tuple[str, ...], place: Path) -> list[Kernel]:
    """The kernels that a user named; all if none. Raises UsageError for a name that fits none."""
    for name in names:
        if not any(name in kernel.label for kernel in found):
            raise UsageError(f"{place}: no kernel {name!r}; without a name, `dmlcts kernels --all` lists all {len(found):,}")
    return [kernel for kernel in found if not names or any(name in kernel.label for name in names)]


def _print(record: Record, found: list[Kernel], chosen: list[Kernel], by_name: bool, every: bool, as_json: bool) -> None:
    from dmlcts.reports.kernels.table import coverage, coverages, without_kernel
    from dmlcts.reports.kernels.text import coverage_text, kernel_text, not_created_text, without_kernel_text

    operators = coverages(record)
    total = coverage(record.results)
    if as_json:
        data = {"kernels": [kernel.to_json() for kernel in chosen]}
        rest = {"operators": [each.to_json() for each in operators], "without_kernel": without_kernel(record)}
        print_json(data if by_name else {"total": total.to_json(), **rest, **data})
        return
    if not by_name:
        shown = operators if every else operators[:_MOST_SHOWN]
        for each in shown:
            click.echo(f"{each.operator}: {coverage_text(each)}")
        _print_rest(len(operators) - len(shown), "operators")
        click.echo(f"together: {coverage_text(total)}")
        for line in filter(None, (not_created_text(found), without_kernel_text(without_kernel(record)))):
            click.echo(line)
    failing = [kernel for kernel in chosen if kernel.failing]
    listed = chosen if every or by_name else failing[:_MOST_SHOWN]
    if listed and not by_name:
        click.echo()
    for kernel in listed:
        click.echo(kernel_text(kernel))
        if by_name:
            for case in kernel.failing[:_MOST_SHOWN]:
                click.echo(f"  fails: {case}")
    _print_rest((len(failing) if not (every or by_name) else len(listed)) - len(listed), "kernels that failing cases run")
    if not (every or by_name):
        click.echo(f"\n--all lists all {len(found):,} kernels, and a KERNEL's name or a part of it, all about it")


def _print_rest(count: int, what: str) -> None:
    if count > 0:
        click.echo(f"... and {count:,} more {what}: --all lists them")


def _print_conditions(record: Record, labels: Collection[str], every: bool, processes: int, as_json: bool) -> None:
    """What the cases of each kernel meet of structural conditions; of the kernels with some ``labels``, the whole table."""
    from dmlcts.conformance.commands.common import mapper
    from dmlcts.conformance.runner.kernels.within import kernels_within
    from dmlcts.reports.kernels.text import missing_lines, table_lines, within_text
    from dmlcts.reports.kernels.within import share_alone, share_of_pairs

    with mapper(processes if processes > 1 else 0) as each:
        found = [table for table in kernels_within(record, each) if not labels or table.label in labels]
    if not found:
        raise UsageError("no such kernel runs in 10 cases of an operator, or more, that this version of the suite has")
    by_operator = {name: list(tables) for name, tables in groupby(found, key=lambda table: table.operator)}
    if as_json:
        shares = {"alone": share_alone(found).to_json(), "pairs": share_of_pairs(found).to_json()}
        operators = [
            {
                "operator": name,
                "alone": share_alone(tables).to_json(),
                "pairs": share_of_pairs(tables).to_json(),
                "kernels": [t.to_json() for t in tables],
            }
            for name, tables in by_operator.items()
        ]
        print_json({**shares, "operators": operators})
        return
    if labels:
        for table in found:
            for line in table_lines(table):
                click.echo(line)
        return
    lacking = sorted(by_operator.items(), key=lambda entry: (-share_of_pairs(entry[1]).missing, entry[0]))
    for name, tables in lacking if every else lacking[:_MOST_SHOWN]:
        click.echo(f"{name}: {within_text(tables)}")
        for line in missing_lines(tables):
            click.echo(line)
    _print_rest(0 if every else len(lacking) - _MOST_SHOWN, "operators")
    click.echo(f"together: {within_text(found)}")


def _print_changes(record: Record, baseline: Path, as_json: bool) -> None:
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.reports.kernels.changes import changes
    from dmlcts.reports.kernels.text import changes_lines

    old = read_run(baseline)
    _need_paths(old, baseline)
    found = changes(record, old)
    if not found:
        raise UsageError(f"{baseline}: has no case with code paths that the newer run has, too")
    if as_json:
        print_json([each.to_json() for each in found])
        return
    changed = [each for each in found if each.other or each.regrouped or each.failing or each.fixed]
    for each in changed:
        for line in changes_lines(each):
            click.echo(line)
    same, cases = len(found) - len(changed), sum(each.both for each in found)
    click.echo(
        f"{sum(len(each.other) for each in found):,} of {cases:,} cases that both runs have run other kernels; {same:,} operators are unchanged"
    )


def _print_known(record: Record, others: Sequence[Path], every: bool, as_json: bool) -> None:
    """What a record lacks of the kernels that it and others reach."""
    from dmlcts.reports.kernels.known import find_lacking

    found = find_lacking(record.results, map(_reached_by, others))
    if as_json:
        print_json(found.to_json())
        return
    lacking = list(found.by_operator().items())
    for operator, labels in lacking if every else lacking[:_MOST_SHOWN]:
        click.echo(f"{operator}: lacks {len(labels):,}")
        for label in labels if every else labels[:_FEW]:
            click.echo(f"  {label}: {found.lacking[label]}")
    _print_rest(0 if every else len(lacking) - _MOST_SHOWN, "operators")
    total = found.reached + len(found.lacking)
    click.echo(f"{found.reached:,} of {total:,} known kernels are reached ({100 * found.share:.1f} %)")


def _reached_by(place: Path) -> dict[str, str]:
    """The kernels that another run, or a corpus, reaches. Raises UsageError if it names none."""
    from dmlcts.conformance.runner.folder.journal import read_run
    from dmlcts.conformance.runner.kernels.corpus import is_corpus, kernels_of
    from dmlcts.reports.kernels.known import cases_by_kernel

    if place.is_dir() and is_corpus(place):
        return kernels_of(place)
    record = read_run(place)
    _need_paths(record, place)
    return cases_by_kernel(record.results)
