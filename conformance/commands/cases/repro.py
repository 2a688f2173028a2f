"""``dmlcts repro``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dmlcts.conformance.commands.common import case_named
from dmlcts.conformance.dxdispatch.case_folder import write_case
from dmlcts.conformance.runner.planning.graphs import graph_named
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase
from dmlcts.generator.suite.graphs.graph_json import write_graph
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.record import GRAPHS
from dmlcts.spec.writing.files import writing_to


@click.command("repro")
@click.argument("case")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend for the printed command")
def command(case: str, out: Path, backend: str) -> None:
    """Writes a case to a folder: case.json, model.json (a DxDispatch model), the inputs and the expected outputs as .npy.

    CASE is a case's id, or a JSON file of a failed property case. Of a graph (graphs/random/1) it writes graph.json, which `dmlcts fuzz --graph` runs.
    """
    if case.startswith(f"{GRAPHS}/"):
        _write_graph(graph_named(case), out, backend)
        return
    found = case_named(case)
    with writing_to(out):
        written = write_case(found, out)
        click.echo(f"{found.id}: {', '.join(written)} in {out}")
    again = f'--case "{found.id}"' if not Path(case).is_file() else f'--case-file "{(out / "case.json").as_posix()}"'
    click.echo(f'run it: dmlcts run --backend "{backend}" {again}')


GRAPH_FILE = "graph.json"
"""The file of a graph."""


def _write_graph(case: GraphCase, out: Path, backend: str) -> None:
    """Writes a graph as a file. Raises WriteError."""
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / GRAPH_FILE, json.dumps(write_graph(case.graph()), ensure_ascii=False) + "\n")
    click.echo(f"{case.id}: {GRAPH_FILE} in {out}")
    click.echo(
        f'run it: dmlcts fuzz --backend "{backend}" --graph "{(out / GRAPH_FILE).as_posix()}", or dmlcts run --backend "{backend}" --case {case.id}'
    )
