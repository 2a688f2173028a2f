"""Resampling: values computed by hand, exact and inexact coordinates, and the steps in which DirectML.dll antialiases."""

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.operators.resampling.antialiased import steps
from dmlcts.reference.operators.resampling.coordinates import ScaledAxis, coordinates
from dmlcts.reference.operators.resampling.resample import shrinking_first
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Tolerance

TYPES = {"float32": "FLOAT32", "float16": "FLOAT16", "int8": "INT8"}


def answer_of(x: np.ndarray, count: int, scale: float, mode: str, name: str = "RESAMPLE", **more: object):
    """The answer for a row of elements."""
    fields = {
        "InputTensor": TensorDesc(TYPES[x.dtype.name], x.shape),
        "OutputTensor": TensorDesc(TYPES[x.dtype.name], (count,)),
        "InterpolationMode": mode,
        "Scales": (scale,),
        **more,
    }
    return compute(OperatorDesc(name, fields), {"InputTensor": x})["OutputTensor"]


ROW = np.array([0, 1, 10, 100], np.float32)


def test_interpolated_between_the_nearest_two():
    found = answer_of(ROW, 8, 2.0, "LINEAR")
    assert found.value.tolist() == [0, 0.25, 0.75, 3.25, 7.75, 32.5, 77.5, 100]
    assert not np.any(found.slack), "coordinates in quarters are exact"


def test_an_inexact_coordinate_has_a_slack_that_grows_with_the_slope():
    found = answer_of(ROW, 12, 3.0, "LINEAR")
    assert found.slack[8] > found.slack[5] > found.slack[2] > 0
    assert found.slack.max() < 2e-4


def test_of_two_nearest_elements_the_page_allows_both_and_the_measurement_the_next():
    found = answer_of(ROW, 2, 0.5, "NEAREST_NEIGHBOR")
    assert found.value.tolist() == [1, 100]
    assert found.slack.tolist() == [1, 90]
    assert not np.any(found.measured_slack)


def test_where_float32_does_not_decide_the_measurement_does_neither():
    found = answer_of(ROW, 4, 1.5, "NEAREST_NEIGHBOR")  # coordinates -1/6, 1/2, 7/6, 11/6
    assert found.measured_slack.tolist() == [0, 1, 0, 0]


def test_beside_what_is_not_finite_a_tie_is_not_defined():
    found = answer_of(np.array([1, np.inf, 2, 3], np.float32), 2, 0.5, "NEAREST_NEIGHBOR")
    assert np.broadcast_to(found.defined, (2,)).tolist() == [False, True]


def test_integers_are_rounded_toward_zero_as_measured_and_anyhow_as_documented():
    found = answer_of(np.array([-4, -3], np.int8), 4, 2.0, "LINEAR")
    assert found.result.tolist() == [-4, -3, -3, -3]
    assert found.slack.min() > 0.49
    assert found.measured_slack.max() < 1e-4


def wrong_elements(found: np.ndarray, answer: object) -> int:
    kind = TYPES[found.dtype.name]
    return judge(found, answer, Tolerance("discrete" if kind == "INT8" else "accumulate"), kind, BackendInfo("any")).wrong


SMALL = np.random.default_rng(4).integers(-128, 128, 33).astype(np.int8)


@pytest.mark.parametrize("scale", [2.0, 4.0, 0.5, 0.25, 1.0])
def test_a_whole_number_that_float32_interpolates_exactly_is_the_only_right_one(scale: float):
    answer = answer_of(SMALL, int(33 * scale), scale, "LINEAR")
    whole = answer.value == np.rint(answer.value)
    assert whole.any()
    for rounded in (np.rint, np.trunc, np.floor, np.ceil):
        assert not wrong_elements(rounded(answer.value).astype(np.int8), answer)
    for off in (-1, 1):
        beside = np.clip(np.where(whole, answer.value + off, np.rint(answer.value)), -128, 127)
        assert wrong_elements(beside.astype(np.int8), answer) == np.count_nonzero(whole & (beside != answer.value))


@pytest.mark.parametrize("scale", [3.0, 1.3, 0.7, 2.0, 0.25])
@pytest.mark.parametrize("rounded", [np.rint, np.trunc, np.floor, np.ceil])
def test_integers_interpolated_in_float32_pass_however_they_are_rounded(scale: float, rounded: np.ufunc):
    count, one = int(33 * scale), np.float32(1)
    answer = answer_of(SMALL, count, float(np.float32(scale)), "LINEAR")
    outputs, factor, half = np.arange(count, dtype=np.float32), np.float32(scale), np.float32(0.5)
    for at in (
        (outputs + half) / factor - half,
        (outputs + half) * (one / factor) - half,
        outputs / factor + (half / factor - half),
    ):
        below = np.floor(at)
        low, high = (SMALL[np.clip(below + step, 0, 32).astype(int)].astype(np.float32) for step in (0, 1))
        weight = at - below
        for value in (low * (one - weight) + high * weight, low + weight * (high - low)):
            assert value.dtype == np.float32
            assert not wrong_elements(rounded(value).astype(np.int8), answer)


