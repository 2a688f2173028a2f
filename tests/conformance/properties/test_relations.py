"""Property cases: all examples at once, and what becomes of one that fails."""

import numpy as np
import pytest
from laws_on_trial import OR, ROUND, XOR, Array, Computing, draft_of, example_of, tried

from dmlcts.conformance.backends.backend import BackendInfo, Unsupported
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.properties.examples import agreement_cases
from dmlcts.conformance.properties.law_dispatch import LawTrial
from dmlcts.generator.case.case import RELATION
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.values.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS

# All examples at once


def test_every_call_of_a_law_is_one_dispatch_of_all_examples() -> None:
    backend = Computing(ELEMENT_WISE_BIT_XOR=np.bitwise_xor)
    assert tried(f"{XOR}/UINT8/property/associative", backend, 100).status == "pass"
    assert [desc.tensor("ATensor").sizes for desc in backend.seen] == [(1, 1, 100, 8)] * 4


def test_the_examples_are_different_and_follow_from_case_and_seed() -> None:
    label = f"{XOR}/UINT32/property/commutative"
    draft = draft_of(label)
    assert draft.keys() == {"a", "b"}
    assert all(array.shape == (25, 8) and len(np.unique(array)) == 200 for array in draft.values())
    assert not (draft["a"] == draft["b"]).any()
    assert (draft_of(label)["a"] == draft["a"]).all()
    assert not (draft_of(label.replace("commutative", "inverts-itself"))["a"] == draft["a"]).any()


@pytest.mark.parametrize("at", [(0, 0), (24, 7), (13, 3)])
def test_a_law_that_one_value_of_the_batch_breaks_fails_with_that_value(at: tuple[int, int]) -> None:
    label = f"{ROUND}/FLOAT32/property/odd/HALVES_TO_NEAREST_EVEN"
    wrong = draft_of(label)["x"][at]
    result = tried(label, Computing(ELEMENT_WISE_ROUND=lambda x: np.where(x == wrong, np.rint(x) + 1, np.rint(x))))
    assert result.status == "fail"
    example = example_of(result)
    literal = example.data["x"].literal
    assert literal is not None
    assert len(literal.data) == 1
    assert abs(float(literal.data[0])) == abs(wrong)
    assert f"f(-x) == -f(x) does not hold for x = {literal.data[0]}" in result.message
    assert tried(example, ReferenceBackend()).status == "pass"


def test_an_odd_function_that_is_one_passes() -> None:
    assert tried(f"{ROUND}/FLOAT32/property/odd/HALVES_TO_NEAREST_EVEN", Computing(ELEMENT_WISE_ROUND=np.rint)).status == "pass"


def test_a_failure_that_hypothesis_cannot_find_is_cut_down_to_the_element() -> None:
    """One value of 2^64 is wrong."""
    label = f"{XOR}/UINT64/property/cancels-itself"
    wrong = draft_of(label)["a"][17, 5]
    result = tried(label, Computing(ELEMENT_WISE_BIT_XOR=lambda a, b: (a ^ b) | (a == wrong)))
    assert result.status == "fail"
    assert result.message == f"f(a, a) == 0 does not hold for a = {wrong} ({wrong:#x}) (example of cancels-itself, cut down)"
    literal = example_of(result).data["a"].literal
    assert literal is not None
    assert literal.data == (int(wrong),)


def test_a_failure_that_needs_many_elements_keeps_them() -> None:
    """From the 65th element on nothing is computed: no small example shows it."""

    def short(a: Array, b: Array) -> Array:
        flat = (a ^ b).ravel()
        flat[64:] = a.ravel()[64:]
        return flat.reshape(a.shape)

    label = f"{XOR}/UINT32/property/commutative"
    result = tried(label, Computing(ELEMENT_WISE_BIT_XOR=short))
    assert result.status == "fail"
    literal = example_of(result).data["a"].literal
    assert literal is not None
    assert 64 < len(literal.data) <= 128
    assert tried(example_of(result), Computing(ELEMENT_WISE_BIT_XOR=short)).status == "fail"


