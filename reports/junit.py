"""JUnit XML: one suite for each operator, readable by GitHub, GitLab, Jenkins and Azure.

JUnit has four outcomes and we have seven. So each case has its status as the property ``dmlcts.status``, and every ``skipped`` and
``failure`` names the status in its type or message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from dmlcts.reports.claim import claim_of
from dmlcts.reports.files import write_text
from dmlcts.reports.record import ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED, Manifest, Record, Result
from dmlcts.reports.text import result_lines
from dmlcts.reports.verdict import WORDS

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


def write_junit(record: Record, file: Path) -> None:
    """Writes ``record`` as JUnit XML. Raises OSError, naming the folder, if it cannot."""
    write_text(file, "\n".join(_document(record)) + "\n")


def escape(text: str) -> str:
    """``text`` for XML, in an attribute or between tags; characters that XML 1.0 does not allow, such as most control characters, become U+FFFD."""
    if not _UNSAFE.search(text):
        return text
    return _FORBIDDEN.sub("\ufffd", text).translate(_ENTITIES)


def _document(record: Record) -> Iterator[str]:
    manifest = record.manifest
    properties = [f"<properties>{''.join(_properties(record))}</properties>"]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="directml-conformance" {_totals(record.results)} time="{manifest.seconds:.3f}">'
    in_order = sorted(record.results, key=lambda result: result.operator)
    for operator, group in groupby(in_order, key=lambda result: result.operator):
        results = list(group)
        seconds = sum(result.seconds for result in results)
        started = f' timestamp="{escape(manifest.started)}"' if manifest.started else ""
        yield f'<testsuite name="{escape(operator)}" {_totals(results)} time="{seconds:.3f}"{started}>'
        yield from properties
        yield from map(_case, results)
        yield "</testsuite>"
    yield "</testsuites>"


def _totals(results: Sequence[Result]) -> str:
    counts = Counter(ELEMENTS[result.status] for result in results)
    return f'tests="{len(results)}" failures="{counts["failure"]}" errors="{counts["error"]}" skipped="{counts["skipped"]}"'


def _case(result: Result) -> str:
    start = (
        f'<testcase classname="dmlcts.{escape(result.operator)}" name="{escape(result.case)}" time="{result.seconds:.4f}">'
        f'<properties><property name="dmlcts.status" value="{result.status}"/></properties>'
    )
    return f"{start}{_outcome(result)}</testcase>"


def _outcome(result: Result) -> str:
    element = ELEMENTS[result.status]
    if not element:
        return ""
    reason = result.waiver if result.status == WAIVED else result.message
    message = reason if element != "skipped" and reason else f"{WORDS[result.status]}: {reason}" if reason else WORDS[result.status]
    body = escape("\n".join(result_lines(result)))
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
