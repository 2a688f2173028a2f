"""``dmlcts client``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from numpy.typing import NDArray

from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.capture.records import Capture
from dmlcts.conformance.client.models.onnxruntime import CaptureWish, ClientError, ModelRun, run_model
from dmlcts.conformance.client.models.reading import ModelError
from dmlcts.conformance.client.models.wrong_part import Setting
from dmlcts.conformance.client.summary import summary
from dmlcts.conformance.commands.clients.node_tests import OUT as NODE_TESTS
from dmlcts.conformance.commands.clients.node_tests import run_conformance
from dmlcts.conformance.commands.clients.replay import OUT
from dmlcts.conformance.commands.clients.replay import command as replay
from dmlcts.conformance.commands.common import Seconds
from dmlcts.conformance.runner.screen.terminal import command_text

_FAILED = 1


@click.group("client")
def command() -> None:
    """Run a real client of DirectML (docs/clients.md)."""


@command.command(
    "onnxruntime",
    epilog="Exit codes: 0 the model ran, or no test is wrong by DirectML; 1 it did not, or one is; 2 usage error, 3 something is missing.",
)
@click.argument("model", type=click.Path(path_type=Path), required=False)
@click.option("--dll", type=click.Path(path_type=Path), help="the DirectML.dll  [default: that of the backend directml]")
@click.option("--optimize", is_flag=True, help="with ONNX Runtime's graph optimizations, which fuse nodes")
@click.option("--no-graph", is_flag=True, help="each node as an operator of its own, where the provider would compile one graph")
@click.option("--cpu", is_flag=True, help="with ONNX Runtime's CPU provider instead; captures nothing")
@click.option("--runs", type=click.IntRange(1, 10_000), default=1, show_default=True, help="how often to run the model")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="of the random inputs")
@click.option(
    "--inputs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="a folder with the first inputs, input_0.pb and so on; others are random",
)
@click.option("--dimension", "dimensions", multiple=True, metavar="NAME=N", help="the size of a free dimension; others are 1")
@click.option("--capture", type=click.Path(path_type=Path), help="the capture  [default: MODEL.capture in this folder]")
@click.option("--no-capture", is_flag=True, help="capture nothing")
@click.option("--data", type=click.Choice(["none", "inputs", "all"]), default="all", show_default=True, help="the bytes to capture")
@click.option("--limit", type=click.IntRange(1), default=1 << 30, help="the most bytes of data  [default: 1 GiB]")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="capture the data of each n-th dispatch")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="a folder for the model's outputs")
@click.option("--judge", is_flag=True, help="run the dispatches once more on the same DLL and judge each, as `dmlcts replay` does")
@click.option("--conformance", is_flag=True, help="run ONNX's node tests, which the package onnx carries, in place of a model")
@click.option("-k", "expression", metavar="EXPR", help="with --conformance: only tests whose names match, as `dmlcts run -k`")
@click.option(
    "--limit-tests",
    type=click.IntRange(1),
    metavar="N",
    help="with --conformance: only so many tests, chosen by a hash of their names",
)
@click.option("--timeout", type=Seconds(), default=600.0, show_default=True, help="limit for the whole, in seconds")
def onnxruntime(
    model: Path | None,
    dll: Path | None,
    optimize: bool,
    no_graph: bool,
    cpu: bool,
    runs: int,
    seed: int,
    inputs: Path | None,
    dimensions: tuple[str, ...],
    capture: Path | None,
    no_capture: bool,
    data: str,
    limit: int,
    every: int,
    out: Path | None,
    judge: bool,
    conformance: bool,
    expression: str | None,
    limit_tests: int | None,
    timeout: float,
) -> None:
    """Run an ONNX model with ONNX Runtime's DirectML provider, on random inputs, and capture what it dispatches.

    `dmlcts setup --client` prepares it. `dmlcts replay` judges the capture; --judge does it at once, with its exit codes, and where something is
    wrong, it looks for the smallest part of the model that still is.
    """
    if conformance:
        if model is not None or judge or cpu or inputs:
            raise click.UsageError("--conformance runs models of its own: leave out MODEL, --judge, --cpu and --inputs")
        options = [f"--{name}" for name, given in (("optimize", optimize), ("no-graph", no_graph)) if given]
        raise click.exceptions.Exit(
            run_conformance(dll, _backend(dll), options, expression, limit_tests, min(timeout, 60.0), out or Path(NODE_TESTS))
        )
    if model is None:
        raise click.UsageError("name a model, or give --conformance")
    words = ["--runs", str(runs), "--seed", str(seed)]
    words += [f"--{name}" for name, given in (("optimize", optimize), ("no-graph", no_graph), ("cpu", cpu)) if given]
    words += [word for dimension in dimensions for word in ("--dimension", dimension)]
    if judge and (no_capture or cpu):
        raise click.UsageError("--judge judges what was captured: leave out --no-capture and --cpu")
    file = capture or Path(f"{model.name.removesuffix('.onnx')}.capture")
    wish = None if no_capture or cpu else CaptureWish(file, data, limit, every)
    try:
        given = _read_inputs(inputs)
        run = run_model(model, words, dll, wish, timeout, given)
        seen = read_capture(file) if wish else None
    except (ClientError, CaptureError, ModelError) as error:
        click.echo(f"dmlcts client: {error}", err=True)
        raise click.exceptions.Exit(_FAILED) from None
    where = f" on {run.device}" if run.device else ""
    click.echo(f"ONNX Runtime {run.onnxruntime}{where}: {', '.join(f'{seconds:.3f} s' for seconds in run.seconds[:10])}")
    for line in summary(seen) if seen else ():
        click.echo(line)
    if wish:
        click.echo(f"captured: {file}")
    if out:
        _write(run, out)
    if judge and seen:
        backend = _backend(dll)
        try:
            click.get_current_context().invoke(replay, file=file, backend=backend)
        except click.exceptions.Exit as ended:
            if ended.exit_code == _FAILED:
                _bisect(model, seen, Setting(tuple(words), dll, timeout, given), backend)
            raise


def _backend(dll: Path | None) -> str:
    return "directml" if dll is None else f"directml:{shlex.quote(str(dll))}"


def _read_inputs(folder: Path | None) -> tuple[NDArray[Any], ...]:
    """The inputs in a folder, in order. Raises ModelError."""
    from itertools import count, takewhile

    from dmlcts.conformance.client.models.reading import read_tensor_file

    files = (folder / f"input_{place}.pb" for place in count()) if folder else iter(())
    return tuple(read_tensor_file(file) for file in takewhile(Path.exists, files))


def _bisect(model: Path, capture: Capture, setting: Setting, backend: str) -> None:
    """Finds and writes the smallest part of a model that is wrong."""
    from dmlcts.conformance.backends.opening import open_backend, separate_process
    from dmlcts.conformance.client.models.bisecting import write_part
    from dmlcts.conformance.client.models.wrong_part import wrong_node, wrong_part
    from dmlcts.conformance.client.replay.judging import Rules
    from dmlcts.conformance.client.replay.replay import verdict_lines
    from dmlcts.reports.record.record import read_record

    node = wrong_node(capture, read_record(Path(OUT) / "results.jsonl"))
    opened = open_backend(separate_process(backend))
    try:
        found = wrong_part(model, node, setting, Rules(opened, opened.describe()))
    except (ClientError, ModelError) as error:
        click.echo(f"no smaller model: {error}")
        return
    finally:
        opened.close()
    if found is None:
        click.echo("no smaller model is wrong by itself")
        return
    folder = Path(f"{model.name.removesuffix('.onnx')}.smallest")
    count = len(found.part.places)
    click.echo(f"the smallest model that is wrong: {count} node{'' if count == 1 else 's'} of it")
    for line in verdict_lines(found.found):
        click.echo(f"  {line}")
    file = write_part(found.part, found.expected, folder)
    words = ["dmlcts", "client", "onnxruntime", file.as_posix(), "--inputs", (folder / "test_data_set_0").as_posix(), "--judge"]
    words += [word for word in setting.options if word in ("--no-graph", "--optimize")]
    click.echo(command_text((*words, *(("--dll", str(setting.dll)) if setting.dll else ()))))


def _write(run: ModelRun, out: Path) -> None:
    """Writes each output as an .npy file, by its place."""
    import numpy as np

    out.mkdir(parents=True, exist_ok=True)
    for place, (output, data) in enumerate(run.outputs):
        if data is not None:
            array = np.frombuffer(data, output["type"].lower()).reshape(output["sizes"])
            np.save(out / f"output_{place}.npy", array)
            click.echo(f"output {place}: {output['type']} {'x'.join(map(str, output['sizes']))}: {out / f'output_{place}.npy'}")
