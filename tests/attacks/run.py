"""Attacks on the suite: ``python tests/attacks/run.py [-k CLASS] [-n N] [NAME...]`` tries them and prints what held, by class.

Exits 1 if anything is broken. ``-k`` selects classes by a part of their name, NAME attacks by a part of theirs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby
from pathlib import Path

from attack import Attack, tried, tried_together

TABLES = sorted(file.stem for file in (Path(__file__).parent / "tables").glob("*.py") if not file.stem.startswith("_"))


def attacks(classes: str = "", names: tuple[str, ...] = ()) -> Iterator[tuple[str, Attack]]:
    """Each attack with its class."""
    for table in TABLES:
        if classes in table:
            for attack in importlib.import_module(f"tables.{table}").ATTACKS:
                if not names or any(name in attack.name for name in names):
                    yield table, attack


TOGETHER = 16
"""So many attacks share a process, where they may."""


def verdict(attack: Attack) -> list[str]:
    """What is broken. Of a self-check: that nothing was."""
    broken = tried(attack)
    return (
        [] if attack.self_check and broken else ["a self-check: the engine finds nothing broken"] if attack.self_check else broken
    )


def verdicts(group: Sequence[Attack]) -> list[list[str]]:
    """What is broken about each attack of a group."""
    return tried_together(group) if group[0].together else [verdict(attack) for attack in group]


def grouped(rows: Sequence[tuple[str, Attack]]) -> Iterator[list[tuple[str, Attack]]]:
    """Groups that run in one go: attacks that may share a process, each other one alone."""
    for (_, together), members in groupby(rows, key=lambda row: (row[0], row[1].together)):
        yield from batched(members, TOGETHER if together else 1)


def batched(rows: Iterable[tuple[str, Attack]], most: int) -> Iterator[list[tuple[str, Attack]]]:
    rows = list(rows)
    return (rows[start : start + most] for start in range(0, len(rows), most))


def main() -> int:
    """Tries what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("-k", dest="classes", default="", metavar="CLASS")
    parser.add_argument("-n", dest="processes", type=int, default=2, metavar="N", help="so many at once")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print each attack with its time")
    given = parser.parse_args()
    chosen = list(attacks(given.classes, tuple(given.names)))
    tried_, broken_ = Counter(table for table, _ in chosen), Counter[str]()

    def timed(group: list[tuple[str, Attack]]) -> list[tuple[str, Attack, list[str], float]]:
        began = time.monotonic()
        found = verdicts([attack for _, attack in group])
        seconds = (time.monotonic() - began) / len(group)
        return [(table, attack, broken, seconds) for (table, attack), broken in zip(group, found, strict=True)]

    with ThreadPoolExecutor(given.processes) as pool:
        for table, attack, broken, seconds in chain.from_iterable(pool.map(timed, grouped(chosen))):
            broken_[table] += bool(broken)
            if given.verbose or broken:
                print(f"{'BROKEN' if broken else 'held'} {seconds:5.1f} s  {table}: {attack.name}", flush=True)
            for problem in broken:
                print(f"        {problem}", flush=True)
    print(f"\n{'class':24}{'tried':>7}{'held':>7}{'broken':>8}")
    for table, count in (*tried_.items(), ("all", tried_.total())):
        wrong = broken_.total() if table == "all" else broken_[table]
        print(f"{table:24}{count:7}{count - wrong:7}{wrong:8}")
    return 1 if broken_.total() or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
