"""Code paths: which kernels, or other parts of an implementation, a case ran, as its backend says.

A results file has each label once, as a line ``{"path": LABEL}``, and each distinct sequence of them once, as a line ``{"sequence": [[PATH, NUMBER...]...]}``;
both are numbered from 0 in the order of their lines, and come before the results that name them. So a case costs one number: thousands run the same kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import Any, NamedTuple

from dmlcts.spec.untrusted import sanitize

MOST_PATHS = 1025
"""The most code paths of a case; further ones are dropped."""

LONGEST_LABEL = 200
"""Characters of a label; a longer one is cut."""

MOST_NUMBERS, LARGEST_NUMBER = 8, 2**63 - 1
"""The most numbers of a code path, and the largest of them."""


MORE = "more"
"""The label that stands for further code paths, where a host names no more: it is none itself."""


class CodePath(NamedTuple):
    """A part of the implementation that ran: a kernel's digest, or a name such as ``gemm, tile of 64``; and numbers: thread groups in x, y, z."""

    label: str
    numbers: tuple[int, ...] = ()


Paths = tuple[CodePath, ...]
"""What a case ran, in order of dispatch."""


def labels_of(paths: Paths) -> tuple[str, ...]:
    """The labels of code paths, each once, in their order."""
    return tuple(dict.fromkeys(path.label for path in paths if path.label != MORE))


def code_path(label: object, numbers: Sequence[object] = ()) -> CodePath:
    """A code path with a clean label. Raises ValueError if there is no label, or a number is not an unsigned integer."""
    if not isinstance(label, str) or not (clean := sanitize.line(label, LONGEST_LABEL)[:LONGEST_LABEL].strip()):
        raise ValueError(f"a code path needs a label of 1 to {LONGEST_LABEL} characters, not {label!r:.80}")
    if len(numbers) > MOST_NUMBERS:
        raise ValueError(f"the code path {clean} has {len(numbers):,} numbers; there are at most {MOST_NUMBERS}")
    return CodePath(clean, tuple(_unsigned(number, clean) for number in numbers))


def _unsigned(number: object, label: str) -> int:
    try:
        found = -1 if isinstance(number, bool) else index(number)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if not 0 <= found <= LARGEST_NUMBER:
        raise ValueError(f"the numbers of the code path {label} must be integers from 0 to {LARGEST_NUMBER}, not {number!r:.80}")
    return found


class Writing:
    """Code paths as a results file that is being written has them. Each file has its own numbers."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._sequences: dict[Paths, int] = {}

    def lines(self, paths: Paths) -> Iterator[tuple[str, Any]]:
        """The lines, kind and data, that must come before a result with these paths."""
        if not paths or paths in self._sequences:
            return
        for label in dict.fromkeys(path.label for path in paths):
            if label not in self._labels:
                self._labels[label] = len(self._labels)
                yield "path", label
        self._sequences[paths] = len(self._sequences)
        yield "sequence", [[self._labels[path.label], *path.numbers] for path in paths]

    def number(self, paths: Paths) -> int:
        """What stands for these paths in a result, after ``lines``."""
        return self._sequences[paths]


class Reading:
    """Code paths as the lines of a results file say, in the file's order."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._sequences: list[Paths] = []

    def add(self, kind: str, data: Any) -> None:
        """Takes a line of this kind. Raises IndexError, saying so, if a sequence has a path that no line before has."""
        if kind == "path":
            self._labels.append(code_path(data).label if data.strip() else "?")
            return
        if any(path >= len(self._labels) for path, *_ in data):
            raise IndexError(
                f"a sequence has the path {max(path for path, *_ in data)}, but there are {len(self._labels)} before it"
            )
        self._sequences.append(tuple(CodePath(self._labels[path], tuple(numbers)) for path, *numbers in data))

    def paths(self, number: int) -> Paths:
        """What a result's number stands for. Raises IndexError, saying so, if no line before has it."""
        if number >= len(self._sequences):
            raise IndexError(f"the result has the sequence {number}, but there are {len(self._sequences)} before it")
        return self._sequences[number]
