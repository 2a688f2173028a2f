"""Reads ONNX models as far as cutting them needs it, and cuts them, so that nothing needs the package ``onnx`` for it. What is not looked at is kept byte by byte.

Source: the field numbers of onnx.proto (ONNX 1.17). A model may come from anyone: what does not hold together ends in an error that says where.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.client.models.writing import ELEMENT_TYPES, proto_bytes, proto_text, value_info
from dmlcts.spec.untrusted.files import MIB, InputError, read_bytes, shorten_text

Array = NDArray[Any]

LARGEST = 2048 * MIB
"""The most bytes of a model, as Protocol Buffers have it."""

MOST_DEPTH = 16
"""So deep may graphs lie within attributes of nodes."""

_NAMES = {number: name for name, number in ELEMENT_TYPES.items()}


class ModelError(ValueError):
    """A file is no model that can be cut; the message says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node. ``reads`` are the names of all that it reads, also within graphs of its attributes; ``raw`` is the whole node."""

    op: str
    name: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Model:
    """A model: what surrounds its graph, and the graph's nodes in order, weights by name (whole tensors), inputs by name (whole descriptions), and outputs."""

    file: Path
    around: bytes = field(repr=False)
    nodes: tuple[ModelNode, ...]
    weights: Mapping[str, bytes] = field(repr=False)
    inputs: Mapping[str, bytes] = field(repr=False)
    outputs: tuple[str, ...]

    @property
    def given_inputs(self) -> tuple[str, ...]:
        """The names of the inputs that a client gives."""
        return tuple(name for name in self.inputs if name not in self.weights)

    def maker(self, name: str) -> int | None:
        """The place of the node that makes a value."""
        return next((place for place, node in enumerate(self.nodes) if name in node.makes), None)


def read_model(file: Path) -> Model:
    """Reads a model. Raises ModelError."""
    try:
        data = read_bytes(file, LARGEST)
    except InputError as error:
        raise ModelError(f"{file}: {error}") from None
    try:
        return _model(file, data)
    except _Damaged as error:
        raise ModelError(f"{file}: not an ONNX model: {error}") from None


def _model(file: Path, data: bytes) -> Model:
    around, graph = b"", None
    for number, value, raw in _fields(data, "the model"):
        if number == 7:
            graph = _message(value, "the graph")
        else:
            around += raw
    if graph is None:
        raise _Damaged("it has no graph")
    nodes: list[ModelNode] = []
    weights: dict[str, bytes] = {}
    inputs: dict[str, bytes] = {}
    outputs: list[str] = []
    for number, value, _ in _fields(graph, "the graph"):
        if number == 1:
            nodes.append(_node(_message(value, "a node"), f"node {len(nodes)}", 0))
        elif number == 5:
            weight = _message(value, "a weight")
            weights[_text_of(weight, 8, "a weight")] = weight
        elif number == 11:
            one = _message(value, "an input")
            inputs[_text_of(one, 1, "an input")] = one
        elif number == 12:
            outputs.append(_text_of(_message(value, "an output"), 1, "an output"))
        elif number == 15:
            raise _Damaged("it has sparse weights, which are not read")
    return Model(file, around, tuple(nodes), weights, inputs, tuple(outputs))


def _node(raw: bytes, where: str, depth: int) -> ModelNode:
    texts: dict[int, list[str]] = {1: [], 2: [], 3: [], 4: []}
    inner: list[str] = []
    for number, value, _ in _fields(raw, where):
        if number in texts:
            texts[number].append(_decode(value, where))
        elif number == 5:
            inner += _read_within(_message(value, where), where, depth)
    reads = tuple(dict.fromkeys(name for name in (*texts[1], *inner) if name))
    makes = tuple(name for name in texts[2] if name)
    return ModelNode("".join(texts[4][-1:]), "".join(texts[3][-1:]), reads, makes, raw)


def _read_within(attribute: bytes, where: str, depth: int) -> list[str]:
    """The names that graphs of an attribute read from outside."""
    found: list[str] = []
    for number, value, _ in _fields(attribute, where):
        if number not in (6, 11):
            continue
        if depth >= MOST_DEPTH:
            raise _Damaged(f"{where}: graphs lie deeper than {MOST_DEPTH} within each other")
        own: set[str] = set()
        for inner, content, _ in _fields(_message(value, where), where):
            if inner == 1:
                node = _node(_message(content, where), where, depth + 1)
                found += [name for name in node.reads if name not in own]
                own.update(node.makes)
            elif inner in (5, 11):
                own.add(_text_of(_message(content, where), 8 if inner == 5 else 1, where))
            elif inner == 12 and (name := _text_of(_message(content, where), 1, where)) not in own:
                found.append(name)
    return found


# Cutting


