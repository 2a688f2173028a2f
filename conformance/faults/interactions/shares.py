"""How many faults under conditions are found: by operator family and number of conditions, by what goes wrong, by kind of condition and of case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dmlcts.conformance.faults.hunt.table import rows_of
from dmlcts.conformance.faults.interactions.hunting import FOUND, SURVIVES, Fate
from dmlcts.generator.case.case import to_json
from dmlcts.spec.reading.loader import family_of

LEAST: Mapping[int, float] = {2: 0.98, 3: 0.95}
"""The share of the faults of each operator family that must be found, by their number of conditions."""


@dataclass(slots=True)
class Share:
    """How many faults that count there are, and how many of them are found."""

    planted: int = 0
    found: int = 0

    @property
    def share(self) -> float:
        """The share found; 1 of none."""
        return self.found / self.planted if self.planted else 1.0


Shares = Mapping[tuple[str, ...], Share]


def shares(fates: Iterable[Fate]) -> dict[str, Shares]:
    """The shares of the faults that count, by each way to sort them."""
    found: dict[str, dict[tuple[str, ...], Share]] = {what: {} for what in ("conditions", "family", "fault", "property")}
    for fate in fates:
        if fate.fate not in (FOUND, SURVIVES):
            continue
        count, family = str(len(fate.conditions)), str(family_of(fate.operator))
        kinds = dict.fromkeys(kind for kind, _ in fate.conditions)
        keys: dict[str, list[tuple[str, ...]]] = {
            "conditions": [(count,)],
            "family": [(family, count)],
            "fault": [(fate.fault, count)],
            "property": [(kind, count) for kind in kinds],
        }
        for what, own in keys.items():
            for key in own:
                share = found[what].setdefault(key, Share())
                share.planted += 1
                share.found += fate.fate == FOUND
    return {what: dict(sorted(entries.items())) for what, entries in found.items()}


def too_few(fates: Iterable[Fate]) -> list[str]:
    """The operator families of which too few faults under raw conditions are found, each as a sentence; of those by rules none must be."""
    return [
        f"{family}: {share.found:,} of {share.planted:,} faults on {count} conditions are found ({share.share:.1%}), "
        f"and at least {LEAST[int(count)]:.0%} must be"
        for (family, count), share in shares(fate for fate in fates if not fate.by_rules)["family"].items()
        if share.share < LEAST[int(count)]
    ]


_HEADS = {
    "conditions": ("conditions",),
    "family": ("operator family", "conditions"),
    "fault": ("fault", "conditions"),
    "property": ("property", "conditions"),
}


def tables(fates: Sequence[Fate]) -> list[str]:
    """The shares as tables in Markdown, and which kinds of cases found the faults."""
    lines: list[str] = []
    for what, entries in shares(fates).items():
        rows = [(*key, f"{share.planted:,}", f"{share.found:,}", f"{share.share:.1%}") for key, share in entries.items()]
        lines += [*rows_of((*_HEADS[what], "planted", "found", "share"), rows), ""]
    finders = Counter(fate.kill.kind for fate in fates if fate.kill is not None)
    return [*lines, *rows_of(("kind of case", "found"), [(kind, f"{count:,}") for kind, count in finders.most_common()])]


_PREFACE = (
    "Written by `dmlcts faults conditions --count N --table FILE`, not by hand.",
    "",
    "Faults of one cause are all found, which tells little: they were written beside the cases. These are drawn by chance. Each is a fault of the",
    "reference (zero, a neighbour's value, the last element lost, packed strides assumed, half the precision, ...) where two or three conditions hold",
    "at once. The conditions are about raw properties of a dispatch: a size above a threshold up to 4,096, its remainder by 2 to 64, two sizes compared,",
    "strides, a rank, an attribute, presence, an offset, data. The random dispatches of level full were chosen for conditions of this kind",
    "(combinations.md), but not for these, which have another seed. A fault counts if a random valid dispatch of at most 64 MB meets its conditions and",
    "fails. Of each operator family, at least 98 % of those on two conditions are wanted and 95 % of those on three.",
)


def page(fates: Sequence[Fate], options: Mapping[str, object]) -> str:
    """docs/measured/faults.md: the shares, what falls short, and the survivors."""
    counted = [fate for fate in fates if fate.fate in (FOUND, SURVIVES)]
    survivors = [fate for fate in fates if fate.fate == SURVIVES]
    drawn = ", ".join(f"{name} {value}" for name, value in options.items())
    lines = ["# Faults under conditions", "", *_PREFACE, "", f"Here: {drawn}; {len(counted):,} faults that count.", ""]
    lines += [*tables(fates), "", "## Fewer found than wanted", ""]
    lines += [f"- {line}" for line in too_few(fates)] or ["None."]
    lines += ["", f"## Survivors ({len(survivors)})", ""]
    lines += [f"- `{fate.name}`, which {fate.does}" for fate in survivors]
    return "\n".join(lines).rstrip("\n") + "\n"


def as_json(fates: Sequence[Fate]) -> dict[str, Any]:
    """Everything as JSON. A survivor's ``witness`` is a case that would find it, as a case file has it."""
    return {
        "shares": {
            what: [
                {**dict(zip(_HEADS[what], key, strict=True)), "planted": entry.planted, "found": entry.found, "share": entry.share}
                for key, entry in entries.items()
            ]
            for what, entries in shares(fates).items()
        },
        "faults": [
            {
                "name": fate.name,
                "family": family_of(fate.operator),
                "fault": fate.fault,
                "does": fate.does,
                "conditions": [{"property": kind, "words": words} for kind, words in fate.conditions],
                "fate": fate.fate,
                "kill": asdict(fate.kill) if fate.kill else None,
                "witness": to_json(fate.witness) if fate.witness else None,
            }
            for fate in fates
        ],
    }
