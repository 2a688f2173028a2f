"""What a law may say: functions, other operators, optional inputs, and where it does not speak."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from laws_on_trial import OR, ROUND, XOR, Array, Computing, judged, law_cases, tried, with_law

from dmlcts.conformance.backends.backend import Dispatch, Rejected
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.properties.law_dispatch import LawTrial, sizes_in_law
from dmlcts.conformance.properties.laws import _functions
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.sweeps.properties import choice_of, property_cases, used_types
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.reading.building.law import RELATION_FUNCTIONS
from dmlcts.spec.reading.loader import load

# What a law may say


def test_the_functions_are_those_that_the_loader_knows() -> None:
    case = find_case(f"{XOR}/UINT8/property/commutative")
    assert _functions(LawTrial(case, ReferenceBackend(), ReferenceBackend().info, None)).keys() == RELATION_FUNCTIONS


HELPERS = {
    "where(x < 0, -1, 1) * f(x) == abs(f(x))": True,
    "minimum(f(x), 0) + maximum(f(x), 0) == f(x)": True,
    "floor(x + 0.25) == f(x)": False,
    "isnan(f(x)) | (sign(f(x)) * abs(f(x)) == f(x))": True,
    "sqrt(f(x) * f(x)) == abs(f(x))": True,
    "sqrt(f(x) * f(x)) == f(x)": False,
    "implies(isnan(x), isnan(f(x)))": True,
    "implies(x > 0, f(x) > 0)": False,
    "total(f(x)) == -4": True,
    "total(f(x)) == -3": False,
    "f(x + 0) == round_to(f(x))": True,
    "width == 32": True,
}


@pytest.mark.parametrize(("law", "holds"), HELPERS.items(), ids=HELPERS)
def test_a_law_may_say(law: str, holds: bool) -> None:
    operator = with_law(ROUND, {"law": law, "given": {"x": "InputTensor"}})
    outcome = judged(operator, Computing(ELEMENT_WISE_ROUND=np.trunc), "FLOAT32", x=[-1.5, 0.25, -3.75, 0.0])
    assert outcome.status == ("pass" if holds else "fail")


def test_a_condition_may_call_the_functions_too() -> None:
    operator = with_law(ROUND, {"law": "f(x) == x", "given": {"x": "InputTensor"}, "where": "floor(x) == x"})
    assert judged(operator, Computing(ELEMENT_WISE_ROUND=np.floor), "FLOAT32", x=[1.5, 2.0]).status == "pass"
    assert judged(operator, Computing(ELEMENT_WISE_ROUND=lambda x: x + 1), "FLOAT32", x=[1.5, 2.0]).status == "fail"


@pytest.mark.parametrize(("late", "status"), [(False, "pass"), (True, "fail")])
def test_a_law_about_an_operator_without_inputs_has_no_variables(late: bool, status: str) -> None:
    backend = Computing()

    def sequence() -> Array:
        desc = backend.seen[-1]
        steps = np.arange(desc.tensor("OutputTensor").count).reshape(desc.tensor("OutputTensor").sizes)
        return desc.fields["ValueStart"] + desc.fields["ValueDelta"] * np.maximum(steps - late, 0)

    backend.values["FILL_VALUE_SEQUENCE"] = sequence
    result = tried("FILL_VALUE_SEQUENCE/FLOAT32/property/begun-later/ValueStart=3/ValueDelta=2", backend)
    assert result.status == status
    assert ("does not hold for this desc at [0, 0, 0, 0]" in result.message) == late


def test_a_sum_is_of_each_row_of_a_batch_or_of_a_row_alone() -> None:
    operator = with_law(ROUND, {"law": "total(f(x)) == total(x)", "given": {"x": "InputTensor"}})
    rows = np.arange(12.0).reshape(3, 4)
    backend = Computing(ELEMENT_WISE_ROUND=lambda x: x[..., ::-1])
    assert judged(operator, backend, "FLOAT32", x=rows).status == "pass"
    assert judged(operator, backend, "FLOAT32", x=rows[0]).status == "pass"
    outcome = judged(operator, Computing(ELEMENT_WISE_ROUND=lambda x: x + (x == 9)), "FLOAT32", x=rows)
    assert outcome.evidence["law"]["index"] == [2, 0]
    upside = Computing(ELEMENT_WISE_ROUND=lambda x: x[..., ::-1, :])
    assert judged(operator, upside, "FLOAT32", x=rows).status == "fail"


def test_float16_does_not_overflow_in_a_law_and_is_rounded_where_asked() -> None:
    given = {"x": "InputTensor"}
    same = Computing(ELEMENT_WISE_ROUND=lambda x: x)
    assert judged(with_law(ROUND, {"law": "2 * f(x) < 130000", "given": given}), same, "FLOAT16", x=[60000]).status == "pass"
    assert judged(with_law(ROUND, {"law": "f(x) + f(y) == 2049", "given": {**given, "y": "InputTensor"}}), same, "FLOAT16", x=[2048], y=[1]).status == "pass"  # fmt: skip
    assert judged(with_law(ROUND, {"law": "round_to(x + y) == f(x)", "given": {**given, "y": "InputTensor"}}), same, "FLOAT16", x=[2048], y=[1]).status == "pass"  # fmt: skip
    assert judged(with_law(ROUND, {"law": "round_to(x + y) == f(x)", "given": {**given, "y": "InputTensor"}}), same, "FLOAT32", x=[2048], y=[1]).status == "fail"  # fmt: skip


def test_integer_variables_wrap_and_integer_outputs_do_not() -> None:
    def numbers(spec: dict[str, Any]) -> None:
        spec["tolerance"] = {"class": "exact"}

    given = {"a": "ATensor", "b": "BTensor"}
    adding = Computing(ELEMENT_WISE_BIT_OR=lambda a, b: a + b)
    for types, a, b in (("UINT8", 200, 100), ("INT8", 100, 100), ("INT32", 2**31 - 1, 1), ("UINT64", 2**64 - 1, 5)):
        operator = with_law(OR, {"law": "f(a, b) == a + b", "given": given}, numbers)
        assert judged(operator, adding, types, a=[a], b=[b]).status == "pass", types
        off = Computing(ELEMENT_WISE_BIT_OR=lambda a, b: a + b + 1)
        assert judged(operator, off, types, a=[a], b=[b]).status == "fail", types
    operator = with_law(OR, {"law": "f(a, b) + f(a, b) == 400", "given": given}, numbers)
    assert judged(operator, adding, "UINT8", a=[200], b=[0]).status == "pass"
    signed = with_law(OR, {"law": "f(a, b) < 0", "given": given}, numbers)
    assert judged(signed, adding, "INT8", a=[-5], b=[1]).status == "pass"


# near


def tolerance(**entry: Any) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        spec["tolerance"] = entry

    return change


def off_by(steps: int) -> Computing:
    """x, moved by so many numbers of its type."""

    def value(x: Array) -> Array:
        for _ in range(steps):
            x = np.nextafter(x, x.dtype.type(np.inf))
        return x

    return Computing(ELEMENT_WISE_ROUND=value)


@pytest.mark.parametrize("types", ["FLOAT16", "FLOAT32"])
@pytest.mark.parametrize(("law", "most"), [("near(f(x), x)", 2), ("near(x, f(x), 2)", 4), ("near(f(x), x, 0.5)", 1)])
def test_near_allows_the_bounds_of_both(types: str, law: str, most: int) -> None:
    operator = with_law(ROUND, {"law": law, "given": {"x": "InputTensor"}}, tolerance(**{"class": "ulp", "ulps": 1}))
    x = [1.0, -1.75, 100.5, 3.0]
    assert judged(operator, off_by(most), types, x=x).status == "pass"
    assert judged(operator, off_by(most + 1), types, x=x).status == "fail"


@pytest.mark.parametrize("law", ["near(f(x), x)", "near(x, f(x))"])
@pytest.mark.parametrize(("steps", "status"), [(3, "pass"), (4, "fail")])
def test_near_adds_the_bounds_of_two_sizes(law: str, steps: int, status: str) -> None:
    """Below 2 an ULP is half of what it is there."""
    operator = with_law(ROUND, {"law": law, "given": {"x": "InputTensor"}}, tolerance(**{"class": "ulp", "ulps": 1}))
    backend = Computing(ELEMENT_WISE_ROUND=lambda x: x - np.float32(steps * 2.0**-23))
    assert judged(operator, backend, "FLOAT32", x=[2.0]).status == status


@pytest.mark.parametrize("law", ["near(f(x), x)", "near(x, f(x))"])
@pytest.mark.parametrize(("policy", "status"), [("any", "pass"), ("preserve", "fail")])
def test_near_excuses_a_flushed_denormal_on_either_side(law: str, policy: str, status: str) -> None:
    operator = with_law(ROUND, {"law": law, "given": {"x": "InputTensor"}})
    backend = Computing(ELEMENT_WISE_ROUND=lambda x: x * 0)
    backend.info = replace(backend.info, denormals=policy)
    assert judged(operator, backend, "FLOAT32", x=[1e-40]).status == status


def test_near_is_equal_for_an_exact_operator() -> None:
    operator = with_law(ROUND, {"law": "near(f(x), x)", "given": {"x": "InputTensor"}})
    assert judged(operator, off_by(0), "FLOAT32", x=[1.0, 0.5]).status == "pass"
    assert judged(operator, off_by(1), "FLOAT32", x=[1.0, 0.5]).status == "fail"
    halves = with_law(XOR, {"law": "near(f(a, b), a ^ b)", "given": {"a": "ATensor", "b": "BTensor"}})
    for wrong in (0, 1):
        backend = Computing(ELEMENT_WISE_BIT_XOR=lambda a, b, wrong=wrong: a ^ b ^ a.dtype.type(wrong))
        assert judged(halves, backend, "UINT8", a=[3], b=[5]).status == ("fail" if wrong else "pass")


def test_near_takes_the_absolute_and_the_growing_bound_of_class_mixed() -> None:
    given = {"x": "InputTensor"}
    absolute = with_law(ROUND, {"law": "near(f(x), x)", "given": given}, tolerance(**{"class": "mixed", "absolute": 0.01}))
    for error, status in ((0.019, "pass"), (0.021, "fail")):
        assert judged(absolute, Computing(ELEMENT_WISE_ROUND=lambda x, e=error: x + e), "FLOAT32", x=[0.0, 1.0]).status == status
    growing = with_law(ROUND, {"law": "near(f(x), x)", "given": given}, tolerance(**{"class": "mixed", "argument": 3}))
    x = np.exp(np.float32(20))  # 3 + 1 + 20 ULPs of relative error, for each side
    for error, status in ((46, "pass"), (50, "fail")):
        backend = Computing(ELEMENT_WISE_ROUND=lambda x, e=error: x * np.float32(1 + e * 2.0**-23))
        assert judged(growing, backend, "FLOAT32", x=[x]).status == status


@pytest.mark.parametrize(
    ("x", "result", "status"),
    [
        (np.nan, np.nan, "pass"),
        (np.inf, np.inf, "pass"),
        (-np.inf, -np.inf, "pass"),
        (np.inf, -np.inf, "fail"),
        (np.nan, 1.0, "fail"),
        (1.0, np.nan, "fail"),
        (np.inf, 1.0, "fail"),
        (0.0, -0.0, "pass"),
    ],
)
def test_near_of_what_is_no_number(x: float, result: float, status: str) -> None:
    for entry in ({"class": "ulp"}, {"class": "exact"}, {"class": "mixed", "absolute": 0.1, "argument": 3}):
        operator = with_law(ROUND, {"law": "near(f(x), x)", "given": {"x": "InputTensor"}}, tolerance(**entry))
        backend = Computing(ELEMENT_WISE_ROUND=lambda x: np.full_like(x, result))
        assert judged(operator, backend, "FLOAT32", x=[x]).status == status, entry


def test_near_knows_the_exception_for_a_data_type() -> None:
    change = tolerance(**{"class": "exact", "exceptions": [{"class": "ulp", "ulps": 1, "types": ["FLOAT16"]}]})
    operator = with_law(ROUND, {"law": "near(f(x), x)", "given": {"x": "InputTensor"}}, change)
    assert judged(operator, off_by(1), "FLOAT16", x=[1.0]).status == "pass"
    assert judged(operator, off_by(1), "FLOAT32", x=[1.0]).status == "fail"


# Other operators, optional inputs


USES = {
    "law": "f(f(a, b), a & b) == either(a, b)",
    "given": {"a": "ATensor", "b": "BTensor"},
    "uses": {"either": OR},
}


def test_another_operator_is_run_on_the_same_types() -> None:
    operator = with_law(XOR, USES)
    right = Computing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor, ELEMENT_WISE_BIT_OR=np.bitwise_or)
    for types in ("UINT8", "UINT32"):
        assert judged(operator, right, types, a=[12, 3], b=[10, 3]).status == "pass"
        assert (right.seen[-1].type, right.seen[-1].tensor("OutputTensor").data_type) == (OR, types)
    wrong = Computing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor, ELEMENT_WISE_BIT_OR=np.bitwise_and)
    assert judged(operator, wrong, "UINT8", a=[12, 3], b=[10, 3]).status == "fail"


def test_a_law_that_uses_an_operator_holds_for_the_reference_and_shrinks() -> None:
    operator = with_law(XOR, USES)
    cases = law_cases(operator)
    assert len(cases) == len({case.data_type for case in cases}) > 4
    for case in cases:
        result = tried(case, ReferenceBackend())
        assert (result.status, result.message) == ("pass", "")
    wrong = Computing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor, ELEMENT_WISE_BIT_OR=lambda a, b: a | b & ~a.dtype.type(4))
    result = tried(next(case for case in cases if case.data_type == "UINT8"), wrong)
    assert result.message.startswith("f(f(a, b), a & b) == either(a, b) does not hold for a = 0 (0x0), b = 4 (0x4)")


def test_an_operator_that_is_not_there_is_named() -> None:
    operator = with_law(XOR, USES)
    outcome = judged(operator, Computing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor), "UINT8", a=[1], b=[2])
    assert outcome.status == "unsupported"
    assert outcome.message == f"{OR}, which the law uses: no {OR}"

    class Refusing(Computing):
        def run(self, dispatch: Dispatch) -> None:
            if dispatch.desc.type == OR:
                raise Rejected("not today", "compile")
            super().run(dispatch)

    outcome = judged(operator, Refusing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor), "UINT8", a=[1], b=[2])
    assert outcome.status == "fail"
    assert outcome.message == f"{OR}, which the law uses: refused at compile: not today"


def test_types_of_another_operator_that_a_backend_does_not_claim() -> None:
    operator = with_law(
        "ELEMENT_WISE_BIT_COUNT", {"law": "f(a) == pair(a, a)", "given": {"a": "InputTensor"}, "uses": {"pair": OR}}
    )
    backend = Computing(ELEMENT_WISE_BIT_COUNT=np.bitwise_count)
    backend.info = replace(backend.info, data_types=("UINT32",))
    outcome = judged(operator, backend, "UINT16-UINT32", a=[1])
    assert outcome.status == "unsupported"
    assert outcome.message == "computing does not claim UINT16"


def test_the_types_of_another_operator_are_the_first_that_it_takes() -> None:
    cases = {case.id.split("/")[1]: case for case in property_cases(plan_of(load("ELEMENT_WISE_BIT_COUNT"))) if case.relation}
    assert {t for _, t in used_types(plan_of(load(OR)), cases["UINT16-UINT32"].desc).types} == {"UINT16"}
    for case in cases.values():
        assert used_types(plan_of(load("ELEMENT_WISE_BIT_COUNT")), case.desc).types == tuple(
            (n, t.data_type) for n, t in case.desc.tensors()
        )
    with pytest.raises(ValueError, match="does not support UINT16 or UINT32: give the relation the `types`"):
        used_types(plan_of(load(ROUND)), cases["UINT16-UINT32"].desc)


def test_tensors_of_the_same_name_have_the_same_type_in_another_operator() -> None:
    for name, label, expected in (
        ("TOP_K", "INT8-UINT32", {"InputTensor": "INT8", "OutputTensor": "INT8"}),
        ("SCATTER", "FLOAT16-INT64", {"InputTensor": "FLOAT16", "IndicesTensor": "INT64", "OutputTensor": "FLOAT16"}),
    ):
        choice = next(choice for choice in plan_of(load(name)).choices if choice.label == label)
        types = dict(used_types(plan_of(load("GATHER_ELEMENTS")), choice.usual_desc((4,), choice.attributes[0])).types)
        assert types == {"IndicesTensor": types["IndicesTensor"], **expected}


def test_an_operator_without_a_spec_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = with_law(XOR, USES)
    monkeypatch.setattr("dmlcts.generator.sweeps.properties.operator_names", lambda: (XOR,))
    with pytest.raises(ValueError, match=rf"cases\.relations\.it\.uses\.either: {OR} has no spec file"):
        law_cases(operator)


def test_a_law_needs_the_level_of_every_operator_in_it() -> None:
    law = {"law": "f(a, 0) == either(a, a)", "given": {"a": "ATensor"}, "uses": {"either": OR}}
    alone = {
        case.data_type: case for case in property_cases(plan_of(load("ELEMENT_WISE_BIT_SHIFT_RIGHT"))) if case.relation == "by-zero"
    }
    both = {case.data_type: case for case in law_cases(with_law("ELEMENT_WISE_BIT_SHIFT_RIGHT", law))}
    assert [(alone[t].feature_level, both[t].feature_level) for t in ("UINT32", "UINT64")] == [("2_1", "3_0"), ("4_1", "4_1")]


def test_an_optional_input_may_be_left_out() -> None:
    def optional(spec: dict[str, Any]) -> None:
        spec["fields"][1]["optional"] = True

    operator = with_law(OR, {"law": "f(a) == f(a, a)", "given": {"a": "ATensor"}}, optional)
    backend = Computing(ELEMENT_WISE_BIT_OR=lambda a, b=None: a if b is None else a | b)
    assert judged(operator, backend, "UINT8", a=[7, 9]).status == "pass"
    assert [desc.fields["BTensor"] is None for desc in backend.seen] == [True, False]
    wrong = Computing(ELEMENT_WISE_BIT_OR=lambda a, b=None: a + 1 if b is None else a | b)
    assert judged(operator, wrong, "UINT8", a=[7, 9]).status == "fail"


def test_a_law_needs_the_tensors_that_it_is_given() -> None:
    def optional(spec: dict[str, Any]) -> None:
        spec["fields"][1]["optional"] = True

    both = law_cases(with_law(OR, {"law": "f(a, b) == f(b, a)", "given": {"a": "ATensor", "b": "BTensor"}}, optional))
    one = law_cases(with_law(OR, {"law": "f(a) == a", "given": {"a": "ATensor"}}, optional))
    assert {case.desc.fields["BTensor"] is None for case in both} == {False}
    assert {case.desc.fields["BTensor"] is None for case in one} == {False, True}


def test_the_choice_of_a_desc_is_found_again() -> None:
    for case in property_cases(plan_of(load(ROUND))):
        assert choice_of(plan_of(load(ROUND)), case.desc) == {"RoundingMode": case.desc.fields["RoundingMode"]}


# Where a law does not speak


def test_a_law_is_tried_with_its_types_and_attributes_alone() -> None:
    relation = {"law": "f(x) <= x", "given": {"x": "InputTensor"}}
    everywhere = law_cases(with_law(ROUND, relation))
    assert {case.data_type for case in everywhere} == {"FLOAT16", "FLOAT32"}
    one_type = law_cases(with_law(ROUND, {**relation, "types": ["FLOAT16"]}))
    assert {case.data_type for case in one_type} == {"FLOAT16"}
    modes = law_cases(with_law(ROUND, {**relation, "when": "RoundingMode == 'TOWARD_ZERO'"}))
    assert {case.desc.fields["RoundingMode"] for case in modes} == {"TOWARD_ZERO"}
    # Each mode with the first type, and each further type with one of the modes.
    assert len({case.desc.fields["RoundingMode"] for case in one_type}) == len(one_type) == 3
    assert (len(everywhere), len(modes)) == (4, 2)


SPEC_ERRORS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no-such-operator": ({"uses": {"log": "ELEMENT_WISE_LOGG"}, "law": "log(x) == f(x)"}, "uses.log", "the ABI has no operator"),
    "not-called": ({"uses": {"log": "ELEMENT_WISE_LOG"}}, "uses.log", "the law does not call log"),
    "clash-with-a-variable": ({"uses": {"x": "ELEMENT_WISE_LOG"}, "law": "x(x) == f(x)"}, "uses.x", "is reserved in laws"),
    "clash-with-f": ({"uses": {"f": "ELEMENT_WISE_LOG"}}, "uses.f", "is reserved in laws"),
    "clash-with-a-function": (
        {"uses": {"sqrt": "ELEMENT_WISE_SQRT"}, "law": "sqrt(x) == f(x)"},
        "uses.sqrt",
        "is reserved in laws",
    ),
    "clash-with-the-language": ({"uses": {"abs": "ELEMENT_WISE_ABS"}, "law": "abs(x) == f(x)"}, "uses.abs", "is reserved in laws"),
    "variable-that-is-a-function": ({"given": {"near": "InputTensor"}, "law": "f(1) == 1"}, "given.near", "is reserved in laws"),
    "variable-that-is-the-width": (
        {"given": {"width": "InputTensor"}, "law": "f(width) == width"},
        "given.width",
        "is reserved in laws",
    ),
    "unknown-function": ({"law": "g(x) == f(x)"}, "law", "g is not a function"),
    "f-in-a-condition": ({"where": "f(x) == x"}, "where", "f is not a function"),
    "type-of-no-table": ({"types": ["FLOAT32", "UINT8"]}, "types[1]", "no table lists UINT8 for InputTensor"),
    "no-type": ({"types": ["FLOAT8"]}, "types[0]", "unknown 'FLOAT8' (did you mean 'FLOAT64'?); known: FLOAT64"),
    "when-of-no-attribute": ({"when": "Mode == 1"}, "when", "names an unknown tensor or attribute: 'Mode'"),
    "too-many-arguments": ({"law": "f(x, x) == x"}, "law", "f takes 1 input, but f(x, x) passes 2"),
    "no-variables": ({"given": {}, "law": "f(1) == 1"}, "given", "names no tensor, but the operator has inputs"),
    "too-few-arguments": ({"law": "f() == x"}, "law", "f takes 1 input, but f() passes 0"),
}


@pytest.mark.parametrize(("change", "field", "says"), SPEC_ERRORS.values(), ids=SPEC_ERRORS)
def test_an_error_in_a_relation_names_its_field(change: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(ValueError, match=r"^<spec>:1: cases\.relations\.it\.") as error:
        with_law(ROUND, {"law": "f(x) == x", "given": {"x": "InputTensor"}, **change})
    assert f": cases.relations.it.{field}: " in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize(
    "entry",
    [
        {"class": "accumulate"},
        {"class": "product"},
        {"class": "exact", "exceptions": [{"class": "accumulate", "types": ["FLOAT16"]}]},
    ],
)
def test_near_is_refused_where_a_number_alone_has_no_bound(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"relations\.it\.law: near has no bound for tolerance class"):
        with_law(ROUND, {"law": "near(f(x), x)", "given": {"x": "InputTensor"}}, tolerance(**entry))
    assert with_law(ROUND, {"law": "f(x) == x", "given": {"x": "InputTensor"}}, tolerance(**entry)).relations


def test_near_is_about_the_first_output_alone() -> None:
    def two_outputs(spec: dict[str, Any]) -> None:
        spec["fields"].append({"name": "OtherTensor", "kind": "output", "type": "TENSOR_DESC", "optional": True})
        for table in spec["support"]:
            table.setdefault("tensors", {})["OtherTensor"] = table.get("tensors", {}).get(
                "OutputTensor", {"dimensions": "1-8", "types": ["FLOAT32"]}
            )
        spec["tolerance"] = {"class": "exact", "exceptions": [{"class": "accumulate", "of": ["OtherTensor"]}]}

    assert with_law(ROUND, {"law": "near(f(x), x)", "given": {"x": "InputTensor"}}, two_outputs).relations


def test_a_tensor_of_one_value_a_row_is_one_in_a_law() -> None:
    assert sizes_in_law(TensorDesc("FLOAT32", (1, 1, 3, 1)), (3, 4)) == (3, 1)
    assert sizes_in_law(TensorDesc("FLOAT32", (1, 1, 3, 4)), (3, 4)) == (3, 4)
    assert sizes_in_law(TensorDesc("FLOAT32", (1, 1, 1, 1)), (4,)) == (1,)
    assert sizes_in_law(TensorDesc("FLOAT32", (12,)), (3, 4)) == (3, 4)
