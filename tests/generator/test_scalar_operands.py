"""Special values as the only element of an input."""

import numpy as np
import pytest

from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.special_values import combined_sets, scalar_operand_cases
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

EQUALS = "ELEMENT_WISE_LOGICAL_EQUALS"


def test_each_value_of_a_set_meets_all_others_of_it() -> None:
    found = [
        case
        for case in scalar_operand_cases(plan_of(load(EQUALS)))
        if "/values/infinities-single-B-" in case.id and "FLOAT32" in case.id
    ]
    assert len(found) == 4  # of the two types that the output has
    values = [inputs(case) for case in found]
    assert {float(each["BTensor"].flat[0]) for each in values} == {np.inf, -np.inf}
    for case, each in zip(found, values, strict=True):
        assert set(case.desc.tensor("BTensor").strides or ()) == {0}
        assert len(set(each["BTensor"].flat)) == 1
        assert set(each["ATensor"].flat) == {np.inf, -np.inf}


@pytest.mark.parametrize("name", [EQUALS, "ELEMENT_WISE_IF", "ELEMENT_WISE_BIT_AND", "ACTIVATION_RELU", "GEMM"])
def test_they_are_valid_and_only_of_operators_whose_tensors_are_alike(name: str) -> None:
    plan = plan_of(load(name))
    found = list(scalar_operand_cases(plan))
    several = any(len(set(names)) > 1 for names, _ in combined_sets(plan, plan.choices[0].attributes[0]))
    assert bool(found) <= (plan.uniform and several)
    assert len({case.id for case in found}) == len(found)
    assert all(not violations(case.operator, case.desc) and case.level == "full" for case in found)
    assert not list(scalar_operand_cases(plan, "core"))
