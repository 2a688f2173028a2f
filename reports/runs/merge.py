"""Several shards of one run into one record, or searches with different seeds.

Shards must have run the same code under the same options: one of an older build would bring old results, in which what fails since then still passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from dmlcts.reports.record.policies import POLICIES
from dmlcts.reports.record.record import SEARCH, Manifest, Record
from dmlcts.reports.record.verdict import count_of


class MergeError(ValueError):
    """The records are not the shards of one run; the message says what differs or is missing."""


_SAME = (
    "suite_version",
    "spec_version",
    "backend_spec",
    "level",
    "basis",
    "feature_level",
    "seed",
    "selection",
    "required",
    "left_out",
    "waivers",
)
"""Manifest entries that must be equal in all shards of a run."""

_SAME_BACKEND = ("name", "version", "feature_level", "operators", "data_types", "validates", *POLICIES)
"""Entries of the backends' descriptions that must be equal; the device may differ between machines."""


def merge(records: Sequence[Record]) -> Record:
    """One record of all shards: every result once, times from the first start to the last end, seconds added up.

    Random searches are alike but for their seeds, of which each is there once.

    Raises:
        MergeError: there are none, the manifests disagree, the shards ran other code or options, a shard is missing or given twice, or two shards
            have the same case.
    """
    if not records:
        raise MergeError("no records to merge")
    first = records[0].manifest
    search = first.level == SEARCH
    for record in records[1:]:
        for name in _SAME:
            if search and name == "seed":
                continue
            if getattr(record.manifest, name) != getattr(first, name):
                values = f"{getattr(first, name)!r} and {getattr(record.manifest, name)!r}"
                raise MergeError(f"not shards of one run: {name} is {values}")
        for name in _SAME_BACKEND:
            if record.manifest.backend.get(name) != first.backend.get(name):
                values = f"{first.backend.get(name)!r} and {record.manifest.backend.get(name)!r}"
                raise MergeError(f"not shards of one run: the backends differ, {name} is {values}")
    _check_code([record.manifest for record in records])
    if search:
        _check_seeds([record.manifest.seed for record in records])
    else:
        _check_shards([record.manifest.shard for record in records])
    results = [result for record in records for result in record.results]
    if len({result.case for result in results}) != len(results):
        raise MergeError("two shards have the same case")
    manifests = [record.manifest for record in records]
    manifest = replace(
        first,
        shard="",
        seed=", ".join(m.seed for m in manifests) if search else first.seed,
        started=min(m.started for m in manifests),
        finished=max(m.finished for m in manifests),
        seconds=sum(m.seconds for m in manifests),
        selected=sum(m.selected for m in manifests),
        interrupted=any(m.interrupted for m in manifests),
        unused_waivers=_unused_in_all(manifests),
        unlisted=_unlisted_operators(manifests),
        stopped="; ".join(dict.fromkeys(m.stopped for m in manifests if m.stopped)),
        stopped_operators={name: why for m in manifests for name, why in m.stopped_operators.items()},
        resumed=sorted({time for m in manifests for time in m.resumed}),
        further=dict(sum((Counter(m.further) for m in manifests), Counter())),
        command=f"dmlcts merge, of {len(records)} {'searches' if search else 'shards'}",
    )
    return Record(manifest, tuple(results))


LONGEST_APART = timedelta(days=1)
"""Shards of one run start together, or wait hours for a machine. Whose starts are further apart may be of several runs."""


def far_starts(records: Sequence[Record]) -> str:
    """A sentence about shards whose starts are far apart, empty if they are not: one may be left from an older run. Searches may be of any time."""
    manifests = [record.manifest for record in records if record.manifest.level != SEARCH]
    if len(manifests) < 2:
        return ""
    first, last = (choose(manifests, key=_start_time) for choose in (min, max))
    if (distance := _start_time(last) - _start_time(first)) <= LONGEST_APART:
        return ""
    return (
        f"shard {first.shard} began at {first.started} and shard {last.shard} at {last.started}, {count_of(distance.days, 'day')} apart: "
        "is one left from an older run?"
    )


def _start_time(manifest: Manifest) -> datetime:
    return datetime.fromisoformat(manifest.started)


def _check_code(manifests: Sequence[Manifest]) -> None:
    """Raises MergeError if shards ran other code or options: what `inputs` is a hash of, or another DLL."""
    for name, what, value in _CODE:
        shards: dict[str, list[str]] = {}
        for manifest in manifests:
            shards.setdefault(value(manifest), []).append(manifest.shard or f"seed {manifest.seed}")
        if len(shards) > 1:
            found = " and ".join(f"{value or 'unknown'} in {', '.join(names)}" for value, names in shards.items())
            raise MergeError(
                f"not shards of one run: {name} is {found}; {what} must be the same in all, or a shard of an older build hides what fails since "
                "then: run these shards again, with one build"
            )


_CODE: tuple[tuple[str, str, Callable[[Manifest], str]], ...] = (
    (
        "inputs",
        "the waivers, the case files, --timeout, and the backend's module, or its program and script,",
        lambda manifest: manifest.inputs,
    ),
    ("the DLL's sha256", "the DLL", lambda manifest: str(manifest.backend.get("details", {}).get("sha256", ""))),
)
"""What tells the code of one build from that of another: the entry, what it stands for, and its value."""


def _check_seeds(seeds: Sequence[str]) -> None:
    """Raises MergeError if a search is there twice, also as a part of one that was merged before."""
    known = Counter(seed for row in seeds for seed in row.split(", "))
    if twice := [seed for seed, number in known.items() if number > 1]:
        raise MergeError(f"a search is given twice: seed {', '.join(twice)}; give each machine a seed of its own")


def _unlisted_operators(manifests: Sequence[Manifest]) -> list[str]:
    """The operators that a shard lacks; of searches, those that none came to."""
    found = dict.fromkeys(name for manifest in manifests for name in manifest.unlisted)
    return [name for name in found if manifests[0].level != SEARCH or all(name in m.unlisted for m in manifests)]


def _unused_in_all(manifests: Sequence[Manifest]) -> tuple[str, ...]:
    """The waivers that match a case in none of the shards."""
    return tuple(pattern for pattern in manifests[0].unused_waivers if all(pattern in m.unused_waivers for m in manifests))


def _check_shards(shards: Sequence[str]) -> None:
    parts = [shard.partition("/") for shard in shards]
    counts = {count for _, _, count in parts}
    if len(counts) != 1 or "" in counts:
        raise MergeError(f"not shards of one run: {', '.join(shard or 'a whole run' for shard in shards)}")
    count = int(counts.pop())  # the schema of results files holds it to four digits
    if wrong := [shard for shard, (index, _, _) in zip(shards, parts, strict=True) if int(index) > count]:
        raise MergeError(f"not a shard: {wrong[0]}")
    missing = sorted({str(i) for i in range(1, count + 1)} - {index for index, _, _ in parts}, key=int)
    if missing:
        raise MergeError(f"shards are missing: {', '.join(missing)}")
    if len(shards) != len(set(shards)):
        raise MergeError(f"a shard is given twice: {', '.join(shards)}")
