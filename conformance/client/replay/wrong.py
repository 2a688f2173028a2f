"""What is written about a wrong dispatch: a DxDispatch model with its arrays, and the dispatch, made smaller, as a case file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dmlcts.conformance.client.replay.flow import Step
from dmlcts.conformance.client.replay.judging import Judged
from dmlcts.conformance.client.replay.smaller import smaller
from dmlcts.conformance.dxdispatch.write import write_model
from dmlcts.generator.case.case import LEVELS, Case, Data, to_json
from dmlcts.generator.case.case_file import LARGEST, CaseError, parse_case
from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute
from dmlcts.reports.record.files import file_name
from dmlcts.spec.model.dtypes import array_literal
from dmlcts.spec.untrusted.files import InputError

_MOST_ELEMENTS = LARGEST // 8
"""A case file with more elements would be too large."""


@dataclass(frozen=True, slots=True)
class Example:
    """A wrong dispatch, or a smaller one that is wrong too, as a case. ``file`` is None where it cannot be one; then ``why`` says why."""

    judged: Judged
    case: Case | None = None
    file: Path | None = None
    why: str = ""


def write_example(judged: Judged, again: Callable[[Step], Judged] | None, folder: Path) -> Example:
    """Writes a wrong dispatch as a case file for `dmlcts run --case-file`, made smaller if it can be judged ``again``. Raises OSError."""
    least = judged if again is None else smaller(judged, again)
    case = least.case
    if case is None:
        return Example(least, why="it was not judged")
    if sum(array.size for array in least.step.inputs.values()) > _MOST_ELEMENTS:
        return Example(least, why="it has too many elements for a case file")
    literals = {
        name: Data(literal=array_literal(array, case.desc.tensor(name).data_type)) for name, array in least.step.inputs.items()
    }
    case = replace(case, id=f"{case.id}/example", level=LEVELS[-2], data=literals)
    text = json.dumps(to_json(case), indent=1) + "\n"
    try:
        parse_case(text)
    except (CaseError, InputError) as error:
        return Example(least, why=str(error))
    if len(text) > LARGEST:
        return Example(least, why="it has too many elements for a case file")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / file_name(case.id, ".json")
    file.write_text(text, encoding="utf-8", newline="\n")
    return Example(least, case, file)


def write_step(judged: Judged, folder: Path) -> None:
    """Writes a step for a look at it: a DxDispatch model with the inputs, and inputs, expected and actual outputs as .npy. Raises OSError."""
    if judged.case is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in judged.step.inputs.items():
        np.save(folder / f"{name}.npy", array)
    for name, answer in compute(judged.case.desc, judged.step.inputs).items():
        np.save(folder / f"{name}.expected.npy", host(answer.value))
    for name, array in judged.actual.items():
        np.save(folder / f"{name}.actual.npy", array)
    write_model(judged.case, judged.step.inputs, folder)
