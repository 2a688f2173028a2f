"""``dmlcts capture``."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import click

from dmlcts.conformance.client.beside import BesideError, lend_dll
from dmlcts.conformance.client.capture.reading import CaptureError, read_capture
from dmlcts.conformance.client.models.onnxruntime import CaptureWish
from dmlcts.conformance.client.programs.programs import need_programs
from dmlcts.conformance.client.summary import summary


@click.command(
    "capture",
    context_settings={"ignore_unknown_options": True},
    epilog="Exit code: that of COMMAND; 2 usage error, 3 something is missing.",
)
@click.option("--out", type=click.Path(path_type=Path), default=Path("client.capture"), show_default=True, help="the capture")
@click.option(
    "--data", type=click.Choice(["none", "inputs", "all"]), default="none", show_default=True, help="the bytes to capture"
)
@click.option("--limit", type=click.IntRange(1), default=1 << 30, help="the most bytes of data  [default: 1 GiB]")
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="capture the data of each n-th dispatch")
@click.option(
    "--beside", "folder", type=click.Path(path_type=Path), help="where the capture DLL is put  [default: COMMAND's folder]"
)
@click.option(
    "--dll", type=click.Path(path_type=Path), help="the real DirectML.dll  [default: the program's own, else the system's]"
)
@click.argument("arguments", nargs=-1, required=True, metavar="-- COMMAND", type=click.UNPROCESSED)
def command(
    out: Path, data: str, limit: int, every: int, folder: Path | None, dll: Path | None, arguments: tuple[str, ...]
) -> None:
    """Capture what a program dispatches, on Windows (docs/clients.md).

    The capture DLL lies beside the program while it runs, in place of its DirectML.dll. A program that keeps its DLLs elsewhere, such as Python
    (in onnxruntime\\capi), needs --beside.
    """
    if os.name != "nt":
        raise click.UsageError("programs are captured on Windows; here, `dmlcts client onnxruntime MODEL.onnx` runs one under Wine")
    program = shutil.which(arguments[0])
    if program is None:
        raise click.UsageError(f"there is no program {arguments[0]!r}")
    programs, out = need_programs(), out.absolute()
    wish = CaptureWish(out, data, limit, every)
    try:
        with lend_dll(folder or Path(program).parent, programs.capture) as own:
            real = dll or own
            variables = wish.environment(str(out), str(real.absolute()) if real else "")
            code = subprocess.run([program, *arguments[1:]], env={**os.environ, **variables}, check=False).returncode
    except BesideError as error:
        raise click.UsageError(str(error)) from None
    try:
        for line in summary(read_capture(out)):
            click.echo(line)
    except CaptureError as error:
        click.echo(f"nothing was captured: {error}", err=True)
    raise click.exceptions.Exit(code)
