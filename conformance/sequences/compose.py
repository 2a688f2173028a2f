"""A compiled graph on a backend that runs single dispatches: its nodes one after another, with the results between them in memory of their own.

That is what every graph must amount to, so it says nothing of fusion. It is there so that graphs run on any backend, and so that the reference has
their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch, Rejected
from dmlcts.conformance.backends.buffers import element_bytes
from dmlcts.conformance.sequences.calls import CompileGraph
from dmlcts.conformance.sequences.slots import is_owned, slots_of
from dmlcts.generator.graphs.graph import in_order
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

_POISON = 0xC7
"""What memory between nodes holds before a node writes it."""

Run = Callable[[Dispatch], None]


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

    def owned(self) -> dict[str, TensorDesc]:
        """The inputs that DirectML owns, by name, each as the tensor that reads it."""
        read = {given: self._tensor(node, "input", slot) for given, node, slot in self.call.input_edges}
        names = self.slots("input")
        return {names[given]: tensor for given, tensor in read.items() if tensor is not None and is_owned(tensor)}

    def _tensor(self, node: int, kind: str, slot: int) -> TensorDesc | None:
        desc = self.descs[node]
        return None if desc is None else desc.find(slots_of(desc, kind)[slot])

    def execute(self, run: Run, bound: Place, timeout: float | None) -> None:
        """Executes the nodes with what is bound, and writes the elements of the outputs.

        Raises:
            Rejected: an edge leads to a slot that the node does not have, or the graph has a cycle. Whatever ``run`` raises.
        """
        made: dict[tuple[int, int], Bytes] = {}
        try:
            order = in_order([{edge[0] for edge in self.call.edges if edge[2] == node} for node in range(len(self.descs))])
        except ValueError as error:
            raise Rejected(str(error), "compile", "E_INVALIDARG") from None
        for node in order:
            made |= self._execute_node(node, run, bound, made, timeout)
        for node, slot, number in self.call.output_edges:
            target, desc = bound(f"output {number}"), self.descs[node]
            tensor = self._tensor(node, "output", slot)
            if target is None or desc is None or tensor is None:
                raise Rejected(
                    f"output {number} of the graph is not bound, or node {node} has none in slot {slot}", "bind", "E_INVALIDARG"
                )
            mask = element_bytes(tensor)
            target[: mask.size][mask] = made[node, slot][mask]

    def _execute_node(
        self, node: int, run: Run, bound: Place, made: Mapping[tuple[int, int], Bytes], timeout: float | None
    ) -> dict[tuple[int, int], Bytes]:
        """What a node writes, by its slots."""
        desc, constant = self.descs[node], self.call.nodes[node]
        if desc is None:
            return {(node, 0): np.frombuffer(constant, np.uint8).copy()} if isinstance(constant, bytes) else {}
        fed = {slot: bound(f"input {given}") for given, to, slot in self.call.input_edges if to == node}
        fed |= {slot: made[source, of] for source, of, to, slot in self.call.edges if to == node}
        ins, outs = slots_of(desc, "input"), slots_of(desc, "output")
        held: dict[str, Bytes] = {}
        for slot, content in fed.items():
            if content is None or slot >= len(ins) or not ins[slot]:
                raise Rejected(f"input {slot} of node {node} ({desc.type}) is not bound, or does not exist", "bind", "E_INVALIDARG")
            held[ins[slot]] = _padded(content, desc.tensor(ins[slot]).bytes)
        names = tuple(name for name in outs if name)
        held |= {name: np.full(desc.tensor(name).bytes, _POISON, np.uint8) for name in names}
        bindings = {name: BufferBinding(at, 0, content.size) for at, (name, content) in enumerate(held.items())}
        run(Dispatch(desc, list(held.values()), bindings, names, timeout))
        return {(node, slot): held[name] for slot, name in enumerate(outs) if name}


def _padded(content: Bytes, size: int) -> Bytes:
    """A copy of so many bytes: a constant may be shorter than its tensor, whose total size is a multiple of 4."""
    found = np.zeros(size, np.uint8)
    found[: min(size, content.size)] = content[:size]
    return found
