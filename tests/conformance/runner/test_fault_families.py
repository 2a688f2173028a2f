"""Faults as drivers have them are named in the first two lines of an explanation. No case is run: those in which the fault shows fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any
from zlib import crc32

import pytest
from records import run

from dmlcts.conformance.runner.explaining.explain import explain
from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.record.record import FAIL, PASS, Result
from dmlcts.spec.rules.symbols import symbols_of


@dataclass(frozen=True)
class Family:
    """A fault: an operator, the cases in which it may show, words that the first two lines have, and the share of the cases in which the data hide it."""

    operator: str
    wrong: Callable[[Case], bool]
    named: tuple[str, ...]
    hidden: float = 0.0


def sizes(case: Case) -> dict[str, Any]:
    return symbols_of(case.operator, case.desc)


def output(case: Case) -> tuple[int, ...]:
    return case.desc.tensor("OutputTensor").sizes


def shrinks_a_nearest_column(case: Case) -> bool:
    return (
        case.desc.constant("InterpolationMode") == "NEAREST_NEIGHBOR"
        and case.desc.numbers("Scales")[-1] < 1
        and output(case)[-1] > 1
    )


FAMILIES = {
    "the last axis is shifted where two axes are reduced": Family(
        "REDUCE", lambda case: len(case.desc.integers("Axes")) == 2 and output(case)[-1] > 1, ("AxisCount is 2",), 0.25
    ),
    "a column is repeated where a nearest resampling shrinks": Family(
        "RESAMPLE", shrinks_a_nearest_column, ("InterpolationMode is NEAREST_NEIGHBOR", "Scales last is below 1"), 0.15
    ),
    "a large product takes another kernel": Family(
        "GEMM", lambda case: prod(sizes(case)[name] for name in "MNK") > 4096, ("the product of K, M and N is 4,1",)
    ),
    "a window as large as its input": Family(
        "AVERAGE_POOLING",
        lambda case: case.desc.integers("WindowSize") == sizes(case)["Spatial"],
        ("WindowSize equals Spatial",),
    ),
    "FLOAT16 in pairs": Family(
        "ELEMENT_WISE_MULTIPLY",
        lambda case: case.data_type == "FLOAT16" and prod(output(case)) % 2 == 0,
        ("the type is FLOAT16", "is a multiple of 2"),
    ),
    "an attribute at its neutral value": Family(
        "GEMM",
        lambda case: case.desc.number("Alpha") == 1 and case.desc.find("CTensor") is not None,
        ("Alpha is 1", "CTensor is present"),
    ),
    "no optional tensor": Family(
        "MEAN_VARIANCE_NORMALIZATION1",
        lambda case: case.desc.find("ScaleTensor") is None and case.desc.find("BiasTensor") is None,
        ("ScaleTensor is absent", "BiasTensor is absent"),
    ),
    "the batch beyond the first": Family("GEMM", lambda case: prod(sizes(case)["Batch"]) > 1, ("Batch is 2 or more",), 0.1),
    "two of three sizes are multiples of 8": Family(
        "GEMM",
        lambda case: sum(sizes(case)[name] % 8 == 0 for name in "MNK") >= 2,
        ("2 or more of K, M and N are multiples of 8",),
    ),
    "groups and a batch in two dimensions": Family(
        "CONVOLUTION",
        lambda case: len(sizes(case)["Window"]) == 2 and case.desc.integer("GroupCount") > 1 and sizes(case)["N"] > 1,
        ("GroupCount is 2 or more", "DimensionCount is 2"),
        0.3,
    ),
}


def hides(case: Case, share: float) -> bool:
    """Whether a case passes all the same, by no rule."""
    return crc32(case.id.encode()) % 100 < 100 * share


@pytest.mark.parametrize("name", FAMILIES)
def test_the_first_two_lines_name_the_cause(name: str) -> None:
    family = FAMILIES[name]

    def status(case: Case) -> str:
        shows = case.expect in (REFERENCE, VALUES) and family.wrong(case) and not hides(case, family.hidden)
        return FAIL if shows else PASS

    cases = operator_cases(family.operator, "core")
    found = explain(run(*(Result(c.id, c.operator.name, c.data_type, c.kind, c.basis, c.feature_level, status(c)) for c in cases)))
    lines = [" ".join(each.conditions) for each in found[:2]]
    assert any(all(words in line for words in family.named) for line in lines), [each.text for each in found[:2]]
