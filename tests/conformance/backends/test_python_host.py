"""Python backends in a child process: the same results, and whatever the class does ends at worst that process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.backends.process.protocol import frame
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.record.record import read_record

HOSTS = Path(__file__).parents[2] / "hosts"
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CASE, OTHER = "ELEMENT_WISE_BIT_OR/UINT8/4d", "ELEMENT_WISE_BIT_OR/INT8/4d"


def run(out: Path, backend: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "run", "-q", "--backend", backend, "--case", CASE, "--case", OTHER, "--out", str(out), *arguments],
        env={**os.environ, "PYTHONPATH": str(HOSTS)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


ENDS = ("ExitsWithSuccess", "DiesWithSuccess", "Crashes", "WrongAndExitsAtClose", "WrongAndDiesAtClose")
WITH_WORKERS = [("python", "Crashes", "2"), ("inprocess", "DiesWithSuccess", "2"), ("inprocess", "WrongAndDiesAtClose", "2")]


@pytest.mark.parametrize(
    ("kind", "name", "processes"), [*((kind, name, "0") for kind in ("python", "inprocess") for name in ENDS), *WITH_WORKERS]
)
def test_no_way_to_end_leads_to_success(kind: str, name: str, processes: str, tmp_path: Path) -> None:
    """os._exit(0), sys.exit(0), a segmentation fault, in a case and in close()."""
    done = run(tmp_path, f"{kind}:unruly:{name}", "-n", processes)
    assert done.returncode == 1, done.stderr
    statuses = {result.case: result.status for result in read_record(tmp_path / "results.jsonl").results}
    assert statuses[CASE] == ("fail" if name.startswith("Wrong") else "error")
    assert set(statuses.values()) <= {"pass", "fail", "error"}
    assert list(statuses.values()).count("pass") >= 1 or name.startswith("Wrong")


def test_a_hang_is_timed_out_and_costs_one_case(tmp_path: Path) -> None:
    done = run(tmp_path, "python:unruly:Hangs", "--timeout", "0.5")
    assert done.returncode == 1
    results = {result.case: result for result in read_record(tmp_path / "results.jsonl").results}
    assert "no answer within 0.5 s; the host was killed" in results[CASE].message
    assert {result.status for case, result in results.items() if case != CASE} == {"pass"}


def test_a_suite_that_is_stopped_inside_a_request_is_no_error_of_the_child() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dmlcts.conformance.backends.python.python_host", "reference"],
        input=frame({"request": "run"}, 100) + bytes(99), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_a_backend_prints_does_not_disturb(tmp_path: Path) -> None:
    done = run(tmp_path, "python:unruly:Prints")
    assert done.returncode == 0, done.stderr
    assert "hello" not in done.stdout


def test_an_input_that_was_written_to_is_seen_through_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    backend = open_backend("python:unruly:WritesToAnInput")
    try:
        result = execute(find_case(CASE), backend, backend.describe())
    finally:
        backend.close()
    assert result.status == "fail"
    assert "the input ATensor was changed" in result.message


def test_what_is_written_later_or_before_a_rejection_is_seen_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    backend = open_backend("python:unruly:WritesLater")
    try:
        results = [execute(find_case(CASE), backend, backend.describe()) for _ in range(12)]
    finally:
        with suppress(BackendFault):  # the last ones are found now
            backend.close()
    assert results[0].status == "pass"
    assert {result.message for result in results if result.status == "error"} == {
        "an earlier dispatch, of ELEMENT_WISE_BIT_OR, wrote to a resource after it had returned"
    }
    backend = open_backend("python:unruly:WritesAndRejects")
    try:
        result = execute(find_case("ELEMENT_WISE_BIT_OR/UINT8/negative/same-sizes/BTensor-size2"), backend, backend.describe())
    finally:
        backend.close()
    assert (result.status, result.message) == (
        "error",
        "must be rejected (constraint/same-sizes), but: rejected (no), but it wrote to an input",
    )


def test_a_class_that_is_not_there() -> None:
    with pytest.raises(BackendUnavailable, match="python:nosuchmodule:X: describe: cannot be imported: ModuleNotFoundError"):
        open_backend("python:nosuchmodule:X")


def test_code_paths_come_through_the_child(tmp_path: Path) -> None:
    for options, expected in (((), ["tile of 4"] * 2), (("--no-paths",), []), (("-n", "1"), ["tile of 4"] * 2)):
        out = tmp_path / ("-".join(options) or "plain")
        done = subprocess.run(
            [*PROGRAM, "run", "-q", "--backend", "python:tiled:Tiled", "--case", CASE, "--case", OTHER, "--out", str(out), *options],
            env={**os.environ, "PYTHONPATH": str(HOSTS.parent / "support")}, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [path for result in read_record(out / "results.jsonl").results for path in result.paths]
        assert [path.label.rpartition(", ")[2] for path in found] == expected
        assert all(len(path.numbers) == 3 for path in found)
