"""Legal variations are no faults: no case fails on them, and they do differ from the reference."""

from __future__ import annotations

from fnmatch import fnmatchcase
from random import Random

import numpy as np
import pytest

from dmlcts.conformance.faults.catalogue import find_mutant, mutated_operators
from dmlcts.conformance.faults.legal.legal import VARIATIONS, false_alarms, legal_of
from dmlcts.conformance.faults.model.mutant import MutantBackend
from dmlcts.conformance.properties import computed
from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.random_dispatch import Genes, dispatch_from
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.reading.loader import load

SUBTRACT, POOL = "ELEMENT_WISE_SUBTRACT", "AVERAGE_POOLING"


@pytest.mark.parametrize("operator", [SUBTRACT, POOL, "LOCAL_RESPONSE_NORMALIZATION_GRAD", "ROI_ALIGN"])
def test_no_case_fails(operator: str) -> None:
    count, alarms = false_alarms(operator, "core", MEASURED)
    assert count == len(legal_of(operator)) > 0
    assert alarms == []


def test_laws_that_compare_exactly_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computed, "_is_near", lambda one, other: np.zeros(one.shape, bool))
    _, alarms = false_alarms(SUBTRACT, "core", MEASURED)
    assert {alarm.relation for alarm in alarms} == {"of-a-negative"}


@pytest.mark.parametrize("operator", [SUBTRACT, POOL, "GEMM", "MEAN_VARIANCE_NORMALIZATION1", "MULTIHEAD_ATTENTION"])
def test_each_variation_differs_somewhere(operator: str) -> None:
    model = model_of(plan_of(load(operator)))
    for mutant in legal_of(operator).values():
        backend, random = MutantBackend(mutant), Random(2)
        drawn = (case for _ in range(6000) if (case := dispatch_from(model, Genes(random))) is not None)
        small = (case for case in drawn if sum(tensor.count for _, tensor in case.desc.tensors()) < 10_000)
        assert any(differs(backend, case) for case in small if mutant.fault.applies(case.desc)), mutant.name


def test_averages_of_rows_differ() -> None:
    """Of REDUCE, random descs have few averages."""
    stages = legal_of("REDUCE")["legal/reciprocal-of-count"].fault.stages
    totals = np.arange(1, 100, dtype=np.float32).astype(np.float64)
    found = stages["reduction.finish"](lambda xp, total, count, function: total, np, totals, 3, "AVERAGE")
    assert 0 < np.count_nonzero(found.astype(np.float32) != (totals / 3).astype(np.float32)) < 99
    assert (stages["reduction.finish"](lambda xp, total, count, function: total, np, totals, 3, "L2") == totals).all()


def differs(backend: MutantBackend, case: Case) -> bool:
    """Whether some output is not the reference's bit for bit."""
    given = inputs(case)
    right, found = backend.compute(case.desc, given), backend.wrong(case.desc, given)
    return any(found[name].tobytes() != right[name].tobytes() for name in right)


def test_names() -> None:
    for globs in VARIATIONS:
        assert all(any(fnmatchcase(name, glob) for name in mutated_operators()) for glob in globs.split())
    assert find_mutant(f"{POOL}/legal/toward-zero") is legal_of(POOL)["legal/toward-zero"]
    assert legal_of("ELEMENT_WISE_BIT_OR") == {}


def test_some_variations_alone_are_run() -> None:
    assert false_alarms("ELEMENT_WISE_CEIL", "smoke", MEASURED, "scaled-denormals")[0] == 1
    assert false_alarms("ELEMENT_WISE_CEIL", "smoke", MEASURED, "no-such-variation") == (0, [])
