"""Single dispatches of a spec: their own sizes, attributes, data and places, of each type if they say so, and nothing around them."""

from typing import Any

import numpy as np
import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.checks.written import written_wrong
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.workloads import dispatch_cases
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load
from tests.support.product_operator import product_operator


def cases(name: str, label: str, most: str = "full") -> list[Case]:
    return [case for case in dispatch_cases(plan_of(load(name)), most) if f"/{label}" in case.id]


def of_product(**entry: Any) -> list[Case]:
    return list(dispatch_cases(plan_of(product_operator(dispatches={"mine": entry}))))


def test_a_case_of_each_type_has_the_last_element_of_each_row_as_the_largest() -> None:
    found = cases("REDUCE", "max-last-of-17/")
    assert len({case.data_type for case in found}) == len(found) == 10
    for case in found:
        x = inputs(case)["InputTensor"]
        assert x.shape == (1, 2, 3, 17)
        assert bool((np.argmax(x.astype(np.float64), axis=-1) == 16).all())


def test_a_case_of_each_choice_has_all_pairs_of_types() -> None:
    found = cases("CAST", "held-by-both")
    pairs = {(case.desc.tensor("InputTensor").data_type, case.desc.tensor("OutputTensor").data_type) for case in found}
    assert len(pairs) == len(found) == len(plan_of(load("CAST")).choices)


@pytest.mark.parametrize(("source", "target", "least", "below"), [("INT8", "UINT16", 0, 128), ("INT32", "INT16", -32768, 32768)])
def test_what_both_types_hold_is_cast_at_core(source: str, target: str, least: int, below: int) -> None:
    (case,) = (case for case in cases("CAST", "held-by-both", "core") if case.id.startswith(f"CAST/{source}-{target}/"))
    x = inputs(case)["InputTensor"].astype(np.int64)
    assert least <= int(x.min()) < least + below // 8
    assert below - below // 8 < int(x.max()) < below


def test_multiples_leave_nothing() -> None:
    (case,) = cases("ELEMENT_WISE_MODULUS_FLOOR", "multiples")[:1]
    given = inputs(case)
    assert given["ATensor"].size == 127 * 127
    assert not np.fmod(given["ATensor"], given["BTensor"]).any()
    assert len(np.unique(given["ATensor"] / given["BTensor"])) == 127


def test_operands_at_one_place_are_alike_and_of_the_same_type() -> None:
    found = cases("ELEMENT_WISE_POW", "one-operand")
    assert found
    for case in found:
        assert case.in_place == {"ExponentTensor": "InputTensor"}
        assert case.desc.tensor("ExponentTensor") == case.desc.tensor("InputTensor")


def test_a_level_leaves_out_those_of_a_higher_one() -> None:
    assert not cases("REDUCE", "four-million", "core")
    (case,) = cases("REDUCE", "four-million")
    assert case.level == "full"
    assert case.desc.tensor("InputTensor").count > 1 << 22


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"sizes": {"Q": 3}}, "no shape has a free size called Q"),
        ({"sizes": {"M": 3}, "data": {"OutputTensor": {"recipe": "any-bits"}}}, "unknown input tensor 'OutputTensor'"),
        ({"sizes": {"M": 3}, "shared": {"ATensor": "BTensor"}}, "BTensor does not stand before ATensor"),
        ({"sizes": {"M": 3}, "type": "FLOAT32", "of-each": "type"}, "of that type alone"),
    ],
)
def test_what_a_dispatch_may_not_say(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        of_product(**entry)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"sizes": {"M": 3}, "type": "INT8"}, "the dispatch mine has a data type that no table gives the first tensor"),
        (
            {"sizes": {"M": 3}, "attributes": {"CTensor": "absent"}, "data": {"CTensor": {"recipe": "any-bits"}}},
            "the dispatch mine has data of CTensor, which is absent",
        ),
        ({"sizes": {"M": 3, "N": 5}, "shared": {"BTensor": "ATensor"}}, "the dispatch mine binds tensors at one place that differ"),
    ],
)
def test_a_dispatch_of_which_no_case_can_be_made_is_an_error(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(NotGenerable, match=message):
        of_product(**entry)


def test_a_recipe_without_its_parameters_is_an_error_with_its_place() -> None:
    operator = product_operator(dispatches={"mine": {"sizes": {"M": 3}, "data": {"ATensor": {"recipe": "late", "low": 1}}}})
    (problem,) = written_wrong(operator)
    assert "cases.dispatches.mine.data.ATensor" in problem
    assert "late takes high, low, row" in problem
