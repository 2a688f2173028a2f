"""Faults of graphs, and legal variations, planted in what composes a graph on the reference.

Each is one changed step of ``CompiledGraph`` at the nodes where some conditions hold, drawn by chance: an operator family, a data type, a depth, readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from random import Random
from typing import ClassVar

import numpy as np

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.calls.slots import slots_of
from dmlcts.conformance.sequences.compose import CompiledGraph, Made, Place, Run
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.generator.suite.graphs.draw import usable_operators
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.reading.loader import family_of, load

_POISON = 0x5A


class ChangedGraph(CompiledGraph):
    """A graph with one changed step, where ``holds``."""

    holds: ClassVar[Callable[[ChangedGraph, int], bool]]

    @cached_property
    def depths(self) -> list[int]:
        """For each node how many nodes the longest way to it has."""
        found = [1] * len(self.descs)
        for node in self.order():
            found[node] = 1 + max((found[edge[0]] for edge in self.call.edges if edge[2] == node), default=0)
        return found

    def readers(self, node: int) -> list[int]:
        """The nodes that read an output of a node, as often as they do."""
        return [edge[2] for edge in self.call.edges if edge[0] == node]

    def is_inner(self, node: int) -> bool:
        """Whether a node's results are no outputs of the graph, so that it may be fused."""
        return all(edge[0] != node for edge in self.call.output_edges)

    def type_of(self, node: int) -> str:
        """The operator of a node; empty for a constant."""
        desc = self.descs[node]
        return "" if desc is None else desc.type


# Faults


class _OverwrittenWhileRead(ChangedGraph):
    """The result of a node is overwritten when its first reader has run, though another reads it later."""

    def finish_node(self, node: int, made: Made) -> None:
        order = self.order()
        for source in {edge[0] for edge in self.call.edges if edge[2] == node}:
            later = [reader for reader in self.readers(source) if order.index(reader) > order.index(node)]
            if later and self.holds(source):
                for slot in (slot for of, slot in list(made) if of == source):
                    made[source, slot] = np.full_like(made[source, slot], _POISON)


class _ConstantIgnored(ChangedGraph):
    """A constant is zero."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        if self.descs[node] is None and any(self.holds(reader) for reader in self.readers(node)):
            return {key: np.zeros_like(content) for key, content in found.items()}
        return found


class _InputsExchanged(ChangedGraph):
    """Two edges into a node are exchanged."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        fed = super().inputs_of(node, bound, made)
        slots = sorted(fed)
        for one, other in pairwise(slots):
            if self.holds(node) and self.tensor(node, "input", one) == self.tensor(node, "input", other):
                fed[one], fed[other] = fed[other], fed[one]
                break
        return fed


class _OtherOutput(ChangedGraph):
    """What reads the second output of a node reads the first."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        fed = super().inputs_of(node, bound, made)
        for source, of, to, slot in self.call.edges:
            if to == node and of == 1 and self.holds(source) and (source, 0) in made:
                fed[slot] = made[source, 0]
        return fed


class _ActivationTwice(ChangedGraph):
    """An activation that may be fused is applied twice."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        fused = self.type_of(node).startswith("ACTIVATION") and self.is_inner(node) and len(fed) == 1
        one, other = self.tensor(node, "input", 0), self.tensor(node, "output", 0)
        if fused and self.holds(node) and one is not None and one == other:
            return super().outputs_of(node, {0: found[node, 0]}, run, timeout)
        return found


