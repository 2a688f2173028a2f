"""What explains failures, in words and in each report."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import pytest
from records import of, run
from rich.console import Console

from dmlcts.conformance.commands.results.summary import print_summary
from dmlcts.reports import write_all
from dmlcts.reports.explain.explanation import FILE, MOST_SHOWN, Explanation, rest_sentence
from dmlcts.reports.formats.markdown import markdown
from dmlcts.reports.record.record import ERROR, FAIL, UNSUPPORTED

WHOLE = Explanation("GEMM", FAIL, "", ("ScaleTensor is per channel", "the rank is 5 or more"), 12, 12, 410, 0, 12, 12)
OPEN = replace(
    WHOLE, alternative=("the type is <FLOAT16>",), next=("GEMM/a", "GEMM/b"), command="dmlcts run --case GEMM/a --case GEMM/b"
)


@pytest.mark.parametrize(
    ("explanation", "text"),
    [
        (WHOLE, "fails whenever ScaleTensor is per channel and the rank is 5 or more (12 of 12), never otherwise (0 of 410)"),
        (
            replace(WHOLE, conditions=("Axis is 1",), status=ERROR, failing_outside=18, total=30),
            "ends in an error whenever Axis is 1 (12 of 12); explains 12 of 30; 18 of 410 otherwise",
        ),
        (
            replace(WHOLE, conditions=("Axis is 1",), inside=1_300, failing=1_299, explains=1_299, total=1_299),
            "fails in 1,299 of 1,300 cases in which Axis is 1, never otherwise (0 of 410)",
        ),
        (
            replace(WHOLE, operator="", operators=3, status=UNSUPPORTED, conditions=("the type is FLOAT16",)),
            "are unsupported whenever the type is FLOAT16 (12 of 12), never otherwise (0 of 410)",
        ),
        (
            replace(WHOLE, group="law", conditions=("the law is linear",)),
            "a law case fails whenever the law is linear (12 of 12), never otherwise (0 of 410)",
        ),
        (
            replace(WHOLE, conditions=("the offset is 48",), inside=1, failing=1, outside=79, explains=1, total=1),
            "fails once, in the only case of 80 in which the offset is 48; one failure does not show its cause",
        ),
        (
            replace(WHOLE, conditions=("the offset is 48",), inside=2, failing=1, outside=78, explains=1, total=1),
            "fails only where the offset is 48: 1 of 1; 1 of 2 such cases pass",
        ),
        (
            replace(WHOLE, conditions=("the type is FLOAT16",), inside=30, explains=0, needed=True, left=12),
            "fails only where the type is FLOAT16: 12 of 12; 18 of 30 such cases pass",
        ),
        (
            replace(
                WHOLE, conditions=("the type is FLOAT16",), inside=30, failing_outside=2, explains=0, total=14, needed=True, left=9
            ),
            "the other 9 fail only where the type is FLOAT16; 18 of 30 such cases pass",
        ),
        (
            replace(WHOLE, conditions=("Beta is 0",), symptom="refused at create with 0x80070057"),
            "fails (refused at create with 0x80070057) whenever Beta is 0 (12 of 12), never otherwise (0 of 410)",
        ),
        (
            replace(
                WHOLE,
                conditions=("Beta is 0",),
                inside=1,
                failing=1,
                failing_outside=11,
                explains=1,
                detail="values 2 times as large",
            ),
            "fails (values 2 times as large) once more, in the only case of 411 in which Beta is 0; one failure does not show its cause",
        ),
        (
            replace(
                WHOLE, operator="", operators=21, conditions=(), inside=0, explains=378, total=378, symptom="refused at compile"
            ),
            "fail (refused at compile): 378 cases",
        ),
        (
            replace(WHOLE, conditions=(), inside=0, explains=1, total=1),
            "fails once; one failure does not show its cause",
        ),
        (
            replace(WHOLE, conditions=(), inside=0, explains=1),
            "1 of 12 cases that fail: no conditions explain it better than chance",
        ),
        (replace(WHOLE, conditions=(), outside=0), "fails always (12 of 12)"),
        (
            replace(WHOLE, conditions=(), inside=0, failing=0, outside=0, explains=3),
            "3 of 12 cases that fail: no conditions explain them better than chance",
        ),
    ],
)
def test_text(explanation: Explanation, text: str) -> None:
    assert explanation.text == text


def test_where_it_holds() -> None:
    assert WHOLE.where == "GEMM"
    assert replace(WHOLE, operator="", operators=3).where == "3 operators"


def test_every_report_has_it(tmp_path: Path) -> None:
    record = of(**{FAIL: 2, "pass": 3})
    write_all(record, tmp_path, explanations=[WHOLE, OPEN])
    assert json.loads((tmp_path / FILE).read_text(encoding="utf-8")) == json.loads(json.dumps([asdict(WHOLE), asdict(OPEN)]))
    page, summary = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "summary.md"))
    assert page.count(WHOLE.text) == summary.count(WHOLE.text) == 2
    assert "as well possible: whenever the type is &lt;FLOAT16&gt;" in page
    assert OPEN.command in page
    assert OPEN.command in summary
    assert summary.index("## What explains the failures") < summary.index("## Failures: 2")
    assert page.index("What explains the failures") < page.index("What fails")


def test_without_explanations_nothing_speaks_of_them(tmp_path: Path) -> None:
    write_all(of(**{FAIL: 1}), tmp_path, explanations=[WHOLE])
    write_all(of(**{"pass": 1}), tmp_path)
    assert not (tmp_path / FILE).exists()
    assert "explains" not in markdown(of(**{FAIL: 1}))
    assert "What explains" not in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_where_there_is_little_room_the_first_are_shown() -> None:
    many = [replace(WHOLE, conditions=(f"Axis is {number}",)) for number in range(MOST_SHOWN + 2)]
    assert rest_sentence(many) == f"... and 2 more in {FILE}"
    assert rest_sentence(many[:MOST_SHOWN]) == ""
    text = StringIO()
    print_summary(run(), Console(file=text, width=200), explanations=many)
    assert text.getvalue().count("fails whenever") == MOST_SHOWN
    assert "... and 2 more" in text.getvalue()
    assert markdown(run(), explanations=many).count("fails whenever") == MOST_SHOWN
