"""The HTML report: a static folder that opens from the disk, without a server and without a network.

``index.html`` has the summary and the matrix, with style and script inline, and only counts of cases. The cases of an
operator are in ``data/OPERATOR.js``, which the page loads on demand: as a script, since a page from the disk may not fetch. So the index
stays small however many cases there are.

The page shows cases as text nodes only: no text from a case or a backend is ever read as markup.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dmlcts.reports.claim import claim_of
from dmlcts.reports.files import file_names, remove_older, write_text
from dmlcts.reports.record import FAILURES, STATUSES, WAIVED, Manifest, Record, Result
from dmlcts.reports.verdict import (
    MEANINGS,
    SEVERITY,
    SYMBOLS,
    WORDS,
    backend_name,
    cell_text,
    counts_text,
    data_types,
    interruption,
    level_text,
    matrix,
    plural,
    total,
    unused_waivers,
    worst,
)

_DATA = "(window.dmlcts ??= {})["
"""The start of every data file, by which the next report recognizes the files of an older one."""


def write_html(record: Record, folder: Path) -> Path:
    """Writes the page and its data into ``folder``, and returns the path of ``index.html``. Raises OSError, naming the folder."""
    found = {name: list(group) for name, group in groupby(sorted(record.results, key=_operator), key=_operator)}
    names = file_names(found, ".js")
    for operator, results in found.items():
        write_text(folder / "data" / names[operator], _script(operator, results))
    index = folder / "index.html"
    write_text(index, _page(record, names))
    remove_older(folder / "data", ".js", names.values(), _DATA)
    return index


def _operator(result: Result) -> str:
    return result.operator


def _script(operator: str, results: Sequence[Result]) -> str:
    """An operator's cases as a script: rows of numbers and of indices into a table of strings, and the details of cases that did not pass."""
    strings: dict[str, int] = {}
    rows, details = [], {}
    for number, result in enumerate(results):
        rows.append(_row(result, operator, strings))
        if result.status in FAILURES or result.status == WAIVED or result.mismatches or result.evidence:
            details[number] = _details(result)
    return f"{_DATA}{_json(operator)}] = {_json({'rows': rows, 'strings': list(strings), 'details': details})};\n"


def _row(result: Result, operator: str, strings: dict[str, int]) -> list[Any]:
    """Status, id, data type, kind, basis, feature level, milliseconds, ULP, grade, matched answer, message, waiver, repro."""
    short = result.case.removeprefix(operator) if result.case.startswith(f"{operator}/") else result.case
    texts = (
        result.data_type, result.kind, result.basis, result.feature_level, result.grade, result.matched_answer, result.message, result.waiver,
        result.repro.replace(result.case, "\0") if result.case else result.repro,  # the same text for every case
    )  # fmt: skip
    data_type, kind, basis, level, grade, matched_answer, message, waiver, repro = [
        strings.setdefault(text, len(strings)) for text in texts
    ]
    ulp = None if result.worst_ulp is None else float(f"{result.worst_ulp:.4g}")
    milliseconds = round(result.seconds * 1000, 1)
    return [
        STATUSES.index(result.status), short, data_type, kind, basis, level, milliseconds, ulp, grade, matched_answer, message, waiver, repro,
    ]  # fmt: skip


def _details(result: Result) -> dict[str, Any]:
    mismatches = [[m.tensor, list(m.index), m.expected, m.actual, m.ulp, m.allowed] for m in result.mismatches]
    found = {
        "wrong": result.wrong,
        "elements": result.elements,
        "mismatches": mismatches,
        "desc": result.desc,
        "evidence": result.evidence,
    }
    return {key: value for key, value in found.items() if value}


def _json(value: Any) -> str:
    """JSON that is safe inside a script, in ASCII."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _page(record: Record, names: dict[str, str]) -> str:
    manifest, claimed, found = record.manifest, claim_of(record), matrix(record.results)
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["hash"] = _hash
    return environment.get_template("page.html.j2").render(
        title=backend_name(manifest),
        verdict=claimed,
        interruption=" ".join(filter(None, (interruption(record), unused_waivers(record)))),
        statuses=STATUSES,
        severity=SEVERITY,
        symbols=SYMBOLS,
        words=WORDS,
        meanings=MEANINGS,
        level=level_text(manifest),
        facts=list(_facts(manifest)),
        command=manifest.command,
        backend=[(key, _shown(value)) for key, value in manifest.backend.items() if value not in ("", None, [], (), {})],
        matrix=found,
        data_types=data_types(found),
        worst=worst,
        total=total,
        cell_text=cell_text,
        counts_text=counts_text,
        index=Markup(_json(_index(record, names))),  # noqa: S704 - every < is escaped
        style=Markup(_template("style.css")),  # noqa: S704 - ours
        script=Markup(_template("app.js")),  # noqa: S704 - ours
    )


def _hash(text: str) -> str:
    """``text`` for the part of an address after #; invalid Unicode in a foreign record becomes '?'."""
    return quote(text, safe="", errors="replace")


def _template(name: str) -> str:
    return (files("dmlcts.reports") / "templates" / name).read_text(encoding="utf-8")


def _index(record: Record, names: dict[str, str]) -> dict[str, Any]:
    """What the page knows before it loads cases: for each operator, counts by status, data type, kind and basis."""
    kinds: dict[tuple[str, str, str, str], int] = {}
    operators: dict[str, list[int]] = {name: [] for name in matrix(record.results)}
    groups = Counter((r.operator, (r.status, r.data_type, r.kind, r.basis)) for r in record.results)
    for (operator, kind), number in groups.items():
        operators[operator] += [kinds.setdefault(kind, len(kinds)), number]
    return {
        "statuses": [[status, SYMBOLS[status], WORDS[status], plural(status), SEVERITY.index(status)] for status in STATUSES],
        "failures": [status for status in STATUSES if status in FAILURES],
        "kinds": [list(kind) for kind in kinds],
        "operators": [[name, f"data/{names[name]}", counts] for name, counts in operators.items()],
    }


def _facts(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The manifest in an order for readers, without empty entries."""
    backend = manifest.backend
    facts = (
        ("Backend", str(backend.get("name") or "")),
        ("Backend version", str(backend.get("version") or "")),
        ("Device", str(backend.get("device") or "")),
        ("Backend option", manifest.backend_spec),
        ("Feature level", manifest.feature_level.replace("_", ".")),
        ("Level", manifest.level),
        ("Basis", manifest.basis),
        ("Selection", manifest.selection),
        ("Shard", manifest.shard),
        ("Seed", manifest.seed),
        ("Cases selected", f"{manifest.selected:,}" if manifest.selected else ""),
        ("Started", _time(manifest.started)),
        ("Finished", _time(manifest.finished) or "never"),
        ("Took", _duration(manifest.seconds)),
        ("Platform", " · ".join(f"{value}" for value in manifest.platform.values() if value)),
        ("Suite version", manifest.suite_version),
        ("Spec version", manifest.spec_version),
    )
    return ((label, value) for label, value in facts if value)


def _time(iso: str) -> str:
    """``2026-01-02T03:04:05.678+00:00`` as ``2026-01-02 03:04:05 UTC``; anything else as it is."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)", iso)
    return f"{match[1]} {match[2]} UTC" if match else iso


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
