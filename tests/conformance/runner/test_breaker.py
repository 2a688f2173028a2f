"""When a run stops by itself: after how many cases in a row that lose the host, what does not count, the messages, and what is kept."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from commands import dmlcts

from dmlcts.conformance.backends.backend import CRASHED, GARBLED, HUNG, NOT_STARTED, SLOW, BackendFault
from dmlcts.conformance.backends.process import process
from dmlcts.conformance.execution.outcome import fault_evidence
from dmlcts.conformance.runner.planning import breaker
from dmlcts.conformance.runner.planning.breaker import ANSWERED, OPERATORS, PASSED, SILENT, Breaker, Ending, ending_of, reason
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.record.record import Record, read_record
from tests.support.records import negative, result

HOST = Path(__file__).parents[2] / "hosts" / "ill.py"
CRASH, HANG, START = Ending(CRASHED, "at a"), Ending(HUNG, "at b"), Ending(NOT_STARTED, "no device")
PASS, ANSWER, NOTHING = Ending(PASSED), Ending(ANSWERED), Ending(SILENT)
OPERATOR = "GEMM"


def after(*endings: Ending, operator: str = OPERATOR) -> Breaker:
    """What is stopped after these cases of an operator in one process."""
    found = Breaker()
    for ending in endings:
        found.on_ending(0, operator, ending)
    return found


@pytest.mark.parametrize(
    ("endings", "why"),
    [
        ([CRASH] * 19, ""),
        ([CRASH] * 20, "20 cases in a row crashed (at a)"),
        ([HANG] * 4, ""),
        ([HANG] * 5, "5 cases in a row hung (at b)"),
        ([HANG] * 4 + [CRASH] * 4, "8 cases in a row hung (4 of them: at b)"),
        ([Ending(GARBLED, "no frame")] * 20, "20 cases in a row got no valid answer (no frame)"),
        (
            [Ending(CRASHED, str(index)) for index in range(19)] + [Ending(CRASHED, "7")],
            "20 cases in a row crashed (2 of them: 7)",
        ),
    ],
)
def test_what_loses_the_host_again_and_again_stops_the_operator(endings: list[Ending], why: str) -> None:
    assert reason(endings) == why
    assert (after(*endings).operators, after(*endings).run) == ({OPERATOR: why} if why else {}, "")


@pytest.mark.parametrize("between", [PASS, ANSWER])
def test_an_answer_shows_that_the_host_lives(between: Ending) -> None:
    """Also a wrong one, a rejection, or that it does not support the case."""
    assert after(*([CRASH] * 19 + [between]) * 5).operators == {}


def test_what_is_waived_or_excluded_counts_neither_way() -> None:
    assert after(*[NOTHING] * 1000).operators == {}
    assert after(*[CRASH, NOTHING] * 19).operators == {}
    assert after(*[CRASH, NOTHING] * 20).operators == {OPERATOR: "20 cases in a row crashed (at a)"}


def test_each_process_counts_for_itself() -> None:
    """Beside a host that is well, one that is ill turns no more than its own cases into errors."""
    found = Breaker()
    for _ in range(19):
        found.on_ending(0, OPERATOR, CRASH)
        found.on_ending(1, OPERATOR, PASS)
        found.on_ending(2, OPERATOR, CRASH)
    assert found.operators == {}
    found.on_ending(2, OPERATOR, CRASH)
    assert found.operators


def test_a_host_that_cannot_be_started_again_stops_the_run() -> None:
    assert after(CRASH, *[START] * 4) == replace(after(), _rows={0: [CRASH, *[START] * 4]})
    assert after(CRASH, *[START] * 5).run == "5 cases in a row found no host (no device)"
    assert after(*[START] * 4, ANSWER, *[START] * 4).run == ""
    assert after(*[HANG, START] * 10).run == ""  # it can be started, for a while


def test_operators_that_are_stopped_in_a_row_stop_the_run() -> None:
    def run_of(*parts: tuple[str, Ending]) -> Breaker:
        found = Breaker()
        for operator, ending in parts:
            for _ in range(20 if ending == CRASH else 1):
                found.on_ending(0, operator, ending)
        return found

    crashing = [(f"OPERATOR_{index}", CRASH) for index in range(OPERATORS)]
    assert run_of(*crashing[:-1]).run == ""
    assert run_of(*crashing).run == "5 operators in a row were stopped, the last one after 20 cases in a row crashed (at a)"
    assert run_of(*crashing[:-1], ("ABS", PASS), crashing[-1]).run == ""
    # That an invalid desc is rejected shows that the host lives, and not that it can do anything.
    assert run_of(*crashing[:-1], ("ABS", ANSWER), crashing[-1]).run
    assert len(run_of(*crashing[:1] * 9).operators) == 1
    assert run_of(*crashing[:1] * 9).run == ""  # several processes at one operator


def test_slow_cases_in_a_row_stop_an_operator_and_are_called_slow() -> None:
    slow = Ending(SLOW, "slow: no answer within 120 s")
    assert reason([slow] * 4) == ""
    assert reason([slow] * 5) == "5 cases in a row were slow (slow: no answer within 120 s)"


def test_how_a_case_ended_is_in_its_result() -> None:
    fault = BackendFault(
        "the output ended before a frame; the host ended with exit code 3", "exit: 3\nstandard error:\nno memory", CRASHED
    )
    lost = {"status": "error", "message": str(fault), "evidence": fault_evidence(fault)}
    assert ending_of(result(**lost)) == (CRASHED, str(fault))  # type: ignore[arg-type]
    rejected = replace(result(**lost), message=f"must be rejected (constraint/(a)), but: {fault}")  # type: ignore[arg-type]
    assert ending_of(rejected) == (CRASHED, str(fault))
    for printed, text in (
        (
            "wine: Call from 6FFF to unimplemented function Cabinet.dll.40, aborting\ncrashed with 0x80000100",
            "unimplemented function Cabinet.dll.40",
        ),
        (
            "noise\ncrashed with 0xC0000005 at a.dll+0x1, during CreateOperator\n",
            "crashed with 0xC0000005 at a.dll+0x1, during CreateOperator",
        ),
        ("a request takes long; the host is at CompileOperator", "the host is at CompileOperator"),
    ):
        fault = BackendFault("ended", f"exit: 3\nstandard error, its last 4096 bytes at most:\n{printed}", HUNG)
        assert ending_of(result("error", message="ended", evidence=fault_evidence(fault))) == (HUNG, text)
    assert ending_of(result("waived", evidence={"host": CRASHED})) == NOTHING
    assert ending_of(result("unsupported", undeclared="operator")) == NOTHING
    assert ending_of(result("unsupported")) == ANSWER
    assert ending_of(result("error", evidence=fault_evidence(BackendFault("the device was removed")))) == ANSWER
    assert ending_of(result("fail")) == ANSWER
    assert ending_of(result("pass")) == PASS
    assert ending_of(negative("pass")) == ANSWER


# In a run

CHOSEN = ("BIT_AND", "BIT_OR", "BIT_XOR", "BIT_NOT", "BIT_COUNT", "LOGICAL_OR")
MISSING = "3 cases in a row crashed (unimplemented function Cabinet.dll.40)"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "LIMIT", 3)
    monkeypatch.setattr(breaker, "OPERATORS", 2)


def command(out: Path, *arguments: object) -> tuple[object, ...]:
    return ("run", "--level", "smoke", *CHOSEN[:4], "-k", "not property", "--out", out, "--backend", *arguments)


def ill(*arguments: object) -> str:
    return f"process:{shlex.join([sys.executable, '-S', '-E', str(HOST), *map(str, arguments)])}"


def ran(record: Record) -> dict[str, int]:
    """How many cases of each operator ran."""
    found: dict[str, int] = {}
    for each in record.results:
        found[each.operator] = found.get(each.operator, 0) + (each.status != "not_run")
    return found


def test_what_was_on_its_way_when_an_operator_was_stopped_counts_for_no_other() -> None:
    stops = Breaker()
    for _ in range(breaker.LIMIT + 1):
        stops.on_ending(0, "A", Ending(CRASHED, "x"))
    for _ in range(breaker.LIMIT - 1):
        stops.on_ending(0, "B", Ending(CRASHED, "x"))
    assert list(stops.operators) == ["A"]
    stops.on_ending(0, "B", Ending(CRASHED, "x"))
    assert list(stops.operators) == ["A", "B"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("processes", [0, 1])
def test_a_host_that_always_crashes_stops_the_run_which_says_why(
    processes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dmlcts(*command(tmp_path, ill("crashes"), "-n", processes)) == 1
    record = read_record(tmp_path / "results.jsonl")
    why = f"2 operators in a row were stopped, the last one after {MISSING}"
    assert record.manifest.stopped == why
    assert record.manifest.stopped_operators == {f"ELEMENT_WISE_{name}": MISSING for name in CHOSEN[:2]}
    assert not record.manifest.interrupted
    first, second, *others = ran(record).values()
    assert first in (3, 3 + processes)  # a worker may be at another case when it hears of it
    assert second in (3, 3 + processes)
    assert others == [0, 0]
    assert record.manifest.unlisted == []
    left = [each for each in record.results if each.status == "not_run"]
    assert {each.message for each in left} == {f"not run: {MISSING}", f"not run: {why}"}
    sentence = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))["sentence"]
    assert f"; it was stopped after {why}; smoke makes no claim" in sentence
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        f"The run is incomplete: {len(left)} of {len(record.results)} cases were not run, since it was stopped after {why}."
        in printed
    )
    for file in (
        "summary.md",
        "index.html",
        "junit/ELEMENT_WISE_BIT_AND.xml",
        "junit/ELEMENT_WISE_BIT_NOT.xml",
        "ctrf/ELEMENT_WISE_BIT_NOT.json",
    ):
        assert why in (tmp_path / file).read_text(encoding="utf-8"), file


@pytest.mark.usefixtures("soon")
def test_keep_going_runs_all(tmp_path: Path) -> None:
    assert dmlcts(*command(tmp_path, ill("crashes"), "-q", "--keep-going")) == 1
    record = read_record(tmp_path / "results.jsonl")
    assert record.counts()["error"] == len(record.results)
    assert (record.manifest.stopped, record.manifest.stopped_operators) == ("", {})


@pytest.mark.usefixtures("soon")
def test_a_run_that_stopped_is_resumed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    given = command(tmp_path / "out", ill("recovers", marker), "-q")
    assert dmlcts(*given) == 1
    before = read_record(tmp_path / "out" / "results.jsonl")
    assert before.manifest.stopped
    assert dmlcts(*given, "--resume", "--maxfail", 99) == 1  # stops again, two operators later
    again = read_record(tmp_path / "out" / "results.jsonl")
    assert again.counts()["error"] == 2 * before.counts()["error"]
    marker.touch()
    assert dmlcts(*given, "--resume", "--keep-going") == 1  # what crashed has crashed
    after = read_record(tmp_path / "out" / "results.jsonl")
    assert (after.manifest.stopped, after.manifest.stopped_operators, after.counts()["not_run"]) == ("", {}, 0)
    assert after.counts()["error"] == again.counts()["error"]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("processes", [0, 1])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hangs-at-start", "the host could not be started again: describe: no answer within [0-9.]+ s; the host was killed"),
        ("changes", "the host could not be started again: it does not describe itself as before: its version was '1' and is '2'"),
    ],
)
def test_a_host_that_does_not_start_again_stops_the_run(
    name: str, why: str, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start that fails takes no longer than --timeout allows, or than the first start took several times."""
    monkeypatch.setattr(process, "LEAST_START", 0.1)  # of this process alone
    monkeypatch.setattr(process, "SLOWER_START", 0.0)
    began = time.monotonic()
    backend = ill(name, tmp_path / "marker")
    assert dmlcts(*command(tmp_path / "out", backend, "-q", "--timeout", "0.3", "-n", processes)) == 1
    assert time.monotonic() - began < 60
    record = read_record(tmp_path / "out" / "results.jsonl")
    assert re.fullmatch(rf"1 cases in a row found no host \({why}\)", record.manifest.stopped)
    assert processes or name == "changes" or "0.3 s" in record.manifest.stopped
    assert list(ran(record).values()) == [2, 0, 0, 0]


