"""A backend's texts are foreign: no control character, no command of a CI system and no megabyte of them reaches a terminal or a report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dmlcts.reports.record.record import read_record

HOSTS = Path(__file__).parents[2] / "hosts"

COMMAND = re.compile(r"^\s*::|##\[|##vso\[", re.MULTILINE)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


@pytest.mark.parametrize("kind", ["python", "inprocess"])
def test_no_hostile_text_reaches_a_terminal_or_a_report(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["run", "--backend", f"{kind}:hostile_text:Texts", "-k", "BIT_NOT and 1d", "--out", str(out)]
    ran = subprocess.run(
        [sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()", *arguments],
        cwd=HOSTS,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 1, ran.stderr.decode()
    record = read_record(out / "results.jsonl")
    assert {"error", "fail", "unsupported"} <= {result.status for result in record.results}
    reports = [
        file for file in out.rglob("*") if file.is_file() and file.suffix in (".md", ".xml", ".json", ".jsonl", ".html", ".js")
    ]
    texts = {file.name: file.read_text(encoding="utf-8") for file in reports} | {
        "stdout": ran.stdout.decode(),
        "stderr": ran.stderr.decode(),
    }
    assert {"summary.md", "index.html", "results.jsonl", "stdout"} <= texts.keys()
    for name, text in texts.items():
        assert not CONTROL.search(text), (name, CONTROL.search(text))
        assert not COMMAND.search(text), (name, COMMAND.search(text))
        assert len(text) < 1_000_000, (name, len(text))
    shown = json.dumps([[r.message, r.evidence] for r in record.results], ensure_ascii=False)
    assert "owned" in shown, "the texts are cleaned, not dropped"
    assert "more characters)" in shown
    assert not CONTROL.search(json.dumps(record.manifest.backend, ensure_ascii=False))
    for file in reports:  # what is cleaned is also valid
        if file.suffix == ".xml":
            ElementTree.parse(file)
        if file.suffix == ".json":
            json.loads(file.read_text(encoding="utf-8"))
    assert "<script>alert" not in texts["index.html"]


def test_a_hostile_results_file_is_cleaned_when_it_is_read(tmp_path: Path) -> None:
    attack = "\x1b[2J\n::error::owned\n##[error]x" + "y" * 100_000
    manifest = {"suite_version": attack, "spec_version": "s", "backend": {"name": attack, "details": {attack: [attack]}}, "backend_spec": attack,
                "command": attack, "level": "core", "basis": "documented", "feature_level": "6_4", "seed": "", "platform": {attack: attack}, "started": ""}  # fmt: skip
    result = {"case": "X/\x1b", "operator": "X", "data_type": "INT8", "kind": "table", "basis": "documented", "feature_level": "6_4", "status": "fail",
              "message": attack, "evidence": {attack: {attack: attack}}, "desc": {"Type": attack}, "repro": attack, "waiver": attack,
              "mismatches": [{"tensor": "\x1b", "index": [0], "expected": attack, "actual": "::x"}]}  # fmt: skip
    file = tmp_path / "results.jsonl"
    file.write_text(
        "".join(json.dumps({kind: data}) + "\n" for kind, data in (("manifest", manifest), ("result", result))), encoding="utf-8"
    )
    text = repr(read_record(file)).replace("\\n", "\n")
    assert not re.search(r"\\x1b|\\x07", text)
    assert not COMMAND.search(text)
    assert len(text) < 150_000
