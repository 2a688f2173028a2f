"""Which parts go to which workers, and what becomes of those of a worker that dies: with workers in this process, and no dask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crew import Crew

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.manifest import manifest_of
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import selection_of
from dmlcts.conformance.runner.workers.cluster import part
from dmlcts.conformance.runner.workers.cluster.address import Cluster
from dmlcts.conformance.runner.workers.cluster.likeness import likeness_here
from dmlcts.conformance.runner.workers.cluster.pool import ClusterPool
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.reports.record.record import ERROR, PASS, Record

CASES = tuple(f"ELEMENT_WISE_BIT_OR/{name}/4d" for name in ("UINT32", "INT32", "UINT16", "INT16", "UINT8", "INT8"))
FATAL = CASES[2]


class Watcher:
    def on_cases(self, cases: int, done: int) -> None: ...

    def on_result(self, status: str) -> None: ...


def options(folder: Path, **more: Any) -> RunOptions:
    return RunOptions(cases=CASES, feature_level="6_4", out=str(folder), **more)


def run(given: RunOptions, crew: Crew) -> tuple[RunPlan, Record]:
    """The plan after a run by the crew, and the journal's record."""
    selection, session = selection_of(given), Session(given, open_backend("reference"))
    folder = journal.begin(Path(given.out), manifest_of(given, session.info, selection.operators))
    plan = selection.plan(Watcher(), folder, {})
    with ClusterPool(selection, crew, session) as pool:  # type: ignore[arg-type]
        pool.run(plan)
        pool.end(plan)
    return plan, journal.read_parts(folder)


def statuses(record: Record) -> dict[str, str]:
    return {result.case: result.status for result in record.results}


@pytest.fixture(autouse=True)
def few_in_a_part(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("dmlcts.conformance.runner.workers.cluster.pool._FIRST", 3)
    monkeypatch.setattr("dmlcts.conformance.runner.workers.cluster.pool._MOST", 3)
    yield
    for name in [*part._idle]:
        part.end_run(name)


@pytest.mark.parametrize("workers", [1, 3])
def test_every_case_runs_once(workers: int, tmp_path: Path) -> None:
    crew = Crew(workers)
    plan, record = run(options(tmp_path), crew)
    assert statuses(record) == plan.statuses == dict.fromkeys(CASES, PASS)
    ran = [index for _, indices in crew.handed_out for index in indices]
    assert sorted(ran) == list(range(len(CASES)))


def test_a_worker_that_dies_once_costs_its_part_a_second_try(tmp_path: Path) -> None:
    crew = Crew(2, lambda operator, indices: 2 in indices and crew.deaths == 0)
    plan, record = run(options(tmp_path), crew)
    assert crew.deaths == 1
    assert statuses(record) == plan.statuses == dict.fromkeys(CASES, PASS)
    assert len((tmp_path / "parts" / "1-ran-cluster.jsonl").read_text(encoding="utf-8").splitlines()) == len(CASES)


def test_a_case_that_kills_worker_after_worker_is_an_error_and_no_other_is(tmp_path: Path) -> None:
    crew = Crew(2, lambda operator, indices: 2 in indices)
    plan, record = run(options(tmp_path), crew)
    assert statuses(record) == plan.statuses == {case: ERROR if case == FATAL else PASS for case in CASES}
    (died,) = (result for result in record.results if result.status == ERROR)
    assert died.message == "the worker that ran it died, and so did another"
    assert died.repro


def test_what_waits_behind_a_deadly_case_is_not_blamed(tmp_path: Path) -> None:
    """Two parts lie at a worker; each that is tried again gets one for itself."""
    crew = Crew(1, lambda operator, indices: 2 in indices)
    run(options(tmp_path), crew)
    assert crew.lost == [1, 0, 0]


def test_workers_that_die_of_making_cases_end_the_run(tmp_path: Path) -> None:
    crew = Crew(1, lambda operator, indices: not indices)
    with pytest.raises(BackendUnavailable, match="died while they made the cases of ELEMENT_WISE_BIT_OR"):
        run(options(tmp_path), crew)
    assert crew.deaths == 2


def test_a_result_of_another_case_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shifted(given: part.Run, operator: str, state: dict[str, bytes], indices: tuple[int, ...]) -> part.Found:
        found = part.run_part(given, operator, state, indices)
        return replace(found, results=tuple((5 - index, result, cause) for index, result, cause in found.results))

    monkeypatch.setattr("dmlcts.conformance.runner.workers.cluster.pool.run_part", shifted)
    with pytest.raises(RuntimeError, match="which is another there"):
        run(options(tmp_path), Crew(1))


def test_waivers_and_requirements_are_judged_where_the_run_was_started(tmp_path: Path) -> None:
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(
        f"waivers:\n  - cases: {CASES[0]}\n    reason: made up\n    issue: https://example.com/1\n    expires: 2999-01-01\n",
        encoding="utf-8",
    )
    given = options(tmp_path / "out", waivers=(str(waivers),))
    (tmp_path / "out").mkdir()
    plan, record = run(given, Crew(2))
    assert plan.statuses[CASES[0]] == "unexpected_pass"
    assert statuses(record) == plan.statuses


def test_after_maxfail_no_more_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReferenceBackend, "run", lambda self, dispatch: None)  # nothing is written: every case fails
    plan, record = run(options(tmp_path, maxfail=2), Crew(2))
    assert sorted(statuses(record).values()) == ["fail", "fail", "not_run", "not_run", "not_run", "not_run"]
    assert plan.is_stopped


def test_a_worker_that_is_not_like_this_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(likeness_here("reference"), suite="0.0.9 with other files")
    monkeypatch.setattr(part, "likeness_here", lambda backend="": other)
    with pytest.raises(UsageError, match=r"not like this machine: its directml-conformance is 0\.0\.9 with other files"):
        run(options(tmp_path), Crew(1))


def test_an_idle_worker_closes_its_backend_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "_IDLE", 0.0)
    given = options(tmp_path)
    session = Session(given, open_backend("reference"))
    work = part.Run("idle", given.to_json(), (), session.info, likeness_here("reference"))
    part.list_part(work, "ELEMENT_WISE_BIT_OR", {})
    for opened in part._idle.get("idle", []):
        with suppress(AttributeError):
            opened.timer.join(10)  # type: ignore[union-attr]
    assert part._idle.get("idle", []) == []
    ((last, problem),) = part.end_run("idle")
    assert (last, problem) == (None, "")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://lab:8786"])
def test_addresses_that_are_safe(address: str) -> None:
    assert Cluster(address).resource == "adapter"


@pytest.mark.parametrize(
    "address",
    ["tcp://10.0.0.5:8786", "tcp://lab:8786", "tcp://127.0.0.1.example.com:1", "lab:8786", "ws://lab:1", "tcp://", "inproc://1:2"],
)
def test_addresses_that_are_not(address: str) -> None:
    with pytest.raises(UsageError, match="--cluster"):
        Cluster(address)
