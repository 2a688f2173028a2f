"""A run that is stopped: by Ctrl-C, or without a word. What ran is kept, and nothing is claimed of the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import dmlcts

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.folder.manifest import manifest_of
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import not_run
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import Lines, RecordError, read_record, result_json
from dmlcts.reports.record.verdict import interruption

HOSTS = Path(__file__).parents[2] / "hosts"
AT_HAND = os.pathsep.join(filter(None, (str(HOSTS), os.environ.get("PYTHONPATH"))))
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CHOICE = RunOptions(level="smoke", expression="not property", operators=("ACTIVATION_*",))
"""Each process makes its cases anew, and a run that is stopped has 5 s to list those that were not run."""
LEAST = 5
"""Results that are waited for before a run is stopped. A case takes 50 ms, so that this is long before the end."""


@pytest.fixture(scope="module")
def total() -> int:
    """How many cases a run has."""
    return len(selected_cases(CHOICE))


def begun(out: Path, processes: int) -> subprocess.Popen[str]:
    """A run of slow cases, in a process group of its own, of which some have a result."""
    run = subprocess.Popen(
        [*PROGRAM, "run", "ACTIVATION_*", "--backend", "python:unruly:Slow", "--level", "smoke", "-k", "not property", "-n", str(processes), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": AT_HAND}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        start_new_session=os.name == "posix", creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and run.poll() is None:
        if so_far(out) >= LEAST:
            return run
        time.sleep(0.02)
    run.kill()
    raise AssertionError(f"no results: {run.communicate()}")


def so_far(out: Path) -> int:
    """How many results there are."""
    return sum(file.read_bytes().count(b"\n") for file in (out / journal.FOLDER).glob(ran("*")))


def interrupt(run: subprocess.Popen[str], everyone: bool) -> tuple[str, str]:
    """Ctrl-C, as a terminal sends it to the whole group, or as a program may to the first process alone; returns what was printed."""
    if os.name != "posix":
        run.send_signal(signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined,unused-ignore]
    elif everyone:
        os.killpg(run.pid, signal.SIGINT)
    else:
        run.send_signal(signal.SIGINT)
    return run.communicate(timeout=60)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no Ctrl-C that a test can send: CTRL_BREAK ends Python at once")
@pytest.mark.parametrize(("processes", "everyone"), [(0, True), (2, True), (2, False)])
def test_ctrl_c_keeps_what_ran_and_says_what_did_not(processes: int, everyone: bool, total: int, tmp_path: Path) -> None:
    run = begun(tmp_path, processes)
    before = so_far(tmp_path)
    out, err = interrupt(run, everyone)
    assert (run.returncode, err) == (130, "")

    record = read_record(tmp_path / "results.jsonl")
    counts = record.counts()
    assert len(record.results) == record.manifest.selected == total
    assert before <= counts["pass"] < before + 80  # a process is given many cases at once, and does not run these to the end
    assert counts["not_run"] == total - counts["pass"]
    assert record.manifest.interrupted
    message = f"The run was interrupted: {counts['not_run']:,} of {total:,} cases were not run. Their results are unknown."
    assert message in out
    assert "smoke makes no claim" in out
    assert message in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert message in (tmp_path / "index.html").read_text(encoding="utf-8")
    junit = [ElementTree.parse(file).getroot() for file in (tmp_path / "junit").iterdir()]
    assert sum(len(suite.findall("testsuite/testcase/skipped[@type='not_run']")) for suite in junit) == counts["not_run"]
    files = [json.loads(file.read_text(encoding="utf-8"))["results"]["summary"] for file in (tmp_path / "ctrf").iterdir()]
    ctrf = {name: sum(file[name] for file in files) for name in ("passed", "pending", "failed")}
    assert (ctrf["passed"], ctrf["pending"], ctrf["failed"]) == (counts["pass"], counts["not_run"], 0)
    assert not (tmp_path / journal.FOLDER).exists()


@pytest.mark.parametrize("processes", [0, 1])
def test_of_a_run_that_was_killed_the_reports_can_still_be_written(
    processes: int, total: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begun(tmp_path, processes)
    run.kill()
    run.communicate(timeout=60)
    assert not (tmp_path / "results.jsonl").exists()
    assert dmlcts("report", tmp_path, "--out", tmp_path / "report") == 130
    record = read_record(tmp_path / "report" / "results.jsonl")
    counts = record.counts()
    ids = [case.id for case in selected_cases(CHOICE)]
    assert [result.case for result in record.results] == ids[: len(record.results)]  # of the operators that it had reached
    assert counts["pass"] >= LEAST
    assert counts["pass"] + counts["not_run"] == len(record.results) < total
    assert record.manifest.unlisted
    assert record.manifest.interrupted
    assert (record.manifest.backend_spec, record.manifest.finished) == ("python:unruly:Slow", "")
    printed = capsys.readouterr().out
    assert f"The run was interrupted: {counts['not_run']:,} of {len(record.results):,} cases" in printed
    assert f"cases of {len(record.manifest.unlisted)} operators had not been made" in printed
    assert "cases a second" not in printed  # nobody knows how long it took
    assert dmlcts("run", "-q", "--case", "ELEMENT_WISE_BIT_OR/UINT8/4d", "--out", tmp_path) == 0  # the next run starts anew
    assert not (tmp_path / journal.FOLDER).exists()


@pytest.mark.parametrize(("processes", "results"), [(0, 0), (0, 9), (2, 7)])
def test_a_run_that_was_killed_before_it_knew_the_version_of_its_spec_goes_on(
    processes: int, results: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The version takes a second and comes after the first operator; until then, the hash of the spec's files proves as much."""
    monkeypatch.syspath_prepend(str(HOSTS))
    command = (
        "run",
        "-q",
        "BIT_AND",
        "BIT_OR",
        "--backend",
        "python:unruly:Slow",
        "--level",
        "smoke",
        "-n",
        processes,
        "--out",
        tmp_path,
    )
    run = subprocess.Popen([*PROGRAM, *map(str, command)], env={**os.environ, "PYTHONPATH": AT_HAND}, stdout=subprocess.DEVNULL)
    manifest, until = tmp_path / journal.FOLDER / journal.SELECTED, time.monotonic() + 60
    while time.monotonic() < until and (not manifest.exists() or so_far(tmp_path) < results):
        time.sleep(0.005)
    run.kill()
    run.wait()
    before = journal.read_run(tmp_path)
    assert before.manifest.spec_version or before.manifest.spec_files
    assert before.manifest.spec_files or processes  # with workers, the version is made beside the cases
    ran = {result.case for result in before.results if result.status == "pass"}
    if not before.manifest.spec_version:
        with monkeypatch.context() as patch:
            patch.setattr("dmlcts.conformance.runner.folder.manifest.spec_files", lambda: "another")
            assert dmlcts(*command, "--resume") == 2
            assert "cannot be resumed with other options or versions: the spec files, before the version" in capsys.readouterr().err
    again: list[str] = []
    original = Session.run
    monkeypatch.setattr(Session, "run", lambda self, case: (again.append(case.id), original(self, case))[1])
    assert dmlcts(*command, "--resume") == 0
    record = read_record(tmp_path / "results.jsonl")
    assert {result.status for result in record.results} == {"pass"}
    assert (bool(record.manifest.spec_version), record.manifest.spec_files) == (True, "")
    assert ran.isdisjoint(again)
    assert processes or len(ran) + len(again) == len(record.results)


