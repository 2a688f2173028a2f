"""``dmlcts fuzz --graphs``: a search for failing graphs, and graphs in files."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click

from dmlcts.conformance.runner.planning.options import UsageError

if TYPE_CHECKING:
    from dmlcts.conformance.backends.backend import BackendInfo
    from dmlcts.conformance.runner.workers.cluster.address import Cluster
    from dmlcts.conformance.sequences.graphs.many import Elsewhere
    from dmlcts.conformance.sequences.graphs.search import Tally
    from dmlcts.generator.suite.graphs.graph import Graph

OUT = "results-graphs"
"""The default output folder."""

_FOREVER = 10.0**9

_DRAWN = re.compile(r"(\d{1,10})-(\d{1,10})(?:-(\d{1,10}))?")
"""The seed and number of a random graph, and the number of a change."""


def search(
    backend: str,
    operators: Iterable[str],
    seed: int,
    minutes: float | None,
    processes: int,
    timeout: float,
    out: Path,
    quiet: bool,
    cluster: Cluster | None = None,
) -> int:
    """Searches, writes the results, and returns the exit code. Raises UsageError, BackendUnavailable and WriteError."""
    from dmlcts.conformance.runner.planning.selection import operators_named
    from dmlcts.conformance.sequences.graphs.many import (
        PAGE,
        Found,
        exit_code,
        may_write_to,
        name_of,
        progress_line,
        search_graphs,
        summary_lines,
        write_results,
    )

    if not may_write_to(out):
        raise UsageError(f"{out} holds other files; name an empty folder with --out")
    names = operators_named(tuple(operators)) if operators else ()

    def progress(info: BackendInfo, found: Tally) -> None:
        # so that a search that is killed leaves what it found
        write_results(Found(name_of(info), (seed,), found, complete=False), out)
        if not quiet:
            click.echo(progress_line(found))

    with _elsewhere(backend, cluster) as machines:
        until = monotonic() + (minutes * 60 if minutes else _FOREVER)
        info, found, complete = search_graphs(backend, seed, names, until, None, processes, timeout, progress, machines)
    write_results(result := Found(name_of(info), (seed,), found, complete), out)
    click.echo("\n".join([*summary_lines(result.tally), f"report: {out / PAGE}"]))
    return exit_code(found.statuses)


@contextmanager
def _elsewhere(backend: str, cluster: Cluster | None) -> Iterator[Elsewhere | None]:
    """The machines of a cluster; None if there is none. Raises UsageError and BackendUnavailable."""
    if cluster is None:
        yield None
        return
    from dmlcts.conformance.runner.workers.cluster.address import check_backend
    from dmlcts.conformance.runner.workers.cluster.crew import connect
    from dmlcts.conformance.runner.workers.cluster.part import call_alike
    from dmlcts.conformance.sequences.graphs.many import Elsewhere

    check_backend(backend)
    with connect(cluster) as crew:
        crew.check_likeness(backend)
        alike, info = crew.check_likeness(), crew.describe(backend).describe()
        yield Elsewhere(info, lambda function, items: crew.run_each(partial(call_alike, alike, function), items))


def run_named(backend: str, named: Sequence[str], operators: Iterable[str], timeout: float) -> int:
    """Runs graphs in files, or drawn again by their seed and number (``7-123``), prints the outcome of each, and returns the exit code.

    ``operators`` are those that the search was given. Raises UsageError and BackendUnavailable.
    """
    from dmlcts.conformance.backends.opening import open_backend
    from dmlcts.conformance.runner.planning.selection import operators_named
    from dmlcts.conformance.sequences.graphs.execute import graph_outcome
    from dmlcts.conformance.sequences.graphs.many import exit_code
    from dmlcts.conformance.sequences.graphs.search import graph_of

    names = operators_named(tuple(operators)) if operators else ()
    drawn = {name: match for name in named if (match := _DRAWN.fullmatch(name)) and not Path(name).exists()}
    graphs = {name: read_graph_file(name) for name in named if name not in drawn}
    opened = open_backend(backend)
    statuses = Counter[str]()
    try:
        info = opened.describe()
        for name in named:
            if name in drawn:
                seed, number, *change = (int(each) for each in drawn[name].groups() if each)
                graphs[name] = graph_of(seed, number, names, info.feature_level, info.operators, *change)
            graph = graphs[name]
            outcome = graph_outcome(graph, opened, info, timeout)
            statuses[outcome.status] += 1
            click.echo(f"{name}: {outcome.status}" + (f": {outcome.message}" if outcome.message else ""))
    finally:
        opened.close()
    return exit_code(statuses)


def read_graph_file(file: str) -> Graph:
    """A graph in a file. Raises UsageError."""
    from dmlcts.generator.suite.graphs.graph_json import GraphError, read_graph
    from dmlcts.spec.reading.loader import load

    try:
        return read_graph(json.loads(Path(file).read_text(encoding="utf-8")), load)
    except (GraphError, ValueError, OSError) as error:
        raise UsageError(f"{file}: {error}") from None
