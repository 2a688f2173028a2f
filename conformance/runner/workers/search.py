"""``dmlcts fuzz``: a search without end among drawn cases (generator/random/fuzz_cases), as a run whose operators' cases come in batches.

A batch is called ``OPERATOR/NUMBER``. The journal holds where an operator's last batch ended, so any process can draw the next one, and
seed and numbers alone decide which cases run. The first batches' results are all kept, those of later ones only where something failed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from math import inf
from pathlib import Path
from random import Random
from time import monotonic

from dmlcts.conformance.properties.causes import Cause, Causes
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.kernels.corpus import ENDING, Corpus, Guide, append, corpus_files, entry_of, read_corpus
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.plan import RunPlan, Watcher
from dmlcts.conformance.runner.planning.selection import Selection, operators_named, selection_of
from dmlcts.generator.case.case import LEVELS, Case
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.fuzz_cases import Place, SeenTriples, find_numbered, fuzz_case, number_in
from dmlcts.generator.random.reduce import traits_of
from dmlcts.generator.suite.suite import select
from dmlcts.reports.record.record import FAILURES, NOT_RUN, PASS, SEARCH, UNSUPPORTED, WAIVED, Result
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.writing.files import writing_to

PART = "part"
"""The process of a machine that is given a part of a search: what it notes of kernels is new."""

BATCH, EARLIER = 20, 5
"""The cases of a batch, and those of them that earlier searches kept."""

_TRIES, _CHANGES = 200, 10**8
"""How often a change is tried for a batch, and how many different ones there are."""

MOST_CAUSES, MOST_IN_A_ROW = 20, 50
"""After so many causes of an operator's failures, or so many failures in a row, the search leaves it: what fails so often needs no search."""

ROUND = 8
"""Of so many numbers one may be a case that meets all that a known cause needs: the search goes round it, and looks now and then what is behind."""

_KEPT, _LEAST_KEPT = 1000, 10
"""So many batches in all have all their results kept, and at least so many of each operator."""

_SAYS_LITTLE = (PASS, UNSUPPORTED, NOT_RUN)
"""The results that are not kept of later batches, but counted, as are failures whose cause is known."""

_FAILED = FAILURES | {WAIVED}


def work_of(options: RunOptions) -> Selection:
    """The cases of a run, or the search that options describe. Raises UsageError."""
    if options.level != SEARCH:
        return selection_of(options)
    try:
        if options.feature_level:
            feature_level(options.feature_level)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None
    return Search(options, operators_named(options.operators), {}, {})


