"""``dmlcts fuzz``."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import click

from dmlcts.conformance.commands.cases.graphs import OUT as OUT_OF_GRAPHS
from dmlcts.conformance.commands.cases.graphs import run_named, search
from dmlcts.conformance.commands.cases.run import (
    backend_option,
    basis_option,
    execute_option,
    feature_level_option,
    operator_option,
    operators_argument,
    paths_option,
    processes_option,
    quiet_option,
    run_and_report,
    timeout_option,
    waivers_option,
    without_executing,
)
from dmlcts.conformance.commands.common import cluster_options
from dmlcts.conformance.runner.screen.terminal import console

if TYPE_CHECKING:
    from dmlcts.conformance.runner.workers.cluster.address import Cluster

OUT = "results-fuzz"
"""The default output folder."""

_SEEDS = 1_000_000
"""Seeds that are drawn where none is given are below this, so that they are easily typed again."""


class _Minutes(click.FloatRange):
    """A number of minutes above 0, which may be less than one."""

    name = "minutes"

    def __init__(self) -> None:
        super().__init__(0, 10_000_000, min_open=True)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The number. NaN would pass any comparison with a bound."""
        minutes = super().convert(value, parameter, context)
        if not isfinite(minutes):
            self.fail(f"{value!r} is not a number of minutes.", parameter, context)
        return minutes


@click.command("fuzz")
@operators_argument
@operator_option
@click.option("--minutes", type=_Minutes(), metavar="M", help="end after M minutes  [default: when it is stopped]")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="S",
    help="draws the same cases again; give each machine a seed of its own  [default: drawn]",
)
@click.option("--maxfail", type=click.IntRange(1), metavar="N", help="end after N causes of failures")
@backend_option
@basis_option
@feature_level_option
@processes_option
@timeout_option
@paths_option
@execute_option
@waivers_option
@click.option(
    "--corpus",
    multiple=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="go on with the cases that an earlier search kept there, the smallest of each kernel, and keep this one's; of several, the first gets all",
)
@click.option(
    "--graphs", is_flag=True, help="search among graphs of operators (IDMLDevice1::CompileGraph) instead of single dispatches"
)
@click.option(
    "--graph",
    "named_graphs",
    multiple=True,
    metavar="FILE",
    help="run a graph that a search kept, or drew (SEED-NUMBER), and nothing else; may be repeated",
)
@click.option(
    "--out",
    "-o",
    default="",
    type=click.Path(file_okay=False),
    help=f"folder for results and reports; replaces an older run's; other folders must be empty  [default: {OUT}; with --graphs, {OUT_OF_GRAPHS}]",
)
@quiet_option
@cluster_options
def command(
    operators: tuple[str, ...],
    more_operators: tuple[str, ...],
    minutes: float | None,
    seed: int | None,
    maxfail: int | None,
    processes: int,
    quiet: bool,
    graphs: bool,
    named_graphs: tuple[str, ...],
    out: str,
    cluster: Cluster | None,
    **given: Any,
) -> None:
    """Searches for failing cases: runs random valid descs, layouts, bindings and data until it is stopped.

    Each case is drawn by operator, seed and number, which are in its id, so that it can be made again. Cases in which values of factors
    (`dmlcts spec factors`) occur together that did not so far are preferred. A failing case is made simpler, as long as it fails in the same
    way, and is kept as a file in the folder `examples`. Further failures of a known cause are counted, and the search goes round them. After 20 causes
    or 50 failures in a row the search goes on without the operator.

    With --graphs each number is a random graph of 1 to 200 operators (docs/graphs.md), with OPERATOR one of which is in each graph. --maxfail, --basis, --waivers, --corpus, --no-paths and --no-execute have no effect then.

    Ctrl-C ends the search like its minutes: the reports are written, as those of a run, and name operators that it did not reach. A search claims nothing. `dmlcts merge` merges
    searches with different seeds.

    \b
    Exit codes: 0 nothing failed, 1 something failed (or nothing passed), 2 usage or input error, or an output folder that is not a run's,
    3 the backend could not be started, or the cluster is out of reach, 4 nothing failed, but something that the backend claims is unsupported,
    128 + N stopped by signal N.
    """
    # Imported here, so that `--help` is quick.
    from dmlcts.conformance.runner.exit_code import exit_code
    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.reports.record.record import SEARCH

    if named_graphs:
        raise click.exceptions.Exit(run_named(given["backend"], named_graphs, operators + more_operators, given["timeout"]))
    seed = SystemRandom().randrange(_SEEDS) if seed is None else seed
    if graphs:
        click.echo(f"seed {seed}" + ("" if minutes or quiet else "; Ctrl-C ends the search"))
        names = operators + more_operators
        raise click.exceptions.Exit(
            search(given["backend"], names, seed, minutes, processes, given["timeout"], Path(out or OUT_OF_GRAPHS), quiet, cluster)
        )
    given |= without_executing(given)
    given["out"] = out or OUT
    options = RunOptions(
        level=SEARCH, seed=str(seed), operators=operators + more_operators, minutes=minutes or 0.0, maxfail=maxfail or 0, **given
    )
    terminal = console()
    if not quiet:
        terminal.print(f"seed {seed}" + ("" if minutes else "; Ctrl-C ends the search"))
    record, stopped = run_and_report(options, processes, terminal, quiet, endless=True, cluster=cluster)
    raise click.exceptions.Exit(stopped.exit_code(exit_code(record)))
