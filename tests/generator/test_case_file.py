"""Cases from files: read back as they were written, and refused with the place where they are wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dmlcts.generator.case.case import MOST_OFFSET, to_json
from dmlcts.generator.case.case_file import CaseError, parse_case, read_case_file
from dmlcts.generator.suite.suite import operator_cases

CASES = {case.expect: to_json(case) for case in reversed(operator_cases("ELEMENT_WISE_ROUND", "core"))}
GOOD = CASES["reference"]
INPUT = GOOD["desc"]["InputTensor"]


@pytest.mark.parametrize("expect", CASES)
def test_a_case_comes_back_as_it_was_written(expect: str) -> None:
    assert to_json(parse_case(json.dumps(CASES[expect]))) == CASES[expect]


@pytest.mark.parametrize("offset", [0, 80, 65_552, MOST_OFFSET - 16])
def test_a_tensor_may_begin_at_any_multiple_of_16(offset: int) -> None:
    assert parse_case(json.dumps(changed(offset=offset))).offset == offset


def changed(**entries: Any) -> dict[str, Any]:
    return {**GOOD, **entries}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], 'it: \\[\\] is not of type "object"'),
        ({}, "id: is missing"),
        (changed(id=7), "id: 7 is not of type"),
        (changed(id="a\0"), "id: "),
        (changed(id="\ud800"), "id: "),
        (changed(level="most"), 'level: "most" is not one of'),
        (changed(colour="red"), "colour: is unknown"),
        (changed(desc={"Type": "NOSUCH"}), "no spec for operator"),
        (changed(feature_level="9_9"), "feature_level: unknown"),
        (changed(data={"NoTensor": {"recipe": "any-bits"}}), "data.NoTensor: the desc has no such tensor"),
        (changed(data={}), "data.InputTensor: is missing"),
        (changed(data={"InputTensor": {"recipe": "nosuch"}}), "data.InputTensor.recipe: unknown; known: any-bits"),
        (changed(data={"InputTensor": {"special": "nosuch"}}), "data.InputTensor.special: unknown"),
        (changed(data={"InputTensor": {"recipe": "quarters"}}), "its data cannot be made: KeyError"),
        (
            changed(data={"InputTensor": {"recipe": "between", "least": "9**9**9", "most": 1}}),
            "not an expression of the operator's spec",
        ),
        (changed(data={"InputTensor": {"special": "ones", "where": "9**9**9 > x"}}), "not an expression of the operator's spec"),
        (
            changed(data={"InputTensor": {"literal": {"type": "INT8", "sizes": [1], "data": [1]}}}),
            "its type and sizes are not those",
        ),
        (
            changed(data={"InputTensor": {"literal": {"type": INPUT["DataType"], "sizes": INPUT["Sizes"], "data": []}}}),
            "0 elements, but",
        ),
        (changed(in_place={"OutputTensor": "OutputTensor"}), "in_place.OutputTensor: OutputTensor is not a tensor before it"),
        (changed(offset=7), "offset: 7 is not a multiple of 16 from 0 to 1048560"),
        (changed(offset=40), "offset: 40 is not a multiple of 16"),
        (changed(offset=MOST_OFFSET), "offset: 1048576 is not a multiple of 16 from 0 to 1048560"),
        (changed(offset=-16), "offset: -16 is less than"),
        (changed(resource="outputs"), 'resource: "outputs" is not one of'),
        (changed(bindings={"InputTensor": {"offset": -1}}), "bindings.InputTensor.offset: -1 is less than"),
        (changed(checks=["nosuch"]), "checks"),
        (changed(desc={**GOOD["desc"], "OutputTensor": {**INPUT, "Sizes": [4000000000, 4]}}), "its tensors need .* bytes"),
        (changed(desc={**GOOD["desc"], "OutputTensor": {**INPUT, "Sizes": [7, 7, 7]}}), "desc: it is invalid"),
        ({**CASES["relation"], "relation": "nosuch"}, "relation: ELEMENT_WISE_ROUND has no relation 'nosuch'"),
        ({**CASES["values"], "answers": {}}, "answers: a case that expects values has answers"),
    ],
)
def test_one_thing_wrong(data: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / "case.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(CaseError, match=message) as error:
        read_case_file(file)
    assert str(error.value).startswith(f"{file}: not a case: ")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CaseError, match="pipe: cannot be read"):
        read_case_file(tmp_path / "pipe")
