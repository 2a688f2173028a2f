"""What a spec says about its own cases: configurations of attributes and tensors, named sizes, other random data, tables of attributes."""

from typing import Any

import pytest
from product_operator import SPEC, product_operator

from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.covering.cases import combination_cases
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import MAKERS
from dmlcts.generator.sweeps.special_values import data_cases, value_cases
from dmlcts.generator.sweeps.usual import symbol_cases
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import SpecError
from dmlcts.spec.rules.rules import violations

FIELDS = SPEC["fields"]
MODE = {"name": "Function", "kind": "attribute", "type": "UINT", "enum": "DML_REDUCE_FUNCTION"}


def without_defaults(operator: Operator) -> list[dict[str, object]]:
    return [dict(choice) for choice in plan_of(operator).combinations]


def test_configurations_come_one_after_another_each_with_its_own_values() -> None:
    operator = product_operator(configurations={"plain": {"CTensor": "absent", "Scale": [2]}, "added": {"CTensor": "present"}})
    assert without_defaults(operator) == [
        {"CTensor": "absent", "Scale": 2},
        {"CTensor": "present", "Scale": 1},
        {"CTensor": "present", "Scale": 2},
        {"CTensor": "present", "Scale": -0.5},
    ]


def test_a_combination_of_two_configurations_is_made_once() -> None:
    operator = product_operator(configurations={"one": {"Scale": [1, 2], "CTensor": "absent"}, "two": {"Scale": [2, -0.5]}})
    choices = without_defaults(operator)
    assert len(choices) == 5
    assert choices.count({"CTensor": "absent", "Scale": 2}) == 1


