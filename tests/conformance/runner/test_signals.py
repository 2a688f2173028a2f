"""Signals end a run as Ctrl-C does, and nothing that it started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.signals import as_interrupt
from dmlcts.reports.record.record import read_record

HOSTS = Path(__file__).parents[2] / "hosts"
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals to send")


def begun(out: Path, backend: str, processes: int) -> subprocess.Popen[str]:
    """A run of slow cases in a session of its own, of which some have run."""
    run = subprocess.Popen(
        [*PROGRAM, "run", "--backend", backend, "--level", "smoke", "-k", "BIT_OR", "-n", str(processes), "--out", str(out)],
        env={**os.environ, "PYTHONPATH": str(HOSTS), "UNRULY_OUT": str(out)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while time.monotonic() < until and run.poll() is None:
        if sum(file.read_bytes().count(b"\n") for file in (out / journal.FOLDER).glob("1-ran-*")) >= 2:
            return run
        time.sleep(0.02)
    run.kill()
    raise AssertionError(f"no results: {run.communicate()}")


def of_session(number: int) -> list[int]:
    """The processes of a session that still run."""
    lines = subprocess.run(["ps", "-eo", "pid,sid,stat"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    rows = [line.split() for line in lines]
    return [int(pid) for pid, sid, state in rows if int(sid) == number and not state.startswith("Z")]


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(("processes", "group"), [(0, False), (2, False), (2, True)])
def test_a_signal_keeps_what_ran(name: str, processes: int, group: bool, tmp_path: Path) -> None:
    run = begun(tmp_path / "out", "python:unruly:Slow", processes)
    number = getattr(signal, name)
    if group:
        os.killpg(run.pid, number)
    else:
        run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (128 + number, "")
    counts = read_record(tmp_path / "out" / "results.jsonl").counts()
    assert counts["pass"] >= 2
    assert counts["not_run"] > 0
    assert counts["pass"] + counts["not_run"] == sum(counts.values())  # no case is blamed
    assert "smoke makes no claim" in out
    assert of_session(run.pid) == []


@posix
@pytest.mark.skipif(sys.platform != "linux", reason="a process that hangs for good ends with its parent on Linux alone")
@pytest.mark.parametrize("processes", [0, 1])
def test_nothing_outlives_a_run_that_was_killed(processes: int, tmp_path: Path) -> None:
    """The backend's process has a session of its own; it is found by what it was started with."""
    run = begun(tmp_path / "out", "python:unruly:Slow", processes)
    children = hosts_below(run.pid)
    assert children
    run.kill()
    run.communicate(timeout=60)
    until = time.monotonic() + 10
    while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in children):
        time.sleep(0.1)
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize("end", [subprocess.Popen.terminate, subprocess.Popen.kill])
def test_no_process_of_a_command_outlives_it(end: Callable[[subprocess.Popen[str]], None]) -> None:
    command = subprocess.Popen(
        [*PROGRAM, "spec", "coverage", "CONVOLUTION", "GEMM", "-n", "2"], stdout=subprocess.DEVNULL, text=True
    )
    until = time.monotonic() + 60
    while len(children := psutil.Process(command.pid).children()) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)  # they have begun to work
    assert len(children) >= 2
    end(command)
    assert command.wait(timeout=60) != 0
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


def hosts_below(parent: int) -> list[int]:
    """The Python hosts that a process started, or one that it started."""
    lines = subprocess.run(["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    rows = [line.split(None, 2) for line in lines]
    parents = {int(pid): int(ppid) for pid, ppid, _ in rows}

    def below(pid: int) -> bool:
        return pid == parent or (pid in parents and below(parents[pid]))

    return [int(pid) for pid, _, arguments in rows if "python_host" in arguments and below(int(pid))]


@posix
def test_a_signal_while_the_backend_closes_keeps_the_reports(tmp_path: Path) -> None:
    run = begun(tmp_path / "out", "python:unruly:HangsWhenClosed", 0)
    closing = tmp_path / "out" / "closing"
    children = hosts_below(run.pid)
    until = time.monotonic() + 60
    while not closing.exists() and run.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    run.send_signal(signal.SIGTERM)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (128 + signal.SIGTERM, "")
    assert read_record(tmp_path / "out" / "results.jsonl").counts()["not_run"] == 0
    assert [pid for pid in children if is_running(pid)] == []


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")


@posix
def test_the_first_signal_counts_and_what_was_there_before_returns() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), as_interrupt() as stopped:
        signal.raise_signal(signal.SIGTERM)
    assert stopped.exit_code(130) == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    with as_interrupt() as stopped:
        pass
    assert stopped.exit_code(130) == 130


@posix
def test_a_signal_that_is_ignored_stays_so() -> None:
    """As SIGHUP under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_interrupt() as stopped:
            os.kill(os.getpid(), signal.SIGHUP)
        assert stopped.number == 0
    finally:
        signal.signal(signal.SIGHUP, before)
