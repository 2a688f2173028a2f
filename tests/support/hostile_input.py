"""Valid input made hostile: trees of JSON and YAML in which values were replaced, and bytes that were changed."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", " ",
    "x", "\0", "\x1b[2J", "\ud800", "\ufeff", "::error::x", "nan", "-inf", "0x7FC00001", "_", "1/0", "²", "../x", "/etc/passwd", "2027-02-30",
    "9" * 400, "x" * 5000, "FLOAT32", "UINT4", "INT64", "9**9**9", "*", "[", "(" * 150,
)  # fmt: skip
TOKENS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"NaN", b"Infinity", b"null", b"1e999", b"9" * 5000, b"[" * 300, b"{\"a\":" * 300, b'"\\ud800"', b"\\u0000", b"\x1b[2J",
    b"&a ", b"*a ", b"<<: ", b"!!python/object ", b"!!binary ", b"? ", b"- - - - ", b"---\n", b"%YAML 9.9\n", b"\t", b"\r", b"\xe2\x80\xa8", b"//", b"/*", b"\"", b"'", b"\\",
    b"-1", b"1.0", b"[]", b"{}", b"\xef\xbb\xbf",
)  # fmt: skip

scalars = st.sampled_from(SCALARS) | st.integers() | st.text(max_size=20) | st.floats()
trees = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=8
)
deep = st.integers(1, 3000).map(lambda depth: json.loads("[" * min(depth, 400) + "]" * min(depth, 400)))
replacements = st.lists(
    st.tuples(st.integers(0, 1 << 20), st.sampled_from(["set", "set", "delete", "rename", "add"]), trees | deep),
    min_size=1,
    max_size=3,
)
edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.sampled_from(["flip", "token", "cut", "copy", "end"]), st.integers(0, 255), st.sampled_from(TOKENS)
    ),
    min_size=1,
    max_size=6,
)


def replaced(data: Any, changes: list[tuple[int, str, Any]]) -> Any:
    """A tree in which some values were replaced, removed, renamed or added."""
    data = json.loads(json.dumps(data))
    for number, kind, value in copy.deepcopy(changes):
        places: list[tuple[Any, Any]] = []
        _places(data, places)
        if not places:
            return value
        parent, key = places[number % len(places)]
        if kind == "delete":
            del parent[key]
        elif kind == "rename" and isinstance(parent, dict):
            parent[value if isinstance(value, str) else "renamed"] = parent.pop(key)
        elif kind == "add" and isinstance(parent, dict):
            parent["added"] = value
        else:
            parent[key] = value
    return data


def _places(data: Any, found: list[tuple[Any, Any]], depth: int = 0) -> None:
    if depth < 100 and isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            found.append((data, key))
            _places(data[key], found, depth + 1)


def edited(data: bytes, changes: list[tuple[float, str, int, bytes]]) -> bytes:
    """Bytes of which some were changed."""
    for share, kind, number, token in changes:
        at = int(share * len(data))
        if kind == "flip" and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (number or 1)]) + data[at + 1 :]
        elif kind == "token":
            data = data[:at] + token + data[at:]
        elif kind == "cut":
            data = data[:at] + data[at + number :]
        elif kind == "copy":
            data = data[:at] + data[at : at + number] * 3 + data[at + number :]
        elif kind == "end":
            data = data[:at]
    return data


def parsed(data: bytes) -> Any:
    """Valid input as a tree; None if it is not one, as with comments."""
    import yaml

    try:
        return json.loads(data)
    except ValueError:
        try:
            return json.loads(json.dumps(yaml.safe_load(data), default=str))
        except (yaml.YAMLError, UnicodeDecodeError):
            return None