def test_a_tensor_that_a_configuration_leaves_out_stays_out() -> None:
    operator = product_operator(configurations={"plain": {"CTensor": "absent"}, "any": {"Scale": 2}})
    (choice,) = {plan_of(operator).choices[0]}
    assert {attributes["CTensor"] for attributes in choice.whole} == {"absent", "present"}
    alone = product_operator(configurations={"any": {"Scale": 2}})
    assert {attributes["CTensor"] for attributes in plan_of(alone).choices[0].whole} == {"present"}
    assert plan_of(alone).complete(Combination({"CTensor": "absent", "Scale": 2}, "any")) == {"CTensor": "present", "Scale": 2}


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({"Colour": 1}, "the operator has no field 'Colour'"),
        ({"ATensor": "absent"}, "an optional tensor is present or absent"),
        ({"CTensor": "missing"}, "an optional tensor is present or absent"),
        ({"Scale": [None]}, "only an optional attribute can be absent"),
        ({"Scale": [[1]]}, "a FLOAT is a number or an expression"),
    ],
)
def test_wrong_configurations_are_errors_of_the_file(configuration: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        product_operator(configurations={"it": configuration})
    assert message in str(error.value)


def test_sizes_of_symbols_meet_pairwise() -> None:
    sizes = {"M": [2, 1], "K": [3, 1, 17], "N": [4, 5], "Batch": [[1], [2, 3]]}
    operator = product_operator(sizes=sizes)
    found = {}
    for case in symbol_cases(plan_of(operator)):
        if case.data_type == "FLOAT32":
            a, b = (case.desc.tensor(name).sizes for name in ("ATensor", "BTensor"))
            assert a[-1] == b[-2]
            assert not violations(operator, case.desc)
            found[a[:-2], a[-2], a[-1], b[-1]] = case.id
    batches = {(1, 1), (2, 3)}
    assert {(batch, k) for batch, _, k, _ in found} == {(batch, k) for batch in batches for k in (3, 1, 17)}
    assert {(m, k) for _, m, k, _ in found} == {(m, k) for m in (2, 1) for k in (3, 1, 17)}
    assert "ELEMENT_WISE_ADD/FLOAT32/sizes/M=2.K=1.N=5.Batch=2x3" in {label.rpartition("/Scale")[0] for label in found.values()}


def test_large_sizes_are_left_to_level_full() -> None:
    operator = product_operator(sizes={"K": [3, 4096], "N": [2, 64]})
    levels = {
        (case.desc.tensor("ATensor").sizes[-1], case.desc.tensor("BTensor").sizes[-1]): case.level
        for case in symbol_cases(plan_of(operator))
    }
    assert levels == {(3, 2): "core", (3, 64): "core", (4096, 2): "full", (4096, 64): "full"}


def test_a_size_that_no_shape_has_is_an_error() -> None:
    with pytest.raises(SpecError, match="no shape has a free size called Q"):
        product_operator(sizes={"Q": [1]})
    with pytest.raises(SpecError, match="no shape has a free size called Scale"):
        product_operator(sizes={"Scale": [1]})


def test_other_data_has_cases_of_its_own() -> None:
    values = {
        **SPEC["cases"]["values"],
        "BTensor": {
            "random": {"recipe": "quarters", "limit": 2},
            "data": {"large": {"recipe": "uniform", "low": 1000, "high": 2000}, "any": {"recipe": "any-bits", "basis": "measured"}},
        },
    }
    operator = product_operator(values=values)
    cases = list(data_cases(plan_of(operator)))
    assert {(case.covers[-1], case.basis) for case in cases} == {
        ("values/BTensor/large", "documented"),
        ("values/BTensor/any", "measured"),
    }
    for case in cases:
        recipe = "uniform" if case.basis == "documented" else "any-bits"
        assert {name: data.recipe for name, data in case.data.items() if name != "CTensor"} == {
            "ATensor": "quarters",
            "BTensor": recipe,
        }
    assert data_cases in MAKERS
    assert {case.covers[-1] for case in data_cases(plan_of(operator), "core")} >= {"values/BTensor/large"}


def test_tables_of_attributes_hold_for_them_alone() -> None:
    wide = {"dimensions": "1-8", "types": ["FLOAT32", "INT64"]}
    narrow = {"dimensions": "4", "types": ["FLOAT32"]}
    rows = [field["name"] for field in FIELDS if field["kind"] != "attribute"]
    operator = product_operator(
        fields=[*FIELDS, MODE],
        support=[
            {"level": "3_0", "when": {"Function": ["SUM"]}, "tensors": dict.fromkeys(rows, wide)},
            {"level": "1_0", "when": {"Function": ["SUM", "MAX"]}, "tensors": dict.fromkeys(rows, narrow)},
        ],
        configurations={"it": {"Function": ["SUM", "MAX"]}},
    )
    choices = {choice.main: choice for choice in plan_of(operator).choices}
    assert {name: {a["Function"] for a in choice.attributes} for name, choice in choices.items()} == {
        "FLOAT32": {"SUM", "MAX"},
        "INT64": {"SUM"},
    }
    assert len(plan_of(operator).covering_choices) == 2
    cells = {
        (case.data_type, case.desc.fields["Function"], case.desc.tensor("ATensor").DimensionCount)
        for case in combination_cases(plan_of(operator), "smoke")
    }
    assert {count for _, function, count in cells if function == "MAX"} == {4}
    assert {count for _, function, count in cells if function == "SUM"} | {4} == {2, 3, 4, 5, 6, 7, 8}


def test_of_many_combinations_each_value_stands_in_a_few() -> None:
    names = [f"A{index}" for index in range(4)]
    more = [{"name": name, "kind": "attribute", "type": "UINT"} for name in names]
    operator = product_operator(
        fields=[*FIELDS, *more], attributes=SPEC["cases"]["attributes"] | {name: list(range(9)) for name in names}
    )
    choice = plan_of(operator).choices[0]
    few, every = choice.few, choice.attributes
    assert len(every) >= 81 > len(few)
    assert {(name, choice[name]) for choice in few for name in names} == {(name, value) for name in names for value in range(9)}


def test_a_set_that_is_longer_than_its_tensor_goes_on_in_further_cases() -> None:
    points = list(range(1, 78))
    values = {
        **SPEC["cases"]["values"],
        "ATensor": {**SPEC["cases"]["values"]["ATensor"], "special": ["counted"], "sets": {"counted": points}},
    }
    cases = [case for case in value_cases(plan_of(product_operator(values=values))) if case.covers[-1] == "values/ATensor/counted"]
    cases = [case for case in cases if case.data_type == "FLOAT32" and "Scale=1" in case.id and "no-C" not in case.id]
    room = cases[0].desc.tensor("ATensor").count
    assert 1 < room < len(points)
    met = [value for case in cases for value in inputs(case)["ATensor"].ravel()]
    assert met[: len(points)] == points
    assert [case.id.split("/")[3] for case in cases] == ["counted", *(f"counted-part{i}" for i in range(2, len(cases) + 1))]
