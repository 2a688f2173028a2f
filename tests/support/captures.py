"""Captures that were written by hand: the lines of a small client, and its data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def tensor(*sizes: int, data_type: str = "FLOAT32") -> Line:
    return {"DataType": data_type, "Sizes": list(sizes)}


def head(**changes: Any) -> list[Line]:
    capture = {"event": "capture", "version": 1, "program": "app.exe", "data": "all", "limit": 1 << 30, "every": 1}
    return [{**capture, **changes}, {"event": "device", "id": 1, "flags": 0, "executions": True}]


def operator(number: int, desc: Line) -> Line:
    return {"event": "operator", "id": number, "device": 1, "desc": desc}


def compiled(number: int, op: int, flags: int = 0) -> Line:
    return {"event": "compiled", "id": number, "device": 1, "operator": op, "flags": flags}


def table(number: int, dispatchable: int) -> Line:
    return {"event": "table", "id": number, "device": 1, "dispatchable": dispatchable, "descriptors": 4}


def part(buffer: int, size: int) -> Line:
    return {"buffer": buffer, "offset": 0, "size": size}


def round_client() -> list[Line]:
    """Rounds three numbers: one operator, one dispatch, executed once."""
    desc = {
        "Type": "ELEMENT_WISE_ROUND",
        "InputTensor": tensor(3),
        "OutputTensor": tensor(3),
        "RoundingMode": "TOWARD_ZERO",
    }
    return [
        *head(),
        operator(2, desc),
        compiled(3, 2),
        table(4, 3),
        {"event": "bind", "table": 4, "inputs": [part(1, 12)]},
        {"event": "bind", "table": 4, "outputs": [part(2, 12)]},
        {"event": "dispatch", "id": 5, "dispatchable": 3, "table": 4, "list": 1},
        {"event": "execute", "queue": 1, "first": 1, "dispatches": [5]},
    ]


def add_graph() -> list[Line]:
    """A graph of two sums, of its inputs and of the result with itself, executed once."""
    desc = {"Type": "ELEMENT_WISE_ADD", "ATensor": tensor(3), "BTensor": tensor(3), "OutputTensor": tensor(3)}
    graph = {
        "event": "graph",
        "id": 4,
        "device": 1,
        "flags": 0,
        "InputCount": 2,
        "OutputCount": 1,
        "Nodes": [{"Operator": 2, "Name": "one"}, {"Operator": 3, "Name": "two"}],
        "InputEdges": [{"GraphInputIndex": place, "ToNodeIndex": 0, "ToNodeInputIndex": place} for place in range(2)],
        "IntermediateEdges": [
            {"FromNodeIndex": 0, "FromNodeOutputIndex": 0, "ToNodeIndex": 1, "ToNodeInputIndex": place} for place in range(2)
        ],
        "OutputEdges": [{"FromNodeIndex": 1, "FromNodeOutputIndex": 0, "GraphOutputIndex": 0}],
    }
    return [
        *head(),
        operator(2, desc),
        operator(3, desc),
        graph,
        table(5, 4),
        {"event": "bind", "table": 5, "inputs": [part(1, 12), part(2, 12)]},
        {"event": "bind", "table": 5, "outputs": [part(3, 12)]},
        {"event": "dispatch", "id": 6, "dispatchable": 4, "table": 5, "list": 1},
        {"event": "execute", "queue": 1, "first": 1, "dispatches": [6]},
    ]


class DataWriter:
    """Bytes for a data file; ``piece`` is how a line refers to them."""

    def __init__(self) -> None:
        self.bytes = b""

    def piece(self, data: bytes) -> Line:
        found = {"offset": len(self.bytes), "size": len(data), "sha256": sha256(data).hexdigest()}
        self.bytes += data
        return found


def text_of(lines: Sequence[Line]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def write(folder: Path, lines: Sequence[Line], data: bytes = b"", cut: bytes = b"") -> Path:
    file = folder / "a.capture"
    file.write_bytes(text_of(lines) + cut)
    if data:
        (folder / "a.capture.data").write_bytes(data)
    return file
