"""Faults of graphs, planted in what composes a graph on the reference: each is one changed step of ``CompiledGraph``, at the nodes where some conditions hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.sequences.compose import CompiledGraph, Made, Place, Run
from dmlcts.spec.model.desc import TensorDesc

Array = NDArray[Any]

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


class _CastDropped(ChangedGraph):
    """A cast to another data type and back is left out, though it rounds."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        self.kept: dict[int, tuple[TensorDesc, Array]] = getattr(self, "kept", {})
        read, given = self.tensor(node, "input", 0), self.tensor(node, "output", 0)
        content = fed.get(0)
        if self.type_of(node) != "CAST" or read is None or given is None or content is None:
            return found
        self.kept[node] = read, read_tensor(content, read)
        before = next((edge[0] for edge in self.call.edges if edge[2] == node), -1)
        source = self.kept.get(before) if before >= 0 and self.is_inner(before) and self.holds(node) else None
        if source is not None and source[0].data_type == given.data_type and source[1].size == given.count:
            write_tensor(found[node, 0], given, source[1].reshape(given.sizes))
        return found


class _FirstActivation(ChangedGraph):
    """An activation has the parameters of the first one of its kind."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        desc = self.descs[node]
        if desc is None or not desc.type.startswith("ACTIVATION") or not self.holds(node):
            return super().outputs_of(node, fed, run, timeout)
        first = next(each for each in self.descs if each is not None and each.type == desc.type)
        numbers = {name: value for name, value in first.fields.items() if isinstance(value, float)}
        kept = self.descs
        self.descs = (*kept[:node], replace(desc, fields={**desc.fields, **numbers}), *kept[node + 1 :])
        try:
            return super().outputs_of(node, fed, run, timeout)
        finally:
            self.descs = kept


class _UnusedWritten(ChangedGraph):
    """An output that nobody uses is written over the first output of its node."""

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        found = super().outputs_of(node, fed, run, timeout)
        used = {edge[1] for edge in (*self.call.edges, *self.call.output_edges) if edge[0] == node}
        for (_, slot), content in found.items():
            first = found.get((node, 0))
            if slot and slot not in used and first is not None and self.holds(node):
                size = min(first.size, content.size)
                first[:size] = content[:size]
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
    "cast-dropped": _CastDropped,
    "first-activation": _FirstActivation,
    "unused-written": _UnusedWritten,
}
"""What is wrong, by label."""
