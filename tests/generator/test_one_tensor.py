"""Rules about single tensors are broken one tensor at a time: what no case with several changed tensors shows."""

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.negative.cases import negative_cases
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

ADD, POOLING, QUANTIZE = "ELEMENT_WISE_ADD", "QUANTIZED_LINEAR_AVERAGE_POOLING", "QUANTIZE"


def alone(name: str, most: str = "full") -> dict[str, Case]:
    """The cases by what follows ``negative/``."""
    found = negative_cases(plan_of(load(name)), most)
    return {case.id.partition("/negative/")[2]: case for case in found if "-alone" in case.id}


def of(case: Case, what: str) -> dict[str, object]:
    return {name: getattr(tensor, what) for name, tensor in case.desc.tensors()}


@pytest.mark.parametrize("tensor", ["ATensor", "BTensor", "OutputTensor"])
def test_each_tensor_alone_has_what_no_table_lists(tensor: str) -> None:
    cases = alone(ADD)
    for kind, value in (("data-type", "UNKNOWN"), ("dimension-count", 9), ("dimension-count", 0)):
        case = cases[f"{kind}/{tensor}-alone={value}"]
        found = of(case, {"data-type": "data_type", "dimension-count": "DimensionCount"}[kind])
        assert [name for name, its in found.items() if its == value] == [tensor]
        assert f"rejects/support/{tensor}/{kind}" in case.covers
    zero = cases[f"sizes/zero/{tensor}-alone"]
    assert [name for name, tensor in zero.desc.tensors() if 0 in tensor.sizes] == [tensor]
    smaller = of(cases[f"sizes/{tensor}-alone=3"], "sizes")
    assert len(set(smaller.values())) == 2
    assert smaller[tensor] == min(smaller.values())


def test_data_types_are_broken_in_each_width_and_the_rest_with_the_first_types_alone() -> None:
    cases = [case for case in negative_cases(plan_of(load(ADD))) if "-alone" in case.id]
    assert len({case.data_type for case in cases if "/data-type/" in case.id}) > 1
    assert len({case.data_type for case in cases if "/data-type/" not in case.id}) == 1


def test_a_scale_and_its_zero_point_are_changed_together_and_the_scale_where_it_has_none() -> None:
    cases = alone(POOLING)
    pair = of(cases["dimension-count/InputScaleTensor+InputZeroPointTensor-alone=1"], "DimensionCount")
    assert {name for name, count in pair.items() if count == 1} == {"InputScaleTensor", "InputZeroPointTensor"}
    without = cases["dimension-count/OutputScaleTensor-alone-without-OutputZeroPointTensor=1"]
    assert without.desc.fields["OutputZeroPointTensor"] is None
    assert [name for name, count in of(without, "DimensionCount").items() if count == 1] == ["OutputScaleTensor"]


def test_core_has_the_first_of_each_kind_and_tensor() -> None:
    core, full = alone(ADD, "core"), alone(ADD)
    assert core.keys() < full.keys()
    assert {label.partition("=")[0] for label in core} == {label.partition("=")[0] for label in full}
    assert len(core) == len({label.partition("=")[0] for label in core})


@pytest.mark.parametrize("name", [ADD, POOLING, QUANTIZE])
def test_such_a_case_breaks_what_it_says(name: str) -> None:
    for case in alone(name).values():
        assert {f"rejects/{broken.label}" for broken in violations(load(name), case.desc)} == set(case.covers)
