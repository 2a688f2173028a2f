"""The HTML report: a static folder that opens from the disk, without a server and without a network.

``index.html`` says PASS or FAIL, what fails, and has the matrix, with style and script inline. The folder ``data`` has every case and the details of
those that did not pass (page_data.py). So the index stays small however many cases there are.

The page shows cases as text nodes only: no text from a case or a backend is ever read as markup.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dmlcts.reports.claim.claim import Claim, claim_of
from dmlcts.reports.explain.explanation import MOST_SHOWN, Explanation, remarks, rest_sentence
from dmlcts.reports.formats.page_data import MOST_MODELS, START, as_json, cases_script, details_script
from dmlcts.reports.formats.supplement import Nothing, Supplement
from dmlcts.reports.kernels.page import kernels_of_page
from dmlcts.reports.kernels.text import estimate_text
from dmlcts.reports.record.files import file_names, write_folder, write_text
from dmlcts.reports.record.groups import Group, deciding_results, groups, refutes, spread
from dmlcts.reports.record.record import FAIL, FAILURES, PASS, STATUSES, ULP_BINS, WAIVED, Manifest, Record, Result
from dmlcts.reports.record.verdict import (
    MEANINGS,
    SEVERITY,
    SYMBOLS,
    WORDS,
    Counts,
    backend_name,
    cell_text,
    counts_text,
    data_types,
    interruption,
    level_text,
    matrix,
    more_to_run,
    plural,
    total,
    unused_waivers,
    worst,
)

SPEC = ".spec.txt"
"""The extension of an operator's spec in the folder ``data``: text, which browsers show and do not download."""

SPEC_START = "The spec of "
"""The start of such a file, by which the next report recognizes it."""

MOST_OPERATORS, MOST_GROUPS = 50, 40
"""How many failing operators the page lists in full, and how many groups of each; the list of cases has all."""

MOST_DECISIVE = 3
"""How many of the cases that decide the exit code stand beside the verdict."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The outcome of a run in a word, and the status whose colour it has."""

    word: str
    status: str


@dataclass(frozen=True, slots=True)
class Failing:
    """An operator that fails: its groups, how many of its cases have each status, and which factor values fail of those tested."""

    operator: str
    groups: Sequence[Group]
    counts: Counts
    where: Sequence[tuple[str, str]]


def headline(record: Record, claim: Claim) -> Headline:
    """PASS for a claim that is ok; INCOMPLETE if nothing refutes it so far, but the run did not finish; FAIL otherwise."""
    if claim.ok:
        return Headline("PASS", PASS)
    refuted = any(claim.counts[status] for status in FAILURES) or claim.unsupported or claim.untested
    return Headline("FAIL", FAIL) if refuted or not interruption(record) else Headline("INCOMPLETE", WAIVED)


def write_html(
    record: Record, folder: Path, supplement: Supplement | None = None, explanations: Sequence[Explanation] = ()
) -> Path:
    """Writes the page and its data into ``folder``, and returns the path of ``index.html``. Raises OSError, naming the folder."""
    supplement = supplement or Nothing()
    by_operator = {name: list(group) for name, group in groupby(sorted(record.results, key=_operator), key=_operator)}
    found = {name: by_operator[name] for name in matrix(record.results)}
    grouped = {name: groups(results) for name, results in found.items()}
    failing = list(_failing_operators(found, grouped))
    specs = {entry.operator: supplement.spec(entry.operator) for entry in failing[:MOST_OPERATORS]}
    written = _write_data(found, grouped, specs, folder / "data", supplement)
    index = folder / "index.html"
    write_text(index, _page(record, failing, _index(found, written, supplement), explanations))
    with write_folder(folder / "data") as data:
        for file in (*data.glob("*.js"), *data.glob(f"*{SPEC}")):
            if file.name not in written and file.read_text(encoding="utf-8", errors="replace").startswith((START, SPEC_START)):
                file.unlink()
    return index


def _operator(result: Result) -> str:
    return result.operator


