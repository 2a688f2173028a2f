"""The host with a DirectML.dll that is wrong on purpose (fake_directml/fake.cpp): each fault has the outcome that it should have.

Needs mingw-w64's compiler, and what runs a DirectML.dll: what was prepared for that, or a host whose command stands in the environment
variable DMLCTS_DIRECTML_COMMAND. Such a host must accept ``--dll PATH`` and see the folder of the tests (``--basetemp`` chooses another).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from io import FileIO
from pathlib import Path
from threading import Timer
from time import monotonic, sleep
from typing import cast

import numpy as np
import pytest
from directml_host import host_command, host_environment
from fake_dlls import MODE, built_fake, written

from dmlcts.conformance.backends.backend import Backend, BackendUnavailable, BufferBinding, Dispatch
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import DESCRIBE, RawStream, frame, read_header, run_request
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.inputs import inputs
from dmlcts.reports.record.record import ERROR, FAIL, PASS, Result
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

XOR, OR, AND = (f"ELEMENT_WISE_BIT_{name}/UINT32/4d" for name in ("XOR", "OR", "AND"))
LIMIT = 4.0
"""Seconds that a case may take which hangs: more than a host takes to notice that it does."""

Open = Callable[..., ProcessBackend]


@pytest.fixture(scope="module")
def real() -> str:
    """The path of the real DirectML.dll, as the host sees it."""
    with closing(ProcessBackend(host_command(None), 60.0, host_environment())) as backend:
        return str(backend.describe().details["dll"])


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory, real: str) -> Callable[[str], Path]:
    """Gives the path of a fake by its mode."""
    folder = tmp_path_factory.mktemp("fake_directml")
    built = built_fake(folder, real)
    header = built.index(b"PE\0\0")
    machine, exports = header + 4, header + 24 + 112  # the machine that it is for; where its exports are, and their size
    files = {
        "text": b"no DLL\n" * 1000,
        "for-32-bits": built[:machine] + b"\x4c\x01" + built[machine + 2 :],
        "exports-nothing": built[:exports] + bytes(8) + built[exports + 8 :],
    }

    def path(mode: str) -> Path:
        file = folder / f"{mode}.dll"
        if mode != "missing" and not file.exists():
            file.write_bytes(files[mode] if mode in files else written(built, MODE, mode))
        return file

    return path


@pytest.fixture
def opened(fake: Callable[[str], Path]) -> Iterator[Open]:
    """Opens a backend on a fake; it is closed at the end."""
    backends: list[ProcessBackend] = []

    def start(mode: str, *options: str, timeout: float = 30.0) -> ProcessBackend:
        backends.append(ProcessBackend(host_command(fake(mode), options), timeout, host_environment()))
        return backends[-1]

    yield start
    for backend in backends:
        backend.close()


def results(backend: Backend, options: RunOptions) -> list[Result]:
    session = Session(options, backend)  # the backend's owner closes it
    return [session.run(case) for case in selected_cases(options)]


def dispatch(name: str) -> Dispatch:
    (case,) = selected_cases(RunOptions(cases=(name,)))
    return lay_out(case, inputs(case), {}).dispatch


# A DLL that cannot be used at all

UNUSABLE = {
    "missing": r"missing\.dll(: cannot be read: No such file| cannot be loaded: error 126)",
    "text": r"text\.dll (is not a DLL|cannot be loaded: error 193)",
    "for-32-bits": r"for-32-bits\.dll (is for another processor|cannot be loaded: error 193)",
    "load-fails": r"\.dll cannot be loaded: error 1114",
    "exports-nothing": r"\.dll has no DMLCreateDevice1",
    "create-fails": r"DMLCreateDevice1 failed with 0x887A0004",
    "create-crashes": r"(?s)ended before a frame; the host ended .*0xC0000005 .*at [^ ]*\.dll\+0x.*during DMLCreateDevice1",
    "null-device": r"DMLCreateDevice1 returned 0x00000000 and no object",
    "no-recorder": r"CreateCommandRecorder failed with 0x80004002",
    "null-recorder": r"CreateCommandRecorder returned 0x00000000 and no object",
    "removed": r"GetDeviceRemovedReason failed with 0x887A0005",
    "features-fail": r"CheckFeatureSupport failed with 0x80004005, asked for the highest feature level",
    "absurd-features": r"CheckFeatureSupport answered the feature level 0xFFFFFFFF, which it was not asked for",
}


@pytest.mark.parametrize("mode", UNUSABLE)
def test_a_dll_that_cannot_be_used_is_no_backend(mode: str, opened: Open) -> None:
    with pytest.raises(BackendUnavailable, match=UNUSABLE[mode]):
        opened(mode)


def test_a_device_that_knows_no_interfaces_cannot_compile_graphs(opened: Open) -> None:
    with pytest.raises(BackendUnavailable, match="asking for IDMLDevice1 failed with 0x80004002"):
        opened("null-operator", "--compile", "graph")


def test_a_creation_that_hangs_has_a_limit(opened: Open) -> None:
    before = monotonic()
    with pytest.raises(BackendUnavailable, match=r"(?s)no answer within 4 s; the host was killed.*the host is at DMLCreateDevice1"):
        opened("create-hangs", timeout=LIMIT)
    assert monotonic() - before < 3 * LIMIT


def test_the_command_line_says_it_with_exit_code_3(fake: Callable[[str], Path], tmp_path: Path) -> None:
    spec = f"process:{shlex.join(host_command(fake('null-device')))}"
    main = "from dmlcts.conformance.commands.cli import main; main()"
    asked = [sys.executable, "-c", main, "run", "--backend", spec, "--level", "smoke", "--out", str(tmp_path / "out")]
    run = subprocess.run(asked, capture_output=True, text=True, encoding="utf-8", timeout=60, env=host_environment())
    assert run.returncode == 3
    assert "DMLCreateDevice1 returned 0x00000000 and no object" in run.stdout + run.stderr


# A DLL that costs cases


@pytest.mark.parametrize(
    ("mode", "call"),
    [
        ("null-operator", "CreateOperator"),
        ("null-compiled", "compilation"),
        ("null-initializer", "CreateOperatorInitializer"),
        ("no-table", "CreateBindingTable"),
    ],
)
def test_success_without_an_object_is_an_error_and_no_crash(mode: str, call: str, opened: Open) -> None:
    found = results(opened(mode), RunOptions(cases=(XOR, OR)))
    assert [(r.status, r.message) for r in found] == [(ERROR, f"{call} returned 0x00000000 and no object")] * 2


def test_absurd_sizes_of_working_memory_are_an_error(opened: Open) -> None:
    found = results(opened("absurd-sizes"), RunOptions(cases=(XOR, OR)))
    assert [r.status for r in found] == [ERROR, ERROR]
    assert all("0x8007000E" in r.message for r in found)


def test_temporary_memory_is_nan_before_each_dispatch_and_persistent_memory_is_kept(opened: Open) -> None:
    """Also its last byte, where its size is no multiple of anything, and where initialization has written to it."""
    tensor = TensorDesc("UINT8", (32,))
    resources = [np.zeros(32, np.uint8) for _ in range(3)]
    names = ("ATensor", "BTensor", "OutputTensor")
    work = Dispatch(
        OperatorDesc("ELEMENT_WISE_BIT_XOR", dict.fromkeys(names, tensor)),
        resources,
        {name: BufferBinding(index, 0, 32) for index, name in enumerate(names)},
        names[2:],
    )
    backend = opened("shows-memory")
    for _ in range(2):  # the second time the memory was used before
        backend.run(work)
        begin, end, end_at_initialization, kept = (resources[2][i : i + 8].tobytes() for i in range(0, 32, 8))
        assert (begin, end, end_at_initialization) == (b"\xff" * 8,) * 3
        assert kept == b"\x5a" * 8


@pytest.mark.parametrize(
    ("mode", "message", "evidence"),
    [
        ("crashes", "the output ended before a frame", "0xC0000005 (access violation) at "),
        ("exits", "the output ended before a frame; the host ended with exit code 41", "exit code 41"),
        ("hangs", "no answer within 4 s; the host was killed", "the host is at CreateOperator"),
    ],
)
def test_what_ends_the_host_costs_one_case(mode: str, message: str, evidence: str, opened: Open) -> None:
    found = results(opened(mode), RunOptions(cases=(OR, XOR, AND), timeout=LIMIT))
    assert [r.status for r in found] == [PASS, ERROR, PASS]
    assert found[1].message.startswith(message)
    assert evidence in found[1].evidence["fault"]
    assert found[1].seconds < 3 * LIMIT


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_host_that_is_killed_during_a_case_costs_that_case(opened: Open) -> None:
    backend = opened("hangs")
    found = results(backend, RunOptions(cases=(OR,)))
    assert backend._host is not None
    killer = Timer(1.0, backend._host.popen.kill)
    killer.start()
    found += results(backend, RunOptions(cases=(XOR, AND)))
    killer.join()
    assert [r.status for r in found] == [PASS, ERROR, PASS]
    assert "the host was ended by SIGKILL" in found[1].message


def test_a_host_that_hangs_ends_when_the_suite_is_gone(fake: Callable[[str], Path]) -> None:
    request = b"".join(bytes(piece) for piece in [frame(DESCRIBE), *run_request(dispatch(XOR), 1, load)])
    with subprocess.Popen(
        host_command(fake("hangs")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=host_environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(request)
        process.stdin.close()
        try:
            assert process.wait(20.0) == 3
        finally:
            process.kill()


def test_after_a_request_that_takes_long_the_next_is_read_whole() -> None:
    """After 1.5 s a second thread of the host looks whether the suite is still there, and waits for the first byte of the next request."""
    with subprocess.Popen(
        host_command(None), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=host_environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        source = RawStream(cast(FileIO, process.stdout))
        try:
            for number in (1, 2):
                head, *payload = (bytes(piece) for piece in run_request(dispatch(XOR), number, load))
                process.stdin.write(head)
                sleep(2.5 if number == 1 else 0.2)
                process.stdin.write(b"".join(payload))
                status = "working"  # as a machine under load reports meanwhile
                while status == "working":
                    header, length = read_header(source)
                    status = header["status"]
                    source.take(length, "payload")
                assert (header["id"], status) == (number, "ok")
                sleep(0.2)  # the host waits for the next request by now, in both threads
            process.stdin.close()
            assert process.wait(20.0) == 0
            assert b"a request takes long; the host is at " in process.stderr.read()
        finally:
            process.kill()


# A DLL with two operators that are wrong


class WrongInTheSameWay(ReferenceBackend):
    """The reference with the two mistakes of the fake: what it fails is what the fake must fail."""

    def run(self, dispatch: Dispatch) -> None:
        desc = dispatch.desc
        if desc.type == "ELEMENT_WISE_BIT_XOR":
            desc = replace(desc, type="ELEMENT_WISE_BIT_OR")
        elif desc.fields.get("RoundingMode") in ("TOWARD_ZERO", 1):
            desc = replace(desc, fields={**desc.fields, "RoundingMode": "HALVES_TO_NEAREST_EVEN"})
        super().run(replace(dispatch, desc=desc))


def failed(found: list[Result]) -> set[str]:
    assert {r.status for r in found} <= {PASS, FAIL}
    return {r.case for r in found if r.status == FAIL}


# Of operators that the fake computes right and of those that it does not.
CHOSEN = "(bit_or or bit_xor or bit_count or bit_shift_right or element_wise_round)"
PART = RunOptions(level="core", expression=f"{CHOSEN} and (UINT16 or FLOAT32 or TOWARD) and not property and not sequence")


def test_exactly_what_is_wrong_fails(opened: Open) -> None:
    found = failed(results(opened("two-wrong"), PART))
    assert found == failed(results(WrongInTheSameWay(), PART))
    assert {case.partition("/")[0] for case in found} == {"ELEMENT_WISE_BIT_XOR", "ELEMENT_WISE_ROUND"}


def test_nothing_fails_through_a_proxy_that_changes_nothing(opened: Open) -> None:
    assert failed(results(opened("right"), replace(PART, shard="1/20"))) == set()
