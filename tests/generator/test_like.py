"""A drawn case like one of the suite: what it keeps of it."""

from __future__ import annotations

import pytest

from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.fuzz_cases import case_of
from dmlcts.generator.random.like import GenesLike
from dmlcts.generator.suite.suite import operator_cases


def like(case: Case) -> Case | None:
    model = model_of(plan_of(case.operator))
    return case_of(model, GenesLike(model, case), "like")


def tensors(case: Case) -> dict[str, object]:
    return {name: (tensor.data_type, tensor.sizes) for name, tensor in case.desc.tensors()}


def attributes(case: Case) -> dict[str, object]:
    return {field.name: case.desc.fields[field.name] for field in case.operator.attributes()}


@pytest.mark.parametrize("operator", ["GEMM", "SLICE", "ELEMENT_WISE_ROUND"])
def test_nine_of_ten_keep_types_sizes_and_attributes(operator: str) -> None:
    cases = [case for case in operator_cases(operator, "core") if case.expect in (REFERENCE, VALUES)]
    kinds = [case for case in cases if case.kind == "combination"][::4]
    alike = [(found := like(case)) and tensors(found) == tensors(case) and attributes(found) == attributes(case) for case in kinds]
    assert len(kinds) > 8
    assert sum(map(bool, alike)) >= 0.9 * len(kinds)


def test_it_lies_packed_where_the_simplest_do() -> None:
    strided = next(case for case in operator_cases("GEMM", "core") if case.desc.tensor("ATensor").strides and case.offset == 48)
    found = like(strided)
    assert found is not None
    assert all(tensor.strides is None for _, tensor in found.desc.tensors())
    assert not found.bindings


def test_data_and_aliases_are_kept() -> None:
    cases = operator_cases("GEMM", "core")
    large = next(case for case in cases if "/data-large" in case.id)
    assert (found := like(large)) is not None
    assert {data.recipe for data in found.data.values()} == {data.recipe for data in large.data.values()}
    assert dict(found.data["ATensor"].parameters) == dict(large.data["ATensor"].parameters)
