"""Faults under conditions: conditions mean what their words say, survivors have a witness, and shares count what counts."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random

import pytest
from drawn_cases import some_cases

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.execute import outcome_of
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.faults.catalogue import find_mutant
from dmlcts.conformance.faults.hunt.hunt import Hunter, Kill
from dmlcts.conformance.faults.interactions import hunting
from dmlcts.conformance.faults.interactions.dispatched import of_dispatch
from dmlcts.conformance.faults.interactions.faults import KINDS as FAULTS
from dmlcts.conformance.faults.interactions.faults import faults_of
from dmlcts.conformance.faults.interactions.hunting import FOUND, NO_DESC, SURVIVES, Fate, hunt_interactions
from dmlcts.conformance.faults.interactions.planting import Planted, plant, planted_as, spread_numbers
from dmlcts.conformance.faults.interactions.shares import page, shares, tables, too_few
from dmlcts.conformance.faults.model.mutant import MutantBackend
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.facts.random_conditions import KINDS, Condition, draw_condition
from dmlcts.generator.facts.situation import of_case
from dmlcts.generator.plan.desc_plan import MOST_BYTES
from dmlcts.generator.plan.plan import plan_of
from dmlcts.reports.record.record import FAIL, PASS
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

OR, POOL = "ELEMENT_WISE_BIT_OR", "AVERAGE_POOLING"


@pytest.mark.parametrize("operator", [OR, POOL, "GEMM"])
def test_random_descs_are_valid_and_wider_than_cases(operator: str) -> None:
    cases = some_cases(operator)
    assert [case.id for case in cases if violations(case.operator, case.desc)] == []
    tensors = [tensor for case in cases for _, tensor in case.desc.tensors()]
    assert max(tensor.bytes for tensor in tensors) <= MOST_BYTES
    assert max(size for tensor in tensors for size in tensor.sizes) > 2000
    assert any(binding.offset % 256 == 16 for case in cases for binding in case.bindings.values())
    assert some_cases(operator) == cases


@pytest.mark.parametrize("kind", ["size", "remainder", "two sizes", "rank"])
def test_conditions_mean_their_words(kind: str) -> None:
    random, cases = Random(kind), some_cases(POOL)
    holding = 0
    for _ in range(100):
        condition = KINDS[kind](load(POOL), random)
        assert condition is not None
        for case in cases:
            try:
                meant = bool(eval(condition.words, {"prod": prod}, dict(case.desc.tensors())))
            except IndexError:
                meant = False
            assert condition.holds(of_case(case)) is meant, condition.words
            holding += meant
    assert 0 < holding < 100 * len(cases)


@pytest.mark.parametrize(
    ("operator", "missing"), [(OR, {"attribute", "presence"}), (POOL, {"presence", "in place"}), ("GEMM", {"in place"})]
)
def test_conditions_of_every_kind_are_drawn(operator: str, missing: set[str]) -> None:
    random = Random(3)
    found = {condition.kind for _ in range(300) if (condition := draw_condition(load(operator), random)) is not None}
    assert found == set(KINDS) - missing


def test_a_dispatch_is_in_the_situation_that_its_case_makes() -> None:
    small = [case for case in some_cases(OR, 200) if sum(tensor.bytes for _, tensor in case.desc.tensors()) < 1 << 16]
    assert {bool(case.in_place) for case in small} == {True, False}
    for case in small:
        expected, found = of_case(case), of_dispatch(lay_out(case, inputs(case), {}).dispatch)
        assert (found.desc, found.shares, found.offsets) == (expected.desc, expected.shares, expected.offsets)
        assert {name: array.tobytes() for name, array in found.inputs().items()} == {
            name: array.tobytes() for name, array in expected.inputs().items()
        }


def test_planting_follows_the_seed() -> None:
    some = [plant(OR, 1, number) for number in range(20)]
    assert [one.mutant.fault.does for one in some] == [plant(OR, 1, number).mutant.fault.does for number in range(20)]
    assert len({one.mutant.fault.does for one in some}) == 20
    assert sorted({len(one.conditions) for one in some}) == [2, 3]
    assert sum(len(one.conditions) == 2 for one in some) == 10
    assert all(len({condition.about for condition in one.conditions}) == len(one.conditions) for one in some)
    assert planted_as(OR, "if-1-4").mutant.fault.does == some[4].mutant.fault.does
    assert find_mutant(f"{OR}/if-1-4").fault.does == some[4].mutant.fault.does
    assert set(faults_of(load(OR))) == set(FAULTS)
    with pytest.raises(KeyError):
        planted_as(OR, "if-x")


def test_faults_are_spread_over_operators() -> None:
    assert {name: len(numbers) for name, numbers in spread_numbers("abcd", 10).items()} == {"a": 2, "b": 3, "c": 2, "d": 3}
    assert list(spread_numbers("abcd", 2)) == ["b", "d"]


def _planted(*conditions: Condition) -> Planted:
    """A fault in the last element under conditions."""
    one = plant(OR, 1, 0)
    fault = next(fault for label, fault in faults_of(load(OR))["last element"] if label.endswith("last-is-0"))
    fault = replace(fault, where=lambda dispatch: all(condition.holds(of_dispatch(dispatch)) for condition in conditions))
    return Planted(replace(one.mutant, fault=fault), "last element", conditions)


def rank_is(count: int) -> Condition:
    return Condition("rank", f"{count}", f"{count}d", lambda s: any(t.DimensionCount == count for _, t in s.desc.tensors()))


def last_is(size: int) -> Condition:
    def holds(situation: object) -> bool:
        tensor = situation.desc.fields["ATensor"]  # type: ignore[attr-defined]
        return isinstance(tensor, TensorDesc) and tensor.sizes[-1] == size

    return Condition("size", "ATensor", f"{size}", holds, (size,))


def test_a_fault_shows_where_its_conditions_hold_alone() -> None:
    backend = MutantBackend(_planted(rank_is(4), last_is(3)).mutant)
    statuses = {}
    for case in some_cases(OR, 300):
        if sum(tensor.bytes for _, tensor in case.desc.tensors()) < 1 << 14:
            case = replace(case, operator=load(OR))
            met = case.desc.tensor("ATensor").DimensionCount == 4 and case.desc.tensor("ATensor").sizes[-1] == 3
            statuses.setdefault(met, set()).add(outcome_of(case, backend, backend.info, None).status)
    assert statuses == {True: {FAIL}, False: {PASS}} or statuses == {False: {PASS}}


def test_survivors_have_a_witness_and_contradictions_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "_STEPS", 2000)
    model, hunter = model_of(plan_of(load(OR))), Hunter(OR, "smoke", MEASURED, str(tmp_path))
    fate = hunting._of_survivor(hunter, one := _planted(rank_is(5), last_is(1234)), model)
    assert fate.fate == SURVIVES
    assert fate.witness is not None
    assert one.holds(of_case(fate.witness))
    for backend, status in ((MutantBackend(one.mutant), FAIL), (ReferenceBackend(), PASS)):
        assert outcome_of(fate.witness, backend, backend.info, None).status == status
    assert hunting._of_survivor(hunter, _planted(rank_is(5), rank_is(6)), model).fate == NO_DESC


def test_cases_that_meet_the_conditions_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "_STEPS", 0)
    fates, costs = hunt_interactions(OR, 1, range(16), "core", MEASURED)
    assert [fate.name for fate in fates] == [f"{OR}/if-1-{number}" for number in range(16)]
    found = [fate for fate in fates if fate.fate == FOUND]
    assert found
    assert all(fate.kill and fate.kill.kind != "negative" for fate in found)
    assert sum(cost.finds for cost in costs.values()) == len(found)


def a_fate(fate: str, count: int, kind: str = "size") -> Fate:
    conditions = tuple((kind, "") for _ in range(count))
    return Fate(f"{OR}/if-1-1", "zero", "", conditions, fate, Kill("case", "values", FAIL, "") if fate == FOUND else None)


def test_shares_count_found_and_survivors_alone() -> None:
    fates = [
        *[a_fate(FOUND, 2)] * 49,
        a_fate(SURVIVES, 2),
        *[a_fate(NO_DESC, 2)] * 9,
        *[a_fate(FOUND, 3)] * 18,
        a_fate(SURVIVES, 3),
    ]
    counted = {key: (share.planted, share.found) for key, share in shares(fates)["family"].items()}
    assert counted == {("element_wise", "2"): (50, 49), ("element_wise", "3"): (19, 18)}
    assert [line.partition(" faults")[0] for line in too_few(fates)] == ["element_wise: 18 of 19"]
    assert "| 2 | 50 | 49 | 98.0% |" in tables(fates)
    assert "| values | 67 |" in tables(fates)
    text = page(fates, {"seed": 10})
    assert "Here: seed 10; 69 faults that count." in text
    assert "- element_wise: 18 of 19 faults on 3 conditions are found (94.7%)" in text
    assert f"## Survivors (2)\n\n- `{OR}/if-1-1`" in text
