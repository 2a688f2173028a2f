"""Values of attributes: what cases go through, how it is computed, and how it is named."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from dmlcts.generator.case.build import attribute_parts
from dmlcts.generator.plan.attributes import (
    ABSENT,
    choice_labels,
    value_text,
)
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import make_cases
from dmlcts.generator.sweeps.special_values import value_cases
from dmlcts.spec.model.desc import ScaleBias, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load_text
from dmlcts.spec.rules.rules import violations

TEXT = """
operator: ELEMENT_WISE_CLIP1
type: 153
introduced: "5_0"
summary: For a test, with every kind of attribute.
fields:
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: SlopeTensor, kind: input, type: TENSOR_DESC, optional_since: "6_0"}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: ScaleBias, kind: attribute, type: SCALE_BIAS, optional: true}
  - {name: MinMaxDataType, kind: attribute, type: UINT, enum: DML_TENSOR_DATA_TYPE}
  - {name: Min, kind: attribute, type: SCALAR_UNION, data_type: MinMaxDataType}
  - {name: AxisCount, kind: attribute, type: UINT}
  - {name: Axes, kind: attribute, type: UINT_ARRAY, count: AxisCount, most: InputTensor.DimensionCount - 1}
  - {name: Keep, kind: attribute, type: BOOL}
support:
  - level: "5_0"
    tensors:
      InputTensor: &row {dimensions: 1-4, types: [FLOAT32, UINT8]}
      SlopeTensor: *row
      OutputTensor: *row
constraints:
  same: {same: DataType, of: [InputTensor, OutputTensor]}
  slope: {that: "SlopeTensor.DataType == 'FLOAT32' or InputTensor.DataType == 'UINT8'"}
shapes: [{sizes: {InputTensor: ["*S"], SlopeTensor: ["*S"], OutputTensor: ["*S"]}}]
tolerance: {class: exact}
sources: [{title: none}]
cases:
  attributes:
    ScaleBias: [null, {Scale: 2, Bias: -1}]
    MinMaxDataType: [InputTensor.DataType]
    Min: [-1, 0.5, 300]
    Axes: ["[InputTensor.DimensionCount - 1]", "range(InputTensor.DimensionCount)", [0]]
  values:
    InputTensor: {random: {recipe: any-bits}, special: [ends], sets: {ends: [0.1, 255, 256, -1, 1.0e-60, inf, "0x80"]}}
    SlopeTensor: {random: {recipe: any-bits}}
