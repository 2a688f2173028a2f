"""Arrays of tensors: how many there are, their sizes, types and layouts, what is wrong with them, and faults planted in them."""

from random import Random

import pytest

from dmlcts.conformance.faults.transforms.tensors import types_of
from dmlcts.generator.case.build import random_data
from dmlcts.generator.checks.promises import of_fields
from dmlcts.generator.covering.bindings import bind
from dmlcts.generator.covering.cases import combination_cases
from dmlcts.generator.covering.space import space_of
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.negative.cases import negative_cases
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import Ends
from dmlcts.generator.plan.tensor_names import tensors_of
from dmlcts.generator.values.layouts import laid_out, layout_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

SPLIT, JOIN, QUANTIZE = (plan_of(load(name)) for name in ("SPLIT", "JOIN", "QUANTIZE"))


def split_of(count: int, parts: object) -> OperatorDesc:
    choice = {**SPLIT.usual, "OutputCount": count, "Axis": 1}
    return SPLIT.desc(SPLIT.choices[0].types, (2, 5, 3), choice, {"Parts": parts})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [
        (3, [3, 2, 1, 3]),  # the first one's, and others below it
        (1, [1, 1, 1, 1]),
        ((4, 7, 1, 2), [4, 7, 1, 2]),
        ((6, 2), [6, 6, 6, 2]),
        (Ends(first=9, middle=4, last=17), [9, 4, 2, 17]),
    ],
)
def test_sizes_of_each_tensor(parts: object, sizes: list[int]) -> None:
    desc = split_of(4, parts)
    assert [tensor.sizes[1] for _, tensor in desc.called("OutputTensors")] == sizes
    assert desc.tensor("InputTensor").sizes[1] == sum(sizes)
    assert desc.fields["OutputCount"] == 4
    assert violations(SPLIT.operator, desc) == []


def test_sizes_follow_from_those_that_are_known() -> None:
    known = {"InputTensors[0]": (2, 3), "InputTensors[1]": (2, 4)}
    desc = JOIN.desc(JOIN.choices[-1].types, (1, 1), {"InputCount": 2, "Axis": 1}, known=known)
    assert desc.tensor("OutputTensor").sizes == (2, 7)


def test_names() -> None:
    assert SPLIT.tensors == ("InputTensor", "OutputTensors")  # one name for all
    assert QUANTIZE.tensors == (
        "InputTensor",
        "QuantizationTensors[0]",
        "QuantizationTensors[1]",
        "OutputTensor",
    )  # constraints name them
    with_zero_point, alone = QUANTIZE.combinations
    assert list(QUANTIZE.present(with_zero_point)) == list(QUANTIZE.tensors)
    assert list(QUANTIZE.present(alone)) == ["InputTensor", "QuantizationTensors[0]", "OutputTensor"]
    assert SPLIT.present({**SPLIT.usual, "OutputCount": 3}) == {
        "InputTensor": "InputTensor",
        **{f"OutputTensors[{index}]": "OutputTensors" for index in range(3)},
    }


def test_each_has_its_own_types_and_data() -> None:
    choice = next(choice for choice in QUANTIZE.choices if choice.label == "FLOAT16-UINT4")
    desc = choice.desc((2, 3, 4), choice.attributes[0])
    assert [tensor.data_type for _, tensor in desc.tensors()] == ["FLOAT16", "FLOAT16", "UINT4", "UINT4"]
    recipes = {name: data.recipe for name, data in random_data(QUANTIZE.operator, desc).items()}
    assert recipes == {"InputTensor": "uniform", "QuantizationTensors[0]": "uniform", "QuantizationTensors[1]": "any-bits"}


def test_a_layout_of_all_or_of_some() -> None:
    model, desc = space_of(SPLIT).model, split_of(3, (4, 3, 2))
    found = []
    for seed in range(40):
        laid, _ = bind(model, desc, {"layout OutputTensors": "padded-rows"}, Random(seed))
        found.append(tuple(layout_of(tensor) for _, tensor in laid.called("OutputTensors")))
        assert layout_of(laid.tensor("InputTensor")) == "packed"
    assert ("padded-rows",) * 3 in found
    assert len(set(found)) > 4
    assert all("padded-rows" in each for each in found)


def test_cases_have_what_their_rows_say() -> None:
    model = space_of(JOIN).model
    places = [at for at, factor in enumerate(model.factors) if factor.kind in ("layout", "owned", "attribute", "size")]
    met: set[tuple[int, int]] = set()
    for case in combination_cases(JOIN, "smoke"):
        row = row_of(model, case)
        assert violations(JOIN.operator, case.desc) == [], case.id
        met |= {(at, row[at]) for at in places}
    for at in places:
        missing = [value for i, value in enumerate(model.factors[at].values) if (at, i) not in met]
        assert not missing, (model.factors[at].name, missing)


def test_negative_cases_are_about_each_tensor() -> None:
    rules = {label.removeprefix("rejects/") for case in negative_cases(SPLIT, "core") for label in case.covers}
    for index in (0, 1):
        assert {f"tensor/OutputTensors[{index}]/flags", f"binding/OutputTensors[{index}]/size"} <= rules
    assert "domain/OutputCount" in {rule for case in negative_cases(SPLIT, "core") for rule in (case.rule,)}
    for case in negative_cases(SPLIT, "core"):  # a count that lies would have an implementation read behind the array
        assert case.desc.fields["OutputCount"] == len(case.desc.called("OutputTensors")), case.id
    assert of_fields("binding/OutputTensors[12]/size") == "binding/OutputTensors/size"


def test_tensors_in_which_faults_are_planted() -> None:
    found = {field.name: types_of(JOIN.operator, field) for field in tensors_of(JOIN.operator)}
    assert list(found) == ["InputTensors[0]", "InputTensors[1]", "OutputTensor"]
    assert len(set(map(frozenset, found.values()))) == 1
    scale, zero_point = (field for field in tensors_of(QUANTIZE.operator) if "[" in field.name)
    assert types_of(QUANTIZE.operator, scale) == {"FLOAT32", "FLOAT16"}
    assert types_of(QUANTIZE.operator, zero_point) == {"INT8", "UINT8", "INT4", "UINT4"}


def test_changed_tensors() -> None:
    desc = split_of(2, (2, 1))
    other = TensorDesc("FLOAT16", (1,))
    assert desc.with_tensors({"OutputTensors[1]": other}).fields["OutputTensors"] == (desc.tensor("OutputTensors[0]"), other)
    assert desc.with_tensors({"InputTensor": other}).tensor("InputTensor") is other
    spread = desc.with_tensors({name: laid_out(tensor, "spread") for name, tensor in desc.called("OutputTensors")})
    assert [layout_of(tensor) for _, tensor in spread.tensors()] == ["packed", "spread", "spread"]
    assert desc.find("OutputTensors[2]") is None