def test_agreement_that_one_value_breaks_is_cut_down_too() -> None:
    case = find_case(f"{OR}/UINT64/property/agreement")
    reference = ReferenceBackend()
    trial = LawTrial(case, reference, reference.info, None)
    _, tenth = list(agreement_cases(trial, 25, case.id))[10]
    wrong = case_inputs(tenth)["ATensor"].flat[-1]
    result = tried(case, Computing(ELEMENT_WISE_BIT_OR=lambda a, b: np.where(a == wrong, 0, a | b)))
    assert result.status == "fail"
    assert result.message.endswith("(example of agreement, cut down)")
    example = example_of(result)
    assert all(data.literal is not None and len(data.literal.data) == 1 for data in example.data.values())
    assert example.data["ATensor"].literal.data == (int(wrong),)  # type: ignore[union-attr]
    assert all(tensor.strides is None for _, tensor in example.desc.tensors())


@pytest.mark.parametrize("at", [1, 2])
def test_a_law_that_is_broken_only_once_fails_and_says_so(at: int) -> None:
    counts = iter(range(1, 10_000))

    def racing(a: Array, b: Array) -> Array:
        return a ^ b ^ a.dtype.type(next(counts) == at)

    result = tried(f"{XOR}/UINT8/property/commutative", Computing(ELEMENT_WISE_BIT_XOR=racing))
    assert result.status == "fail"
    assert "does not fail every time: the backend is not deterministic" in result.message
    assert example_of(result).expect == RELATION


def test_a_crash_while_an_example_is_cut_down_is_an_error() -> None:
    label = f"{XOR}/UINT64/property/cancels-itself"
    wrong = draft_of(label)["a"][0, 0]
    counts: list[int] = []

    def dying(a: Array, b: Array) -> Array:
        if (a == wrong).any():
            counts.append(1)
            if len(counts) == 3:
                raise OSError("gone")
        return (a ^ b) | (a == wrong)

    result = tried(label, Computing(ELEMENT_WISE_BIT_XOR=dying))
    assert (result.status, len(counts)) == ("error", 3)
    assert "OSError: gone (an example of cancels-itself)" in result.message


@pytest.mark.parametrize("label", [f"{XOR}/UINT8/property/cancels-itself", f"{OR}/UINT64/property/agreement"])
def test_a_failure_that_is_unsupported_when_it_is_run_again_stays_one(label: str) -> None:
    calls: list[int] = []

    def once(a: Array, b: Array) -> Array:
        calls.append(1)
        if len(calls) > 1:
            raise Unsupported("the device was lost")
        return ~(a | b)

    result = tried(label, Computing(ELEMENT_WISE_BIT_XOR=once, ELEMENT_WISE_BIT_OR=once))
    assert result.status == "fail"
    assert "does not fail every time: the backend is not deterministic" in result.message
    assert example_of(result).expect in (RELATION, "reference")


def test_a_failure_is_cut_down_to_the_smallest_example_that_is_supported() -> None:
    def from_four_on(a: Array, b: Array) -> Array:
        if a.size < 4:
            raise Unsupported("tiny tensors")
        return a ^ b | 1

    result = tried(f"{XOR}/UINT32/property/cancels-itself", Computing(ELEMENT_WISE_BIT_XOR=from_four_on))
    assert result.status == "fail"
    assert "deterministic" not in result.message
    literal = example_of(result).data["a"].literal
    assert literal is not None
    assert literal.sizes == (4,)


def test_examples_of_agreement_have_every_size_and_every_layout() -> None:
    case = find_case(f"{OR}/UINT64/property/agreement")
    drafts = [draft for draft, _ in agreement_cases(LawTrial(case, None, BackendInfo("none"), None), 100, case.id)]  # type: ignore[arg-type]
    for axis in range(4):
        assert {draft.run[axis] for draft in drafts} == {1, 2, 3, 4, 5}
    assert {draft.layouts["BTensor"] for draft in drafts} == set(INPUT_LAYOUTS)
    assert {draft.layouts["OutputTensor"] for draft in drafts} == set(OUTPUT_LAYOUTS)
