"""The page of several runs: one HTML file that opens from the disk, with all its data inside, and beside it runs.json, summary.md and history.jsonl."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from zlib import compress

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dmlcts.reports.record.files import write_folder, write_text
from dmlcts.reports.record.record import API, ERROR, FAIL, PASS, WAIVED
from dmlcts.reports.record.verdict import SYMBOLS, WORDS, count_of, counts_text
from dmlcts.reports.runs.comparison import LATER, MISSING, Comparison
from dmlcts.reports.runs.history import FILE as HISTORY
from dmlcts.reports.runs.history import line_of, write_history
from dmlcts.reports.runs.runs_json import operators_only, runs_json
from dmlcts.reports.runs.summary import BAD, summary

DATA, SUMMARY = "runs.json", "summary.md"

OWN = frozenset({"index.html", DATA, SUMMARY, HISTORY})
"""The names of the files."""

MOST_CASES = 20_000
"""So many cases the page holds; runs.json has all."""

MOST_CAUSES = 40
"""So many causes are listed in full; the others show with their operator."""

STATES = {
    **WORDS,
    PASS: "passes",
    FAIL: "fails",
    ERROR: "ends in errors",
    WAIVED: "fails, and a waiver explains it",
    LATER: "of a later feature level",
    MISSING: "was not run",
}
"""What a cell says, in words."""

SIGNS = {**SYMBOLS, LATER: "·", MISSING: ""}


def write_runs(comparison: Comparison, folder: Path) -> Path:
    """Writes ``index.html``, ``runs.json``, ``summary.md`` and the grown ``history.jsonl`` into ``folder``, and returns the path of the page.

    Raises:
        HistoryError: the history that is there is none. OSError: the folder cannot be written; the message names it.
    """
    data = runs_json(comparison)
    with write_folder(folder):
        history = write_history([line_of(run) for run in data["runs"]], folder / HISTORY)
    write_text(folder / DATA, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / SUMMARY, "\n".join(summary(data)) + "\n")
    index = folder / "index.html"
    write_text(index, page_text(runs_json(comparison, MOST_CASES), history))
    return index


def page_text(data: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> str:
    """The page, from ``runs_json`` and the lines of the history."""
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    packed = compress(json.dumps(data, separators=(",", ":")).encode("ascii"), 6)
    return environment.get_template("runs.html.j2").render(
        title=_title(data["runs"]),
        data=data,
        short=_in_short(data),
        history=history,
        most_failing=max((sum(line["counts"][status] for status in BAD) for line in history), default=0),
        differs={operator: _differs(row) for operator, row in data["operators"].items()},
        fails={operator: any(cell["state"] in BAD for cell in row) for operator, row in data["operators"].items()},
        bad=BAD,
        most_causes=MOST_CAUSES,
        states=STATES,
        signs=SIGNS,
        cell_text=_cell_text,
        cell_title=_cell_title,
        bad_count=_bad_count,
        count_of=count_of,
        counts_text=lambda counts: counts_text({**dict.fromkeys(WORDS, 0), **counts}),
        packed=Markup(f'"{b64encode(packed).decode("ascii")}"'),  # noqa: S704 - base64
        style=Markup(_template("style.css") + _template("runs.css")),  # noqa: S704 - ours
        script=Markup(_template("runs.js")),  # noqa: S704 - ours
    )


def _template(name: str) -> str:
    return (files("dmlcts.reports") / "templates" / name).read_text(encoding="utf-8")


def _title(runs: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(run["implementation"].rpartition(" ")[0] or run["implementation"] for run in runs))
    return f"{count_of(len(runs), 'run')} of {', '.join(names[:3])}{' and others' if len(names) > 3 else ''}"


def _differs(row: Sequence[Mapping[str, Any]]) -> bool:
    """Whether runs that have the operator are not all worth the same."""
    return len({(cell["state"], _bad_count(cell)) for cell in row if "counts" in cell}) > 1


def _bad_count(cell: Mapping[str, Any]) -> int:
    return sum(cell.get("counts", {}).get(status, 0) for status in BAD)


def _cell_text(cell: Mapping[str, Any]) -> str:
    """``✓``, ``✗ 3``."""
    number = _bad_count(cell)
    return f"{SIGNS[cell['state']]} {number:,}" if number else SIGNS[cell["state"]]


def _cell_title(cell: Mapping[str, Any]) -> str:
    return counts_text({**dict.fromkeys(WORDS, 0), **cell["counts"]}) if "counts" in cell else STATES[cell["state"]]


def _in_short(data: Mapping[str, Any]) -> list[str]:
    """What a person wants to know first, in sentences."""
    runs, rows = data["runs"], operators_only(data["operators"])
    broken = _bad_count(data["operators"][API][-1]) if API in data["operators"] else 0
    promises = [f"{runs[-1]['key']} breaks {count_of(broken, 'promise')} of the API."] if broken else []
    if not rows:
        return promises
    passing = [run["operators"].get(PASS, 0) for run in runs]
    failing = [sum(run["operators"].get(status, 0) for status in BAD) for run in runs]
    has = [sum(number for state, number in run["operators"].items() if state not in (LATER, MISSING)) for run in runs]
    places = range(len(runs))
    most = max(places, key=lambda place: (passing[place], -failing[place], place))
    fewest = min(places, key=lambda place: (failing[place], -place))
    safe = [name for name, row in rows.items() if all(cell["state"] == PASS for cell in row if "counts" in cell)]
    always = [name for name, row in rows.items() if all(cell["state"] in BAD for cell in row if "counts" in cell)]
    last = [name for name, row in rows.items() if row[-1]["state"] in BAD]
    found = [f"Most operators pass in {runs[most]['key']}: {passing[most]} of the {has[most]} that it has."]
    if failing[fewest] < failing[most]:
        found.append(f"Fewest fail in {runs[fewest]['key']}: {failing[fewest]} of the {has[fewest]} that it has.")
    found.append(
        f"{count_of(len(safe), 'operator')} of {len(rows)} {'passes' if len(safe) == 1 else 'pass'} in every run that has them."
    )
    if last:
        found.append(f"In {runs[-1]['key']}, avoid or test what you use of {_names(last)}.")
    if always:
        found.append(f"In no run safe: {_names(always)}.")
    return found + promises


def _names(operators: Sequence[str]) -> str:
    return ", ".join(operators[:6]) + (f" and {len(operators) - 6} more" if len(operators) > 6 else "")
