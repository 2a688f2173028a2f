"""The text of ``dmlcts spec show``: an operator with everything inherited, default, or measured."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dmlcts.spec.model.operator import Operator
from dmlcts.spec.pages.sections import sections


def print_operator(out: Console, operator: Operator) -> None:
    """Prints everything known about an operator: its promises, how they are tested, measurements, and which networks dispatch it in how many kinds."""
    out.print(f"[bold]{operator.name}[/]  type {operator.type}, since feature level {operator.introduced.text}")
    out.print(f"{escape(operator.summary)}\n")
    for section in sections(operator):
        out.print(f"[dim]{escape(section.title)}[/]")
        if section.rows:
            table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
            for row in section.rows:
                table.add_row(*(escape(cell) for cell in row))
            out.print(table)
        for text in (section.texts or {}).values():
            out.print(text, markup=False, highlight=False, soft_wrap=True)
        out.print("")
    out.print(f"file: {operator.file}", style="dim")
