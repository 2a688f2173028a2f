"""``dmlcts spec site``: the public map as a site of static pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import click

from dmlcts.conformance.commands.common import mapper, names_given, processes_option, sound
from dmlcts.conformance.commands.specs.site.pages import RunRead, of_cases, page_of, read_run_of
from dmlcts.conformance.commands.specs.spec_promises import site_page
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.reports.gate.waivers import WaiverError, read_waivers
from dmlcts.reports.runs.comparison import Comparison, compare_runs
from dmlcts.reports.runs.history import HistoryError
from dmlcts.reports.runs.page import write_runs
from dmlcts.reports.runs.run import in_order, name_runs
from dmlcts.reports.runs.runs_json import runs_json
from dmlcts.reports.site.content import Content, GraphLine, Kernels
from dmlcts.reports.site.faults import general_faults
from dmlcts.reports.site.site import DOWNLOADS, write_site
from dmlcts.spec.untrusted.files import MIB, InputError, read_text

RESULTS = "results.jsonl"
"""The file in a run's output folder."""

RUNS = "runs"
"""The folder of the page that sets the runs side by side, below the site's."""


@click.command("site")
@click.argument("operators", nargs=-1)
@click.option(
    "--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="the folder to write into"
)
@click.option(
    "--waivers",
    "waiver_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="a YAML file of known failures, which the pages show; may be repeated",
)
@click.option(
    "--results",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="a run, which gets a column: a results file, an output folder, or that of `dmlcts releases` with all its runs; may be repeated",
)
@click.option(
    "--graph",
    "graph_files",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="a graph, or a folder of graphs, that is known to be computed wrongly, as `dmlcts fuzz --graphs` writes it; may be repeated",
)
@processes_option
def command(
    operators: tuple[str, ...],
    out: Path,
    waiver_files: tuple[Path, ...],
    results: tuple[Path, ...],
    graph_files: tuple[Path, ...],
    processes: int,
) -> None:
    """Writes the map of all operators as a site: by family, with data types, known faults and releases, and a page for each.

    A page begins with what is promised, what is wrong, with the smallest case of each fault to download, and how the releases do; constraints, examples,
    formula, fields, kernels and cases follow. The site is static: open DIR/index.html.
    """
    names = names_given(operators) or [operator.name for operator in sound()]
    try:
        waivers = [waiver for file in waiver_files for waiver in read_waivers(file)]
    except WaiverError as error:
        raise UsageError(str(error)) from None
    with mapper(processes) as mapped:
        made = list(mapped(partial(of_cases, waivers=waivers), names))
        runs = list(mapped(read_run_of, [run for path in results for run in _runs_in(path)]))
    kernels = _newest_kernels(runs)
    graphs, texts = _graphs(graph_files)
    compared = compare_runs(name_runs(in_order(each.run for each in runs))) if runs else None
    content = Content(
        pages=[page_of(name, found, kernels) for name, found in zip(names, made, strict=True)],
        faults=general_faults(waivers, [operator.name for operator in sound()]),
        runs=runs_json(compared) if compared else None,
        runs_page=f"{RUNS}/index.html" if compared else "",
        graphs=graphs,
        further=[site_page()],
        texts={**texts, **{path: text for found in made for path, text in found.texts.items()}},
    )
    index = _write(content, compared, out)
    click.echo(f"{len(made)} operators: {index}")


def _runs_in(path: Path) -> list[Path]:
    """The runs that a path names: itself, or those below the output folder of `dmlcts releases`."""
    if path.is_file() or (path / RESULTS).is_file():
        return [path]
    return [file.parent for file in sorted(path.glob(f"*/{RESULTS}"))] or [path]


def _newest_kernels(runs: Sequence[RunRead]) -> dict[str, Kernels]:
    """For each operator the kernels of the newest run that names any."""
    ordered = in_order(each.run for each in runs)
    by_run = {id(each.run): each.kernels for each in runs}
    return {operator: found for run in ordered for operator, found in by_run[id(run)].items()}


def _graphs(files: Sequence[Path]) -> tuple[list[GraphLine], dict[str, str]]:
    """The graphs, and the texts of their files by their paths. Raises UsageError."""
    lines, texts = [], {}
    for file in (each for path in files for each in (sorted(path.glob("*.json")) if path.is_dir() else [path])):
        path = f"{DOWNLOADS}/{file.stem}.graph.json"
        lines.append(GraphLine(file.stem, tuple(sorted(set(_operators_of(file)))), path))
        texts[path] = read_text(file, MIB)
    return lines, texts


def _operators_of(file: Path) -> Iterator[str]:
    try:
        yield from (node["desc"]["Type"] for node in json.loads(read_text(file, MIB))["nodes"])
    except (InputError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: not a graph as `dmlcts fuzz --graphs` writes it: {error}") from None


def _write(content: Content, compared: Comparison | None, out: Path) -> Path:
    try:
        index = write_site(content, out)
        if compared:
            write_runs(compared, out / RUNS)
    except (OSError, HistoryError) as error:
        raise UsageError(str(error)) from None
    return index