def test_an_interrupted_shard_makes_an_interrupted_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("run", "-q", "--level", "smoke")
    assert dmlcts(*options, "--shard", "1/2", "--out", tmp_path / "1") == 0
    original, left = Session.run, iter(range(4))

    def run(self: Session, case: object) -> object:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return original(self, case)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "run", run)
    assert dmlcts(*options, "--shard", "2/2", "--out", tmp_path / "2") == 130
    assert Counter(result.status for result in read_record(tmp_path / "2" / "results.jsonl").results)["pass"] == 4
    assert dmlcts("merge", tmp_path / "1", tmp_path / "2", "--out", tmp_path / "whole.jsonl") == 130
    assert read_record(tmp_path / "whole.jsonl").manifest.interrupted


# The folder of parts

FIRST = RunOptions(level="smoke", operators=("ELEMENT_WISE_IDENTITY",))


def killed(out: Path, *written: tuple[str, str]) -> Path:
    """What a run of two operators leaves that is killed as soon as it has listed two cases of the first, and has written these files."""
    cases = selected_cases(FIRST)[:2]
    operators = (*FIRST.operators, "ELEMENT_WISE_ABS")
    folder = journal.begin(out, manifest_of(RunOptions(level="smoke", feature_level="6_4"), BackendInfo("b"), operators))
    journal.write_list(folder, 0, map(not_run, cases))
    for name, text in written:
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def ran(process: str) -> str:
    return journal.RAN.format(process=process)


