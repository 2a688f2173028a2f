"""What a record may say about itself: operators that exist, and entries that agree with each other.

The schema of records holds the names of levels, bases, kinds, data types and feature levels. What a run cannot have written is refused, so that no
report repeats it. Only what is left out cannot be seen: a record of all operators but some is called a selection, and not the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from dmlcts.reports.record.record import (
    BEYOND_OPERATORS,
    NEGATIVE,
    PASS,
    REPLAY,
    SEARCH,
    SEQUENCE,
    SEQUENCES,
    UNEXPECTED_PASS,
    WAIVED,
    Manifest,
    Record,
    RecordError,
    Result,
)
from dmlcts.reports.record.verdict import count_of
from dmlcts.spec.model.abi import abi, feature_level, first_level
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.loader import load, operator_names

_NO_CLAIM = {"smoke", SEARCH, REPLAY}
"""Levels that need not have a case of every operator."""


def checked_record(record: Record, place: str) -> Record:
    """The record, if a run can have written it; as a selection, if it lacks operators of which the level has cases.

    Raises:
        RecordError: it names what does not exist, or contradicts itself; ``place`` is its file or folder, for the message.
    """
    known = set(operator_names())
    for problem in _wrong_manifest(record.manifest, known):
        raise RecordError(f"{place}: the manifest: {problem}")
    for result in record.results:
        for problem in _wrong_result(result, record.manifest, known):
            raise RecordError(f"{place}: the result of {result.case}: {problem}")
    return _name_record(record)


def _wrong_manifest(manifest: Manifest, known: set[str]) -> Iterator[str]:
    """What no run writes there."""
    backend = manifest.backend
    reported = backend.get("feature_level", manifest.feature_level)
    if feature_level(manifest.feature_level) > feature_level(reported):
        yield f"it has feature level {manifest.feature_level}, but its backend reports {reported}"
    required = {requirement.partition("/")[0] for requirement in manifest.required} - {"*", "validation", *BEYOND_OPERATORS}
    if unknown := sorted({*backend.get("operators", ()), *required} - known - abi().operator_types.keys()):
        yield f"there is no operator {unknown[0]}; use the version of the suite that wrote it"
    index, _, count = manifest.shard.partition("/")
    if manifest.shard and int(index) > int(count):
        yield f"there is no shard {manifest.shard}"
    if manifest.further and manifest.level != SEARCH:
        yield f"a run of level {manifest.level} keeps all its results, so it has no further ones"
    for status in (WAIVED, UNEXPECTED_PASS):
        if status in manifest.further and not manifest.waivers:
            yield f"it counts results with the status {status}, but the run had no waivers"
    for time in filter(None, (manifest.started, manifest.finished, *manifest.resumed)):
        if not _is_time(time):
            yield f"{time!r} is no time in ISO 8601 with a zone, such as 2027-03-01T10:00:00Z"


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _wrong_result(result: Result, manifest: Manifest, known: set[str]) -> Iterator[str]:
    """What no run with this manifest writes there."""
    if BEYOND_OPERATORS.get(result.operator, "") != (result.kind if result.kind in BEYOND_OPERATORS.values() else ""):
        yield f"a result of kind {result.kind} is none of {result.operator}"
    elif result.operator not in known and not result.is_beyond:
        yield f"there is no operator {result.operator}; use the version of the suite that ran it"
    if result.status == PASS and (result.wrong or result.mismatches):
        yield f"it passed with {result.wrong} wrong elements"
    if result.status in (WAIVED, UNEXPECTED_PASS) and not manifest.waivers:
        yield f"it has the status {result.status}, but the run had no waivers"
    if result.undeclared and not _EXCLUDED[result.undeclared](result, manifest.backend):
        yield f"it is unsupported as the backend's description excludes it ({result.undeclared}), which that does not"
    if not manifest.selection:
        yield from _selected_by_name(result, manifest)


_EXCLUDED: dict[str, Callable[[Result, Mapping[str, Any]], bool]] = {
    "operator": lambda result, backend: result.operator not in (backend.get("operators") or [result.operator]),
    "data type": lambda result, backend: bool(backend.get("data_types")),
    "validation": lambda result, backend: result.kind == NEGATIVE and not backend.get("validates", True),
    "memory": lambda result, backend: True,
    SEQUENCES: lambda result, backend: result.kind == SEQUENCE or result.is_beyond,
}
"""Whether a description excludes a case, by what a result says that it excludes."""


def _selected_by_name(result: Result, manifest: Manifest) -> Iterator[str]:
    """What only a case has that was selected by name."""
    if not result.case.startswith(f"{result.operator}/"):
        yield f"it is of another operator, {result.operator}"
    if feature_level(result.feature_level) > feature_level(manifest.feature_level):
        yield f"it is of feature level {result.feature_level}, and the run of {manifest.feature_level}"
    if result.is_beyond:
        if result.basis != DOCUMENTED:
            yield f"it is {result.basis}, and every {result.kind} is documented"
    elif result.basis != DOCUMENTED and manifest.basis == DOCUMENTED and not load(result.operator).is_measured_alone:
        yield f"it is {result.basis}, and the run has documented cases alone"


def _name_record(record: Record) -> Record:
    """The record, with a name for what it has where a whole run would have more operators."""
    manifest = record.manifest
    if manifest.selection or manifest.shard not in ("", "1/1") or manifest.level in _NO_CLAIM:
        return record
    at, found = feature_level(manifest.feature_level), {result.operator for result in record.results} | set(manifest.unlisted)
    lacking = [name for name in operator_names() if name not in found and first_level(name) <= at]
    if len(lacking) <= _FEW:  # of some, no table is in force at the level that added them; to load all specs takes long
        lacking = [name for name in lacking if any(load(name).tables(at))]
    if not lacking:
        return record
    text = f"all operators but {', '.join(lacking)}" if len(lacking) <= _SHOWN else f"{count_of(len(found), 'operator')} alone"
    return replace(record, manifest=replace(manifest, selection=text))


_SHOWN, _FEW = 3, 10
"""So many lacking operators are named; of so many, the specs are looked at."""
