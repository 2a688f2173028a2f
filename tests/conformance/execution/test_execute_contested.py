"""Answers that the reference says are contested: either passes, but for the whole output, and no third one."""

from collections.abc import Mapping

import numpy as np
import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.suite import operator_cases, select
from dmlcts.reports.record.record import Result
from dmlcts.spec.model.desc import OperatorDesc

Array = np.ndarray
POOLING = "LP_POOLING"


def signed_cases(p: int) -> list[Case]:
    """Those with negative elements and this P."""
    cases = [c for c in select(operator_cases(POOLING), level="full") if "values/signed" in c.id and c.desc.fields["P"] == p]
    assert cases
    return cases


class Pooling(ReferenceBackend):
    """Lp pooling by ``(power, root)`` of each window, one after the other."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def compute(self, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Array]:
        x, p = inputs["InputTensor"].astype(np.float64), desc.fields["P"]
        absolute, formula = pooled(desc, np.abs(x) ** p) ** (1 / p), root(pooled(desc, x**p), p)
        found = {
            "absolute": absolute,
            "formula": formula,
            "negative elements dropped": pooled(desc, np.maximum(x, 0) ** p) ** (1 / p),
            "sign kept for the root": np.copysign(np.abs(pooled(desc, x**p)) ** (1 / p), pooled(desc, x**p)),
            "sum negated": -absolute,
            "formula in every other element": np.where(np.arange(absolute.size).reshape(absolute.shape) % 2, formula, absolute),
            "largest element off": np.where(absolute == absolute.max(), 1.01, 1.0) * absolute,
        }[self.kind]
        return {"OutputTensor": found.astype(inputs["InputTensor"].dtype)}


def root(total: Array, p: int) -> Array:
    return total if p == 1 else np.where(total < 0, np.nan, np.abs(total) ** (1 / p))


def pooled(desc: OperatorDesc, x: Array) -> Array:
    """The sum of each window."""
    window, strides, start, end = (desc.fields[name] for name in ("WindowSize", "Strides", "StartPadding", "EndPadding"))
    x = np.pad(x, [(0, 0), (0, 0), *zip(start, end, strict=True)])
    axes = tuple(range(2, x.ndim))
    views = np.lib.stride_tricks.sliding_window_view(x, window, axes)
    views = views[(slice(None), slice(None), *(slice(None, None, step) for step in strides))]
    return views.sum(axis=tuple(range(x.ndim, views.ndim)))


def results(kind: str, p: int) -> list[Result]:
    backend = Pooling(kind)
    with np.errstate(all="ignore"):
        return [execute(case, backend, backend.info) for case in signed_cases(p)]


@pytest.mark.parametrize("p", [1, 3, 5])
@pytest.mark.parametrize(("kind", "matched_answer"), [("absolute", "measured"), ("formula", "documented")])
def test_either_answer_passes_and_the_result_says_whose(kind: str, matched_answer: str, p: int) -> None:
    assert {(result.status, result.matched_answer) for result in results(kind, p)} == {("pass", matched_answer)}


@pytest.mark.parametrize("p", [1, 3, 5])
@pytest.mark.parametrize(
    "kind", ["negative elements dropped", "sum negated", "formula in every other element", "largest element off"]
)
def test_no_third_answer_passes(kind: str, p: int) -> None:
    found = results(kind, p)
    assert {result.status for result in found} == {"fail"}
    assert {result.matched_answer for result in found} == {""}


def test_the_root_of_a_negative_sum_is_no_number() -> None:
    assert {result.status for result in results("sign kept for the root", 3)} == {"fail"}


def test_of_an_even_power_nothing_is_contested() -> None:
    assert {(result.status, result.matched_answer) for result in results("absolute", 2)} == {("pass", "")}
