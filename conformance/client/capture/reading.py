"""Reads a capture, which may come from anyone: every line within limits, against the schema, and against the lines before it.

A client that crashed, or was ended, leaves a last line that is cut: it is left out, and a remark says so. Anything else that is wrong is an
error that names file, line and field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dmlcts.conformance.client.capture.records import (
    OUTSIDE,
    Binding,
    Bindings,
    Capture,
    Compiled,
    Constant,
    Contents,
    Dispatchable,
    Edge,
    Execution,
    Graph,
    Initializer,
    Node,
    Operator,
    Part,
    Piece,
    Refusal,
)
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.desc_json import read_desc
from dmlcts.spec.untrusted.files import MIB, InputError, check, parse_json, path_text, read_lines, shorten_text, validator

VERSION = 1
LARGEST = 1024 * MIB
"""The most bytes of a capture, without its data."""

LONGEST = 16 * MIB
"""The most bytes of a line: a graph of 50,000 nodes."""

MOST_EXECUTIONS = 10_000_000
"""The most executions of a capture: a line may name many."""

T = TypeVar("T")
Record = Mapping[str, Any]


class CaptureError(ValueError):
    """A file is no capture; the message names file, line and field."""


class _Wrong(ValueError):
    """A line is wrong: ``problem`` says where in it, and what."""


def read_capture(file: Path) -> Capture:
    """Reads a capture without its data. Raises CaptureError."""
    reader, number = _Reader(file), 0
    try:
        for number, line in enumerate(read_lines(file, LARGEST, LONGEST), 1):
            if not line.endswith("\n"):
                reader.cut(number)
                break
            reader.read(number, line)
    except InputError as error:
        raise CaptureError(f"{file}:{error.line}: {error}" if error.line else f"{file}: {error}") from None
    except _Wrong as wrong:
        raise CaptureError(f"{file}:{number}: {wrong}") from None
    if reader.capture is None:
        raise CaptureError(f"{file}: it is empty; was DMLCTS_CAPTURE set where the client ran?")
    return reader.capture


class _Table:
    """A binding table, from its creation or its last Reset on."""

    def __init__(self) -> None:
        self.bindings = Bindings()


class _Dispatch:
    """A call of RecordDispatch: what was bound at that time, and the table, whose later bindings count for volatile descriptors."""

    def __init__(self, line: int, dispatchable: Dispatchable | None, table: _Table | None) -> None:
        self.line, self.dispatchable, self.table = line, dispatchable, table
        self.bindings = Bindings() if table is None else table.bindings


class _Reader:
    """Takes in line by line. ``capture`` is None before the first."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.capture: Capture | None = None
        self._objects: dict[int, object] = {}
        self._immediate: set[int] = set()  # devices whose queues were not seen: what they record counts as executed

    def read(self, number: int, text: str) -> None:
        """One line. Raises _Wrong and InputError."""
        try:
            record = parse_json(text)
        except InputError as error:
            raise _Wrong(str(error).removeprefix("line 1, ")) from None
        _check("any", record)
        event: str = record["event"]
        _check(event, record)
        if self.capture is None:
            if event != "capture":
                raise _Wrong(f"event: the first line must be a capture, not {event}")
            self.capture = Capture(
                self.file,
                sanitize.line(record["program"]),
                sanitize.line(record.get("directml", "")),
                sanitize.line(record.get("directml_version", "")),
            )
            return
        handlers: Mapping[str, Callable[[int, Record, Capture], None]] = {
            "device": self._device,
            "operator": self._operator,
            "compiled": self._read_compiled,
            "graph": self._graph,
            "initializer": self._initializer,
            "name": self._name,
            "table": self._table,
            "bind": self._bind,
            "dispatch": self._dispatch,
            "execute": self._execute,
            "data": self._data,
            "full": self._full,
        }
        if event not in handlers:
            raise _Wrong("event: a second capture; each client writes a file of its own")
        handlers[event](number, record, self.capture)

    def cut(self, number: int) -> None:
        """The last line is not whole. Raises _Wrong if it is the first, too."""
        if self.capture is None:
            raise _Wrong("the file has been cut within its first line")
        self.capture.remarks.append(f"line {number} is cut: the client ended while it was written")

    # One method an event

    def _device(self, number: int, record: Record, capture: Capture) -> None:
        if "failed" in record:
            capture.refusals.append(Refusal(number, "device", record["failed"]))
            return
        self._add(record, record["id"])
        if not record["executions"]:
            self._immediate.add(record["id"])
            capture.remarks.append(f"line {number}: what queues executed was not seen; each dispatch counts as one execution")

    def _operator(self, number: int, record: Record, capture: Capture) -> None:
        if self._is_failed(number, record, capture):
            return
        if "desc" not in record:
            operator = Operator(record["id"], number, None, record["operator_type"])
        else:
            try:
                operator = Operator(record["id"], number, read_desc(record["desc"], load, "desc"))
            except FAILURES as error:
                raise _Wrong(shorten_text(str(error))) from None
        capture.operators.append(operator)
        self._add(record, operator)

    def _read_compiled(self, number: int, record: Record, capture: Capture) -> None:
        if not self._is_failed(number, record, capture):
            content = self._one(record["operator"], Operator, "operator")
            self._add_compiled(Compiled(record["id"], number, content, record["flags"]), record, capture)

    def _graph(self, number: int, record: Record, capture: Capture) -> None:
        if not self._is_failed(number, record, capture):
            self._add_compiled(Compiled(record["id"], number, self._read_graph(record), record["flags"]), record, capture)

    def _initializer(self, number: int, record: Record, capture: Capture) -> None:
        if not self._is_failed(number, record, capture):
            compiled = (self._one(key, Compiled, f"compiled[{i}]") for i, key in enumerate(record["compiled"]))
            self._add(record, Initializer(record["id"], number, tuple(compiled)))

    def _name(self, number: int, record: Record, capture: Capture) -> None:
        self._one(record["id"], object, "id")
        capture.names[record["id"]] = sanitize.line(record["name"])

    def _table(self, number: int, record: Record, capture: Capture) -> None:
        if not self._is_failed(number, record, capture):
            if record["dispatchable"] is not None:
                self._dispatchable(record["dispatchable"])
            self._add(record, _Table())

    def _bind(self, number: int, record: Record, capture: Capture) -> None:
        table = self._one(record["table"], _Table, "table")
        changes: dict[str, Any] = {
            name: tuple(map(_read_binding, record[name])) for name in ("inputs", "outputs") if name in record
        }
        changes |= {name: _read_binding(record[name]) for name in ("temporary", "persistent") if name in record}
        table.bindings = replace(table.bindings, **changes)

    def _dispatch(self, number: int, record: Record, capture: Capture) -> None:
        table = None if record["table"] is None else self._one(record["table"], _Table, "table")
        dispatchable = None if record["dispatchable"] is None else self._dispatchable(record["dispatchable"])
        dispatch = _Dispatch(number, dispatchable, table)
        self._add(record, dispatch)
        if self._immediate:
            self._read_executed(record["id"], dispatch, capture)

    def _execute(self, number: int, record: Record, capture: Capture) -> None:
        if record["first"] != len(capture.executions) + 1:
            raise _Wrong(f"first: {record['first']}, but {len(capture.executions)} executions came before")
        if len(capture.executions) + len(record["dispatches"]) > MOST_EXECUTIONS:
            raise _Wrong(f"dispatches: more than {MOST_EXECUTIONS:,} executions")
        for i, key in enumerate(record["dispatches"]):
            self._read_executed(key, self._one(key, _Dispatch, f"dispatches[{i}]"), capture)

    def _read_executed(self, key: int, dispatch: _Dispatch, capture: Capture) -> None:
        dispatchable, table = dispatch.dispatchable, dispatch.table
        if dispatchable is None:
            raise _Wrong(f"dispatch {key} was recorded without what it dispatches")
        volatile = isinstance(dispatchable, Compiled) and dispatchable.volatile and table is not None
        bindings = table.bindings if volatile and table is not None else dispatch.bindings
        capture.executions.append(Execution(len(capture.executions) + 1, key, dispatch.line, dispatchable, bindings))

    def _data(self, number: int, record: Record, capture: Capture) -> None:
        if record["execution"] > len(capture.executions):
            raise _Wrong(f"execution: {record['execution']}, but there were only {len(capture.executions)}")
        execution = capture.executions[record["execution"] - 1]
        for name in ("inputs", "outputs"):
            if name not in record:
                continue
            contents, bound = tuple(map(_contents, record[name])), getattr(execution.bindings, name)
            if len(contents) != len(bound):
                raise _Wrong(f"{name}: bytes of {len(contents)} bindings, but {len(bound)} were bound")
            for i, (content, binding) in enumerate(zip(contents, bound, strict=True)):
                if not _fits(content, binding):
                    raise _Wrong(f"{name}[{i}]: its bytes are not as many as were bound")
            setattr(execution, name, contents)

    def _full(self, number: int, record: Record, capture: Capture) -> None:
        capture.remarks.append(f"line {number}: the limit was reached; no more {record['what']} after it")

    # Tools

    def _is_failed(self, number: int, record: Record, capture: Capture) -> bool:
        if "failed" in record:
            capture.refusals.append(Refusal(number, record["event"], record["failed"], record.get("desc")))
        self._device_of(record)
        return "failed" in record

    def _device_of(self, record: Record) -> None:
        self._one(record["device"], int, "device")

    def _add(self, record: Record, thing: object) -> None:
        if record["id"] in self._objects:
            raise _Wrong(f"id: {record['id']} is given twice")
        self._objects[record["id"]] = thing

    def _add_compiled(self, compiled: Compiled, record: Record, capture: Capture) -> None:
        capture.compiled.append(compiled)
        self._add(record, compiled)

    def _one(self, key: int | None, kind: type[T], where: str) -> T:
        found = None if key is None else self._objects.get(key)
        if not isinstance(found, kind):
            raise _Wrong(f"{where}: {key} is no {_WORDS.get(kind, 'object')} of the lines before")
        return found

    def _dispatchable(self, key: int) -> Dispatchable:
        found = self._objects.get(key)
        if not isinstance(found, Compiled | Initializer):
            raise _Wrong(f"dispatchable: {key} is neither a compiled operator nor an initializer of the lines before")
        return found

    def _read_graph(self, record: Record) -> Graph:
        for name in ("InputCount", "OutputCount", "Nodes", "InputEdges", "OutputEdges", "IntermediateEdges"):
            if name not in record:
                raise _Wrong(f"{name}: is missing")
        nodes = tuple(self._node(node, f"Nodes[{i}]") for i, node in enumerate(record["Nodes"]))
        edges = [edge for kind in _EDGES for edge in _read_edges(record, kind, len(nodes))]
        targets = [edge.target for edge in edges]
        if len(set(targets)) < len(targets):
            raise _Wrong("an input of a node, or an output of the graph, has two edges")
        return Graph(record["InputCount"], record["OutputCount"], nodes, tuple(edges))

    def _node(self, node: Record, where: str) -> Node:
        name = sanitize.line(node.get("Name", ""))
        if "Constant" in node:
            return Node(Constant(_piece(node["Constant"])), name)
        return Node(self._one(node["Operator"], Operator, f"{where}.Operator"), name)


