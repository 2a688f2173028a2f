"""How long a page of several runs takes, and how large it is: ``python benchmarks/runs.py [--runs N] [--results N] [--keep FOLDER]``.

Writes made-up runs of releases, in which a thousandth of the cases fail from some release to another, and prints the seconds of the wall and of all processors
of `dmlcts report RUNS...`, the memory of its largest process, and the size of the page. Nothing is asserted: a machine under load is no failure.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from dmlcts.reports.record.record import ERROR, FAIL, PASS, Manifest, Mismatch, Record, Result, write_record
from dmlcts.spec.model.abi import abi, feature_level, first_level
from dmlcts.spec.reading.loader import operator_names

TYPES = ("FLOAT32", "FLOAT16", "INT8", "UINT32")


def release(at: int, count: int, results: int, failing: dict[tuple[str, int], tuple[int, int]]) -> Record:
    """The run of one release: its feature level grows with its place."""
    levels = list(abi().feature_levels)
    level = levels[len(levels) - 1 - (count - 1 - at) * 5 // max(1, count)]
    names = [name for name in operator_names() if first_level(name) <= feature_level(level)]
    each = results // len(operator_names())
    found = tuple(_result(name, number, first_level(name).name, at, failing) for name in names for number in range(each))
    manifest = Manifest(
        suite_version="0", spec_version="1", backend={"name": "DirectML", "version": f"1.{at}", "device": "made up", "feature_level": level},
        backend_spec="directml", command="dmlcts run", level="core", basis="documented", feature_level=level, seed="", platform={},
        started=f"2026-01-{at + 1:02}T00:00:00Z", finished=f"2026-01-{at + 1:02}T01:00:00Z", seconds=3600.0, selected=len(found),
    )  # fmt: skip
    return Record(manifest, found)


def _result(name: str, number: int, level: str, at: int, failing: dict[tuple[str, int], tuple[int, int]]) -> Result:
    data_type = TYPES[number % len(TYPES)]
    case = f"{name}/{data_type}/4d/{number}x3x7x5/A-strided.B-broadcast-first/offset-256/slack-alignment/Alpha=0.5"
    first, last = failing.get((name, number), (1, 0))
    status = PASS if not first <= at <= last else ERROR if number % 3 == 0 else FAIL
    message = {PASS: "", FAIL: f"OutputTensor: {number} of 24 elements wrong", ERROR: "crashed: access violation"}[status]
    wrong = (Mismatch("OutputTensor", (0, number), "1.5", "2.0", 5000.0, "1 ULP"),) if status == FAIL else ()
    return Result(
        case, name, data_type, "combination", "documented", level, status, message, 0.01, mismatches=wrong, wrong=len(wrong), elements=24,
        repro=f"dmlcts run --case {case}",
    )  # fmt: skip


def measure(folder: Path, runs: int, results: int) -> None:
    """Writes the runs and their page, and prints the figures."""
    chance = random.Random(1)
    each = results // runs // len(operator_names())
    keys = [(name, number) for name in operator_names() for number in range(each)]
    failing = {
        key: tuple(sorted((chance.randrange(runs), chance.randrange(runs)))) for key in chance.sample(keys, len(keys) // 1000 + 1)
    }
    places = []
    total = 0
    for at in range(runs):
        record = release(at, runs, results // runs, failing)  # type: ignore[arg-type]
        total += len(record.results)
        places.append(folder / f"1.{at}")
        places[-1].mkdir(parents=True, exist_ok=True)
        write_record(record, places[-1] / "results.jsonl")
    command = [
        sys.executable,
        "-m",
        "dmlcts.conformance.commands.start",
        "report",
        *map(str, places),
        "--out",
        str(folder / "page"),
    ]
    began = perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = perf_counter() - began
    import resource  # not on Windows

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{total:,} results of {runs} runs: {seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of all processors")
    print(f"the largest process: {used.ru_maxrss / 1024:.0f} MB")
    print(f"the page: {(folder / 'page' / 'index.html').stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--results", type=int, default=500_000)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.keep:
        measure(given.keep, given.runs, given.results)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.runs, given.results)


if __name__ == "__main__":
    main()
