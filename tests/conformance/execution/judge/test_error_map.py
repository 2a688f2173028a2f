"""The map of an output's errors: it shows where and how large they are, and stays small."""

import json

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.judge.error_map import error_map
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import MOST_CELLS, ULP_BINS, ErrorMap, Result, read_result, result_json
from dmlcts.spec.model.operator import Tolerance


def test_rows_are_the_first_axes_and_columns_the_others() -> None:
    right = np.ones((2, 3, 4), bool)
    right[:, :, 1] = False
    assert error_map("Out", right, None) == ErrorMap("Out", (2, 3, 4), 2, ("0900",) * 6)
    right = np.ones((1, 2, 3, 4, 5), bool)
    right[0, 1, 0, 0, 2] = False
    found = error_map("Out", right, None)
    assert (found.split, len(found.cells)) == (3, 6)
    assert found.cells[3] == "00900000000000000000"


@pytest.mark.parametrize(
    ("sizes", "shape"), [((7,), (1, 7)), ((), (1, 1)), ((1, 1), (1, 1)), ((70_000,), (1, 32)), ((300, 500), (32, 32))]
)
def test_a_map_has_at_most_32_rows_and_columns(sizes: tuple[int, ...], shape: tuple[int, int]) -> None:
    found = error_map("Out", np.zeros(sizes, bool), None)
    assert found.cells == ("9" * shape[1],) * shape[0]
    assert max(shape) <= MOST_CELLS


def test_a_cell_shows_one_wrong_element_among_many() -> None:
    right = np.ones((64, 3200), bool)
    right[3, 100:200] = False
    right[9, 3199] = False
    cells = error_map("Out", right, None).cells
    assert cells[1] == "0" + "5" + "0" * 30  # a cell of 2 rows, of which one is wrong
    assert cells[4] == "0" * 31 + "1"
    assert set("".join(cells[:1] + cells[2:4] + cells[5:])) == {"0"}


def test_a_histogram_counts_right_and_wrong_elements_by_their_error() -> None:
    right = np.array([True, True, True, False, False, False, False, False])
    found = error_map("Out", right, np.array([0, 0.5, 1, 1.1, 2.0**24, 2.0**24 + 1, np.nan, np.inf]))
    bins = [*ULP_BINS, "more", "none"]
    assert {bins[i]: n for i, n in enumerate(found.right_ulps) if n} == {0.0: 1, 0.5: 1, 1.0: 1}
    assert {bins[i]: n for i, n in enumerate(found.wrong_ulps) if n} == {2.0: 1, 2.0**24: 1, "more": 1, "none": 2}


def test_a_failure_has_a_map_in_its_record_and_a_pass_has_none() -> None:
    expected, info = np.arange(1, 13, dtype=np.float64).reshape(3, 4), BackendInfo("x", denormals="preserve")
    actual = expected.astype(np.float32)
    defined = np.ones((3, 4), bool)
    defined[2] = False
    arguments = (Answer(expected, defined=defined), Tolerance("ulp", "value", {"ulps": 1}), "FLOAT32", info)
    assert judge(actual, *arguments).error_map is None
    actual[1, 2], actual[2, 3] = 7.000002, 99
    found = judge(actual, *arguments).error_map
    assert found is not None
    assert found.cells == ("0000", "0090", "0000")
    assert (sum(found.right_ulps), sum(found.wrong_ulps)) == (7, 1)  # what is not defined is in neither
    result = Result("GEMM/FLOAT32/4d", "GEMM", "FLOAT32", "table", "documented", "1_0", "fail", error_maps=(found,))
    assert read_result(json.loads(json.dumps(result_json(result)))) == result


def test_integers_have_a_map_without_errors_in_ulp() -> None:
    verdict = judge(np.array([1, 3], np.int8), Answer(np.array([1, 2])), Tolerance("exact"), "INT8", BackendInfo("x"))
    assert verdict.error_map == ErrorMap("OutputTensor", (2,), 0, ("09",))
