"""Hosts that misbehave: each costs exactly one case, with evidence, and the next case finds a host that was started anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import misbehaving_host
import pytest
from misbehaving_host import LONG, dispatch, host, pid

from dmlcts.conformance.backends.backend import (
    BackendFault,
    Dispatch,
    Rejected,
    Unsupported,
)
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import WireError
from dmlcts.conformance.backends.process.standard_error import KEPT
from dmlcts.spec.model.desc import OperatorDesc

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and descriptors of POSIX")


FAULTS = {
    "exits": ("the output ended before a frame; the host ended with exit code 41", "out of memory: 12 GB"),
    "closes_its_output": ("the output ended before a frame; the host was killed", "requests answered since it was started: 2"),
    "prints": ("the output is not a frame; only frames may be", "62 69 74 20 6f 72 3a 20.*as text: bit or: 12 elements\n"),
    "prints_two_letters_and_waits": ("the output is not a frame.*the host was killed", "bytes received: 6f 6b\nas text: ok"),
    "garbles": ("the output is not a frame", r"ff fe fd fc .* \.\.\.\n"),
    "speaks_version_2": ("the output is not a frame", "44 4d 4c 43 54 53 02 0a"),
    "claims_a_payload_of_2_to_the_60": ("payload has 1152921504606846976 bytes, but its resources have 12", ""),
    "claims_a_header_of_4_gb": ("a header of 4294967295 bytes; the maximum is 1048576", "ff ff ff ff"),
    "sends_4_bytes_too_few": ("payload has 8 bytes, but its resources have 12", ""),
    "sends_4_bytes_too_many": ("payload has 16 bytes, but its resources have 12", ""),
    "cuts_off_its_prefix": (
        "ended inside a frame, after 13 of the 20 bytes of its prefix; the host ended with exit code 0",
        "bytes received: 44 4d 4c",
    ),
    "cuts_off_its_header": (
        r"ended inside a frame, after \d+ of the \d+ bytes of its header; the host ended with exit code 0",
        'as text: {"status": "ok",',
    ),
    "cuts_off_its_payload": ("ended inside a payload, 9 bytes into the 12 of a resource; the host ended", ""),
    "answers_no_json": ("a header is not JSON: .*Expecting property name", "as text: {'status': 'ok'}"),
    "answers_no_utf_8": ("a header is not JSON: not UTF-8", "22 ff fe 22"),
    "answers_nan": ("a header is not JSON: NaN is not JSON", '"id": NaN'),
    "answers_an_array": ("a header is not a JSON object", r'\["ok"\]'),
    "answers_deep_nesting": ("a header is not JSON: .*nested deeper than", r"5b 5b 5b"),
    "answers_with_the_wrong_id": ("the answer has the id 1, but the request had 2", ""),
    "answers_without_an_id": ("the answer's id is missing; it must be an integer", ""),
    "answers_with_an_id_in_words": ("the answer's id is 'two'; it must be an integer", ""),
    "answers_without_a_status": ("the answer's status is missing; it must be a string", ""),
    "answers_with_an_unknown_status": ("the answer has the status 'fine'; there are ok, rejected", ""),
    "answers_without_resources": ("the answer's resources is missing; it must be an array", ""),
    "returns_no_resource": ("lacks resource 2, to which the output OutputTensor is bound", ""),
    "returns_another_resource": ("lacks resource 2", ""),
    "returns_a_resource_twice": (r"resources must be different integers from 0 to 2, not \[2, 2\]", ""),
    "returns_a_resource_that_is_not_there": (r"different integers from 0 to 2, not \[2, 3\]", ""),
    "returns_a_resource_by_true": (r"different integers from 0 to 2, not \[2, True\]", ""),
    "rejects_with_a_payload": ("payload has 12 bytes, but its resources have 0", ""),
    "rejects_without_a_message": ("the answer's message is missing; it must be a string", ""),
    "rejects_at_an_unknown_stage": ("the answer has the stage 'lunch'; there are create, compile", ""),
    "floods_its_stderr_and_exits": (
        "the host ended with exit code 3",
        "its last 4096 bytes at most:\n.*warning\n\ufffd.31mthe last line",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_one_case_and_is_found_at_once(name: str, opened: list[ProcessBackend]) -> None:
    message, evidence = FAULTS[name]
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    started = time.monotonic()
    with pytest.raises(BackendFault, match=message) as fault:
        backend.run(dispatch())
    assert time.monotonic() - started < LONG / 4
    assert re.search(evidence, fault.value.evidence, re.DOTALL), fault.value.evidence
    assert fault.value.evidence.startswith("exit: ")
    assert pid(backend) not in (first, 0)


@posix
def test_a_signal_is_named(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("is_ended_by_a_signal"), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    with pytest.raises(BackendFault, match="the output ended before a frame; the host was ended by SIGKILL"):
        backend.run(dispatch())
    assert pid(backend) != first


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("hangs", "its last 4096 bytes at most:\nwaiting for the device"),
        ("hangs_inside_a_frame", "bytes received: 44 4d .* 0a 05"),
    ],
)
def test_a_hang_costs_its_limit_and_one_case(name: str, evidence: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    started = time.monotonic()
    with pytest.raises(BackendFault, match=r"no answer within 0\.4 s; the host was killed") as fault:
        backend.run(dispatch(timeout=0.4))
    assert 0.4 <= time.monotonic() - started < LONG / 4
    assert re.search(evidence, fault.value.evidence), fault.value.evidence
    assert pid(backend) != first


def test_the_limit_of_a_case_without_one_is_the_backend_s(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("hangs"), timeout=1.0)
    opened.append(backend)
    pid(backend)
    with pytest.raises(BackendFault, match="no answer within 1 s"):
        backend.run(dispatch())


def test_a_child_that_keeps_the_pipes_open_cannot_hold_the_suite(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("leaves_a_child_with_its_pipes"), timeout=LONG)
    opened.append(backend)
    pid(backend)
    with pytest.raises(BackendFault, match="the host ended with exit code 7"):
        backend.run(dispatch(timeout=0.5))
    assert pid(backend)


def gone(process: int) -> bool:
    """Whether a process ends within ten seconds; a zombie has ended."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@linux