_WORDS: Mapping[type, str] = {
    int: "device",
    Operator: "operator",
    Compiled: "compiled operator",
    _Table: "binding table",
    _Dispatch: "dispatch",
}

_EDGES = {
    "InputEdges": ((None, "GraphInputIndex"), ("ToNodeIndex", "ToNodeInputIndex")),
    "IntermediateEdges": (("FromNodeIndex", "FromNodeOutputIndex"), ("ToNodeIndex", "ToNodeInputIndex")),
    "OutputEdges": (("FromNodeIndex", "FromNodeOutputIndex"), (None, "GraphOutputIndex")),
}
"""The arrays of edges; for source and target the fields of its node, None for the graph itself, and of the node's output or input."""


def _read_edges(record: Record, kind: str, nodes: int) -> list[Edge]:
    found = []
    counts = {
        "GraphInputIndex": record["InputCount"],
        "GraphOutputIndex": record["OutputCount"],
        "FromNodeIndex": nodes,
        "ToNodeIndex": nodes,
    }
    for i, edge in enumerate(record[kind]):
        for name, count in counts.items():
            if edge.get(name, 0) >= count and name in edge:
                raise _Wrong(f"{kind}[{i}].{name}: {edge[name]}, but there are only {count}")
        source, target = ((OUTSIDE if node is None else edge[node], edge[index]) for node, index in _EDGES[kind])
        found.append(Edge(source, target, sanitize.line(edge.get("Name", ""))))
    return found


def _check(part: str, record: object) -> None:
    check(
        validator("dmlcts.conformance.client.capture", "event", part),
        record,
        lambda path, problem: _Wrong(f"{path_text(path) or 'the line'}: {problem}"),
    )


def _read_binding(data: Any) -> Binding:
    if isinstance(data, list):
        return tuple(None if part is None else Part(**part) for part in data)
    return None if data is None else Part(**data)


def _piece(data: Record) -> Piece:
    return Piece(data.get("offset"), data["size"], data["sha256"])


def _contents(data: Any) -> Contents:
    if isinstance(data, list):
        return tuple(None if piece is None else _piece(piece) for piece in data)
    return None if data is None else _piece(data)


def _fits(content: Contents, binding: Binding) -> bool:
    """Whether bytes can be those of a binding: in its form, and of its size."""
    if content is None:
        return True
    if isinstance(content, Piece):
        return isinstance(binding, Part) and binding.size == content.size
    return isinstance(binding, tuple) and len(content) == len(binding) and all(map(_fits, content, binding))
