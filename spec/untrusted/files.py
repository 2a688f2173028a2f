"""Input that others wrote (files and messages), read within limits of size, depth and count, and checked against a JSON Schema.

All readers of such input use this module, and turn ``InputError`` into their own error, which names the file. YAML is read by
spec/reading/document, text is made safe to show by spec/untrusted/sanitize.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from math import isinf
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

MIB = 1 << 20

_MARK = "\N{BYTE ORDER MARK}"
"""Windows PowerShell 5 writes one before UTF-8."""

DEEPEST = 64
"""Lists and objects inside each other, in JSON."""


class InputError(ValueError):
    """The input is wrong; the message says what, and where in it. ``line`` is the line, from 1, where that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


# Files


def open_file(file: Path, most: int) -> BinaryIO:
    """Opens a regular file of at most ``most`` bytes. A pipe or a device, which may never end, is refused without waiting for it.

    Raises:
        InputError: it is not such a file, or cannot be opened.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL or a lone surrogate in the name
        raise InputError(f"cannot be read: {error}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InputError("cannot be read: it is a folder, a pipe or a device, not a file")
        _check_size(status.st_size, most)
    except InputError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


_PART = 1 << 24


def read_bytes(file: Path, most: int) -> bytes:
    """The content of a regular file of at most ``most`` bytes. Raises InputError."""
    parts, left = list[bytes](), most + 1  # the size may not be known, or may grow
    with open_file(file, most) as stream:
        try:
            while left and (part := stream.read(min(left, _PART))):  # as much memory is taken as is asked for
                parts.append(part)
                left -= len(part)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}") from None
    _check_size(most + 1 - left, most)
    return b"".join(parts)


def read_text(file: Path, most: int) -> str:
    """The text of a regular file of at most ``most`` bytes of UTF-8, without a byte order mark. Raises InputError."""
    return decode(read_bytes(file, most)).removeprefix(_MARK)


def read_lines(file: Path, most: int, longest: int) -> Iterator[str]:
    """The lines of a regular file of UTF-8, without a byte order mark, each with its ``\\n``, which the last one may lack. Only ``\\n`` ends a line.

    Raises:
        InputError: as ``read_text``, or a line has more than ``longest`` bytes.
    """
    with open_file(file, most) as stream:
        for number in range(1, most + 2):
            try:
                data = stream.readline(longest + 1)
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror or error}") from None
            if not data:
                return
            if len(data) > longest:
                raise InputError(f"a line of more than {longest:,} bytes", number)
            yield decode(data, number).removeprefix(_MARK if number == 1 else "")


def decode(data: bytes, line: int = 1) -> str:
    """UTF-8 as text; ``line`` is the number of the first line. Raises InputError."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: the byte 0x{data[error.start]:02X}; save the file as UTF-8", line + data.count(b"\n", 0, error.start)
        ) from None


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise InputError(f"too large: {size:,} bytes; at most {most:,} are read")


# JSON


def parse_json(text: str) -> Any:
    """JSON as plain data. Lone surrogates, which are no text, become U+FFFD.

    Raises:
        InputError: not JSON (NaN and Infinity are not), a number too large for a float, a key twice in one object, or nested deeper
            than DEEPEST.
    """
    return _parse_json(text, _STRICT)


def parse_json_line(text: str) -> Any:
    """As ``parse_json``, for the many lines of a results file: faster, as the last of equal keys has priority."""
    return _parse_json(text, _LENIENT)


def _parse_json(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise InputError(f"nested deeper than {DEEPEST} levels") from None
    except InputError:
        raise
    except ValueError as error:  # a number with too many digits for Python
        raise InputError(f"not JSON: {error}") from None
    if text.count("[") + text.count("{") > DEEPEST:
        check_depth(value)
    may_have_surrogates = "\\u" in text or not text.isascii()  # quicker than the search
    return _without_surrogates(value) if may_have_surrogates and _SURROGATE.search(text) else value


def check_depth(value: Any) -> None:
    """Raises InputError if lists and mappings are nested deeper than DEEPEST."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise InputError(f"nested deeper than {DEEPEST} levels")


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_without_surrogates(entry) for entry in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(entry) for key, entry in value.items()}
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise InputError(f"the key {shorten_text(next(key for key in keys if keys.count(key) > 1))!r} is given twice in one object")
    return found


def _float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise InputError(f'{shorten_text(text)} is too large for a number; write "inf" for infinity')
    return value


def _constant(name: str) -> NoReturn:
    raise InputError(f'{name} is not JSON; write "nan", "inf" or "-inf"')


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
_LENIENT = json.JSONDecoder(parse_float=_float, parse_constant=_constant)


# JSON Schemas


@cache
def validator(package: str, name: str, part: str = "") -> Any:
    """The compiled JSON Schema ``schema/NAME.schema.json`` of a package, or of one of its ``$defs``."""
    import jsonschema_rs  # here, so that what reads no such input does not load it

    schema = schema_of(package, name)
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]} if part else schema)


@cache
def schema_of(package: str, name: str) -> dict[str, Any]:
    """The JSON Schema ``schema/NAME.schema.json`` of a package."""
    schema: dict[str, Any] = json.loads(resources.files(package).joinpath(f"schema/{name}.schema.json").read_text("utf-8"))
    return schema


def check(validator: Any, data: Any, problem: Callable[[Sequence[str | int], str], Exception]) -> None:
    """Checks data from ``parse_json`` or spec/reading/document; raises what ``problem`` makes of the path and the words of the first error."""
    if not validator.is_valid(data):
        raise problem(*schema_problem(next(validator.iter_errors(data))))


def schema_problem(error: Any) -> tuple[list[str | int], str]:
    """A validator's error: the path to the value, and what is wrong with it, without a long value in it."""
    path, kind = list(error.instance_path), error.kind
    if kind.name == "required":
        return [*path, kind.property], "is missing"
    if kind.name == "additionalProperties":
        return [*path, kind.unexpected[0]], "is unknown"
    if kind.name == "pattern" and kind.pattern == r"\S":
        return path, "is empty"
    if kind.name in ("oneOf", "anyOf") and (branches := getattr(kind, "context", None)):
        return path, shorten_text(", or ".join(dict.fromkeys(str(branch[0].message) for branch in branches if branch)))
    return path, shorten_text(str(error.message))


def path_text(path: Sequence[str | int], start: str = "") -> str:
    """A path as people write it: ``waivers[0].cases``, below ``start``."""
    for step in path:
        start = f"{start}[{step}]" if isinstance(step, int) else f"{start}.{shorten_text(step)}" if start else shorten_text(step)
    return start


def shorten_text(text: str, most: int = 200) -> str:
    """The text, without its middle if it is long."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-(most // 2 - 10) :]}"
