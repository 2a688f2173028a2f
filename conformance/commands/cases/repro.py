"""``dmlcts repro``."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

from dmlcts.conformance.commands.common import case_named
from dmlcts.conformance.dxdispatch.write import write_model
from dmlcts.generator.case.case import Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute
from dmlcts.spec.writing.files import writing_to


@click.command("repro")
@click.argument("case")
@click.option("--out", "-o", required=True, type=click.Path(path_type=Path, file_okay=False), help="the folder to write to")
@click.option("--backend", "-b", default="reference", show_default=True, help="the backend for the printed command")
def command(case: str, out: Path, backend: str) -> None:
    """Writes a case to a folder: case.json, model.json (a DxDispatch model), the inputs and the expected outputs as .npy.

    CASE is a case's id, or a JSON file of a failed property case.
    """
    found = case_named(case)
    with writing_to(out):
        _write(found, out)
    again = f'--case "{found.id}"' if not Path(case).is_file() else f'--case-file "{(out / "case.json").as_posix()}"'
    click.echo(f'run it: dmlcts run --backend "{backend}" {again}')


def _write(found: Case, out: Path) -> None:
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
