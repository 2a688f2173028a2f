"""Regions: samples computed one by one, and gradients against central differences and as adjoints."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import MEASURED

USUAL = {
    "ReductionFunction": "AVERAGE",
    "InterpolationMode": "LINEAR",
    "SpatialScaleX": 1.0,
    "SpatialScaleY": 1.0,
    "InputPixelOffset": 0.5,
    "OutputPixelOffset": -0.5,
    "MinimumSamplesPerOutput": 1,
    "MaximumSamplesPerOutput": 1,
    "AlignRegionsToCorners": False,
}

FLOATS = {"float32": "FLOAT32", "float64": "FLOAT32", "uint32": "UINT32", "int32": "INT32"}
"""The reference computes in float64 whatever the type: differences are taken of arrays of float64."""

Array = Any


def descs(**arrays: Array) -> dict[str, TensorDesc]:
    return {name: TensorDesc(FLOATS[array.dtype.name], array.shape) for name, array in arrays.items()}


def aligned(x: Array, regions: Array, size: tuple[int, int], beyond: float = 0.0, **changed: object) -> Answer:
    """ROI_ALIGN1 of regions that lie in the batches in turn."""
    inputs = {"InputTensor": x, "ROITensor": regions, "BatchIndicesTensor": np.arange(len(regions), dtype=np.uint32) % len(x)}
    output = TensorDesc("FLOAT32", (len(regions), x.shape[1], *size))
    fields = {**descs(**inputs), "OutputTensor": output, **USUAL, "OutOfBoundsInputValue": beyond, **changed}
    return compute(OperatorDesc("ROI_ALIGN1", fields), inputs)["OutputTensor"]


def gradients(x: Array, g: Array, regions: Array, batches: Sequence[int] = (), **changed: object) -> dict[str, Answer]:
    """ROI_ALIGN_GRAD of the same, or of regions in these batches."""
    inputs = {"InputTensor": x, "InputGradientTensor": g, "ROITensor": regions}
    inputs["BatchIndicesTensor"] = np.array(batches if batches else np.arange(len(regions)) % len(x), dtype=np.int32)
    outputs = {
        "OutputGradientTensor": TensorDesc("FLOAT32", x.shape),
        "OutputROIGradientTensor": TensorDesc("FLOAT32", regions.shape),
    }
    return compute(OperatorDesc("ROI_ALIGN_GRAD", {**descs(**inputs), **outputs, **USUAL, **changed}), inputs)


@pytest.fixture
def draw() -> np.random.Generator:
    return np.random.default_rng(14)


SETTINGS = [
    {"ReductionFunction": reduction, "InterpolationMode": mode, **more}
    for reduction, mode, more in product(
        ("AVERAGE", "MAX"),
        ("LINEAR", "NEAREST_NEIGHBOR"),
        (
            {},
            {"MinimumSamplesPerOutput": 2, "MaximumSamplesPerOutput": 3, "SpatialScaleX": 0.7},
            {"AlignRegionsToCorners": True, "MaximumSamplesPerOutput": 4, "InputPixelOffset": 0.0, "OutputPixelOffset": 0.25},
        ),
    )
]


def one_by_one(image: Array, region: Array, size: tuple[int, int], beyond: float, fields: dict[str, Any]) -> Array:
    """A region of a single channel, sample by sample, as ROI_ALIGN1's page and DirectML.dll have it."""

    def places(first: float, last: float, count: int, index: int) -> list[float]:
        number = int(np.ceil(abs(last - first) / count))
        number = min(max(number, fields["MinimumSamplesPerOutput"]), fields["MaximumSamplesPerOutput"])
        steps = count * number - (1 if fields["AlignRegionsToCorners"] else 0)
        return [
            ((0.5 if steps == 0 else index * number + k - fields["OutputPixelOffset"]) / max(steps, 1)) * (last - first)
            + first
            - fields["InputPixelOffset"]
            for k in range(number)
        ]

    def sample(y: float, x: float) -> float:
        for at, length in ((y, image.shape[0]), (x, image.shape[1])):
            if not (0 <= at <= length - 1 if fields["AlignRegionsToCorners"] else -1 < at < length):
                return beyond
        y, x = (min(max(at, 0), length - 1) for at, length in zip((y, x), image.shape, strict=True))
        if fields["InterpolationMode"] == "NEAREST_NEIGHBOR":
            return float(image[int(y + 0.5), int(x + 0.5)])
        top, left = int(y), int(x)
        bottom, right = min(top + 1, image.shape[0] - 1), min(left + 1, image.shape[1] - 1)
        upper = image[top, left] * (1 - x + left) + image[top, right] * (x - left)
        lower = image[bottom, left] * (1 - x + left) + image[bottom, right] * (x - left)
        return float(upper * (1 - y + top) + lower * (y - top))

    scale = [float(np.float32(fields[name])) for name in ("SpatialScaleX", "SpatialScaleY")] * 2
    x1, y1, x2, y2 = (float(corner) * by for corner, by in zip(region, scale, strict=True))
    found = np.zeros(size)
    for i, j in np.ndindex(size):
        taken = [sample(y, x) for y in places(y1, y2, size[0], i) for x in places(x1, x2, size[1], j)]
        found[i, j] = max(taken) if fields["ReductionFunction"] == "MAX" else sum(taken) / len(taken)
    return found


