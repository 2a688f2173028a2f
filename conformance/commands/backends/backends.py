"""``dmlcts backends``."""

from __future__ import annotations

from typing import Any

import click

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.commands.common import json_option, print_json

_TRIED = ("reference", "reference:cuda", "directml", "onnxruntime", "torch")
_FORMS = {
    "directml:PATH": "another DirectML.dll; the host's options may follow, such as --adapter 1 (docs/directml.md)",
    "python:MODULE:CLASS": "a Python class, such as one that derives from dmlcts.conformance.ArrayBackend, in a child process",
    "inprocess:MODULE:CLASS": "the same without a child process: faster, but a hang is never timed out, and a crash ends the process that runs the cases",
    "process:COMMAND": "any program that speaks the protocol of docs/process-protocol.md on its standard streams",
}


@click.command("backends")
@click.argument("specs", nargs=-1)
@json_option
def command(specs: tuple[str, ...], as_json: bool) -> None:
    """Lists which backends are usable here, and what the others lack; or describes the given backends."""
    rows = [_try_backend(spec) for spec in specs or _TRIED]
    if as_json:
        print_json(rows)
    else:
        for row in rows:
            mark = "usable    " if row["usable"] else "not usable"
            click.echo(f"{mark}  {row['backend']:<20} {row['message']}")
        if not specs:
            for form, message in _FORMS.items():
                click.echo(f"{'':<10}  {form:<20} {message}")
    raise click.exceptions.Exit(3 if specs and not all(row["usable"] for row in rows) else 0)


def _try_backend(spec: str) -> dict[str, Any]:
    try:
        backend = open_backend(spec)
    except BackendUnavailable as error:
        return {"backend": spec, "usable": False, "message": str(error), "info": None}
    try:
        info = backend.describe()
    finally:
        backend.close()
    where = ", ".join(part for part in (info.device, info.details.get("driver")) if isinstance(part, str) and part)
    message = " ".join(part for part in (info.name, info.version, f"({where})" if where else "") if part)
    return {"backend": spec, "usable": True, "message": f"{message}, feature level {info.feature_level}", "info": info.to_json()}
