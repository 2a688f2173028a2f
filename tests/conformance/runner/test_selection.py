"""Which cases a run selects: by operator, by what failed before, by what an interrupted run has left."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest
from commands import dmlcts

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.manifest import manifest_of
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import operators_named, selected_cases, selection_of
from dmlcts.conformance.runner.workers.pool import Pool, _Process
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import not_run
from dmlcts.generator.suite import suite
from dmlcts.reports.record.record import Record, read_record, write_record
from dmlcts.spec.reading.loader import operator_names

pytestmark = pytest.mark.usefixtures("hosts_at_hand")

HOSTS = Path(__file__).parents[2] / "hosts"
OR = "ELEMENT_WISE_BIT_OR"
CASE = f"{OR}/UINT8/4d"
WRONG = ("run", "-q", "--level", "smoke", "--backend", "python:unruly:Wrong")


def statuses(folder: Path) -> dict[str, str]:
    return {result.case: result.status for result in read_record(folder / "results.jsonl").results}


# By operator

NAMED = {
    "ADD": ["ELEMENT_WISE_ADD"],
    "add1": ["ELEMENT_WISE_ADD1"],
    "DML_OPERATOR_ELEMENT_WISE_ADD": ["ELEMENT_WISE_ADD"],
    "GEMM": ["GEMM"],
    "ADD*": ["ELEMENT_WISE_ADD", "ELEMENT_WISE_ADD1"],
    "*_BIT_?R": ["ELEMENT_WISE_BIT_OR"],
    "activation_identity": ["ACTIVATION_IDENTITY"],
}


@pytest.mark.parametrize("pattern", NAMED)
def test_a_pattern_names_operators_exactly(pattern: str) -> None:
    assert list(operators_named([pattern])) == NAMED[pattern]


def test_patterns_add_up_in_the_order_of_the_suite() -> None:
    assert operators_named(["GEMM", "ADD", "add"]) == ("ELEMENT_WISE_ADD", "GEMM")
    assert operators_named([]) == operator_names()
    with pytest.raises(UsageError, match="'IDENTITY' may be ELEMENT_WISE_IDENTITY or ACTIVATION_IDENTITY; give the whole name"):
        operators_named(["IDENTITY"])


def test_operators_select_by_word_and_by_option(tmp_path: Path) -> None:
    assert dmlcts("run", "-q", "--level", "smoke", "BIT_OR", "--operator", "BIT_X*", "-k", "not property", "-o", tmp_path) == 0
    record = read_record(tmp_path / "results.jsonl")
    assert {result.operator for result in record.results} == {OR, "ELEMENT_WISE_BIT_XOR"}
    assert not any("property" in result.case for result in record.results)
    assert record.manifest.selection == "BIT_OR, BIT_X*: not property"


def test_nothing_is_made_of_operators_that_are_not_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("dmlcts.conformance.runner.planning.selection.operator_cases", lambda name, level: made.append(name) or ())
    for options in (RunOptions(operators=("BIT_OR",)), RunOptions(expression=CASE), RunOptions(expression="bit_or and not uint8")):
        selected_cases(options)
        assert set(made) == {OR}
    for nothing in ("uint88", "BIT_OR and float15", "nosuchword"):
        with pytest.raises(UsageError, match="no case matches"):
            selection_of(RunOptions(expression=nothing, level="full"))
    with pytest.raises(UsageError, match=r"'bitt_or' is in no operator's name \(similar names: ELEMENT_WISE_BIT_OR"):
        selection_of(RunOptions(expression="BITT_OR", level="full"))
    assert set(made) == {OR}


def test_the_first_case_runs_before_the_cases_of_the_second_operator_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    make, run = suite.make_cases, Session.run
    suite.operator_cases.cache_clear()
    monkeypatch.setattr("dmlcts.generator.case.case_cache.shared", "")
    monkeypatch.setattr(suite, "make_cases", lambda operator, most: (events.append(operator.name), make(operator, most))[1])
    monkeypatch.setattr(Session, "run", lambda self, case: (events.append("ran"), run(self, case))[1])
    assert dmlcts("run", "-q", "BIT_OR", "BIT_XOR", "--level", "smoke", "-o", tmp_path) == 0
    assert events.index("ran") < events.index("ELEMENT_WISE_BIT_XOR")


# A limit of failures


@pytest.mark.parametrize("processes", [0, 2])
def test_after_enough_failures_the_rest_is_not_run(processes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("-k", "BIT_OR and (UINT8 or INT8) or BIT_XOR/UINT8", "--maxfail", 1, "-n", processes, "-o", tmp_path)
    assert dmlcts(*WRONG, *options) == 1
    record = read_record(tmp_path / "results.jsonl")
    assert {result.operator for result in record.results} == {OR, "ELEMENT_WISE_BIT_XOR"}  # all are in the record
    counts = record.counts()
    assert counts["fail"] == 1
    assert counts["not_run"] > 0
    assert (record.manifest.interrupted, record.manifest.unlisted) == (False, [])
    printed = capsys.readouterr().out
    assert "The run is incomplete" in printed
    assert "no claim" in printed.lower()


# What failed


def test_what_failed_runs_again_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dmlcts(*WRONG, "--seed", "3", "BIT_OR", "-k", "4d and not x", "-o", "first") == 1
    first = read_record(Path("first/results.jsonl"))
    assert [result.case for result in first.results if result.status == "fail"] == [CASE]
    assert dmlcts("run", "-q", "--rerun-failed", "first") == 1  # on the same backend
    again = read_record(Path("results-case/results.jsonl"))
    assert [(result.case, result.status) for result in again.results] == [(CASE, "fail")]
    assert (again.manifest.backend_spec, again.manifest.level, again.manifest.seed) == ("python:unruly:Wrong", "smoke", "3")
    assert dmlcts("run", "-q", "--rerun-failed", "first", "--backend", "reference", "-o", "fixed") == 0
    assert statuses(Path("fixed")) == {CASE: "pass"}

    gone = replace(first.results[0], case=f"{OR}/UINT8/gone", status="error")
    older = replace(first.manifest, selected=first.manifest.selected + 1)
    write_record(Record(older, (*first.results, gone)), Path("older.jsonl"))
    capsys.readouterr()
    assert dmlcts("report", "first", "-o", "report") == 1  # as the run did
    assert dmlcts("run", "-q", "--rerun-failed", "older.jsonl", "--backend", "reference", "-o", "again") == 1, "all that ran passed"
    assert statuses(Path("again")) == {CASE: "pass"}
    assert f"1 of the 2 cases that failed did not run, since the suite has no such case: {gone.case}" in capsys.readouterr().out
    write_record(Record(first.manifest, (gone,)), Path("stale.jsonl"))
    for given, message in (
        (("fixed",), "no case failed there, so there is nothing to run again"),
        (("stale.jsonl",), f"none of the 1 cases that failed there exists any more, such as {gone.case}"),
        (("first", "-k", "x"), "--rerun-failed selects the cases itself; leave out -k"),
        (("first", "BIT_OR"), "leave out operators"),
    ):
        assert dmlcts("run", "--rerun-failed", *given) == 2
        assert message in capsys.readouterr().err


# Going on

CHOSEN = ("run", "-q", "--level", "smoke", "-k", "BIT_OR or BIT_XOR")


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output folder of a run that Ctrl-C ended after three cases."""
    run, left = Session.run, iter(range(3))

    def stopping(self: Session, case: object) -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return run(self, case)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Session, "run", stopping)
        assert dmlcts(*CHOSEN, "-o", tmp_path / "out") == 130
    return tmp_path / "out"


