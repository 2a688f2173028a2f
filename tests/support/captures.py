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
