"""``dmlcts fuzz`` on the workers of a cluster: the search of a single machine, with what it learns of failures and kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from crew import Crew
from rich.console import Console

from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.properties.causes import CAUSE
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.manifest import manifest_of
from dmlcts.conformance.runner.kernels.corpus import read_corpus
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.run import run
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.workers.cluster import part
from dmlcts.conformance.runner.workers.cluster.pool import ClusterPool
from dmlcts.conformance.runner.workers.search import BATCH, SearchPlan, work_of
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.random.fuzz_cases import number_in
from dmlcts.reports.record.paths import forms_of
from dmlcts.reports.record.record import FAIL, PASS, SEARCH, Record, Result

OR, ADD = "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ADD"
FAULT = "python:dmlcts.conformance.faults:ELEMENT_WISE_ADD/if-1-0"
BATCHES = 4


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search ends when so many batches have run, however long they take."""

    def end(self: SearchPlan) -> None:
        if len(self.statuses) + self.further.total() >= BATCHES * BATCH:
            self.until = -1.0
        in_time(self)

    in_time = SearchPlan._end_in_time
    monkeypatch.setattr(SearchPlan, "_end_in_time", end)


def search_of(out: Path, backend: str, *operators: str, seed: str = "5", corpus: tuple[str, ...] = ()) -> RunOptions:
    return RunOptions(backend, SEARCH, feature_level="6_4", operators=operators, seed=seed, out=str(out), corpus=corpus)


class Watcher:
    def on_cases(self, cases: int, done: int) -> None: ...

    def on_result(self, status: str) -> None: ...


def on_cluster(given: RunOptions, crew: Crew) -> tuple[Record, Path]:
    """The journal's record of a search, and the journal."""
    search, session = work_of(given), Session(given, open_backend(given.backend))
    folder = journal.begin(Path(given.out), manifest_of(given, session.info, search.operators))
    plan = search.plan(Watcher(), folder, {})
    with ClusterPool(search, crew, session) as pool:  # type: ignore[arg-type]
        pool.run(plan)
        pool.end(plan)
    session.close()
    assert part._idle == {}
    return journal.read_parts(folder), folder


def alone(given: RunOptions) -> Record:
    """The record of one process."""
    return run(given, 0, Progress(Console(quiet=True), quiet=True, endless=True))


def contents(record: Record) -> list[tuple[str, str, str]]:
    def told(result: Result) -> str:
        return result.message.partition(" (made simpler")[0]

    return [(result.case, result.status, told(result)) for result in record.results if result.status != "not_run"]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_cases_are_those_of_a_single_machine(workers: int, tmp_path: Path) -> None:
    given = search_of(tmp_path / "cluster", "reference", OR, ADD)
    record, _ = on_cluster(given, Crew(workers))
    one = alone(search_of(tmp_path / "alone", "reference", OR, ADD))
    ran = {result.case for result in record.results if result.status == PASS}
    assert len(ran) >= BATCHES * BATCH
    assert {result.case for result in one.results} <= ran


def test_a_cause_that_one_worker_shows_is_known_to_the_others(tmp_path: Path) -> None:
    given = search_of(tmp_path / "cluster", FAULT, ADD)
    record, _ = on_cluster(given, Crew(3))
    failures = [result for result in record.results if result.status == FAIL]
    first = [result for result in failures if CAUSE not in result.evidence]
    assert len(failures) > len(first) > 0
    assert {str(result.evidence[CAUSE]) for result in failures if CAUSE in result.evidence} <= {result.case for result in first}
    assert all("--case-file" in result.repro for result in first)
    assert len([*(tmp_path / "cluster" / journal.EXAMPLES).iterdir()]) == len(first)
    one = alone(search_of(tmp_path / "alone", FAULT, ADD))
    assert contents(record)[: len(contents(one))] == contents(one)


def test_kernels_that_workers_reach_are_kept_and_changed_further(tmp_path: Path) -> None:
    given = search_of(tmp_path / "cluster", "python:tiled:Tiled", ADD)
    record, folder = on_cluster(given, Crew(1))
    reached = {form for result in record.results for form in forms_of(result.paths)}
    assert {form for entry in read_corpus(folder, ADD) for form in entry.forms} == reached != set()
    assert any(place.changes for result in record.results if (place := number_in(result.case)))
    assert {file.name for file in folder.glob("*.corpus")} == {f"{ADD}.cluster.corpus"}


def test_workers_go_on_with_the_corpus_of_an_earlier_search(tmp_path: Path) -> None:
    earlier = search_of(tmp_path / "first", "python:tiled:Tiled", ADD)
    _, folder = on_cluster(earlier, Crew(1))
    given = search_of(tmp_path / "second", "python:tiled:Tiled", ADD, seed="6", corpus=(str(folder),))
    record, _ = on_cluster(given, Crew(2))
    ran = {result.case for result in record.results}
    assert {entry.case for entry in read_corpus(folder, ADD)} & ran
