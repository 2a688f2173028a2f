"""``dmlcts exec``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cases.graphs import read_graph_file
from dmlcts.conformance.commands.common import Seconds, json_option
from dmlcts.conformance.dxdispatch.contested import SOURCES, ContestedReference
from dmlcts.conformance.dxdispatch.model_json import UnsupportedOperator, dumps
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.conformance.dxdispatch.run import ResourceValues, State, StoppedDispatch, Written, save, text, to_json
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.sequences.graphs.execute import run_graph
from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.reports.record.record import ERROR, FAIL, UNSUPPORTED
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.untrusted.files import parse_json
from dmlcts.spec.writing.files import writing_to

_STATUS = {FAIL: "rejected", UNSUPPORTED: "unsupported", ERROR: "error"}


@click.command("exec")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend; see `dmlcts backends`")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="write outputs as .npy into this folder instead of printing them",
)
@click.option(
    "--basis",
    type=click.Choice(list(SOURCES)),
    help=f"which answer the reference gives where documentation and DLL disagree  [default: {DOCUMENTED}]",
)
@click.option("--timeout", type=Seconds(), default=30.0, show_default=True, help="limit for one dispatch, in seconds")
@click.option("--read-outside", is_flag=True, help="let the model read files that do not lie below its own folder")
@json_option
def command(
    model: Path, backend: str, out: Path | None, basis: str | None, timeout: float, read_outside: bool, as_json: bool
) -> None:
    """Runs a model in DxDispatch's JSON form, the format of Microsoft's dxdispatch.exe, or a graph as `dmlcts repro` writes it.

    Executes its print commands, and at the end prints every tensor that was bound as an output.
    Files that the model writes go to the --out folder, by default the current one. Of a graph, which that format lacks, its outputs are printed; `dmlcts fuzz --graph FILE` judges it.

    \b
    Exit codes: 0 it ran, 1 the backend rejected it, does not support it or failed,
    2 the model is invalid, 3 the backend could not be started.
    """
    report = _Report(as_json)
    graph = _graph_in(model)
    if graph is not None:
        if basis:
            raise UsageError(f"{model} is a graph, whose answers are those of the documentation: leave out --basis")
        raise click.exceptions.Exit(_run_graph(graph, model, backend, out, timeout, report))
    try:
        read = read_model(model, read_outside)
    except UnsupportedOperator as error:
        report.step(StoppedDispatch(error.where, Outcome(UNSUPPORTED, str(error))))
        if as_json:
            click.echo(dumps({"model": model.as_posix(), **report.to_json({})}))
        raise click.exceptions.Exit(1) from None
    opened = _open_backend(backend, basis)
    try:
        info = opened.describe()
        if out is not None:
            with writing_to(out):
                out.mkdir(parents=True, exist_ok=True)
        state = State(read)
        for step in state.run(opened, info, out or Path(), timeout):
            report.step(step)
    finally:
        opened.close()
    report.add_notes([*state.notes, *(opened.notes if isinstance(opened, ContestedReference) else ())])
    if report.stopped is None:
        for name in state.outputs:
            report.output(state.tensor(name), out)
    if as_json:
        resources = {name: state.tensor(name) if name in state.outputs else state.flat(name) for name in read.resources}
        click.echo(dumps({"model": model.as_posix(), "backend": info.name, **report.to_json(resources)}))
    raise click.exceptions.Exit(0 if report.stopped is None else 1)


def _graph_in(file: Path) -> Graph | None:
    """The graph in a file; None if that is no graph, but a model. Raises UsageError for a wrong one."""
    try:
        document = parse_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # who reads a model says what is wrong
    return read_graph_file(str(file)) if isinstance(document, dict) and "nodes" in document else None


def _run_graph(graph: Graph, file: Path, backend: str, out: Path | None, timeout: float, report: _Report) -> int:
    """Runs a graph as it is, and reports its outputs. Returns the exit code."""
    opened = open_backend(separate_process(backend))
    try:
        info, found = opened.describe(), run_graph(graph, opened, timeout)
    finally:
        opened.close()
    outputs: dict[str, ResourceValues] = {}
    if isinstance(found, Outcome):
        report.step(StoppedDispatch("the graph", found))
    else:
        if out is not None:
            with writing_to(out):
                out.mkdir(parents=True, exist_ok=True)
        for number, (made, content) in enumerate(zip(graph.outputs, found, strict=True)):
            name = f"output {number}, {made.tensor} of node {made.node} ({graph.nodes[made.node].desc.type})"
            outputs[name] = ResourceValues(name, graph.tensor(made).data_type, content, shaped=True)
            report.output(outputs[name], out)
    if report.as_json:
        click.echo(dumps({"graph": file.as_posix(), "backend": info.name, **report.to_json(outputs)}))
    return 0 if report.stopped is None else 1


def _open_backend(name: str, basis: str | None) -> Backend:
    """The backend; the reference with the answers of a basis."""
    opened = open_backend(separate_process(name))
    if isinstance(opened, ReferenceBackend):
        return ContestedReference(opened, basis or DOCUMENTED)
    if basis:
        opened.close()
        raise UsageError(f"--basis chooses among the answers of the reference; {name} has its own: leave it out")
    return opened


class _Report:
    """Prints progress, or collects it for JSON."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.printed: list[ResourceValues] = []
        self.files: list[Path] = []
        self.stopped: StoppedDispatch | None = None
        self.notes: list[str] = []

    def step(self, step: ResourceValues | Written | StoppedDispatch) -> None:
        if isinstance(step, ResourceValues):
            self.printed.append(step)
            self.say(text(step))
        elif isinstance(step, Written):
            self.files.append(step.file)
            self.say(f"Resource '{step.resource}' written to {step.file}")
        else:
            self.stopped = step
            click.echo(f"{step.where}: {_STATUS[step.outcome.status]}: {step.outcome.message}", err=True)
            for evidence in (step.outcome.evidence.get(key) for key in ("fault", "traceback")):
                if evidence:
                    click.echo(str(evidence).rstrip(), err=True)

    def add_notes(self, notes: Sequence[str]) -> None:
        """What should be known about the values that are printed."""
        self.notes += notes
        for note in notes:
            click.echo(f"note: {note}", err=True)

    def output(self, values: ResourceValues, out: Path | None) -> None:
        """An output at the end of the run: into a file, or printed."""
        if out is not None:
            self.files.append(save(values, out))
            self.say(f"Resource '{values.resource}' written to {self.files[-1]}")
        elif not any(_same(values, printed) for printed in self.printed):
            self.say(text(values))

    def say(self, line: str) -> None:
        if not self.as_json:
            click.echo(line)

    def to_json(self, resources: dict[str, ResourceValues]) -> dict[str, Any]:
        stopped = self.stopped
        status = {"status": "completed"}
        if stopped is not None:
            status = {"status": _STATUS[stopped.outcome.status], "where": stopped.where, "message": stopped.outcome.message}
        return {
            **status,
            "printed": [{"resource": values.resource, **to_json(values)} for values in self.printed],
            "resources": {name: to_json(values) for name, values in resources.items()},
            "files": [file.as_posix() for file in self.files],
            "notes": self.notes,
        }


def _same(values: ResourceValues, printed: ResourceValues) -> bool:
    """Whether a print command has printed the same already."""
    alike = values.resource == printed.resource and values.data_type == printed.data_type
    return alike and values.array.tobytes() == printed.array.tobytes()