def test_what_a_killed_host_started_ends_with_it(opened: list[ProcessBackend]) -> None:
    """Such as the host itself behind a shell script."""
    backend = ProcessBackend(["sh", "-c", '"$@"; exit', "sh", *host("hangs")], timeout=LONG)
    opened.append(backend)
    inner = pid(backend)
    with pytest.raises(BackendFault, match="the host was killed"):
        backend.run(dispatch(timeout=0.5))
    assert gone(inner)


@linux
def test_a_host_that_hangs_ends_with_a_suite_that_was_killed() -> None:
    program = (
        "import os, threading; from misbehaving_host import LONG, ProcessBackend, dispatch, host, pid\n"
        "backend = ProcessBackend(host('hangs'), timeout=LONG); print(pid(backend), flush=True)\n"
        "threading.Timer(1, os.kill, (os.getpid(), 9)).start(); backend.run(dispatch())"
    )
    support = Path(misbehaving_host.__file__).parent
    done = subprocess.run([sys.executable, "-c", program], cwd=support, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert gone(int(done.stdout))


@pytest.mark.parametrize(
    ("name", "message"),
    [("answers_and_exits", "the output ended|had not read"), ("prints_after_its_answer", "the output is not a frame")],
)
def test_what_comes_after_an_answer_is_found_with_the_next(name: str, message: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = [pid(backend), pid(backend)]
    assert first[0] == first[1]
    with pytest.raises(BackendFault, match=message) as fault:
        backend.run(dispatch())
    assert "requests answered since it was started: 3" in fault.value.evidence
    assert pid(backend) != first[0]


BIG = 8 << 20
"""Bytes: more than any pipe holds."""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prints_much_before_it_reads", "the output is not a frame"),
        ("answers_before_it_has_read", "it answered before it had read the whole request"),
        ("exits", "the output ended before a frame"),
        ("prints_two_letters_and_waits", "the output is not a frame"),
    ],
)
def test_a_large_request_to_a_host_that_does_not_read_it(name: str, message: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    with pytest.raises(BackendFault, match=message):
        backend.run(dispatch(BIG, timeout=1.5))
    assert pid(backend) != first


@pytest.mark.parametrize(
    ("name", "size"),
    [("floods_its_stderr", 12), ("floods_its_stderr", BIG), ("floods_its_stderr_before_it_reads", BIG), ("sends_slowly", 12)],
)
def test_a_flood_of_errors_or_a_trickle_of_answers_is_no_fault(name: str, size: int, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    work = dispatch(size)
    backend.run(work)
    assert (work.resources[2].view("<u4") == first).all()
    assert pid(backend) == first


def test_only_the_last_of_a_flood_is_evidence(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("floods_its_stderr_and_exits"), timeout=LONG)
    opened.append(backend)
    pid(backend)
    with pytest.raises(BackendFault) as fault:
        backend.run(dispatch())
    assert len(fault.value.evidence) < KEPT + 300
    assert "\x1b" not in fault.value.evidence


def test_what_a_host_wrote_before_it_rejected_is_kept_apart(opened: list[ProcessBackend]) -> None:
    found = {}
    for name in ("rejects_and_says_why", "fails_and_says_why", "rejects"):
        backend = ProcessBackend(host(name), timeout=LONG)
        opened.append(backend)
        pid(backend)
        with pytest.raises((Rejected, BackendFault)) as raised:
            backend.run(dispatch())
        found[name] = (str(raised.value), raised.value.stderr)
    assert found["rejects_and_says_why"] == ("failed", "translator: unknown flag \ufffd[31m0x800000")
    assert found["fails_and_says_why"] == ("failed", "driver: lost")
    assert found["rejects"][1] == ""


@pytest.mark.parametrize("name", ["claims_a_payload_of_2_to_the_60", "claims_a_header_of_4_gb"])
def test_a_claimed_length_is_not_allocated(name: str, opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host(name), timeout=LONG)
    opened.append(backend)
    pid(backend)
    tracemalloc.start()
    try:
        with pytest.raises(BackendFault, match=r"has a header of|payload has"):
            backend.run(dispatch())
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_what_a_host_says_is_passed_on_and_costs_it_nothing(opened: list[ProcessBackend]) -> None:
    errors: dict[str, BaseException] = {}
    for name in ("rejects", "rejects_without_a_code", "does_not_support", "reports_an_error"):
        backend = ProcessBackend(host(name), timeout=LONG)
        opened.append(backend)
        first = pid(backend)
        with pytest.raises((Rejected, Unsupported, BackendFault)) as raised:
            backend.run(dispatch())
        errors[name] = raised.value
        assert pid(backend) == first
    rejected, uncoded, unsupported, error = errors.values()
    assert isinstance(rejected, Rejected)
    assert (str(rejected), rejected.stage, rejected.code) == ("OutputTensor is too small", "bind", "0x80070057")
    assert isinstance(uncoded, Rejected)
    assert (uncoded.stage, uncoded.code) == ("compile", "")
    assert isinstance(unsupported, Unsupported)
    assert str(unsupported) == "no 8-bit types"
    assert isinstance(error, BackendFault)
    assert (str(error), error.evidence) == ("device removed", '{"reason": "0x887A0005"}')


def test_resources_come_back_in_the_order_that_the_answer_says(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("returns_every_resource"), timeout=LONG)
    opened.append(backend)
    pid(backend)
    work = dispatch()
    before = list(work.resources)
    backend.run(work)
    assert [resource.tobytes() for resource in work.resources] == [b"A" * 12, b"B" * 12, b"C" * 12]
    assert all(now is then for now, then in zip(work.resources, before, strict=True))


def test_a_desc_that_cannot_be_sent_is_not_the_host_s_fault(opened: list[ProcessBackend]) -> None:
    backend = ProcessBackend(host("behaves"), timeout=LONG)
    opened.append(backend)
    first = pid(backend)
    wrong = dispatch()
    with pytest.raises(WireError, match="ATensor must be a TensorDesc, not 3"):
        backend.run(Dispatch(wrong.desc.with_fields(ATensor=3), wrong.resources, wrong.bindings, wrong.outputs))
    with pytest.raises(KeyError, match="NO_SUCH"):
        backend.run(Dispatch(OperatorDesc("NO_SUCH"), wrong.resources, wrong.bindings, wrong.outputs))
    assert pid(backend) == first


def test_an_interrupted_case_does_not_leave_its_answer_to_the_next(
    opened: list[ProcessBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = ProcessBackend(host("behaves"), timeout=LONG)
    opened.append(backend)
    first = pid(backend)

    def interrupt(header: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dmlcts.conformance.backends.process.process.raise_status", interrupt)
        with pytest.raises(KeyboardInterrupt):
            backend.run(dispatch())
    assert pid(backend) != first
