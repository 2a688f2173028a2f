"""What probes found: one file of ``spec/measured`` an implementation and device, which ``dmlcts probe --write`` writes and nobody by hand.

The head says what holds for all operators: who was measured, when, and by which command. ``usual`` are differences that most operators
have, ``*`` standing for each of their tensors. Of an operator stand the figures, and what is unlike the usual: an entry of its own about
the same thing takes the usual one's place, and ``not`` lists what is usual and was not found.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs

from dmlcts.spec.abi import abi
from dmlcts.spec.document import Document, parse, read, schema_error
from dmlcts.spec.measurement import Difference, Measurement

LISTS = {"accepts": "rule", "refuses": "what", "unknown": "what"}
"""The lists of differences, and the key under which an entry says what it is about."""

OF_ALL = ("date", "level", "suite")
"""What an operator's entry says only where it is unlike the head."""


def measurements_of(folder: Path, operator: str, tensors: Sequence[str]) -> tuple[Measurement, ...]:
    """What the files of a folder say about an operator with these tensor fields. Raises SpecError."""
    documents = (document(file) for file in measured_files(folder))
    return tuple(measurement(found, operator, tensors) for found in documents if operator in found.data["operators"])


@cache
def measured_files(folder: Path) -> tuple[Path, ...]:
    """The files of a folder of measurements, in a fixed order."""
    return tuple(sorted(folder.glob("*.yaml")))


@cache
def document(file: Path) -> Document:
    """A file of measurements, checked. Raises SpecError."""
    return checked(read(file), file)


def forget() -> None:
    """Called when a file was written: the next question reads the files anew."""
    measured_files.cache_clear()
    document.cache_clear()


def checked(text: str, file: Path | None = None) -> Document:
    """The text of a file of measurements, of the schema. Raises SpecError."""
    found = parse(text, file)
    error = next(iter(_validator().iter_errors(found.data)), None)
    if error is not None:
        raise schema_error(found, error)
    for operator, entry in found.data["operators"].items():
        at = ("operators", operator)
        if operator not in abi().operator_types:
            raise found.error(at, f"the ABI has no operator {operator}")
        if entry.get("confirmed", entry["cells"]) > entry["cells"]:
            raise found.error((*at, "confirmed"), f"{entry['confirmed']} of {entry['cells']} cells cannot be confirmed")
    return found


def measurement(found: Document, operator: str, tensors: Sequence[str]) -> Measurement:
    """What a file says about one operator."""
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
) -> Iterator[Difference]:
    """An operator's own differences, then the usual ones that nothing of its own takes the place of."""
    known = {name for entry in own for name in expanded(entry[what], tensors)} | excepted
    for entry in own:
        yield from (difference(entry, name) for name in expanded(entry[what], tensors))
    for entry in usual:
        yield from (difference(entry, name) for name in expanded(entry[what], tensors) if name not in known)


def expanded(what: str, tensors: Sequence[str]) -> list[str]:
    """What an entry is about: ``*`` is each of the tensors."""
    return [what.replace("*", tensor) for tensor in tensors] if "*" in what else [what]


def difference(entry: Mapping[str, Any], what: str) -> Difference:
    """An entry of a list as a difference about ``what``."""
    ways = tuple(map(str, entry.get("ways", ())))
    return Difference(what, ways, tuple(entry.get("types", ())), entry.get("said", ""), entry.get("waived", False))


@cache
def _validator() -> Any:
    schema = resources.files("dmlcts.spec").joinpath("schema/measured.schema.json").read_text(encoding="utf-8")
    return jsonschema_rs.validator_for(json.loads(schema))
