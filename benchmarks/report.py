"""How long a report takes, and how large its page is: ``python benchmarks/report.py [--keep FOLDER] [--results N]``.

Prints, as medians of five: the time of ``write_all`` for 100,000 results; its ratio to 10,000 results (10 is linear); its ratio to
``json.dumps`` of the same results, the least that writing them once can cost; the size of the page that a browser loads at the start.
Nothing is asserted: a machine under load is no failure.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from dmlcts.reports import write_all
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Mismatch,
    Record,
    Result,
    result_json,
)

OPERATORS = 177
TYPES = ("FLOAT16", "FLOAT32", "FLOAT64", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")
KINDS = ("table", "values", "layout", "property", "negative", "example", "in-place", "boundary")
FAMILIES = ("ELEMENT_WISE_BIT", "ACTIVATION", "REDUCE", "CONVOLUTION", "QUANTIZED_LINEAR", "BATCH_NORMALIZATION_TRAINING")
SHARES = {PASS: 90, FAIL: 1.5, ERROR: 0.4, UNEXPECTED_PASS: 0.1, WAIVED: 1, UNSUPPORTED: 6, NOT_RUN: 1}
"""How many of a hundred results have each status."""


def synthetic(number: int, operators: int = OPERATORS, shares: dict[str, float] | None = None) -> Record:
    """A record of ``number`` results over many operators and data types, the same each time."""
    chance = random.Random(number)
    names = [f"{FAMILIES[i % len(FAMILIES)]}_{i:03}" for i in range(operators)]
    wanted = shares or SHARES
    statuses = chance.choices(list(wanted), list(wanted.values()), k=number)
    results = [_result(i, names[i * operators // number], status, chance) for i, status in enumerate(statuses)]
    backend = {
        "name": "synthetic",
        "version": "1.2.3",
        "device": "a device that nobody has",
        "feature_level": "6_4",
        "denormals": "flush",
    }
    manifest = Manifest(
        suite_version="0.1.0", spec_version="1", backend=backend, backend_spec="python:synthetic:Backend",
        command="dmlcts run --backend python:synthetic:Backend --level full", level="full", basis="measured", feature_level="6_4", seed="0",
        platform={"system": "Linux", "release": "6.1", "machine": "x86_64", "python": "3.11.2"},
        started="2026-01-02T03:04:05+00:00", finished="2026-01-02T03:24:05+00:00", seconds=1200.0, selected=number,
    )  # fmt: skip
    return Record(manifest, tuple(results))


def _result(number: int, operator: str, status: str, chance: random.Random) -> Result:
    data_type, kind = TYPES[(number + len(operator)) % (2 + len(operator) % 10)], chance.choice(KINDS)
    case = f"{operator}/{data_type}/{chance.randint(1, 8)}d/{kind}-{number}"
    sizes = [1, chance.randint(1, 9), chance.randint(1, 99), 5]
    tensor = {"DataType": data_type, "Sizes": sizes}
    desc = {"Type": operator, "ATensor": tensor, "BTensor": tensor | {"Strides": [0, 5, 0, 1]}, "OutputTensor": tensor}
    common = {
        "case": case, "operator": operator, "data_type": data_type, "kind": kind, "feature_level": "6_4", "status": status, "desc": desc,
        "basis": chance.choices(("documented", "measured", "contested"), (90, 8, 2))[0], "seconds": chance.random() / 100,
        "repro": f"dmlcts repro {case} --backend python:synthetic:Backend",
    }  # fmt: skip
    if status in (PASS, UNEXPECTED_PASS):
        return Result(**common, worst_ulp=round(chance.random(), 3), grade="correctly rounded" if chance.random() < 0.5 else "")
    if status in (UNSUPPORTED, NOT_RUN):
        return Result(**common, message=f"{data_type} is not claimed" if status == UNSUPPORTED else "")
    if status == ERROR:
        output = {"output": "Traceback (most recent call last):\n" + "  somewhere, something\n" * 8, "exit code": -11}
        return Result(**common, message="the process ended with signal 11 (SIGSEGV)", evidence=output)
    elements = sizes[1] * sizes[2] * 5
    wrong = chance.randint(1, elements)
    first = tuple(
        Mismatch("OutputTensor", (0, 0, i, 4), f"{chance.random():.8g}", f"{chance.random():.8g}", chance.random() * 1e4, "1 ULP")
        for i in range(min(wrong, 5))
    )
    return Result(
        **common, message=f"{wrong} of {elements} elements are wrong, by up to {first[0].ulp:.0f} ULP", mismatches=first, wrong=wrong,
        elements=elements, worst_ulp=1e4, waiver="issue 12: rounds the wrong way" if status == WAIVED else "",
    )  # fmt: skip


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The median time of ``work``."""
    found = []
    for _ in range(times):
        start = perf_counter()
        work()
        found.append(perf_counter() - start)
    return median(found)


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--results", type=int, default=100_000)
    options.add_argument("--keep", type=Path, help="write the report here and stop, so that it can be looked at")
    given = options.parse_args()
    record = synthetic(given.results)
    if given.keep:
        print(write_all(record, given.keep))
        return
    tenth = synthetic(given.results // 10)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = seconds(lambda: write_all(tenth, folder / "tenth"))
        large = seconds(lambda: write_all(record, folder / "whole"))
        plain = seconds(lambda: [json.dumps(result_json(result)) for result in record.results])
        index = (folder / "whole" / "index.html").stat().st_size
        data = sum(file.stat().st_size for file in (folder / "whole" / "data").iterdir())
        sizes = {
            file.name: file.stat().st_size / 1e6
            for file in sorted((folder / "whole").iterdir())
            if file.suffix != ".html" and file.is_file()
        }
    print(f"write_all, {len(record.results):,} results: {large:.2f} s")
    print(f"ratio to {len(tenth.results):,} results: {large / small:.1f}")
    print(f"ratio to json.dumps of the same results: {large / plain:.1f}")
    print(
        f"index.html: {index / 1e6:.3f} MB; data: {data / 1e6:.1f} MB; "
        + "; ".join(f"{n}: {size:.1f} MB" for n, size in sizes.items())
    )


if __name__ == "__main__":
    main()
