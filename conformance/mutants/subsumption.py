"""Which faults fall whenever another falls: these tell nothing more, and a hunt leaves them out.

One fault falls whenever another does if every case that finds the other finds it too. That is worked out on all cases of level core but
property cases, of every basis, by ``dmlcts mutants --subsumption``, which takes a while; what it found stands in ``hardest.json``: of each
operator the faults that no other brings down with it, and a digest of the faults that there were. An operator whose faults have changed
since is hunted whole, until it is worked out again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from dmlcts.conformance.mutants.hunt import PROPERTY, Hunter, Trial
from dmlcts.conformance.mutants.mutant import Mutant
from dmlcts.spec.model import DOCUMENTED

FILE = Path(__file__).with_name("hardest.json")

_SAMPLE = 12
"""Cases by which it is guessed how hard a fault is to find: the hardest come first, for they bring down the most."""


@dataclass(slots=True)
class _Suspect:
    """A fault, and which cases find it, as far as that is known (by their number)."""

    mutant: Mutant
    found_by: dict[int, bool] = field(default_factory=dict)
    kills: tuple[int, ...] = ()


def hardest(hunter: Hunter, mutants: Sequence[Mutant]) -> list[str]:
    """The labels of the faults that do not fall whenever another does; of faults that fall together, one.

    What property cases alone find is among them. One that measured cases find stands for no documented one.
    """
    trials = [trial for trial in hunter.trials if trial.case.kind != PROPERTY]
    suspects = [_Suspect(mutant) for mutant in mutants if not mutant.no_fault]
    sample = {id(suspect): _sampled(hunter, suspect, trials) for suspect in suspects}
    kept: list[_Suspect] = []
    for suspect in sorted(suspects, key=lambda suspect: sample[id(suspect)]):
        if any(_brings_down(hunter, other, suspect, trials) for other in kept if other.kills):
            continue
        suspect.kills = tuple(at for at in range(len(trials)) if _finds(hunter, suspect, at, trials))
        kept = [other for other in kept if not (suspect.kills and _brings_down(hunter, suspect, other, trials))]
        kept = sorted([*kept, suspect], key=lambda other: len(other.kills))
    labels = {suspect.mutant.label for suspect in kept}
    return [mutant.label for mutant in mutants if mutant.label in labels]


def _sampled(hunter: Hunter, suspect: _Suspect, trials: Sequence[Trial]) -> float:
    """The share of some cases that find the fault, of those in which it may show."""
    shown = [at for at, trial in enumerate(trials) if suspect.mutant.fault.may_show(trial.case)]
    some = shown[:: max(1, len(shown) // _SAMPLE)]
    return sum(_finds(hunter, suspect, at, trials) for at in some) * len(shown) / len(some) if some else 0.0


def _finds(hunter: Hunter, suspect: _Suspect, at: int, trials: Sequence[Trial]) -> bool:
    known = suspect.found_by.get(at)
    if known is None:
        known = suspect.found_by[at] = hunter.try_one(suspect.mutant, trials[at]) is not None
    return known


def _brings_down(hunter: Hunter, one: _Suspect, other: _Suspect, trials: Sequence[Trial]) -> bool:
    """Whether every case that finds the one finds the other."""
    if one.mutant.basis != DOCUMENTED and other.mutant.basis == DOCUMENTED:
        return False
    return all(_finds(hunter, other, at, trials) for at in one.kills)


# The file


def digest(mutants: Sequence[Mutant]) -> str:
    """What tells whether an operator's faults are those that were worked out."""
    return sha256("\n".join(sorted(mutant.label for mutant in mutants)).encode()).hexdigest()[:12]


@cache
def known() -> Mapping[str, Any]:
    """The file's content: by operator its ``digest`` and its ``hardest`` faults."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def is_stale(operator: str, mutants: Sequence[Mutant]) -> bool:
    """Whether the file does not speak of these faults of an operator."""
    return bool(known().get(operator, {}).get("digest") != digest(mutants))


def left_out(operator: str, mutants: Sequence[Mutant]) -> set[str]:
    """The labels of the faults that fall whenever another of them falls; none where that is not known of them all."""
    if is_stale(operator, mutants):
        return set()
    kept = set(known()[operator]["hardest"])
    return {mutant.label for mutant in mutants if not mutant.no_fault and mutant.label not in kept}


def write(found: Mapping[str, Sequence[str]], digests: Mapping[str, str]) -> None:
    """Replaces what the file says of some operators; one line an operator, so that changes can be read."""
    content = {**known(), **{name: {"digest": digests[name], "hardest": list(labels)} for name, labels in found.items()}}
    lines = [f"{json.dumps(name)}: {json.dumps(content[name])}" for name in sorted(content)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
    known.cache_clear()
