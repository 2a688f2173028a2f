"""``dmlcts repro``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from dmlcts.conformance.dxdispatch.write import write_model
from dmlcts.conformance.runner.options import UsageError, read_case
from dmlcts.generator.case import Case, to_json
from dmlcts.generator.data import inputs
from dmlcts.generator.suite import find_case
from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute


@click.command("repro")
@click.argument("case")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend for the printed command")
def command(case: str, out: Path, backend: str) -> None:
    """Writes a case to a folder: case.json, model.json (a DxDispatch model), the inputs and the expected outputs as .npy.

    CASE is a case's id, or a JSON file of a failed property case.
    """
    found = _case(case)
    out.mkdir(parents=True, exist_ok=True)
    (out / "case.json").write_text(json.dumps(to_json(found), indent=1), encoding="utf-8", newline="\n")
    arrays = inputs(found)
    for name, array in arrays.items():
        np.save(out / f"{name}.npy", array)
    written = ["case.json", *(f"{name}.npy" for name in arrays)]
    if found.expect in ("reference", "values"):
        for name, answer in compute(found.desc, arrays).items():
            np.save(out / f"{name}.expected.npy", host(answer.value))
            written.append(f"{name}.expected.npy")
        write_model(found, arrays, out)
        written.append("model.json")
    click.echo(f"{found.id}: {', '.join(written)} in {out}")
    again = f'--case "{found.id}"' if not Path(case).is_file() else f'--case-file "{(out / "case.json").as_posix()}"'
    click.echo(f'run it: dmlcts run --backend "{backend}" {again}')


def _case(case: str) -> Case:
    if Path(case).is_file():
        return read_case(Path(case))
    try:
        return find_case(case)
    except KeyError as error:
        raise UsageError(error.args[0]) from None
