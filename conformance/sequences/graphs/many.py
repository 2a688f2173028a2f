"""A search for failing graphs in several processes, and what it writes: graphs.json, a page, a file for each failing graph."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.sequences.graphs.reached import Reached
from dmlcts.conformance.sequences.graphs.search import BY_ITSELF, Cause, Tally, search
from dmlcts.generator.suite.graphs.families import FAMILIES, TYPES
from dmlcts.reports.formats.graphs import write_page
from dmlcts.reports.record.files import file_name, write_text

RESULTS, PAGE, GRAPHS = "graphs.json", "index.html", "graphs"
"""The files of a search, and the folder of its failing graphs."""

_PART = 50
"""Graphs that a process runs at a time."""

Progress = Callable[[BackendInfo, Tally], None]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Other processes, here or on other machines: the backend as one of them describes it, and what has them call a function for each item, results as they come."""

    info: BackendInfo
    run_each: Callable[[Callable[[Any], Tally], Iterator[Any]], Iterator[Tally]]


def search_graphs(
    spec: str,
    seed: int,
    names: Sequence[str],
    until: float,
    most: int | None,
    processes: int,
    timeout: float,
    progress: Progress,
    elsewhere: Elsewhere | None = None,
) -> tuple[BackendInfo, Tally, bool]:
    """Searches until a time (of ``monotonic``), or so many graphs have run. Gives the description, what was found, and whether it ended by itself.

    ``elsewhere`` is where others do it. Ctrl-C ends it in order. Raises BackendUnavailable, and whatever a backend in this process raises that no outcome stands for.
    """
    if elsewhere is None and processes > 1:
        elsewhere = _processes_of(spec, processes)
    if elsewhere is not None:
        return _search_elsewhere(elsewhere, spec, seed, names, until, most, timeout, progress)
    backend = open_backend(spec)
    found, complete = Tally(), True
    try:
        info = backend.describe()
        try:
            for part in _parts(most, not names):
                found.add(search(backend, info, seed, iter(part), names, until, timeout, found.causes, found.reached))
                progress(info, found)
                if monotonic() > until:
                    break
        except KeyboardInterrupt:
            complete = False
    finally:
        backend.close()
    return info, found, complete


def _search_elsewhere(
    elsewhere: Elsewhere,
    spec: str,
    seed: int,
    names: Sequence[str],
    until: float,
    most: int | None,
    timeout: float,
    progress: Progress,
) -> tuple[BackendInfo, Tally, bool]:
    """The same in other processes, each of which opens the backend for each part."""
    found = Tally()

    def parts() -> Iterator[_Part]:
        for numbers in _parts(most, not names):
            if monotonic() > until:
                return
            yield _Part(spec, seed, numbers, tuple(names), until - monotonic(), timeout, found.causes, found.reached)

    try:
        for tally in elsewhere.run_each(search_part, parts()):
            found.add(tally)
            progress(elsewhere.info, found)
    except KeyboardInterrupt:
        return elsewhere.info, found, False
    return elsewhere.info, found, True


def _parts(most: int | None, with_families: bool) -> Iterator[range]:
    """The numbers of graphs, a part at a time: the families first."""
    if with_families:
        yield range(-len(FAMILIES) * len(TYPES), 0)
    for first in count(0, _PART):
        if most is not None and first >= most:
            return
        yield range(first, first + _PART if most is None else min(first + _PART, most))


def _processes_of(spec: str, processes: int) -> Elsewhere:
    """So many processes of this machine. Raises BackendUnavailable."""
    backend = open_backend(spec)
    try:
        info = backend.describe()
    finally:
        backend.close()  # a device may allow only one user
    return Elsewhere(info, partial(_run_in_processes, processes))


def _run_in_processes(processes: int, function: Callable[[Any], Tally], items: Iterator[Any]) -> Iterator[Tally]:
    """What a function gives for each item, as it comes; an item is made when a process is free for it."""
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        running: set[Future[Tally]] = set()
        while True:
            while len(running) < processes and (item := next(items, None)) is not None:
                running.add(pool.submit(function, item))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


