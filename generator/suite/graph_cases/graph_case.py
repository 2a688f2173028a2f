"""A graph as a case: its name, its level, and the graph, which is made when it is asked for.

Level core has the families (generator/suite/graphs/families) in each of their data types, and random graphs; level full has more of these. Random graphs were drawn once
and are stored in ``core.jsonl`` and ``full.jsonl``, a graph a line, with recipes for data: later specs, and another way of drawing, leave them as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any

from dmlcts.generator.case.case import Case, data_json, read_data
from dmlcts.generator.suite.graphs.families import FAMILIES, TYPES
from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.generator.suite.graphs.graph_json import read_graph, write_graph
from dmlcts.spec.reading.loader import load

GRAPHS = "graphs"
"""What stands for the operator in the ids of graphs."""

FAMILY, RANDOM = "family", "random"
"""The kinds of graphs, as in their names."""

STORED = ("core", "full")
"""The levels that have stored graphs."""


@dataclass(frozen=True, eq=False, slots=True)
class GraphCase:
    """A graph of a run. ``name`` is ``random/12``, ``feature_level`` the lowest that has its operators. ``isolated``: it is the last that its process runs."""

    name: str
    level: str
    feature_level: str
    isolated: bool
    make: Callable[[], Graph]

    @property
    def id(self) -> str:
        """The id of the case: ``graphs/random/12``."""
        return f"{GRAPHS}/{self.name}"

    def graph(self) -> Graph:
        """The graph, made again each time: those of all cases take too much memory. Raises SpecError."""
        return self.make()


@cache
def graph_cases(most: str = "full") -> tuple[GraphCase, ...]:
    """The graphs up to a level, those last that need a process of their own. Raises SpecError."""
    levels = STORED[: STORED.index(most) + 1] if most in STORED else STORED if most == "huge" else ()
    families = _family_cases() if levels else ()
    every = (*families, *(case for level in levels for case in stored_cases(level)))
    return tuple(sorted(every, key=lambda case: case.isolated))


def find_graph(case_id: str) -> GraphCase:
    """The graph with this id. Raises KeyError, with similar ids."""
    found = {case.id: case for case in graph_cases()}
    if case_id not in found:
        near = get_close_matches(case_id, found, n=3, cutoff=0.3)
        raise KeyError(f"no graph {case_id!r}; similar ids: {', '.join(near) or 'none'}")
    return found[case_id]


def _family_cases() -> Iterator[GraphCase]:
    for name, make in FAMILIES.items():
        for data_type in TYPES:
            label = "-".join(re.findall("[A-Za-z0-9]+", name))
            graph = make(data_type)
            name_of_case = f"{FAMILY}/{label}/{data_type}"
            yield GraphCase(name_of_case, STORED[0], graph.feature_level(), is_at_stake(graph), partial(make, data_type))


def is_at_stake(graph: Graph) -> bool:
    """Whether a graph may end the process later: implementations have gone wrong where nothing is read by a node."""
    return any(not node.feeds for node in graph.nodes)


# Stored graphs


def stored_file(level: str) -> Path:
    """The file with the random graphs that a level adds."""
    return Path(__file__).parent / f"{level}.jsonl"


@cache
def stored_cases(level: str) -> tuple[GraphCase, ...]:
    """The random graphs that a level adds."""
    file = stored_file(level)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return tuple(case_of_line(line, level) for line in lines)


def case_of_line(line: str, level: str) -> GraphCase:
    """The case of a stored line. Its graph is not looked at before it is asked for."""
    head: dict[str, Any] = json.loads(line)
    name = head["name"]

    def make() -> Graph:
        return read_graph(json.loads(line), load, f"{name}/", read_data)

    return GraphCase(name, level, head["feature_level"], any(not node["feeds"] for node in head["nodes"]), make)


def line_of(name: str, graph: Graph) -> str:
    """A graph as a line that is stored."""

    return json.dumps({"name": name, "feature_level": graph.feature_level(), **write_recipes(graph)}, separators=(",", ":"))


def write_recipes(graph: Graph) -> dict[str, Any]:
    """A graph as JSON, with the recipes of its data in the place of numbers."""

    def write_data(case: Case, tensor: str) -> dict[str, Any]:
        return data_json(case.data[tensor])

    return write_graph(graph, write_data)
