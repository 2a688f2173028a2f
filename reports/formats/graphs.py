"""The page of a search for failing graphs: what ran, and each failure with its smallest graph, drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmlcts.reports.formats.graph_drawing import svg_of
from dmlcts.reports.formats.render import render_page
from dmlcts.reports.record.files import write_text


def write_page(found: Mapping[str, Any], file: Path) -> None:
    """Writes the page. ``found`` is what the search writes as JSON. Raises WriteError."""
    write_text(file, page(found))


def page(found: Mapping[str, Any]) -> str:
    """The page as text."""
    failures = [
        {**failure, "drawing": svg_of(failure["graph"], failure["node"]), "json": json.dumps(failure["graph"], ensure_ascii=False)}
        for failure in found["failures"]
    ]
    return render_page("graphs.html.j2", found=found, failures=failures, operators=sorted(found["nodes"].items()))
