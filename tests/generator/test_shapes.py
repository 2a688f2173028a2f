"""Valid descs: choices of data types with the level that first allows them, sizes, attributes, and specs made for these tests."""

from itertools import product
from typing import Any

import pytest

from dmlcts.generator.plan.attributes import NotGenerable, constants
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import solve_sizes
from dmlcts.generator.plan.type_choices import padded_run
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.reading.loader import load, load_text

ANY = ["FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64"]


def two_tensors(support: str, constraints: str = "  same-sizes: {same: Sizes, of: [InputTensor, OutputTensor]}") -> Operator:
    """An operator with an input, an output, and these tables and constraints."""
    return load_text(
        f"""
operator: ELEMENT_WISE_IDENTITY
type: 1
introduced: "1_0"
summary: For a test.
fields:
  - {{name: InputTensor, kind: input, type: TENSOR_DESC}}
  - {{name: OutputTensor, kind: output, type: TENSOR_DESC}}
support:
{support}
constraints:
{constraints}
shapes:
  - sizes: {{InputTensor: ["*S"], OutputTensor: ["*S"]}}
tolerance: {{class: exact}}
sources:
  - title: none
cases: {{values: {{InputTensor: {{random: {{recipe: any-bits}}}}}}}}
"""
    )


# Data types


def test_choices_go_from_the_oldest_level_on_in_the_order_of_the_tables() -> None:
    found = plan_of(load("ELEMENT_WISE_BIT_OR")).choices
    assert [choice.label for choice in found] == ["UINT32", "UINT16", "UINT8", *ANY]
    assert [str(choice.level) for choice in found] == ["3_0"] * 3 + ["4_1"] * 8
    assert found[0].types == (("ATensor", "UINT32"), ("BTensor", "UINT32"), ("OutputTensor", "UINT32"))
    assert found[0].main == "UINT32"


def test_a_type_of_several_tables_has_the_lowest_level() -> None:
    levels = {choice.label: str(choice.level) for choice in plan_of(load("ELEMENT_WISE_BIT_SHIFT_RIGHT")).choices}
    assert levels == {"UINT32": "2_1", "UINT16": "2_1", "UINT8": "2_1", "UINT64": "4_1"}


def test_tensors_that_are_not_tied_are_combined_and_the_label_names_both() -> None:
    found = plan_of(load("ELEMENT_WISE_BIT_COUNT")).choices
    assert [choice.label for choice in found[:4]] == ["UINT32-UINT32", "UINT32-UINT8", "UINT16-UINT32", "UINT16-UINT8"]
    assert len(found) == 11 * 2
    assert len({choice.types for choice in found}) == len(found)
    assert {choice.label for choice in found if str(choice.level) == "3_0"} == {
        f"{a}-{b}" for a in ("UINT32", "UINT16", "UINT8") for b in ("UINT32", "UINT8")
    }


def test_types_that_only_one_of_tied_tensors_lists_are_left_out() -> None:
    support = '  - {level: "1_0", tensors: {InputTensor: {dimensions: 1-8, types: [FLOAT32, INT8, UINT8]}, OutputTensor: {dimensions: 1-8, types: [UINT8, FLOAT32]}}}'
    tied = "  same-data-type: {same: DataType, of: [InputTensor, OutputTensor]}"
    assert [choice.label for choice in plan_of(two_tensors(support, tied)).choices] == ["FLOAT32", "UINT8"]
    assert len(plan_of(two_tensors(support)).choices) == 6


