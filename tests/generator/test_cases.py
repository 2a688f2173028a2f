"""Ids and numbers of cases that stay as they are, cases as JSON, special and contested values, and what a few negative cases must be.

What must hold of every operator's cases is checked by `dmlcts spec coverage`, and these checks in tests/test_case_checks.
"""

import json
import pickle
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dmlcts.generator.case.case import LEVELS, REFERENCE, Binding, Case, Data, from_json, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.covering.cases import array_of
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import MAKERS, find_case, make_cases, operator_cases
from dmlcts.generator.values.special_sets import special_values
from dmlcts.reference.registry import compute
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import CONTESTED, Literal
from dmlcts.spec.reading.loader import load

# Ids


PINNED = [
    "ELEMENT_WISE_BIT_OR/UINT8/4d",
    "ELEMENT_WISE_BIT_OR/FLOAT64/4d",
    "ELEMENT_WISE_BIT_XOR/INT16/values/bit-patterns-x-single-bits",
    "ELEMENT_WISE_BIT_XOR/UINT32/sizes/1x1x1x65537",
    "ELEMENT_WISE_BIT_XOR/UINT16/property/inverts-itself",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/values/single-bits-x-shift-amounts",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/example/beyond-width-uint8",
    "ELEMENT_WISE_BIT_COUNT/UINT32/example/page-1",
    "ELEMENT_WISE_BIT_COUNT/UINT16-UINT32/gaps/Output-padded-rows",
    "ELEMENT_WISE_BIT_COUNT/FLOAT64-UINT32/property/inclusion-exclusion",
    "ELEMENT_WISE_BIT_COUNT/UINT8-UINT32/negative/data-type/OutputTensor=UINT64",
    "ELEMENT_WISE_ROUND/FLOAT16/4d/HALVES_TO_NEAREST_EVEN",
    "ELEMENT_WISE_ROUND/FLOAT32/values/beside-halves/TOWARD_INFINITY",
    "ELEMENT_WISE_ROUND/FLOAT32/example/adding-a-half-rounds",
    "ELEMENT_WISE_ROUND/FLOAT32/property/monotonic/TOWARD_ZERO",
    "ELEMENT_WISE_ROUND/FLOAT32/negative/enum/RoundingMode=3",
    "ELEMENT_WISE_ROUND/FLOAT32/negative/same-data-type/OutputTensor",
    "ELEMENT_WISE_ROUND/FLOAT16/negative/binding/size/InputTensor-4",
    "ELEMENT_WISE_ROUND/FLOAT16/negative/sizes/zero/InputTensor+OutputTensor",
]


@pytest.mark.parametrize("case_id", PINNED)
def test_ids_that_people_have_written_down_are_still_there(case_id: str) -> None:
    """Waivers and bug reports name them."""
    assert find_case(case_id).id == case_id


def test_how_many_cases_of_each_kind_there_are() -> None:
    """A change here is a change of what an implementation must pass: look at it, then pin the new numbers."""
    counts = Counter(case.kind for case in operator_cases("ELEMENT_WISE_BIT_SHIFT_RIGHT"))
    choices = 4
    rows = len(array_of(plan_of(load("ELEMENT_WISE_BIT_SHIFT_RIGHT")), "full").rows)
    assert 0.99 * rows < counts.pop("combination") <= rows < 4_000  # two rows may become one case
    assert counts == {
        "example": 3,
        "table": choices,
        # Two sets of A by one of B; at even sizes, in two long dimensions; at uneven ones and in three layouts, both for each choice of types in one;
        # and one operand at the place of both.
        "values": choices * 2 * 1 + 3 * 2 + choices * 2 + (2 + choices) * 2 + choices,
        "sizes": choices * 2
        + 204
        + 315
        + choices,  # large ones, those on which kernels turn, plain ones, and five dimensions that cannot be joined
        "typical": 79,  # the tile-sized dispatch, with one thing unusual, or two
        "gaps": choices * 3,
        "negative": 282,
        "property": choices * (1 + 3),
        "random": len(array_of(plan_of(load("ELEMENT_WISE_BIT_SHIFT_RIGHT")), "full").random),
        "sequence": 2 * len(forms()),
    }


# JSON