def cut(
    model: Model,
    places: Iterable[int],
    outputs: Sequence[str],
    given: Mapping[str, tuple[str, Sequence[int]]],
    more: Sequence[bytes] = (),
) -> bytes:
    """A model of the nodes at ``places``. ``given`` are its inputs, with their types, by NumPy's names, and sizes; ``more`` are further fields of its graph.

    Raises:
        ModelError: a weight that lies in another file cannot be read.
    """
    nodes = [model.nodes[place] for place in sorted(set(places))]
    read = {name for node in nodes for name in node.reads}
    graph = [*(proto_bytes(1, node.raw) for node in nodes), proto_text(2, "cut"), *more]
    graph += [proto_bytes(5, _embed_weight(model, name, weight)) for name, weight in model.weights.items() if name in read]
    graph += [proto_bytes(11, value_info(name, *of)) for name, of in given.items()]
    graph += [proto_bytes(12, proto_text(1, name)) for name in outputs]
    return model.around + proto_bytes(7, b"".join(graph))


def with_outputs(model: Model, nodes: Sequence[bytes], outputs: Sequence[str]) -> bytes:
    """The whole model with further nodes and other outputs; it gets the same inputs as before."""
    graph = [proto_bytes(1, raw) for raw in (*(node.raw for node in model.nodes), *nodes)] + [proto_text(2, "cut")]
    graph += [proto_bytes(5, _embed_weight(model, name, weight)) for name, weight in model.weights.items()]
    graph += [proto_bytes(11, raw) for raw in model.inputs.values()]
    graph += [proto_bytes(12, proto_text(1, name)) for name in outputs]
    return model.around + proto_bytes(7, b"".join(graph))


def _embed_weight(model: Model, name: str, weight: bytes) -> bytes:
    """A weight with its bytes in it, if they lie in a file beside the model."""
    kept, external = b"", {}
    for number, value, raw in _fields(weight, f"weight {name}"):
        if number == 13:
            entry = _message(value, name)
            external[_text_of(entry, 1, name)] = _text_of(entry, 2, name)
        elif number != 14:
            kept += raw
    if not external:
        return weight
    try:
        beside = model.file.parent / Path(external["location"]).name
        offset = int(external.get("offset", "0"))
        with beside.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(int(external.get("length", "-1")))
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{model.file}: the bytes of weight {shorten_text(name)} cannot be read: {error}") from None
    return kept + proto_bytes(9, data)


# Tensors


def read_tensor_file(file: Path) -> Array:
    """The tensor of a file such as input_0.pb. Raises ModelError."""
    try:
        return _tensor(read_bytes(file, LARGEST))
    except (InputError, _Damaged) as error:
        raise ModelError(f"{file}: {error}") from None


def _tensor(data: bytes) -> Array:
    sizes: list[int] = []
    element, content = 0, None
    for number, value, _ in _fields(data, "the tensor"):
        if number == 1:
            sizes += [value] if isinstance(value, int) else _varints(value, "dims")
        elif number == 2 and isinstance(value, int):
            element = value
        elif number == 9:
            content = _message(value, "raw_data")
    if element not in _NAMES or content is None:
        raise _Damaged("it has no raw_data of a type that NumPy has")
    try:
        return np.frombuffer(content, _NAMES[element]).reshape(sizes)
    except ValueError as error:
        raise _Damaged(str(error)) from None


# Protocol buffers


class _Damaged(ValueError):
    pass


def _fields(data: bytes, where: str) -> Iterator[tuple[int, int | bytes, bytes]]:
    """The fields of a message: number, value (a number, or bytes), and the whole field."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(data, at, where)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at, where)
        else:
            size, at = _varint(data, at, where) if kind == 2 else ({1: 8, 5: 4}.get(kind, -1), at)
            if size < 0 or at + size > len(data):
                raise _Damaged(f"{where}: byte {start}: field {key >> 3} is cut, or of an unknown kind")
            value = data[at : at + size]
            at += size
        yield key >> 3, value, data[start:at]


def _varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    found = 0
    for place in range(10):
        if at + place >= len(data):
            break
        byte = data[at + place]
        found |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return found, at + place + 1
    raise _Damaged(f"{where}: byte {at}: a number is cut")


def _varints(data: bytes, where: str) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at, where)
        found.append(value)
    return found


def _message(value: int | bytes, where: str) -> bytes:
    if isinstance(value, int):
        raise _Damaged(f"{where}: a number in place of a message")
    return value


def _decode(value: int | bytes, where: str) -> str:
    try:
        return _message(value, where).decode()
    except UnicodeDecodeError:
        raise _Damaged(f"{where}: a name is not UTF-8") from None


def _text_of(data: bytes, wanted: int, where: str) -> str:
    """The text of a field of a message; empty if it is absent."""
    return next((_decode(value, where) for number, value, _ in _fields(data, where) if number == wanted), "")
