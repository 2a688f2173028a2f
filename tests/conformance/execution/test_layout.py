"""Buffers before a run: what outputs are filled with is never the right answer."""

import ml_dtypes
import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.layout import poison
from dmlcts.generator.special import special_values
from dmlcts.reference.answer import Answer
from dmlcts.spec.abi import abi, data_type
from dmlcts.spec.desc import TensorDesc
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.model import Tolerance


@pytest.mark.parametrize("name", abi().data_types)
def test_poison_is_never_the_answer(name: str) -> None:
    """Not as a number, not in bits, and not by any tolerance that knows flushed denormals."""
    if data_type(name).bits < 8:
        right = np.arange(-8, 8).astype(ml_dtypes.int4) if name == "INT4" else np.arange(16).astype(ml_dtypes.uint4)
    else:
        patterns = np.frombuffer(np.random.default_rng(8).bytes(2000 * numpy_dtype(name).itemsize), numpy_dtype(name))
        sets = ("bit-patterns", "single-bits", "zeros", "infinities", "nans", "denormals", "large-integers")
        right = np.concatenate([patterns, *(special_values(set_name, name) for set_name in sets)])
    found = poison(Answer(right), TensorDesc(name, right.shape))
    assert found is not None
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    flushing = BackendInfo("any", denormals="any")
    for compare in ("value", "bits") if data_type(name).bits >= 8 else ("value",):
        verdict = judge(found, Answer(right), Tolerance("exact", compare), name, flushing)
        assert verdict.wrong == right.size, compare


def test_poison_of_an_unrounded_answer_is_that_of_what_it_rounds_to() -> None:
    found = poison(Answer(np.array([1.0, 1e300])), TensorDesc("FLOAT32", (2,)))
    assert found is not None
    assert found.view(np.uint32).tolist() == [0x3F800000 ^ 0xFFFFFFFF, 0x7F800000 ^ 0xFFFFFFFF]
    assert poison(None, TensorDesc("FLOAT32", (2,))) is None
