"""However a search ends, early or late, its reports are written: by time, by failures, by a signal; after ``kill -9`` from its journal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path

import pytest
from commands import dmlcts
from rich.console import Console

from dmlcts.conformance.runner.exit_code import exit_code
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.complete import complete_record
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.run import run
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.conformance.runner.workers.search import SearchPlan
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.gate.gate import compare
from dmlcts.reports.record.record import FAIL, PASS, SEARCH, Record, RecordError, Result, read_record
from dmlcts.reports.record.verdict import interruption
from dmlcts.reports.runs.merge import merge

HOSTS = Path(__file__).parents[2] / "hosts"
AT_HAND = os.pathsep.join(filter(None, (str(HOSTS), os.environ.get("PYTHONPATH"))))
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
OPERATORS = ("BIT_OR", "BIT_AND", "BIT_XOR")
NAMES = tuple(f"ELEMENT_WISE_{name}" for name in OPERATORS)
REPORTS = ("results.jsonl", "claim.json", "summary.md", "index.html", "junit", "ctrf")
CASES = 5

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no signals that a test can send: CTRL_BREAK ends Python at once")


def searched(out: Path, seed: str = "1") -> Record:
    """A search whose time is over after some cases of the first operator."""
    with pytest.MonkeyPatch.context() as patch:
        in_time = SearchPlan._end_in_time

        def end(self: SearchPlan) -> None:
            self.until = -1.0 if len(self.statuses) >= CASES else self.until
            in_time(self)

        patch.setattr(SearchPlan, "_end_in_time", end)
        options = RunOptions("reference", SEARCH, operators=OPERATORS, seed=seed, out=str(out))
        return run(options, 0, Progress(Console(quiet=True), quiet=True, endless=True))


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return searched(tmp_path_factory.mktemp("early"))


def test_a_search_that_ends_before_it_comes_to_an_operator_names_it(early: Record) -> None:
    (first, *others) = [name for name in (*early.manifest.unlisted, early.results[0].operator) if name in NAMES][::-1]
    assert sorted([first, *others]) == sorted(NAMES)
    assert (len(early.results), {result.operator for result in early.results}) == (CASES, {first})
    assert (exit_code(early), claim_of(early).ok, early.manifest.interrupted) == (0, True, False)
    assert interruption(early) == f"The search ended before it came to 2 operators: {', '.join(early.manifest.unlisted)}."
    assert interruption(early, 1) == f"The search ended before it came to 2 operators: {early.manifest.unlisted[0]} and 1 more."
    older = replace(early, manifest=replace(early.manifest, seed="9"))
    assert "the new run did not finish" not in compare(early, older, (), date(2026, 1, 1)).problems


def test_an_operator_is_lacking_only_where_no_search_came_to_it(early: Record) -> None:
    unlisted = early.manifest.unlisted
    other = replace(early, manifest=replace(early.manifest, seed="2", unlisted=unlisted[:1]), results=())
    assert merge([early, other]).manifest.unlisted == unlisted[:1]
    shards = [
        replace(record, manifest=replace(record.manifest, level="core", seed="", shard=f"{at}/2"))
        for at, record in enumerate((early, other), 1)
    ]
    assert merge(shards).manifest.unlisted == unlisted


def test_an_operator_that_the_journal_lacks_is_an_error_of_the_others(early: Record) -> None:
    class Watcher:
        def on_cases(self, cases: int, done: int) -> None: ...
        def on_result(self, status: str) -> None: ...

    plan = RunPlan(NAMES[:1], Watcher())
    with pytest.raises(RecordError, match="it lacks ELEMENT_WISE"):
        complete_record(replace(early, results=()), plan)


def test_a_failure_that_nobody_reported_any_more_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = Result("ELEMENT_WISE_BIT_OR/x", NAMES[0], "UINT8", "drawn", "documented", "3_0", FAIL, "wrong")
    read = journal.read_parts

    def with_another(parts: Path) -> Record:
        found = read(parts)
        return replace(found, results=(*found.results, late))

    monkeypatch.setattr(journal, "read_parts", with_another)
    record = searched(tmp_path)
    assert late in record.results
    assert exit_code(record) == 1


def test_minutes_may_end_a_search_before_its_second_operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("fuzz", *OPERATORS, "--seed", 1, "--minutes", 0.0001, "--out", tmp_path) == 1  # nothing passed
    shown = " ".join(capsys.readouterr().out.split())
    assert "The search ended before it came to 3 operators" in shown
    assert all((tmp_path / name).exists() for name in REPORTS[:4])  # JUnit and CTRF are by operator
    assert "INCOMPLETE" in (tmp_path / "index.html").read_text(encoding="utf-8")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8").replace("\\", "")  # without the escapes of Markdown
    assert all(name in summary for name in NAMES)
    assert dmlcts("report", tmp_path, "--out", tmp_path / "again") == 1


def test_maxfail_ends_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    assert (
        dmlcts(
            "fuzz",
            *OPERATORS,
            "--seed",
            1,
            "--maxfail",
            1,
            "--backend",
            "python:unruly:WritesToAnInput",
            "--out",
            tmp_path,
            "--quiet",
        )
        == 1
    )
    record = read_record(tmp_path / "results.jsonl")
    assert [result.status for result in record.results].count(FAIL) == 1
    assert len(record.manifest.unlisted) == 2
    assert all((tmp_path / name).exists() for name in REPORTS)


def begun(out: Path, processes: int) -> subprocess.Popen[str]:
    """A search of slow cases, of which some have a result."""
    command = [
        *PROGRAM,
        "fuzz",
        *OPERATORS,
        "--backend",
        "python:unruly:Slow",
        "--seed",
        "1",
        "-n",
        str(processes),
        "--out",
        str(out),
    ]
    search = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": AT_HAND},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    until = time.monotonic() + 120
    while time.monotonic() < until and sum(file.read_bytes().count(b"\n") for file in (out / journal.FOLDER).glob("1-ran-*")) < 3:
        time.sleep(0.02)  # a result that is being written when the signal comes is none
    return search


@posix
@pytest.mark.parametrize(
    ("number", "code", "processes"), [(signal.SIGINT, 0, 0), (signal.SIGTERM, 143, 0), (signal.SIGTERM, 143, 2)]
)
def test_a_signal_ends_a_search_in_order(number: int, code: int, processes: int, tmp_path: Path) -> None:
    search = begun(tmp_path, processes)
    search.send_signal(number)
    shown, errors = search.communicate(timeout=120)
    assert (search.returncode, errors) == (code, "")
    record = read_record(tmp_path / "results.jsonl")
    assert record.counts()[PASS] == len(record.results) > 0
    assert (record.manifest.interrupted, bool(record.manifest.finished)) == (False, True)
    assert set(record.manifest.unlisted) == set(NAMES) - {result.operator for result in record.results}
    assert record.manifest.unlisted
    assert "The search ended before it came to " in shown
    assert all((tmp_path / name).exists() for name in REPORTS)
    assert not (tmp_path / journal.FOLDER).exists()


@posix
def test_of_a_search_that_was_killed_the_reports_can_be_written(tmp_path: Path) -> None:
    search = begun(tmp_path, 0)
    search.kill()
    search.communicate(timeout=120)
    assert dmlcts("report", tmp_path, "--out", tmp_path) == 130
    record = read_record(tmp_path / "results.jsonl")
    assert record.counts()[PASS] > 0
    assert record.manifest.interrupted
    assert record.manifest.unlisted
    assert json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))["ok"] is False
    assert asdict(record.manifest)["level"] == SEARCH