@pytest.mark.usefixtures("soon")
def test_hangs_stop_an_operator(tmp_path: Path) -> None:
    assert dmlcts(*command(tmp_path, ill("hangs"), "-q", "--timeout", "0.2")) == 1
    record = read_record(tmp_path / "results.jsonl")
    assert list(ran(record).values()) == [1, 1, 0, 0]
    assert "1 cases in a row hung (no answer within 0.2 s; the host was killed)" in record.manifest.stopped


@pytest.mark.usefixtures("soon", "hosts_at_hand")
def test_deaths_of_processes_count_and_known_ones_do_not(tmp_path: Path) -> None:
    name = "ELEMENT_WISE_BIT_OR"
    cases = [case.id for case in operator_cases(name, "full") if case.id.startswith(f"{name}/UINT8/4d")][:5]
    given = ("run", "-q", *(word for case in cases for word in ("--case", case)), "--backend", "inprocess:unruly:Dies", "-n", 1)
    assert dmlcts(*given, "--out", tmp_path / "a") == 1
    first = read_record(tmp_path / "a" / "results.jsonl")
    assert first.manifest.stopped_operators == {name: "3 cases in a row crashed (the process that ran it died)"}
    assert (first.manifest.stopped, first.counts()["error"], first.counts()["not_run"]) == ("", 3, 2)
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(
        'waivers: [{cases: "*", reason: known, issue: "1", message: "the process that ran it died"}]', encoding="utf-8"
    )
    assert dmlcts(*given, "--waivers", waivers, "--out", tmp_path / "b") == 1  # nothing passed
    second = read_record(tmp_path / "b" / "results.jsonl")
    assert (second.counts()["waived"], second.manifest.stopped_operators) == (5, {})


@pytest.mark.usefixtures("soon", "hosts_at_hand")
def test_two_processes_at_one_operator_leave_it_together(tmp_path: Path) -> None:
    """One of them learns from the other's cases, and hands back what it had not begun."""
    given = (
        "run",
        "-q",
        "BIT_XOR",
        "BIT_AND",
        "--level",
        "core",
        "-k",
        "not property and not negative",
        "--backend",
        ill("crashes"),
    )
    assert dmlcts(*given, "-n", 2, "--out", tmp_path) == 1
    record = read_record(tmp_path / "results.jsonl")
    assert len(record.manifest.stopped_operators) == 2
    assert 6 <= record.counts()["error"] <= 12
    assert record.counts()["not_run"] == len(record.results) - record.counts()["error"]
