"""Graphs that clients build: chains, islands, blocks of networks. Each is a function of a data type; ``FAMILIES`` lists them, with what each may break.

They are small, and their data are quarters and eighths of small numbers, the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.generator.suite.graphs.graph_json import read_graph
from dmlcts.spec.model.desc import packed_strides
from dmlcts.spec.reading.loader import load

Json = dict[str, Any]

TYPES = ("FLOAT32", "FLOAT16")
"""The data types of the families."""


@dataclass(frozen=True, slots=True)
class Value:
    """What a node gives, or what the graph is given (``node`` below 0: input -1 - node), with its tensor."""

    node: int
    tensor: Json
    name: str = "OutputTensor"


@dataclass(eq=False, slots=True)
class Sketch:
    """A graph that is being written."""

    data_type: str
    nodes: list[Json] = field(default_factory=list)
    given: int = 0

    def tensor(self, *sizes: int, data_type: str = "", strides: Sequence[int] | None = None) -> Json:
        """The JSON of a tensor desc."""
        return {"DataType": data_type or self.data_type, "Sizes": list(sizes)} | ({"Strides": list(strides)} if strides else {})

    def input(self, *sizes: int, data_type: str = "") -> Value:
        """A new input of the graph."""
        self.given += 1
        return Value(-self.given, self.tensor(*sizes, data_type=data_type))

    def add(self, operator: str, reads: Mapping[str, Value | None], out: Json | None = None, **attributes: Any) -> Value:
        """A node that reads values, each as the tensor that it is, and gives one like the first of them, or ``out``."""
        first = next(value for value in reads.values() if value is not None)
        own = out or {"DataType": first.tensor["DataType"], "Sizes": first.tensor["Sizes"]}
        tensors = {name: value.tensor if value else None for name, value in reads.items()}
        feeds = {name: _feed(value) for name, value in reads.items() if value}
        data = {name: _data(value) for name, value in reads.items() if value and value.node < 0}
        desc = {"Type": operator, **{name: tensor for name, tensor in tensors.items() if tensor}, "OutputTensor": own, **attributes}
        self.nodes.append({"desc": desc, "feeds": feeds, "data": data})
        return Value(len(self.nodes) - 1, own)

    def graph(self, *outputs: Value) -> Graph:
        """The graph with these outputs."""
        return read_graph({"nodes": self.nodes, "outputs": [{"node": value.node, "tensor": value.name} for value in outputs]}, load)

    # What blocks are made of

    def one(self, operator: str, value: Value, **attributes: Any) -> Value:
        """An operator of one tensor."""
        return self.add(operator, {"InputTensor": value}, **attributes)

    def two(self, operator: str, a: Value, b: Value) -> Value:
        """An element-wise operator of two tensors; the second is broadcast to the first."""
        return self.add(operator, {"ATensor": a, "BTensor": _broadcast(b, a.tensor["Sizes"])})

    def product(self, a: Value, b: Value, transposed: bool = False, scale: float = 1.0) -> Value:
        """A matrix product, of as many matrices as there are."""
        sizes = [*a.tensor["Sizes"][:-1], b.tensor["Sizes"][-2 if transposed else -1]]
        none, transpose = "NONE", "TRANSPOSE" if transposed else "NONE"
        return self.add(
            "GEMM", {"ATensor": a, "BTensor": b}, self.tensor(*sizes), TransA=none, TransB=transpose, Alpha=scale, Beta=0.0
        )

    def convolution(self, value: Value, channels: int, out: Json | None = None) -> Value:
        """A convolution of 3 x 3 with a bias, that keeps the plane."""
        batch, before, height, width = value.tensor["Sizes"]
        reads = {
            "InputTensor": value,
            "FilterTensor": self.input(channels, before, 3, 3),
            "BiasTensor": self.input(1, channels, 1, 1),
        }
        two: Json = {"Strides": [1, 1], "Dilations": [1, 1], "StartPadding": [1, 1], "EndPadding": [1, 1], "OutputPadding": [0, 0]}
        ways = {"Mode": "CROSS_CORRELATION", "Direction": "FORWARD", "DimensionCount": 2, "GroupCount": 1}
        return self.add("CONVOLUTION", reads, out or self.tensor(batch, channels, height, width), **ways, **two)

    def reduce(self, function: str, value: Value, axis: int) -> Value:
        """A reduction along one axis."""
        sizes = [1 if at == axis else size for at, size in enumerate(value.tensor["Sizes"])]
        return self.add("REDUCE", {"InputTensor": value}, self.tensor(*sizes), Function=function, AxisCount=1, Axes=[axis])

    def slice(self, value: Value, axis: int, start: int, size: int) -> Value:
        """A part along one axis."""
        sizes = [size if at == axis else own for at, own in enumerate(value.tensor["Sizes"])]
        offsets = [start if at == axis else 0 for at in range(len(sizes))]
        count = len(sizes)
        window: Json = {"InputWindowOffsets": offsets, "InputWindowSizes": sizes, "InputWindowStrides": [1] * count}
        return self.add("SLICE1", {"InputTensor": value}, self.tensor(*sizes), DimensionCount=count, **window)

    def join(self, values: Sequence[Value], axis: int) -> Value:
        """All of them along one axis."""
        sizes = list(values[0].tensor["Sizes"])
        sizes[axis] = sum(value.tensor["Sizes"][axis] for value in values)
        feeds = {f"InputTensors[{at}]": _feed(value) for at, value in enumerate(values)}
        data = {f"InputTensors[{at}]": _data(value) for at, value in enumerate(values) if value.node < 0}
        own = self.tensor(*sizes, data_type=values[0].tensor["DataType"])
        tensors = [value.tensor for value in values]
        desc = {"Type": "JOIN", "InputCount": len(values), "InputTensors": tensors, "OutputTensor": own, "Axis": axis}
        self.nodes.append({"desc": desc, "feeds": feeds, "data": data})
        return Value(len(self.nodes) - 1, own)

    def softmax(self, value: Value) -> Value:
        """Along the last axis."""
        return self.one("ACTIVATION_SOFTMAX1", value, AxisCount=1, Axes=[len(value.tensor["Sizes"]) - 1])

    def cast(self, value: Value, data_type: str) -> Value:
        """Another data type."""
        return self.add("CAST", {"InputTensor": value}, self.tensor(*value.tensor["Sizes"], data_type=data_type))


def _feed(value: Value) -> Json:
    return {"node": value.node, "tensor": value.name} if value.node >= 0 else {"given": -1 - value.node}


def _data(value: Value) -> Json:
    """Numbers by their place in memory, so that those with a stride of 0 are the same."""
    sizes, data_type = value.tensor["Sizes"], value.tensor["DataType"]
    strides = value.tensor.get("Strides") or packed_strides(tuple(sizes))
    places = [sum(at * stride for at, stride in zip(index, strides, strict=True)) for index in product(*map(range, sizes))]
    if "FLOAT" in data_type:
        numbers: list[Any] = [((at * 7 + 3 * value.node) % 17 - 8) / 8 for at in places]
    else:
        numbers = [(at * 7 - value.node) % 17 for at in places]
    return {"type": data_type, "sizes": sizes, "data": numbers}


def _broadcast(value: Value, sizes: Sequence[int]) -> Value:
    """The value as a tensor of these sizes, with strides of 0 where it has 1."""
    own = value.tensor["Sizes"]
    if list(own) == list(sizes):
        return value
    strides, step = [0] * len(own), 1
    for at in reversed(range(len(own))):
        if own[at] > 1:
            strides[at] = step
        step *= own[at]
    return Value(value.node, {**value.tensor, "Sizes": list(sizes), "Strides": strides}, value.name)


# Families


def _chain(data_type: str) -> Graph:
    sketch = Sketch(data_type)
    value = sketch.input(2, 3, 8, 8)
    value = sketch.two("ELEMENT_WISE_ADD", value, sketch.input(2, 3, 8, 8))
    value = sketch.one("ELEMENT_WISE_TANH", sketch.one("ELEMENT_WISE_ABS", value))
    value = sketch.one("ELEMENT_WISE_EXP", sketch.one("ELEMENT_WISE_NEGATE", value))
    return sketch.graph(sketch.two("ELEMENT_WISE_MULTIPLY", value, sketch.input(2, 3, 8, 8)))


def _convolution_layer(sketch: Sketch) -> Value:
    return sketch.convolution(sketch.input(2, 3, 6, 6), 4)


def _product_layer(sketch: Sketch) -> Value:
    return sketch.product(sketch.input(1, 2, 8, 16), sketch.input(1, 2, 16, 8))


def _sum_layer(sketch: Sketch) -> Value:
    return sketch.two("ELEMENT_WISE_ADD", sketch.input(2, 3, 8, 8), sketch.input(2, 3, 8, 8))


def _with_activation(layer: Callable[[Sketch], Value], activation: str, attributes: Json, data_type: str) -> Graph:
    """A layer, and an activation behind it that an implementation may fuse."""
    sketch = Sketch(data_type)
    return sketch.graph(sketch.one(activation, layer(sketch), **attributes))


def _join_of_slices(data_type: str) -> Graph:
    """Two halves are exchanged, and one of them is an output too."""
    sketch = Sketch(data_type)
    value = sketch.one("ELEMENT_WISE_ABS", sketch.input(2, 8, 4))
    halves = [sketch.slice(value, 1, start, 4) for start in (4, 0)]
    joined = sketch.join([sketch.one("ELEMENT_WISE_NEGATE", halves[0]), halves[1]], 1)
    return sketch.graph(sketch.one("ELEMENT_WISE_EXP", joined), halves[0])


def _join_of_one(data_type: str) -> Graph:
    """What is joined alone is read again after something that may work in place."""
    sketch = Sketch(data_type)
    value = sketch.join([sketch.input(3, 2, 3)], 2)
    again = sketch.join([value], 1)
    total = sketch.one("CUMULATIVE_SUMMATION", again, Axis=0, AxisDirection="DECREASING", HasExclusiveSum=False)
    return sketch.graph(total, sketch.one("ELEMENT_WISE_ABS", value))


def _edges_of_other_sizes(data_type: str) -> Graph:
    """The same bytes by other sizes on each edge."""
    sketch = Sketch(data_type)
    value = sketch.product(sketch.input(1, 1, 4, 6), sketch.input(1, 1, 6, 8))
    for sizes in ((32,), (2, 16), (1, 2, 4, 4), (8, 4)):
        value = sketch.one("ELEMENT_WISE_NEGATE", Value(value.node, sketch.tensor(*sizes)))
    return sketch.graph(sketch.one("ELEMENT_WISE_TANH", value))


def _islands(data_type: str) -> Graph:
    """Quantized and dequantized around an addition."""
    sketch = Sketch(data_type)
    value = sketch.input(1, 1, 4, 8)
    zero = partial(sketch.input, 1, 1, 4, 8, data_type="UINT8")
    for _ in range(2):
        scale = sketch.one("ELEMENT_WISE_EXP", sketch.input(1, 1, 4, 8))
        reads = {"InputTensor": value, "ScaleTensor": scale, "ZeroPointTensor": zero()}
        quantized = sketch.add("ELEMENT_WISE_QUANTIZE_LINEAR", reads, sketch.tensor(1, 1, 4, 8, data_type="UINT8"))
        reads = {"InputTensor": quantized, "ScaleTensor": scale, "ZeroPointTensor": zero()}
        value = sketch.two(
            "ELEMENT_WISE_ADD", sketch.add("ELEMENT_WISE_DEQUANTIZE_LINEAR", reads, sketch.tensor(1, 1, 4, 8)), value
        )
    return sketch.graph(value)


def _cast_back(through: str, data_type: str) -> Graph:
    """A cast there and back, which rounds."""
    sketch = Sketch(data_type)
    value = sketch.two("ELEMENT_WISE_DIVIDE", sketch.input(3, 16), sketch.one("ELEMENT_WISE_EXP", sketch.input(3, 16)))
    back = sketch.cast(sketch.cast(value, through), data_type)
    return sketch.graph(sketch.two("ELEMENT_WISE_SUBTRACT", back, value), back)


def _attention(data_type: str) -> Graph:
    sketch = Sketch(data_type)
    queries, keys, values = (sketch.input(2, 2, 8, 16) for _ in range(3))
    scores = sketch.softmax(sketch.product(queries, keys, transposed=True, scale=0.25))
    return sketch.graph(sketch.product(scores, values))


def _layer_normalization(data_type: str) -> Graph:
    sketch = Sketch(data_type)
    return sketch.graph(_normalize(sketch, sketch.input(2, 1, 4, 16)))


def _normalize(sketch: Sketch, value: Value) -> Value:
    """Layer normalization along the last axis, written out."""
    centred = sketch.two("ELEMENT_WISE_SUBTRACT", value, sketch.reduce("AVERAGE", value, 3))
    variance = sketch.reduce("AVERAGE", sketch.two("ELEMENT_WISE_MULTIPLY", centred, centred), 3)
    deviation = sketch.one("ELEMENT_WISE_SQRT", variance, ScaleBias={"Scale": 1.0, "Bias": 0.01})
    scaled = sketch.two("ELEMENT_WISE_DIVIDE", centred, deviation)
    width = value.tensor["Sizes"][-1]
    scaled = sketch.two("ELEMENT_WISE_MULTIPLY", scaled, sketch.input(1, 1, 1, width))
    return sketch.two("ELEMENT_WISE_ADD", scaled, sketch.input(1, 1, 1, width))


def _gelu(sketch: Sketch, value: Value) -> Value:
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    inner = sketch.one("ELEMENT_WISE_ERF", value, ScaleBias={"Scale": 0.70710677, "Bias": 0.0})
    half = sketch.one("ELEMENT_WISE_IDENTITY", value, ScaleBias={"Scale": 0.5, "Bias": 0.0})
    return sketch.two(
        "ELEMENT_WISE_MULTIPLY", half, sketch.one("ELEMENT_WISE_IDENTITY", inner, ScaleBias={"Scale": 1.0, "Bias": 1.0})
    )


def _gelu_alone(data_type: str) -> Graph:
    sketch = Sketch(data_type)
    return sketch.graph(_gelu(sketch, sketch.input(2, 1, 4, 16)))


def _channels_last(data_type: str) -> Graph:
    """Convolutions whose edge has channels last."""
    sketch = Sketch(data_type)
    edge = sketch.tensor(2, 4, 6, 6, strides=(144, 1, 24, 4))
    value = sketch.convolution(sketch.input(2, 3, 6, 6), 4, edge)
    return sketch.graph(sketch.convolution(value, 4))


def _residual(data_type: str) -> Graph:
    """A block of ResNet: two convolutions with batch normalizations, added to what came in, and a pooling."""
    sketch = Sketch(data_type)
    value = sketch.input(2, 4, 6, 6)
    first = sketch.one("ACTIVATION_RELU", _batch_normalize(sketch, sketch.convolution(value, 4)))
    second = _batch_normalize(sketch, sketch.convolution(first, 4))
    total = sketch.one("ACTIVATION_RELU", sketch.two("ELEMENT_WISE_ADD", second, value))
    window: Json = {"Strides": [2, 2], "WindowSize": [2, 2], "StartPadding": [0, 0], "EndPadding": [0, 0]}
    pooled = sketch.add("MAX_POOLING", {"InputTensor": total}, sketch.tensor(2, 4, 3, 3), DimensionCount=2, **window)
    return sketch.graph(pooled)


def _batch_normalize(sketch: Sketch, value: Value) -> Value:
    channels = value.tensor["Sizes"][1]
    reads = {"InputTensor": value, "MeanTensor": sketch.input(1, channels, 1, 1)}
    reads |= {"VarianceTensor": sketch.one("ELEMENT_WISE_EXP", sketch.input(1, channels, 1, 1))}
    reads |= {name: sketch.input(1, channels, 1, 1) for name in ("ScaleTensor", "BiasTensor")}
    return sketch.add("BATCH_NORMALIZATION", reads, Spatial=True, Epsilon=1e-3)


def _recurrent(data_type: str) -> Graph:
    """Three steps of a recurrent layer, each step's state an output."""
    sketch = Sketch(data_type)
    inputs, weights, recurrence = sketch.input(1, 1, 6, 8), sketch.input(1, 1, 8, 4), sketch.input(1, 1, 4, 4)
    state = sketch.input(1, 1, 2, 4)
    states = []
    for step in range(3):
        own = sketch.product(sketch.slice(inputs, 2, 2 * step, 2), weights)
        state = sketch.one("ELEMENT_WISE_TANH", sketch.two("ELEMENT_WISE_ADD", own, sketch.product(state, recurrence)))
        states.append(state)
    return sketch.graph(*states)


