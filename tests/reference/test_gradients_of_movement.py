"""SLICE_GRAD and the gradients of resampling as adjoints of their forward operators: <f(x), g> == <x, grad(g)>."""

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

from dmlcts.reference.operators.resampling.coordinates import ScaledAxis
from dmlcts.reference.operators.resampling.gradients import return_gradient
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import MEASURED

SOURCE, TARGET = (2, 5, 7), (2, 3, 9)


def _inner_products(forward: str, gradient: str, target: Sequence[int], **fields: object) -> tuple[float, float, float]:
    """Both inner products as the page has it, and the second one as it was measured."""
    generator = np.random.default_rng(1)
    x, g = (generator.standard_normal(sizes).astype(np.float32) for sizes in (SOURCE, tuple(target)))
    small, large = TensorDesc("FLOAT32", tuple(target)), TensorDesc("FLOAT32", SOURCE)
    fields = {"DimensionCount": len(SOURCE), **fields}
    there = compute(OperatorDesc(forward, {"InputTensor": large, "OutputTensor": small, **fields}), {"InputTensor": x})[
        "OutputTensor"
    ]
    back = compute(
        OperatorDesc(gradient, {"InputGradientTensor": small, "OutputGradientTensor": large, **fields}), {"InputGradientTensor": g}
    )["OutputGradientTensor"]
    measured = back.contested.get(MEASURED, back)
    return float(np.sum(there.value * g)), float(np.sum(x * back.value)), float(np.sum(x * measured.value))


@pytest.mark.parametrize("strides", [(1, 2, -1), (-1, 1, 2)])
def test_slice_grad(strides: tuple[int, ...]) -> None:
    fields = {"InputWindowOffsets": (0, 1, 2), "InputWindowSizes": (2, 4, 5), "InputWindowStrides": strides}
    ours, back, _ = _inner_products("SLICE1", "SLICE_GRAD", (2, 2, 3), **fields)
    assert back == pytest.approx(ours, rel=1e-5)


@pytest.mark.parametrize("mode", ["NEAREST_NEIGHBOR", "LINEAR"])
@pytest.mark.parametrize(
    ("forward", "gradient", "more"),
    [("RESAMPLE1", "RESAMPLE_GRAD", {}), ("RESAMPLE2", "RESAMPLE_GRAD1", {"RoundingDirection": "INCREASING"})],
)
def test_resample_grad(forward: str, gradient: str, more: dict[str, object], mode: str) -> None:
    fields = {"InterpolationMode": mode, "Scales": (1.0, 0.6, 1.3), **more}
    offsets = {"InputPixelOffsets": (0.0, 0.3, 0.5), "OutputPixelOffsets": (0.0, 0.1, -0.4)}
    ours, back, exchanged = _inner_products(forward, gradient, TARGET, **fields, **offsets)
    assert back == pytest.approx(ours, rel=1e-5)
    assert exchanged != pytest.approx(ours, rel=1e-5)


def test_what_lies_between_two_axes_is_no_larger_than_both_ends() -> None:
    """One axis becomes 3,000 elements long, the other one short: taken in the other order, 72 MB lie between."""
    axes = [ScaledAxis(0, 3000, 1, 1.0, 0.0, 0.0), ScaledAxis(1, 1, 3000, 1.0, 0.0, 0.0)]
    gradient, grows, shrinks = np.arange(3000.0)[None], np.ones((1, 3000)), np.ones((3000, 1))
    tracemalloc.start()
    found = return_gradient(np, gradient, axes, [grows, shrinks])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == [[gradient.sum()]] * 3000
    assert peak < 1 << 20