@dataclass(frozen=True, slots=True)
class _Part:
    """What a process is to search: the numbers of graphs, for how many seconds, and what is known of causes and kernels."""

    spec: str
    seed: int
    numbers: range
    names: tuple[str, ...]
    seconds: float
    timeout: float
    known: Sequence[Cause]
    reached: Reached


def search_part(part: _Part) -> Tally:
    """One part, in a process of its own."""
    backend, until = open_backend(part.spec), monotonic() + part.seconds
    try:
        info = backend.describe()
        return search(backend, info, part.seed, iter(part.numbers), part.names, until, part.timeout, part.known, part.reached)
    finally:
        backend.close()


def rank_causes(found: Tally) -> list[Cause]:
    """The causes of failures: those of graphs first, the most frequent first."""
    return sorted(found.causes, key=lambda cause: (cause.symptom.endswith(BY_ITSELF), -len(cause.labels)))


@dataclass(slots=True)
class Found:
    """What a search found, or several: on which implementation, with which seeds, and whether it ended by itself."""

    implementation: str
    seeds: tuple[int, ...]
    tally: Tally
    complete: bool
    suite_version: str = field(default_factory=lambda: version("directml-conformance"))


def may_write_to(out: Path) -> bool:
    """Whether results may be written to a folder: it is not there yet, is empty, or has those of an older search."""
    return not out.exists() or (out.is_dir() and ((out / RESULTS).is_file() or not any(out.iterdir())))


def name_of(info: BackendInfo) -> str:
    """An implementation's name, version and device."""
    return " ".join(filter(None, (info.name, info.version, info.device and f"on {info.device}")))


def write_results(found: Found, out: Path) -> None:
    """Writes what a search found into a folder. Raises WriteError."""
    tally, causes = found.tally, rank_causes(found.tally)
    data: dict[str, Any] = {
        "implementation": found.implementation,
        "suite_version": found.suite_version,
        "seeds": found.seeds,
        "complete": found.complete,
        "graphs": tally.graphs,
        "passed_nodes": tally.passed_nodes,
        "judged": tally.judged,
        "kernels": tally.reached.kernels,
        "statuses": dict(sorted(tally.statuses.items())),
        "causes": {cause.title: cause.labels for cause in causes if not cause.symptom.endswith(BY_ITSELF)},
        "operators": {cause.title: cause.labels for cause in causes if cause.symptom.endswith(BY_ITSELF)},
        "symptoms": {cause.title: {"symptom": cause.symptom, "operators": sorted(cause.operators)} for cause in causes},
        "nodes": dict(sorted(tally.nodes.items())),
        "failures": [asdict(failure) | {"cause": cause.title} for cause in causes for failure in cause.failures],
        "forms": sorted(tally.reached.forms),
    }
    (out / GRAPHS).mkdir(parents=True, exist_ok=True)
    write_text(out / RESULTS, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    for failure in tally.failures:
        name = file_name("-".join(re.findall("[A-Za-z0-9]+", failure.label)), ".json")
        write_text(out / GRAPHS / name, json.dumps(failure.graph, ensure_ascii=False) + "\n")
    write_page(data, out / PAGE)


def progress_line(found: Tally) -> str:
    """How many graphs ran, with which status, and how many kernels they reached."""
    statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(found.statuses.items())) or "none ran"
    kernels = f"; {found.reached.kernels:,} kernels" if found.reached.forms else ""
    return f"{found.graphs:,} graphs: {statuses}{kernels}"


def summary_lines(found: Tally) -> Iterator[str]:
    """What a search found, as text: how many graphs ran, and each cause with the first of its simplest graphs."""
    yield progress_line(found)
    for cause in rank_causes(found):
        yield f"{len(cause.labels):6,}  {cause.title}"
        yield from (f"        {failure.label}: {failure.message}" for failure in cause.failures[:1])


def exit_code(statuses: Mapping[str, int]) -> int:
    """0 where nothing failed; 1 where a graph failed, or none passed; 4 where nothing failed and one is unsupported."""
    if statuses.get("fail") or statuses.get("error") or not statuses.get("pass"):
        return 1
    return 4 if statuses.get("unsupported") else 0