def test_representatives_are_one_of_each_width_the_oldest_first() -> None:
    assert [choice.label for choice in plan_of(load("ELEMENT_WISE_BIT_XOR")).representatives] == [
        "UINT32",
        "UINT16",
        "UINT8",
        "FLOAT64",
        "FLOAT32",
        "FLOAT16",
        "INT64",
    ]
    assert [choice.label for choice in plan_of(load("ELEMENT_WISE_ROUND")).representatives] == ["FLOAT32", "FLOAT16"]
    formats = [choice.formats for choice in plan_of(load("ELEMENT_WISE_BIT_COUNT")).representatives]
    inputs = [(8, False), (16, False), (16, True), (32, False), (32, True), (64, False), (64, True)]
    outputs = [(8, False), (32, False)]
    assert {first for first, _ in formats} == set(inputs)
    assert {second for _, second in formats} == set(outputs)
    assert len(formats) <= len(inputs) + len(outputs) - 1  # each brings a format that none before it has
    together = [choice.formats for choice in plan_of(load("ELEMENT_WISE_BIT_COUNT")).of_each_format]
    assert set(together) == set(product(inputs, outputs))


def test_tied_tensors_are_joined_through_a_third() -> None:
    chained = """  a: {same: DataType, of: [InputTensor, OutputTensor]}
  b: {same: Sizes, of: [InputTensor, OutputTensor]}"""
    support = '  - {level: "1_0", tensors: {InputTensor: {dimensions: "4", types: [FLOAT32]}, OutputTensor: {dimensions: "4", types: [FLOAT32]}}}'
    operator = two_tensors(support, chained)
    assert plan_of(operator).tied_groups("DataType") == [("InputTensor", "OutputTensor")]
    assert plan_of(operator).tied_groups("DimensionCount") == [("InputTensor",), ("OutputTensor",)]
    assert plan_of(load("ELEMENT_WISE_BIT_OR")).tied_groups("DataType") == [("ATensor", "BTensor", "OutputTensor")]
    assert plan_of(load("ELEMENT_WISE_BIT_COUNT")).tied_groups("DataType") == [("InputTensor",), ("OutputTensor",)]


def test_a_condition_ties_nothing() -> None:
    support = '  - {level: "1_0", tensors: {InputTensor: {dimensions: "4", types: [FLOAT32]}, OutputTensor: {dimensions: "4", types: [FLOAT32]}}}'
    sometimes = "  a: {same: DataType, of: [InputTensor, OutputTensor], when: InputTensor.DimensionCount > 4}"
    assert plan_of(two_tensors(support, sometimes)).tied_groups("DataType") == [("InputTensor",), ("OutputTensor",)]


# Dimension counts and levels


