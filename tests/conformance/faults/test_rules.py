"""Faults under conditions like those by which a library chooses among its kernels."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from dmlcts.conformance.faults.catalogue import find_mutant
from dmlcts.conformance.faults.hunt.hunt import Hunter
from dmlcts.conformance.faults.interactions.hunting import SURVIVES, Fate
from dmlcts.conformance.faults.interactions.planting import plant, planted_as
from dmlcts.conformance.faults.interactions.shares import too_few
from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.dispatch_rules import RULES
from dmlcts.generator.facts.situation import of_case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.reading.loader import load

GEMM = "GEMM"


def dispatched() -> list[Case]:
    return [case for case in operator_cases(GEMM, "core") if case.kind in ("combination", "typical", "network")]


def batch(case: Case) -> bool:
    return case.desc.tensor("ATensor").sizes[0] > 1


def bare(case: Case) -> bool:
    return case.desc.fields["CTensor"] is None and case.desc.fields["FusedActivation"] is None


def half(case: Case) -> bool:
    tensor = case.desc.tensor("ATensor")
    return tensor.data_type == "FLOAT16" and tensor.count % 2 == 0


@pytest.mark.parametrize(
    ("kind", "words", "meant"),
    [
        ("batch", "ATensor.Sizes[0] > 1", batch),
        ("bare", "nothing optional is there", bare),
        ("half", "ATensor is FLOAT16 and has an even count", half),
    ],
)
def test_rules_mean_their_words(kind: str, words: str, meant: Callable[[Case], bool]) -> None:
    random = Random(1)
    rule = next(rule for _ in range(50) if (rule := RULES[kind](load(GEMM), random)) is not None and rule.words == words)
    every = [(bool(rule.holds(of_case(case))), meant(case)) for case in dispatched()]
    assert all(holds == is_meant for holds, is_meant in every)
    assert {holds for holds, _ in every} == {True, False}


@pytest.mark.parametrize("kind", RULES)
def test_each_rule_holds_of_some_cases_and_not_of_others(kind: str) -> None:
    random, cases = Random(kind), [of_case(case) for case in dispatched()]
    drawn = [rule for _ in range(8) if (rule := RULES[kind](load(GEMM), random)) is not None]
    assert drawn
    assert any(len({bool(rule.holds(case)) for case in cases}) == 2 for rule in drawn)


def test_planting_by_rules_follows_the_seed_and_the_label() -> None:
    one = plant(GEMM, 3, 28, by_rules=True)
    assert one.mutant.name == "GEMM/rule-3-28"
    assert 3 <= len(one.conditions) <= 5
    assert [c.words for c in planted_as(GEMM, "rule-3-28").conditions] == [c.words for c in one.conditions]
    assert find_mutant("GEMM/rule-3-28").fault.does == one.mutant.fault.does
    assert one.mutant.fault.does != plant(GEMM, 3, 28).mutant.fault.does


def test_typical_dispatches_find_faults_by_rules_that_combinations_do_not(tmp_path: object) -> None:
    hunter = Hunter(GEMM, "core", "measured", str(tmp_path))
    situations = {id(trial): of_case(trial.case) for trial in hunter.trials if trial.case.kind != "property"}
    only_typical = 0
    for number in range(16):
        one = plant(GEMM, 3, number, by_rules=True)

        def meets(trial: object, one: object = one) -> bool:
            return id(trial) in situations and one.holds(situations[id(trial)])  # type: ignore[attr-defined]

        others = [kind for kind in hunter.kinds if kind not in ("typical", "network")]
        if hunter.hunt(one.mutant, *others, meets=meets) is None:
            only_typical += hunter.hunt(one.mutant, "typical", "network", meets=meets) is not None
    assert only_typical > 0


def test_no_share_of_faults_by_rules_must_be_found() -> None:
    conditions = (("work", "a"), ("batch", "b"), ("bare", "c"))
    assert too_few([Fate("GEMM/rule-3-1", "zero", "gives 0", conditions, SURVIVES)]) == []
    assert too_few([Fate("GEMM/if-3-1", "zero", "gives 0", conditions, SURVIVES)]) != []
