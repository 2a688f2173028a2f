"""What a probe found, as the spec keeps it: a ``measured`` section of the YAML file that a command writes, and nobody by hand.

The file is edited as text, so that comments, anchors and order stay; no other line changes. Nothing that names the machine or its user
is written down.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.probing.findings import accepted_beyond, counts, refused_promises, unanswered
from dmlcts.conformance.probing.probe import CONFIRMED, Probed
from dmlcts.spec.document import Document, SpecError, parse, read
from dmlcts.spec.loader import load_text
from dmlcts.spec.model import Difference, Measurement

SECTION = "measured"
_HEADER = f"{SECTION}: # written by `dmlcts probe --write`, never by hand"
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
        unknown=tuple(map(_public_difference, unanswered(probed))),
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


def _public_difference(difference: Difference) -> Difference:
    return replace(difference, said=_public(difference.said))


# Into the file


def write_measurement(file: Path, measurement: Measurement) -> bool:
    """Puts a measurement into a spec file in place of the one by the same implementation on the same device; says whether the file changed.

    Raises:
        SpecError: the file is wrong, as it was or as it would be. OSError: it cannot be written.
    """
    before = read(file)
    after = with_measurement(before, measurement, file)
    if after == before:
        return False
    written = file.with_name(f"{file.name}.{os.getpid()}.new")
    written.write_bytes(after.encode("utf-8"))
    written.replace(file)
    return True


def with_measurement(text: str, measurement: Measurement, file: Path | None = None) -> str:
    """A spec file's text with a measurement in it. Raises SpecError."""
    known = load_text(text, file).measured
    same = [(m.by, m.device) == (measurement.by, measurement.device) for m in known]
    entries = [measurement if replaced else m for m, replaced in zip(known, same, strict=True)]
    if not any(same):
        entries.append(measurement)
    document = parse(text, file)
    lines = text.splitlines(keepends=True)
    begin, end = _section(document, lines)
    eol = "\r\n" if "\r\n" in text else "\n"
    section = [f"{line}{eol}" for line in (_HEADER, *(line for entry in entries for line in _entry(entry)))]
    if begin == end:  # a section that was not there is set apart by empty lines
        if begin and lines[begin - 1].strip():
            lines[begin - 1] = lines[begin - 1].rstrip("\r\n") + eol
            section.insert(0, eol)
        if begin < len(lines):
            section.append(eol)
    after = "".join((*lines[:begin], *section, *lines[end:]))
    _check(document, after, file)
    return after


def _section(document: Document, lines: list[str]) -> tuple[int, int]:
    """The lines of the section, without the comments and empty lines before the next; where it is to stand if there is none."""
    starts = sorted(document.lines[(key,)] - 1 for key in document.data)
    if SECTION not in document.data:
        before = document.lines[("sources",)] - 1
        while before and lines[before - 1].startswith("#"):
            before -= 1
        return before, before
    begin = document.lines[(SECTION,)] - 1
    end = next((start for start in starts if start > begin), len(lines))
    while end > begin + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return begin, end


def _check(before: Document, after: str, file: Path | None) -> None:
    load_text(after, file)
    kept = {key: value for key, value in parse(after, file).data.items() if key != SECTION}
    if kept != {key: value for key, value in before.data.items() if key != SECTION}:
        raise SpecError(file, None, (SECTION,), "writing it would change another section; put it on lines of its own")


def _entry(measurement: Measurement) -> Iterator[str]:
    m = measurement
    texts = {"by": m.by, "device": m.device, "date": m.date, "level": m.level, "suite": m.suite, "command": m.command}
    lines = [f"{key}: {_scalar(value)}" for key, value in texts.items() if value]
    lines += [f"{key}: {value}" for key, value in (("probes", m.probes), ("cells", m.cells), ("confirmed", m.confirmed))]
    if m.rejections:
        lines.append(f"rejections: {{{', '.join(f'{_scalar(stage)}: {count}' for stage, count in m.rejections.items())}}}")
    for key, what, differences in (("accepts", "rule", m.accepts), ("refuses", "what", m.refuses), ("unknown", "what", m.unknown)):
        if differences:
            lines.append(f"{key}:")
            lines += [f"  - {_flow(what, difference)}" for difference in differences]
        elif key != "unknown":
            lines.append(f"{key}: []")
    yield f"  - {lines[0]}"
    yield from (f"    {line}" for line in lines[1:])


