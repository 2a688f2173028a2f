"""Cases of an operator with optional tensors and attributes: both ways, every value in turn, and what is wrong with a value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from made_up import cases_of

from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.checks.promises import coverage
from dmlcts.generator.negative.cases import negative_cases
from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import make_cases
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_text
from dmlcts.spec.rules.rules import violations

TEXT = """
operator: ELEMENT_WISE_CLIP1
type: 153
introduced: "5_0"
summary: For a test, with optional tensors and every kind of attribute that a negative case can break.
fields:
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: SlopeTensor, kind: input, type: TENSOR_DESC, optional: true}
  - {name: LateTensor, kind: input, type: TENSOR_DESC, optional_since: "6_0"}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: MinMaxDataType, kind: attribute, type: UINT, enum: DML_TENSOR_DATA_TYPE}
  - {name: Mode, kind: attribute, type: UINT, enum: DML_ROUNDING_MODE}
  - {name: Alpha, kind: attribute, type: FLOAT, least: 0.5, most: 4}
  - {name: Group, kind: attribute, type: UINT, least: 0, most: InputTensor.DimensionCount}
  - {name: Shift, kind: attribute, type: INT, most: 3}
  - {name: AxisCount, kind: attribute, type: UINT}
  - {name: Axes, kind: attribute, type: UINT_ARRAY, count: AxisCount, least: 0, most: InputTensor.DimensionCount - 1}
  - {name: FusedActivation, kind: attribute, type: OPERATOR_DESC, optional: true, operators: {"5_0": [ELEMENT_WISE_EXP], "6_1": [ELEMENT_WISE_ROUND]}}
support:
  - level: "5_0"
    tensors:
      InputTensor: &row {dimensions: 1-4, types: [FLOAT32, UINT8]}
      SlopeTensor: *row
      LateTensor: *row
      OutputTensor: *row
constraints:
  same-data-type: {same: DataType, of: [InputTensor, SlopeTensor, LateTensor, OutputTensor]}
  same-dimension-count: {same: DimensionCount, of: [InputTensor, SlopeTensor, LateTensor, OutputTensor]}
  same-sizes: {same: Sizes, of: [InputTensor, SlopeTensor, LateTensor, OutputTensor]}
  data-type-of-min-max: {that: MinMaxDataType == InputTensor.DataType}
shapes: [{sizes: {InputTensor: ["*S"], SlopeTensor: ["*S"], LateTensor: ["*S"], OutputTensor: ["*S"]}}]
in_place: [{output: OutputTensor, inputs: [InputTensor, SlopeTensor]}]
tolerance: {class: exact}
sources: [{title: none}]
cases:
  attributes:
    MinMaxDataType: [InputTensor.DataType]
    Alpha: [1, 2.5]
    Group: [1]
    Shift: [3, -3, 0]
    Axes: ["range(InputTensor.DimensionCount)", "range(InputTensor.DimensionCount)[-1:]"]
  values:
    InputTensor: {random: {recipe: any-bits}, special: [zeros, ones]}
    SlopeTensor: {random: {recipe: any-bits}, special: [ones]}
