"""What dispatches gave: equal within both errors, which follow moves, sums and factors."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.conformance.properties.computed import Computed, move_arguments

X = Computed(np.array([[1.0, 2.0], [3.0, 4.0]]), lambda: np.array([[0.5, 0.0], [0.25, 0.0]]))
Y = Computed(np.array([[1.5, 2.0], [3.5, 4.5]]), lambda: np.array([[0.0, 0.0], [0.25, 0.25]]))


def error(found: object) -> list[object]:
    assert isinstance(found, Computed)
    shown: list[object] = np.broadcast_to(found.error(), found.shape).tolist()
    return shown


def test_two_are_equal_within_both_errors_and_numbers_exactly() -> None:
    assert (X == Y).tolist() == [[True, True], [True, False]]
    assert (Y.values == X).tolist() == [[False, True], [False, False]]
    assert (Y.values == X).tolist() == [[False, True], [False, False]]


def test_errors_are_not_worked_out_without_need() -> None:
    def never() -> None:
        raise AssertionError

    assert (Computed(np.ones(2), never) == Computed(np.ones(2), never)).all()
    assert not (Computed(np.ones(2), never) == np.zeros(2)).any()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (-X, [[0.5, 0], [0.25, 0]]),
        (X + Y, [[0.5, 0], [0.5, 0.25]]),
        (X - 1, [[0.5, 0], [0.25, 0]]),
        (-2 * X, [[1, 0], [0.5, 0]]),
        (X / 4, [[0.125, 0], [0.0625, 0]]),
        (X[:, :1], [[0.5], [0.25]]),
        (np.maximum(X, Y), [[0.5, 0], [0.25, 0.25]]),
        (move_arguments(np.swapaxes)(X, 0, 1), [[0.5, 0.25], [0, 0]]),
        (move_arguments(lambda a, b, axis: np.concatenate((a, b), axis))(X, Y, 1), [[0.5, 0, 0, 0], [0.25, 0, 0.25, 0.25]]),
    ],
)
def test_errors_follow(found: object, expected: list[object]) -> None:
    assert error(found) == expected


def test_other_functions_give_plain_numbers() -> None:
    for found in (abs(X), X * Y, 1 / X, np.sqrt(X), X < Y, np.floor(X)):
        assert isinstance(found, np.ndarray)
    assert np.asarray(X) is not None
    assert np.sum(np.asarray(X)) == 10
    assert len(X) == 2
    assert np.shape(X) == (2, 2)
