"""The page of a client's conformance: what came of ONNX's node tests, by operator of ONNX, and whose each wrong result is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.reports.formats.render import render_page
from dmlcts.reports.record.files import write_text

Row = Mapping[str, Any]
"""A result as it is written: ``test``, ``operators``, ``status``, ``kind``, ``reason``, ``whose``, ``why``."""

STATUSES = ("right", "wrong", "broken", "not run")
"""In the order of the columns."""


def write_node_tests(results: Sequence[Row], title: str, file: Path) -> None:
    """Writes the page. ``title`` names the client and the implementation. Raises WriteError."""
    write_text(file, node_tests_page(results, title))


def node_tests_page(results: Sequence[Row], title: str) -> str:
    """The page as text: a summary, the wrong and broken tests, the reasons why others did not run, and a line an operator."""
    counts = Counter(str(row["status"]) for row in results)
    by_operator: dict[str, Counter[str]] = {}
    for row in results:
        for operator in dict.fromkeys(row["operators"]):
            by_operator.setdefault(str(operator), Counter())[str(row["status"])] += 1
    return render_page(
        "node_tests.html.j2",
        title=title,
        statuses=STATUSES,
        counts=counts,
        total=len(results),
        wrong=[row for row in results if row["status"] in ("wrong", "broken")],
        reasons=Counter(str(row["kind"]) for row in results if row["status"] == "not run").most_common(),
        operators=sorted(by_operator.items()),
    )
