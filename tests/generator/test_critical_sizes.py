"""Sizes on which kernels turn, and workloads of given sizes: each dimension has each size, alone and beside another, and nothing is too large."""

from collections.abc import Iterable
from functools import cache
from itertools import pairwise, product
from math import prod

import pytest
from product_operator import product_operator

from dmlcts.generator.case.case import LEVELS, Case
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.critical_sizes import critical_size_cases
from dmlcts.generator.sweeps.table import CRITICAL_SIZES, TWO_CRITICAL_CAP
from dmlcts.generator.sweeps.workloads import workload_cases
from dmlcts.generator.values.critical_sizes import BETWEEN_POWERS
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations

LINE = ".beside-1"
SAMPLE = ("ELEMENT_WISE_ADD", "REDUCE", "CUMULATIVE_PRODUCT", "MULTIHEAD_ATTENTION", "CONVOLUTION_INTEGER")


@cache
def cases(name: str) -> tuple[Case, ...]:
    return tuple(critical_size_cases(plan_of(load(name))))


def labels(found: Iterable[Case]) -> list[dict[str, int]]:
    """The dimensions that each id names, with their sizes."""
    return [{name: int(size) for name, _, size in (part.partition("=") for part in label(case).split("."))} for case in found]


def label(case: Case) -> str:
    return case.id.split("/")[3].removesuffix(LINE)


def test_the_sizes_lie_about_powers_of_two_and_halfway_between_them() -> None:
    powers = {1 << bits for bits in range(11)}
    about = {power + step for power in powers for step in (-1, 0, 1)} - {0}
    assert {1, 2, 3, 63, 64, 65, 1025} <= about < set(CRITICAL_SIZES)
    between = set(CRITICAL_SIZES) - about
    assert between == set(BETWEEN_POWERS)
    assert all(size % 16 == 0 and 2 * size / 3 in powers for size in between)


def test_each_dimension_has_each_size_and_meets_its_neighbor_and_the_last_the_first() -> None:
    found = labels(cases("ELEMENT_WISE_ADD"))
    every = [f"S[{at}]" for at in (-1, -2, -3, -4)]
    assert {(name, size) for each in found if len(each) == 1 for name, size in each.items()} == set(product(every, CRITICAL_SIZES))
    pairs = {frozenset(each) for each in found if len(each) == 2}
    assert pairs == {*map(frozenset, pairwise(every)), frozenset((every[0], every[-1]))}


@pytest.mark.parametrize("name", SAMPLE)
def test_a_case_has_the_sizes_that_its_id_names_and_follows_the_rules(name: str) -> None:
    found = cases(name)
    assert len({case.id for case in found}) == len(found) > 150
    assert {case.level for case in found} == {"full"}
    for case, sizes in zip(found, labels(found), strict=True):
        assert not violations(case.operator, case.desc), case.id
        have = {size for _, tensor in case.desc.tensors() for size in tensor.sizes}
        for dimension, size in sizes.items():
            if "[" in dimension:  # others may stand in a product alone
                assert size in have, case.id
        if len(sizes) > 1:
            assert prod(sizes.values()) <= TWO_CRITICAL_CAP, case.id


def test_data_types_and_attributes_take_turns() -> None:
    found = cases("ELEMENT_WISE_ADD")
    assert {case.desc.tensor("ATensor").type.bits for case in found} == {8, 16, 32, 64}
    every = {label for case in cases("MULTIHEAD_ATTENTION") for label in case.covers if label.startswith("attribute/MaskType/")}
    assert len(every) == 5


def test_every_length_of_a_reduced_axis_meets_every_function_and_axis() -> None:
    met = set()
    for case in cases("REDUCE"):
        axes, sizes = case.desc.fields["Axes"], case.desc.tensor("InputTensor").sizes
        assert isinstance(axes, tuple)
        met |= {(case.desc.fields["Function"], axis, sizes[axis]) for axis in axes}
    functions = {function for function, _, _ in met}
    assert len(functions) == 12
    assert set(product(functions, range(4), CRITICAL_SIZES)) <= met
    assert len(cases("REDUCE")) <= 3_500


def test_every_length_meets_every_direction_of_a_cumulative_product() -> None:
    names = ("AxisDirection", "HasExclusiveProduct", "Axis")
    met = {
        (*(case.desc.fields[name] for name in names), case.desc.tensor("InputTensor").sizes[axis])
        for case in cases("CUMULATIVE_PRODUCT")
        if isinstance(axis := case.desc.fields["Axis"], int)
    }
    assert set(product(("INCREASING", "DECREASING"), (False, True), range(4), CRITICAL_SIZES)) <= met


def test_each_choice_of_attributes_meets_each_dimension() -> None:
    kept = [case for case in cases("MULTIHEAD_ATTENTION1") if case.desc.find("PastSequenceLengthsTensor") is not None]
    queries = {
        (case.desc.tensor("QueryTensor").sizes[-2] > 16, case.desc.tensor("QueryTensor").data_type)
        for case in kept
        if "/kept/" in case.id
    }
    assert (True, "FLOAT32") in queries  # although there are no more queries than keys
    assert (True, "FLOAT16") in queries
    met = {
        (case.desc.fields["GroupCount"], case.desc.fields["Direction"], str(case.desc.fields["StartPadding"]), at)
        for case in cases("CONVOLUTION")
        for at, size in enumerate(case.desc.tensor("InputTensor").sizes)
        if size > 16
    }
    assert len({row[:-1] for row in met}) * 4 == len(met)


