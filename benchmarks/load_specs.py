"""How long spec files take to load: ``python benchmarks/load_specs.py [--rounds N]``.

The spec files of the package and of the tests are copied until there are 50, 100 and 200 of them. Prints, as medians of processor time:
milliseconds a file at each number, the ratio of the time for 200 files to that for 50 (4 is linear), the ratio to reading the same files
with PyYAML's C loader alone, and the slowest file. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import process_time

import yaml

from dmlcts.spec.model.expression import compile_expression
from dmlcts.spec.reading.loader import load_file, operators_folder

NUMBERS = (50, 100, 200)
FIXTURES = Path(__file__).parents[1] / "tests" / "data" / "operators"


def load(file: Path) -> None:
    """Loads a file as the first of its kind: copies must not find their expressions compiled."""
    compile_expression.cache_clear()
    load_file(file)


def load_plainly(file: Path) -> None:
    """What reading the YAML costs at least."""
    yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def seconds(files: list[Path], read: Callable[[Path], None]) -> float:
    """The processor time that reading all files takes: what else the machine does is not counted."""
    start = process_time()
    for file in files:
        read(file)
    return process_time() - start


def copies(folder: Path, sources: list[Path], number: int) -> list[Path]:
    """``number`` files in the folder, each below a folder of its own as its name must be its operator's."""
    found = []
    for index, source in enumerate(islice(cycle(sources), number)):
        target = folder / str(index) / source.name
        target.parent.mkdir()
        shutil.copyfile(source, target)
        found.append(target)
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=9, help="of which the median is taken (default: 9)")
    rounds = range(parser.parse_args().rounds)
    sources = sorted([*operators_folder().rglob("*.yaml"), *FIXTURES.glob("*.yaml")])
    with tempfile.TemporaryDirectory() as folder:
        files = copies(Path(folder), sources, max(NUMBERS))
        load(files[0])  # the schema and the ABI are read once a process
        times = {number: median(seconds(files[:number], load) for _ in rounds) for number in NUMBERS}
        plain = median(seconds(files, load_plainly) for _ in rounds)
    each = {source: seconds([source] * len(rounds), load) / len(rounds) for source in sources}
    slowest = max(sources, key=lambda source: each[source])
    for number, total in times.items():
        print(f"{number:4} files: {1000 * total / number:.2f} ms a file")
    print(f"{NUMBERS[-1]} files to {NUMBERS[0]}: {times[NUMBERS[-1]] / times[NUMBERS[0]]:.2f} times the time")
    print(f"to PyYAML's C loader alone: {times[NUMBERS[-1]] / plain:.2f} times the time")
    print(f"slowest: {slowest.name}, {1000 * each[slowest]:.2f} ms on average")


if __name__ == "__main__":
    main()