def _write_data(
    found: Mapping[str, Sequence[Result]],
    grouped: Mapping[str, Sequence[Group]],
    specs: Mapping[str, str],
    data: Path,
    supplement: Supplement,
) -> dict[str, str | None]:
    """Writes the folder ``data``. Returns the operator of every file, None for the list of all cases."""
    write_text(data / "cases.js", cases_script(found))
    written: dict[str, str | None] = {"cases.js": None}
    models = MOST_MODELS
    for operator, name in file_names(found, "", reserved="cases").items():
        script, made = details_script(operator, found[operator], grouped[operator], supplement, models)
        models -= made
        spec = specs.get(operator, "")
        for file, text in ((f"{name}.js", script), (f"{name}{SPEC}", spec and f"{SPEC_START}{operator}\n\n{spec}")):
            if text:
                write_text(data / file, text)
                written[file] = operator
    return written


def _failing_operators(found: Mapping[str, Sequence[Result]], grouped: Mapping[str, Sequence[Group]]) -> Iterator[Failing]:
    """The operators that fail, those with the most failures first, and after them those of which something is unsupported that should not be."""

    def amount(operator: str) -> tuple[int, int]:
        failures = sum(len(group.rows) for group in grouped[operator] if group.status in FAILURES)
        return -failures, -sum(len(group.rows) for group in grouped[operator])

    for operator in sorted(filter(grouped.get, grouped), key=amount):
        results = found[operator]
        failures = [result for result in results if refutes(result)]
        where = (
            ("Data types", spread((r.data_type for r in failures), (r.data_type for r in results))),
            ("Kinds", spread((r.kind for r in failures), (r.kind for r in results))),
        )
        counts = total({result.status: 1} for result in results)
        yield Failing(operator, grouped[operator], counts, [(label, text) for label, text in where if text])


def _page(record: Record, failing: Sequence[Failing], index: dict[str, Any], explanations: Sequence[Explanation]) -> str:
    manifest, claim, found = record.manifest, claim_of(record), matrix(record.results)
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["hash"] = _hash
    return environment.get_template("page.html.j2").render(
        title=backend_name(manifest),
        headline=headline(record, claim),
        statements=claim.statements,
        counts=claim.counts,
        more_to_run=more_to_run(manifest),
        interruption=" ".join(filter(None, (interruption(record), unused_waivers(record)))),
        explanations=explanations[:MOST_SHOWN],
        remarks=remarks,
        more_explanations=rest_sentence(explanations),
        kernels=kernels_of_page(record),
        estimate=estimate_text,
        decisive=deciding_results(record.results),
        failing=failing,
        links={name: (("Spec", spec), ("Microsoft's page", page)) for name, _, page, spec in index["operators"]},
        most_operators=MOST_OPERATORS,
        most_groups=MOST_GROUPS,
        most_decisive=MOST_DECISIVE,
        statuses=STATUSES,
        severity=SEVERITY,
        symbols=SYMBOLS,
        words=WORDS,
        meanings=MEANINGS,
        level=level_text(manifest),
        facts=list(_facts(manifest)),
        command=manifest.command,
        backend=[(key, _value_text(value)) for key, value in manifest.backend.items() if value not in ("", None, [], (), {})],
        matrix=found,
        data_types=data_types(found),
        worst=worst,
        plural=plural,
        total=total,
        cell_text=cell_text,
        counts_text=counts_text,
        index=Markup(as_json(index)),  # noqa: S704 - every < is escaped
        style=Markup(_template("style.css")),  # noqa: S704 - ours
        script=Markup(_template("app.js")),  # noqa: S704 - ours
    )


def _hash(text: str) -> str:
    """``text`` for the part of an address after #; invalid Unicode in a foreign record becomes '?'."""
    return quote(text, safe="", errors="replace")


def _template(name: str) -> str:
    return (files("dmlcts.reports") / "templates" / name).read_text(encoding="utf-8")


def _index(found: Mapping[str, Any], written: Mapping[str, str | None], supplement: Supplement) -> dict[str, Any]:
    """What the page knows before it loads cases: for each operator its scripts, Microsoft's page and the spec."""
    files = {
        operator: {name.partition(".")[2]: f"data/{name}" for name, of in written.items() if of == operator} for operator in found
    }
    return {
        "statuses": [[status, SYMBOLS[status], WORDS[status], plural(status), SEVERITY.index(status)] for status in STATUSES],
        "ulps": ULP_BINS,
        "operators": [[name, files[name].get("js", ""), supplement.page(name), files[name].get(SPEC[1:], "")] for name in found],
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


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
