"""A summary in Markdown: for a CI log, a step summary, an issue.

Messages are in fenced blocks and ids in code spans, so that no text from a case or a backend is read as markup or a mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dmlcts.reports.claim.claim import Claim, claim_of
from dmlcts.reports.explain.explanation import MOST_SHOWN, Explanation, remarks, rest_sentence
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.groups import deciding_results
from dmlcts.reports.record.policies import policies_text
from dmlcts.reports.record.record import FAILURES, STATUSES, Record, Result
from dmlcts.reports.record.text import result_lines
from dmlcts.reports.record.verdict import (
    MEANINGS,
    SYMBOLS,
    WORDS,
    Matrix,
    backend_name,
    cell_text,
    data_types,
    interruption,
    level_text,
    matrix,
    total,
    unused_waivers,
    without_support,
)


def write_markdown(record: Record, file: Path, limit: int = 20, explanations: Sequence[Explanation] = ()) -> None:
    """Writes ``markdown``. Raises OSError, naming the folder, if it cannot."""
    write_text(file, markdown(record, limit, explanations))


def markdown(record: Record, limit: int = 20, explanations: Sequence[Explanation] = ()) -> str:
    """Verdict, counts, what explains the failures, the first ``limit`` cases that decide the exit code, and the operator x data type table."""
    return "\n".join(_lines(record, limit, explanations)) + "\n"


def _lines(record: Record, limit: int, explanations: Sequence[Explanation]) -> Iterator[str]:
    claimed = claim_of(record)
    yield f"# DirectML conformance: {plain(backend_name(record.manifest))}"
    yield ""
    yield f"**{plain(claimed.sentence)}**"
    yield ""
    if note := interruption(record):
        yield f"> ⚠ {plain(note)}"
        yield ""
    if note := unused_waivers(record):
        yield f"> ⚠ {plain(note)}"
        yield ""
    yield from _counts(claimed)
    yield from _setup(record)
    yield from _explanations(explanations)
    yield from _failures(record, limit)
    yield from _matrix(matrix(record.results))


def _counts(claimed: Claim) -> Iterator[str]:
    yield "| | status | cases | what it means |"
    yield "|---|---|---:|---|"
    for status in STATUSES:
        yield f"| {SYMBOLS[status]} | {WORDS[status]} | {claimed.counts[status]:,} | {MEANINGS[status]} |"
    yield ""


def _setup(record: Record) -> Iterator[str]:
    manifest = record.manifest
    facts = [
        str(manifest.backend.get("device") or ""),
        policies_text(manifest.backend),
        level_text(manifest),
        *(f"{name} {value}" for name in ("level", "basis", "selection", "shard", "seed") if (value := getattr(manifest, name))),
        f"{manifest.seconds:,.1f} s",
    ]
    yield plain(", ".join(filter(None, facts)))
    yield ""
    if manifest.command:
        yield from fenced_block([manifest.command], "sh")


def _explanations(explanations: Sequence[Explanation]) -> Iterator[str]:
    if not explanations:
        return
    yield "## What explains the failures"
    yield ""
    for explanation in explanations[:MOST_SHOWN]:
        yield f"- {code(explanation.where)}: {plain(explanation.text)}"
        for remark in remarks(explanation):
            yield f"  - {plain(remark)}"
        if explanation.command:
            yield f"  - these cases tell: {code(explanation.command)}"
    if note := rest_sentence(explanations):
        yield f"- {plain(note)}"
    yield ""


def _failures(record: Record, limit: int) -> Iterator[str]:
    found = deciding_results(record.results)
    if not found:
        return
    shown, failed = found[:limit], found[0].status in FAILURES
    if len(shown) == len(found):
        yield f"## {'Failures' if failed else 'Unsupported within what it claims'}: {len(found):,}"
    else:
        what = "failures" if failed else "cases that are unsupported within what it claims"
        yield f"## The first {len(shown)} of {len(found):,} {what}"
    yield ""
    for result in shown:
        yield from _failure(result)


def _failure(result: Result) -> Iterator[str]:
    yield f"### {SYMBOLS[result.status]} {code(result.case)}: {WORDS[result.status]}"
    yield ""
    yield from fenced_block(result_lines(result), "text")


def _matrix(found: Matrix) -> Iterator[str]:
    if not found:
        return
    types = data_types(found)
    yield "## Operators and data types"
    yield ""
    yield "A cell shows the worst status and how many of its cases have it."
    yield ""
    yield f"| operator | {' | '.join(_cell(name) or 'none' for name in types)} | all |"
    yield f"|---|{'---|' * (len(types) + 1)}"
    lacking = without_support(found)
    for operator, row in ((operator, row) for operator, row in found.items() if operator not in lacking):
        cells = [cell_text(row[name]) if name in row else "" for name in types]
        yield f"| {_cell(operator)} | {' | '.join(cells)} | {cell_text(total(row.values()))} |"
    if lacking:
        yield f"| {len(lacking)} operators |{' |' * len(types)} {cell_text(total(lacking.values()))} |"
    yield ""


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def plain(text: str) -> str:
    """``text`` as one line of Markdown, escaped."""
    # A backslash escapes every other mark; @ would still mention a user.
    return re.sub(r"([\\`*_\[\]<>#|~&])", r"\\\1", " ".join(text.split())).replace("@", "@\u200b")


def code(text: str) -> str:
    """``text`` as a code span; empty if there is none."""
    line = " ".join(text.split())
    ticks = "`" * (_longest_ticks(line) + 1)
    pad = " " if line[:1] == "`" or line[-1:] == "`" else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def fenced_block(lines: list[str], language: str) -> Iterator[str]:
    """``lines`` as a fenced block; the fence is longer than any run of backticks within."""
    text = "\n".join(lines)
    fence = "`" * max(3, _longest_ticks(text) + 1)
    yield from (f"{fence}{language}", text, fence, "")


def _longest_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