def line(case: int, status: str) -> str:
    result = replace(not_run(selected_cases(FIRST)[case]), status=status)
    return json.dumps({"result": result_json(result)}) + "\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ((), ["not_run", "not_run"]),
        (((ran("main"), line(1, "pass")),), ["not_run", "pass"]),
        # A process died, and had written a pass for its case: the code under test may have done so, and the case is an error.
        (((journal.CRASHED, line(0, "error")), (ran("gw0"), line(0, "pass"))), ["error", "not_run"]),
        # Killed while it wrote a line: what stands before counts.
        (((ran("gw0"), line(0, "pass") + line(1, "pass")[:40]),), ["pass", "not_run"]),
        # A damaged file counts as far as it can be read, and harms no other.
        (((ran("gw0"), line(0, "pass") + "\0\0\0\n" + line(1, "pass")),), ["pass", "not_run"]),
        (((ran("gw0"), '{"result": {}}\n'), (ran("gw1"), line(1, "fail"))), ["not_run", "fail"]),
    ],
)
def test_the_parts_are_a_record_at_any_time(written: tuple[tuple[str, str], ...], expected: list[str], tmp_path: Path) -> None:
    killed(tmp_path, *written)
    record = journal.read_run(tmp_path)
    assert [result.status for result in record.results] == expected
    assert record.manifest.interrupted
    assert record.manifest.unlisted == ["ELEMENT_WISE_ABS"]
    assert "cases of 1 operator had not been made" in interruption(record)


def test_parts_without_a_manifest_are_no_record(tmp_path: Path) -> None:
    (killed(tmp_path) / journal.SELECTED).unlink()
    with pytest.raises(RecordError, match="has no manifest: the run was killed before it began"):
        journal.read_run(tmp_path)
    with pytest.raises(RecordError, match=r"neither results\.jsonl nor a folder parts"):
        journal.read_run(tmp_path / journal.FOLDER)


def test_a_run_that_goes_on_keeps_the_code_paths_of_what_ran(tmp_path: Path) -> None:
    folder = killed(tmp_path)
    first, second = (replace(not_run(case), status="pass") for case in selected_cases(FIRST)[:2])
    one, other = (
        replace(result, paths=(CodePath("gemm", (1,)), CodePath(label))) for result, label in ((first, "a"), (second, "b"))
    )
    with (folder / ran("gw0")).open("w", encoding="utf-8") as stream:
        Lines(stream).result(one)
    before = journal.read_run(tmp_path)
    folder = journal.begin(tmp_path, before.manifest, [each for each in before.results if each.status == "pass"])
    journal.write_list(folder, 0, map(not_run, selected_cases(FIRST)[:2]))
    with (folder / ran("gw1")).open("w", encoding="utf-8") as stream:
        Lines(stream).result(other)
    assert [each.paths for each in journal.read_run(tmp_path).results] == [one.paths, other.paths]