@pytest.mark.parametrize("changed", SETTINGS)
def test_samples_one_by_one(changed: dict[str, Any], draw: np.random.Generator) -> None:
    x, regions = draw.uniform(-4, 4, (2, 1, 5, 6)), draw.uniform(-2, 8, (6, 4))
    found = aligned(x, regions, (2, 3), beyond=-3.5, **changed)
    for index, region in enumerate(regions):
        expected = one_by_one(x[index % 2, 0], region, (2, 3), -3.5, {**USUAL, **changed})
        assert np.allclose(found.value[index, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("changed", SETTINGS)
def test_gradient_of_input_is_that_of_central_differences(changed: dict[str, Any], draw: np.random.Generator) -> None:
    x, g, regions = draw.uniform(1, 4, (2, 1, 4, 3)), draw.uniform(-4, 4, (3, 1, 2, 2)), draw.uniform(-1, 5, (3, 4))
    found = gradients(x, g, regions, **changed)["OutputGradientTensor"].value
    step = 2.0**-20
    for at in np.ndindex(x.shape):
        moved = np.zeros(x.shape)
        moved[at] = step
        ends = [np.sum(g * aligned(x + sign * moved, regions, (2, 2), **changed).value) for sign in (1, -1)]
        assert found[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("changed", [setting for setting in SETTINGS if setting["ReductionFunction"] == "AVERAGE"])
def test_gradient_of_input_is_the_adjoint(changed: dict[str, Any], draw: np.random.Generator) -> None:
    x, g, regions = draw.uniform(-4, 4, (2, 3, 4, 5)), draw.uniform(-4, 4, (5, 3, 2, 3)), draw.uniform(-1, 6, (5, 4))
    back = gradients(x, g, regions, **changed)["OutputGradientTensor"].value
    assert np.sum(x * back) == pytest.approx(np.sum(g * aligned(x, regions, (2, 3), **changed).value))


@pytest.mark.parametrize("beyond", [-1, 2, 2**31 - 1])
def test_a_region_of_a_batch_that_there_is_not_adds_to_no_element(beyond: int, draw: np.random.Generator) -> None:
    x, g, regions = draw.uniform(1, 4, (2, 1, 4, 3)), draw.uniform(-4, 4, (3, 1, 2, 2)), draw.uniform(-1, 5, (3, 4))
    wrong = gradients(x, g, regions, batches=[0, beyond, 0])["OutputGradientTensor"].value
    g[1] = 0
    assert np.array_equal(wrong, gradients(x, g, regions, batches=[0, 0, 0])["OutputGradientTensor"].value)


def test_gradient_of_regions_is_the_derivative_where_they_are_shares_of_the_input(draw: np.random.Generator) -> None:
    """As DirectML.dll computes it: with the input's sizes as scales, and an OutputPixelOffset of 0."""
    x, g, regions = draw.uniform(-4, 4, (2, 2, 6, 7)), draw.uniform(-4, 4, (3, 2, 2, 3)), draw.uniform(0.1, 0.9, (3, 4))
    shares = {"SpatialScaleX": 7.0, "SpatialScaleY": 6.0, "OutputPixelOffset": 0.0}
    found = gradients(x, g, regions, **shares)["OutputROIGradientTensor"].contested[MEASURED].value
    step = 2.0**-24
    for at in np.ndindex(regions.shape):
        moved = np.zeros(regions.shape)
        moved[at] = step
        ends = [np.sum(g * aligned(x, regions + sign * moved, (2, 3), **shares).value) for sign in (1, -1)]
        assert found[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-4)


def test_pseudo_code_of_regions() -> None:
    """At 1.75 and 4.25 the slopes are 3 and 9; the weights of the second corner are the indices 0 and 1."""
    x, g = np.array([[[[0.0, 1, 4, 9, 16, 25, 36, 49]]]]), np.array([[[[1.0, 2.0]]]])
    found = gradients(x, g, np.array([[1, 0.25, 6, 0.25]]))["OutputROIGradientTensor"]
    assert found.value.tolist() == [[3 * 8 + 18 * 7, 0, 18, 0]]
    assert found.contested[MEASURED].value.tolist() == [[3 * 8 + 18 * 4, 0, 18 * 4, 0]]


def test_what_the_page_leaves_open_is_not_measured_open() -> None:
    """The nearest of two, the number of samples, and the last half of an element's width."""
    x = np.arange(8.0).reshape(1, 1, 1, 8)
    nearest = aligned(x, np.array([[0, 0, 8, 1.0]]), (1, 4), InterpolationMode="NEAREST_NEIGHBOR")
    assert nearest.value.ravel().tolist() == [1, 3, 5, 7]
    assert np.ravel(nearest.slack).tolist() == [1, 1, 1, 1]
    samples = aligned(x, np.array([[0, 0, 5, 1.0]]), (1, 2), ReductionFunction="MAX", MaximumSamplesPerOutput=8)
    beyond = aligned(x, np.array([[8.25, 0, 8.25, 1.0]]), (1, 1), beyond=-50.0)
    assert beyond.value.item() == 7
    for found, most in ((nearest, 0), (samples, 1e-5), (beyond, 0)):
        assert np.max(found.slack) > 0.1
        assert np.max(found.measured_slack) <= most


def test_a_coordinate_that_float32_does_not_decide_is_open_for_all() -> None:
    """0.1 * 35 is 3.5 in FLOAT32 and beyond in exact arithmetic."""
    x = np.arange(8.0).reshape(1, 1, 1, 8)
    more = {"InterpolationMode": "NEAREST_NEIGHBOR", "InputPixelOffset": 0.0, "SpatialScaleX": 0.1}
    assert np.max(aligned(x, np.array([[35, 0, 35, 0.0]]), (1, 1), **more).measured_slack) == 1
    assert np.max(aligned(x, np.array([[34, 0, 34, 0.0]]), (1, 1), **more).measured_slack) == 0


def test_of_equal_samples_any_may_be_the_maximum() -> None:
    x, g = np.ones((1, 1, 1, 4)), np.ones((1, 1, 1, 1))
    found = gradients(
        x, g, np.array([[0, 0, 4, 1.0]]), ReductionFunction="MAX", MinimumSamplesPerOutput=4, MaximumSamplesPerOutput=4
    )
    first = found["OutputGradientTensor"]
    assert first.value.ravel().tolist() == [1, 0, 0, 0]
    assert np.min(first.measured_slack) >= 1
