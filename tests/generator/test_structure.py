"""The structural conditions of cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dmlcts.generator.case.case import REJECTION
from dmlcts.generator.facts.structure import RESTS, rest_of, strides_of, structural_conditions
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.spec.model.desc import TensorDesc


def conditions_of(case_id: str) -> set[tuple[str, str]]:
    return set(structural_conditions(find_case(case_id)))


def test_a_case_has_its_type_batch_sizes_strides_and_offset() -> None:
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    first = dict(case.desc.tensors())["ATensor"].sizes
    assert structural_conditions(case) == {
        ("the type", "UINT8"),
        ("the batch", "1" if first[0] == 1 else "2 or more"),
        ("size S last", rest_of(first[-1])),
        ("size S second last", rest_of(first[-2])),
        *((name, "packed") for name in ("ATensor", "BTensor", "OutputTensor")),
        ("the offset", "64"),
    }
    for offset, expected in ((0, "0"), (48, "another"), (65_552, "another")):
        assert ("the offset", expected) in structural_conditions(replace(case, offset=offset))


def test_an_optional_tensor_is_absent_or_has_strides() -> None:
    found = {dict(structural_conditions(case))["CTensor"] for case in operator_cases("GEMM", "smoke") if case.expect != REJECTION}
    assert {"absent", "packed"} <= found <= {"absent", "packed", "broadcast", "with gaps", "reordered", "other"}


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((2, 3, 4, 5), None, "packed"),
        ((2, 3, 4, 5), (60, 20, 5, 1), "packed"),
        ((2, 3, 4, 5), (0, 0, 0, 0), "broadcast"),
        ((2, 3, 4, 5), (0, 1, 0, 0), "broadcast"),
        ((2, 3, 4, 5), (72, 24, 6, 1), "with gaps"),
        ((2, 3, 4, 5), (60, 20, 1, 4), "reordered"),
        ((2, 3, 4, 5), (61, 17, 1, 4), "other"),
    ],
)
def test_strides_are_named_by_what_a_kernel_has_to_do(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, expected: str
) -> None:
    assert strides_of(TensorDesc("FLOAT32", sizes, strides)) == expected


@pytest.mark.parametrize(("size", "expected"), [(1, 0), (16, 1), (4096, 1), (2, 2), (15, 2), (17, 2), (1000, 2)])
def test_a_size_leaves_a_rest_or_none(size: int, expected: int) -> None:
    assert rest_of(size) == RESTS[expected]
