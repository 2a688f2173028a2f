"""What probes found, as it is kept: the files of spec/measured, which ``dmlcts probe --write`` writes and nobody by hand.

Nothing that names the machine or its user is written down.
"""

from __future__ import annotations

import getpass
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.probing.findings import accepted_beyond, counts, refused_promises, unanswered_promises
from dmlcts.conformance.probing.probe import CONFIRMED, Probed
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.measurement import ALL, MeasuredDifference, Measurement
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.document import read
from dmlcts.spec.reading.loader import load
from dmlcts.spec.reading.measured import LISTS, OF_ALL, expanded_subjects, forget, measured_files, validated_document
from dmlcts.spec.reading.measured import measurement as measurement_in
from dmlcts.spec.writing.files import writing_to
from dmlcts.spec.writing.yaml_writer import entry as lines_of
from dmlcts.spec.writing.yaml_writer import yaml_text

_WIDEST = 12
"""Ways and data types of one difference that are written out; of more, how many more there are."""


def measurement_of(probed: Probed, info: BackendInfo, backend: str) -> Measurement:
    """The record of a probe, dated today in UTC. ``backend`` is what stands on the command line."""
    found = counts(probed.cells())
    return Measurement(
        by=f"{info.name} {info.version}".strip(),
        date=datetime.now(UTC).date().isoformat(),
        level=str(probed.level),
        probes=len(probed.answers),
        cells=found["listed"],
        confirmed=found[CONFIRMED],
        device=_public(info.device),
        suite=metadata.version("directml-conformance"),
        command=f"dmlcts probe --backend {public_backend(backend)} {probed.operator.name}",
        rejections=probed.rejections(),
        accepts=tuple(accepted_beyond(probed)),
        refuses=tuple(map(_public_difference, refused_promises(probed))),
        unknown=tuple(map(_public_difference, unanswered_promises(probed))),
    )


def differs(measurement: Measurement) -> bool:
    """Whether the documentation is not confirmed: more is accepted, something is refused, or is not known."""
    return bool(measurement.accepts or measurement.refuses or measurement.unknown)


# Nothing of the machine

_PATH = re.compile(r"(?:^|[\s\"'(=:,])(?:~|[A-Za-z]:)?[/\\][\w.~/\\-]")


def public_backend(backend: str) -> str:
    """A backend as the command line has it; what follows the colon is left out where it has a path or the user's name."""
    kind, colon, argument = backend.partition(":")
    return f"{kind}:..." if colon and _private(argument) else backend


def _public(text: str) -> str:
    return "" if _private(text) else text


def _private(text: str) -> bool:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # an account without a name
        user = ""
    return bool(_PATH.search(text)) or bool(user and re.search(rf"\b{re.escape(user)}\b", text))


def _public_difference(difference: MeasuredDifference) -> MeasuredDifference:
    return replace(difference, message=_public(difference.message))


# Into the file


def write_measurements(folder: Path, found: Iterable[tuple[Operator, Measurement]]) -> int:
    """Puts measurements by one implementation on one device into its file in a folder; returns of how many operators something changed.

    The file is written anew, from what it says and from what is new. What most operators in it have is written once, as ``usual``.

    Raises:
        SpecError: a file of measurements, or the spec of an operator in it, is wrong. OSError: the file cannot be written.
    """
    new = {operator.name: (operator, measurement) for operator, measurement in found}
    if not new:
        return 0
    first = next(measurement for _, measurement in new.values())
    file = _file_of(folder, first)
    old: dict[str, tuple[Operator, Measurement]] = {}
    if file.exists():
        known = validated_document(read(file), file)
        for name in known.data["operators"]:
            operator = new[name][0] if name in new else load(name)
            old[name] = (operator, measurement_in(known, name, tensors_of(operator)))
    every = old | new
    text = file_text([every[name] for name in sorted(every, key=lambda name: abi().operator_types[name])])
    validated_document(text, file)
    if not file.exists() or file.read_bytes() != text.encode("utf-8"):
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
        written = file.with_name(f"{file.name}.{os.getpid()}.new")
        with writing_to(file):
            written.write_bytes(text.encode("utf-8"))
            written.replace(file)
        forget()
    after = validated_document(text, file)
    return sum(
        name not in old or measurement_in(after, name, tensors_of(operator)) != old[name][1] for name, (operator, _) in new.items()
    )


