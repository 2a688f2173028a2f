"""What the reports of a run say from the specs: Microsoft's pages, the specs themselves, and failing cases as DxDispatch models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import StringIO
from math import prod
from typing import Any

from rich.console import Console

from dmlcts.conformance.commands.specs.spec_show import print_operator
from dmlcts.conformance.dxdispatch.write import model_text
from dmlcts.generator.case.case import REFERENCE, VALUES, Case, from_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.covering.cases import is_stale
from dmlcts.generator.suite.graph_cases.graph_case import find_graph, write_recipes
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.formats.graph_drawing import drawing_of
from dmlcts.reports.record.record import GRAPH, REPLAY, Result
from dmlcts.spec.reading.loader import load, operator_names

MOST_ELEMENTS = 10_000
"""The most elements of a case's tensors for which a model is made; larger ones are written by `dmlcts repro`."""


class SpecSupplement:
    """The supplement from the specs. ``level`` is the run's: its cases are made already."""

    def __init__(self, level: str) -> None:
        self._level = level

    def page(self, operator: str) -> str:
        """The address of Microsoft's page."""
        if operator not in operator_names():
            return ""
        return next((source.url for source in load(operator).sources if source.url), "")

    def spec(self, operator: str) -> str:
        """What `dmlcts spec show` prints."""
        if operator not in operator_names():
            return ""
        text = StringIO()
        print_operator(Console(file=text, width=140, color_system=None), load(operator))
        return text.getvalue()

    def model(self, result: Result) -> str:
        """The case of a failure, or the shrunken example of a property case; empty for what a model cannot express."""
        try:
            case = self._case(result)
            if case is None or case.expect not in (REFERENCE, VALUES):
                return ""
            if sum(prod(tensor.sizes) for _, tensor in case.desc.tensors()) > MOST_ELEMENTS:
                return ""
            return model_text(case, inputs(case))
        except Exception:  # the example of a foreign record may be anything; then there is no model
            return ""

    def draw_graph(self, result: Result) -> Sequence[Any]:
        """The graph of a failure; empty for other cases, and for a graph that this version does not have."""
        if result.kind != GRAPH:
            return ()
        try:
            graph = write_recipes(find_graph(result.case).graph())
        except KeyError:
            return ()
        node = result.evidence.get("node")
        return drawing_of(graph, node if isinstance(node, int) else None)

    def _case(self, result: Result) -> Case | None:
        example = result.evidence.get("example")
        if example is not None:
            return from_json(example, load)
        if result.kind == REPLAY:  # a client's dispatch, which is no case of the suite
            return None
        if result.operator not in operator_names() or is_stale(load(result.operator)):  # a report computes no rows
            return None
        return _cases(result.operator, self._level).get(result.case) or _cases(result.operator, "full").get(result.case)


@cache
def _cases(operator: str, level: str) -> dict[str, Case]:
    return {case.id: case for case in operator_cases(operator, level)}
