"""The streams of the native host, without DirectML: they lose no byte however requests come, and say where the input ended or went wrong.

Needs a C++ compiler of this platform.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path
from threading import Thread
from typing import cast

import pytest

from dmlcts.conformance.backends.process.protocol import MAGIC, PREFIX, RawStream, frame, read_header

SOURCE = Path(__file__).parents[3] / "hosts" / "streams.cpp"
NATIVE = Path(__file__).parents[4] / "conformance" / "backends" / "directml" / "native" / "src"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="compiles with the options of gcc and clang, and stops a process")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the compiled host."""
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler is on the PATH")
    program = tmp_path_factory.mktemp("streams") / "streams"
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{NATIVE}"]
    subprocess.run([compiler, *flags, str(SOURCE), str(NATIVE / "protocol.cpp"), "-o", str(program)], check=True, timeout=120)
    return str(program)


def request(number: int, size: int) -> bytes:
    return frame({"id": number}, size) + bytes([number % 251]) * size


def ended(host: str, pieces: Iterable[bytes]) -> subprocess.CompletedProcess[bytes]:
    """Feeds the host with all that it gets, and waits for its end."""
    return subprocess.run([host], input=b"".join(pieces), capture_output=True, timeout=60, check=False)


def test_no_byte_is_lost_to_the_thread_that_looks_for_the_end(host: str) -> None:
    """Between two requests that thread waits for the next byte. Where its lock is not the reader's, this shows on glibc now and then, and under
    Wine each time: test_directml_faults.py."""
    with subprocess.Popen([host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        source = RawStream(cast(FileIO, process.stdout))
        for number in range(1000):
            process.stdin.write(request(number, number % 50))
            header, length = read_header(source)
            assert (header, length) == ({"id": number}, number % 50)
            source.take(length, "payload")
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_request_without_a_payload_waits_for_no_other(host: str) -> None:
    """While it takes long, the other thread holds the lock until the next request comes, and that comes after the answer."""
    with subprocess.Popen([host, "slowly"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(20):
            process.stdin.write(request(number, 0))
            if not select.select([process.stdout], [], [], 20)[0]:
                process.kill()
                pytest.fail(f"request {number} was not answered")
            assert process.stdout.read(1 << 16) == request(number, 0)
        process.stdin.close()
        assert process.wait(20) == 0


def _bytewise(data: bytes) -> Iterable[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


@pytest.mark.parametrize("cut", [_bytewise, lambda data: [data]], ids=["bytes", "whole"])
def test_a_slow_writer_a_slow_reader_and_a_stopped_host_lose_nothing(cut: Callable[[bytes], Iterable[bytes]], host: str) -> None:
    sizes = [0, 1, 19, 300_000, 20]
    with subprocess.Popen([host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def write() -> None:
            for number, size in enumerate(sizes):
                data = request(number, size)
                for piece in cut(data[:60]):
                    stdin.write(piece)
                    time.sleep(0.0005)
                process.send_signal(signal.SIGSTOP if number % 2 else signal.SIGCONT)
                rest = memoryview(data[60:])
                time.sleep(0.01)
                process.send_signal(signal.SIGCONT)
                while len(rest):
                    rest = rest[stdin.write(rest) :]
            stdin.close()

        writer = Thread(target=write)
        writer.start()
        received = b""
        while chunk := stdout.read(1 << 12):
            received += chunk
        writer.join()
        assert process.wait(20) == 0
    assert received == b"".join(request(number, size) for number, size in enumerate(sizes))


@pytest.mark.parametrize("size", [1, 7, 8, 19])
def test_an_end_inside_a_prefix_is_named(size: int, host: str) -> None:
    done = ended(host, [request(1, 5), request(2, 5)[:size]])
    assert (
        done.stderr.decode()
        == f"standard input ended, as its sender did, after {size} of the 20 bytes of the prefix of request 2\n"
    )
    assert (done.returncode, done.stdout) == (2, request(1, 5))


def test_an_end_inside_a_header_or_a_payload_is_named(host: str) -> None:
    whole = request(3, 500_000)
    length = PREFIX.unpack(whole[: PREFIX.size])[1]
    done = ended(host, [request(1, 0), whole[: PREFIX.size + 4]])
    assert done.stderr.decode().endswith(f" after 4 of the {length} bytes of the header of request 2\n")
    done = ended(host, [whole[: PREFIX.size + length + 300_000]])
    assert done.stderr.decode().endswith(" after 300000 of the 500000 bytes of the payload of request 1\n")


def test_what_is_no_frame_is_shown(host: str) -> None:
    done = ended(host, [request(1, 0), request(2, 0)[1:]])
    magic = MAGIC.hex(" ")
    assert done.stderr.decode() == (
        f"request 2 begins with {request(2, 0)[1:21].hex(' ')} and not with {magic}, the magic number of the protocol's version 1\n"
    )
    done = ended(host, [b"GET"])
    assert done.stderr.decode().startswith("request 1 begins with 47 45 54 and not with ")
    assert done.returncode == 2


def test_an_absurd_header_is_not_read(host: str) -> None:
    done = ended(host, [PREFIX.pack(MAGIC, 0xFFFFFFFF, 0)])
    assert done.stderr == b"request 1 has a header of 4294967295 bytes; the maximum is 16777216\n"


def test_the_end_after_a_frame_is_no_fault(host: str) -> None:
    done = ended(host, [request(1, 3)])
    assert (done.returncode, done.stdout, done.stderr) == (0, request(1, 3), b"")
