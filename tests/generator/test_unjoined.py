"""Five dimensions that no implementation can join: inputs are packed, and outputs have their dimensions in another order."""

from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.sweeps.one_factor.unjoined import unjoined_cases
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations


def cases(name: str, most: str = "core") -> list[Case]:
    return list(unjoined_cases(plan_of(load(name)), most))


def can_be_joined(tensors: list[TensorDesc], outer: int) -> bool:
    """Whether a dimension and the next one are walked along like a single one in all tensors."""
    return all(
        strides[outer] == tensor.sizes[outer + 1] * strides[outer + 1]
        for tensor in tensors
        for strides in [tensor.strides or packed(tensor.sizes)]
    )


def packed(sizes: tuple[int, ...]) -> tuple[int, ...]:
    found = [1]
    for size in sizes[:0:-1]:
        found.insert(0, found[0] * size)
    return tuple(found)


def test_no_two_of_five_dimensions_can_be_joined() -> None:
    for name in ("ACTIVATION_RELU", "ELEMENT_WISE_ADD", "CAST", "JOIN"):
        found = cases(name)
        assert len(found) == len(plan_of(load(name)).choices) == len({case.id for case in found})
        for case in found:
            tensors = [tensor for _, tensor in case.desc.tensors() if tensor.DimensionCount == 5 and 1 not in tensor.sizes]
            assert len(tensors) >= 2
            assert not any(can_be_joined(tensors, outer) for outer in range(4))
            assert case.level == "core"
            assert not violations(case.operator, case.desc)


def test_packed_dimensions_can_be_joined() -> None:
    desc = cases("ACTIVATION_RELU")[0].desc
    assert can_be_joined([desc.tensor("InputTensor")], 0)
    assert not can_be_joined([desc.tensor("OutputTensor")], 0)


def test_operators_without_five_dimensions_and_smoke_have_none() -> None:
    assert cases("GEMM") == []
    assert cases("ACTIVATION_RELU", "smoke") == []
