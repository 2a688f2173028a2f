"""The exit code of a record: 0 only if the record itself says that all is well."""

from __future__ import annotations

from itertools import product

import pytest

from dmlcts.conformance.runner.exit_code import exit_code
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.record import STATUSES
from tests.support.records import of, run


@pytest.mark.parametrize("numbers", list(product((0, 2), repeat=len(STATUSES))))
def test_a_run_is_green_exactly_if_its_claim_is(numbers: tuple[int, ...]) -> None:
    record = of(**dict(zip(STATUSES, numbers, strict=True)))
    bad = {status for status, number in zip(STATUSES, numbers, strict=True) if number and status not in ("pass", "waived")}
    expected = 1 if bad - {"unsupported"} or not record.counts()["pass"] else 4 if bad else 0  # as many are waived as pass
    assert exit_code(record) == expected
    assert claim_of(record).ok == (expected == 0)


@pytest.mark.parametrize("level", ["smoke", "core", "fuzz"])
@pytest.mark.parametrize(("passed", "waived", "code"), [(3, 150, 1), (3, 4, 1), (3, 3, 0), (4, 3, 0)])
def test_a_run_in_which_more_is_waived_than_passes_is_never_green(passed: int, waived: int, code: int, level: str) -> None:
    record = run(*of(waived=waived, **{"pass": passed}).results, level=level)
    assert exit_code(record) == code
    assert not code or not claim_of(record).claim


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        ({"finished": ""}, 130),
        ({"interrupted": True}, 130),
        ({"unlisted": ["GEMM"]}, 1),
        ({"selected": 99}, 1),
        ({"required": ["GEMM/*"]}, 1),
    ],
)
def test_an_incomplete_record_is_never_green(manifest: dict[str, object], code: int) -> None:
    passed = of(**{"pass": 3})
    assert exit_code(passed) == 0
    record = run(*passed.results, **manifest)
    assert exit_code(record) == code
    assert not claim_of(record).ok
    assert not all(statement.holds for statement in claim_of(record).statements)
