"""benchmarks/gpu.py on the stand-in for CuPy, so that nothing but the GPU is new when it runs on one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from device_arrays import NAMESPACE

FILE = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
ONE = 0x3F800000
"""The bits of 1.0."""


@pytest.fixture(scope="module")
def gpu() -> ModuleType:
    found = importlib.util.spec_from_file_location("gpu", FILE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Device:
    """The stand-in, with what waits for a GPU."""

    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(synchronize=lambda: None))

    def __getattr__(self, name: str) -> Any:
        return getattr(NAMESPACE, name)


@np.errstate(all="ignore")
def test_each_formula_is_the_operators_and_another_is_found(gpu: ModuleType) -> None:
    """Over 1,024 values around 1.0, where no formula cancels."""
    tried = 0
    for operator, desc in gpu.unary():
        if operator.name not in gpu.UNARY:
            continue
        formula = gpu.UNARY[operator.name]

        def values(_: int, count: int) -> tuple[Any, ...]:
            return gpu.every_value(NAMESPACE, ONE - 512, count)

        def off(xp: Any, x: Any, of: Any, formula: Any = formula) -> Any:
            return formula(xp, x, of) + xp.float32(0.01)

        right, wrong = (
            gpu.largest_error(NAMESPACE, operator, gpu.sized(desc, 1024), values, each, most=1024) for each in (formula, off)
        )
        assert right["most_ulp"] < 8, right
        assert right["other_specials"] == 0, right
        assert wrong["most_ulp"] > 1000 or wrong["other_specials"] > 0, wrong
        tried += 1
    assert tried == len(gpu.UNARY)


@np.errstate(all="ignore")
def test_each_pair_is_tried_once_and_in_order(gpu: ModuleType) -> None:
    pairs = [
        np.stack([half.get().view(np.uint16).ravel() for half in gpu.every_pair(NAMESPACE, start, 8)])
        for start in (0, 0xFFFC, 0xFFFFFFF8)
    ]
    assert pairs[0].tolist() == [[0] * 8, list(range(8))]
    assert pairs[1].tolist() == [[0] * 4 + [1] * 4, [0xFFFC, 0xFFFD, 0xFFFE, 0xFFFF, 0, 1, 2, 3]]
    assert pairs[2].tolist() == [[0xFFFF] * 8, list(range(0xFFF8, 0x10000))]


@np.errstate(all="ignore")
def test_each_function_of_two_is_the_operators(gpu: ModuleType) -> None:
    """Over pairs from (1.0, 0.0) on: all values beside 1.0."""
    for operator, desc in gpu.binary():

        def pairs(start: int, count: int) -> tuple[Any, ...]:
            return gpu.every_pair(NAMESPACE, 0x3C000000 + start, count)

        found = gpu.largest_error(
            NAMESPACE, operator, gpu.sized(desc, 1 << 15), pairs, gpu._of_two(gpu.BINARY[operator.name]), most=1 << 16
        )
        assert found["most_ulp"] <= 0.51, found


def test_times_are_taken_of_the_operator_that_is_named(gpu: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {
        label: (name, {tensor: tuple(min(size, 16) for size in sizes) for tensor, sizes in tensors.items()})
        for label, (name, tensors) in gpu.SIZES.items()
    }
    small.pop(next(label for label in small if label.startswith("convolution")))  # whose sizes depend on one another
    monkeypatch.setattr(gpu, "SIZES", small)
    assert [each["what"] for each in gpu.times(Device(), 1)] == list(small)
