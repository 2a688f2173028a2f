"""A failing case of the suite is made simpler, and told in words."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

import numpy as np
import pytest
from records import run

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.properties.simplified import simplify
from dmlcts.conformance.runner.explaining import simplest
from dmlcts.conformance.runner.explaining.explain import explain
from dmlcts.generator.case.case import REFERENCE, Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.explain.explanation import remarks
from dmlcts.reports.record.record import FAIL, PASS, Result
from dmlcts.spec.model.desc import OperatorDesc


class FirstBatchOnly(ReferenceBackend):
    """Gives the first product for all of a batch, where the second matrix is transposed."""

    dispatches = 0

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.dispatches += 1
        right = dict(super().compute(desc, inputs))
        if desc.constant("TransB") == "TRANSPOSE":
            x = right["OutputTensor"]
            rows = x.reshape(-1, *x.shape[-2:]).copy()
            rows[1:] = rows[:1]
            right["OutputTensor"] = rows.reshape(x.shape)
        return right


def large() -> Case:
    """A case with a batch, among much else."""
    return next(
        case
        for case in operator_cases("GEMM", "core")
        if case.expect == REFERENCE
        and case.desc.constant("TransB") == "TRANSPOSE"
        and case.desc.find("CTensor")
        and len(case.desc.tensor("OutputTensor").sizes) == 4
        and case.desc.tensor("OutputTensor").sizes[0] > 1
        and case.desc.tensor("OutputTensor").count > 50
        and case.data_type == "FLOAT16"
    )


def test_what_is_left_is_what_the_failure_needs() -> None:
    backend = FirstBatchOnly()
    found = simplify(large(), backend, backend.info, 30.0, monotonic() + 30)
    assert found is not None
    assert found.case.desc.constant("TransB") == "TRANSPOSE"
    assert found.case.desc.tensor("OutputTensor").count == 2
    assert "TransB TRANSPOSE" in found.text
    assert "FusedActivation" not in found.text
    assert found.text.startswith(found.case.data_type)


def test_a_case_that_passes_and_one_without_time_are_left() -> None:
    right, wrong = ReferenceBackend(), FirstBatchOnly()
    assert simplify(large(), right, right.info, 30.0, monotonic() + 30) is None
    assert simplify(large(), wrong, wrong.info, 30.0, monotonic() - 1) is None
    assert wrong.dispatches == 1


def test_an_explanation_says_what_its_plainest_case_comes_down_to(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for case in operator_cases("GEMM", "core") if case.expect == REFERENCE]

    def status(case: Case) -> str:
        batch = case.desc.tensor("OutputTensor").sizes[:-2]
        return FAIL if case.desc.constant("TransB") == "TRANSPOSE" and max(batch, default=1) > 1 else PASS

    record = run(*(Result(c.id, c.operator.name, c.data_type, c.kind, c.basis, c.feature_level, status(c)) for c in cases))
    asked: list[str] = []

    def opened(spec: str) -> ReferenceBackend:
        asked.append(spec)
        return FirstBatchOnly()

    monkeypatch.setattr(simplest, "open_backend", opened)
    first, *_ = simplest.with_simplest(explain(record), "python:mine:Mine")
    assert asked == ["python:mine:Mine"]
    assert first.example
    assert "TransB TRANSPOSE" in first.simplest
    assert remarks(first)[0] == f"the smallest of these comes down to {first.simplest}"
    before, *_ = simplest.with_simplest(explain(record), "python:mine:Mine", 0.0)
    assert before.simplest == ""
