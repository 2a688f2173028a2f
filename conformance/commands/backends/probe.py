"""``dmlcts probe``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.commands.common import Seconds, json_option, names_given, print_json
from dmlcts.conformance.probing.findings import counts
from dmlcts.conformance.probing.measured import differences, differs, measurement_of, table, write_measurements
from dmlcts.conformance.probing.probe import CONFIRMED, REFUSED, UNKNOWN, Probed, probe
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.runner.screen.terminal import console, count_of
from dmlcts.reports.record.files import write_text
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.measurement import Measurement
from dmlcts.spec.reading.loader import load, load_all, measured_folder


@click.command("probe")
@click.argument("operators", nargs=-1)
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend; see `dmlcts backends`")
@click.option("--write", is_flag=True, help="write what was found into spec/measured")
@json_option
@click.option(
    "--table", "table_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.md", help="write a table in Markdown"
)
@click.option("--timeout", type=Seconds(), default=30.0, show_default=True, help="limit for one probe, in seconds")
def command(operators: tuple[str, ...], backend: str, write: bool, as_json: bool, table_file: Path | None, timeout: float) -> None:
    """Compares what a backend accepts with the documentation: every cell of every table, and what the tables do not list.

    With --write, what DirectML itself accepts beyond the documentation need no longer be rejected by any implementation.

    \b
    Exit codes: 0 the documentation is confirmed; 1 something differs, or is unknown;
    2 usage or input error; 3 the backend could not be started.
    """
    chosen = [load(name) for name in names_given(operators)] or list(load_all())
    found: list[tuple[Probed, Measurement]] = []
    with _open_backend(backend) as opened:
        info = opened.describe()
        at = feature_level(info.feature_level)
        known = [operator for operator in chosen if operator.introduced <= at]
        if not known:
            raise UsageError(f"{info.name} has feature level {at}, and every operator that was asked for is newer")
        stderr = Console(stderr=True)
        for operator in track(known, "probes", console=stderr, transient=True, disable=not stderr.is_terminal):
            probed = probe(operator, opened, info.feature_level, timeout)
            found.append((probed, measurement_of(probed, info, backend)))
    changed = write_measurements(measured_folder(), [(p.operator, m) for p, m in found]) if write else 0
    if table_file:
        write_text(table_file, table(found))
    if as_json:
        print_json([_json(probed, measurement) for probed, measurement in found])
    else:
        _print(found)
        if write:
            click.echo(f"what was measured of {count_of(changed, 'operator')} changed")
    raise click.exceptions.Exit(1 if any(differs(measurement) for _, measurement in found) else 0)


@contextmanager
def _open_backend(spec: str) -> Iterator[Backend]:
    opened = open_backend(separate_process(spec))
    try:
        yield opened
    finally:
        try:
            opened.close()
        except Exception as error:  # whatever a Python backend raises: the answers are in
            click.echo(f"dmlcts: the backend's close() raised {type(error).__name__}: {error}", err=True)


def _json(probed: Probed, measurement: Measurement) -> dict[str, Any]:
    """The record, every promise by its label, and every answer that is none."""
    unknown = [{"probe": each.case.id, "message": answer.message} for each, answer in probed.answers if answer.status == UNKNOWN]
    return {"operator": probed.operator.name, **asdict(measurement), "promises": probed.promises(), "unanswered": unknown}


def _print(found: list[tuple[Probed, Measurement]]) -> None:
    rows = Table(box=None, pad_edge=False, header_style="dim")
    rows.add_column("operator", overflow="fold")
    for name in ("probes", "cells", CONFIRMED, REFUSED, UNKNOWN):
        rows.add_column(name, justify="right")
    for probed, measurement in found:
        rows.add_row(probed.operator.name, str(measurement.probes), *(str(n) for n in counts(probed.cells()).values()))
    out = console()
    by = found[0][1]
    out.print(f"{escape(by.by)}{f' on {escape(by.device)}' if by.device else ''}, feature level {by.level}")
    out.print(rows)
    for probed, measurement in found:
        for kind, text in differences(probed, measurement):
            out.print(f"[bold]{kind}:[/] {probed.operator.name} {escape(text)}")
    differing = sum(differs(measurement) for _, measurement in found)
    out.print(f"the documentation of {len(found) - differing} of {count_of(len(found), 'operator')} is confirmed")
