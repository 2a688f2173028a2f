"""JUnit XML: a file for each operator, readable by GitHub, GitLab, Jenkins and Azure.

JUnit has four outcomes and we have seven. So every ``skipped``, ``failure`` and ``error`` has our status as its type; a case without any of
them passed. What a file may hold is in tests/data/junit.xsd: what the schema of Jenkins' xUnit plugin (junit-10.xsd) allows of what GitLab reads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.files import by_operator, file_names, in_parts, part_name, remove_older, write_text
from dmlcts.reports.record.record import ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED, Manifest, Record, Result
from dmlcts.reports.record.text import ELSEWHERE, details, result_lines
from dmlcts.reports.record.verdict import WORDS

ELEMENTS = {
    PASS: "",
    FAIL: "failure",
    UNEXPECTED_PASS: "failure",
    ERROR: "error",
    WAIVED: "skipped",
    UNSUPPORTED: "skipped",
    NOT_RUN: "skipped",
}
"""The element for each status; none for a pass."""

_UNSAFE = re.compile("[^ !#-%'-;=?-~]")
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


_START = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="directml-conformance" '
"""The start of every file, by which the next report recognizes the files of an older one."""

_MOST = 8_000_000
"""The largest size of a file, in characters: an operator with more has several files. GitLab reads files of up to 30 MB and 250,000 nodes."""


def write_junit(record: Record, folder: Path) -> None:
    """Writes ``record`` as JUnit XML into ``folder``: ``OPERATOR.xml``, and ``OPERATOR.2.xml`` and so on if that would be too large.

    Raises:
        OSError: the folder cannot be written; the message names it.
    """
    properties = f"<properties>{''.join(_properties(record))}</properties>"
    groups, written = by_operator(record.results), []
    for operator, name in file_names(groups, ".xml").items():
        cases = ((result, _case(result, detailed)) for result, detailed in details(groups[operator]))
        for number, part in enumerate(in_parts(cases, _MOST), start=1):
            file = folder / part_name(name, number)
            write_text(file, _document(operator, part, record.manifest, properties))
            written.append(file.name)
    remove_older(folder, ".xml", written, _START)


def remove_junit(folder: Path) -> None:
    """Removes the files of an older report, which are not those of the run that has begun since."""
    remove_older(folder, ".xml", (), _START)


def escape(text: str) -> str:
    """``text`` for XML, in an attribute or between tags; characters that XML 1.0 does not allow, such as most control characters, become U+FFFD."""
    if not _UNSAFE.search(text):
        return text
    return _FORBIDDEN.sub("\ufffd", text).translate(_ENTITIES)


def _document(operator: str, cases: Sequence[tuple[Result, str]], manifest: Manifest, properties: str) -> str:
    """A file: one suite. The schema of Jenkins' xUnit plugin knows ``skipped`` of a suite alone, and properties of a suite alone."""
    results = [result for result, _ in cases]
    counts = Counter(ELEMENTS[result.status] for result in results)
    totals = (
        f'tests="{len(results)}" failures="{counts["failure"]}" errors="{counts["error"]}" '
        f'time="{sum(result.seconds for result in results):.3f}"'
    )
    started = f' timestamp="{escape(manifest.started)}"' if manifest.started else ""
    lines = [
        f"{_START}{totals}>",
        f'<testsuite name="{escape(operator)}" {totals} skipped="{counts["skipped"]}"{started}>',
        properties,
        *(text for _, text in cases),
        "</testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(result: Result, detailed: bool) -> str:
    start = f'<testcase classname="dmlcts.{escape(result.operator)}" name="{escape(result.case)}" time="{result.seconds:.4f}"'
    outcome = _outcome(result, detailed)
    return f"{start}>{outcome}</testcase>" if outcome else f"{start}/>"


def _outcome(result: Result, detailed: bool) -> str:
    element = ELEMENTS[result.status]
    if not element:
        return ""
    reason = result.waiver if result.status == WAIVED else result.message
    message = reason if element != "skipped" and reason else f"{WORDS[result.status]}: {reason}" if reason else WORDS[result.status]
    body = escape("\n".join(result_lines(result)) if detailed else ELSEWHERE)
    return f'<{element} type="{result.status}" message="{escape(message)}">{body}</{element}>'


def _properties(record: Record) -> Iterator[str]:
    yield _property("verdict", claim_of(record).sentence)
    for name, value in manifest_items(record.manifest):
        yield _property(name, value)
    for status, number in record.counts().items():
        yield _property(f"count.{status}", str(number))


def _property(name: str, value: str) -> str:
    return f'<property name="dmlcts.{escape(name)}" value="{escape(value)}"/>'


def manifest_items(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Every non-empty entry of the manifest; those of objects have dotted names: ``backend.version``."""
    for name, value in asdict(manifest).items():
        entries: Iterable[tuple[str, object]] = [(name, value)]
        if isinstance(value, dict):
            entries = [(f"{name}.{key}", entry) for key, entry in value.items()]
        for key, entry in entries:
            if entry not in ("", None, (), [], {}):
                yield key, ", ".join(map(str, entry)) if isinstance(entry, list | tuple) else str(entry)