def _file_of(folder: Path, measurement: Measurement) -> Path:
    """The file of an implementation and device: ``directml-1.15.4.yaml``, for a second device with its name in it."""
    by, device = (re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-") for text in (measurement.by, measurement.device))
    for file in measured_files(folder):
        head = validated_document(read(file), file).data
        if (head["by"], head.get("device", "")) == (measurement.by, measurement.device):
            return file
    usual = folder / f"{by}.yaml"
    return folder / f"{by}-{device or 'other'}.yaml" if usual.exists() else usual


_HEADER = """\
# yaml-language-server: $schema=../schema/measured.schema.json
# Written by `dmlcts probe --write`, never by hand.
"""


def file_text(found: Sequence[tuple[Operator, Measurement]]) -> str:
    """The file of these measurements, which are by one implementation on one device."""
    measurements = [measurement for _, measurement in found]
    command = measurements[0].command.removesuffix(f" {found[0][0].name}")
    head = {key: Counter(getattr(m, key) for m in measurements).most_common(1)[0][0] for key in ("by", "device", *OF_ALL)}
    folded = {operator.name: {key: _fold_tensors(getattr(m, key), tensors_of(operator)) for key in LISTS} for operator, m in found}
    usual = {key: _usual([lists[key] for lists in folded.values()]) for key in LISTS}
    operators = {}
    for operator, m in found:
        entry: dict[str, object] = {key: getattr(m, key) for key in OF_ALL if getattr(m, key) != head[key]}
        entry |= {"probes": m.probes, "cells": m.cells}
        entry |= {"confirmed": m.confirmed} if m.confirmed != m.cells else {}
        entry |= {"rejections": dict(m.rejections)} if m.rejections else {}
        own = {key: _own_differences(folded[operator.name][key], usual[key], tensors_of(operator)) for key in LISTS}
        unusual = _unusual(usual, folded[operator.name], tensors_of(operator))
        entry |= {"not": unusual} if unusual else {}
        operators[operator.name] = entry | {key: [_entry(LISTS[key], each) for each in own[key]] for key in LISTS if own[key]}
    said_once = {key: [_entry(LISTS[key], each) for each in entries] for key, entries in usual.items() if entries}
    document = {key: value for key, value in head.items() if value} | {"command": command}
    document |= {"usual": said_once} if said_once else {}
    return (
        _HEADER
        + yaml_text(document)
        + "operators:\n"
        + "".join(f"{line}\n" for name, entry in operators.items() for line in lines_of(f"{name}:", entry, 2))
    )


def tensors_of(operator: Operator) -> tuple[str, ...]:
    """The names of an operator's tensor fields."""
    return tuple(field.name for field in operator.fields if field.is_tensor)


def _fold_tensors(differences: Iterable[MeasuredDifference], tensors: Sequence[str]) -> list[MeasuredDifference]:
    """Differences, those that are alike for every tensor as one about ``*``."""
    every = list(map(_shorten, differences))
    found: dict[MeasuredDifference, None] = {}
    for each in every:
        named = next((part for part in each.what.split("/") if part in tensors), "")
        pattern = _rename_tensor(each, named, "*") if named else each
        alike = named and all(_rename_tensor(pattern, "*", tensor) in every for tensor in tensors)
        found[pattern if alike else each] = None
    return list(found)


def _rename_tensor(difference: MeasuredDifference, old: str, new: str) -> MeasuredDifference:
    """The difference with another tensor's name, in what it is about and in its ways."""
    word = re.compile(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])")
    what = word.sub(new, difference.what, count=1)
    return replace(difference, what=what, ways=tuple(word.sub(new, way) for way in difference.ways))


def _usual(lists: Sequence[Sequence[MeasuredDifference]]) -> list[MeasuredDifference]:
    """What more than a third of the operators have of what is about every tensor, once for each thing."""
    counted = Counter(each for entries in lists for each in entries if "*" in each.what and not each.waived)
    usual: dict[str, MeasuredDifference] = {}
    for each, number in counted.most_common():
        if 3 * number > len(lists) > 1:
            usual.setdefault(each.what, each)
    return list(usual.values())


def _own_differences(
    folded: Sequence[MeasuredDifference], usual: Sequence[MeasuredDifference], tensors: Sequence[str]
) -> list[MeasuredDifference]:
    """What an operator has besides the usual. Of a thing about which it has more than one difference, it says all."""
    known = [replace(each, what=name) for each in usual for name in expanded_subjects(each.what, tensors)]
    number = Counter(name for each in folded for name in expanded_subjects(each.what, tensors))
    several = {each for each in folded if any(number[name] > 1 for name in expanded_subjects(each.what, tensors))}
    return [each for each in folded if each in several or (each not in usual and each not in known)]


def _unusual(
    usual: Mapping[str, Sequence[MeasuredDifference]], folded: Mapping[str, Sequence[MeasuredDifference]], tensors: Sequence[str]
) -> list[str]:
    """What is usual and was not found of an operator."""
    found = {name for entries in folded.values() for each in entries for name in expanded_subjects(each.what, tensors)}
    return [
        name
        for entries in usual.values()
        for each in entries
        for name in expanded_subjects(each.what, tensors)
        if name not in found
    ]


def _entry(what: str, difference: MeasuredDifference) -> dict[str, object]:
    entry: dict[str, object] = {what: difference.what}
    if difference.ways:
        entry["ways"] = [int(way) if way == "0" or re.fullmatch("[1-9][0-9]{0,8}", way) else way for way in difference.ways]
    if difference.types:
        entry["types"] = "all" if difference.types == ALL else list(difference.types)
    entry |= {"message": difference.message} if difference.message else {}
    return entry | ({"waived": True} if difference.waived else {})