def test_each_dimension_is_the_only_one_of_more_than_one_element_with_each_choice() -> None:
    lines = [case for case in cases("PADDING") if case.id.split("/")[3].endswith(LINE)]
    met = set()
    for case in lines:
        sizes = case.desc.tensor("InputTensor").sizes
        (at,) = (at for at, size in enumerate(sizes) if size > 1)
        met.add((at, case.desc.fields["PaddingMode"], tuple(n > 0 for n in case.desc.fields["StartPadding"])))
    assert {at for at, *_ in met} == set(range(4))
    assert (2, "CONSTANT", (False, False, True, True)) in met  # a column, padded on both sides


def test_there_are_none_below_level_full() -> None:
    assert not any(maker(plan_of(load("GEMM")), level) for maker in (_turning, _workloads) for level in LEVELS[:2])


def _turning(*given: object) -> list[Case]:
    return list(critical_size_cases(*given))  # type: ignore[arg-type]


def _workloads(*given: object) -> list[Case]:
    return list(workload_cases(*given))  # type: ignore[arg-type]


# Workloads


def test_sizes_that_people_use_occur() -> None:
    convolutions = [case.desc for case in workload_cases(plan_of(load("CONVOLUTION")))]
    assert {16, 32, 64, 128} <= {desc.tensor("InputTensor").sizes[1] for desc in convolutions}
    assert 64 in {desc.tensor("FilterTensor").sizes[0] for desc in convolutions}
    attentions = [case.desc for case in workload_cases(plan_of(load("MULTIHEAD_ATTENTION")))]
    assert any(desc.fields["HeadCount"] == 8 and desc.tensor("QueryTensor").sizes[-2:] == (64, 8 * 128) for desc in attentions)


def test_one_case_a_family_has_more_elements_than_24_bits_count() -> None:
    plans = [plan_of(load(name)) for name in operator_names() if "beyond-24-bits" in load(name).workloads]
    assert len({plan.operator.family for plan in plans}) == len(plans) == 8
    for plan in plans:
        (case,) = (case for case in workload_cases(plan) if "/beyond-24-bits/" in f"{case.id}/")
        counts = [tensor.count for _, tensor in case.desc.tensors()]
        if plan.operator.family == "attention":  # of its shares, which no tensor has
            counts = [case.desc.tensor("QueryTensor").sizes[-2] * case.desc.tensor("KeyTensor").sizes[-2]]
        assert max(counts) > 1 << 24


def test_a_workload_is_read_with_its_type_sizes_attributes_and_tensors() -> None:
    operator = product_operator(
        workloads={"wide": {"type": "FLOAT16", "sizes": {"M": 70, "Batch": [2]}, "attributes": {"Scale": 7, "CTensor": "absent"}}}
    )
    case = next(workload_cases(plan_of(operator)))
    assert case.id == "ELEMENT_WISE_ADD/FLOAT16/sizes/wide/no-C/Scale=7"
    assert case.desc.tensor("ATensor").sizes[:3] == (2, 2, 70)
    assert (case.desc.fields["CTensor"], case.desc.fields["Scale"]) == (None, 7)


def test_a_workload_may_be_of_level_core() -> None:
    plan = plan_of(
        product_operator(workloads={name: {"sizes": {"M": 70}} | more for name, more in (("a", {"level": "core"}), ("b", {}))})
    )
    found = [(level, case.id.split("/")[3], case.level) for level in LEVELS[:3] for case in workload_cases(plan, level)]
    assert {each for each in found if "." not in each[1]} == {
        ("core", "a", "core"),
        ("full", "a", "core"),
        ("full", "b", "full"),
    }


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ({"workloads": {"w": {"sizes": {"Q": 3}}}}, "no shape has a free size called Q"),
        ({"workloads": {"w": {"sizes": {"M": 3}, "attributes": {"Alpha": 1}}}}, "the operator has no field 'Alpha'"),
        ({"workloads": {"w": {"sizes": {"M": 3}, "attributes": {"ATensor": "absent"}}}}, "an optional tensor is present or absent"),
        ({"turning": {"axes": "Alpha"}}, "unknown attribute 'Alpha'"),
        ({"turning": {"axes": "Scale"}}, "the sizes of ATensor must be one `[*]` symbol"),
    ],
)
def test_what_a_spec_may_not_say(cases: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        product_operator(**cases)


def test_a_workload_of_a_type_that_no_table_has_is_an_error() -> None:
    operator = product_operator(workloads={"w": {"type": "INT8", "sizes": {"M": 3}}})
    with pytest.raises(NotGenerable, match="no table gives the first tensor the type of the workload w, INT8"):
        list(workload_cases(plan_of(operator)))
