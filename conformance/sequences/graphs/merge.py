"""Searches among graphs on several machines, each with a seed of its own, as one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from dmlcts.conformance.sequences.graphs.many import RESULTS, Found
from dmlcts.conformance.sequences.graphs.reached import Reached
from dmlcts.conformance.sequences.graphs.search import Cause, Failure, Tally


class MergeError(Exception):
    """Searches that cannot be read, or do not belong together; the message says which and why."""


def is_search(path: Path) -> bool:
    """Whether a path is the output folder of a search among graphs, or its results file."""
    return path.name == RESULTS or (path / RESULTS).is_file()


def merge_searches(paths: Sequence[Path]) -> Found:
    """What all of the searches found: failures with one cause together, each kernel once.

    Raises:
        MergeError: a file cannot be read, or two searches are of other implementations, other versions of the suite or the same seed.
    """
    each = [_read(path) for path in paths]
    first = each[0]
    found = Found(first.implementation, (), Tally(), complete=all(search.complete for search in each))
    for path, search in zip(paths, each, strict=True):
        if search.implementation != first.implementation:
            raise MergeError(f"{paths[0]} is a search on {first.implementation}, and {path} one on {search.implementation}")
        if search.suite_version != first.suite_version:
            raise MergeError(f"{paths[0]} is of version {first.suite_version} of the suite, and {path} of {search.suite_version}")
        if twice := set(search.seeds) & set(found.seeds):
            raise MergeError(f"{path} has seed {min(twice)}, as another has: the same graphs; give each machine a seed of its own")
        found.seeds = (*found.seeds, *search.seeds)
        found.tally.add(search.tally)
    for cause in found.tally.causes:
        cause.labels = list(dict.fromkeys(cause.labels))  # families are in every search
        cause.failures = list({failure.label: failure for failure in cause.failures}.values())
    return found


def _read(path: Path) -> Found:
    file = path / RESULTS if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MergeError(f"{file} cannot be read: {error}") from None
    try:
        return _search_in(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MergeError(f"{file} has not what a search writes (`dmlcts fuzz --graphs`): {type(error).__name__} {error}") from None


def _search_in(data: dict[str, Any]) -> Found:
    """The results of a search. Raises what a file that is none makes of them."""
    names = {field.name for field in fields(Failure)}
    causes = []
    for title, known in data["symptoms"].items():
        labels = data["causes"].get(title) or data["operators"][title]
        failures = [
            Failure(**{name: value for name, value in failure.items() if name in names})
            for failure in data["failures"]
            if failure["cause"] == title
        ]
        causes.append(Cause(str(known["symptom"]), frozenset(known["operators"]), list(labels), failures))
    tally = Tally(
        int(data["graphs"]),
        int(data["passed_nodes"]),
        int(data["judged"]),
        Counter({str(name): int(count) for name, count in data["nodes"].items()}),
        Counter({str(name): int(count) for name, count in data["statuses"].items()}),
        causes,
        Reached({(str(name), int(groups)) for name, groups in data["forms"]}),
    )
    seeds = tuple(int(seed) for seed in data["seeds"])
    return Found(str(data["implementation"]), seeds, tally, bool(data["complete"]), str(data["suite_version"]))
