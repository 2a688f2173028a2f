"""Hunts find what is wrong, clear what is right, and leave out what is found whenever another fault is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.catalogue import mutants_of
from dmlcts.conformance.faults.hunt import subsumption
from dmlcts.conformance.faults.hunt.hunt import Hunt, Hunter, ReferenceFails, hunt, hunt_by_kind, wanted_mutants
from dmlcts.conformance.faults.hunt.subsumption import digest, hardest, left_out
from dmlcts.conformance.faults.model.fault import Fault, Value
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.reports.record.record import FAIL
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED

OR = "ELEMENT_WISE_BIT_OR"

SAMPLE = ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_QUANTIZE_LINEAR", "ACTIVATION_SOFTMAX1")
"""Operators of several kinds; `dmlcts faults hunt` hunts in all."""


def mutant(label: str, value: Value | None = None, basis: str = DOCUMENTED, no_fault: str = "", **more: object) -> Mutant:
    return Mutant(OR, label, Fault("planted", value, **more), basis, no_fault)  # type: ignore[arg-type]


def wrong_at(index: int, **more: object) -> Mutant:
    """Wrong in the element at an index, where there is one."""

    def value(desc: object, inputs: object, right: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        found = right.copy()
        found.reshape(-1)[index : index + 1].view(np.uint8)[...] ^= 1
        return found

    return mutant(f"wrong-at-{index}", value, **more)  # type: ignore[arg-type]


HARMLESS = mutant("harmless", lambda desc, inputs, right: right)
NOWHERE = mutant("nowhere", lambda desc, inputs, right: 0, types=("INT4",))


@pytest.fixture
def hunter(tmp_path: Path) -> Hunter:
    return Hunter(OR, "core", MEASURED, str(tmp_path))


@pytest.mark.parametrize("operator", SAMPLE)
def test_every_fault_is_found_and_nothing_else(operator: str) -> None:
    planted = [m for m in mutants_of(operator).values() if m.label not in left_out(operator, list(mutants_of(operator).values()))]
    kills, _ = hunt(operator, planted, "full", MEASURED)
    assert [Hunt(m, kill) for m, kill in zip(planted, kills, strict=True) if Hunt(m, kill).is_surprising] == []
    ends = ("refuses/by-crashing", "refuses/by-fault")
    # A mutant that ends in an exception of its own was planted wrongly, but for one that accepts what nobody can compute.
    ended = [m for m, kill in zip(planted, kills, strict=True) if kill and kill.status != FAIL and m.label not in ends]
    assert [m.name for m in ended if m.fault.accepts is None] == []


@pytest.mark.parametrize("operator", SAMPLE)
def test_documented_cases_find_documented_faults(operator: str) -> None:
    planted = [m for m in wanted_mutants(mutants_of(operator).values(), DOCUMENTED) if not m.no_fault]
    kills, _ = hunt(operator, planted, "full", DOCUMENTED)
    assert [m.name for m, kill in zip(planted, kills, strict=True) if kill is None] == []


def test_the_first_case_that_fails_is_what_finds_it(hunter: Hunter) -> None:
    kill = hunter.hunt(wrong_at(0))
    assert kill is not None
    assert kill.status == FAIL
    assert kill.case.startswith(f"{OR}/")
    assert kill.message


@pytest.mark.parametrize("harmless", [HARMLESS, NOWHERE, mutant("none", read=None)])
def test_what_is_right_survives(hunter: Hunter, harmless: Mutant) -> None:
    assert hunter.hunt(harmless, *(kind for kind in hunter.kinds if kind != "property")) is None


def test_what_survives_and_what_is_found_though_it_is_no_fault_are_surprising(hunter: Hunter) -> None:
    kill = hunter.hunt(wrong_at(0))
    assert [Hunt(wrong_at(0), kill).is_surprising, Hunt(HARMLESS, None).is_surprising] == [False, True]
    same = mutant("same", no_fault="it is the same")
    assert [Hunt(same, None).is_surprising, Hunt(same, kill).is_surprising] == [False, True]


def test_a_known_gap_is_no_surprise_until_a_case_finds_it(hunter: Hunter) -> None:
    unseen, seen = replace(mutant("same"), open="no case"), replace(wrong_at(0), open="no case")
    assert not Hunt(unseen, hunter.hunt(unseen)).is_surprising
    assert Hunt(seen, hunter.hunt(seen)).is_surprising


def test_a_reference_that_is_wrong_proves_nothing(hunter: Hunter, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ReferenceBackend.compute
    monkeypatch.setattr(
        ReferenceBackend, "compute", lambda self, desc, inputs: {n: np.ones_like(a) for n, a in right(self, desc, inputs).items()}
    )
    with pytest.raises(ReferenceFails, match=f"the reference itself does not pass {OR}/"):
        hunter.hunt(wrong_at(0))


def test_what_kinds_of_cases_cost_and_find() -> None:
    alone = mutant("one-element", lambda desc, inputs, right: right ^ 1, when=lambda desc: desc.tensor("OutputTensor").count == 1)
    kills, costs = hunt(OR, [wrong_at(0), alone], "core", MEASURED)
    assert sum(cost.finds for cost in costs.values()) == 2
    assert all(kill is not None and costs[kill.kind].finds for kill in kills)
    by_kind = hunt_by_kind(OR, [wrong_at(0), alone], "core", MEASURED)
    assert by_kind["combination"].finds == 2
    assert by_kind["table"].finds == 1
    assert by_kind["combination"].seconds > 0
    assert sum(cost.only for cost in hunt_by_kind(OR, [mutant("accepts", accepts=lambda d, b: [])], "core", MEASURED).values()) == 1


def test_documented_cases_are_asked_for_documented_faults() -> None:
    assert (
        wanted_mutants([wrong_at(0), wrong_at(1, basis=MEASURED)], DOCUMENTED) == [wrong_at(0)]
        or len(wanted_mutants([wrong_at(0), wrong_at(1, basis=MEASURED)], DOCUMENTED)) == 1
    )
    assert len(wanted_mutants([wrong_at(0), wrong_at(1, basis=MEASURED)], MEASURED)) == 2


# What is found whenever another fault is

MANY = 10_000
"""More than there are cases: every fault is compared with the others."""


def test_of_faults_that_fall_together_the_hardest_are_kept(hunter: Hunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsumption, "_FEW", MANY)
    labels = hardest(hunter, [wrong_at(0), wrong_at(5), wrong_at(1), HARMLESS])
    # Whatever has a sixth element has a first; what nothing finds may be what property cases alone find.
    assert labels == ["wrong-at-5", "harmless"]


def test_what_many_cases_find_brings_nothing_down(hunter: Hunter) -> None:
    assert hardest(hunter, [wrong_at(0), wrong_at(5)]) == ["wrong-at-0", "wrong-at-5"]


def test_what_measured_cases_find_stands_for_no_documented_fault(hunter: Hunter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsumption, "_FEW", MANY)
    assert hardest(hunter, [wrong_at(0), wrong_at(5, basis=MEASURED)]) == ["wrong-at-0", "wrong-at-5"]
    assert hardest(hunter, [wrong_at(0, basis=MEASURED), wrong_at(5)]) == ["wrong-at-5"]


def test_what_is_no_fault_is_not_among_them(hunter: Hunter) -> None:
    assert hardest(hunter, [wrong_at(0), mutant("same", no_fault="it is the same")]) == ["wrong-at-0"]


def test_what_was_worked_out_holds_for_the_same_faults_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [wrong_at(0), wrong_at(5), mutant("same", no_fault="it is the same")]
    monkeypatch.setattr(subsumption, "FILE", tmp_path / "hardest.json")
    subsumption.known_hardest.cache_clear()
    assert left_out(OR, planted) == set()
    subsumption.write({OR: ["wrong-at-5"]}, {OR: digest(planted)})
    subsumption.write({"GEMM": ["x"]}, {"GEMM": "0"})
    assert left_out(OR, planted) == {"wrong-at-0"}
    assert left_out(OR, [*planted, wrong_at(1)]) == set()
    assert set(json.loads((tmp_path / "hardest.json").read_text(encoding="utf-8"))) == {OR, "GEMM"}
    subsumption.known_hardest.cache_clear()
