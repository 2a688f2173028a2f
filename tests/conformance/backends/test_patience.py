"""How long an answer is awaited, with a clock and a processor that the test moves."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from dmlcts.conformance.backends.process import patience
from dmlcts.conformance.backends.process.patience import Patience, processor_time


class Clock:
    """Time and processor time, both in seconds; ``share`` is how much of a second the host's processor works."""

    def __init__(self) -> None:
        self.now, self.used, self.share = 100.0, 7.0, 0.0

    def wait(self, until: float) -> None:
        self.used += self.share * (until - self.now)
        self.now = until


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(patience, "monotonic", lambda: found.now)
    return found


def waits(wait: Patience, clock: Clock, share_at: dict[float, float]) -> list[float]:
    """The seconds after which it looked up. The processor's share changes at some of them."""
    found = []
    for until in wait.deadlines():
        clock.wait(until)
        found.append(round(until - wait.begun, 3))
        clock.share = share_at.get(found[-1], clock.share)
    return found


def test_a_host_whose_processor_rests_has_its_limit_and_no_more(clock: Clock) -> None:
    clock.share = 0.01
    wait = Patience(30.0, lambda: clock.used)
    assert waits(wait, clock, {}) == [20, 30]
    assert not wait.is_slow
    assert wait.silence() == "no answer within 30 s"


def test_a_host_that_works_is_looked_at_every_ten_seconds_up_to_four_times_its_limit(clock: Clock) -> None:
    clock.share = 0.021
    wait = Patience(30.0, lambda: clock.used)
    assert waits(wait, clock, {}) == [20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120]
    assert wait.is_slow
    assert wait.silence() == (
        "slow: no answer within 120 s, 4 times the limit; it still worked, and used 2.1 s of processor time since its limit came near"
    )


@pytest.mark.parametrize("stop", [50.0, 110.0])
def test_work_that_ends_before_the_answer_is_a_hang(stop: float, clock: Clock) -> None:
    clock.share = 1.0
    wait = Patience(30.0, lambda: clock.used)
    assert waits(wait, clock, {stop: 0.0})[-1] == stop + 10
    assert not wait.is_slow
    assert wait.silence().startswith(f"no answer within {stop + 10:g} s, and no sign of work for the last 10 s")


def test_only_what_is_used_after_the_first_look_counts(clock: Clock) -> None:
    clock.share = 1.0
    assert waits(Patience(30.0, lambda: clock.used), clock, {20.0: 0.0}) == [20, 30]


def test_a_tick_of_the_clock_is_no_work(clock: Clock) -> None:
    clock.share = 0.016
    assert waits(Patience(1.0, lambda: clock.used), clock, {}) == [pytest.approx(0.667), pytest.approx(1.0)]


def test_reports_make_the_limit_longer_while_they_come(clock: Clock) -> None:
    wait = Patience(30.0)
    deadlines = wait.deadlines()
    assert next(deadlines) == clock.now + 30
    clock.wait(clock.now + 29)
    wait.on_progress("execution")
    clock.wait(clock.now + 1)
    assert next(deadlines) == clock.now + 9
    clock.wait(clock.now + 9)
    assert next(deadlines, None) is None
    assert wait.silence() == "no answer within 39 s, and no sign of work for the last 10 s; it was at execution"


def test_the_processor_time_of_a_process_has_that_of_its_children() -> None:
    code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        until = time.monotonic() + 20
        while processor_time(process.pid) < 0.5 and time.monotonic() < until:
            time.sleep(0.1)
        assert processor_time(process.pid) >= 0.5
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    import psutil

    for each in (*psutil.Process(process.pid).children(recursive=True), process):
        each.kill()
    process.wait()


def test_a_process_that_is_gone_has_used_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert processor_time(process.pid) == 0
    assert processor_time(os.getpid()) > 0
