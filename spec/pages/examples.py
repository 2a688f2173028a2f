"""Examples of reference pages: ``InputTensor: (Sizes:{2,2}, DataType:UINT32)``, nested lists of numbers, ``Axes: {0}``.

An example is a code block with an output. Blocks without one provide common values for the examples after them, within the same heading: a
page may show one input below "Examples" and several attributes and outputs below "Example 1", "Example 2".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from dmlcts.spec.model.operator import Literal
from dmlcts.spec.pages.markdown import CODE, HEADING, Block

Value = Literal | str | int | float | tuple[str | int | float, ...]

_ENTRY = re.compile(r"^[ \t]*([A-Za-z]\w*(?:\[\d+\])?)[ \t]*[:=][ \t]*", re.MULTILINE)
_TENSOR = re.compile(r"\(\s*(?P<head>[^()]*\bSizes\b[^()]*)\)(?P<data>.*)", re.DOTALL)
_SIZES = re.compile(r"Sizes\s*:\s*\{([\d\s,]*)\}")
_DATA_TYPE = re.compile(r"DataType\s*:\s*(\w+)")
_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9A-Fa-f]+|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan\b|inf(?:inity)?\b)f?", re.IGNORECASE
)
_LIMITS = {f"INT{b}_MIN": -(1 << b - 1) for b in (8, 16, 32, 64)} | {f"INT{b}_MAX": (1 << b - 1) - 1 for b in (8, 16, 32, 64)}
_CONSTANTS: dict[str, int] = _LIMITS | {f"UINT{b}_MAX": (1 << b) - 1 for b in (8, 16, 32, 64)} | {"TRUE": 1, "FALSE": 0}


@dataclass(frozen=True, slots=True)
class PageExample:
    """The page's example ``number`` (from 1, in the page's order).

    ``tensors`` has the inputs and outputs by name (``InputTensors[0]`` for an element of an array), ``attributes`` the other fields; a
    field that the page shows as absent is in neither. ``problem`` says why an example could not be read, and is empty otherwise.
    """

    number: int
    line: int
    tensors: Mapping[str, Literal]
    attributes: Mapping[str, Value]
    problem: str = ""


class _Unreadable(ValueError):
    pass


def read_examples(blocks: Iterable[Block], is_output: Callable[[str], bool]) -> tuple[tuple[PageExample, ...], list[str]]:
    """The examples of a section, and parts of its code blocks that could not be read. ``is_output`` recognizes the name of an output.

    A heading ends the scope of common values given below headings of the same or a deeper level.
    """
    scenes: list[tuple[int, dict[str, Value | None]]] = [(0, {})]
    found: list[PageExample] = []
    unread: list[str] = []
    for block in blocks:
        if block.kind == HEADING:
            scenes = [scene for scene in scenes if scene[0] < block.level] + [(block.level, {})]
        elif block.kind == CODE:
            names = _ENTRY.findall(block.text)
            outputs = any(is_output(name.partition("[")[0]) for name in names)
            try:
                entries = _entries(block.text)
            except ValueError as error:  # _Unreadable, or a number of more digits than Python converts
                unread.append(f"line {block.line}: {error}")
                if outputs:
                    found.append(PageExample(len(found) + 1, block.line, {}, {}, str(error)))
                continue
            if outputs:
                whole = {name: value for _, scene in scenes for name, value in scene.items()} | entries
                tensors = {name: value for name, value in whole.items() if isinstance(value, Literal)}
                others = {name: value for name, value in whole.items() if value is not None and not isinstance(value, Literal)}
                found.append(PageExample(len(found) + 1, block.line, tensors, others))
            else:
                scenes[-1][1].update(entries)
    return tuple(found), unread


def _entries(text: str) -> dict[str, Value | None]:
    """The fields in a code block. Raises _Unreadable for a block with anything else in it."""
    text = re.sub(r"//.*", "", text)
    starts = list(_ENTRY.finditer(text))
    if not starts or text[: starts[0].start()].strip():
        raise _Unreadable("code among the examples that is not `Name: value` lines")
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {start[1]: _value(start[1], text[start.end() : end].strip()) for start, end in zip(starts, ends, strict=True)}


def _value(name: str, text: str) -> Value | None:
    tensor = _TENSOR.fullmatch(text)
    if tensor:
        return _literal(name, tensor["head"], tensor["data"])
    if text.lower() in ("none", "null", "nullptr"):
        return None
    array = re.fullmatch(r"\{([^{}]*)\}", text)
    if array:
        return tuple(_scalar(name, element.strip()) for element in array[1].split(",") if element.strip())
    return _scalar(name, text)


def _scalar(name: str, text: str) -> str | int | float:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NUMBER.fullmatch(text):
        return _number(text)
    if re.fullmatch(r"[A-Z]\w*", text):
        return text
    raise _Unreadable(f"{name} is given as {text[:60]!r}")


def _literal(name: str, head: str, data: str) -> Literal:
    sizes, data_type = _SIZES.search(head), _DATA_TYPE.search(head)
    if sizes is None or data_type is None:
        raise _Unreadable(f"{name} is given as ({head.strip()}), and not as (Sizes:{{..}}, DataType:..)")
    shape = tuple(int(size) for size in re.findall(r"\d+", sizes[1]))
    numbers = tuple(_number(number) for number in _NUMBER.findall(data))
    if _NUMBER.sub("", data).strip("[], \t\n"):
        raise _Unreadable(f"the values of {name} contain {_NUMBER.sub('', data).strip('[], ')[:60]!r}")
    if len(numbers) != prod(shape):
        raise _Unreadable(f"{name} has sizes {'x'.join(map(str, shape))} but {len(numbers)} values")
    return Literal(data_type[1].removeprefix("DML_TENSOR_DATA_TYPE_"), shape, numbers)


def _number(text: str) -> str | int | float:
    """A number as spec files write it: an int, a float, or nan, inf, -inf as text."""
    text = text.lower().removeprefix("+")
    special = text.removeprefix("-")
    if special.startswith(("nan", "inf")):
        return "nan" if special.startswith("nan") else "-inf" if text.startswith("-") else "inf"
    if special.startswith("0x"):
        return text
    return float(text.removesuffix("f")) if re.search(r"[.e]", text) else int(text.removesuffix("f"))
