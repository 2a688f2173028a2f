"""Which cases find faults under conditions: those in which the conditions hold are run until one fails.

A fault that none finds counts only if some valid desc meets its conditions. Random descs are searched for one (``drawn``), and some of
those found are run: the first that fails is the case that the suite lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from tempfile import TemporaryDirectory

from dmlcts.conformance.faults.hunt.hunt import PROPERTY, Cost, HuntedCase, Hunter, Kill, ReferenceFails
from dmlcts.conformance.faults.interactions.planting import RULE_PREFIX, Planted, plant
from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factors import Model, model_of
from dmlcts.generator.facts.random_conditions import DATA
from dmlcts.generator.facts.situation import Situation, of_case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.random_dispatch import Genes, SizeRule, dispatch_from
from dmlcts.spec.reading.loader import load

FOUND, SURVIVES, NO_DESC, UNSEEN = "found", "survives", "no desc found", "shows in no case tried"
"""What becomes of a fault. Only the first two count: conditions that no desc met may contradict each other, and a fault that shows in none of
the descs that meet them may be within what is allowed."""

_STEPS, _RESTART = 20_000, 1000
"""How many descs a search tries, and after how many without progress it begins anew."""

_APART = 0.15
"""How often it draws a desc apart from the one that meets most so far."""

_CHANGES = (2, 4, 12)
"""How many properties it changes at most."""

_ENOUGH = 100
"""It ends when it has found so many."""

_CANDIDATES = 12
"""Of the descs found, so many are run, from small to large."""

_RUNNABLE = 1 << 23
"""The most bytes of a desc, in all its tensors, that is run."""

_LOOKS = 20
"""At how many larger ones' data a search looks."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a fault, in plain data that travels between processes.

    ``fault`` is its kind, ``conditions`` are kinds and words. ``kill`` is the case that finds it, ``witness`` one that would find a survivor
    (if it is too large to be run here, one that meets its conditions).
    """

    name: str
    fault: str
    does: str
    conditions: tuple[tuple[str, str], ...]
    fate: str
    kill: Kill | None = None
    witness: Case | None = None

    @property
    def by_rules(self) -> bool:
        """Whether its conditions are like a library's own dispatch rules."""
        return self.name.partition("/")[2].startswith(RULE_PREFIX)

    @property
    def operator(self) -> str:
        """The operator that it is planted in."""
        return self.name.partition("/")[0]


def _fate(one: Planted, fate: str, kill: Kill | None = None, witness: Case | None = None) -> Fate:
    conditions = tuple((condition.kind, condition.words) for condition in one.conditions)
    return Fate(one.mutant.name, one.kind, one.mutant.fault.does, conditions, fate, kill, witness)


def hunt_interactions(
    operator: str, seed: int, numbers: Sequence[int], level: str, basis: str, *, by_rules: bool = False
) -> tuple[list[Fate], dict[str, Cost]]:
    """What finds each of the operator's faults with these numbers, under raw conditions or ``by_rules``, and what the kinds of cases cost.

    Raises ReferenceFails, ValueError.
    """
    with TemporaryDirectory() as folder:
        hunter = Hunter(operator, level, basis, folder)
        situations = {id(trial): of_case(trial.case) for trial in hunter.trials if trial.case.kind != PROPERTY}

        def hunt_one(one: Planted) -> Fate:
            kill = hunter.hunt(one.mutant, meets=lambda trial: _may_meet(one, situations.get(id(trial))))
            return _fate(one, FOUND, kill) if kill is not None else _of_survivor(hunter, one, model_of(plan_of(load(operator))))

        return [hunt_one(plant(operator, seed, number, by_rules=by_rules)) for number in numbers], hunter.costs()


def _may_meet(one: Planted, situation: Situation | None) -> bool:
    """Whether the conditions hold in a case; of a property case that is not known before it runs."""
    return situation is None or one.holds(situation)


# Survivors


def _of_survivor(hunter: Hunter, one: Planted, model: Model) -> Fate:
    """A survivor's fate: it counts if some valid desc meets its conditions and fails, or is too large to be run."""
    known = sorted({case.id: case for case in islice(_cases_meeting(one, model), _ENOUGH)}.values(), key=_bytes)
    # The smallest may be too simple: broadcast from one element, say.
    for case in known[:: max(1, -(-len(known) // _CANDIDATES))]:
        if _bytes(case) > _RUNNABLE:
            return _fate(one, SURVIVES, witness=case)
        try:
            if hunter.try_one(one.mutant, HuntedCase(case)) is not None:
                return _fate(one, SURVIVES, witness=case)
        except ReferenceFails:  # the desc is valid, but its data are none that the operator's answer is known for
            continue
    return _fate(one, UNSEEN if known else NO_DESC)


def _cases_meeting(one: Planted, model: Model) -> Iterator[Case]:
    """Cases of random descs that meet a fault's conditions, found by changing a few properties of the one that meets most so far."""
    random, looks = Random(one.mutant.name), _LOOKS  # noqa: S311 (reproducible, no secret)
    rule = SizeRule([size for condition in one.conditions for size in condition.sizes])
    genes, best, since = Genes(random), 0, 0
    for _ in range(_STEPS):
        # A draw apart, now and then: conditions may hinder each other, so that no single step leads from one to the other.
        tried = genes.mutate(random.choice(_CHANGES)) if best and random.random() > _APART else Genes(random)
        case = dispatch_from(model, tried, rule)
        since += 1
        if case is not None:
            held, looked = _conditions_held(one, case, looks > 0)
            looks -= looked
            if held >= best:
                genes, since, best = tried, since if held == best else 0, held
            if held > len(one.conditions):
                yield case
        if since > _RESTART:
            genes, best, since = Genes(random), 0, 0


def _conditions_held(one: Planted, case: Case, looks: bool) -> tuple[int, bool]:
    """How many conditions a case meets, the fault's own among them, and whether a large one's data were looked at.

    Conditions on data count only where all others hold.
    """
    situation = of_case(case)
    others = [condition for condition in one.conditions if condition.kind != DATA]
    data = [condition for condition in one.conditions if condition.kind == DATA]
    held = sum(condition.holds(situation) for condition in others) + one.mutant.fault.applies(case.desc)
    looked = held > len(others) and bool(data) and _bytes(case) > _RUNNABLE
    if held > len(others) and (looks or not looked):
        held += sum(condition.holds(situation) for condition in data)
    return held, looked


def _bytes(case: Case) -> int:
    return sum(tensor.bytes for _, tensor in case.desc.tensors())
