"""Tables in Markdown of what becomes of planted faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dmlcts.conformance.faults.hunt.hunt import Cost


def costs_table(costs: Mapping[str, Cost]) -> list[str]:
    """What each kind of case costs and finds, as a table."""
    head = ("kind", "cases", "CPU s", "found", "found by no other kind", "found a CPU s")
    rows = [
        (kind, f"{c.cases:,}", f"{c.seconds:,.1f}", f"{c.finds:,}", f"{c.only:,}", f"{c.finds / (c.seconds or 1):,.1f}")
        for kind, c in sorted(costs.items(), key=lambda pair: -pair[1].finds)
    ]
    return rows_of(head, rows)


def rows_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
