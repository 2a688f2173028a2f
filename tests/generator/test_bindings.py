"""What is bound: which layouts, aliases, owned inputs and data make a difference for a desc, and where tensors begin."""

from __future__ import annotations

from random import Random

import pytest

from dmlcts.generator.case.case import MOST_OFFSET, OFFSETS
from dmlcts.generator.covering.bindings import bind, data_of, is_allowed, offset_of, owned_inputs
from dmlcts.generator.facts.factors import ANY, Model, model_of
from dmlcts.generator.facts.tuples import NONE
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.values.layouts import layout_of
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

ADD, CONVOLUTION, SOFTMAX = "ELEMENT_WISE_ADD", "CONVOLUTION", "ACTIVATION_SOFTMAX"
THREE = TensorDesc("FLOAT32", (3, 4, 5))


def model(name: str) -> Model:
    return model_of(plan_of(load(name)))


def add(a: TensorDesc = THREE, b: TensorDesc = THREE) -> OperatorDesc:
    return OperatorDesc(ADD, {"ATensor": a, "BTensor": b, "OutputTensor": a})


def fit(name: str, desc: OperatorDesc, factor: str, **chosen: str) -> set[str]:
    """The values of a factor that fit to a desc, beside the values of other factors, whose names have _ for a space."""
    own = model(name)
    row = [NONE] * len(own.factors)
    for other, value in chosen.items():
        at = own.place[other.replace("_", " ")]
        row[at] = own.factors[at].values.index(value)
    of = own.factors[own.place[factor]]
    return {value for value in of.values if is_allowed(own, desc, row, of, value)}


def test_a_layout_fits_where_it_makes_a_difference() -> None:
    every = set(model(ADD).factors[model(ADD).place["layout ATensor"]].values)
    assert fit(ADD, add(), "layout ATensor") == every
    one, row = TensorDesc("FLOAT32", (1,)), TensorDesc("FLOAT32", (5,))
    assert fit(ADD, add(one, one), "layout ATensor") == {"packed"}
    assert fit(ADD, add(row, row), "layout ATensor") == {"packed", "spread", "broadcast-all"}
    plane = TensorDesc("FLOAT32", (1, 4, 5))
    assert fit(ADD, add(plane, plane), "layout ATensor") >= {"transposed", "padded-rows"}
    assert "permuted" not in fit(ADD, add(plane, plane), "layout ATensor")  # the same strides as transposed
    assert "padded-planes" not in fit(ADD, add(plane, plane), "layout ATensor")  # one plane has none after it


def test_a_tensor_that_is_absent_has_no_layout() -> None:
    tensor = TensorDesc("FLOAT32", (1, 2, 3, 4))
    desc = OperatorDesc(CONVOLUTION, {"InputTensor": tensor, "FilterTensor": tensor, "BiasTensor": None, "OutputTensor": tensor})
    assert fit(CONVOLUTION, desc, "layout BiasTensor") == set()
    assert {"Input", "Filter"} <= fit(CONVOLUTION, desc, "owned")
    assert "Bias" not in fit(CONVOLUTION, desc, "owned")


def test_tensors_share_memory_if_they_are_alike() -> None:
    assert fit(ADD, add(), "in place") == {"no", "Output-on-A", "Output-on-B", "Output-on-A+B", "B-is-A"}
    assert fit(ADD, add(b=TensorDesc("FLOAT32", (3, 4, 5), (0, 0, 1))), "in place") == {"no", "Output-on-A"}


def test_what_lies_in_one_place_has_one_layout_that_an_output_may_have() -> None:
    assert fit(ADD, add(), "layout OutputTensor", in_place="Output-on-A", layout_ATensor="permuted") == {"permuted"}
    assert fit(ADD, add(), "layout ATensor", in_place="Output-on-A+B", layout_BTensor="transposed") == {"transposed"}
    assert "broadcast-all" not in fit(ADD, add(), "layout ATensor", in_place="Output-on-A")
    assert "broadcast-all" in fit(ADD, add(), "layout ATensor", in_place="B-is-A")
    assert fit(ADD, add(), "in place", layout_ATensor="broadcast-all") == {"no", "Output-on-B", "B-is-A"}
    assert fit(ADD, add(), "in place", layout_ATensor="packed", layout_OutputTensor="spread") == {"no", "Output-on-B", "B-is-A"}


def test_an_owned_input_is_bound_for_itself() -> None:
    assert fit(ADD, add(), "owned") == {"none", "A", "B", "all"}
    assert fit(ADD, add(), "owned", in_place="Output-on-A") == {"none", "B"}
    assert fit(ADD, add(), "owned", in_place="B-is-A") == {"none"}
    assert fit(ADD, add(), "in place", owned="B") == {"no", "Output-on-A"}
    assert owned_inputs(model(ADD), add(), "all") == ("ATensor", "BTensor")


def test_offsets_and_slack_fit_everywhere_and_shared_inputs_where_there_are_two() -> None:
    assert fit(ADD, add(), "offset") == {*map(str, OFFSETS), ANY}
    assert fit(ADD, add(), "slack") == {"none", "total-size", "binding", "alignment"}
    assert fit(ADD, add(), "resource") == {"apart", "inputs", "all"}
    alone = OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": THREE, "OutputTensor": THREE, "RoundingMode": "TOWARD_ZERO"})
    assert fit("ELEMENT_WISE_ROUND", alone, "resource") == {"apart", "all"}


def test_data_fit_where_a_tensor_has_such() -> None:
    desc, of_input = OperatorDesc(SOFTMAX, {"InputTensor": THREE, "OutputTensor": THREE}), load(SOFTMAX).values["InputTensor"].data
    assert (
        fit(SOFTMAX, desc, "data") == {"usual", *(name for name, data in of_input.items() if data.combined)} < {"usual", *of_input}
    )
    found, basis = data_of(load(SOFTMAX), desc, "outlier-last")
    assert found["InputTensor"].recipe == "outlier-last"
    assert basis == load(SOFTMAX).values["InputTensor"].data["outlier-last"].basis
    assert data_of(load(SOFTMAX), desc, "usual")[0]["InputTensor"].recipe in RECIPES.keys() - {"outlier-last"}


def test_tensors_are_bound_as_the_values_say() -> None:
    values = {"layout ATensor": "permuted", "layout BTensor": "broadcast-all", "owned": "B", "in place": "Output-on-A"}
    desc, bindings = bind(model(ADD), add(), values, Random(1))
    assert [layout_of(desc.tensor(name)) for name in ("ATensor", "BTensor", "OutputTensor")] == [
        "permuted",
        "broadcast-all",
        "permuted",
    ]
    assert [bool(desc.tensor(name).flags) for name in ("ATensor", "BTensor", "OutputTensor")] == [False, True, False]
    assert bindings == {}
    desc, bindings = bind(model(ADD), add(), {"slack": "binding"}, Random(1))
    assert {name: binding.short for name, binding in bindings.items()} == dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), -16)


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_usual_offset_is_as_named(offset: int) -> None:
    assert offset_of(str(offset), Random(1)) == offset


def test_any_other_offset_is_another_multiple_of_16_and_half_are_small() -> None:
    found = [offset_of(ANY, Random(seed)) for seed in range(500)]
    assert not set(found) & set(OFFSETS)
    assert all(offset % 16 == 0 and 0 <= offset < MOST_OFFSET for offset in found)
    assert len(set(found)) > 200
    assert 100 < sum(offset < 4096 for offset in found) < 300
