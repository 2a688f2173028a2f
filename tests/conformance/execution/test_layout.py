"""Buffers before a run: what outputs are filled with is never the right answer, nor can it be turned into it."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from wrong_backends import OR, ROUND, XOR, Good, run

from dmlcts.conformance.backends.backend import BackendInfo, Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.layout import lay_out, poison
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case
from dmlcts.generator.values.special_sets import special_values
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import Tolerance


def some(name: str) -> np.ndarray:
    """Elements of a data type: random bits, and the special ones."""
    if data_type(name).bits < 8:
        return np.arange(-8, 8).astype(ml_dtypes.int4) if name == "INT4" else np.arange(16).astype(ml_dtypes.uint4)
    patterns = np.frombuffer(np.random.default_rng(8).bytes(2000 * numpy_dtype(name).itemsize), numpy_dtype(name))
    sets = ("bit-patterns", "single-bits", "zeros", "infinities", "nans", "denormals", "large-integers")
    return np.concatenate([patterns, *(special_values(set_name, name) for set_name in sets)])


@pytest.mark.parametrize("name", abi().data_types)
@pytest.mark.parametrize("key", [0, 1, 2**32 - 1])
def test_poison_is_never_the_answer(name: str, key: int) -> None:
    """Not as a number, not in bits, and not by any tolerance that knows flushed denormals."""
    right = some(name)
    found = poison(Answer(right), TensorDesc(name, right.shape), key)
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    flushing = BackendInfo("any", denormals="any")
    for compare in ("value", "bits") if data_type(name).bits >= 8 else ("value",):
        verdict = judge(found, Answer(right), Tolerance("exact", compare), name, flushing)
        assert verdict.wrong == right.size, compare


@pytest.mark.parametrize("name", abi().data_types)
def test_poison_is_far_from_the_answer(name: str) -> None:
    right = some(name)
    found = poison(Answer(right), TensorDesc(name, right.shape), 5)
    if data_type(name).is_float:
        assert (np.isnan(found) == (right == 0)).all()
        others = found[right != 0].astype(np.longdouble)
        assert (np.abs(others) >= np.longdouble(2) ** (np.finfo(name.lower()).maxexp - 1)).all()
        numbers = ~np.isnan(right[right != 0])
        assert (np.signbit(others) != np.signbit(right[right != 0]))[numbers].all()
    else:
        distances = [abs(int(one) - int(other)) for one, other in zip(found, right, strict=True)]
        assert min(distances) >= 3 << (data_type(name).bits - 3)


@pytest.mark.parametrize("name", abi().data_types)
def test_no_mask_turns_poison_into_the_answer(name: str) -> None:
    """Of many elements with one right answer each has its own, in every second of the lower bits."""
    bits = data_type(name).bits
    right = np.ones(4 * 65_521, numpy_dtype(name))
    patterns = poison(Answer(right), TensorDesc(name, right.shape), 5).view(bits_dtype(name))
    masks = patterns ^ right.view(bits_dtype(name))
    lower = np.finfo(name.lower()).nmant if data_type(name).is_float else bits - 2
    for bit in range(lower):
        assert 0.45 < np.mean((masks >> masks.dtype.type(bit)) & masks.dtype.type(1)) < 0.55, bit
    assert (patterns[:65_521] == patterns[65_521:131_042]).all()


def test_poison_follows_from_the_case_and_the_tensor() -> None:
    case = find_case(OR)
    answers = compute(case.desc, inputs(case))
    one, again, other = (
        lay_out(each, inputs(case), answers).resources[2].tobytes() for each in (case, case, replace(case, id="another"))
    )
    assert one == again != other
    right = Answer(np.ones(100, np.float32))
    assert (poison(right, TensorDesc("FLOAT32", (100,)), 1) != poison(right, TensorDesc("FLOAT32", (100,)), 2)).all()


def test_poison_of_an_unrounded_answer_is_that_of_what_it_rounds_to() -> None:
    found = poison(Answer(np.array([1.0, 1e300, 1e-300])), TensorDesc("FLOAT32", (3,)), 0)
    again = poison(Answer(np.array([1.0, np.inf, 0.0])), TensorDesc("FLOAT32", (3,)), 0)
    assert found.view(np.uint32).tolist() == again.view(np.uint32).tolist()


@pytest.mark.parametrize("case", [OR, XOR, ROUND])
@pytest.mark.parametrize("mask", ["all", "highest", "all but the highest"])
def test_one_that_inverts_what_it_finds_fails(case: str, mask: str) -> None:
    """As a kernel that was never launched does, where the last step changes between signed and unsigned numbers."""

    def inverting(dispatch: Dispatch) -> None:
        tensor, binding = dispatch.desc.tensor("OutputTensor"), dispatch.bindings["OutputTensor"]
        resource, every, highest = dispatch.resources[binding.resource], (1 << tensor.type.bits) - 1, 1 << (tensor.type.bits - 1)
        found = read_tensor(resource, tensor, binding.offset)
        inverted = found.view(bits_dtype(tensor.data_type)) ^ bits_dtype(tensor.data_type).type(
            {"all": every, "highest": highest}.get(mask, every ^ highest)
        )
        write_tensor(resource, tensor, inverted.view(found.dtype), binding.offset)

    result = run(case, Good(instead=inverting))
    assert result.status == "fail"
    assert result.wrong > result.elements * 0.9


def test_what_lies_before_an_input_is_nan_in_some_cases_and_a_number_in_others() -> None:
    """NaN shows a kernel that multiplies what it reads outside by 0, a number one that treats it as an element."""
    found = set()
    for number in range(8):
        case = replace(find_case(ROUND), id=f"{ROUND}/{number}")
        layout = lay_out(case, inputs(case), {})
        binding = layout.dispatch.bindings["InputTensor"]
        before = layout.resources[binding.resource][binding.offset - 16 : binding.offset]
        found.add(bool(np.isnan(before.view(np.float32)).all()))
    assert found == {False, True}
