"""A case as a folder: its JSON, a DxDispatch model, the inputs and the expected outputs as .npy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dmlcts.conformance.dxdispatch.write import write_model
from dmlcts.generator.case.case import REFERENCE, VALUES, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute


def write_case(case: Case, out: Path) -> list[str]:
    """Writes a case to a folder, which is made, and returns the names of the files. A case that expects no values has no model. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "case.json").write_text(json.dumps(to_json(case), indent=1), encoding="utf-8", newline="\n")
    arrays = inputs(case)
    for name, array in arrays.items():
        np.save(out / f"{name}.npy", array)
    written = ["case.json", *(f"{name}.npy" for name in arrays)]
    if case.expect in (REFERENCE, VALUES):
        for name, answer in compute(case.desc, arrays).items():
            np.save(out / f"{name}.expected.npy", host(answer.value))
            written.append(f"{name}.expected.npy")
        write_model(case, arrays, out)
        written.append("model.json")
    return written
