"""``dmlcts show``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from dmlcts.conformance.backends.process.protocol import CLOSE, DESCRIBE, frame
from dmlcts.conformance.backends.recording import Recording
from dmlcts.conformance.commands.common import case_named, json_option, print_json
from dmlcts.conformance.commands.specs.spec_promises import print_promise, promise_json
from dmlcts.conformance.runner.planning.graphs import graph_named
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.promises import promise_named
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.screen.terminal import console, count_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.calls import Call
from dmlcts.conformance.sequences.graphs.script import data_of, script_of
from dmlcts.conformance.sequences.repetition.forms import repetition_of
from dmlcts.conformance.sequences.takes_part.wire import perform_request
from dmlcts.generator.case.case import LEVELS, OFFSETS, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.suite.families import by_family
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase
from dmlcts.generator.suite.graphs.graph import Feed, Given, Graph, Made
from dmlcts.generator.suite.graphs.graph_json import write_graph
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.formats.graph_drawing import tensor_of, tensor_text
from dmlcts.reports.record.record import API, GRAPHS
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.untrusted.desc_json import write_desc
from dmlcts.spec.writing.files import writing_to


@click.command("show")
@click.argument("case", required=False)
@click.option("--operator", "operators", multiple=True, metavar="NAME", help="list the cases of this operator, by name or pattern")
@click.option("-k", "expression", default="", metavar="EXPR", help="list the cases with these words in the id")
@click.option("--level", "-l", type=click.Choice(LEVELS), default="full", show_default=True, help="list cases up to this level")
@click.option(
    "--frame",
    "frames",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="write what a process: host gets on standard input for CASE, to start the host in a debugger with it",
)
@json_option
def command(case: str | None, operators: tuple[str, ...], expression: str, level: str, frames: Path | None, as_json: bool) -> None:
    """Prints one case with its data, a table of what is tested of an operator, or lists the cases that --operator and -k select.

    CASE is a case's id, such as that of a promise of the API (api/DEV-1) or of a graph (graphs/random/1), a JSON file of a failed property case, or the name of an operator.
    """
    if frames is not None and case is None:
        raise UsageError("--frame needs CASE, the id of the case whose requests it writes")
    if case in operator_names():
        _print_families(str(case), level, as_json)
        return
    if case is not None and case.startswith(f"{API}/"):
        promise = promise_named(case)
        if frames is not None:
            write_sequence(promise.calls, frames)
            click.echo(
                f"{frames}: describe, a request to perform {count_of(len(promise.calls), 'call')} and close, as in a run of {case}"
            )
        elif as_json:
            print_json(promise_json(promise))
        else:
            print_promise(console(), promise)
        return
    if case is not None and case.startswith(f"{GRAPHS}/"):
        _show_graph(graph_named(case), frames, as_json)
        return
    if case is not None:
        found = case_named(case)
        if frames is not None and found.sequence:
            calls = repetition_of(found).script.calls
            write_sequence(calls, frames)
            click.echo(
                f"{frames}: describe, a request to perform {count_of(len(calls), 'call')} and close, as in a run of {found.id}"
            )
        elif frames is not None:
            count = write_session(found, frames)
            click.echo(f"{frames}: describe, {count_of(count, 'run request')} and close, as in a run of {found.id}")
        elif as_json:
            print_json(to_json(found))
        else:
            _print_case(found)
        return
    cases = selected_cases(RunOptions(level=level, basis="measured", operators=operators, expression=expression))
    if as_json:
        print_json(
            [{"id": c.id, "kind": c.kind, "level": c.level, "basis": c.basis, "feature_level": c.feature_level} for c in cases]
        )
    else:
        for listed in cases:
            click.echo(listed.id)


def write_session(case: Case, file: Path) -> int:
    """Writes what a host reads in a run of a case alone, and returns how many dispatches that asks for.

    Raises:
        UsageError: the case asks for none here. WriteError: the file cannot be written.
    """
    with writing_to(file), file.open("wb") as stream:
        backend = Recording(stream)
        session = Session(RunOptions(), backend)
        result = session.run(case)
        session.close()
    if not backend.count:
        raise UsageError(f"{case.id} sends no request: {result.message}")
    return backend.count


def write_sequence(calls: Sequence[Call], file: Path) -> None:
    """Writes what a host of version 2 of the protocol reads in a run of these calls alone. Raises WriteError."""
    with writing_to(file):
        file.write_bytes(b"".join([frame(DESCRIBE), *perform_request(calls, 1, with_paths=True), frame(CLOSE)]))


def _show_graph(case: GraphCase, frames: Path | None, as_json: bool) -> None:
    graph = case.graph()
    if frames is not None:
        calls = script_of(graph, *data_of(graph)).calls
        write_sequence(calls, frames)
        click.echo(
            f"{frames}: describe, a request to perform {count_of(len(calls), 'call')} and close; a run of {case.id} has its inner results as outputs before"
        )
    elif as_json:
        print_json({"id": case.id, "level": case.level, "feature_level": case.feature_level, "graph": write_graph(graph)})
    else:
        _print_graph(case, graph)


def _print_graph(case: GraphCase, graph: Graph) -> None:
    """Prints the nodes of a graph in their order, with what feeds each input."""
    out = console()
    out.print(f"[bold]{escape(case.id)}[/]")
    alone = "; in a process of its own" if case.isolated else ""
    out.print(
        f"a graph of {count_of(len(graph.nodes), 'node')}, of level {case.level}; promised from feature level {case.feature_level} on{alone}"
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("node", "operator", "reads", "gives"):
        table.add_column(column, overflow="fold")
    for index, node in enumerate(graph.nodes):
        reads = [
            f"{name} {tensor_text(tensor_of(write_desc(node.desc), name))} of {_feed_text(feed)}"
            for name, feed in node.feeds.items()
        ]
        gives = [f"{name} {tensor_text(tensor_of(write_desc(node.desc), name))}" for name in node.outputs()]
        table.add_row(str(index), node.desc.type, "\n".join(reads), "\n".join(gives))
    out.print(table)
    out.print("outputs: " + ", ".join(f"{made.tensor} of node {made.node}" for made in graph.outputs), markup=False)
    out.print(
        f"run it: dmlcts run --case {escape(case.id)}; as a file: dmlcts repro {escape(case.id)} --out DIR",
        style="dim",
        soft_wrap=True,
    )


def _feed_text(feed: Feed) -> str:
    if isinstance(feed, Made):
        return f"{feed.tensor} of node {feed.node}"
    return f"input {feed.number}" if isinstance(feed, Given) else "a constant"


def _print_families(name: str, level: str, as_json: bool) -> None:
    """What is tested of an operator and why, a line a family of cases, with the number of cases that each level adds."""
    levels = LEVELS[: LEVELS.index(level) + 1]
    found = [
        (family, {each: sum(case.level == each for case in cases) for each in levels}, cases)
        for family, cases in by_family(load(name), operator_cases(name, level), level)
        if cases
    ]
    if as_json:
        print_json([{"has": family.has, "why": family.why, "cases": counts, "first": own[0].id} for family, counts, own in found])
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("cases have", overflow="fold")
    for each in levels:
        table.add_column(each, justify="right")
    table.add_column("to find", overflow="fold")
    for family, counts, _ in found:
        table.add_row(escape(family.has), *(f"{counts[each]:,}" if counts[each] else "" for each in levels), escape(family.why))
    totals = [f"{sum(counts[each] for _, counts, _ in found):,}" for each in levels]
    table.add_row("together", *totals, f"dmlcts show --operator {name} lists them", style="dim")
    console().print(table)


def _print_case(case: Case) -> None:
    out = console()
    out.print(f"[bold]{escape(case.id)}[/]")
    out.print(f"{case.kind} case of level {case.level}; basis {case.basis}; promised from feature level {case.feature_level} on")
    expected = {"rejection": f"must be rejected: it breaks {case.rule}", "relation": f"must satisfy the law {case.relation}"}
    if case.sequence:
        form = forms()[case.sequence]
        expected[case.expect] = f"repeats {form.repeats}; each dispatch must give what it gives alone. It finds {form.reason}"
    out.print(escape(expected.get(case.expect, f"expected: {case.expect}")))
    if case.in_place:
        out.print("in place: " + ", ".join(f"{output} on {alias}" for output, alias in case.in_place.items()))
    if case.offset != OFFSETS[0] or case.resource:
        out.print(f"the first tensor begins at byte {case.offset} of its resource; in one resource: {case.resource or 'none'}")
    out.print(escape(json.dumps(write_desc(case.desc), indent=1)), soft_wrap=True)
    for name, array in inputs(case).items():
        values = ", ".join(str(value) for value in array.ravel()[:16])
        out.print(f"{name}: {values}{', ...' if array.size > 16 else ''}")
    out.print(f"covers: {escape(', '.join(case.covers))}", style="dim")
    out.print(f"run it: dmlcts run --case {escape(case.id)}", style="dim", soft_wrap=True)
