"""``dmlcts setup``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from dmlcts.conformance.backends.backend import Backend, BackendInfo, BackendUnavailable
from dmlcts.conformance.backends.directml.setup import SetupError, Wish, check, set_up
from dmlcts.conformance.backends.directml.stack import CHROOT, ENGINES, home
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.reports.record.record import PASS


@click.command("setup", epilog="Exit codes: 0 it is ready, 1 it was prepared but does not work, 3 a prerequisite is missing.")
@click.option("--check", "only_check", is_flag=True, help="prepare nothing; run one case with what is there")
@click.option("--force", is_flag=True, help="rebuild everything")
@click.option(
    "--dll", type=click.Path(path_type=Path), help="the DirectML.dll that `directml` means  [default: Microsoft's, downloaded]"
)
@click.option(
    "--engine", type=click.Choice([*ENGINES, CHROOT]), help="what to run Wine in  [default: an available engine, else chroot]"
)
@click.option("--mirror", metavar="URL", help="a Debian mirror, for chroot  [default: the one that this machine uses]")
@click.option("--client", is_flag=True, help="also what `dmlcts client` needs: ONNX Runtime, and the capture DLL")
def command(only_check: bool, force: bool, dll: Path | None, engine: str | None, mirror: str | None, client: bool) -> None:
    """Prepare what the backend directml needs (docs/directml.md).

    On Linux: DirectML.dll, downloaded by your pip, and a Debian system with Wine in the cache folder. That takes some minutes and several
    GB. On Windows: the host, built with CMake if this package does not contain it. Existing parts are kept.
    """
    try:
        info = check(try_one_case) if only_check else set_up(Wish(dll, engine, mirror, force), click.echo, try_one_case)
        message = _client(only_check, force) if client else ""
    except SetupError as error:
        click.echo(f"dmlcts setup: {error}", err=True)
        raise click.exceptions.Exit(1) from None
    click.echo(f"Nothing to do: it is ready in {home()}" if info is None else _text(info))
    if message:
        click.echo(message)


def _client(only_check: bool, force: bool) -> str:
    """Prepares the client, or looks whether it is there, and tries it. Raises BackendUnavailable and SetupError."""
    from dmlcts.conformance.client.models.onnxruntime import ClientError, try_one_model
    from dmlcts.conformance.client.programs.building import prepare
    from dmlcts.conformance.client.programs.programs import need_programs

    if only_check:
        need_programs()
    else:
        prepare(force, click.echo)
    try:
        return try_one_model()
    except ClientError as error:
        raise SetupError(f"the client does not work: {error}") from None


def _text(info: BackendInfo) -> str:
    return f"{info.name} {info.version} on {info.device}: one case ran and passed"


def try_one_case(opened: Callable[[], Backend]) -> BackendInfo:
    """Opens a backend and runs the first case of level smoke. Raises SetupError if it does not start, or the case does not pass."""
    options = RunOptions(backend="directml", level="smoke")
    try:
        session = Session(options, opened())
    except BackendUnavailable as error:
        raise SetupError(f"the prepared backend does not start: {error}") from None
    with session:
        result = session.run(selected_cases(options)[0])
    if result.status != PASS:
        raise SetupError(f"{result.case}: {result.status}: {result.message}")
    return session.info
