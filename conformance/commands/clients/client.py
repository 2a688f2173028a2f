"""``dmlcts client``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.onnxruntime import CaptureWish, ClientError, ModelRun, run_model
from dmlcts.conformance.client.summary import summary
from dmlcts.conformance.commands.clients.replay import command as replay
from dmlcts.conformance.commands.common import Seconds

_FAILED = 1


@click.group("client")
def command() -> None:
    """Run a real client of DirectML (docs/clients.md)."""


@command.command("onnxruntime", epilog="Exit codes: 0 the model ran, 1 it did not, 2 usage error, 3 something is missing.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--dll", type=click.Path(path_type=Path), help="the DirectML.dll  [default: that of the backend directml]")
@click.option("--optimize", is_flag=True, help="with ONNX Runtime's graph optimizations, which fuse nodes")
@click.option("--no-graph", is_flag=True, help="each node as an operator of its own, where the provider would compile one graph")
@click.option("--cpu", is_flag=True, help="with ONNX Runtime's CPU provider instead; captures nothing")
@click.option("--runs", type=click.IntRange(1, 10_000), default=1, show_default=True, help="how often to run the model")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=1, show_default=True, help="of the random inputs")
@click.option("--dimension", "dimensions", multiple=True, metavar="NAME=N", help="the size of a free dimension; others are 1")
@click.option("--capture", type=click.Path(path_type=Path), help="the capture  [default: MODEL.capture in this folder]")
@click.option("--no-capture", is_flag=True, help="capture nothing")
@click.option("--data", type=click.Choice(["none", "inputs", "all"]), default="all", show_default=True, help="the bytes to capture")
@click.option("--limit", type=click.IntRange(1), default=1 << 30, help="the most bytes of data  [default: 1 GiB]")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="capture the data of each n-th dispatch")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="a folder for the model's outputs")
@click.option("--judge", is_flag=True, help="run the dispatches once more on the same DLL and judge each, as `dmlcts replay` does")
@click.option("--timeout", type=Seconds(), default=600.0, show_default=True, help="limit for the whole, in seconds")
def onnxruntime(
    model: Path,
    dll: Path | None,
    optimize: bool,
    no_graph: bool,
    cpu: bool,
    runs: int,
    seed: int,
    dimensions: tuple[str, ...],
    capture: Path | None,
    no_capture: bool,
    data: str,
    limit: int,
    every: int,
    out: Path | None,
    judge: bool,
    timeout: float,
) -> None:
    """Run an ONNX model with ONNX Runtime's DirectML provider, on random inputs, and capture what it dispatches.

    `dmlcts setup --client` prepares it. `dmlcts replay` judges the capture; --judge does it at once, with its exit codes.
    """
    words = ["--runs", str(runs), "--seed", str(seed)]
    words += [f"--{name}" for name, given in (("optimize", optimize), ("no-graph", no_graph), ("cpu", cpu)) if given]
    words += [word for dimension in dimensions for word in ("--dimension", dimension)]
    if judge and (no_capture or cpu):
        raise click.UsageError("--judge judges what was captured: leave out --no-capture and --cpu")
    file = capture or Path(f"{model.name.removesuffix('.onnx')}.capture")
    wish = None if no_capture or cpu else CaptureWish(file, data, limit, every)
    try:
        run = run_model(model, words, dll, wish, timeout)
        seen = read_capture(file) if wish else None
    except (ClientError, CaptureError) as error:
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
    if judge:
        click.get_current_context().invoke(
            replay, file=file, backend="directml" if dll is None else f"directml:{shlex.quote(str(dll))}"
        )


def _write(run: ModelRun, out: Path) -> None:
    """Writes each output as an .npy file, by its place."""
    import numpy as np

    out.mkdir(parents=True, exist_ok=True)
    for place, (output, data) in enumerate(run.outputs):
        if data is not None:
            array = np.frombuffer(data, output["type"].lower()).reshape(output["sizes"])
            np.save(out / f"output_{place}.npy", array)
            click.echo(f"output {place}: {output['type']} {'x'.join(map(str, output['sizes']))}: {out / f'output_{place}.npy'}")
