"""Shared by several commands. Imports little, so that a command loads only what it needs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from math import isfinite
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dmlcts.conformance.runner.workers.cluster.address import Cluster
    from dmlcts.generator.case.case import Case
    from dmlcts.spec.model.operator import Operator


class Seconds(click.FloatRange):
    """A time limit in seconds: a number that is neither NaN nor infinite."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(0.1, 1_000_000)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """The limit. Fails for anything that is none; NaN would pass any comparison with a bound."""
        seconds = super().convert(value, parameter, context)
        if not isfinite(seconds):
            self.fail(f"{value!r} is not a number of seconds.", parameter, context)
        return seconds


json_option = click.option("--json", "as_json", is_flag=True, help="print JSON")

processes_option = click.option(
    "-n", "processes", type=click.IntRange(0), default=0, show_default=True, help="processes; 0 runs everything in this one"
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--cluster`` and ``--resource`` to a command with ``processes``, which gets them as ``cluster``: the workers to use, None for this machine."""

    @wraps(command)
    def with_cluster(*arguments: Any, cluster: str, resource: str, **given: Any) -> Any:
        return command(*arguments, cluster=cluster_of(cluster, resource, given["processes"]), **given)

    with_address = click.option(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="run on the workers of this scheduler of dask.distributed, such as tls://lab:8786 (docs/cluster.md)",
    )
    with_resource = click.option(
        "--resource",
        default="adapter",
        show_default=True,
        metavar="NAME",
        help="with --cluster: use the workers that offer this resource",
    )
    return with_address(with_resource(with_cluster))


def cluster_of(address: str, resource: str, processes: int) -> Cluster | None:
    """The cluster that a user named; None if none was. Raises UsageError for an unsafe address, or processes of this machine besides."""
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.conformance.runner.workers.cluster.address import Cluster

    if address and processes:
        raise UsageError("-n is about processes of this machine, and with --cluster the workers run all: leave one of the two out")
    return Cluster(address, resource) if address else None


Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@contextmanager
def mapper(processes: int, cluster: Cluster | None = None) -> Iterator[Mapper]:
    """``map`` in this process (0), in others, or in the workers of a cluster, results in order. Elsewhere, functions travel by name, arguments and results pickled.

    Processes end with this one, even if it is killed. Raises as ``connect`` and ``check_likeness`` of conformance/runner/workers/cluster/crew.
    """
    if cluster is not None:
        from dmlcts.conformance.runner.workers.cluster.crew import connect
        from dmlcts.conformance.runner.workers.cluster.part import call_alike

        with connect(cluster) as crew:
            here = crew.check_likeness()
            yield lambda function, work: crew.map(partial(call_alike, here, function), work)
        return
    if not processes:
        yield map
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from dmlcts.conformance.runner.workers.threads import starting_with_one_thread

    context = multiprocessing.get_context("spawn")
    with starting_with_one_thread(), ProcessPoolExecutor(processes, context, initializer=_end_with_parent) as pool:
        yield pool.map


def _end_with_parent() -> None:
    """Ends this process once the one that started it is gone: the covering array that it is at may take minutes, and nobody waits for it."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def print_json(data: Any) -> None:
    """Prints data as JSON."""
    click.echo(json.dumps(data, indent=1, ensure_ascii=False))


def operator_named(name: str) -> Operator:
    """The operator with a name given by a user, which may be the short form, in any letter case. Raises UsageError."""
    from dmlcts.conformance.runner.planning.options import UsageError
    from dmlcts.spec.reading.loader import load
    from dmlcts.spec.untrusted.files import shorten_text

    found = names_given((name,))
    if len(found) > 1:
        raise UsageError(f"{shorten_text(name)!r} may be {shorten_text(' or '.join(found))}; give one operator")
    return load(found[0])


def names_given(patterns: Sequence[str]) -> list[str]:
    """The names of the operators that a user gave, by name, short form or pattern as for ``dmlcts run``, in the order given; each once.

    Raises UsageError.
    """
    from dmlcts.conformance.runner.planning.selection import operators_named

    return list(dict.fromkeys(name for pattern in patterns for name in operators_named((pattern,))))


def case_named(text: str) -> Case:
    """The case that a user gave: by its id, or as a JSON file of one. Raises UsageError."""
    from dmlcts.conformance.runner.planning.options import UsageError, read_case
    from dmlcts.generator.suite.suite import find_case

    if Path(text).is_file():
        return read_case(Path(text))
    try:
        return find_case(text)
    except KeyError as error:
        raise UsageError(error.args[0]) from None


def sound() -> list[Operator]:
    """The operators whose specs are right; what is wrong with the others goes to standard error."""
    from dmlcts.spec.reading.document import SpecError
    from dmlcts.spec.reading.loader import load, operator_names

    found = []
    for name in operator_names():
        try:
            found.append(load(name))
        except SpecError as error:
            click.echo(f"dmlcts: {error}", err=True)
    return found
