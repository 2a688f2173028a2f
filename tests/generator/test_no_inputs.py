"""Operators without inputs, which fill an output from their attributes alone: every case maker knows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from made_up import cases_of

from dmlcts.generator.case.case import REJECTION
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.checks.promises import coverage
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_text
from dmlcts.spec.rules.rules import violations

HEAD = """
operator: {name}
type: {type}
introduced: "2_1"
summary: Fills a tensor.
"""

REST = """
  - {name: ValueDataType, kind: attribute, type: UINT, enum: DML_TENSOR_DATA_TYPE}
FIELDS
support:
  - level: "2_1"
    tensors: {OutputTensor: {dimensions: 1-8, types: [FLOAT32, FLOAT16, INT32, UINT8]}}
constraints:
  value-data-type: {that: ValueDataType == OutputTensor.DataType}
shapes:
  - sizes: {OutputTensor: ["*S"]}
tolerance: {class: exact}
sources:
  - {title: a test}
cases:
  attributes:
    ValueDataType: [OutputTensor.DataType]
VALUES"""

FIELDS = "fields:\n  - {name: OutputTensor, kind: output, type: TENSOR_DESC}"
SCALAR = "  - {name: NAME, kind: attribute, type: SCALAR_UNION, data_type: ValueDataType}\n"


def operator(name: str, number: int, examples: str = "", **scalars: str) -> Operator:
    fields = "".join(SCALAR.replace("NAME", key) for key in scalars)
    values = "".join(f"    {key}: {values}\n" for key, values in scalars.items())
    return load_text(
        HEAD.format(name=name, type=number)
        + FIELDS
        + REST.replace("FIELDS\n", fields).replace("VALUES", values).replace("sources:", f"{examples}sources:")
    )


CONSTANT = operator("FILL_VALUE_CONSTANT", 103, Value="[3, -2.5, 0]")
SEQUENCE = operator("FILL_VALUE_SEQUENCE", 104, ValueStart="[0, 7]", ValueDelta="[1, -3]")


@pytest.mark.parametrize("filling", [CONSTANT, SEQUENCE], ids=lambda o: o.name)
def test_every_kind_of_case_is_made_and_valid(filling: Operator) -> None:
    cases = cases_of(filling)
    kinds = Counter(case.kind for case in cases)
    assert kinds.keys() == {"table", "combination", "sizes", "gaps", "negative", "property", "random", "sequence", "typical"}
    assert {case.data_type for case in cases} == {"FLOAT32", "FLOAT16", "INT32", "UINT8"}
    for case in cases:
        assert inputs(case) == {}
        assert bool(violations(filling, case.desc)) == (case.expect == REJECTION and not case.bindings), case.id


@pytest.mark.parametrize("filling", [CONSTANT, SEQUENCE], ids=lambda o: o.name)
def test_every_promise_has_a_case_and_one_more_would_be_missed(filling: Operator) -> None:
    cases = cases_of(filling)
    assert coverage(filling, cases, True).complete
    missing = [label for column in coverage(filling, cases, False).columns for label in column.missing]
    assert missing == ["reference"]


def test_examples_have_outputs_alone() -> None:
    examples = (
        "examples:\n  threes: {inputs: {}, attributes: {ValueDataType: INT32, Value: 3},"
        " outputs: {OutputTensor: {type: INT32, sizes: [2], data: [3, 3]}}, evidence: a test}\n"
    )
    (example,) = operator("FILL_VALUE_CONSTANT", 103, examples, Value="[3]").examples
    case = cases_of(replace(CONSTANT, examples=(example,)))[0]
    assert (case.id, case.data_type, case.data) == ("FILL_VALUE_CONSTANT/INT32/example/threes", "INT32", {})
