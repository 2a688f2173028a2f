"""What became of the mutants, in Markdown: docs/mutants.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmlcts.conformance.mutants.hunt import Hunt, summary

_PREFACE = (
    "How many planted faults the suite finds. Written by `dmlcts mutants --table FILE`, not by hand. A mutant is the reference with one fault",
    "in it; it counts once in each operator that it concerns, and is found there if a case fails. What is no fault changes nothing that",
    "an implementation promises, and no case may fail.",
)

_SORTS = {
    "of the operator's own": "a wrong value, as implementations of this operator get it wrong; another operator computed, an attribute misread",
    "numbers": "less precision, a smaller range, another sign",
    "operands": "an input taken for another, or its first element for all",
    "bits": "bit patterns changed on the way",
    "wrong-for": "wrong in the last element, for tensors of a certain kind alone",
    "order": "results in the wrong order",
    "strides": "strides that are not the tensor's own",
    "bytes": "bytes in the wrong order",
    "lost": "elements that are not written",
    "memory": "bytes written or read that are no element's",
    "in-place": "faults of in-place execution",
    "accepts": "a rule not enforced",
    "refuses": "something valid refused, or a wrong way to refuse",
}
"""The first part of mutants' names, and what they do."""


def table(hunts: Sequence[Hunt], operators: Sequence[str]) -> str:
    """Counts by operator and by sort, the faults that are not found, and what is no fault, by reason."""
    total = summary(hunts, operators)
    counts = total["by_operator"].values()
    said = ["# Planted faults", "", *_PREFACE, ""]
    said += _rows(
        ("operator", "found", "planted", "no fault"),
        [(name, *_numbers(c["killed"], c["total"], c["equivalent"])) for name, c in total["by_operator"].items()]
        + [("together", *_numbers(*(sum(c[key] for c in counts) for key in ("killed", "total", "equivalent"))))],
    )
    said += ["", "## By sort", ""]
    said += _rows(("sort", "faults", "found", "planted"), [(name, _SORTS[name], *_counted(hunts, name)) for name in _SORTS])
    said += ["", "## Not found", ""]
    missed = [f"- `{h.mutant.name}`, which {h.mutant.does}: {', '.join(h.survives_in)}" for h in _faults(hunts) if h.survives_in]
    said += missed or ["Every fault is found."]
    said += ["", "## No fault", ""]
    for reason, named in _by_reason(hunts).items():
        said += [f"- {reason}:", *(f"  - {mutant}: {', '.join(dict.fromkeys(where))}" for mutant, where in named.items())]
    return "\n".join(said) + "\n"


def sort_of(mutant: str) -> str:
    """The sort that a mutant belongs to, by its name."""
    first = mutant.partition("/")[0]
    return first if first in _SORTS else next(iter(_SORTS))


def _faults(hunts: Iterable[Hunt]) -> list[Hunt]:
    return [hunt for hunt in hunts if not hunt.mutant.equivalent]


def _counted(hunts: Iterable[Hunt], sort: str) -> tuple[str, ...]:
    """Of one sort: how many are found, and how many were planted, each in each of its operators."""
    chosen = [hunt for hunt in _faults(hunts) if sort_of(hunt.mutant.name) == sort]
    return _numbers(sum(len(hunt.kills) for hunt in chosen), sum(len(hunt.mutant.operators) for hunt in chosen))


def _by_reason(hunts: Iterable[Hunt]) -> dict[str, dict[str, list[str]]]:
    """What is no fault: reason, mutant, operators."""
    found: dict[str, dict[str, list[str]]] = {}
    for hunt in hunts:
        mutant = hunt.mutant
        if mutant.equivalent:
            name = mutant.name.removesuffix(f"/{mutant.operators[0]}") if len(mutant.operators) == 1 else mutant.name
            found.setdefault(mutant.equivalent, {}).setdefault(f"`{name}`", []).extend(_short(mutant.operators))
    return found


def _short(operators: Sequence[str]) -> tuple[str, ...]:
    return tuple(operators) if len(operators) <= 8 else (f"{len(operators)} operators",)


def _numbers(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in numbers)


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