def test_dimension_counts_are_those_of_any_level() -> None:
    operator = load("ELEMENT_WISE_ROUND")
    assert plan_of(operator).choices[0].dimension_counts == (1, 2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(("dimensions", "usual"), [("1-8", 4), ("4-5", 4), ("1-2", 2), ("5-8", 5), ("8", 8), ('"1"', 1)])
def test_the_usual_count_is_the_nearest_to_four(dimensions: str, usual: int) -> None:
    row = (
        f"{{dimensions: {dimensions}, types: [FLOAT32]}}"
        if '"' in dimensions
        else f'{{dimensions: "{dimensions}", types: [FLOAT32]}}'
    )
    operator = two_tensors(f'  - {{level: "1_0", tensors: {{InputTensor: {row}, OutputTensor: {row}}}}}')
    assert plan_of(operator).choices[0].usual_count == usual


@pytest.mark.parametrize(
    ("name", "data_type", "count", "level"),
    [
        ("ELEMENT_WISE_ROUND", "FLOAT32", 4, "2_1"),
        ("ELEMENT_WISE_ROUND", "FLOAT32", 5, "3_0"),
        ("ELEMENT_WISE_ROUND", "FLOAT16", 1, "3_0"),
        ("ELEMENT_WISE_ROUND", "FLOAT64", 4, None),
        ("ELEMENT_WISE_ROUND", "FLOAT32", 9, None),
        ("ELEMENT_WISE_BIT_SHIFT_RIGHT", "UINT64", 4, "4_1"),
        ("ELEMENT_WISE_BIT_SHIFT_RIGHT", "UINT8", 4, "2_1"),
        ("ELEMENT_WISE_BIT_OR", "INT8", 1, "4_1"),
    ],
)
def test_the_level_of_a_desc_is_the_lowest_that_lists_it(name: str, data_type: str, count: int, level: str | None) -> None:
    operator = load(name)
    tensor = TensorDesc(data_type, (1,) * count)
    fields: dict[str, object] = {field.name: tensor for field in operator.fields if field.is_tensor}
    if name == "ELEMENT_WISE_ROUND":
        fields["RoundingMode"] = "TOWARD_ZERO"
    found = plan_of(operator).level_of(OperatorDesc(name, fields))
    assert (str(found) if found else None) == level


def test_one_tensor_outside_the_table_has_no_level() -> None:
    fields = {"InputTensor": TensorDesc("UINT8", (1,)), "OutputTensor": TensorDesc("UINT16", (1,))}
    assert plan_of(load("ELEMENT_WISE_BIT_COUNT")).level_of(OperatorDesc("ELEMENT_WISE_BIT_COUNT", fields)) is None


# Sizes


@pytest.mark.parametrize(
    ("sizes", "count", "expected"),
    [
        ((2, 3, 4, 5), 4, (2, 3, 4, 5)),
        ((2, 3), 4, (1, 1, 2, 3)),
        ((2, 3, 4, 5), 2, (24, 5)),
        ((2, 3, 4, 5), 1, (120,)),
        ((7,), 8, (1, 1, 1, 1, 1, 1, 1, 7)),
    ],
)
def test_runs_are_padded_with_ones_or_their_head_is_multiplied(
    sizes: tuple[int, ...], count: int, expected: tuple[int, ...]
) -> None:
    assert padded_run(sizes, count) == expected


def test_a_run_stands_for_the_dimensions_that_a_star_does() -> None:
    operator = load_text(
        """
operator: ELEMENT_WISE_IDENTITY
type: 1
introduced: "1_0"
summary: For a test.
fields:
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
support:
  - {level: "1_0", tensors: {InputTensor: {dimensions: "4", types: [FLOAT32]}, OutputTensor: {dimensions: "4", types: [FLOAT32]}}}
constraints: {}
shapes:
  - sizes: {InputTensor: ["*S", "1"], OutputTensor: ["2 * 3", "*S"]}
tolerance: {class: exact}
sources:
  - title: none
cases: {values: {InputTensor: {random: {recipe: any-bits}}}}
"""
    )
    fields = {name: TensorDesc("FLOAT32", (1, 1, 1)) for name in ("InputTensor", "OutputTensor")}
    assert solve_sizes(operator, OperatorDesc(operator.name, fields), (4, 5, 1)) == {
        "InputTensor": (4, 5, 1),
        "OutputTensor": (6, 4, 5),
    }


def test_a_desc_has_the_fields_in_the_order_of_the_struct() -> None:
    operator = load("ELEMENT_WISE_ROUND")
    choice = plan_of(operator).choices[1]
    desc = plan_of(operator).desc(choice.types, (2, 3), {"RoundingMode": "TOWARD_ZERO"})
    tensor = TensorDesc("FLOAT16", (2, 3))
    assert desc == OperatorDesc(
        "ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor, "RoundingMode": "TOWARD_ZERO"}
    )
    assert list(desc.fields) == ["InputTensor", "OutputTensor", "RoundingMode"]


# Attributes


def test_attributes_go_through_every_constant_of_their_enumeration() -> None:
    assert plan_of(load("ELEMENT_WISE_ROUND")).combinations == (
        {"RoundingMode": "HALVES_TO_NEAREST_EVEN"},
        {"RoundingMode": "TOWARD_ZERO"},
        {"RoundingMode": "TOWARD_INFINITY"},
    )
    assert plan_of(load("ELEMENT_WISE_BIT_OR")).combinations == ({},)


def test_an_attribute_without_a_domain_cannot_be_generated_unless_it_may_be_absent() -> None:
    optional: Any = Field("Alpha", "attribute", "FLOAT", optional=True)
    assert constants(optional) == (None,)
    with pytest.raises(NotGenerable, match="Alpha has no `values`"):
        constants(Field("Alpha", "attribute", "FLOAT"))