@dataclass(frozen=True)
class Search(Selection):
    """The batches of a search. ``operators`` are the operators themselves.

    ``known`` is what this process knows of the kernels of the batch that it runs, and ``guides``, by operator, what it learnt of where new ones are.
    """

    known: dict[str, Corpus] = field(default_factory=dict)
    guides: dict[str, Guide] = field(default_factory=dict)

    def cases(self, operator: str) -> list[Case]:
        """The cases of a batch: drawn, or made again if they are listed already."""
        name, folder, number = _operator(operator), Path(self.options.out) / journal.FOLDER, self.number(operator)
        if journal.is_listed(folder, number):
            return [case for result in journal.read_listed(folder, number) if (case := find_numbered(result.case))]
        seen, state = _seen_triples(name), folder / f"{name}.npz"
        if state.exists():
            seen.restore(state)
        else:
            seen.reset()
        causes = [cause for cause in Causes(folder).causes_of(name) if cause.can_be_told]

        def is_wanted(case: Case) -> bool:
            return self._is_wanted(case) and not _passed_over(case, causes)

        found = [*self._of_earlier(operator), *self._changed_cases(operator, is_wanted)]
        found += seen.draw(int(self.options.seed), max(0, BATCH - len(found)), is_wanted)
        seen.save(state)
        return found

    def _of_earlier(self, operator: str) -> list[Case]:
        """The cases of earlier searches that this batch runs: a few in each, until all have run."""
        name, batch = _operator(operator), _batch(operator)
        earlier = Corpus(
            entry for folder in map(Path, self.options.corpus) for entry in read_corpus(folder, name)
        ).minimal_entries()
        ids = [entry.case for entry in earlier[batch * EARLIER : (batch + 1) * EARLIER]]
        return [
            case for case_id in ids if (case := find_numbered(case_id)) and case.operator.name == name and self._is_wanted(case)
        ]

    def _changed_cases(self, operator: str, wanted: Callable[[Case], bool]) -> list[Case]:
        """Cases that reached a kernel in a form of which they are the smallest, each with a change; none where the backend names no kernels."""
        name, random = _operator(operator), Random(f"{self.options.seed}/{operator}")  # noqa: S311 (reproducible, no secret)
        guide, corpus = self.guides.setdefault(name, Guide()), self.corpus(name)
        most, found = guide.changed_count(BATCH), dict[str, Case]()
        for entry in islice(guide.parents(corpus, random), _TRIES):
            if len(found) == most:
                break
            place = number_in(entry.case)
            case = fuzz_case(*place.with_change(random.randrange(_CHANGES))) if place else None
            if case is not None and wanted(case):
                found.setdefault(case.id, case)
        return list(found.values())

    def corpus(self, operator: str) -> Corpus:
        """What this search and earlier ones have reached of an operator's kernels."""
        folders = [Path(self.options.out) / journal.FOLDER, *map(Path, self.options.corpus)]
        return Corpus(entry for folder in folders for entry in read_corpus(folder, operator))

    def note(self, operator: str, case: Case, result: Result, process: str) -> None:
        """Keeps a case that reaches a kernel in a new form, or is smaller than those that do. Raises WriteError."""
        name = _operator(operator)
        if not result.paths or number_in(case.id) is None:
            return
        if operator not in self.known:
            self.known.clear()
            self.known[operator] = self.corpus(name)
        entry, place = entry_of(case, result.paths), number_in(case.id)
        is_new = self.known[operator].reaches_more(entry)
        self.guides.setdefault(name, Guide()).saw(entry.forms, is_changed=bool(place and place.changes), is_new=is_new)
        if self.known[operator].add(entry):
            append(Path(self.options.out) / journal.FOLDER, name, process, entry)

    def _is_wanted(self, case: Case) -> bool:
        at = feature_level(self.options.feature_level) if self.options.feature_level else None
        return bool(select([case], level=LEVELS[-1], basis=self.options.basis, at=at))

    def has_case(self) -> bool:
        """Is not known before some are drawn."""
        return True

    def number(self, operator: str) -> int:
        """The number of a batch's list in the journal."""
        return _batch(operator) * len(self.operators) + self.operators.index(_operator(operator))

    def state(self, operator: str) -> dict[str, bytes]:
        """What is known when a batch is drawn and run: where the last one ended, what it lists, causes of failures, and the smallest case of each kernel."""
        name, folder = _operator(operator), Path(self.options.out) / journal.FOLDER
        files = [
            (journal.FOLDER, file) for file in (folder / f"{name}.npz", folder / f"{name}.causes", *corpus_files(folder, name))
        ]
        files.append((journal.FOLDER, folder / journal.LISTED.format(number=self.number(operator))))
        for label, corpus in zip(corpus_names(len(self.options.corpus)), map(Path, self.options.corpus), strict=True):
            files += [(label, file) for file in corpus_files(corpus, name)]
        return {f"{label}/{file.name}": file.read_bytes() for label, file in files if file.is_file()}

    def add_state(self, changed: Mapping[str, bytes]) -> None:
        """Where the draws have ended replaces what was known of that; cases that reach a kernel are added. Raises WriteError."""
        for name, content in changed.items():
            file = Path(self.options.out) / name.replace(f".{PART}{ENDING}", f".cluster{ENDING}")
            with writing_to(file), file.open("ab" if file.suffix == ENDING else "wb") as stream:
                stream.write(content)

    def keeps(self, operator: str, status: str, is_known: bool = False) -> bool:
        """Whether a batch's results of that status are kept."""
        return not (status in _SAYS_LITTLE or is_known) or _batch(operator) < max(_LEAST_KEPT, _KEPT // len(self.operators))

    def plan(self, watcher: Watcher, folder: Path, done: dict[str, str]) -> RunPlan:
        """The plan of the search."""
        return SearchPlan(self, watcher, folder)


def corpus_names(count: int) -> tuple[str, ...]:
    """How the folders of earlier searches are called in a ``state``."""
    return tuple(f"corpus-{number}" for number in range(count))


def _passed_over(case: Case, causes: list[Cause]) -> bool:
    """Whether a case is not run, as it is likely to fail for a known cause."""
    if not causes or (number_in(case.id) or Place("", 0, 0)).number % ROUND == 0:
        return False
    traits = traits_of(model_of(plan_of(case.operator)), case)
    return any(cause.met_by(traits) for cause in causes)


@cache
def _seen_triples(operator: str) -> SeenTriples:
    return SeenTriples(operator)


def _operator(batch: str) -> str:
    return batch.rpartition("/")[0]


def _batch(batch: str) -> int:
    return int(batch.rpartition("/")[2])


class SearchPlan(RunPlan):
    """The batches of a search, one of each operator in turn, until its time is over."""

    def __init__(self, search: Search, watcher: Watcher, folder: Path) -> None:
        super().__init__([f"{name}/0" for name in search.operators], watcher, maxfail=search.options.maxfail)
        self.search, self.folder = search, folder
        self.until = monotonic() + 60 * search.options.minutes if search.options.minutes else inf
        self.causes: Counter[str] = Counter()
        self.in_a_row: Counter[str] = Counter()
        self.known: set[str] = set()
        self.waiting: dict[str, int] = {}
        self.reached: set[str] = set()
        self.left_alone: set[str] = set()

    def add(self, operator: str, ids: list[str]) -> None:
        """A batch is drawn; the next one of its operator waits for those of the others."""
        super().add(operator, ids)
        self.waiting[operator] = len(ids)
        if ids and _operator(operator) not in self.left_alone:
            self.unlisted.append(f"{_operator(operator)}/{_batch(operator) + 1}")
        self._end_in_time()

    def on_result(self, operator: str, index: int, status: str, is_known: bool = False) -> None:
        """A case has a result."""
        super().on_result(operator, index, status, is_known)
        self.waiting[operator] -= 1
        name = _operator(operator)
        self.reached.add(name)
        self.known.update(self.ids[operator][index : index + is_known])
        self.causes[name] += status in _FAILED and not is_known
        self.in_a_row[name] = 0 if status == PASS else self.in_a_row[name] + (status in _FAILED)
        none_runs = self.waiting[operator] == 0 and {self.statuses[case] for case in self.ids[operator]} == {UNSUPPORTED}
        if self.causes[name] >= MOST_CAUSES or self.in_a_row[name] >= MOST_IN_A_ROW or none_runs:
            self.left_alone.add(name)
            self.unlisted = deque(batch for batch in self.unlisted if _operator(batch) != name)
        if self.waiting[operator] == 0:
            self._forget(operator)
        self._end_in_time()

    def _forget(self, operator: str) -> None:
        """Counts the results of a batch that are not kept."""
        gone = [case for case in self.ids[operator] if not self.search.keeps(operator, self.statuses[case], case in self.known)]
        self.known.difference_update(self.ids[operator])
        if not gone:
            return
        self.further.update(self.statuses.pop(case) for case in gone)
        self.ids[operator] = [case for case in self.ids[operator] if case in self.statuses]
        journal.unlist(self.folder, self.search.number(operator))
        if not self.ids[operator]:
            del self.ids[operator]
        self.waiting.pop(operator, None)

    def _end_in_time(self) -> None:
        if monotonic() > self.until or self.is_stopped:
            self.unlisted.clear()
            self.left.clear()

    def has_ended(self, interrupted: bool) -> bool:
        """Any end is one: what was drawn and has not run is left out."""
        self.ids = {batch: [case for case in ids if case in self.statuses] for batch, ids in self.ids.items()}
        for batch in list(self.ids):
            self._forget(batch)
        return True

    @property
    def not_listed(self) -> tuple[str, ...]:
        """Nothing is missing."""
        return ()

    @property
    def not_reached(self) -> tuple[str, ...]:
        """The operators of which no case ran before the search ended."""
        return tuple(name for name in self.search.operators if name not in self.reached)
