"""What a report says beyond its record: where an operator is documented, its spec, and a failing case to run elsewhere.

A record has none of it, and this room knows no specs: whoever writes a report hands it over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dmlcts.reports.record.record import Result


class Supplement(Protocol):
    """Each function gives an empty text for what is not known, as in the record of another version, and raises nothing."""

    def page(self, operator: str) -> str:
        """The address of Microsoft's page of the operator."""

    def spec(self, operator: str) -> str:
        """The operator's spec as text."""

    def model(self, result: Result) -> str:
        """The case as a model in DxDispatch's JSON form, complete in one file."""

    def draw_graph(self, result: Result) -> Sequence[Any]:
        """A graph that failed as a drawing (graph_drawing), the first wrong node marked."""


class Nothing:
    """No supplement."""

    def page(self, operator: str) -> str:
        """Is not known."""
        return ""

    def spec(self, operator: str) -> str:
        """Is not known."""
        return ""

    def model(self, result: Result) -> str:
        """Is not known."""
        return ""

    def draw_graph(self, result: Result) -> Sequence[Any]:
        """Is not known."""
        return ()
