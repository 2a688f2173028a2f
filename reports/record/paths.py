"""Code paths: which kernels, or other parts of an implementation, a case ran, as its backend says.

A results file has each label once, as a line ``{"path": LABEL}``, and each distinct sequence of them once, as a line ``{"sequence": [ITEM...]}``; both are numbered
from 0 in the order of their lines, and come before the results that name them. So a case costs one number: thousands run the same kernels. An item is

- ``[PATH, NUMBER...]``, a code path with its numbers, which is a new *step*: it gets the next number, from 0 in the file's order;
- the number of such a step;
- ``[TIMES, [ITEM...]]``, some of these so many times in a row, as in a loop over the steps of a recurrent network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any, NamedTuple, TypeVar

from dmlcts.spec.untrusted import sanitize

T = TypeVar("T")

MOST_PATHS = 1025
"""The most code paths of a case; further ones are dropped."""

LONGEST_LABEL = 200
"""Characters of a label; a longer one is cut."""

MOST_NUMBERS, LARGEST_NUMBER = 8, 2**63 - 1
"""The most numbers of a code path, and the largest of them."""


MORE = "more"
"""The label that stands for further code paths, where a host names no more: it is none itself."""

NOT_CREATED = " (not created)"
"""The end of the label of a kernel that the implementation wanted and did not get: a compiler or a device refused it. No case ran it."""


class CodePath(NamedTuple):
    """A part of the implementation that ran: a kernel's digest, or a name such as ``gemm, tile of 64``; and numbers: thread groups in x, y, z."""

    label: str
    numbers: tuple[int, ...] = ()


Paths = tuple[CodePath, ...]
"""What a case ran, in order of dispatch."""


Form = tuple[str, int]
"""A kernel's label, and the bits of the number of its groups."""


def labels_of(paths: Paths) -> tuple[str, ...]:
    """The labels of code paths, each once, in their order."""
    return tuple(dict.fromkeys(path.label for path in paths if path.label != MORE))


def forms_of(paths: Paths) -> frozenset[Form]:
    """The forms in which a case ran its kernels."""
    return frozenset((path.label, prod(path.numbers).bit_length() if path.numbers else 0) for path in paths if path.label != MORE)


def is_created(label: str) -> bool:
    """Whether a label is of a kernel that there was, so that it could run."""
    return not label.endswith(NOT_CREATED)


def paths_text(paths: Paths, most: int = 5) -> str:
    """``dxil 3f2a9c0d1e5b7a48 (8x1x1), 12 times copy and 3 more``; empty if there are none."""
    parts = [f"{f'{times:,} times ' if times > 1 else ''}{', '.join(map(_path_text, part))}" for times, part in runs(paths)]
    more = f" and {len(parts) - most:,} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def _path_text(path: CodePath) -> str:
    return f"{path.label} ({'x'.join(map(str, path.numbers))})" if path.numbers else path.label


def code_path(label: object, numbers: Sequence[object] = ()) -> CodePath:
    """A code path with a clean label. Raises ValueError if there is no label, or a number is not an unsigned integer."""
    try:
        return _known_path(label, *numbers)
    except TypeError:  # what cannot be looked up
        return _clean_path(label, *numbers)


def _clean_path(label: object, *numbers: object) -> CodePath:
    if not isinstance(label, str) or not (clean := sanitize.line(label, LONGEST_LABEL)[:LONGEST_LABEL].strip()):
        raise ValueError(f"a code path needs a label of 1 to {LONGEST_LABEL} characters, not {label!r:.80}")
    if len(numbers) > MOST_NUMBERS:
        raise ValueError(f"the code path {clean} has {len(numbers):,} numbers; there are at most {MOST_NUMBERS}")
    return CodePath(clean, tuple(_unsigned_number(number, clean) for number in numbers))


_known_path = lru_cache(1 << 14, typed=True)(_clean_path)
"""A run has a few thousand different ones, and some of them in each case. By type, since True is no number, and equals 1."""


def _unsigned_number(number: object, label: str) -> int:
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
        self._steps: dict[CodePath, int] = {}
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
        yield "sequence", [self._run(times, part) for times, part in runs(paths)]

    def number(self, paths: Paths) -> int:
        """What stands for these paths in a result, after ``lines``."""
        return self._sequences[paths]

    def _run(self, times: int, part: Paths) -> Any:
        items = [self._item(path) for path in part]
        return [times, items] if times > 1 else items[0]

    def _item(self, path: CodePath) -> int | list[int]:
        if path in self._steps:
            return self._steps[path]
        self._steps[path] = len(self._steps)
        return [self._labels[path.label], *path.numbers]


_LONGEST_LOOP = 64
"""The most code paths of what is repeated."""


def runs(paths: Paths) -> Iterator[tuple[int, Paths]]:
    """The sequence as parts, each with how many times it follows itself; one code path where nothing does. At each place, what saves most is taken."""
    at = 0
    while at < len(paths):
        longest = min(_LONGEST_LOOP, (len(paths) - at) // 2)  # what is longer cannot follow itself
        found = ((_times(paths, at, length), length) for length in range(1, longest + 1))
        times, part = max(found, key=_paths_saved, default=(1, 1))
        length = part if times > 1 else 1
        yield times, paths[at : at + length]
        at += times * length


def _paths_saved(run: tuple[int, int]) -> int:
    """How many code paths need not be written."""
    times, length = run
    return (times - 1) * length


def _times(paths: Paths, at: int, length: int) -> int:
    """How often the next so many code paths follow each other: once, if no more."""
    times = 1
    if (
        paths[at + length : at + length + 1] != paths[at : at + 1]
    ):  # nearly always: comparing whole parts takes milliseconds a sequence
        return times
    while (following := paths[at + times * length : at + (times + 1) * length]) and following == paths[at : at + length]:
        times += 1
    return times


class Reading:
    """Code paths as the lines of a results file say, in the file's order."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._steps: list[CodePath] = []
        self._sequences: list[Paths] = []

    def add(self, kind: str, data: Any) -> None:
        """Takes a line of this kind. Raises IndexError, saying so, if a sequence has a path or a step that is not before it, or is too long."""
        if kind == "path":
            self._labels.append(code_path(data).label if data.strip() else "?")
            return
        found: list[CodePath] = []
        for item in data:
            times, items = item if _is_run(item) else (1, [item])
            if len(found) + times * len(items) > MOST_PATHS:
                raise IndexError(f"a sequence has more than {MOST_PATHS:,} code paths")
            found += [self._step(each) for each in items] * times
        self._sequences.append(tuple(found))

    def paths(self, number: int) -> Paths:
        """What a result's number stands for. Raises IndexError, saying so, if no line before has it."""
        return self._entry(self._sequences, number, "the result has the sequence")

    def _step(self, item: int | list[int]) -> CodePath:
        if isinstance(item, int):
            return self._entry(self._steps, item, "a sequence has the step")
        self._steps.append(CodePath(self._entry(self._labels, item[0], "a sequence has the path"), tuple(item[1:])))
        return self._steps[-1]

    def _entry(self, known: Sequence[T], number: int, what: str) -> T:
        if number >= len(known):
            raise IndexError(f"{what} {number}, but there are {len(known)} before it")
        return known[number]


def _is_run(item: Any) -> bool:
    """Whether an item is some that are repeated."""
    return isinstance(item, list) and isinstance(item[-1], list)
