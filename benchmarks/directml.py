"""How fast a DirectML.dll is tested, and whose time it is: ``python benchmarks/directml.py [COMMAND]``.

COMMAND is any host of the process protocol; without it, what is prepared to run a DirectML.dll is taken. The cases of five operators,
medians of five:

- cases a second in one session (level core, with and without its property cases), with the compiled shaders of an earlier run (warm)
  and without (cold: an empty cache of Mesa's);
- the same cases by ``dmlcts run``, in one process and in two;
- the share that is ours: the session against a bare loop, which pipes the very same requests to the host and throws the answers away;
- sending a tensor of 64 MiB against two copies of it in memory: what a request that is refused at creation costs more with it than without.

Nothing is asserted: a machine under load is no failure. ``--robustness`` prints what docs/robustness.md cites instead.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path
from signal import SIGINT
from statistics import median
from threading import Thread, Timer
from time import perf_counter, process_time, sleep
from typing import Any, cast
from unittest import mock

import numpy as np

from dmlcts.conformance.backends.backend import BufferBinding, Dispatch, Rejected
from dmlcts.conformance.backends.process.process import ProcessBackend, split_command
from dmlcts.conformance.backends.process.protocol import CLOSE, DESCRIBE, RawStream, frame, read_header, run_request
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import AGREEMENT, RELATION, Case
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

TIMES = 5
SIZE = 64 << 20
FEW = ("BIT_COUNT", "BIT_OR", "BIT_SHIFT_RIGHT", "BIT_XOR", "ROUND")
OPTIONS = RunOptions(level="core", expression=" or ".join(f"ELEMENT_WISE_{name}/" for name in FEW))


class Host:
    """How the host is started."""

    def __init__(self, command: str) -> None:
        self.environment: Mapping[str, str] = os.environ
        if command:
            self.argv: Sequence[str] = split_command(command)
            return
        from dmlcts.conformance.backends.directml import stack, windows
        from dmlcts.conformance.backends.directml.dll import read_dll

        if os.name == "nt":
            self.argv = windows.host_command(None, ())
        else:
            prepared, marker = stack.need_prepared()
            self.argv, self.environment = prepared.command(read_dll(stack.default_dll(marker)), ()), stack.environment()

    def open(self, *options: str, **more: str) -> ProcessBackend:
        """A backend; ``more`` is added to its environment."""
        return ProcessBackend([*self.argv, *options], 60.0, {**self.environment, **more})

    def cold(self) -> ProcessBackend:
        """A backend with an empty cache of compiled shaders. The name need only mean something where the host runs."""
        return self.open(MESA_SHADER_CACHE_DIR=tempfile.mktemp(prefix="dmlcts-cold-"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes."""
    start = perf_counter()
    work()
    return perf_counter() - start


def run_all(session: Session, cases: Sequence[Case]) -> Counter[str]:
    """Runs cases, and counts by status."""
    return Counter(session.run(case).status for case in cases)


def recorded(host: Host, cases: Sequence[Case], file: Path) -> int:
    """Runs cases, and writes every request that this takes to a file. Returns how many requests there are."""
    count = 0
    with file.open("wb") as stream, closing(host.open()) as backend:

        def noted(*arguments: Any) -> list[bytes | memoryview]:
            nonlocal count
            count += 1
            pieces = run_request(*arguments)
            for piece in pieces:
                stream.write(piece)
            return pieces

        with mock.patch("dmlcts.conformance.backends.process.process.run_request", noted):
            run_all(Session(OPTIONS, backend), cases)
        stream.write(frame(CLOSE))
    return count


def bare(host: Host, file: Path) -> float:
    """Seconds from a host's description to the end of its answers to the requests in a file, which nobody looks at."""
    popen = subprocess.Popen(
        host.argv, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=host.environment
    )
    with popen:
        stdin, stdout = cast(FileIO, popen.stdin), cast(FileIO, popen.stdout)
        stdin.write(frame(DESCRIBE))
        read_header(RawStream(stdout))
        start = perf_counter()
        writer = Thread(target=_pour, args=(file, stdin))
        writer.start()
        while stdout.read(1 << 20):
            pass
        seconds = perf_counter() - start
        writer.join()
    return seconds