"""
SPEC: Operator = load_text(TEXT)


def test_pairs_of_values_all_stand_together() -> None:
    choices = plan_of(SPEC).combinations
    assert "AxisCount" not in choices[0]
    values = {name: list(dict.fromkeys(str(choice[name]) for choice in choices)) for name in choices[0]}
    assert [len(found) for found in values.values()] == [2, 2, 1, 3, 3, 2]
    for one, other in combinations(values, 2):
        wanted = set(product(values[one], values[other]))
        assert {(str(choice[one]), str(choice[other])) for choice in choices} == wanted
    assert choices[0] == {**choices[0], "ScaleBias": None, "Min": -1, "Keep": False, "SlopeTensor": "present"}


def test_whole_choices_have_every_tensor_and_every_value() -> None:
    choices = plan_of(SPEC).choices[0].whole
    assert all(ABSENT not in choice.values() for choice in choices)
    for name in ("ScaleBias", "Min", "Axes", "Keep"):
        assert {str(choice[name]) for choice in choices} == {str(choice[name]) for choice in plan_of(SPEC).combinations}


@pytest.mark.parametrize(
    ("data_type", "minimum", "expected"), [("FLOAT32", -1, -1), ("UINT8", -1, 0), ("UINT8", 300, 255), ("UINT8", 0.5, 0)]
)
def test_expressions_counts_and_scalars_follow_the_tensors(data_type: str, minimum: float, expected: float) -> None:
    tensors = {name: TensorDesc(data_type, (2, 3)) for name in ("InputTensor", "SlopeTensor", "OutputTensor")}
    axes = SPEC.field("Axes").values[1]
    chosen = {"MinMaxDataType": SPEC.field("MinMaxDataType").values[0], "Min": minimum, "Axes": axes, "Keep": True}
    fields = plan_of(SPEC).fields(tensors, chosen)
    assert list(fields) == [field.name for field in SPEC.fields]
    assert (fields["MinMaxDataType"], fields["Min"], fields["Axes"], fields["AxisCount"]) == (data_type, expected, (0, 1), 2)


def test_changed_tensors_change_what_is_computed_from_them() -> None:
    choice = {**plan_of(SPEC).combinations[0], "Axes": SPEC.field("Axes").values[1]}
    desc = plan_of(SPEC).desc(plan_of(SPEC).choices[0].types, (2, 3), choice)
    larger = desc.with_fields(InputTensor=TensorDesc("UINT8", (1, 2, 3)))
    found = plan_of(SPEC).recompute(larger, choice).fields
    assert (found["Axes"], found["AxisCount"], found["MinMaxDataType"]) == ((0, 1, 2), 3, "UINT8")
    missing = desc.with_fields(InputTensor=None)
    assert plan_of(SPEC).recompute(missing, choice) == missing  # what cannot be computed stays


def test_constraints_limit_which_types_stand_together() -> None:
    assert [choice.label for choice in plan_of(SPEC).choices] == ["FLOAT32-FLOAT32", "UINT8-FLOAT32", "UINT8-UINT8"]


def test_an_absent_tensor_needs_its_level() -> None:
    choice = plan_of(SPEC).choices[0]
    whole = plan_of(SPEC).desc(choice.types, (2, 3), plan_of(SPEC).combinations[0])
    without = plan_of(SPEC).desc(choice.types, (2, 3), {**plan_of(SPEC).combinations[0], "SlopeTensor": ABSENT})
    assert without.fields["SlopeTensor"] is None
    assert [str(plan_of(SPEC).level_of(desc)) for desc in (whole, without)] == ["5_0", "6_0"]


def test_names() -> None:
    choice = {
        **plan_of(SPEC).combinations[1],
        "ScaleBias": ScaleBias(2, -1),
        "SlopeTensor": ABSENT,
        "Axes": (0, 1),
        "Keep": True,
        "Min": 0.5,
    }
    desc = plan_of(SPEC).desc(plan_of(SPEC).choices[0].types, (2, 3), choice)
    assert attribute_parts(plan_of(SPEC), desc, "") == ["no-Slope", "ScaleBias=2,-1", "Min=0.5", "Axes=0,1", "Keep=True"]
    assert value_text(SPEC.field("Axes").values[1]) == "range(InputTensor.DimensionCount)"
    assert "attribute/SlopeTensor/absent" in choice_labels(choice)


def test_every_case_is_valid_and_every_value_stands_in_one() -> None:
    spec = load_text(TEXT.replace("dimensions: 1-4", 'dimensions: "3"'))  # an array for all counts takes 20 s to compute
    cases = make_cases(spec, "core")
    wrong = [(case.id, violations(spec, case.desc)) for case in cases if case.expect != "rejection"]
    assert [(name, found) for name, found in wrong if found] == []
    rejected = {case.rule for case in cases if case.expect == "rejection"}
    assert {"domain/Axes", "constraint/same", "constraint/slope"} <= rejected
    covered = {label for case in cases for label in case.covers}
    for choice in plan_of(spec).combinations:
        assert covered.issuperset(choice_labels(choice))


def test_an_operators_own_set_of_values() -> None:
    cases = {case.id: case for case in value_cases(plan_of(SPEC))}
    sizes = {case.data_type: case.desc.tensor("InputTensor").count for case in cases.values()}
    assert sizes == {"FLOAT32": 6, "UINT8": 2}  # 1e-60 is no FLOAT32; 255 and 0x80 alone are UINT8s


def test_a_part_of_a_set() -> None:
    text = TEXT.replace("special: [ends]", "special: [ends, inner]").replace(
        "sets: {ends:", "sets: {inner: {of: ones, where: (x > -2) & (x < 2)}, ends:"
    )
    sizes = {
        case.data_type: case.desc.tensor("InputTensor").count
        for case in value_cases(plan_of(load_text(text)))
        if "values/inner" in case.id
    }
    assert sizes == {"FLOAT32": 8, "UINT8": 1}  # of 14 those beside 1, 0.5 and their negatives
    with pytest.raises(SpecError, match="unknown name: 'y'"):
        load_text(text.replace("(x < 2)", "(y < 2)"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Min: [-1, 0.5, 300]", "Min: [[1]]", "a SCALAR_UNION is a number or an expression"),
        ("{Scale: 2, Bias: -1}", "{Scale: 2}", "a SCALE_BIAS is written {Scale: number, Bias: number}"),
        ("[0]]\n", "null]\n", "only an optional attribute can be absent"),
        ("[InputTensor.DataType]", "[InputTensor.Types]", "a tensor has no 'Types'"),
        ("[InputTensor.DataType]", "[OtherTensor.DataType]", "unknown name: 'OtherTensor'"),
        ("sets: {ends:", "sets: {others: [1], ends:", "neither special nor measured names this set"),
        ("    Min: [", "    Keep: [2]\n    Min: [", "a BOOL is true or false"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_an_error_of_the_file(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(SpecError, match=says.replace("{", r"\{").replace("}", r"\}")):
        load_text(TEXT.replace(old, new))