"""
SPEC: Operator = load_text(TEXT)
CASES = cases_of(SPEC)
OPTIONAL = ("SlopeTensor", "LateTensor")


def of_kind(*kinds: str) -> list[Case]:
    return [case for case in CASES if case.kind in kinds]


def presence(case: Case) -> tuple[bool, ...]:
    return tuple(case.desc.fields[name] is not None for name in OPTIONAL)


def chosen(case: Case) -> dict[str, str]:
    """The values of the attributes that are chosen, as text; what is computed from the tensors has no text of its own."""
    fixed = {"MinMaxDataType", "Axes", *plan_of(SPEC).counts}
    return {field.name: value_text(case.desc.fields[field.name]) for field in SPEC.attributes() if field.name not in fixed}


VALUES = {
    "Mode": {"HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"},
    "Alpha": {"1", "2.5"},
    "Group": {"1"},
    "Shift": {"3", "-3", "0"},
    "FusedActivation": {"absent", "ELEMENT_WISE_EXP", "ELEMENT_WISE_ROUND"},
}


def test_every_promise_has_a_case() -> None:
    found = coverage(SPEC, cases_of(SPEC), referenced=True)
    assert [column.missing for column in found.columns if column.missing] == []


# Optional tensors


def test_optional_tensors_are_there_and_absent_in_every_way() -> None:
    every = set(product((True, False), repeat=2))
    for data_type in ("FLOAT32", "UINT8"):
        assert {presence(case) for case in of_kind("combination") if case.data_type == data_type} == every
    assert {presence(case) for case in of_kind("property")} == every


def test_each_dimension_count_has_an_optional_tensor_both_ways() -> None:
    for count in range(1, 5):
        found = [presence(case) for case in of_kind("combination") if case.desc.tensor("InputTensor").DimensionCount == count]
        assert {slope for slope, _ in found} == {late for _, late in found} == {True, False}


def test_an_absent_tensor_has_no_data_and_no_binding_and_stands_in_the_id() -> None:
    without = [case for case in CASES if case.expect != REJECTION and not all(presence(case))]
    assert without
    for case in without:
        absent = {name for name in OPTIONAL if case.desc.fields[name] is None}
        assert not absent & case.data.keys()
        assert case.data.keys() == {"InputTensor", *OPTIONAL} - absent
        assert not absent & lay_out(case, inputs(case), {}).dispatch.bindings.keys()
        assert {f"no-{name.removesuffix('Tensor')}" for name in absent} == {p for p in case.id.split("/") if p.startswith("no-")}


def test_a_tensor_may_be_absent_from_its_level_on_alone() -> None:
    for case in CASES:
        if case.expect != REJECTION:
            late = case.desc.fields["LateTensor"] is not None
            activation = case.desc.fields["FusedActivation"]
            lowest = (
                "6_1"
                if isinstance(activation, OperatorDesc) and activation.type == "ELEMENT_WISE_ROUND"
                else "5_0"
                if late
                else "6_0"
            )
            assert case.feature_level == lowest, case.id


@pytest.mark.parametrize("kind", ["table", "sizes", "gaps"])
def test_cases_about_tensors_have_all_of_them(kind: str) -> None:
    assert of_kind(kind)
    assert {presence(case) for case in of_kind(kind) if ".beside-" not in case.id and ".of-" not in case.id} == {(True, True)}


def test_special_values_of_an_absent_tensor_are_left_out() -> None:
    labels: dict[bool, set[str]] = {True: set(), False: set()}
    for case in (case for case in of_kind("values") if "of-" not in case.id and "single" not in case.id):
        slope = case.desc.fields["SlopeTensor"] is not None
        labels[slope].add(case.id.split("/")[3])
        assert ("values/SlopeTensor/ones" in case.covers) == slope
    assert labels == {True: {"zeros-x-ones", "ones-x-ones"}, False: {"zeros", "ones"}}


def test_an_absent_tensor_is_no_wrong_one() -> None:
    assert {case.rule for case in CASES if "/negative/missing/" in case.id} == {"field/InputTensor", "field/OutputTensor"}


# Attributes take turns


@pytest.mark.parametrize("data_type", ["FLOAT32", "UINT8"])
@pytest.mark.parametrize("level", ["core", "full"])
def test_every_value_of_an_attribute_meets_every_layout_and_place(level: str, data_type: str) -> None:
    cases = [case for case in of_kind("combination") if case.data_type == data_type and (case.level != "full" or level == "full")]
    special: dict[str, Callable[[Case], object]] = {
        "strides": lambda case: case.desc.tensor("InputTensor").strides,
        "in place": lambda case: case.in_place,
        "resource": lambda case: case.resource,
    }
    for what, is_so in special.items():
        for name, values in VALUES.items():
            assert {chosen(case)[name] for case in cases if is_so(case)} == values, (what, name)


def test_a_layout_is_not_tied_to_one_value() -> None:
    for layout in ("Input-padded-rows", "Output-permuted", "Slope-broadcast-all"):
        assert len({str(chosen(case)) for case in of_kind("combination") if layout in case.id}) > 1


def test_an_id_has_the_attributes_and_what_is_computed_as_it_came_out() -> None:
    (case,) = (case for case in of_kind("table") if case.data_type == "FLOAT32")
    assert case.id == "ELEMENT_WISE_CLIP1/FLOAT32/4d"  # of many attributes those that are as usual are left out
    usual = chosen(case)
    for other in of_kind("combination"):
        shown = set(other.id.split("/"))
        different = {name: value for name, value in chosen(other).items() if value != usual[name]}
        assert (set(different.values()) | {f"{name}={value}" for name, value in different.items()}) & shown or not different
        assert ("no-Late" in shown) == (other.desc.fields["LateTensor"] is None)
    assert len({case.id for case in CASES}) == len(CASES)


def test_the_usual_values_come_first_and_alone_are_smoke() -> None:
    smoke = [case for case in of_kind("table") if case.level == "smoke"]
    assert len(smoke) == 2  # one a data type
    for case in smoke:
        assert chosen(case) == {
            "Mode": "HALVES_TO_NEAREST_EVEN",
            "Alpha": "1",
            "Group": "1",
            "Shift": "3",
            "FusedActivation": "absent",
        }
        assert case.desc.fields["Axes"] == (0, 1, 2, 3)
    assert len(of_kind("table")) == 2


# What is wrong with a value


def negative(name: str) -> dict[str, object]:
    """The wrong values of an attribute by their cases' last part, where nothing else is wrong."""
    rules = {f"{kind}/{name}" for kind in ("domain", "enum", "operator", "field")}
    found = {}
    for case in CASES:
        if case.expect == REJECTION and case.data_type == "FLOAT32" and case.rule in rules and len(case.covers) == 1:
            found[case.id.rpartition("/")[2]] = case.desc.fields[name]
    return found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Mode", {"Mode=3": 3, "Mode=4294967295": 0xFFFFFFFF}),
        ("Alpha", {"Alpha=-0.5": -0.5, "Alpha=5": 5}),
        ("Group", {"Group=5": 5}),  # -1 is no UINT: the struct cannot hold it
        ("Shift", {"Shift=4": 4}),  # and below there is no bound
        ("Axes", {"Axes=0,1,2,4": (0, 1, 2, 4)}),  # the last alone is out of range
        (
            "FusedActivation",
            {"FusedActivation=ELEMENT_WISE_CLIP1": OperatorDesc("ELEMENT_WISE_CLIP1", dict.fromkeys(f.name for f in SPEC.fields))},
        ),
    ],
)
def test_values_beyond_the_bounds_are_wrong_alone(name: str, values: dict[str, object]) -> None:
    assert negative(name) == values


