"""A cluster on the loopback address: a scheduler of dask.distributed and workers, each a process without one that would start it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 120.0
"""Seconds that processes have to start, on a machine that is busy."""


@dataclass(frozen=True)
class Lab:
    """Its scheduler's address and processes."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def lab(folder: Path, workers: int) -> Iterator[Lab]:
    """A cluster whose workers offer an adapter each; its files lie in the folder."""
    processes: list[subprocess.Popen[bytes]] = []
    file = folder / "scheduler.json"
    try:
        processes.append(_start(folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)))
        wait_for(file.exists)
        for number in range(workers):
            options = (
                "--no-nanny",
                "--nthreads",
                "1",
                "--memory-limit",
                "1GB",
                "--resources",
                "adapter=1",
                "--local-directory",
                str(folder),
            )
            processes.append(_start(folder, f"worker-{number}", "--scheduler-file", str(file), *options))
        logs = [folder / f"worker-{number}.log" for number in range(workers)]
        wait_for(
            lambda: all("Starting established connection" in log.read_text(encoding="utf-8", errors="replace") for log in logs)
        )
        yield Lab(json.loads(file.read_text(encoding="utf-8"))["address"], processes[0], processes[1:])
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def wait_for(what: Callable[[], bool]) -> None:
    """Returns when it is so. Raises TimeoutError."""
    until = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)


def _start(folder: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """A process of dask. No dashboard listens on another address."""
    module = f"distributed.cli.dask_{name.partition('-')[0]}"
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, "--no-dashboard", *options],
            stdout=log, stderr=log, cwd=folder, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