class _LayoutLost(ChangedGraph):
    """A result with strides is written packed."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        for (of, slot), content in found.items():
            tensor = self.tensor(of, "output", slot)
            if tensor is not None and tensor.strides is not None and self.holds(node) and self.readers(node):
                packed = read_tensor(content, tensor).tobytes()
                content[: len(packed)] = np.frombuffer(packed, np.uint8)
        return found


class _InPlace(ChangedGraph):
    """A node writes its result over its input, though another node reads that later."""

    def finish_node(self, node: int, made: Made) -> None:
        order = self.order()
        own = made.get((node, 0))
        for source, of, to, _ in self.call.edges:
            later = [reader for reader in self.readers(source) if order.index(reader) > order.index(node)]
            if to == node and later and own is not None and own.size == made[source, of].size and self.holds(node):
                made[source, of] = own.copy()


class _MemoryShared(ChangedGraph):
    """Two nodes that do not depend on each other have their results in one place."""

    def finish_node(self, node: int, made: Made) -> None:
        own = made.get((node, 0))
        for other in range(node):
            kept = made.get((other, 0))
            alike = own is not None and kept is not None and own.size == kept.size and self.depths[other] == self.depths[node]
            if alike and own is not None and self.holds(node) and self.readers(other):
                made[other, 0] = own.copy()


class _EqualMerged(ChangedGraph):
    """Nodes of one operator with equal tensors are one, though they read different results."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        self.known: dict[str, tuple[int, Made]] = getattr(self, "known", {})
        if self.descs[node] is None or not fed or not self.holds(node):
            return found
        first, kept = self.known.setdefault(repr(self.descs[node]), (node, found))
        return found if first == node else {(node, slot): content.copy() for (_, slot), content in kept.items()}


class _InputReadOnce(ChangedGraph):
    """An input of the graph that several nodes read is there for the first alone."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        fed = super().inputs_of(node, bound, made)
        for given, to, slot in self.call.input_edges:
            earlier = [other for number, other, _ in self.call.input_edges if number == given and other != node]
            content = fed.get(slot)
            if to == node and earlier and content is not None and min(earlier) < node and self.holds(node):
                fed[slot] = np.zeros_like(content)
        return fed


class _OwnedExchanged(ChangedGraph):
    """The data that DirectML owns for one node are another's."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        fed = super().inputs_of(node, bound, made)
        owned = self.owned_inputs()
        names = [name for name in owned if bound(name) is not None]
        for given, to, slot in self.call.input_edges:
            name = f"input {given}"
            if to == node and name in owned and self.holds(node):
                others = [other for other in names if other != name and owned[other].bytes >= owned[name].bytes]
                if others:
                    fed[slot] = bound(others[0])
        return fed


