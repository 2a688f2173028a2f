"""Outputs of other sizes than the input's: each choice of dimensions that differ meets each output that a group of threads takes whole."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from dmlcts.generator.case.case import Case
from dmlcts.generator.checks.written import written_wrong
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps import table
from dmlcts.generator.sweeps.one_factor.resizing import resize_cases
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations
from tests.support.product_operator import product_operator


@cache
def cases(name: str, most: str = "full") -> tuple[Case, ...]:
    return tuple(resize_cases(plan_of(load(name)), most))


def sizes(case: Case, tensor: str) -> tuple[int, ...]:
    return tuple(case.desc.tensor(tensor).sizes)


def with_resize(**changes: Any) -> Operator:
    operator = load("RESAMPLE3")
    assert operator.resize is not None
    return replace(operator, resize=replace(operator.resize, **changes))


def test_each_choice_of_dimensions_meets_each_output_of_each_type() -> None:
    found = cases("RESAMPLE3", "core")
    differing = {
        (
            case.data_type,
            to := sizes(case, "OutputTensor"),
            tuple(one != other for one, other in zip(sizes(case, "InputTensor"), to, strict=True)),
        )
        for case in found
    }
    choices = [each for each in product((False, True), repeat=4) if any(each)]
    assert differing == set(product(("FLOAT32", "FLOAT16"), table.RESULT_SIZES, choices))
    assert len(found) == len({case.id for case in found}) == len(differing)
    assert {case.level for case in found} == {"core"}
    assert {case.desc.fields["InterpolationMode"] for case in found} == {"LINEAR"}
    assert not any(violations(case.operator, case.desc) for case in found)


def test_outputs_are_multiples_along_one_of_the_first_three_dimensions_at_most() -> None:
    even = [tuple(at for at in range(3) if to[at] % 4 == 0) for to in table.RESULT_SIZES]
    assert all(len(places) <= 1 for places in even)
    assert {(places[0], to[places[0]]) for places, to in zip(even, table.RESULT_SIZES, strict=True) if places} == set(
        product(range(3), (4, 8))
    )
    assert () in even


def test_older_operators_have_them_at_full_alone_and_others_none() -> None:
    assert cases("RESAMPLE2", "core") == ()
    assert {case.level for case in cases("RESAMPLE2")} == {"full"}
    assert len(cases("RESAMPLE2")) == len(cases("RESAMPLE3"))
    assert cases("GEMM") == ()


def test_what_cannot_be_made_is_an_error() -> None:
    with pytest.raises(NotGenerable, match="no table gives the first tensor the type"):
        list(resize_cases(plan_of(with_resize(types=("INT64",)))))
    assert any("INT64" in wrong for wrong in written_wrong(with_resize(types=("INT64",))))
    with pytest.raises(NotGenerable, match=" breaks "):
        list(resize_cases(plan_of(with_resize(attributes={"Scales": (1.0, 2.0)}))))
    assert not list(written_wrong(load("RESAMPLE3")))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"from": "K", "to": "N", "types": ["FLOAT32"]}, r"no tensor has the sizes \*K and no others"),
        ({"from": "Batch", "to": "N", "types": ["FLOAT32"]}, r"no tensor has the sizes \*Batch and no others"),
        ({"from": "K", "to": "N"}, "types"),
        ({"from": "K", "to": "N", "types": ["FLOAT31"]}, "FLOAT31"),
    ],
)
def test_wrong_entries_are_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        product_operator(resize=entry)


def test_the_two_symbols_differ() -> None:
    shapes = [{"sizes": {"ATensor": ["*S"], "BTensor": ["*S"], "CTensor": ["*S"], "OutputTensor": ["*T"]}}]
    with pytest.raises(SpecError, match="must be another symbol than that of `from`"):
        product_operator(shapes=shapes, resize={"from": "S", "to": "S", "types": ["FLOAT32"]})
    assert product_operator(shapes=shapes, resize={"from": "S", "to": "T", "types": ["FLOAT32"]}).resize is not None
