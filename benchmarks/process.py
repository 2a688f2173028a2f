"""What the process protocol costs: `python benchmarks/process.py`.

- A small case's round trip with the example host, beside the least that two processes in Python can do: one byte there and back.
- A tensor of 64 MiB to a host that computes nothing, there, and there and back, as a multiple of two plain copies of it, beside what a bare
  pipe takes: each way through a pipe is two copies, which the operating system makes page by page.

Medians; every figure is also a ratio to something measured in the same minute, so that machines can be compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import cast

SIZE = 64 << 20
HERE = Path(__file__).resolve()

ECHO = "import os\nwhile b := os.read(0, 1): os.write(1, b)"
SINK = f"""import os
whole = memoryview(bytearray({SIZE}))
while True:
    rest = whole
    while rest:
        if not (count := os.readv(0, [rest])): raise SystemExit
        rest = rest[count:]
    os.write(1, b"x")
"""


def host() -> None:
    """Answers with the bytes that came: what a host costs that does nothing."""
    import json
    import struct

    prefix, magic = struct.Struct("<8sIQ"), b"DMLCTS\x01\n"
    requests = sys.stdin.buffer
    payload = memoryview(bytearray(0))
    while head := requests.read(prefix.size):
        _, header_length, payload_length = prefix.unpack(head)
        request = json.loads(requests.read(header_length))
        if request["request"] == "close":
            return
        if len(payload) < payload_length:
            payload = memoryview(bytearray(payload_length))
        requests.readinto(payload[:payload_length])
        answer, back = {"status": "ok", "name": "echo"}, payload[:0]
        if request["request"] == "run":
            index = request["bindings"][-1]["resource"]
            start = sum(resource["size"] for resource in request["resources"][:index])
            answer, back = (
                {"status": "ok", "id": request["id"], "resources": [index]},
                payload[start:][: request["resources"][index]["size"]],
            )
        text = json.dumps(answer).encode()
        os.write(1, prefix.pack(magic, len(text), len(back)) + text)
        while back:
            back = back[os.write(1, back) :]


def median(task: Callable[[], object], times: int, warm: int = 3) -> float:
    """The median time of a task in seconds."""
    for _ in range(warm):
        task()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def through_bare_pipes(program: str, data: memoryview, times: int) -> float:
    """The median time in seconds in which a Python program reads ``data`` and answers with a byte; the pipes are as the backend's."""
    from dmlcts.conformance.backends.process.process import _widen

    with subprocess.Popen([sys.executable, "-S", "-c", program], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as echo:
        stdin, stdout = cast(FileIO, echo.stdin), cast(FileIO, echo.stdout)
        _widen(stdin)

        def once() -> None:
            rest = data
            while rest:
                rest = rest[stdin.write(rest) :]
            stdout.read(1)

        return median(once, times)


def main() -> None:
    """Measures and prints."""
    import numpy as np

    from dmlcts.conformance.backends.backend import BufferBinding, Dispatch
    from dmlcts.conformance.backends.process.process import ProcessBackend
    from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

    def dispatch(*sizes: int) -> Dispatch:
        names = ("ATensor", "BTensor", "OutputTensor")
        desc = OperatorDesc("ELEMENT_WISE_BIT_OR", dict.fromkeys(names, TensorDesc("UINT8", (1, 1, 2, 6))))
        resources = [np.arange(size, dtype=np.uint32).view(np.uint8)[:size] for size in sizes]
        indices = (0, len(sizes) // 2, len(sizes) - 1)
        return Dispatch(desc, resources, {n: BufferBinding(i, 0, sizes[i]) for n, i in zip(names, indices, strict=True)}, names[2:])

    least = through_bare_pipes(ECHO, memoryview(b"x"), 3000)
    backend = ProcessBackend([sys.executable, str(HERE.parent.parent / "docs" / "example_host.py")])
    small = dispatch(12, 12, 12)
    round_trip = median(lambda: backend.run(small), 3000)
    backend.close()

    bare = through_bare_pipes(SINK, memoryview(bytearray(SIZE)), 21) if hasattr(os, "readv") else float("nan")
    source, target = np.ones(SIZE, np.uint8), np.ones(SIZE, np.uint8)
    two_copies = 2 * median(lambda: np.copyto(target, source), 21)
    backend = ProcessBackend([sys.executable, str(HERE), "--host"])
    large, in_place = dispatch(SIZE, 16), dispatch(SIZE)
    there = median(lambda: backend.run(large), 21)
    and_back = median(lambda: backend.run(in_place), 21)
    backend.close()

    print(f"one byte there and back          {least * 1e6:9.1f} µs")
    print(f"a small case, example host       {round_trip * 1e6:9.1f} µs   {round_trip / least:6.2f} x one byte there and back")
    print(f"two copies of 64 MiB             {two_copies * 1e3:9.1f} ms")
    print(f"64 MiB there, a bare pipe        {bare * 1e3:9.1f} ms   {bare / two_copies:6.2f} x two copies")
    print(f"64 MiB there                     {there * 1e3:9.1f} ms   {there / two_copies:6.2f} x two copies")
    print(f"64 MiB there and back            {and_back * 1e3:9.1f} ms   {and_back / two_copies:6.2f} x two copies")


if __name__ == "__main__":
    host() if sys.argv[1:] == ["--host"] else main()
