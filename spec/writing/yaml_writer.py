"""Plain data as YAML that every reader interprets alike: on one line if it fits, otherwise one line for each entry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isinf, isnan

WIDTH = 150

_WORDS = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")


def yaml_text(data: Mapping[str, object]) -> str:
    """A mapping as a YAML document."""
    return "".join(f"{line}\n" for key, value in data.items() for line in entry(f"{scalar(key)}:", value, 0))


def entry(lead: str, value: object, indent: int) -> Iterator[str]:
    """The lines of a value after ``lead``, a key or the dash of a list, indented by ``indent``."""
    first = f"{' ' * indent}{lead} "
    text = flow(value)
    if not _is_nested(value) or not value or len(first) + len(text) <= WIDTH:
        yield first + text
    elif isinstance(value, Mapping):
        lines = [line for key, inner in value.items() for line in entry(f"{scalar(key)}:", inner, indent + 2)]
        if lead == "-":
            lines[0] = first + lines[0].lstrip(" ")
        else:
            yield first.rstrip()
        yield from lines
    elif isinstance(value, Sequence) and not any(map(_is_nested, value)):
        yield f"{first}["
        yield from _wrap_texts([flow(element) for element in value], " " * (indent + 2))
        yield f"{' ' * indent}]" if lead != "-" else f"{' ' * (indent + 2)}]"
    elif isinstance(value, Sequence):
        yield first.rstrip()
        for element in value:
            yield from entry("-", element, indent + 2)


def _wrap_texts(texts: Sequence[str], margin: str) -> Iterator[str]:
    line = margin
    for index, text in enumerate(texts):
        part = f"{text}," if index + 1 < len(texts) else text
        if len(line) + len(part) > WIDTH and line.strip():
            yield line.rstrip()
            line = margin
        line += f"{part} "
    yield line.rstrip()


def flow(value: object) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(flow, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return "nan" if isnan(value) else ("inf" if value > 0 else "-inf") if isinf(value) else repr(value)
    return scalar(value) if isinstance(value, str) else str(value)


def scalar(text: str) -> str:
    """A string: plain where it is a harmless word, otherwise in quotes."""
    plain = re.fullmatch(r"[A-Za-z][\w./*()+-]*(?: [\w./()+-]+)*", text, re.ASCII)
    if plain and text.lower() not in _WORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)
