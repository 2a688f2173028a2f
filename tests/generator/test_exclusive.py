"""Cases of an operator whose tensors exclude each other, have dimension counts of their own, and hold lengths: attention has them all."""

from dataclasses import replace

import numpy as np
import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs, recipe_array, stream
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.values.layouts import laid_out, layouts_of
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import TensorDesc, packed_strides
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

NAME = "MULTIHEAD_ATTENTION1"
KEPT = ("OutputPresentKeyTensor", "OutputPresentValueTensor")


def cases_of(configuration: str) -> list[Case]:
    operator = load(NAME)
    return [
        case
        for case in operator_cases(NAME, "core")
        if case.kind == "combination" and operator.configuration(case.desc.fields) == configuration
    ]


def test_bounds_of_each_element() -> None:
    tensor = TensorDesc("INT32", (400,))
    raw = stream("x", 1600)
    found = recipe_array("between", {"least": "[0, 10]", "most": "[3, N]"}, tensor, raw, {"N": 11})
    assert set(found[::2]) == {0, 1, 2, 3}
    assert set(found[1::2]) == {10, 11}
    with pytest.raises(NotGenerable, match="M // 0 cannot be computed for this desc"):
        recipe_array("between", {"least": 0, "most": "M // 0"}, tensor, raw, {"N": 11})


@pytest.mark.parametrize("configuration", ["boolean", "key-lengths", "key-ranges-past", "segments-past"])
def test_masks_fit_the_sizes_at_hand(configuration: str) -> None:
    for case in cases_of(configuration):
        if 0 in (case.desc.tensor("MaskTensor").strides or ()):
            continue  # rows of a mask that are one
        mask = inputs(case)["MaskTensor"]
        batch, keys = case.desc.tensor("OutputTensor").sizes[-3], case.desc.tensor("KeyTensor").sizes[-2]
        past = case.desc.fields["PastKeyTensor"]
        keys += past.sizes[-2] if isinstance(past, TensorDesc) else 0
        if configuration == "boolean":
            assert set(mask.ravel()) <= {0, 1}
        elif configuration == "key-ranges-past":
            end, start = mask.reshape(2, batch)
            assert ((start >= 0) & (start < end) & (end <= keys)).all()
        else:
            assert ((mask.ravel()[:batch] >= 1) & (mask.ravel()[:batch] <= keys)).all()


def test_a_dimension_count_is_one_that_the_shapes_have() -> None:
    operator = load(NAME)
    choice = plan_of(operator).covering_choices[0]
    for attributes in choice.attributes:
        for count in (3, 4, 5):
            desc = plan_of(operator).desc(choice.types, (2,) * count, attributes)
            assert not violations(operator, desc)
    bias = plan_of(operator).desc(choice.types, (2, 2, 2), choice.attributes[0], counts={"BiasTensor": 1}).tensor("BiasTensor")
    assert bias.DimensionCount == 1


def test_a_configuration_stands_in_the_id_and_says_what_the_case_rests_on() -> None:
    assert {case.basis for case in cases_of("boolean")} == {DOCUMENTED}
    kept = cases_of("kept")
    assert {case.basis for case in kept} == {MEASURED}
    assert all("/kept" in case.id and "no-Past" not in case.id and "NONE" not in case.id for case in kept)
    assert any("/no-Bias/" in case.id for case in kept)
    assert {case.basis for case in cases_of("separate")} == {DOCUMENTED}  # as many heads of keys as of queries
    assert {case.basis for case in cases_of("grouped")} == {MEASURED}


def test_an_output_that_is_read_first_holds_data() -> None:
    case = next(case for case in cases_of("kept") if all(case.desc.tensor(name).strides is None for name in KEPT))
    data = inputs(case)
    assert set(KEPT) <= data.keys()
    layout = lay_out(case, data, compute(case.desc, data), None)
    for name in KEPT:
        binding = layout.dispatch.bindings[name]
        before = layout.resources[binding.resource][binding.offset :][: data[name].nbytes].view(data[name].dtype)
        assert np.array_equal(before, data[name].ravel())
    assert not set(KEPT) & inputs(cases_of("past")[0]).keys()


def test_what_an_output_holds_reaches_a_backend_that_thinks_in_arrays() -> None:
    class Forgetful(ReferenceBackend):
        def compute(self, desc, inputs):  # type: ignore[no-untyped-def]
            return super().compute(desc, {name: np.zeros_like(x) if name in KEPT else x for name, x in inputs.items()})

    case = next(case for case in cases_of("kept") if inputs(case)["PastSequenceLengthsTensor"].any())
    assert execute(case, ReferenceBackend(), ReferenceBackend().info).status == "pass"
    assert execute(case, Forgetful(), ReferenceBackend().info).status == "fail"


def test_a_tensor_that_must_be_packed() -> None:
    operator = load(NAME)
    lengths = operator.field("PastSequenceLengthsTensor")
    assert layouts_of(operator, lengths) == ("packed",)
    desc = next(case.desc for case in cases_of("kept") if case.desc.tensor(lengths.name).count > 1)
    tensor = desc.tensor(lengths.name)
    explicit = replace(tensor, strides=packed_strides(tensor.sizes))
    assert not violations(operator, desc.with_fields(**{lengths.name: explicit}))
    for layout in ("spread", "broadcast-all"):
        broken = violations(operator, desc.with_fields(**{lengths.name: laid_out(tensor, layout)}))
        assert [(found.label, found.basis) for found in broken] == [("tensor/PastSequenceLengthsTensor/packed", MEASURED)]
    assert "negative/strides/PastSequenceLengthsTensor-spread" in {case.id.split("/", 2)[2] for case in operator_cases(NAME)}