def _transformer(data_type: str) -> Graph:
    """A block of a transformer: attention, normalizations, a layer with GELU, two residual edges."""
    sketch = Sketch(data_type)
    value = sketch.input(2, 1, 4, 16)
    queries, keys, values = (sketch.product(value, _per_batch(sketch.input(1, 1, 16, 16), 2)) for _ in range(3))
    scores = sketch.softmax(sketch.product(queries, keys, transposed=True, scale=0.25))
    attended = sketch.product(scores, values)
    value = _normalize(sketch, sketch.two("ELEMENT_WISE_ADD", attended, value))
    inner = _gelu(sketch, sketch.product(value, _per_batch(sketch.input(1, 1, 16, 32), 2)))
    outer = sketch.product(inner, _per_batch(sketch.input(1, 1, 32, 16), 2))
    return sketch.graph(_normalize(sketch, sketch.two("ELEMENT_WISE_ADD", outer, value)))


def _per_batch(value: Value, batch: int) -> Value:
    return _broadcast(value, [batch, *value.tensor["Sizes"][1:]])


def _diamond(data_type: str) -> Graph:
    """One value goes two ways and comes together, and is read once more at the end."""
    sketch = Sketch(data_type)
    value = sketch.one("ELEMENT_WISE_TANH", sketch.input(2, 3, 4))
    together = sketch.two("ELEMENT_WISE_MULTIPLY", sketch.one("ELEMENT_WISE_EXP", value), sketch.one("ELEMENT_WISE_NEGATE", value))
    return sketch.graph(sketch.two("ELEMENT_WISE_ADD", together, value), value)


