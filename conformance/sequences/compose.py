"""A compiled graph on a backend that runs single dispatches: its nodes one after another, with the results between them in memory of their own.

That is what every graph must amount to, so it says nothing of fusion. It is there so that graphs run on any backend, and so that the reference has
their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch, GraphDispatch, Rejected, Source
from dmlcts.conformance.backends.buffers import element_bytes
from dmlcts.conformance.sequences.calls import CompileGraph
from dmlcts.conformance.sequences.calls.slots import is_owned, slots_of
from dmlcts.generator.suite.graphs.graph import in_order
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

_POISON = 0xC7
"""What memory between nodes holds before a node writes it."""

Run = Callable[[Dispatch], None]


Made = dict[tuple[int, int], Bytes]
"""What nodes have given, by node and slot."""

Place = Callable[[str], Bytes | None]
"""The bytes that are bound to an input or an output of a graph, by its name; None if nothing is."""


@dataclass(eq=False, slots=True)
class CompiledGraph:
    """A compiled graph. ``number`` is how the sequence names it; ``descs`` are those of its nodes, None for constants."""

    number: int
    call: CompileGraph
    descs: tuple[OperatorDesc | None, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        """The execution flags that it was compiled with."""
        return self.call.flags

    def slots(self, kind: str) -> tuple[str, ...]:
        """The names of its inputs or outputs, a slot of a binding table each."""
        return tuple(f"{kind} {number}" for number in range(self.call.inputs if kind == "input" else self.call.outputs))

    def owned_inputs(self) -> dict[str, TensorDesc]:
        """The inputs that DirectML owns, by name, each as the tensor that reads it."""
        read = {given: self.tensor(node, "input", slot) for given, node, slot in self.call.input_edges}
        names = self.slots("input")
        return {names[given]: tensor for given, tensor in read.items() if tensor is not None and is_owned(tensor)}

    def tensor(self, node: int, kind: str, slot: int) -> TensorDesc | None:
        """The tensor in a slot of a node; None where there is none."""
        desc = self.descs[node]
        names = () if desc is None else slots_of(desc, kind)
        return desc.find(names[slot]) if desc is not None and slot < len(names) else None

    def as_dispatch(self, bound: Place, timeout: float | None) -> GraphDispatch | None:
        """One execution of the graph as a whole, on what is bound; None where a slot is not bound or does not exist. Raises Rejected for a cycle."""
        order = self.order()
        at = {node: place for place, node in enumerate(order)}
        names = [name for kind in ("input", "output") for name in self.slots(kind)]
        buffers = [buffer for name in names if (buffer := bound(name)) is not None]
        nodes = [each for node in order if not isinstance(each := self.descs[node] or self.call.nodes[node], int)]
        if len(buffers) < len(names):
            return None
        feeds: list[dict[str, Source]] = [{} for _ in order]
        outputs: list[tuple[int, str]] = [(0, "")] * self.call.outputs
        try:
            for given, node, slot in self.call.input_edges:
                feeds[at[node]][self.name_of(node, "input", slot)] = given
            for source, of, node, slot in self.call.edges:
                feeds[at[node]][self.name_of(node, "input", slot)] = (at[source], self.name_of(source, "output", of))
            for node, slot, number in self.call.output_edges:
                outputs[number] = (at[node], self.name_of(node, "output", slot))
        except IndexError:
            return None
        return GraphDispatch(tuple(nodes), tuple(feeds), tuple(outputs), buffers, self.call.inputs, timeout)

    def name_of(self, node: int, kind: str, slot: int) -> str:
        """The name of the tensor in a slot of a node, empty for a constant's. Raises IndexError where there is none."""
        desc = self.descs[node]
        return "" if desc is None else slots_of(desc, kind)[slot]

    # Steps that planted faults replace (conformance/faults/beyond/graphs)

    def execute(self, run: Run, bound: Place, timeout: float | None) -> None:
        """Executes the nodes with what is bound, and writes the elements of the outputs.

        Raises:
            Rejected: an edge leads to a slot that the node does not have, or the graph has a cycle. Whatever ``run`` raises.
        """
        made: Made = {}
        for node in self.order():
            made |= self.outputs_of(node, self.inputs_of(node, bound, made), run, timeout)
            self.finish_node(node, made)
        for node, slot, number in self.call.output_edges:
            target, tensor = bound(f"output {number}"), self.tensor(node, "output", slot)
            if target is None or tensor is None:
                raise Rejected(
                    f"output {number} of the graph is not bound, or node {node} has none in slot {slot}", "bind", "E_INVALIDARG"
                )
            mask = element_bytes(tensor)
            target[: mask.size][mask] = made[node, slot][mask]

    def order(self) -> list[int]:
        """The nodes, each after those that feed it. Raises Rejected for a cycle."""
        try:
            return in_order([{edge[0] for edge in self.call.edges if edge[2] == node} for node in range(len(self.descs))])
        except ValueError as error:
            raise Rejected(str(error), "compile", "E_INVALIDARG") from None

    def inputs_of(self, node: int, bound: Place, made: Made) -> dict[int, Bytes | None]:
        """What feeds a node, by its slots."""
        fed = {slot: bound(f"input {given}") for given, to, slot in self.call.input_edges if to == node}
        return fed | {slot: made[source, of] for source, of, to, slot in self.call.edges if to == node}

    def outputs_of(self, node: int, fed: Mapping[int, Bytes | None], run: Run, timeout: float | None) -> Made:
        """What a node gives, by node and slot. Raises Rejected, and whatever ``run`` raises."""
        desc, constant = self.descs[node], self.call.nodes[node]
        if desc is None:
            return {(node, 0): np.frombuffer(constant, np.uint8).copy()} if isinstance(constant, bytes) else {}
        ins, outs = slots_of(desc, "input"), slots_of(desc, "output")
        held: dict[str, Bytes] = {}
        for slot, content in fed.items():
            if content is None or slot >= len(ins) or not ins[slot]:
                raise Rejected(f"input {slot} of node {node} ({desc.type}) is not bound, or does not exist", "bind", "E_INVALIDARG")
            held[ins[slot]] = _pad_to(content, desc.tensor(ins[slot]).bytes)
        names = tuple(name for name in outs if name)
        held |= {name: np.full(desc.tensor(name).bytes, _POISON, np.uint8) for name in names}
        bindings = {name: BufferBinding(at, 0, content.size) for at, (name, content) in enumerate(held.items())}
        run(Dispatch(desc, list(held.values()), bindings, names, timeout))
        return {(node, slot): held[name] for slot, name in enumerate(outs) if name}

    def finish_node(self, node: int, made: Made) -> None:
        """Called when a node has run, with all that nodes have given so far."""


def _pad_to(content: Bytes, size: int) -> Bytes:
    """A copy of so many bytes: a constant may be shorter than its tensor, whose total size is a multiple of 4."""
    found = np.zeros(size, np.uint8)
    found[: min(size, content.size)] = content[:size]
    return found
