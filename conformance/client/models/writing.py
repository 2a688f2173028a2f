"""Writes small ONNX models, so that nothing needs the package ``onnx`` for it. Source: the field numbers of onnx.proto (ONNX 1.17)."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

IR_VERSION, OPSET = 8, 17

ELEMENT_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
    "uint32": 12, "uint64": 13,
}  # fmt: skip
"""TensorProto.DataType, by NumPy's names."""

Attribute = int | float | str | Sequence[int] | Sequence[float]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a model: an ONNX operator, the names of its inputs and outputs (an empty one is absent), and its attributes."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""


Tensors = Mapping[str, tuple[str, Sequence[int]]]
"""Name -> element type, by NumPy's name, and sizes."""


def onnx_model(
    nodes: Sequence[Node], inputs: Tensors, outputs: Tensors, weights: Mapping[str, np.ndarray] | None = None, opset: int = OPSET
) -> bytes:
    """A model's file."""
    graph = [proto_bytes(1, node_proto(node)) for node in nodes]
    graph += [proto_bytes(2, b"graph")]
    graph += [proto_bytes(5, tensor_proto(name, array)) for name, array in (weights or {}).items()]
    graph += [proto_bytes(11, value_info(name, *of)) for name, of in inputs.items()]
    graph += [proto_bytes(12, value_info(name, *of)) for name, of in outputs.items()]
    return (
        proto_number(1, IR_VERSION) + proto_bytes(7, b"".join(graph)) + proto_bytes(8, proto_bytes(1, b"") + proto_number(2, opset))
    )


def node_proto(node: Node) -> bytes:
    """A node."""
    parts = [proto_text(1, name) for name in node.inputs] + [proto_text(2, name) for name in node.outputs]
    parts += [proto_text(3, node.name), proto_text(4, node.op)]
    return b"".join([*parts, *(proto_bytes(5, _attribute(name, value)) for name, value in node.attributes.items())])


def _attribute(name: str, value: Attribute) -> bytes:
    """AttributeProto; ``type`` is FLOAT 1, INT 2, STRING 3, FLOATS 6 or INTS 7."""
    if isinstance(value, float):
        kind, data = 1, _float(2, value)
    elif isinstance(value, int):
        kind, data = 2, proto_number(3, value)
    elif isinstance(value, str):
        kind, data = 3, proto_text(4, value)
    elif any(isinstance(one, float) for one in value):
        kind, data = 6, b"".join(_float(7, float(one)) for one in value)
    else:
        kind, data = 7, b"".join(proto_number(8, int(one)) for one in value)
    return proto_text(1, name) + data + proto_number(20, kind)


def tensor_proto(name: str, array: np.ndarray) -> bytes:
    """A tensor, as a weight of a model or as the content of a file such as input_0.pb."""
    sizes = b"".join(proto_number(1, size) for size in array.shape)
    return (
        sizes
        + proto_number(2, ELEMENT_TYPES[array.dtype.name])
        + proto_text(8, name)
        + proto_bytes(9, np.ascontiguousarray(array).tobytes())
    )


def value_info(name: str, element: str, sizes: Sequence[int]) -> bytes:
    """The description of an input or an output."""
    shape = b"".join(proto_bytes(1, proto_number(1, size)) for size in sizes)
    return proto_text(1, name) + proto_bytes(2, proto_bytes(1, proto_number(1, ELEMENT_TYPES[element]) + proto_bytes(2, shape)))


# Protocol buffers: a field is its number and wire type (0 a varint, 2 bytes with their length, 5 four bytes), and its value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def proto_number(number: int, value: int) -> bytes:
    """A field with a number."""
    return _varint(number << 3) + _varint(value)


def proto_bytes(number: int, value: bytes) -> bytes:
    """A field with bytes, or a message."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def proto_text(number: int, value: str) -> bytes:
    """A field with text."""
    return proto_bytes(number, value.encode())


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)