def _flow(what: str, difference: Difference) -> str:
    parts = [f"{what}: {_scalar(difference.what)}"]
    for key, values in (
        ("ways", _short(difference.ways)),
        ("types", difference.types if what == "rule" else _short(difference.types)),
    ):
        if values:
            parts.append(f"{key}: [{', '.join(map(_scalar, values))}]")
    if difference.said:
        parts.append(f"said: {_scalar(difference.said)}")
    if difference.waived:
        parts.append("waived: true")
    return f"{{{', '.join(parts)}}}"


def _short(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= _WIDEST + 1 else (*values[:_WIDEST], f"and {len(values) - _WIDEST} more")


_WORDS = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")


def _scalar(text: str) -> str:
    """A string as every reader of YAML takes it: plain where it is a harmless word, otherwise in quotes."""
    plain = re.fullmatch(r"[A-Za-z][\w./()+-]*(?: [\w./()+-]+)*", text, re.ASCII) and text.lower() not in _WORDS
    if plain:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped) + '"'


# For people


def table(found: Iterable[tuple[Probed, Measurement]]) -> str:
    """Documentation against reality, in Markdown."""
    found = list(found)
    said = ["# Documentation against reality", "", "\n".join(_PREFACE), ""]
    said += _rows(
        ("operator", "measured by", "cells listed", "confirmed", "refused", "unknown", "accepted beyond", "refused besides"),
        [_summary(probed, measurement) for probed, measurement in found],
    )
    for probed, measurement in found:
        said += ["", f"## {probed.operator.name}", "", _origin(measurement), ""]
        said += _rows(("table", "tensor", "data types", "dimensions", "cells", "confirmed"), list(_tables(probed)))
        said += ["", *_notes(probed, measurement)]
    return "\n".join(said) + "\n"


_PREFACE = (
    "What the tables of the documentation list, and what an implementation was measured to accept and to refuse. Written by",
    "`dmlcts probe --table FILE`, not by hand. A cell is a tensor with a data type and a dimension count in the table of a feature level; it",
    "is confirmed if the operator is accepted with it. A total size is said as the bytes that it is more than needed, an alignment in bytes.",
    "The same figures stand in the spec files, as `measured`.",
)


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return [f"| {' | '.join(line)} |" for line in escaped]


def _summary(probed: Probed, measurement: Measurement) -> tuple[str, ...]:
    numbers = [str(number) for number in counts(probed.cells()).values()]
    besides = [entry for entry in measurement.refuses if not entry.what.startswith("support/")]
    said = ("; ".join(_in_words(probed, entries)) or "nothing" for entries in (measurement.accepts, besides))
    return (probed.operator.name, measurement.by, *numbers, *said)


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
    return [f"- {kind.capitalize()}: {said}" for kind, said in differences(probed, measurement)] or ["No difference."]


def differences(probed: Probed, measurement: Measurement) -> Iterator[tuple[str, str]]:
    """Every difference in words, each after its kind; what is the same for several tensors is said once."""
    kinds = (
        ("not listed, and accepted", measurement.accepts),
        ("listed, and refused", measurement.refuses),
        ("not known", measurement.unknown),
    )
    return ((kind, said) for kind, entries in kinds for said in _in_words(probed, entries))


def _in_words(probed: Probed, entries: Iterable[Difference]) -> Iterator[str]:
    tensors = {field.name for field in probed.operator.fields if field.is_tensor}
    alike: dict[tuple[str, Difference], list[str]] = {}
    for entry in entries:
        named = next((part for part in entry.what.split("/") if part in tensors), "")
        pattern = entry.what.replace(f"/{named}", "/{}", 1) if named else entry.what
        alike.setdefault((pattern, replace(entry, what="")), []).append(named)
    for (pattern, entry), names in alike.items():
        yield _words(pattern.replace("{}", "+".join(names)), entry)


def _words(what: str, difference: Difference) -> str:
    said = f"{what}: {', '.join(_short(difference.ways)) or 'in every way that was tried'}"
    types = f", with {', '.join(_short(difference.types))}" if difference.types else ""
    return said + types + (f" ({difference.said})" if difference.said else "")
