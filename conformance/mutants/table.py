"""What became of planted faults, in Markdown: docs/mutants.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmlcts.conformance.mutants.hunt import Cost, Hunt

_PREFACE = (
    "How many planted faults the suite finds. Written by `dmlcts mutants --all --by-kind N --table FILE`, not by hand. A mutant is the",
    "reference with one fault in one operator; it is found if a case fails. What is no fault changes nothing that an implementation promises,",
    "and no case may fail. Of faults that are found together, and of those that are found whenever another is, `dmlcts mutants` hunts one; the",
    "hardest are these.",
)

SORTS: Mapping[str, str] = {
    "specific": "what implementations of this operator get wrong: a step of its computation",
    "tensors and attributes": "any tensor or attribute misread, less precision, another operator computed",
    "wrong-for": "wrong in the last element, under one condition alone",
    "strides": "strides that are not the tensor's own",
    "lost": "elements that are not written",
    "memory": "bytes written or read that are no element's, wrong offsets",
    "in-place": "faults of in-place execution",
    "accepts": "a rule not enforced, or by half",
    "refuses": "something valid refused, or a wrong way to refuse",
}
"""The sorts of faults, and what they do."""


def sort_of(label: str) -> str:
    """The sort that a fault belongs to, by its label: what begins with a tensor's or attribute's name is made from the spec."""
    first, slash, _ = label.partition("/")
    if first in SORTS:
        return first
    return "tensors and attributes" if slash else "specific"


def table(hunts: Sequence[Hunt], hardest: Mapping[str, int], costs: Mapping[str, Cost], sample: str) -> str:
    """Counts by operator, sort and kind of case, the faults that are not found, and what is no fault, by reason.

    ``hardest`` has, for each operator, how many faults are not found whenever another is; ``sample`` says which faults ``costs`` are of, if any.
    """
    lines = ["# Planted faults", "", *_PREFACE, ""]
    rows = [(name, *_counted([h for h in hunts if h.mutant.operator == name], most)) for name, most in hardest.items()]
    lines += rows_of(
        ("operator", "found", "planted", "hardest", "no fault"), [*rows, ("together", *_counted(hunts, sum(hardest.values())))]
    )
    lines += ["", "## By sort", ""]
    sorts = [(sort, does, [h for h in hunts if sort_of(h.mutant.label) == sort]) for sort, does in SORTS.items()]
    lines += rows_of(("sort", "faults", "found", "planted"), [(sort, does, *_counted(some)[:2]) for sort, does, some in sorts])
    if costs:
        lines += ["", "## By kind of case", "", sample, "", *costs_table(costs)]
    lines += ["", "## Not found", ""]
    missed = [
        f"- `{h.mutant.name}`, which {h.mutant.fault.does}{f': {h.mutant.open}' if h.mutant.open else ''}"
        for h in hunts
        if h.kill is None and not h.mutant.no_fault
    ]
    lines += missed or ["Every fault is found."]
    lines += ["", "## No fault", ""]
    reasons: dict[str, list[str]] = {}
    for found in hunts:
        if found.mutant.no_fault:
            reasons.setdefault(found.mutant.no_fault, []).append(found.mutant.name)
    for reason, names in reasons.items():
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        lines.append(f"- {reason}: {', '.join(f'`{name}`' for name in names[:6])}{more}")
    return "\n".join(lines) + "\n"


def costs_table(costs: Mapping[str, Cost]) -> list[str]:
    """What each kind of case costs and finds, as a table."""
    head = ("kind", "cases", "CPU s", "found", "found by no other kind", "found a CPU s")
    rows = [
        (kind, f"{c.cases:,}", f"{c.seconds:,.1f}", f"{c.finds:,}", f"{c.only:,}", f"{c.finds / (c.seconds or 1):,.1f}")
        for kind, c in sorted(costs.items(), key=lambda pair: -pair[1].finds)
    ]
    return rows_of(head, rows)


def _counted(hunts: Sequence[Hunt], hardest: int = 0) -> tuple[str, ...]:
    """Found, planted, hardest, no fault."""
    faults = [found for found in hunts if not found.mutant.no_fault]
    numbers = (sum(found.kill is not None for found in faults), len(faults), hardest, len(hunts) - len(faults))
    return tuple(f"{number:,}" for number in numbers)


def rows_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