def _shorten(difference: MeasuredDifference) -> MeasuredDifference:
    """A difference as it is written: of ways and data types the first dozen, where they waive nothing."""
    if difference.waived:
        return difference
    return replace(difference, ways=_short(difference.ways), types=_short(difference.types))


def _short(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= _WIDEST + 1 else (*values[:_WIDEST], f"and {len(values) - _WIDEST} more")


# For people


def table(found: Iterable[tuple[Probed, Measurement]]) -> str:
    """Documentation against reality, in Markdown."""
    found = list(found)
    lines = ["# Documentation against reality", "", "\n".join(_PREFACE), ""]
    lines += _rows(
        ("operator", "measured by", "cells listed", "confirmed", "refused", "unknown", "accepted beyond", "refused besides"),
        [_summary(probed, measurement) for probed, measurement in found],
    )
    for probed, measurement in found:
        lines += ["", f"## {probed.operator.name}", "", _origin(measurement), ""]
        lines += _rows(("table", "tensor", "data types", "dimensions", "cells", "confirmed"), list(_tables(probed)))
        lines += ["", *_notes(probed, measurement)]
    return "\n".join(lines) + "\n"


_PREFACE = (
    "What the tables of the documentation list, and what an implementation was measured to accept and to refuse. Written by",
    "`dmlcts probe --table FILE`, not by hand. A cell is a tensor with a data type and a dimension count in the table of a feature level; it",
    "is confirmed if the operator is accepted with it. A total size is given as the number of bytes beyond the minimum, an alignment in bytes.",
    "The same figures stand in `spec/measured`.",
)


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return [f"| {' | '.join(line)} |" for line in escaped]


def _summary(probed: Probed, measurement: Measurement) -> tuple[str, ...]:
    numbers = [str(number) for number in counts(probed.cells()).values()]
    besides = [entry for entry in measurement.refuses if not entry.what.startswith("support/")]
    lists = ("; ".join(_in_words(probed, entries)) or "nothing" for entries in (measurement.accepts, besides))
    return (probed.operator.name, measurement.by, *numbers, *lists)


def _origin(m: Measurement) -> str:
    on = f" on {m.device}" if m.device else ""
    refused = ", ".join(f"{count:,} at {stage}" for stage, count in m.rejections.items()) or "none"
    return f"{m.by}{on}, feature level {m.level}, {m.date}. {m.probes:,} probes; refused: {refused}."


def _tables(probed: Probed) -> Iterator[tuple[str, ...]]:
    cells = probed.cells()
    for support in probed.operator.tables(probed.level):
        for name, row in support.tensors.items():
            own = {label: status for label, status in cells.items() if label.startswith(f"support/{support.level}/{name}/")}
            number = counts(own)
            dimensions = "-".join(map(str, sorted({*row.dimensions})))
            yield (
                str(support.level), name, " ".join(row.data_types), dimensions, str(number["listed"]), str(number[CONFIRMED]),
            )  # fmt: skip


def _notes(probed: Probed, measurement: Measurement) -> list[str]:
    return [f"- {kind.capitalize()}: {text}" for kind, text in differences(probed, measurement)] or ["No difference."]


def differences(probed: Probed, measurement: Measurement) -> Iterator[tuple[str, str]]:
    """Every difference in words, each after its kind; what is the same for several tensors stands once."""
    kinds = (
        ("not listed, and accepted", (entry for entry in measurement.accepts if not entry.waived)),
        ("accepted, so that no rejection is required", (entry for entry in measurement.accepts if entry.waived)),
        ("listed, and refused", measurement.refuses),
        ("not known", measurement.unknown),
    )
    return ((kind, text) for kind, entries in kinds for text in _in_words(probed, entries))


def _in_words(probed: Probed, entries: Iterable[MeasuredDifference]) -> Iterator[str]:
    tensors = {field.name for field in probed.operator.fields if field.is_tensor}
    alike: dict[MeasuredDifference, list[MeasuredDifference]] = {}
    named: dict[MeasuredDifference, str] = {}
    for entry in entries:
        named[entry] = next((part for part in entry.what.split("/") if part in tensors), "")
        pattern = _rename_tensor(entry, named[entry], "*") if named[entry] else entry
        own = all(way != other for way, other in zip(pattern.ways, entry.ways, strict=True))  # each way names the tensor
        alike.setdefault(pattern if own else replace(pattern, ways=entry.ways), []).append(entry)
    for pattern, same in alike.items():
        names = "+".join(named[entry] for entry in same)
        yield _words(pattern.what.replace("*", names), pattern if len(same) > 1 else same[0])


def _words(what: str, difference: MeasuredDifference) -> str:
    text = f"{what}: {', '.join(_short(difference.ways)) or 'in every way that was tried'}"
    types = f", with {', '.join(_short(difference.types))}" if difference.types and difference.types != ALL else ""
    return text + types + (f" ({difference.message})" if difference.message else "")