_PLAIN: Json = {}
_LEAKY: Json = {"Alpha": 0.25}

FAMILIES: Mapping[str, Callable[[str], Graph]] = {
    "element-wise chain": _chain,
    "convolution and RELU": partial(_with_activation, _convolution_layer, "ACTIVATION_RELU", _PLAIN),
    "convolution and LEAKY_RELU": partial(_with_activation, _convolution_layer, "ACTIVATION_LEAKY_RELU", _LEAKY),
    "GEMM and SIGMOID": partial(_with_activation, _product_layer, "ACTIVATION_SIGMOID", _PLAIN),
    "GEMM and TANH": partial(_with_activation, _product_layer, "ACTIVATION_TANH", _PLAIN),
    "ADD and RELU": partial(_with_activation, _sum_layer, "ACTIVATION_RELU", _PLAIN),
    "slices, joined": _join_of_slices,
    "joins of one": _join_of_one,
    "other sizes on each edge": _edges_of_other_sizes,
    "quantized islands": _islands,
    "cast to FLOAT16 and back": partial(_cast_back, "FLOAT16"),
    "cast to INT32 and back": partial(_cast_back, "INT32"),
    "cast to UINT8 and back": partial(_cast_back, "UINT8"),
    "attention written out": _attention,
    "layer normalization written out": _layer_normalization,
    "GELU written out": _gelu_alone,
    "channels last between convolutions": _channels_last,
    "residual block": _residual,
    "recurrent layer, unrolled": _recurrent,
    "transformer block": _transformer,
    "diamond": _diamond,
}
"""Each family's graph in a data type, by name."""
