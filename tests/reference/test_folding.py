"""Windows copied out and added up, against loops over windows."""

from itertools import product
from math import prod

import numpy as np
import pytest

from dmlcts.reference.operators.data_movement.folding import Window, added_up, copied_out
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

WINDOWS = [  # size, taps, blocks, stride, dilation, padding
    [Window(5, 3, 3, 1, 1, 0)],
    [Window(4, 2, 4, 2, 3, 3)],
    [Window(5, 2, 3, 2, 1, 1), Window(3, 3, 1, 1, 2, 1)],
    [Window(2, 2, 2, 1, 1, 1), Window(3, 2, 2, 1, 1, 0), Window(4, 1, 4, 1, 1, 0)],
]


@pytest.mark.parametrize("along", WINDOWS)
def test_windows_as_columns_and_back(along: list[Window]):
    sizes = [window.size for window in along]
    x = np.arange(1, 1 + 6 * prod(sizes)).reshape(2, 3, *sizes)
    columns = np.zeros((2, 3, prod(w.taps for w in along), prod(w.blocks for w in along)), x.dtype)
    counts = np.zeros_like(x)
    for row, taps in enumerate(product(*(range(window.taps) for window in along))):
        for column, blocks in enumerate(product(*(range(window.blocks) for window in along))):
            at = tuple(b * w.stride + t * w.dilation - w.padding for t, b, w in zip(taps, blocks, along, strict=True))
            if all(0 <= place < window.size for place, window in zip(at, along, strict=True)):
                columns[:, :, row, column] = x[(..., *at)]
                counts[(..., *at)] += 1
    columns = columns.reshape(2, -1, columns.shape[-1])
    assert np.array_equal(copied_out(np, x, along), columns)
    assert np.array_equal(added_up(np, columns, along), x * counts)


@pytest.mark.parametrize(("data_type", "total"), [("INT8", 127), ("UINT16", 65535), ("INT32", -(2**31)), ("UINT64", 0)])
def test_integers_of_8_and_16_bits_saturate_and_others_wrap(data_type: str, total: int):
    dtype = np.dtype(data_type.lower())
    x = np.array([[[0, np.iinfo(dtype).max], [1, 0]]], dtype)
    rows = dict.fromkeys(("Strides", "Dilations", "StartPadding", "EndPadding"), (1,))
    tensors = {"InputTensor": TensorDesc(data_type, (1, 2, 2)), "OutputTensor": TensorDesc(data_type, (1, 1, 1))}
    desc = OperatorDesc("FOLD", {**tensors, "DimensionCount": 1, "WindowSizes": (2,), **rows})
    assert compute(desc, {"InputTensor": x})["OutputTensor"].value.tolist() == [[[total]]]