def ran_when_resumed(out: Path, monkeypatch: pytest.MonkeyPatch, *options: object) -> list[str]:
    ran: list[str] = []
    run = Session.run
    with monkeypatch.context() as patch:
        patch.setattr(Session, "run", lambda self, case: (ran.append(case.id), run(self, case))[1])
        assert dmlcts(*CHOSEN, "-o", out, "--resume", *options) == 0
    return ran


def test_a_stopped_run_goes_on(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [case.id for case in selected_cases(RunOptions(level="smoke", expression=CHOSEN[-1]))]
    begun = read_record(stopped / "results.jsonl").manifest.started
    assert ran_when_resumed(stopped, monkeypatch) == ids[3:]
    record = read_record(stopped / "results.jsonl")
    assert [result.case for result in record.results] == ids
    assert record.counts()["pass"] == len(ids)
    assert (record.manifest.interrupted, record.manifest.started) == (False, begun)
    assert not (stopped / journal.FOLDER).exists()
    assert len(record.manifest.resumed) == 1


def test_a_complete_run_is_not_resumed(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would be green with the date of today, whatever has changed, and nothing would have run."""
    assert dmlcts(*CHOSEN, "-o", stopped, "--resume") == 0
    before = (stopped / "results.jsonl").read_bytes()
    assert dmlcts(*CHOSEN, "-o", stopped, "--resume") == 2
    assert f"the run in {stopped} is complete, so there is nothing to resume" in capsys.readouterr().err
    assert (stopped / "results.jsonl").read_bytes() == before


def test_a_run_that_enough_failures_stopped_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    options = ("run", "-q", "-l", "smoke", "BIT_OR", "-b", "python:unruly:Wrong", "-o", tmp_path)
    assert dmlcts(*options, "--maxfail", 1) == 1
    assert "not_run" in statuses(tmp_path).values()
    assert dmlcts(*options, "--resume") == 1
    assert "not_run" not in statuses(tmp_path).values()


def as_killed(stopped: Path) -> tuple[Path, list[str]]:
    """What the run would have left if it had been killed: the journal alone. And the cases that ran."""
    record = read_record(stopped / "results.jsonl")
    kept = [result for result in record.results if result.status == "pass"]
    parts = journal.begin(stopped, replace(record.manifest, unlisted=[OR, "ELEMENT_WISE_BIT_XOR"]), kept)
    return parts, [result.case for result in kept]


def test_a_killed_run_goes_on_and_loses_nothing_when_killed_again(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, ran = as_killed(stopped)
    assert not (stopped / "results.jsonl").exists()
    before = journal.read_run(stopped)
    assert [result.case for result in before.results] == ran
    journal.begin(stopped, before.manifest, before.results)  # resumed, and killed at once
    assert [result.case for result in journal.read_run(stopped).results] == ran
    assert set(ran).isdisjoint(ran_when_resumed(stopped, monkeypatch))
    assert set(statuses(stopped).values()) == {"pass"}


def test_what_is_damaged_in_the_journal_runs_again(stopped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, ran = as_killed(stopped)
    file = parts / journal.BEFORE
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text(lines[0] + "\0\0\0\n" + lines[2][:40], encoding="utf-8")
    again = ran_when_resumed(stopped, monkeypatch)
    assert ran[0] not in again
    assert set(ran[1:]) <= set(again)
    assert set(statuses(stopped).values()) == {"pass"}


def test_workers_go_on_as_well(stopped: Path) -> None:
    assert dmlcts(*CHOSEN, "-o", stopped, "--resume", "-n", 1) == 0
    assert set(statuses(stopped).values()) == {"pass"}


def test_only_the_same_run_goes_on(stopped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.read_bytes() for file in stopped.rglob("*") if file.is_file()}
    for options, message in (
        (("--seed", "1"), "seed was '' and is '1'"),
        (("--level", "core"), "level was 'smoke' and is 'core'"),
        (("--basis", "measured"), "basis was"),
        (("-k", "BIT_OR"), "selection was"),
        (("--shard", "1/2"), "shard was"),
        (("--backend", "python:unruly:Plain"), "backend_spec was"),
        (("--timeout", "5"), "the waivers, case files, --timeout or the backend's code"),
    ):
        assert dmlcts(*CHOSEN, "-o", stopped, "--resume", *options) == 2
        error = capsys.readouterr().err
        assert "cannot be resumed with other options or versions" in error
        assert message in error
    assert {file: file.read_bytes() for file in stopped.rglob("*") if file.is_file() and file.name != ".dmlcts.lock"} == {
        file: content for file, content in before.items() if file.name != ".dmlcts.lock"
    }
    manifest = json.loads((stopped / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    manifest["manifest"]["spec_version"] = "0123"
    (stopped / "results.jsonl").write_text(json.dumps(manifest) + "\n", encoding="utf-8")
    (stopped / "claim.json").unlink()  # or its hash shows that the results were edited
    assert dmlcts(*CHOSEN, "-o", stopped, "--resume") == 2
    assert "spec_version was '0123'" in capsys.readouterr().err
    assert dmlcts(*CHOSEN, "-o", tmp_path / "none", "--resume") == 2
    assert "nothing to resume" in capsys.readouterr().err


# Processes that die


def test_a_process_that_dies_before_it_ran_anything_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("true") or "true")  # ends with code 0 and without a word
    assert dmlcts("run", "-q", "--level", "smoke", "BIT_OR", "-n", 2, "-o", tmp_path) == 3
    assert "the process ended with exit code 0 while it opened the backend" in capsys.readouterr().err
    assert not (tmp_path / "results.jsonl").exists()


def test_a_process_that_dies_while_it_makes_cases_is_replaced_twice() -> None:
    selection = selection_of(RunOptions(operators=("BIT_OR",)))
    plan = RunPlan(selection.operators, _Nobody())
    with Session(selection.options) as session:
        pool = Pool(selection, 1, session)
    for attempt in range(3):
        gone = subprocess.Popen([sys.executable, "-c", "exit(7)"], stdin=subprocess.PIPE, text=True)
        process = _Process(0, gone, ready=True, listing=True, operator=plan.unlisted.popleft())
        pool.processes.append(process)
        if attempt < 2:
            pool._on_exit(process, plan)
            assert list(plan.unlisted) == [OR]
        else:
            with pytest.raises(BackendUnavailable, match=f"made the cases of {OR} ended with exit code 7, again and again"):
                pool._on_exit(process, plan)


def test_a_process_that_dies_while_it_makes_cases_costs_the_case_that_a_backend_in_it_ran_last(tmp_path: Path) -> None:
    options = RunOptions(backend="inprocess:unruly:Plain", level="smoke", operators=("BIT_OR",), out=str(tmp_path))
    selection = selection_of(options)
    plan = RunPlan([*selection.operators, "ELEMENT_WISE_BIT_XOR"], _Nobody())
    with Session(options, ReferenceBackend()) as session:
        pool = Pool(selection, 1, session)
    parts = journal.begin(tmp_path, manifest_of(replace(options, feature_level="6_4"), session.info, plan.operators))
    journal.write_list(parts, 0, map(not_run, selection.cases(OR)))
    plan.unlisted.clear()
    plan.add(OR, [case.id for case in selection.cases(OR)])
    last = plan.ids[OR][1]
    gone = subprocess.Popen([sys.executable, "-c", "exit(7)"], stdin=subprocess.PIPE, text=True)
    process = _Process(0, gone, ready=True, began=True, operator=OR, indices=deque(plan.take(OR, 2)))
    pool.processes.append(process)
    for _ in range(2):
        pool._on_message(process, ["ran", "pass", False, ["passed", ""]], plan)
    process.listing, process.operator = True, "ELEMENT_WISE_BIT_XOR"
    pool._on_exit(process, plan)
    assert plan.statuses == {plan.ids[OR][0]: "pass", last: "error"}
    (crash,) = (result for result in journal.read_parts(parts).results if result.status == "error")
    assert (crash.case, crash.message) == (last, "after this case, the last one, its process died, with exit code 7")


def test_an_operator_whose_name_has_a_word_of_the_expression_runs_first() -> None:
    """Others, in whose spec the word occurs, may have no case: making theirs first took seconds."""
    chosen = selection_of(RunOptions(expression="ROUND and FLOAT16")).operators
    assert chosen[0] == "ELEMENT_WISE_ROUND"
    assert len(chosen) > 1
    assert [name for name in operators_named(()) if name in chosen[1:]] == list(chosen[1:])


# The plan


class _Nobody:
    def on_cases(self, cases: int, done: int) -> None:
        pass

    def on_result(self, status: str) -> None:
        pass


def test_a_plan_hands_out_each_case_once_and_takes_back_what_did_not_run() -> None:
    plan = RunPlan(["A", "B"], _Nobody(), {"A/2": "pass"}, maxfail=2)
    plan.add("A", ["A/1", "A/2", "A/3", "A/4"])
    assert plan.take("A", 2) == [0, 2]
    plan.give_back("A", [2])
    assert plan.take("A", 50) == [2, 3]
    assert (plan.left, plan.not_listed) == ({}, ("B",))
    plan.give_back("A", [3])
    plan.on_result("A", 0, "fail")
    assert not plan.is_stopped
    plan.on_result("A", 2, "error")
    assert plan.is_stopped
    plan.add("B", ["B/1"])
    assert (plan.left, plan.not_listed) == ({}, ())


def test_what_the_backend_declares_runs_first(tmp_path: Path) -> None:
    plan = RunPlan(["A", "B", "C", "D"], _Nobody())
    plan.begin_with(("D", "B"))
    assert list(plan.unlisted) == ["B", "D", "A", "C"]
    plan.begin_with(())
    assert (list(plan.unlisted), plan.operators) == (["B", "D", "A", "C"], ["A", "B", "C", "D"])


def test_a_partial_host_runs_what_it_declares_before_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its 169 other operators cost a line of the table, and no waiting."""
    host = f"process:{shlex.quote(sys.executable)} {shlex.quote(str(HOSTS.parents[1] / 'docs' / 'example_host.py'))}"
    names = ("ABS", "BIT_AND", "BIT_COUNT", "BIT_NOT", "BIT_OR")
    ran: list[str] = []
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, case: (ran.append(case.operator.name), run(self, case))[1])
    assert dmlcts("run", *names, "--level", "smoke", "--backend", host, "-o", tmp_path, "-q") == 0
    assert list(dict.fromkeys(ran))[:2] == [OR, "ELEMENT_WISE_ABS"]
    firsts = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line]
    assert (OR in firsts, "4" in firsts, "ELEMENT_WISE_BIT_AND" in firsts) == (True, True, False)
    results = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    assert results.index("ELEMENT_WISE_ABS/") < results.index("ELEMENT_WISE_BIT_OR/")  # the record keeps the suite's order


def test_a_run_that_lost_a_case_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the reason: the record of a finished run has each case that was made."""
    monkeypatch.setattr(journal, "write_list", lambda *_: None)
    assert dmlcts("run", "-q", "--level", "smoke", "-k", "BIT_OR", "-o", tmp_path) == 2
    assert f"something changed the journal of this run: it lacks {OR}" in capsys.readouterr().err


def test_the_manifest_names_at_most_a_few_cases() -> None:
    options = RunOptions(cases=tuple(f"A/{number}" for number in range(9)))
    from dmlcts.conformance.backends.backend import BackendInfo

    selection = manifest_of(replace(options, feature_level="6_4"), BackendInfo("b"), ("A",)).selection
    assert selection == "A/0, A/1, A/2, A/3, A/4, 4 more"