def test_a_data_type_that_is_not_the_tensors_breaks_the_constraint_about_it() -> None:
    found = [case for case in CASES if case.rule == "constraint/data-type-of-min-max" and case.id.endswith("/MinMaxDataType")]
    assert {case.data_type for case in found} == {"FLOAT32", "UINT8"}
    for case in found:
        assert case.covers == ("rejects/constraint/data-type-of-min-max",)
        assert case.desc.fields["MinMaxDataType"] in set(abi().data_types) - {case.data_type}
        assert {tensor.data_type for _, tensor in case.desc.tensors()} == {case.data_type}


def test_what_is_computed_from_the_tensors_follows_a_change_of_them() -> None:
    """Or else a wrong dimension count would be two faults at once."""
    found = [case for case in CASES if "/negative/dimension-count/" in case.id]
    assert found
    for case in found:
        count = case.desc.tensor("InputTensor").DimensionCount
        assert case.desc.fields["Axes"] == tuple(range(count))
        assert case.desc.fields["AxisCount"] == count
    typed = [case for case in CASES if "/negative/data-type/" in case.id]
    assert len({case.desc.fields["MinMaxDataType"] for case in typed}) > 5
    assert all(case.desc.fields["MinMaxDataType"] == case.desc.tensor("InputTensor").data_type for case in typed)


def test_wrong_values_stand_in_a_desc_that_is_otherwise_right() -> None:
    for case in CASES:
        if case.rule.startswith(("domain/", "enum/M", "operator/")) and len(case.covers) == 1:
            name = case.rule.partition("/")[2]
            right = next(usual for usual in of_kind("table") if usual.data_type == case.data_type and usual.level == "smoke")
            assert violations(SPEC, case.desc.with_fields(**{name: right.desc.fields[name]})) == [], case.id


# Values that a constraint forbids for some data types

LIMITED: Operator = load_text(
    TEXT.replace("shapes:", "  gentle-integers: {that: Alpha < 2, when: \"InputTensor.DataType == 'UINT8'\"}\nshapes:", 1)
)


def test_a_value_that_a_constraint_forbids_is_left_out_for_those_data_types_alone() -> None:
    found: dict[str, set[object]] = {"FLOAT32": set(), "UINT8": set()}
    for case in make_cases(LIMITED, "smoke"):  # which has every value; an array of pairs takes 20 s to compute
        if case.expect != REJECTION:
            assert violations(LIMITED, case.desc) == [], case.id
            found[case.data_type].add(case.desc.fields["Alpha"])
    assert found == {"FLOAT32": {1, 2.5}, "UINT8": {1}}


def test_a_valid_value_that_a_constraint_forbids_is_refused_for_those_data_types_alone() -> None:
    cases = [
        case
        for case in negative_cases(plan_of(LIMITED))
        if case.rule == "constraint/gentle-integers" and case.id.endswith("/Alpha")
    ]
    assert [(case.data_type, case.desc.fields["Alpha"], len(case.covers)) for case in cases] == [("UINT8", 2.5, 1)]
