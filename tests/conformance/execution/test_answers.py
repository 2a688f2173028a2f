"""Right answers: which inputs hold bits, and what flushed denormals are."""

import numpy as np

from dmlcts.conformance.execution.answers import flush_denormals, holds_bits
from dmlcts.spec.reading.loader import load


def test_flush_denormals() -> None:
    x = np.array([1e-40, -1e-40, 0.0, -0.0, np.finfo(np.float32).smallest_normal, 1.5, np.inf, np.nan], np.float32)
    found = flush_denormals(x)
    assert found.dtype == np.float32
    assert found.view(np.uint32).tolist() == [0, 0x80000000, *x.view(np.uint32).tolist()[2:]]
    assert x[0] > 0  # the input is left alone
    for without in (x[2:], np.array([1, 2], np.uint8)):
        assert flush_denormals(without) is without


def test_which_inputs_hold_bits() -> None:
    assert holds_bits(load("ELEMENT_WISE_BIT_COUNT"), "InputTensor")
    assert holds_bits(load("ELEMENT_WISE_BIT_SHIFT_RIGHT"), "BTensor")
    assert not holds_bits(load("ELEMENT_WISE_ROUND"), "InputTensor")
