"""Winograd's transforms give the sums of a convolution, but for rounding; other windows are left to the reference."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.faults.legal.legal import false_alarms, legal_of
from dmlcts.conformance.faults.legal.winograd import by_transforms
from dmlcts.conformance.faults.model.mutant import MutantBackend
from dmlcts.generator.suite.suite import find_case
from dmlcts.reference.operators.convolution.windows import Geometry, Index, Layer, accumulate, forward
from dmlcts.reports.record.record import FAIL
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED


def layer(image: Index, start: Index, end: Index, window: Index = (3, 3), strides: Index = (1, 1)) -> Layer:
    random = np.random.default_rng(1)
    x, w = random.normal(size=(2, 2, 3, *image)).astype(np.float32), random.normal(size=(2, 4, 3, *window))
    sizes = tuple(
        (size + before + after - reach) // stride + 1
        for size, before, after, reach, stride in zip(image, start, end, window, strides, strict=True)
    )
    return Layer(x, w, Geometry(strides, (1, 1), start, sizes), forward)


def of_reference(xp: object, of: Layer) -> np.ndarray:
    return accumulate(np, of)


@pytest.mark.parametrize(
    ("image", "start", "end"),
    [
        ((9, 8), (1, 1), (1, 1)),
        ((5, 7), (0, 2), (1, 0)),
        ((3, 3), (0, 0), (0, 0)),
        ((1, 8), (1, 1), (1, 1)),
        ((8, 4), (3, 0), (0, 3)),
    ],
)
def test_the_sums_are_those_of_the_reference_but_for_rounding(image: Index, start: Index, end: Index) -> None:
    of = layer(image, start, end)
    found, right = by_transforms(of_reference, np, of), accumulate(np, of)
    assert found.shape == right.shape
    assert 0 < np.abs(found - right).max() < 1e-5


@pytest.mark.parametrize(("window", "strides"), [((3, 2), (1, 1)), ((3, 3), (1, 2))])
def test_other_windows_are_left_to_the_reference(window: Index, strides: Index) -> None:
    of = layer((9, 8), (1, 1), (1, 1), window, strides)
    assert (by_transforms(of_reference, np, of) == accumulate(np, of)).all()


def test_documented_cases_call_it_legal() -> None:
    assert false_alarms("CONVOLUTION", "core", DOCUMENTED, "winograd") == (1, [])


def test_what_tells_it_near_overflow_is_measured() -> None:
    case = find_case("CONVOLUTION/FLOAT32/values/uneven-3x3.of-magnitudes-x-ones/StartPadding=1,2/EndPadding=0,1")
    backend = MutantBackend(legal_of("CONVOLUTION")["legal/winograd"])
    assert execute(case, backend, backend.describe()).status == FAIL
    assert (case.basis, backend.mutant.basis) == (MEASURED, MEASURED)
