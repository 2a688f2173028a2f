"""``dmlcts fuzz``: the same cases by the same seed, failures made simpler and kept, an orderly end, and no claim."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import dmlcts
from rich.console import Console

from dmlcts.conformance.execution.execute import outcome_of
from dmlcts.conformance.faults.catalogue import find_mutant
from dmlcts.conformance.faults.model.mutant import MutantBackend
from dmlcts.conformance.properties.drawn import SIMPLER
from dmlcts.conformance.runner.exit_code import exit_code
from dmlcts.conformance.runner.explaining.explain import explain
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.run import run
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.workers import search
from dmlcts.conformance.runner.workers.search import BATCH, SearchPlan
from dmlcts.generator.case.case_file import read_case_file
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.explain.explanation import UNKNOWN
from dmlcts.reports.record.record import ERROR, FAIL, PASS, SEARCH, UNSUPPORTED, Record, read_record, write_record

HOSTS = Path(__file__).parents[2] / "hosts"
AT_HAND = os.pathsep.join(filter(None, (str(HOSTS), os.environ.get("PYTHONPATH"))))
OR, ADD = "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ADD"
CASES = 3 * BATCH - 5
FAULT = f"{ADD}/if-1-0"
"""Strides of the output are ignored where a size and a number are large."""


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search ends in its third batch, after so many cases, however long they take."""

    def end(self: SearchPlan) -> None:
        if len(self.statuses) + self.further.total() >= CASES:
            self.until = -1.0
        in_time(self)

    in_time = SearchPlan._end_in_time
    monkeypatch.setattr(SearchPlan, "_end_in_time", end)
    monkeypatch.syspath_prepend(str(HOSTS))


def searched(out: Path, *operators: str, processes: int = 0, seed: str = "1", backend: str = "reference") -> Record:
    options = RunOptions(backend, SEARCH, operators=operators, seed=seed, out=str(out))
    return run(options, processes, Progress(Console(quiet=True), quiet=True, endless=True))


@pytest.mark.usefixtures("limit")
def test_a_seed_decides_which_cases_run(tmp_path: Path) -> None:
    record = searched(tmp_path, OR, ADD)
    ids = [result.case for result in record.results]
    assert len(ids) == len(set(ids)) == record.manifest.selected == CASES
    assert [result.operator for result in record.results[::BATCH]] == [ADD, OR, ADD]  # in turn
    again = searched(tmp_path, OR, ADD, processes=1)
    assert [result.case for result in again.results][: 2 * BATCH] == ids[: 2 * BATCH]
    other = searched(tmp_path, OR, ADD, seed="2")
    assert not {result.case for result in other.results} & set(ids)


