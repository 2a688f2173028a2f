"""The choice of random dispatches that differ: generator/diverse."""

from dmlcts.generator.case import Case
from dmlcts.generator.combinations import CASE
from dmlcts.generator.diverse import most_different
from dmlcts.generator.factors import model_of
from dmlcts.generator.numbered import case_of, genes_of
from dmlcts.generator.plan import plan_of
from dmlcts.generator.suite import operator_cases
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.loader import load


def drawn(name: str, count: int, work: int = 1 << 12) -> list[Case]:
    model = model_of(plan_of(load(name)))
    found = (case_of(model, genes_of(name, "test", number), f"test-{number}", (work,)) for number in range(2 * count))
    return [case for case in found if case is not None][:count]


def chosen(name: str, cases: list[Case], most: int, first: tuple[int, ...] = ()) -> list[int]:
    found = list(first)
    most_different(model_of(plan_of(load(name))), cases, found, most)
    return found


def test_they_differ_more_than_as_many_others() -> None:
    cases = drawn("ELEMENT_WISE_ADD", 200)
    found = chosen("ELEMENT_WISE_ADD", cases, 40)

    def threes(of: list[Case]) -> set[tuple[object, ...]]:
        return {
            (case.data_type, rank, size % 8, at)
            for case in of
            for rank in [case.desc.tensor("ATensor").DimensionCount]
            for at, size in enumerate(case.desc.tensor("OutputTensor").sizes[::-1])
        }

    assert len(set(found)) == len(found) == 40
    assert len(threes([cases[at] for at in found])) > 1.15 * len(threes(cases[:40]))


def test_those_already_chosen_stay_first_and_the_choice_is_always_the_same() -> None:
    cases = drawn("ELEMENT_WISE_ADD", 60)
    found = chosen("ELEMENT_WISE_ADD", cases, 20, (7, 3))
    assert found[:2] == [7, 3]
    assert found == chosen("ELEMENT_WISE_ADD", cases, 20, (7, 3))


def test_what_brings_nothing_is_left_out() -> None:
    one, other = drawn("ELEMENT_WISE_ADD", 2)
    assert len(chosen("ELEMENT_WISE_ADD", [one, other, one, one], 4)) == 2


def test_a_dispatch_costs_its_elements() -> None:
    """Of two that differ as much from the others, the smaller comes first."""
    small, *_ = (case for case in drawn("ACTIVATION_RELU", 20, 1 << 6) if case.desc.tensor("InputTensor").count < 64)
    sizes = (1000 * CASE, *small.desc.tensor("InputTensor").sizes[1:])
    tensors = {name: TensorDesc(tensor.data_type, sizes) for name, tensor in small.desc.tensors()}
    large = Case(small.id, small.kind, small.level, small.desc.with_tensors(tensors), small.operator, small.data_type, "1_0")
    assert chosen("ACTIVATION_RELU", [large, small], 1) == [1]


def test_outputs_that_may_be_smaller_are_often_as_large_as_they_may_be() -> None:
    """As most slices are: of a window whose elements are all copied."""
    cases = [case for case in operator_cases("SLICE1", "full") if case.kind == "random"]
    large = [case for case in cases if max(case.desc.tensor("OutputTensor").sizes) > 256]
    assert len(large) > len(cases) / 20