def _pour(file: Path, stdin: FileIO) -> None:
    with file.open("rb", buffering=0) as stream:
        while chunk := memoryview(stream.read(1 << 20)):
            while chunk:
                chunk = chunk[stdin.write(chunk) :]


def refused(size: int) -> Dispatch:
    """A request with ``size`` bytes of resources that is refused at creation: the output has another data type."""
    tensor = TensorDesc("UINT32", (1, 1, 1, max(size // 4, 1)))
    fields = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": replace(tensor, data_type="FLOAT16")}
    names = tuple(fields)
    resources = [np.zeros(size, np.uint8)]
    return Dispatch(
        OperatorDesc("ELEMENT_WISE_BIT_OR", fields), resources, dict.fromkeys(names, BufferBinding(0, 0, size)), names[2:]
    )


def refusal(backend: ProcessBackend, dispatch: Dispatch) -> None:
    """Runs what is to be refused."""
    with suppress(Rejected):
        backend.run(dispatch)


def share(host: Host, name: str, cases: Sequence[Case]) -> None:
    """Measures and prints the cases a second, and what a session costs on top of the bare loop."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requests"
        requests = recorded(host, cases, file)  # which also fills the cache of shaders
        warm: list[float] = []
        cold: list[float] = []
        alone: list[float] = []
        own: list[float] = []
        for _ in range(TIMES):  # in turn, so that what else the machine does meets all of them
            for times, backend in ((warm, host.open()), (cold, host.cold())):
                with closing(backend):
                    start, used, session = perf_counter(), process_time(), Session(OPTIONS, backend)
                    run_all(session, cases)
                    times.append(perf_counter() - start)
                    own.append(process_time() - used)
            alone.append(bare(host, file))
        print(f"{name}: {len(cases):,} cases, {requests:,} requests, {file.stat().st_size / 1e6:.1f} MB")
    print(f"  cases a second, warm            {len(cases) / median(warm):8.0f}")
    print(f"  cases a second, cold            {len(cases) / median(cold):8.0f}   {_ratio(cold, warm):6.2f} x the time of warm")
    print(f"  the session                     {median(warm):8.2f} s")
    print(f"  the bare loop                   {median(alone):8.2f} s {_ratio(warm, alone):6.2f} x is the session; 1.20 is the aim")
    print(f"  this process's own CPU time     {median(own):8.2f} s {median(own) / len(cases) * 1e3:6.2f} ms a case")


def _ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """The median of the ratios, each of two times that were measured one after the other."""
    return median(a / b for a, b in zip(over, under, strict=True))


def started(host: Host, folder: str, *options: str) -> subprocess.Popen[bytes]:
    """``dmlcts run`` of level core, begun."""
    python = [sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()"]
    words = [*python, "run", "-q", "-k", OPTIONS.expression, "-b", f"process:{command_text(host.argv)}", "-o", folder, *options]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, env=dict(host.environment))


def as_used(host: Host, cases: int) -> None:
    """Measures and prints what a person waits for: the command from its start to its reports, in one process and in two."""
    print("dmlcts run, level core, start and reports included")
    with tempfile.TemporaryDirectory() as folder:
        for processes in ("0", "2"):
            times: list[float] = []
            codes: set[int] = set()
            for _ in range(TIMES):
                start = perf_counter()
                codes.add(started(host, folder, "-n", processes).wait())
                times.append(perf_counter() - start)
            text = f"{median(times):8.2f} s {cases / median(times):6.0f} cases a second"
            print(f"  -n {processes}                      {text}   exit codes {sorted(codes)}")


def speed(host: Host) -> None:
    """Measures and prints."""
    cases = selected_cases(OPTIONS)
    as_used(host, len(cases))
    share(host, "level core without its property cases", [case for case in cases if case.expect not in (RELATION, AGREEMENT)])
    share(host, "level core", cases)
    source, target = np.ones(SIZE, np.uint8), np.ones(SIZE, np.uint8)
    copies, there = [], []
    with closing(host.open()) as backend:
        small, large = refused(4), refused(SIZE)
        refusal(backend, large)
        for _ in range(TIMES):
            copies.append(2 * timed(lambda: np.copyto(target, source)))
            there.append(timed(lambda: refusal(backend, large)) - timed(lambda: refusal(backend, small)))
    print(f"two copies of 64 MiB              {median(copies) * 1e3:8.1f} ms")
    print(f"sending 64 MiB                    {median(there) * 1e3:8.1f} ms   {_ratio(there, copies):6.2f} x two copies")


# Robustness


def of_wine() -> set[int]:
    """The processes that are Wine's. Linux only."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words, state = (folder / "cmdline").read_bytes(), (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and re.search(rb"wineserver|\.exe", words):
                found.add(int(folder.name))
    return found


def memory(pid: int) -> float:
    """The resident memory of a process in MB. Linux only."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1e3


def killed(host: Host, cases: Sequence[Case]) -> Iterator[str]:
    """What a host that is killed in the middle costs."""
    with closing(host.open()) as backend:
        session = Session(OPTIONS, backend)
        run_all(session, cases[:200])
        assert backend._host is not None
        Timer(3.0, backend._host.popen.kill).start()
        found = [session.run(case) for case in cases]
    counts = Counter(result.status for result in found)
    at = next((i for i, result in enumerate(found) if result.status == "error"), None)
    assert at is not None
    again = found[at + 1].seconds if at + 1 < len(found) else float("nan")
    yield f"the host killed in the middle of {len(cases):,} cases: {dict(counts)}; {found[at].message}"
    yield f"the case after it, which starts the host again, took {again:.2f} s"


def side_by_side(host: Host) -> Iterator[str]:
    """Two runs of level core at once against one."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        single = timed(lambda: started(host, one).wait())
        both: list[int] = []

        def pair() -> None:
            runs = [started(host, one), started(host, two)]
            both.extend(run.wait() for run in runs)

        double = timed(pair)
    yield f"two runs at once: exit codes {both}, {double:.1f} s; one alone {single:.1f} s; ratio {double / single:.2f}"


def growth(host: Host) -> Iterator[str]:
    """The host's memory over three runs of level full in one process."""
    cases = selected_cases(replace(OPTIONS, level="full"))
    with closing(host.open()) as backend:
        session = Session(OPTIONS, backend)
        assert backend._host is not None
        for name in ("the first", "the second", "the third"):
            before, pid = memory(backend._host.popen.pid), backend._host.popen.pid
            counts = run_all(session, cases)
            yield (
                f"{name} {len(cases):,} cases of level full: {dict(counts)}; the host's memory {before:.1f} MB before, "
                f"{memory(backend._host.popen.pid):.1f} MB after{'' if backend._host.popen.pid == pid else ', another host'}"
            )


def interrupted(host: Host) -> Iterator[str]:
    """What Ctrl-C leaves behind."""
    before = of_wine()
    with tempfile.TemporaryDirectory() as folder:
        run = started(host, folder)
        while not any(b"host.exe" in _words(pid) for pid in of_wine() - before) and run.poll() is None:
            sleep(0.1)
        sleep(5.0)  # some time later it is in the middle of its cases
        during = of_wine() - before
        run.send_signal(SIGINT)
        code = run.wait()
    start = perf_counter()
    left = of_wine() - before
    hosts = [pid for pid in left if b"host.exe" in _words(pid)]
    while of_wine() & left and perf_counter() - start < 60:
        sleep(0.2)
    yield (
        f"Ctrl-C: exit code {code}; {len(during)} processes of Wine before it; at once after it {len(left)}, {len(hosts)} of them hosts; "
        f"none of them after {perf_counter() - start:.1f} s"
    )


def _words(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def robustness(host: Host) -> None:
    """Tries and prints."""
    cases = selected_cases(OPTIONS)
    for lines in (killed(host, cases), side_by_side(host), interrupted(host), growth(host)):
        for line in lines:
            print(line, flush=True)


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", nargs="?", default="", help="a host of the process protocol, with its arguments, as one word")
    options.add_argument("--robustness", action="store_true", help="what killing, interrupting and repeating do, on Linux")
    given = options.parse_args()
    (robustness if given.robustness else speed)(Host(given.command))


if __name__ == "__main__":
    main()
