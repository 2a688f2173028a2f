"""What every case must be: a readable id of its own, a valid desc at its level (or one that breaks just what it says), and plain data."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise as neighbours
from itertools import product

import numpy as np
import pytest

from dmlcts.conformance.array_backend import binding_violations
from dmlcts.conformance.execute import lay_out
from dmlcts.generator.case import LEVELS, REFERENCE, REJECTION, Binding, Case, Data, from_json, to_json
from dmlcts.generator.data import inputs
from dmlcts.generator.emit import TITLES
from dmlcts.generator.special import special_values
from dmlcts.generator.suite import MAKERS, find_case, make_cases, operator_cases
from dmlcts.reference.registry import compute
from dmlcts.spec.abi import abi, feature_level
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.loader import load, load_all, operator_names
from dmlcts.spec.model import CONTESTED, Literal
from dmlcts.spec.rules import violations

NAMES = operator_names()
EVERY = [case for name in NAMES for case in operator_cases(name)]
POSITIVE = [case for case in EVERY if case.expect != REJECTION]
NEGATIVE = [case for case in EVERY if case.expect == REJECTION]

PART = r"[A-Za-z0-9_.+=\[\]-]+"
ID = re.compile(rf"[A-Z0-9_]+/[A-Z0-9]+(-[A-Z0-9]+)*/{PART}(/{PART})*")


# Ids


def test_ids_are_unique_and_readable() -> None:
    counts = Counter(case.id for case in EVERY)
    assert [case_id for case_id, count in counts.items() if count > 1] == []
    assert [case.id for case in EVERY if not ID.fullmatch(case.id)] == []
    assert max(len(case.id) for case in EVERY) < 120
    assert len({case.id.lower() for case in EVERY}) == len(EVERY)  # they become file names


def test_an_id_says_operator_types_and_kind() -> None:
    for case in EVERY:
        operator, types, kind, *_ = case.id.split("/")
        assert operator == case.operator == case.desc.type
        assert types.split("-")[0] == case.data_type
        assert kind == case.kind or (case.kind == "table" and re.fullmatch(r"[1-8]d", kind))


PINNED = [
    "ELEMENT_WISE_BIT_OR/UINT8/4d",
    "ELEMENT_WISE_BIT_OR/FLOAT64/8d",
    "ELEMENT_WISE_BIT_XOR/INT16/values/bit-patterns-x-single-bits",
    "ELEMENT_WISE_BIT_XOR/UINT32/sizes/1x1x1x65537",
    "ELEMENT_WISE_BIT_XOR/UINT32/sizes/3x5x7x9",
    "ELEMENT_WISE_BIT_XOR/UINT16/property/inverts-itself",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/values/single-bits-x-shift-amounts",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT8/example/beyond-width-uint8",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT64/in-place/Output-on-B/permuted",
    "ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT16/layout/A-packed.B-packed.Output-packed",
    "ELEMENT_WISE_BIT_COUNT/UINT32/example/page-1",
    "ELEMENT_WISE_BIT_COUNT/UINT16-UINT8/gaps/Output-padded",
    "ELEMENT_WISE_BIT_COUNT/FLOAT64-UINT32/property/inclusion-exclusion",
    "ELEMENT_WISE_BIT_COUNT/UINT8-UINT32/negative/data-type/OutputTensor=UINT64",
    "ELEMENT_WISE_ROUND/FLOAT16/1d/TOWARD_ZERO",
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
    choices, tensors = 4, 3
    assert counts == {
        "example": 3,
        "table": choices * 8,
        "values": choices * 2 * 1,  # two sets of A by one of B
        "sizes": choices * (13 + 5 + 2),
        "layout": choices * (64 + 8),  # pairwise, and each dimension count
        "slack": choices * tensors * 3,
        "in-place": choices * 2 * 5,
        "gaps": choices * 2,
        "negative": 231,
        "property": choices * (1 + 3),
    }


# JSON


def test_every_case_survives_json() -> None:
    for case in EVERY:
        text = json.dumps(to_json(case), allow_nan=False)
        assert from_json(json.loads(text), load) == case, case.id


def test_json_keeps_everything_that_a_case_may_have() -> None:
    literal = Literal("FLOAT32", (2,), (1.5, "0x7FC00001"))
    case = Case(
        id="ELEMENT_WISE_BIT_COUNT/x",
        kind="table",
        level="full",
        desc=OperatorDesc(
            "ELEMENT_WISE_BIT_COUNT", {"InputTensor": TensorDesc("FLOAT32", (2,), (3,), 1, 64, 16), "OutputTensor": None}
        ),
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
        ("rule", ""),
        ("note", ""),
        ("bindings", {}),
        ("answers", {}),
        ("basis", "measured"),
    ):
        assert from_json(to_json(replace(case, **{name: other})), load) != case  # type: ignore[arg-type]


# Positive cases


def test_positive_descs_are_valid_at_their_level_and_not_below_it() -> None:
    levels = sorted(abi().feature_levels.values())
    for case in POSITIVE:
        operator, level = load(case.operator), feature_level(case.feature_level)
        assert violations(operator, case.desc, level) == [], case.id
        assert violations(operator, case.desc) == [], case.id
        below = [older for older in levels if older < level]
        if below:
            assert violations(operator, case.desc, below[-1]) != [], f"{case.id} is promised before {level}"


def test_positive_bindings_are_valid() -> None:
    for case in POSITIVE:
        if case.kind in ("table", "in-place", "gaps", "slack", "example"):
            layout = lay_out(case, inputs(case), {})
            assert binding_violations(layout.dispatch) == [], case.id


def test_data_have_sizes_and_type_of_their_tensors() -> None:
    for case in EVERY:
        if case.kind != "sizes":
            for name, values in inputs(case).items():
                tensor = case.desc.tensor(name)
                assert values.shape == tensor.sizes, (case.id, name)


def test_data_are_those_of_the_inputs_and_no_other() -> None:
    for case in POSITIVE:
        assert case.data.keys() == {field.name for field in load(case.operator).inputs()}, case.id


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
    assert len(found) == 3


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
    assert {case.kind for case in cases} >= {"table", "values"}
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
    (case,) = [case for case in EVERY if case.basis == CONTESTED]
    assert case.answers.keys() == {"documented", "measured"}
    x = inputs(case)["InputTensor"]
    assert contested(x).all()
    assert adding_a_half(x).tolist() == list(case.answers["measured"]["OutputTensor"].data)


# Negative cases


def test_negative_cases_break_exactly_what_they_say() -> None:
    for case in NEGATIVE:
        operator = load(case.operator)
        found = {violation.label for violation in violations(operator, case.desc)}
        if not found:
            found = {violation.label for violation in binding_violations(lay_out(case, inputs(case), {}).dispatch)}
        assert {f"rejects/{label}" for label in found} == set(case.covers), case.id
        assert case.rule in found, case.id


def test_negative_cases_break_it_alone_at_the_level_at_which_they_run_too() -> None:
    for case in NEGATIVE:
        if not case.bindings:
            at = violations(load(case.operator), case.desc, feature_level(case.feature_level))
            assert {f"rejects/{violation.label}" for violation in at} == set(case.covers), case.id


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


def test_no_two_negative_cases_are_the_same() -> None:
    seen: dict[str, str] = {}
    for case in NEGATIVE:
        what = json.dumps([to_json(case)["desc"], to_json(case).get("bindings")])
        assert what not in seen, f"{case.id} is {seen.get(what)}"
        seen[what] = case.id


def test_each_size_of_each_tensor_is_broken_alone() -> None:
    """An implementation may compare some of the sizes, or their product."""
    for operator in NAMES:
        for constraint in load(operator).constraints:
            if constraint.same == "Sizes":
                found = [case for case in NEGATIVE if case.operator == operator and case.rule == f"constraint/{constraint.label}"]
                base = {case.desc.tensor(other).sizes for case in found for other in constraint.tensors}
                for tensor in constraint.tensors:
                    sizes = {case.desc.tensor(tensor).sizes for case in found if f"/{tensor}-" in case.id}
                    assert {(2, 2, 3, 4), (1, 3, 3, 4), (1, 2, 4, 4), (1, 2, 3, 5), (4, 3, 2, 1)} == sizes
                assert (1, 2, 3, 4) in base


def test_data_types_of_the_same_width_are_told_apart() -> None:
    found = [case for case in NEGATIVE if case.rule == "constraint/same-data-type" and case.id.endswith("-same-width")]
    assert found
    for case in found:
        types = {tensor.data_type for _, tensor in case.desc.tensors()}
        assert len(types) == 2
        assert len({abi().data_types[name].bits for name in types}) == 1, case.id


def together(operator: str, rule: str) -> set[frozenset[str]]:
    """The sets of rules that the cases about a rule break."""
    return {
        frozenset(label.removeprefix("rejects/") for label in case.covers)
        for case in NEGATIVE
        if case.operator == operator and case.rule == rule
    }


@pytest.mark.parametrize("operator", NAMES)
def test_each_constraint_is_broken_alone(operator: str) -> None:
    for constraint in load(operator).constraints:
        rule = f"constraint/{constraint.label}"
        # Tensors of different dimension counts have different sizes too.
        besides = {"constraint/same-sizes"} if constraint.label == "same-dimension-count" else set()
        assert together(operator, rule) == {frozenset({rule, *besides})}


@pytest.mark.parametrize("operator", NAMES)
def test_each_constraint_is_broken_at_each_of_its_tensors(operator: str) -> None:
    for constraint in load(operator).constraints:
        rule = f"constraint/{constraint.label}"
        found = [case.id.rpartition("/")[2] for case in NEGATIVE if case.operator == operator and case.rule == rule]
        assert {place.partition("-")[0] for place in found} == set(constraint.tensors)


@pytest.mark.parametrize("operator", NAMES)
@pytest.mark.parametrize("what", ["data-type", "dimension-count"])
def test_each_table_rule_is_broken_alone_or_by_all_tied_tensors(operator: str, what: str) -> None:
    tensors = [field.name for field in load(operator).fields if field.is_tensor]
    found: set[frozenset[str]] = set()
    for tensor in tensors:
        found |= together(operator, f"support/{tensor}/{what}")
    tied = operator != "ELEMENT_WISE_BIT_COUNT" or what == "dimension-count"
    expected = {frozenset(tensors)} if tied else {frozenset({tensor}) for tensor in tensors}
    assert found == {frozenset(f"support/{tensor}/{what}" for tensor in group) for group in expected}


@pytest.mark.parametrize("prefix", ["tensor/", "binding/", "field/", "enum/"])
def test_general_rules_are_broken_alone(prefix: str) -> None:
    found = [case for case in NEGATIVE if case.rule.startswith(prefix)]
    assert found
    for case in found:
        # A size of 0 breaks the same rule for all tensors, which must have the same sizes.
        labels = {label.rpartition("/")[2] for label in case.covers} if "/zero/" in case.id else case.covers
        assert len(labels) == 1, case.id


def test_what_directml_was_measured_to_accept_is_demanded_of_nobody() -> None:
    from dmlcts.spec.model import Acceptance

    operator = load("ELEMENT_WISE_ROUND")
    lenient = replace(operator, accepts=(Acceptance("constraint/same-sizes", "a probe", ("FLOAT16",)),))
    before = {case.id for case in make_cases(operator)}
    missing = before - {case.id for case in make_cases(lenient)}
    assert {case_id.split("/")[1] for case_id in missing} == {"FLOAT16"}
    # Different dimension counts cannot be had with the same sizes.
    gone = ("ELEMENT_WISE_ROUND/FLOAT16/negative/same-sizes/", "ELEMENT_WISE_ROUND/FLOAT16/negative/same-dimension-count/")
    assert missing == {case_id for case_id in before if case_id.startswith(gone)}
    assert len(missing) == 2 * 5 + 2


# Levels


def test_every_operator_has_smoke_cases_of_every_kind_of_type() -> None:
    for operator in load_all():
        smoke = [case for case in operator_cases(operator.name) if case.level == "smoke"]
        listed = {name for table in operator.support for name in next(iter(table.tensors.values())).data_types}
        assert {case.data_type for case in smoke} == listed
        assert len(smoke) < 30


def test_core_tries_every_width_and_one_large_tensor() -> None:
    for operator in load_all():
        core = [case for case in operator_cases(operator.name) if case.level in ("smoke", "core")]
        for kind in ("layout", "sizes", "values", "property", "gaps"):
            widths = {abi().data_types[case.data_type].bits for case in core if case.kind == kind}
            every = {abi().data_types[case.data_type].bits for case in operator_cases(operator.name)}
            assert widths == every, (operator.name, kind)
        assert [case.id for case in core if "65537" in case.id], operator.name


def test_levels_are_known() -> None:
    assert {case.level for case in EVERY} == set(LEVELS)


def test_what_a_person_understands_first_runs_first() -> None:
    order = list(TITLES)
    assert order[:3] == ["example", "table", "values"]
    for name in NAMES:
        positions = [order.index(case.kind) for case in operator_cases(name)]
        assert all(a <= b for a, b in neighbours(positions)), name


def test_two_cases_of_one_id_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.generator.suite.MAKERS", (*MAKERS, MAKERS[1]))
    with pytest.raises(AssertionError, match="two cases are called ELEMENT_WISE_ROUND/FLOAT32/1d/HALVES_TO_NEAREST_EVEN"):
        make_cases(load("ELEMENT_WISE_ROUND"))
