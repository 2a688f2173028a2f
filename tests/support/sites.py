"""The public map of a few operators, with waivers, runs of two releases and a graph, as `dmlcts spec site` writes it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from records import HOSTILE, result, run

from dmlcts.conformance.commands.specs.site.command import command
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import FAIL, PASS, write_record

OPERATORS = ("TILE", "SLICE1", "ELEMENT_WISE_ROUND", "RANDOM_GENERATOR")

WAIVERS = """
waivers:
  - cases: TILE/*/negative/all-dimensions/*
    versions: {DirectML: 1.8.0}
    reason: "a made-up fault <b>&'"
    issue: "12"
  - cases: api/DEV-9
    reason: a made-up fault of no operator
    issue: "13"
"""


def write_site_of_few(folder: Path) -> Path:
    """Writes the site below ``folder`` and returns its folder."""
    waivers = folder / "waivers.yaml"
    waivers.write_text(WAIVERS, encoding="utf-8")
    graph = folder / "made-up.json"
    graph.write_text(
        json.dumps({"nodes": [{"desc": {"Type": "TILE"}}, {"desc": {"Type": "GEMM"}}], "outputs": []}), encoding="utf-8"
    )
    runs = []
    for version, status in (("1.8.0", FAIL), ("1.9.0", PASS)):
        runs.append(folder / f"{version}.jsonl")
        results = [
            result(
                status,
                1,
                "TILE",
                "INT8",
                message=HOSTILE if status == FAIL else "",
                paths=(CodePath("dxil 0123456789abcdef", (1, 1, 1)),),
            ),
            result(PASS, 1, "SLICE1", "FLOAT16"),
        ]
        record = run(*results, backend={"name": "DirectML", "version": version})
        write_record(record, runs[-1])
    options = [*OPERATORS, "--waivers", str(waivers), "--graph", str(graph), "--out", str(folder / "site")]
    done = CliRunner().invoke(
        command, [*options, *(part for file in runs for part in ("--results", str(file)))], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    assert f"{len(OPERATORS)} operators: {folder / 'site' / 'index.html'}" in done.output
    return folder / "site"