class _LastRowLost(ChangedGraph):
    """The last eighth of a result that is read by a node is not written."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        if self.descs[node] is not None and self.is_inner(node) and self.holds(node):
            for content in found.values():
                content[content.size - content.size // 8 :] = 0
        return found


FAULTS: Mapping[str, type[ChangedGraph]] = {
    "overwritten-while-read": _OverwrittenWhileRead,
    "constant-ignored": _ConstantIgnored,
    "inputs-exchanged": _InputsExchanged,
    "other-output": _OtherOutput,
    "activation-twice": _ActivationTwice,
    "layout-lost": _LayoutLost,
    "in-place": _InPlace,
    "memory-shared": _MemoryShared,
    "equal-merged": _EqualMerged,
    "input-read-once": _InputReadOnce,
    "owned-exchanged": _OwnedExchanged,
    "last-part-lost": _LastRowLost,
}
"""What is wrong, by label."""


# Legal variations


class _OtherOrder(ChangedGraph):
    """Independent nodes run in another order."""

    def order(self) -> list[int]:
        found, left = [], set(range(len(self.descs)))
        while left:
            ready = [node for node in left if all(edge[0] not in left for edge in self.call.edges if edge[2] == node)]
            if not ready:
                return super().order()
            found.append(max(ready))
            left.remove(found[-1])
        return found


class _OtherGaps(ChangedGraph):
    """What lies between the elements of a result with strides is anything."""

    def finish_node(self, node: int, made: Made) -> None:
        for (of, slot), content in made.items():
            tensor = self.tensor(of, "output", slot)
            if of == node and tensor is not None and tensor.strides is not None:
                kept = read_tensor(content, tensor)
                content[...] = 0x3C
                write_tensor(content, tensor, kept)


class _LessRounded(ChangedGraph):
    """An inner result of FLOAT32 or FLOAT16 that need not be exact is off by one unit in its last place."""

    def is_rounded(self, node: int, slot: int) -> bool:
        """Whether an output is FLOAT32 or FLOAT16 and may be off by a unit whatever the attributes are: a sum of one term is exact."""
        desc = self.descs[node]
        if desc is None:
            return False
        operator, name = load(desc.type), slots_of(desc, "output")[slot]
        tolerance = operator.tolerance.for_output(field_of(name), desc.tensor(name).data_type, desc.fields)
        return desc.tensor(name).data_type in ("FLOAT32", "FLOAT16") and tolerance.judge in ("ulps", "mixed")

    def finish_node(self, node: int, made: Made) -> None:
        for (of, slot), content in made.items():
            tensor = self.tensor(of, "output", slot)
            if of == node and self.is_inner(node) and tensor is not None and self.is_rounded(node, slot):
                kept = read_tensor(content, tensor)
                with np.errstate(all="ignore"):
                    moved = np.nextafter(kept, np.where(kept > 0, np.inf, -np.inf).astype(kept.dtype))
                write_tensor(content, tensor, np.where(np.isfinite(moved) & (kept != 0), moved, kept).astype(kept.dtype))


class _Recomputed(ChangedGraph):
    """A node runs once more for each that reads it."""

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        return {slot: None if content is None else content.copy() for slot, content in super().inputs_of(node, bound, made).items()}


LEGAL: Mapping[str, type[ChangedGraph]] = {
    "other-order": _OtherOrder,
    "other-gaps": _OtherGaps,
    "less-rounded": _LessRounded,
    "recomputed": _Recomputed,
}
"""What is legal, by label."""

# Conditions


@dataclass(frozen=True, slots=True)
class Condition:
    """Where a fault shows: in words, and as a function of a graph and a node."""

    words: str
    holds: Callable[[ChangedGraph, int], bool]


def draw_conditions(random: Random, count: int) -> list[Condition]:
    """So many conditions of different kinds, drawn at random."""
    families = sorted({family_of(name) or "" for name in usable_operators()} - {""})
    family, data_type = random.choice(families), random.choice(("FLOAT32", "FLOAT16", "INT32", "UINT8"))
    depth, least = random.choice((2, 3, 4)), random.choice((3, 5, 8))
    every = (
        Condition(f"the operator is of the family {family}", lambda graph, node: family_of(graph.type_of(node)) == family),
        Condition(
            f"its result is {data_type}", lambda graph, node: getattr(graph.tensor(node, "output", 0), "data_type", "") == data_type
        ),
        Condition(f"it is node {depth} of a chain or later", lambda graph, node: graph.depths[node] >= depth),
        Condition("several nodes read it", lambda graph, node: len(graph.readers(node)) > 1),
        Condition("its result is read by none but one", lambda graph, node: len(graph.readers(node)) == 1),
        Condition(f"the graph has {least} nodes or more", lambda graph, node: len(graph.descs) >= least),
    )
    return random.sample(every, count)


class ChangedBackend(ReferenceBackend):
    """The reference, whose graphs have a changed step at the nodes where all conditions hold."""

    def __init__(self, step: type[ChangedGraph], conditions: list[Condition] | None = None) -> None:
        super().__init__()

        class Changed(step):  # type: ignore[misc, valid-type]
            def holds(self, node: int) -> bool:
                return all(each.holds(self, node) for each in conditions or ())

        self.step: type[CompiledGraph] = Changed

    def perform(self, calls: list[Call]) -> list[Reply]:
        """Performs a sequence whose graphs have the step."""
        performer = Performer(self)
        performer.graph_type = self.step
        return performer.perform(calls)
