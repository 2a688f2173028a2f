"""Foreign text (a backend's messages, a results file) made safe for terminals, logs and reports.

Control characters, which move the cursor or color a terminal, become U+FFFD; text is capped; and what a CI system would execute as a command
in a log (``::error::``, ``##vso[``) is broken up by a space. Every text is cleaned once, where it enters: in the exceptions and the description
of a backend (conformance/backends/backend), and in the reader of results (reports/record/record). So no report has to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

LONGEST_LINE, LONGEST_BLOCK = 2_000, 20_000
"""Characters of a message or a name, and of text of several lines."""

_COMMAND = re.compile(r"(?<!\S)::+|##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""What begins a command in the log of GitHub Actions, Azure Pipelines or TeamCity: ``::`` at the start of a word, ``##[``, ``##vso[``, ``##teamcity[``."""


def line(text: object, most: int = LONGEST_LINE) -> str:
    """Text as one line of printable characters; several lines become one."""
    text = _text(text, most)
    return text if _is_clean(text) else _clean_text(" ".join(text.split()))


def block(text: object, most: int = LONGEST_BLOCK) -> str:
    """Text as lines of printable characters; ``\\n`` and tabs stay."""
    text = _text(text, most)
    return text if _is_clean(text) else "\n".join(map(_clean_text, re.split(r"\r\n|[\r\n]", text)))


def data(value: Any, text: Callable[[str], str] = block) -> Any:
    """Data in which ``text`` cleaned every string, and every key is a line. NaN and infinities, which JSON has not, become text."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {line(key): data(entry, text) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [data(entry, text) for entry in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def error_line(error: BaseException) -> str:
    """``ValueError: what it says``, as one line."""
    return line(f"{type(error).__name__}: {line(error)}")


def _text(text: object, most: int) -> str:
    try:
        found = text if isinstance(text, str) else str(text)
    except Exception:  # an exception of a foreign class
        found = "a text that cannot be read"
    if len(found) <= most:
        return found
    kept = most - 40  # with the remark it is not longer than allowed, so that clean text stays what it is when cleaned again
    return f"{found[:kept]} ... ({len(found) - kept:,} more characters)"


def _is_clean(text: str) -> bool:
    return text.isprintable() and "::" not in text and "##" not in text and not text.startswith(" ")


def _clean_text(text: str) -> str:
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c == "\t" else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return _COMMAND.sub(lambda found: " ".join(found[0]), text)
