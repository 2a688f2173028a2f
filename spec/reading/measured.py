"""Measurements: one file in ``spec/measured`` for each implementation and device, written by ``dmlcts probe --write``, never by hand.

The head holds what is common to all operators: implementation, date and command. ``usual`` lists the differences that many operators have;
``*`` stands for each of their tensors. An operator's entry has its figures and its deviations from the usual: an entry about the same thing
replaces the usual one, and ``not`` lists usual differences that it does not have.

``spec/measured/census`` has a file for each operator that real networks dispatch, written by ``dmlcts census --spec``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.measurement import MeasuredDifference, Measurement, types_of
from dmlcts.spec.reading.document import Document, parse, read
from dmlcts.spec.reading.schema import validate

LISTS = {"accepts": "rule", "refuses": "what", "unknown": "what"}
"""The lists of differences, and the key that names an entry's subject."""

OF_ALL = ("date", "level", "suite")
"""What an operator's entry has only where it differs from the head."""


def measurements_of(folder: Path, operator: str, tensors: Sequence[str]) -> tuple[Measurement, ...]:
    """An operator's measurements in the files of a folder; ``tensors`` are its tensor fields. Raises SpecError."""
    documents = (document(file) for file in measured_files(folder))
    return tuple(measurement(found, operator, tensors) for found in documents if operator in found.data["operators"])


@cache
def measured_files(folder: Path) -> tuple[Path, ...]:
    """The files of a folder of measurements, in a fixed order."""
    return tuple(sorted(folder.glob("*.yaml")))


@cache
def document(file: Path) -> Document:
    """A file of measurements, checked. Raises SpecError."""
    return validated_document(read(file), file)


def forget() -> None:
    """Clears the cache after a file was written."""
    measured_files.cache_clear()
    document.cache_clear()


def validated_document(text: str, file: Path | None = None) -> Document:
    """The text of a file of measurements, validated. Raises SpecError."""
    found = parse(text, file)
    validate(found, "dmlcts.spec", "measured")
    for operator, entry in found.data["operators"].items():
        at = ("operators", operator)
        if operator not in abi().operator_types:
            raise found.error(at, f"the ABI has no operator {operator}")
        if entry.get("confirmed", entry["cells"]) > entry["cells"]:
            raise found.error((*at, "confirmed"), f"{entry['confirmed']} of {entry['cells']} cells cannot be confirmed")
    return found


def measurement(found: Document, operator: str, tensors: Sequence[str]) -> Measurement:
    """A file's measurement of one operator."""
    head, entry = found.data, found.data["operators"][operator]
    usual = head.get("usual", {})
    excepted = set(entry.get("not", ()))
    lists = {
        key: tuple(_differences(usual.get(key, ()), entry.get(key, ()), what, tensors, excepted)) for key, what in LISTS.items()
    }
    return Measurement(
        by=head["by"],
        device=head.get("device", ""),
        **{key: entry.get(key, head[key]) for key in OF_ALL},
        command=f"{head['command']} {operator}",
        probes=entry["probes"],
        cells=entry["cells"],
        confirmed=entry.get("confirmed", entry["cells"]),
        rejections=entry.get("rejections", {}),
        accepts=lists["accepts"],
        refuses=lists["refuses"],
        unknown=lists["unknown"],
    )


def _differences(
    usual: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]], what: str, tensors: Sequence[str], excepted: set[str]
) -> Iterator[MeasuredDifference]:
    """An operator's own differences, then the usual ones that they do not replace."""
    known = {name for entry in own for name in expanded_subjects(entry[what], tensors)} | excepted
    for entry in own:
        yield from _of_each_tensor(entry, what, tensors)
    for entry in usual:
        yield from (found for found in _of_each_tensor(entry, what, tensors) if found.what not in known)


def expanded_subjects(what: str, tensors: Sequence[str]) -> list[str]:
    """The subjects of an entry: ``*`` stands for each of the tensors."""
    return [what.replace("*", tensor) for tensor in tensors] if "*" in what else [what]


def _of_each_tensor(entry: Mapping[str, Any], what: str, tensors: Sequence[str]) -> Iterator[MeasuredDifference]:
    """An entry of a list as differences: where it is about ``*``, one a tensor, which ``*`` stands for in the ways too."""
    types, message, waived = types_of(entry), entry.get("message", ""), entry.get("waived", False)
    ways = tuple(map(str, entry.get("ways", ())))
    for name in tensors if "*" in entry[what] else ("*",):
        yield MeasuredDifference(
            entry[what].replace("*", name), tuple(way.replace("*", name) for way in ways), types, message, waived
        )


def checked_census(text: str, file: Path) -> Document:
    """The text of a file of the census, validated. Raises SpecError."""
    found = parse(text, file)
    validate(found, "dmlcts.spec", "census")
    if found.data["operator"] not in abi().operator_types or found.data["operator"].lower() != file.stem:
        raise found.error(("operator",), f"the file {file.name} is about {file.stem.upper()}, as its name says")
    return found


@dataclass(frozen=True, slots=True)
class DispatchedKind:
    """A kind of dispatch in the census: its structure as text, how many dispatches all networks have of it, which networks, and the most
    frequent desc in the form of case files.
    """

    kind: str
    count: int
    networks: tuple[str, ...]
    desc: Mapping[str, Any]


@cache
def kinds_of(folder: Path, operator: str) -> tuple[DispatchedKind, ...]:
    """The kinds of an operator's dispatches that networks have, the most frequent first; none where no network has any.

    ``folder`` is that of measurements. Raises SpecError.
    """
    file = folder / "census" / f"{operator.lower()}.yaml"
    if not file.is_file():
        return ()
    kinds = checked_census(read(file), file).data["kinds"]
    return tuple(DispatchedKind(kind["kind"], kind["count"], tuple(kind["networks"]), kind["desc"]) for kind in kinds)


@cache
def census_networks(folder: Path) -> tuple[str, ...]:
    """The networks of the census by name. ``folder`` is that of measurements. Raises SpecError."""
    files = sorted((folder / "census").glob("*.yaml"))
    return tuple(sorted({name for file in files for kind in kinds_of(folder, file.stem.upper()) for name in kind.networks}))


def networks_of(folder: Path, operator: str) -> Mapping[str, int]:
    """The networks that dispatch an operator, by name, with how many kinds of its dispatches each has; none where no network does.

    ``folder`` is that of measurements. Raises SpecError.
    """
    return Counter(network for kind in kinds_of(folder, operator) for network in kind.networks)
