"""Where operators stand in graphs: as first, middle and last node, and which family's results which other family reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.graphs.draw import is_open, usable_operators
from dmlcts.generator.suite.graphs.graph import Graph, Made
from dmlcts.spec.reading.loader import family_of, load

FIRST, MIDDLE, LAST, ALONE = "first", "middle", "last", "alone"
"""Where a node stands: it reads no other and is read, it reads another and is read, it reads another and is not read; or neither."""

Place = tuple[str, str]
"""An operator and where it stands; or two families, the first of which makes what the second reads."""


def nodes_placed(graph: Graph) -> Iterator[Place]:
    """Each node's operator, and where it stands."""
    read = {feed.node for _, _, feed in graph.feeds() if isinstance(feed, Made)}
    for index, node in enumerate(graph.nodes):
        reads = any(isinstance(feed, Made) for feed in node.feeds.values())
        yield node.desc.type, _PLACES[reads, index in read]


_PLACES = {(False, True): FIRST, (True, True): MIDDLE, (True, False): LAST, (False, False): ALONE}


def family_pairs(graph: Graph) -> Iterator[Place]:
    """The families of the two operators of each edge."""
    for index, _, feed in graph.feeds():
        if isinstance(feed, Made):
            yield _family(graph.nodes[feed.node].desc.type), _family(graph.nodes[index].desc.type)


def _family(operator: str) -> str:
    return family_of(operator) or operator


def operators_of(family: str) -> tuple[str, ...]:
    """The operators of a family that graphs may have."""
    return tuple(name for name in usable_operators() if _family(name) == family)


@cache
def places_wanted() -> tuple[Place, ...]:
    """Every operator in each place where it can stand: who reads only what is not any value, as indices or divisors, cannot read a node.

    Graphs have no operator of which no page says what it computes.
    """
    return tuple(
        (name, place)
        for name in usable_operators()
        if not load(name).is_measured_alone
        for place in ((FIRST, MIDDLE, LAST) if _reads(name) else (FIRST,))
        if place == LAST or _is_read(name)
    )


@cache
def pairs_wanted() -> tuple[Place, ...]:
    """Every two families of which one has results that the other may read."""
    made: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}
    for name in usable_operators():
        made.setdefault(_family(name), set()).update(_types_made(name))
        read.setdefault(_family(name), set()).update(_types_read(name))
    return tuple((one, other) for one in sorted(made) for other in sorted(read) if made[one] & read[other])


@cache
def _types_made(name: str) -> frozenset[str]:
    """The data types of an operator's outputs."""
    plan = plan_of(load(name))
    outputs = [each.name for each in plan.operator.outputs()]
    return frozenset(data_type for choice in plan.choices for of, data_type in choice.types if of in outputs)


@cache
def _types_read(name: str) -> frozenset[str]:
    """The data types of inputs that a node may feed."""
    plan = plan_of(load(name))
    inputs = [each.name for each in plan.operator.inputs() if is_open(plan, each.name)]
    return frozenset(data_type for choice in plan.choices for of, data_type in choice.types if of in inputs)


def _reads(name: str) -> bool:
    """Whether a node may feed an operator."""
    return bool(_types_read(name))


@cache
def _every_type_read() -> frozenset[str]:
    return frozenset(data_type for name in usable_operators() for data_type in _types_read(name))


def _is_read(name: str) -> bool:
    """Whether some operator may read what an operator makes."""
    return bool(_types_made(name) & _every_type_read())


def lacking_places(graphs: Iterable[Graph]) -> tuple[list[Place], list[Place]]:
    """The places in which an operator occurs in none of the graphs, and the pairs of families that none has."""
    placed: set[Place] = set()
    pairs: set[Place] = set()
    for graph in graphs:
        placed.update(nodes_placed(graph))
        pairs.update(family_pairs(graph))
    return [each for each in places_wanted() if each not in placed], [each for each in pairs_wanted() if each not in pairs]
