"""Around each workload lie other sizes, layouts and fused activations, with its own attributes."""

from functools import cache

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.workloads import workload_cases, workload_data_cases
from dmlcts.generator.values.layouts import laid_out, layout_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations


@cache
def cases(name: str) -> dict[str, Case]:
    return {case.id.split("/")[3]: case for case in workload_cases(plan_of(load(name)))}


@pytest.mark.parametrize("name", ["CONVOLUTION", "MAX_POOLING", "JOIN", "MULTIHEAD_ATTENTION"])
def test_they_are_valid_and_have_ids_of_their_own(name: str) -> None:
    found = list(workload_cases(plan_of(load(name))))
    assert len({case.id for case in found}) == len(found)
    assert not [case.id for case in found if violations(case.operator, case.desc)]
    assert len(list(workload_cases(plan_of(load(name)), "core"))) < len(load(name).workloads)


@pytest.mark.parametrize("width", [6, 13, 24, 33, 65])
def test_each_dimension_of_a_cut_workload_has_other_sizes(width: int) -> None:
    desc = cases("MAX_POOLING")[f"halved.Spatial[-1]={width}"].desc
    assert desc.tensor("InputTensor").sizes == (1, 8, 8, width)
    assert (desc.fields["WindowSize"], desc.fields["Strides"]) == ((2, 2), (2, 2))


def test_a_cut_workload_keeps_its_window_and_what_is_one() -> None:
    desc = cases("CONVOLUTION")["depthwise-halved.Spatial[-2]=33"].desc
    assert desc.tensor("FilterTensor").sizes == (32, 1, 5, 5)
    assert desc.tensor("InputTensor").sizes == (1, 32, 33, 8)


def test_a_workload_comes_with_each_fused_activation() -> None:
    found = [case.desc.fields for case in workload_cases(plan_of(load("CONVOLUTION"))) if "/depthwise-halved.at-most-8/" in case.id]
    fused = [fields["FusedActivation"] for fields in found]
    assert all(isinstance(each, OperatorDesc) for each in fused)
    assert len({each.type for each in fused if isinstance(each, OperatorDesc)}) == 18
    assert all(fields["Strides"] == (2, 2) for fields in found)


def test_a_small_workload_comes_as_it_is_with_each_fused_activation() -> None:
    found = [case.desc for case in workload_cases(plan_of(load("CONVOLUTION"))) if "/sizes/channels-16/" in case.id]
    fused = [desc for desc in found if isinstance(desc.fields["FusedActivation"], OperatorDesc)]
    assert len(fused) == 18
    assert all(desc.tensor("FilterTensor").sizes == (64, 16, 3, 3) for desc in fused)
    assert not [
        case for case in workload_cases(plan_of(load("CONVOLUTION"))) if "/sizes/plane-of-40/" in case.id and "Fused" in case.id
    ]


def test_a_workload_comes_with_each_kind_of_data() -> None:
    every = [case.id for case in workload_data_cases(plan_of(load("MULTIHEAD_ATTENTION")))]
    found = {case for case in every if "/values/next-of-300.of-" in case}
    kinds = {case.split("/")[3].partition(".of-")[2] for case in found}
    assert {"Key-far", "Value-large", "zeros"} <= kinds
    assert {case.split("/")[1] for case in found if ".of-Key-far/" in case} == {"FLOAT32-INT32", "FLOAT16-INT32"}
    large = cases("MULTIHEAD_ATTENTION")["heads-8-of-many-keys"].desc
    assert sum(tensor.count for _, tensor in large.tensors()) > 1 << 18
    assert not [case for case in every if "/heads-8-of-many-keys." in case]


def test_nothing_lies_around_a_workload_with_a_size_that_takes_long() -> None:
    assert load("LSTM").largest["Steps"] < 400
    assert [label for label in cases("LSTM") if label.startswith("many-steps")] == ["many-steps"]
    assert [label for label in cases("LSTM") if label.startswith("many-rows.")]


def test_a_workload_comes_with_all_tensors_channels_last() -> None:
    desc = cases("SLICE1")["turned.every-channels-last"].desc
    assert desc.fields["InputWindowStrides"] == (1, 1, -1, -1)
    assert {layout_of(tensor) for _, tensor in desc.tensors()} == {"channels-last"}


def test_a_workload_comes_with_each_tensor_in_other_layouts() -> None:
    desc = cases("MULTIHEAD_ATTENTION")["few-with-position-bias.RelativePositionBias-broadcast-second"].desc
    bias = desc.tensor("RelativePositionBiasTensor")
    assert bias.sizes == (2, 2, 4, 33)
    assert bias.strides == (132, 0, 33, 1)
    assert [name for name, tensor in desc.tensors() if tensor.strides is not None] == ["RelativePositionBiasTensor"]


def test_an_array_has_one_layout() -> None:
    desc = cases("JOIN")["of-130.InputTensors-channels-last"].desc
    inputs = [tensor for name, tensor in desc.tensors() if name != "OutputTensor"]
    assert len(inputs) == 130
    assert all(tensor.strides == laid_out(tensor, "channels-last").strides for tensor in inputs)
    assert layout_of(desc.tensor("OutputTensor")) == "packed"


def test_a_large_workload_comes_in_no_other_layout() -> None:
    assert not [label for label in cases("MULTIHEAD_ATTENTION") if label.startswith("beyond-24-bits.Query-")]