@pytest.mark.usefixtures("limit")
def test_a_search_claims_nothing(tmp_path: Path) -> None:
    record = searched(tmp_path, OR)
    claim = claim_of(record)
    assert (claim.claim, [statement.holds for statement in claim.statements], exit_code(record)) == ("", [None], 0)
    assert claim.sentence.endswith(
        f"feature level 6.4: random search, seed 1: 55 of 55 cases pass, within the cases that '{OR}' selects; fuzz makes no claim."
    )
    assert not record.manifest.interrupted
    assert record.manifest.finished


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a search in a backend with a fault under conditions."""
    folder = tmp_path_factory.mktemp("fault")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "MOST_CAUSES", 2)
        backend = f"python:dmlcts.conformance.faults:{FAULT}"
        assert dmlcts("fuzz", "ADD", "--seed", 1, "--backend", backend, "--out", folder, "--quiet") == 1
    return folder


def test_a_fault_under_conditions_is_found_made_simpler_and_kept(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = read_record(out / "results.jsonl")
    failures = [result for result in record.results if result.status == FAIL]
    assert len(failures) >= 2  # the batch in which the second one is goes to its end
    assert claim_of(record).claim == ""
    fault = MutantBackend(find_mutant(FAULT))
    for result in failures:
        file = next((out / journal.EXAMPLES).glob(f"*{result.case.split('/')[4]}.json"))
        case = read_case_file(file)
        assert case.kind == SIMPLER
        assert "(made simpler from a case with" in result.message
        assert find_case(result.case).id == result.case
        assert case.desc.tensor("ATensor").count <= find_case(result.case).desc.tensor("ATensor").count
        assert max(case.desc.tensor("ATensor").sizes) <= 9  # the condition needs 4
        assert outcome_of(case, fault, fault.describe()).status == FAIL
        assert file.as_posix() in result.repro
    capsys.readouterr()
    assert dmlcts("run", "--case-file", file, "--out", out / "again") == 0
    assert dmlcts("run", "--case-file", file, "--out", out / "again", "--backend", record.manifest.backend_spec) == 1
    assert dmlcts("run", "--case", failures[0].case, "--out", out / "again", "--backend", record.manifest.backend_spec) == 1


def test_the_results_of_a_search_read_like_those_of_a_run(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("summary.md", "index.html", "claim.json", "junit", "ctrf"):
        assert (out / name).exists()
    assert "fuzz makes no claim" in (out / "summary.md").read_text(encoding="utf-8")
    assert dmlcts("report", out, "--out", tmp_path) == 1
    assert dmlcts("gate", out, "--baseline", tmp_path) == 1  # the run itself
    assert dmlcts("explain", out) == 0
    found = explain(read_record(out / "results.jsonl"))
    assert found
    assert not [explanation for explanation in found if explanation.group == UNKNOWN]


@pytest.mark.usefixtures("limit")
def test_results_that_say_little_are_only_counted_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_KEPT", 1)
    monkeypatch.setattr(search, "_LEAST_KEPT", 1)
    record = searched(tmp_path, OR)
    assert (len(record.results), record.manifest.further) == (BATCH, {PASS: CASES - BATCH})
    assert f"55 of 55 cases pass, of which {CASES - BATCH} are counted only" in claim_of(record).sentence
    assert len(list((tmp_path / journal.FOLDER).glob("0-listed-*"))) == 1


@pytest.mark.usefixtures("limit")
def test_further_failures_of_a_known_cause_are_counted_and_the_record_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_KEPT", 1)
    monkeypatch.setattr(search, "_LEAST_KEPT", 1)
    record = searched(tmp_path, OR, backend=f"python:dmlcts.conformance.faults:{OR}/as/ELEMENT_WISE_ADD")
    assert record.manifest.further[FAIL] > 0
    write_record(record, tmp_path / "results.jsonl")
    assert read_record(tmp_path / "results.jsonl") == record
    assert claim_of(record).sentence.count(f"{record.counts()[FAIL] + record.manifest.further[FAIL]} failed") == 1
    assert exit_code(record) == 1


@pytest.mark.usefixtures("limit")
def test_an_operator_that_is_not_supported_is_left_alone(tmp_path: Path) -> None:
    record = searched(tmp_path, OR, ADD, backend="python:unruly:Nothing")
    assert record.counts()[UNSUPPORTED] == len(record.results) == 2 * BATCH
    assert exit_code(record) == 1


@pytest.mark.usefixtures("limit")
def test_a_crash_costs_one_case_which_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_CAUSES", 1)
    record = searched(tmp_path, OR, backend="inprocess:unruly:Dies")
    died = [result for result in record.results if result.status == ERROR]
    assert died
    assert {result.message for result in died} == {"the process that ran it died"}
    cases = [read_case_file(file) for file in (tmp_path / journal.EXAMPLES).iterdir()]
    assert {case.id for case in cases} == {result.case for result in died}


def test_the_journal_of_a_search_is_a_record_at_any_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Record] = []

    def end(self: SearchPlan) -> None:
        if len(self.statuses) == BATCH + 5:
            found.append(journal.read_parts(tmp_path / journal.FOLDER))
            self.unlisted.clear()
            self.left.clear()

    monkeypatch.setattr(SearchPlan, "_end_in_time", end)
    record = searched(tmp_path, OR)
    assert len(record.results) == BATCH + 5
    assert (found[0].counts()[PASS], len(found[0].results)) == (BATCH + 5, 2 * BATCH)
    assert found[0].manifest.interrupted


@pytest.mark.skipif(os.name != "posix", reason="Windows has no Ctrl-C that a test can send: CTRL_BREAK ends Python at once")
def test_ctrl_c_ends_a_search_in_order(tmp_path: Path) -> None:
    program = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
    process = subprocess.Popen(
        [*program, "fuzz", "BIT_OR", "--backend", "python:unruly:Slow", "--seed", "1", "-n", "1", "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": AT_HAND}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and not any(file.stat().st_size for file in (tmp_path / journal.FOLDER).glob("1-ran-*")):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    shown, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    record = read_record(tmp_path / "results.jsonl")
    assert record.counts()[PASS] == len(record.results) > 0
    assert not record.manifest.interrupted
    assert "fuzz makes no claim" in shown
    assert (tmp_path / "index.html").exists()
    assert not (tmp_path / journal.FOLDER).exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--minutes", "0"), "0.0 is not in the range 0<x"),
        (("--minutes", "-1"), "is not in the range"),
        (("--minutes", "nan"), "'nan' is not a number of minutes"),
        (("--minutes", "inf"), "is not in the range"),
        (("--seed", "-1"), "-1 is not in the range"),
        (("--seed", "x"), "'x' is not a valid integer"),
        (("NONE",), "no operator 'NONE'"),
        (("--feature-level", "9_9"), "9_9"),
    ],
)
def test_wrong_options_are_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dmlcts("fuzz", *arguments, "--out", tmp_path / "out") == 2
    assert message in capsys.readouterr().err


def test_minutes_end_a_search(tmp_path: Path) -> None:
    assert dmlcts("fuzz", "BIT_OR", "--seed", 1, "--minutes", 0.1, "--out", tmp_path, "--quiet") == 0
    record = read_record(tmp_path / "results.jsonl")
    assert record.counts()[PASS] == len(record.results) > 0
    assert record.manifest.seconds < 60


def test_a_search_without_a_seed_draws_one(tmp_path: Path) -> None:
    seeds = set()
    for _ in range(2):
        dmlcts("fuzz", "BIT_OR", "--minutes", 0.001, "--out", tmp_path, "--quiet")
        seeds.add(read_record(tmp_path / "results.jsonl").manifest.seed)
    assert len(seeds) == 2