def test_json_keeps_everything_that_a_case_may_have() -> None:
    literal = Literal("FLOAT32", (2,), (1.5, "0x7FC00001"))
    case = Case(
        id="ELEMENT_WISE_BIT_COUNT/x",
        kind="table",
        level="full",
        desc=OperatorDesc(
            "ELEMENT_WISE_BIT_COUNT", {"InputTensor": TensorDesc("FLOAT32", (2,), (3,), 1, 64, 16), "OutputTensor": None}
        ),
        operator=load("ELEMENT_WISE_BIT_COUNT"),
        feature_level="4_1",
        data_type="FLOAT32",
        basis="contested",
        expect="values",
        data={
            "InputTensor": Data(literal=literal),
            "B": Data(special="nans", parameters={"each": 3}),
            "C": Data("quarters", {"limit": 5}),
        },
        answers={"documented": {"OutputTensor": Literal("UINT8", (2,), (1, "_"))}},
        in_place={"OutputTensor": "InputTensor"},
        offset=48,
        resource="all",
        bindings={"InputTensor": Binding(4, 8, True)},
        checks=("gaps", "zero-sign"),
        covers=("a", "b"),
        rule="r",
        relation="odd",
        note="n",
    )
    back = from_json(json.loads(json.dumps(to_json(case))), load)
    assert back == case
    for name, other in (
        ("checks", ()),
        ("in_place", {}),
        ("offset", 64),
        ("resource", ""),
        ("rule", ""),
        ("note", ""),
        ("bindings", {}),
        ("answers", {}),
        ("basis", "measured"),
    ):
        assert from_json(to_json(replace(case, **{name: other})), load) != case  # type: ignore[arg-type]


def test_a_case_carries_its_operator_and_travels_by_its_name() -> None:
    case = operator_cases("GEMM", "smoke")[0]
    assert case.operator is load("GEMM")
    pickled = pickle.dumps(case)
    assert len(pickled) < 4000  # far less than an operator
    assert pickle.loads(pickled) == case
    assert pickle.loads(pickled).operator is case.operator
    other = replace(case, operator=replace(case.operator, summary="another"))
    assert other != case
    assert pickle.loads(pickle.dumps(other)) == case  # the package's own operator of that name


# Data


def test_value_cases_hold_every_combination() -> None:
    case = find_case("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT16/values/bit-patterns-x-shift-amounts")
    found = inputs(case)
    pairs = set(zip(found["ATensor"].ravel().tolist(), found["BTensor"].ravel().tolist(), strict=True))
    expected = set(product(special_values("bit-patterns", "UINT16").tolist(), special_values("shift-amounts", "UINT16").tolist()))
    assert pairs == expected
    assert found["ATensor"].size == len(expected)


def test_value_cases_of_one_input_hold_the_whole_set() -> None:
    for name in ("halves", "beside-halves", "large-integers", "denormals", "zeros"):
        case = find_case(f"ELEMENT_WISE_ROUND/FLOAT32/values/{name}/HALVES_TO_NEAREST_EVEN")
        expected = special_values(name, "FLOAT32")
        assert inputs(case)["InputTensor"].tobytes() == expected.tobytes()


def test_a_set_that_has_nothing_for_a_type_makes_no_case() -> None:
    found = {case.id for case in operator_cases("ELEMENT_WISE_ROUND") if "every-finite" in case.id}
    assert all(case_id.startswith("ELEMENT_WISE_ROUND/FLOAT16/") for case_id in found)
    assert len([case_id for case_id in found if "of-every-finite" not in case_id]) == 3


# Contested values


def adding_a_half(x: np.ndarray) -> np.ndarray:
    """TOWARD_INFINITY as DirectML.dll computes it."""
    half = np.copysign(np.float32(0.5), x)
    with np.errstate(invalid="ignore"):
        return np.trunc(x + half)


def contested(x: np.ndarray) -> np.ndarray:
    """The FLOAT32 numbers on which page and DLL disagree, by the erratum's words."""
    size = np.abs(x)
    odd = (size > 2.0**23) & (size < 2.0**24) & (size % 2 == 1)
    return odd | (size.view(np.uint32) == 0x3EFFFFFF)


def rounding(mode: str) -> list[Case]:
    return [
        case
        for case in operator_cases("ELEMENT_WISE_ROUND")
        if case.data_type == "FLOAT32" and case.expect == REFERENCE and case.desc.fields["RoundingMode"] == mode
    ]


