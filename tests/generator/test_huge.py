"""Level huge: tensors and elements beyond 2^32 bytes, in no other level."""

import pytest

from dmlcts.generator.case.case import HUGE, LEVELS, to_json
from dmlcts.generator.case.places import places
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import find_case, operator_cases, select
from dmlcts.generator.sweeps.memory import huge_cases
from dmlcts.generator.sweeps.table import BEYOND_32_BITS
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations


@pytest.mark.parametrize("name", ["ELEMENT_WISE_ADD", "ELEMENT_WISE_BIT_NOT", "REDUCE", "QUANTIZED_LINEAR_CONVOLUTION"])
def test_tensors_begin_and_elements_lie_beyond_a_word_of_32_bits(name: str) -> None:
    offset, *strided = huge_cases(plan_of(load(name)), HUGE)
    assert all(place.begin + place.offset > BEYOND_32_BITS for place in places(offset).values())
    for case in strided:
        (tensor,) = (tensor for _, tensor in case.desc.tensors() if tensor.strides is not None)
        assert tensor.least_bytes > BEYOND_32_BITS + 4096
        assert max(tensor.effective_strides) < BEYOND_32_BITS
        assert tensor.count < 1000
    assert not any(violations(case.operator, case.desc) for case in (offset, *strided))


def test_every_operator_has_such_cases_of_its_first_input_and_output() -> None:
    for name in operator_names():
        inputs = any(field.is_tensor for field in load(name).inputs())
        assert len(list(huge_cases(plan_of(load(name)), HUGE))) in ((3,) if inputs else (2, 3)), name


def test_no_other_level_has_them() -> None:
    for level in LEVELS[:-1]:
        assert not list(huge_cases(plan_of(load("GEMM")), level))
    full, huge = (operator_cases("ACTIVATION_RELU", level) for level in ("full", HUGE))
    assert {case.level for case in full} == set(LEVELS[:-1])
    assert [case.id for case in select(huge, level="full", basis="measured")] == [case.id for case in full]


def test_a_case_is_found_by_its_id() -> None:
    case = find_case("ACTIVATION_RELU/FLOAT32/huge/offset")
    assert (case.level, to_json(case)["bindings"]["InputTensor"]["offset"] > BEYOND_32_BITS) == (HUGE, True)
