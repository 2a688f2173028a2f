"""Which faults are found whenever another is: these show nothing more, and a hunt leaves them out.

One fault is found whenever another is if every case that finds the other finds it too. ``dmlcts faults subsume`` works that out on
the cases of level core of every basis but property cases. Only a fault that few cases find is compared with others (``_FEW``): all cases
are run on it, and these few on each other fault. So a fault that is left out is indeed found whenever another is; one that is found only with
faults that many cases find is kept. What it found is in ``hardest.json``: of each operator the faults that are kept, and a digest of
the faults that there were. An operator whose faults have changed since is hunted whole, until it is worked out again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from dmlcts.conformance.faults.hunt.hunt import PROPERTY, HuntedCase, Hunter
from dmlcts.conformance.faults.model.mutant import Mutant
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.writing.files import writing_to

FILE = Path(__file__).with_name("hardest.json")

_SAMPLE = 8
"""Cases by which it is guessed how hard a fault is to find: the hardest come first, for they bring down the most."""

_SMALL = 1000
"""Elements of a case that costs little."""

_FEW = 24
"""Of a fault that more cases find, nobody asks what it brings down with it: a harder one does most likely."""


@dataclass(slots=True)
class _Suspect:
    """A fault, which cases find it, as far as that is known (by their number), and all that do (``kills``) where they are few."""

    mutant: Mutant
    shown: Sequence[int]
    found_by: dict[int, bool] = field(default_factory=dict)
    kills: tuple[int, ...] = ()


def hardest(hunter: Hunter, mutants: Sequence[Mutant]) -> list[str]:
    """The labels of the faults that are not known to be found whenever another is; of faults that are found together, one.

    What property cases alone find is among them. One that measured cases find stands for no documented one.
    """
    trials = [trial for trial in hunter.trials if trial.case.kind != PROPERTY]

    def finds(suspect: _Suspect, at: int) -> bool:
        known = suspect.found_by.get(at)
        if known is None:
            known = suspect.found_by[at] = hunter.try_one(suspect.mutant, trials[at]) is not None
        return known

    suspects = [_Suspect(mutant, _showing_cases(mutant, trials)) for mutant in mutants if not mutant.no_fault]
    shares = {id(suspect): sum(finds(suspect, at) for at in suspect.shown[:_SAMPLE]) * len(suspect.shown) for suspect in suspects}
    kept: list[_Suspect] = []
    for suspect in sorted(suspects, key=lambda suspect: shares[id(suspect)]):
        if any(_brings_down(other, suspect, finds) for other in kept):
            continue
        suspect.kills = _kills(suspect, finds)
        kept = [other for other in kept if not _brings_down(suspect, other, finds)]
        kept = sorted([*kept, suspect], key=lambda other: len(other.kills))
    labels = {suspect.mutant.label for suspect in kept}
    return [mutant.label for mutant in mutants if mutant.label in labels]


def _showing_cases(mutant: Mutant, trials: Sequence[HuntedCase]) -> list[int]:
    """The cases in which a fault may show: first small ones from everywhere, which cost little, and the largest last."""
    shown = [at for at, trial in enumerate(trials) if mutant.fault.may_show(trial.case)]
    step = max(1, len(shown) // _SAMPLE)
    spread = [at for first in range(step) for at in shown[first::step]]
    return sorted(spread, key=lambda at: sum(tensor.count for _, tensor in trials[at].case.desc.tensors()) // _SMALL)


Finds = Callable[[_Suspect, int], bool]


def _kills(suspect: _Suspect, finds: Finds) -> tuple[int, ...]:
    """All cases that find the fault; none where they are more than a few."""
    found: list[int] = []
    for at in suspect.shown:
        if finds(suspect, at):
            found.append(at)
            if len(found) > _FEW:
                return ()
    return tuple(found)


def _brings_down(one: _Suspect, other: _Suspect, finds: Finds) -> bool:
    """Whether every case that finds the one, of which all are known, finds the other."""
    if not one.kills or (one.mutant.basis != DOCUMENTED and other.mutant.basis == DOCUMENTED):
        return False
    missed = any(other.found_by.get(at) is False for at in one.kills)  # known already, without a run
    return not missed and all(finds(other, at) for at in one.kills)


# The file


def digest(mutants: Sequence[Mutant]) -> str:
    """What tells whether an operator's faults are those that were worked out."""
    return sha256("\n".join(sorted(mutant.label for mutant in mutants)).encode()).hexdigest()[:12]


@cache
def known_hardest() -> Mapping[str, Any]:
    """The file's content: by operator its ``digest`` and its ``hardest`` faults."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def is_stale(operator: str, mutants: Sequence[Mutant]) -> bool:
    """Whether the file does not have these faults of an operator."""
    return bool(known_hardest().get(operator, {}).get("digest") != digest(mutants))


def left_out(operator: str, mutants: Sequence[Mutant]) -> set[str]:
    """The labels of the faults that are found whenever another of them is; none where that is not known of them all."""
    if is_stale(operator, mutants):
        return set()
    kept = set(known_hardest()[operator]["hardest"])
    return {mutant.label for mutant in mutants if not mutant.no_fault and mutant.label not in kept}


def write(found: Mapping[str, Sequence[str]], digests: Mapping[str, str]) -> None:
    """Replaces the file's entries of some operators; one line an operator, so that changes can be read."""
    content = {**known_hardest(), **{name: {"digest": digests[name], "hardest": list(labels)} for name, labels in found.items()}}
    lines = [f"{json.dumps(name)}: {json.dumps(content[name])}" for name in sorted(content)]
    with writing_to(FILE):
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
    known_hardest.cache_clear()
