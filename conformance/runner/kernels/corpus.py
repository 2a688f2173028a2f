"""The smallest drawn case of each kernel that a search has reached, and of each power of two of its thread groups: what the search changes next.

Each process of a search appends what it finds to a file of its own in the journal, and reads those of all when it draws. At the end, the fewest of the
cases that reach all (a greedy set cover, the smallest first) are written to the folder of ``--corpus``, a file an operator. A case is known by its id, from which the
suite makes it again; a line that cannot be read counts as none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from dmlcts.generator.case.case import Case
from dmlcts.reports.record.files import portable
from dmlcts.reports.record.paths import Form, Paths, forms_of, is_created
from dmlcts.spec.untrusted.files import InputError, parse_json_line
from dmlcts.spec.writing.files import writing_to

ENDING = ".corpus"
"""The end of the names of files."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A case that reached some forms of kernels, and its size: the elements of all its tensors."""

    case: str
    size: int
    forms: frozenset[Form]

    @property
    def order(self) -> tuple[int, str]:
        """What makes one preferable to another with the same forms."""
        return self.size, self.case

    def to_json(self) -> dict[str, object]:
        """As data."""
        return {"case": self.case, "size": self.size, "forms": sorted(self.forms)}


def entry_of(case: Case, paths: Paths) -> Entry:
    """A case that ran these code paths."""
    return Entry(case.id, sum(tensor.count for _, tensor in case.desc.tensors()), forms_of(paths))


class Corpus:
    """The cases of one operator, by the forms that they are the smallest of."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.smallest: dict[Form, Entry] = {}
        for entry in entries:
            self.add(entry)

    def reaches_more(self, entry: Entry) -> bool:
        """Whether a case reaches something new."""
        return not entry.forms <= self.smallest.keys()

    def add(self, entry: Entry) -> bool:
        """Adds a case. Returns whether it reaches something new, or is the smallest so far that reaches something."""
        better = [form for form in entry.forms if form not in self.smallest or entry.order < self.smallest[form].order]
        self.smallest.update(dict.fromkeys(better, entry))
        return bool(better)

    def minimal_entries(self) -> list[Entry]:
        """The fewest of its cases that reach all forms, as far as a greedy choice finds them: always the one with most that are left."""
        left, found = set(self.smallest), list[Entry]()
        every = sorted(set(self.smallest.values()), key=lambda entry: entry.order)
        while left:
            best = max(every, key=lambda entry: len(entry.forms & left))
            found.append(best)
            left -= best.forms
        return found


class Guide:
    """What a process of a search has seen of an operator: how often each form was reached, and how often drawn and changed cases reached a new one lately.

    At first, drawn cases find more than changed ones; when they have found what is frequent, those near the rare ones do.
    """

    def __init__(self) -> None:
        self.hits = Counter[Form]()
        self._tried, self._new = {False: 0.0, True: 0.0}, {False: 0.0, True: 0.0}

    def saw(self, forms: Iterable[Form], *, is_changed: bool, is_new: bool) -> None:
        """A drawn or a changed case ran; the last ones count most."""
        self.hits.update(forms)
        self._tried[is_changed] = _FADES * self._tried[is_changed] + 1
        self._new[is_changed] = _FADES * self._new[is_changed] + is_new

    def changed_count(self, batch: int) -> int:
        """How many cases of a batch are to be changed ones, if there are any to change: the more, the more they find; of either kind a few."""
        drawn, changed = ((self._new[kind] + 1) / (self._tried[kind] + 4) for kind in (False, True))
        free = batch - 2 * _LEAST
        return _LEAST + round(free * changed**_SHARPLY / (drawn**_SHARPLY + changed**_SHARPLY))

    def parents(self, corpus: Corpus, random: Random) -> Iterator[Entry]:
        """Cases to change, without end: those of rarely reached forms more often."""
        forms = sorted(corpus.smallest)
        weights = [1 / max(1, self.hits[form]) ** 2 for form in forms]
        while forms:
            yield corpus.smallest[random.choices(forms, weights)[0]]


_FADES, _LEAST, _SHARPLY = 0.99, 2, 3
"""What a result counts when another one comes; the fewest drawn and changed cases of a batch; and how sharply the better kind is preferred."""


def read_corpus(folder: Path, operator: str) -> list[Entry]:
    """The entries of an operator in a folder, from all files; none if there are none."""
    return [entry for file in corpus_files(folder, operator) for entry in _read(file)]


def corpus_files(folder: Path, operator: str) -> list[Path]:
    """The files of an operator's entries in a folder."""
    return sorted(folder.glob(f"{portable(operator)}.*{ENDING}"))


def is_corpus(folder: Path) -> bool:
    """Whether a folder is one of ``--corpus``."""
    return any(folder.glob(f"*{ENDING}"))


def kernels_of(folder: Path) -> dict[str, str]:
    """The kernels that the cases in a folder reach, each with the id of the smallest case that does."""
    entries = sorted((entry for file in folder.glob(f"*{ENDING}") for entry in _read(file)), key=lambda entry: entry.order)
    found: dict[str, str] = {}
    for entry in entries:
        for label in sorted({label for label, _ in entry.forms}):
            if is_created(label):
                found.setdefault(label, entry.case)
    return found


def _read(file: Path) -> Iterator[Entry]:
    with suppress(OSError, UnicodeDecodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            with suppress(InputError, TypeError, KeyError, ValueError):
                data = parse_json_line(line)
                forms = frozenset((str(label), int(bits)) for label, bits in data["forms"])
                yield Entry(str(data["case"]), int(data["size"]), forms)


def append(folder: Path, operator: str, process: str, entry: Entry) -> None:
    """Adds an entry to the file of a process. Raises WriteError."""
    file = folder / f"{portable(operator)}.{process}{ENDING}"
    with writing_to(file), file.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(entry.to_json()) + "\n")


def write_corpora(folders: Sequence[Path], operators: Iterable[str], out: Path) -> tuple[int, int]:
    """Writes what several folders have of these operators, minimized, to one. Returns how many cases and forms there are. Raises WriteError."""
    cases = forms = 0
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)
        for operator in operators:
            corpus = Corpus(entry for folder in folders for entry in read_corpus(folder, operator))
            entries = corpus.minimal_entries()
            cases, forms = cases + len(entries), forms + len(corpus.smallest)
            if entries:
                text = "".join(json.dumps(entry.to_json()) + "\n" for entry in entries)
                (out / f"{portable(operator)}.all{ENDING}").write_text(text, encoding="utf-8", newline="\n")
    return cases, forms
