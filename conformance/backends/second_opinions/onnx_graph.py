"""A graph of operators as one ONNX model, which ONNX Runtime optimizes and fuses as it does a client's.

Each node is what the table makes of it. Along an edge the bytes stay and sizes or layouts may change, for which ONNX has Reshape and Gather. What depends on
the numbers that an earlier node gives (whether an index exists), and what ONNX cannot say, is Unsupported here: those graphs run node by node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendFault, Bytes, GraphDispatch, Source, Unsupported
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.second_opinions.onnx_session import Recorded, make_session
from dmlcts.conformance.backends.second_opinions.opinion import REFUSALS, OpinionBackend, input_copy
from dmlcts.conformance.backends.second_opinions.table import DATA_TYPES, NodeMapping, choose_mapping
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

Array = NDArray[Any]


def run_as_model(backend: OpinionBackend, dispatch: GraphDispatch) -> None:
    """Executes a graph as one model, and writes its outputs.

    Raises:
        Unsupported: it is not one model. BackendFault: a result has other sizes than its tensor.
    """
    model = _Model(backend, dispatch)
    for index, node in enumerate(dispatch.nodes):
        if not isinstance(node, bytes):
            model.add(index, node, dispatch.feeds[index])
    names = [model.output(*output) for output in dispatch.outputs]
    session = make_session(model.recorded, model.inputs, names, optimized=True)
    dispatch.path("one ONNX model", len(model.recorded.nodes))
    found = session.run(names, {name: model.recorded.feed[name] for name in model.inputs})
    for number, (output, array) in enumerate(zip(dispatch.outputs, found, strict=True)):
        tensor = model.made[output][1]
        if array.shape != tensor.sizes:
            raise BackendFault(f"onnxruntime returns sizes {list(array.shape)}, but {list(tensor.sizes)} are required")
        write_tensor(dispatch.resources[dispatch.inputs + number], tensor, array)


class _Model:
    """The nodes so far, and the value that each output of the graph's operators has."""

    def __init__(self, backend: OpinionBackend, dispatch: GraphDispatch) -> None:
        self.backend, self.dispatch = backend, dispatch
        self.recorded = Recorded(np.dtype(np.float32))
        self.inputs: dict[str, np.dtype[Any]] = {}  # those that are no constants
        self.made: dict[tuple[int, str], tuple[str, TensorDesc]] = {}

    def add(self, index: int, desc: OperatorDesc, feeds: Mapping[str, Source]) -> None:
        """Adds what the table makes of an operator. Raises Unsupported."""
        operator = load(desc.type)
        outputs = {name for field, name, _ in desc.by_field() if field in {own.name for own in operator.outputs()}}
        reads = {name: tensor for name, tensor in desc.tensors() if name not in outputs}
        if violations(operator, desc) or operator.read_outputs(desc.fields) or reads.keys() != feeds.keys():
            raise Unsupported(f"{desc.type} is invalid here, lacks an input, or reads what it writes")
        if not all(tensor.data_type in DATA_TYPES for _, tensor in desc.tensors()):
            raise Unsupported(f"{desc.type} has a type of 4 bits")
        way = choose_mapping(self.backend.table, desc, "onnxruntime")
        self.refuse(way, desc, feeds)
        self.recorded.dtype = numpy_dtype(next(iter(reads.values())).data_type) if reads else np.dtype(np.float32)
        moved = {desc.tensor(name).data_type for name in outputs}  # the others are indices, where bits count
        values = {
            name: self.value(source, reads[name], "" if reads[name].data_type in moved else way.bits)
            for name, source in feeds.items()
        }
        for output, value in self.backend.outputs_of(desc, way, values, self.recorded).items():
            tensor = desc.tensor(output)
            self.made[index, output] = self.with_type(value, tensor), tensor

    def refuse(self, way: NodeMapping, desc: OperatorDesc, feeds: Mapping[str, Source]) -> None:
        """Raises Unsupported for numbers that the library must not be given, or where another node makes those that decide it."""
        if not way.refuses:
            return
        arrays = {
            name: array for name, source in feeds.items() if (array := self.given_array(source, desc.tensor(name))) is not None
        }
        try:
            why_not = REFUSALS[way.refuses](desc, arrays)
        except KeyError:
            why_not = "that depends on numbers which another node gives"
        if why_not:
            raise Unsupported(f"{desc.type} does not map: {why_not}")

    def given_array(self, source: Source, tensor: TensorDesc) -> Array | None:
        """What feeds a tensor, if no operator makes it."""
        if isinstance(source, int):
            return read_tensor(self.dispatch.resources[source], tensor)
        node = self.dispatch.nodes[source[0]]
        return read_tensor(_pad_to(node, tensor.bytes), tensor) if isinstance(node, bytes) else None

    def value(self, source: Source, tensor: TensorDesc, bits: str) -> str:
        """The value that feeds a tensor, as integers of these ``bits`` if any. Raises Unsupported where ONNX has nothing for the edge."""
        array = self.given_array(source, tensor)
        if array is None:
            assert not isinstance(source, int)
            return self.connect(*self.made[source], tensor)
        array = input_copy(array, bits)
        name = self.recorded.tensor(f"tensor{len(self.recorded.feed)}", array)
        if isinstance(source, int):
            self.inputs[name] = array.dtype
        return name

    def connect(self, value: str, made: TensorDesc, read: TensorDesc) -> str:
        """A node's result as another reads it: the same bytes. Raises Unsupported for another type, and for bytes that are no element's."""
        if made.data_type != read.data_type:
            raise Unsupported(f"an edge from {made.data_type} to {read.data_type}")
        if made.sizes == read.sizes and made.effective_strides == read.effective_strides:
            return value
        elements = np.full(max(_extent(made), _extent(read)), -1, np.int64)
        _elements_of(elements, made)[...] = np.arange(made.count).reshape(made.sizes)
        places = _elements_of(elements, read)
        if (places < 0).any():
            raise Unsupported("an edge whose end reads between elements")
        if np.array_equal(places.reshape(-1), np.arange(made.count)):
            return self.recorded.call("Reshape", [value, self.recorded.numbers(read.sizes)], {}, None)
        flat = self.recorded.call("Reshape", [value, self.recorded.numbers([-1])], {}, None)
        return self.recorded.call(
            "Gather", [flat, self.recorded.tensor(f"tensor{len(self.recorded.feed)}", places.copy())], {}, None
        )

    def with_type(self, value: str, tensor: TensorDesc) -> str:
        """A result in its tensor's type: truth becomes 0 and 1, and nothing else is converted."""
        if self.recorded.is_truth(value):
            value = self.recorded.call("Cast", [value], {"to": tensor.data_type}, None)
        self.recorded.types[value] = numpy_dtype(tensor.data_type)
        return value

    def output(self, node: int, name: str) -> str:
        """The value of an output of the graph."""
        value, tensor = self.made[node, name]
        return self.with_type(self.recorded.call("Identity", [value], {}, None), tensor)


def _pad_to(content: bytes, size: int) -> Bytes:
    """A constant's bytes, of which there may be fewer than its tensor's size, a multiple of 4."""
    return np.frombuffer(content.ljust(size, b"\0"), np.uint8)


def _extent(tensor: TensorDesc) -> int:
    """The elements from a tensor's first to its last, in memory."""
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.effective_strides, strict=True))


def _elements_of(elements: Array, tensor: TensorDesc) -> Array:
    """The elements that a tensor has, in its sizes."""
    found: Array = np.lib.stride_tricks.as_strided(elements, tensor.sizes, [stride * 8 for stride in tensor.effective_strides])
    return found