def test_no_case_of_another_basis_has_a_contested_value() -> None:
    cases = rounding("TOWARD_INFINITY")
    assert {case.kind for case in cases} >= {"combination", "values"}
    for case in cases:
        x = inputs(case)["InputTensor"].ravel()
        right = compute(case.desc, inputs(case))["OutputTensor"].value.ravel()
        with np.errstate(all="ignore"):
            assert not contested(x).any(), case.id
        # What page and DLL agree on: both answers are the same for all that is left.
        np.testing.assert_array_equal(adding_a_half(x).astype(np.float64), right, case.id)


@pytest.mark.parametrize("mode", ["HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO"])
def test_the_other_modes_keep_the_values(mode: str) -> None:
    values = np.concatenate([inputs(case)["InputTensor"].ravel() for case in rounding(mode)])
    with np.errstate(all="ignore"):
        kept = set(values[contested(values)].tolist())
    largest_below_a_half = float(np.uint32(0x3EFFFFFF).view(np.float32))
    assert {largest_below_a_half, -largest_below_a_half, 2.0**23 + 1, 2.0**24 - 1, -(2.0**23) - 1} <= kept


def test_the_contested_example_has_them_and_both_answers() -> None:
    (case,) = [case for case in operator_cases("ELEMENT_WISE_ROUND") if case.basis == CONTESTED]
    assert case.answers.keys() == {"documented", "measured"}
    x = inputs(case)["InputTensor"]
    assert contested(x).all()
    assert adding_a_half(x).tolist() == list(case.answers["measured"]["OutputTensor"].data)


# Negative cases


@pytest.mark.parametrize(
    ("case", "level"),
    [
        ("ELEMENT_WISE_BIT_OR/UINT8/negative/same-data-type/ATensor", "3_0"),
        ("ELEMENT_WISE_BIT_OR/UINT8/negative/same-data-type/ATensor-same-width", "4_1"),  # INT8 is new there
        ("ELEMENT_WISE_BIT_OR/UINT32/negative/data-type/ATensor+BTensor+OutputTensor=INT4", "3_0"),
        ("ELEMENT_WISE_ROUND/FLOAT32/negative/same-sizes/InputTensor-size0", "2_1"),
        ("ELEMENT_WISE_ROUND/FLOAT32/negative/same-dimension-count/InputTensor", "3_0"),  # 2_1 has 4 dimensions alone
        ("ELEMENT_WISE_BIT_OR/FLOAT64/negative/binding/size/ATensor-4", "4_1"),
    ],
)
def test_negative_cases_are_of_the_lowest_level_that_promises_them(case: str, level: str) -> None:
    assert find_case(case).feature_level == level


@pytest.mark.parametrize("name", ["ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR"])  # which take several types of one width
def test_data_types_of_the_same_width_are_told_apart(name: str) -> None:
    found = [case for case in operator_cases(name) if case.rule == "constraint/same-data-type" and case.id.endswith("-same-width")]
    assert {case.id.split("/")[-1].removesuffix("-same-width") for case in found} == {"ATensor", "BTensor", "OutputTensor"}
    for case in found:
        types = {tensor.data_type for _, tensor in case.desc.tensors()}
        assert len(types) == 2
        assert len({abi().data_types[name].bits for name in types}) == 1, case.id


FIRST = "ELEMENT_WISE_ROUND/FLOAT32/4d/HALVES_TO_NEAREST_EVEN"


def with_twin(monkeypatch: pytest.MonkeyPatch, **changes: object) -> tuple[Case, ...]:
    """The cases of ROUND, where another maker makes one of them a second time, with changes."""
    twin = replace(find_case(FIRST), **changes)  # type: ignore[arg-type]
    monkeypatch.setattr("dmlcts.generator.suite.suite.MAKERS", (*MAKERS, lambda operator, most: iter([twin])))
    return make_cases(load("ELEMENT_WISE_ROUND"))


def test_two_cases_of_one_id_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=f"two cases are called {FIRST}"):
        with_twin(monkeypatch, checks=("zero-sign",))


def test_a_case_that_is_made_twice_is_one_of_the_lower_level_that_covers_what_both_do(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = find_case(FIRST)
    assert alone.level == "smoke"
    for level in LEVELS:
        (merged,) = (case for case in with_twin(monkeypatch, level=level, covers=("more",)) if case.id == FIRST)
        assert merged == replace(alone, covers=(*alone.covers, "more"))