def test_a_copied_number_is_not_rounded():
    answer = answer_of(ROW / 7, 4, 1.0, "LINEAR")
    assert not wrong_elements(ROW / np.float32(7), answer)
    assert wrong_elements(np.nextafter(ROW / np.float32(7), np.float32(200)), answer) == 4


@pytest.mark.parametrize(("direction", "elements"), [("DECREASING", [0, 0, 0, 1]), ("INCREASING", [0, 1, 1, 10])])
def test_rounded_by_direction(direction: str, elements: list[int]):
    more = {"RoundingDirection": direction, "InputPixelOffsets": (0.5,), "OutputPixelOffsets": (-0.5,)}
    assert answer_of(ROW, 4, 2.0, "NEAREST_NEIGHBOR", "RESAMPLE2", **more).value.tolist() == elements


def test_only_coordinates_that_every_order_of_operations_gives_are_exact():
    assert not np.any(coordinates(np, ScaledAxis(0, 4, 8, 0.25, 0.5, -0.5)).error)
    assert np.all(coordinates(np, ScaledAxis(0, 4, 8, 3.0, 0.5, -0.5)).error > 0)
    assert np.all(coordinates(np, ScaledAxis(0, 4, 8, 2.0, 0.1, 0.0)).error > 0)


@pytest.mark.parametrize(
    ("size", "count", "sizes"),
    [(20, 4, [16, 8, 4]), (20, 3, [16, 8, 4, 3]), (16, 4, [8, 4]), (8, 4, [4, 4]), (6, 3, [3, 3]), (2, 3, [3, 3])],
)
def test_steps_of_antialiasing(size: int, count: int, sizes: list[int]):
    assert [step.count for step in steps([ScaledAxis(0, size, count, 0.2, 0.5, -0.5)])] == sizes


def test_all_dimensions_take_as_many_steps():
    found = steps([ScaledAxis(0, 20, 2, 0.1, 0.5, -0.5), ScaledAxis(1, 8, 3, 0.4, 0.5, -0.5)])
    assert [step.count for step in found if step.axis == 1] == [4, 3, 3, 3]


def antialiased(x: np.ndarray, count: int, scale: float):
    more = {name: (offset,) for name, offset in (("InputPixelOffsets", 0.5), ("OutputPixelOffsets", -0.5))}
    return answer_of(x, count, scale, "LINEAR", "RESAMPLE3", Antialiased=True, RoundingDirection="DECREASING", **more)


def by_hand(x: np.ndarray, count: int, scale: float, ends: str) -> np.ndarray:
    """Element by element, the filter stretched by one over the scale."""
    found = []
    for output in range(count):
        at, total, whole = (output + 0.5) / scale - 0.5, 0.0, 0.0
        for index in range(-20, x.size + 20):
            weight = max(0.0, 1 - abs(at - index) * scale)
            inside = 0 <= index < x.size
            whole += weight if inside or ends != "shared" else 0.0
            total += weight * float(x[min(max(index, 0), x.size - 1)]) if inside or ends == "end" else 0.0
        found.append(total / whole)
    return np.array(found, np.float32)


def test_where_the_stretched_filter_leaves_the_input_each_known_way_is_right_and_what_lies_between_them():
    x = np.array([10, 13, 9, 11, -40, 8, 14, 12, 3, 10, 11, 12], np.float32)
    answer = antialiased(x, 3, 0.25)
    ways = [by_hand(x, 3, 0.25, ends) for ends in ("shared", "zero", "end")]
    for way in (*ways, (ways[0] + ways[1]) / 2, (ways[1] + ways[2]) / 2):
        assert not wrong_elements(way, answer)
        assert not wrong_elements(way.astype(np.float16), antialiased(x.astype(np.float16), 3, 0.25))
    assert np.ptp([way[0] for way in ways]) > 1
    for wrong in (0, -20, x.max(), x.mean() - 6, ways[0][0] * 1.2):  # within the elements and 0
        assert wrong_elements(np.array([wrong, ways[0][1], wrong], np.float32), answer) == 2
    assert wrong_elements(ways[0] * np.float32(1 + 1e-4) - np.float32([0, 0.001, 0]), answer) >= 1


def test_at_the_ends_of_what_is_right_a_result_may_be_rounded_to_its_own_digits():
    random = np.random.default_rng(8)
    for _ in range(60):
        x = random.uniform(-100, 100, 12).astype(np.float16)
        answer = antialiased(x, 2, 0.125)
        for ends in ("shared", "zero", "end"):
            assert not wrong_elements(by_hand(x, 2, 0.125, ends).astype(np.float16), answer)


def test_nothing_in_between_is_larger_than_both_ends():
    axes = [
        ScaledAxis(0, 1, 40, 40.0, 0.5, -0.5),
        ScaledAxis(1, 64, 8, 0.125, 0.5, -0.5),
        ScaledAxis(1, 8, 1, 0.125, 0.5, -0.5),
        ScaledAxis(2, 6, 3, 0.5, 0.5, -0.5),
    ]
    assert [(axis.axis, axis.count) for axis in shrinking_first(axes)] == [(1, 8), (1, 1), (2, 3), (0, 40)]
