"""Typical dispatches: tile-sized, batched and plain, with one or two things unusual."""

from __future__ import annotations

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.one_factor.typical import has_kernels, typical_cases, unusual
from dmlcts.generator.values.layouts import layout_of
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations


def cases_of(name: str, most: str = "core") -> list[Case]:
    return list(typical_cases(plan_of(load(name)), most))


def of_kernels() -> list[Plan]:
    return [plan for name in operator_names() if has_kernels(plan := plan_of(load(name)))]


def test_operators_that_compute_each_element_from_its_own_place_have_none() -> None:
    assert cases_of("ELEMENT_WISE_SIN") == []
    assert not has_kernels(plan_of(load("ACTIVATION_RELU")))
    assert len(of_kernels()) > 70


def test_each_operator_with_kernels_has_its_plain_dispatch() -> None:
    for plan in of_kernels():
        plain = next(typical_cases(plan, "core"))
        assert "/typical/plain" in plain.id
        assert not violations(plan.operator, plain.desc)


def test_the_plain_product_is_batched_unfused_and_of_whole_tiles() -> None:
    desc = cases_of("GEMM")[0].desc
    assert desc.tensor("ATensor").sizes == (2, 2, 32, 32)
    assert desc.fields["CTensor"] is None
    assert desc.fields["FusedActivation"] is None


@pytest.mark.parametrize("name", ["GEMM", "CONVOLUTION", "MEAN_VARIANCE_NORMALIZATION1"])
def test_a_fused_activation_comes_alone(name: str) -> None:
    """So a host without any runs all pairs."""
    fused = [
        case
        for case in cases_of(name, "full")
        if any(f.type == "OPERATOR_DESC" and case.desc.fields[f.name] for f in case.operator.fields)
    ]
    assert len(fused) > 10
    assert {case.id.split("/")[3] for case in fused} == {"FusedActivation"}


def test_core_has_each_thing_alone_and_full_has_pairs_of_it() -> None:
    plan = plan_of(load("GEMM"))
    labels = {case.id.split("/")[3] for case in cases_of("GEMM")}
    valid = {each.label for each in unusual(plan)} & labels
    assert len(valid) > 0.75 * len({each.label for each in unusual(plan)})
    assert {"with-C", "A-transposed", "N=29", "N=1", "Alpha", "FusedActivation", "offset-any", "all-padded-rows"} <= labels
    assert "N=29.A-permuted" not in labels
    assert {"N=29.B-transposed", "A[-1]=29.N=29", "FLOAT16.N=1"} <= labels
    full = {case.id.split("/")[3] for case in cases_of("GEMM", "full")}
    assert "N=29.offset-any" in full - labels


def test_a_thing_alone_leaves_all_else_as_it_is() -> None:
    cases = {case.id.split("/")[3]: case for case in cases_of("GEMM")}
    desc = cases["B-transposed"].desc
    assert layout_of(desc.tensor("BTensor")) == "transposed"
    assert all(layout_of(desc.tensor(name)) == "packed" for name in ("ATensor", "OutputTensor"))
    assert desc.tensor("ATensor").sizes == cases["plain"].desc.tensor("ATensor").sizes


def test_two_things_come_in_a_larger_batch() -> None:
    cases = {case.id.split("/")[3]: case for case in cases_of("GEMM")}
    assert cases["N=29.B-transposed"].desc.tensor("ATensor").sizes[0] == table.TILE_BATCHES[2]


def test_they_are_no_larger_than_a_tile() -> None:
    for plan in of_kernels():
        for case in typical_cases(plan, "core"):
            assert sum(tensor.count for _, tensor in case.desc.tensors()) <= 4 * table.TILE_CAP, case.id
