"""Backends that take graphs as a whole, as one that compiles them does."""

from __future__ import annotations

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Bytes, Dispatch, GraphDispatch, Unsupported
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load


class Whole(ReferenceBackend):
    """The reference, which runs the nodes of a graph itself."""

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph."""
        dispatch.path("whole", len(dispatch.nodes))
        held: dict[tuple[int, str], Bytes] = {}
        for index, node in enumerate(dispatch.nodes):
            if isinstance(node, bytes):
                held[index, ""] = np.frombuffer(node, np.uint8)
                continue
            fed = {
                name: dispatch.resources[source] if isinstance(source, int) else held[source]
                for name, source in dispatch.feeds[index].items()
            }
            held |= {(index, name): content for name, content in self.run_node(node, fed).items()}
        for number, (made, name) in enumerate(dispatch.outputs):
            desc = dispatch.nodes[made]
            assert isinstance(desc, OperatorDesc)
            tensor = desc.tensor(name)
            write_tensor(dispatch.resources[dispatch.inputs + number], tensor, read_tensor(held[made, name], tensor))

    def run_node(self, desc: OperatorDesc, fed: dict[str, Bytes]) -> dict[str, Bytes]:
        """The bytes of a node's outputs."""
        fields = {field.name for field in load(desc.type).outputs()}
        outputs = {name: np.zeros(desc.tensor(name).bytes, np.uint8) for field, name, _ in desc.by_field() if field in fields}
        held = {**fed, **outputs}
        padded = {name: np.resize(content, max(content.size, desc.tensor(name).bytes)) for name, content in held.items()}
        bindings = {name: BufferBinding(at, 0, content.size) for at, (name, content) in enumerate(padded.items())}
        self.run(Dispatch(desc, list(padded.values()), bindings, tuple(outputs)))
        return {name: padded[name] for name in outputs}


class WrongWhole(Whole):
    """It changes every byte of the outputs of a graph."""

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Executes a graph."""
        super().run_graph(dispatch)
        for output in dispatch.resources[dispatch.inputs :]:
            output ^= 0x55


class Refusing(Whole):
    """It takes no graph as a whole, and says so after it has written."""

    def run_graph(self, dispatch: GraphDispatch) -> None:
        """Raises Unsupported."""
        for resource in dispatch.resources:
            resource[...] = 0xEE
        raise Unsupported("no graph")
