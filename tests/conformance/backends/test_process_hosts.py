"""Hosts: progress that they report while they work, how they start, and how they end."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from misbehaving_host import LONG, dispatch, host, pid

from dmlcts.conformance.backends.backend import (
    HUNG,
    SLOW,
    BackendFault,
    BackendInfo,
    BackendUnavailable,
)
from dmlcts.conformance.backends.process import patience, process
from dmlcts.conformance.backends.process.process import ProcessBackend, open_process, split_command

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and descriptors of POSIX")


# Progress


def test_a_host_that_works_on_has_more_time_than_its_limit(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("works_longer_than_its_limit"), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    answered = dispatch(timeout=0.5)
    backend.run(answered)
    assert int(answered.resources[2][:4].view("<u4")[0]) == first == pid(backend)


@pytest.mark.parametrize(
    ("name", "longest", "message"),
    [
        (
            "works_for_ever",
            2.0,
            r"^slow: no answer within 2 s, 4 times the limit; it still worked, at execution.\[31m; the host was killed",
        ),
        ("works_and_then_hangs", 1.8, r"no answer within 1\.\d* s, and no sign of work for the last 0\.5 s; it was at execution"),
    ],
)
def test_a_hang_after_work_is_an_error_after_a_bounded_time(
    name: str, longest: float, message: str, opened: list[ProcessBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "QUIET", 0.5)
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    started = time.monotonic()
    with pytest.raises(BackendFault, match=message) as fault:
        backend.run(dispatch(timeout=0.5))
    assert 0.5 < time.monotonic() - started < longest + LONG / 4
    assert fault.value.lost == (SLOW if name == "works_for_ever" else HUNG)
    assert pid(backend) != first


@pytest.mark.parametrize("name", ["computes_longer_than_its_limit", "computes_in_a_child"])
def test_a_host_that_reports_nothing_has_more_time_while_it_uses_a_processor(name: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    answered = dispatch(timeout=0.6)
    backend.run(answered)
    assert int(answered.resources[2][:4].view("<u4")[0]) == first == pid(backend)


@pytest.mark.parametrize(
    ("name", "longest", "lost", "message"),
    [
        (
            "computes_for_ever",
            2.4,
            SLOW,
            r"^slow: no answer within 2\.4 s, 4 times the limit; it still worked, and used [\d.]+ s of processor time since its limit came near; the host was killed",
        ),
        (
            "computes_and_then_hangs",
            1.5,
            HUNG,
            r"^no answer within 1\.\d* s, and no sign of work for the last 0\.2 s; it had used its processor until then; the host was killed",
        ),
        ("computes_and_reports_nothing", 0.6, HUNG, r"^no answer within 0\.6 s; the host was killed"),
    ],
)
def test_what_is_slow_is_told_from_what_hangs_by_its_processor_time(
    name: str, longest: float, lost: str, message: str, opened: list[ProcessBackend]
) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    started = time.monotonic()
    with pytest.raises(BackendFault, match=message) as fault:
        backend.run(dispatch(timeout=0.6))
    assert fault.value.lost == lost
    assert 0.6 <= time.monotonic() - started < longest + LONG / 4
    assert pid(backend) != first


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("works_at_another_request", "a progress message has the id 3, but the request had 2"),
        ("works_nowhere", "the answer's at is None; it must be a string"),
        ("works_with_a_payload", "the answer's payload has 4 bytes; it must have none"),
        ("works_unannounced", "the answer's payload has 0 bytes|the answer has the status 'working'"),
    ],
)
def test_a_wrong_progress_message_costs_one_case(name: str, message: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    with pytest.raises(BackendFault, match=message):
        backend.run(dispatch())
    assert pid(backend) != first


# Starting and ending


def test_it_is_what_its_host_says(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("behaves"), timeout=LONG)
    opened.append(backend)
    assert backend.describe() == BackendInfo("misbehaving", "0.1", denormals="preserve", details={"pid": pid(backend)})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("exits_at_once", "describe: the output ended before a frame; the host ended with exit code 1(?s:.*)no device"),
        ("is_silent", r"describe: no answer within 0\.5 s; the host was killed"),
        ("greets", "describe: the output is not a frame(?s:.*)as text: Welcome to the host"),
        ("has_no_name", "describe: the description has no name"),
        ("has_an_unknown_field", "describe: the description has an unknown field 'denormal'; there are name, version"),
        ("has_an_unknown_level", "describe: the description's feature_level cannot be '9_9'"),
        ("describes_with_a_payload", "describe: the answer's payload has 4 bytes; it must have none"),
        ("reports_no_device", "describe: no device of that name"),
    ],
)
def test_a_host_that_does_not_describe_itself_is_unavailable(name: str, message: str, opened: list[ProcessBackend]) -> None:
    with pytest.raises(BackendUnavailable, match=f"^process:.*{name}: {message}"):
        ProcessBackend(host(name), timeout=0.5 if name == "is_silent" else LONG)


def test_a_program_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    missing = (tmp_path / "missing").as_posix()
    with pytest.raises(BackendUnavailable, match=f"cannot start '{missing}': .*; name a program by its full path"):
        open_process(f"'{missing}' --fast" if os.name == "posix" else f'"{missing}" --fast')


@posix
def test_a_file_that_is_no_program_is_unavailable(tmp_path: Path) -> None:
    file = tmp_path / "host"
    file.write_text("", encoding="utf-8")
    with pytest.raises(BackendUnavailable, match=r"cannot start .*: Permission denied"):
        open_process(shlex.quote(str(file)))
    file.chmod(0o755)
    with pytest.raises(BackendUnavailable, match=r"cannot start .*: Exec format error"):
        open_process(shlex.quote(str(file)))


def test_a_host_that_does_not_come_back_costs_each_case_of_its_own(tmp_path: Path, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("starts_once", str(tmp_path / "marker")), timeout=LONG)
    opened.append(backend)
    pid(backend)
    with pytest.raises(BackendFault, match="the host ended with exit code 41"):
        backend.run(dispatch())
    for _ in range(2):
        with pytest.raises(BackendFault, match="could not be started again: describe: the output ended") as fault:
            backend.run(dispatch())
        assert "the licence has run out" in fault.value.evidence
    (tmp_path / "marker").unlink()
    assert pid(backend)


@pytest.mark.parametrize(("name", "longest"), [("behaves", 1.5), ("ignores_close", 5.0)])
def test_close_ends_the_host(name: str, longest: float, opened: list[ProcessBackend], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_AT_CLOSE", 1.0)
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    assert backend._host is not None
    popen = backend._host.popen
    started = time.monotonic()
    with (
        nullcontext()
        if name == "behaves"
        else pytest.raises(BackendFault, match="did not exit within 1 s when it was asked to close")
    ):
        backend.close()
    assert time.monotonic() - started < longest
    assert popen.returncode is not None
    assert (popen.returncode == 0) == (name == "behaves")
    assert all(stream is not None and stream.closed for stream in (popen.stdin, popen.stdout, popen.stderr))
    backend.close()


def test_the_environment_is_the_host_s() -> None:
    code = "import os, sys; sys.exit(os.environ['HOST_SAYS'])"
    environment = {**os.environ, "HOST_SAYS": "hello from the environment"}
    with pytest.raises(BackendUnavailable, match="hello from the environment"):
        ProcessBackend([sys.executable, "-S", "-E", "-c", code], LONG, environment)


@pytest.mark.parametrize(
    ("command", "windows", "words"),
    [
        ("host --device 0", False, ["host", "--device", "0"]),
        ("'my host' \"two words\" back\\ slash", False, ["my host", "two words", "back slash"]),
        (r'"C:\Program Files\host.exe" --model C:\m.bin', True, [r"C:\Program Files\host.exe", "--model", r"C:\m.bin"]),
        (r'C:\host.exe "open', True, None),
        ("host 'open", False, None),
        ("  ", False, None),
        ("", True, None),
    ],
)
def test_a_command_is_split_as_its_platform_does(command: str, windows: bool, words: list[str] | None) -> None:
    if words is None:
        with pytest.raises(BackendUnavailable, match="process:"):
            split_command(command, windows)
    else:
        assert split_command(command, windows) == words
