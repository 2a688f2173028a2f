"""What a cluster costs and gives: ``python benchmarks/cluster.py [run|tasks|ray] [WORKERS]``. All workers are on this machine.

``run`` times level smoke of some operators on this machine, and on 1 to WORKERS workers of dask. ``tasks`` times tasks that do nothing, in dask, and ``ray`` in Ray, where that is installed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import psutil
from distributed import Client, LocalCluster

OPERATORS = ("GEMM", "CONVOLUTION", "ARGMAX", "RESAMPLE2")
TASKS, WARM = 1000, 20


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A scheduler's address, with so many workers on this machine."""
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        resources={"adapter": 1},
        memory_limit="1.5GB",
    ) as found:
        yield found.scheduler_address


def time_run(*more: str) -> str:
    """What a run says of its time, and the processor time of its own process: with a cluster, of the one that decides."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "dmlcts.conformance.commands.start",
            "run",
            *OPERATORS,
            "--level",
            "smoke",
            "--out",
            folder,
        ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*command, *more], stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    speed = next(line for line in done.stdout.splitlines() if "cases a second" in line)
    return f"{speed}; {processor:.1f} s of processor time in the command and its processes"


def runs(most: int) -> None:
    """Times of a run, here and on workers."""
    print(f"load of the machine before: {psutil.getloadavg()[0]:.1f} on {psutil.cpu_count()} cores")
    for processes in (0, 2):
        print(f"this machine, -n {processes}: {time_run('-n', str(processes))}")
    for workers in range(1, most + 1):
        with cluster(workers) as address:
            time_run("--cluster", address)  # imports, once in each worker
            before = spent()
            line = time_run("--cluster", address)
            print(f"{workers} workers: {line}, {spent() - before:.1f} s in scheduler and workers")


def nothing(number: int) -> int:
    """A task that does nothing."""
    return number


def spent() -> float:
    """Seconds of processor time of this process and of those that it started, which says more than the clock on a machine that is shared."""
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(each.cpu_times().user + each.cpu_times().system for each in every)


def time_tasks(name: str, run: Callable[[int], object]) -> None:
    """Prints how quick tasks are, after one for each worker, and what the processes of the engine hold."""
    run(WARM)
    started, before = perf_counter(), spent()
    run(TASKS)
    seconds, processor = perf_counter() - started, spent() - before
    children = psutil.Process().children(recursive=True)
    memory = sum(child.memory_info().rss for child in children) / 1e6
    print(
        f"{name}: {1000 * processor / TASKS:.2f} ms of processor time a task, {TASKS / seconds:,.0f} tasks a second; {len(children)} processes hold {memory:,.0f} MB"
    )


def tasks_of_dask(workers: int) -> None:
    """Tasks that do nothing, each with a resource, as parts of a run are."""
    with cluster(workers) as address, Client(address) as client:
        print(f"dask has started after {spent():.1f} s of processor time")

        def run(count: int) -> object:
            return client.gather([client.submit(nothing, number, resources={"adapter": 1}, pure=False) for number in range(count)])

        time_tasks("dask", run)


def tasks_of_ray(workers: int) -> None:
    """The same in Ray."""
    import ray

    ray.init(num_cpus=workers, resources={"adapter": workers}, include_dashboard=False, object_store_memory=200_000_000)
    print(f"Ray has started after {spent():.1f} s of processor time")
    remote = ray.remote(num_cpus=1, resources={"adapter": 1})(nothing)
    time_tasks("Ray", lambda count: ray.get([remote.remote(number) for number in range(count)]))
    ray.shutdown()


def main() -> None:
    """Runs what the command line names."""
    what, workers = next(iter(sys.argv[1:]), "run"), int(next(iter(sys.argv[2:]), "4"))
    {"run": runs, "tasks": tasks_of_dask, "ray": tasks_of_ray}[what](workers)


if __name__ == "__main__":
    main()
