"""The record, the verdict, and the report in Markdown; all reports at once.

The thread through all of it: seven statuses, none of them ever counted as another.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from records import ALL_SEVEN, HOSTILE, of, result, run
from rich.console import Console

from dmlcts.conformance.commands.results.summary import print_summary
from dmlcts.conformance.runner.exit_code import exit_code
from dmlcts.reports import write_all
from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.formats.ctrf import CTRF_STATUS, write_ctrf
from dmlcts.reports.formats.html import write_html
from dmlcts.reports.formats.junit import ELEMENTS, write_junit
from dmlcts.reports.formats.markdown import code, fenced_block, markdown
from dmlcts.reports.record.files import file_names, portable
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    STATUSES,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Mismatch,
    RecordError,
    read_record,
    write_record,
)
from dmlcts.reports.record.verdict import (
    MEANINGS,
    SEVERITY,
    SYMBOLS,
    WORDS,
    cell_text,
    counts_text,
    data_types,
    matrix,
    total,
    worst,
)
from dmlcts.spec.untrusted import sanitize

# ---- Operators that an implementation does not have


def test_operators_without_a_supported_case_have_one_line_together() -> None:
    """A host that declares ten operators of 177 is not a page of dashes; what it supports in part keeps its line."""
    lacking = [replace(result(UNSUPPORTED, number, f"LACKING_{number}"), undeclared="operator") for number in range(4)]
    partly = [result(UNSUPPORTED, 0, "PARTLY"), result(PASS, 1, "PARTLY")]
    lines = markdown(run(*lacking, *partly)).splitlines()
    assert [line for line in lines if "LACKING" in line] == []
    assert [line.split("|")[1:4] for line in lines if line.startswith("| 4 operators")] == [[" 4 operators ", " ", " – 4 "]]
    assert any("PARTLY" in line for line in lines)
    few = markdown(run(*lacking[:3], *partly))
    assert all(f"LACKING_{number}" in few for number in range(3))
    printed = StringIO()
    print_summary(run(*lacking, *partly), Console(file=printed, width=200))
    assert "4 operators" in printed.getvalue()
    assert "LACKING" not in printed.getvalue()


# ---- Names of files


def test_files_of_operators_have_names_that_every_system_has(tmp_path: Path) -> None:
    """A record may name anything: devices of Windows, names that differ in case alone or that end in a dot."""
    hostile = (
        "CON",
        "con",
        "nul.x",
        "COM1",
        "Lpt9",
        "a",
        "A",
        "a-1",
        "A-2",
        "x.",
        "x ",
        "../x",
        "",
        "é",
        "CONIN$",
        "a" * 300,
        "a" * 301,
    )
    names = file_names(hostile, ".xml", reserved="a-3")
    assert len({name.lower() for name in names.values()}) == len(hostile)
    for name in names.values():
        stem = name.removesuffix(".xml")
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,100}", stem)
        assert not re.fullmatch(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]", stem)
        assert stem != "a-3"
    write_all(run(*(result(FAIL, number, operator) for number, operator in enumerate(filter(None, hostile)))), tmp_path)
    for file in tmp_path.rglob("*"):
        assert not re.fullmatch(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]", file.name.partition(".")[0]), file


@pytest.mark.parametrize(
    ("name", "portable_name"),
    [
        ("CON.xml", "_CON.xml"),
        ("con.2.xml", "_con.2.xml"),
        ("Nul", "_Nul"),
        ("COM1 .json", "_COM1 .json"),
        ("COM\N{SUPERSCRIPT ONE}.js", "_COM\N{SUPERSCRIPT ONE}.js"),
        ("CONV.xml", "CONV.xml"),
        ("COM10.xml", "COM10.xml"),
    ],
)
def test_a_device_of_windows_is_no_file(name: str, portable_name: str) -> None:
    assert portable(name) == portable_name


# ---- The record


def test_a_record_comes_back_as_it_was_written_with_clean_text(tmp_path: Path) -> None:
    mismatch = Mismatch("OutputTensor", (0, 1), "2", "nan", 1e300, "exact")
    whole = run(
        result(
            FAIL, message=HOSTILE, mismatches=(mismatch,), wrong=1, elements=4, desc={"Type": "X"}, evidence={"stage": "create"}
        ),
        result(PASS, 1, worst_ulp=0.0, seconds=0.5, grade="correctly rounded"),
        result(NOT_RUN, 2, data_type="INT8"),
    )
    write_record(whole, tmp_path / "results.jsonl")
    first, *rest = whole.results
    assert sanitize.line(HOSTILE) != HOSTILE
    cleaned = replace(whole, results=(replace(first, message=sanitize.line(HOSTILE)), *rest))
    assert read_record(tmp_path / "results.jsonl") == cleaned


def test_an_error_of_zero_ulp_is_not_an_unmeasured_one(tmp_path: Path) -> None:
    write_record(run(result(worst_ulp=0.0), result(number=1)), tmp_path / "r")
    assert [r.worst_ulp for r in read_record(tmp_path / "r").results] == [0.0, None]


@pytest.mark.parametrize("wrong", [{"status": "passed"}, {"mismatches": [{"tensor": "A"}]}, {"colour": "red"}])
def test_what_is_no_result_is_named_with_its_line(tmp_path: Path, wrong: dict[str, object]) -> None:
    file = tmp_path / "results.jsonl"
    write_record(run(result()), file)
    first, second = file.read_text(encoding="utf-8").splitlines()
    entry = json.loads(second)
    entry["result"] |= wrong
    file.write_text(f"{first}\n{second}\n{json.dumps(entry)}\n", encoding="utf-8")
    with pytest.raises(RecordError, match=r"results\.jsonl:3: result\."):
        read_record(file)


def test_a_case_has_one_result(tmp_path: Path) -> None:
    """Else a pass that is there twice would hide a case that is not there."""
    file = tmp_path / "results.jsonl"
    write_record(run(result(), result(number=1), result()), file)
    with pytest.raises(RecordError, match=rf"results\.jsonl:4: another result of the case {result().case}; each case has one"):
        read_record(file)


@pytest.mark.parametrize("selected", [None, 0, 1])
def test_a_finished_run_has_no_more_results_than_it_selected_cases(tmp_path: Path, selected: int | None) -> None:
    file = tmp_path / "results.jsonl"
    whole = run(result(), result(number=1))
    write_record(whole, file)
    first, *rest = file.read_text(encoding="utf-8").splitlines()
    entry = json.loads(first)
    if selected is None:
        del entry["manifest"]["selected"]
    else:
        entry["manifest"]["selected"] = selected
    file.write_text("\n".join([json.dumps(entry), *rest, ""]), encoding="utf-8")
    with pytest.raises(RecordError, match=f"has results of 2 cases, but its manifest says that {selected or 0} were selected"):
        read_record(file)
    write_record(replace(whole, manifest=replace(whole.manifest, selected=0, finished="")), file)
    assert len(read_record(file).results) == 2, "an unfinished run does not know yet"


# ---- Counts


def test_tables_know_every_status() -> None:
    for table in (SYMBOLS, WORDS, MEANINGS, ELEMENTS, CTRF_STATUS):
        assert set(table) == set(STATUSES)
    assert sorted(SEVERITY) == sorted(STATUSES)
    assert len(set(SYMBOLS.values())) == len(set(WORDS.values())) == len(STATUSES)


def test_the_matrix_counts_every_status_apart_and_puts_the_worst_first() -> None:
    found = matrix(
        (
            result(),
            result(operator="A"),
            result(FAIL, 1),
            result(UNSUPPORTED, operator="B"),
            result(data_type="INT8"),
            result(NOT_RUN, operator="C"),
        )
    )
    assert list(found) == ["ELEMENT_WISE_ROUND", "C", "B", "A"]
    assert found["ELEMENT_WISE_ROUND"]["FLOAT16"] == dict.fromkeys(STATUSES, 0) | {PASS: 1, FAIL: 1}
    assert found["ELEMENT_WISE_ROUND"]["INT8"][PASS] == 1
    assert total(found["ELEMENT_WISE_ROUND"].values())[PASS] == 2
    cells = matrix(ALL_SEVEN.results)["ELEMENT_WISE_ROUND"]["FLOAT16"]
    assert cells == ALL_SEVEN.counts() == {status: 2**i for i, status in enumerate(STATUSES)}


@pytest.mark.parametrize(
    ("numbers", "status", "text"),
    [
        ({PASS: 3}, PASS, "✓ 3"),
        ({PASS: 3, UNSUPPORTED: 1}, UNSUPPORTED, "– 1/4"),
        ({UNSUPPORTED: 2, WAIVED: 1}, WAIVED, "~ 1/3"),
        ({WAIVED: 1, NOT_RUN: 1}, NOT_RUN, "○ 1/2"),
        ({NOT_RUN: 1, UNEXPECTED_PASS: 1}, UNEXPECTED_PASS, "± 1/2"),
        ({UNEXPECTED_PASS: 1, FAIL: 2}, FAIL, "✗ 2/3"),
        ({FAIL: 9, ERROR: 1}, ERROR, "! 1/10"),
    ],
)
def test_a_cell_shows_its_worst_status(numbers: dict[str, int], status: str, text: str) -> None:
    counts = dict.fromkeys(STATUSES, 0) | numbers
    assert worst(counts) == status
    assert cell_text(counts) == text


def test_counts_in_words() -> None:
    assert counts_text({PASS: 1200, ERROR: 1, UNEXPECTED_PASS: 2} | dict.fromkeys((FAIL, WAIVED, UNSUPPORTED, NOT_RUN), 0)) == (
        "1 error, 2 unexpected passes, 1,200 passed"
    )


def test_data_types_stand_by_kind_and_width() -> None:
    names = ("UINT8", "", "INT64", "FLOAT64", "FLOAT16", "INT8", "UNKNOWN", "UINT4")
    assert data_types(matrix(result(data_type=name) for name in names)) == [
        "FLOAT16", "FLOAT64", "INT8", "INT64", "UINT4", "UINT8", "", "UNKNOWN",
    ]  # fmt: skip


# ---- Markdown


def test_markdown_counts_every_status_apart() -> None:
    text = markdown(ALL_SEVEN)
    for status, number in ALL_SEVEN.counts().items():
        assert re.search(rf"^\| {re.escape(SYMBOLS[status])} \| {WORDS[status]} \| {number} \|", text, re.MULTILINE)
    assert claim_of(ALL_SEVEN).sentence in text


def test_markdown_shows_the_first_failures_with_their_command() -> None:
    record = run(
        *(result(FAIL, i, message=f"message {i}", repro=f"dmlcts repro {i}") for i in range(30)),
        result(WAIVED, 99, message="known"),
    )
    text = markdown(record, limit=3)
    assert "## The first 3 of 30 failures" in text
    assert [line for line in text.splitlines() if line.startswith("run again")] == [
        f"run again: dmlcts repro {i}" for i in range(3)
    ]
    assert "known" not in text
    assert "## Failures: 30" in markdown(record, limit=30)
    assert "ailures" not in markdown(of(**{PASS: 1, WAIVED: 1}))


def test_the_terminal_the_summary_and_the_page_name_the_cases_that_decide_the_exit_code(tmp_path: Path) -> None:
    """One unsupported case within the claim decides; it must not be lost among those that the description excludes."""
    outside = [result(UNSUPPORTED, number, message="no INT4", undeclared="data type") for number in range(30)]
    lacking = [result(UNSUPPORTED, 100 + number, message="not implemented") for number in range(7)]
    for found, more in ((lacking[:1], 0), (lacking, 2)):
        record = run(result(), *outside, *found)
        assert exit_code(record) == 4
        console = Console(file=StringIO(), width=200)
        print_summary(record, console)
        printed = console.file.getvalue()  # type: ignore[attr-defined]
        page = write_html(record, tmp_path / str(more)).read_text(encoding="utf-8").split('class="counts"')[0]
        summary = markdown(record)
        for text, shown in ((printed, 5), (page, 3), (summary, 20)):
            assert [each.case for each in found if each.case in text] == [each.case for each in found[:shown]]
            assert not any(f"{each.case}<" in text or f"{each.case}\n" in text for each in outside)
        assert ("... and 2 more" in printed, "and 4 more" in page) == (bool(more), bool(more))
        assert "unsupported, but within what it claims: not implemented" in printed
        assert f"## Unsupported within what it claims: {len(found)}" in summary
        assert f"{len(found)} of them {'are' if more else 'is'} within what it claims" in printed


def test_markdown_has_the_matrix() -> None:
    text = markdown(run(result(), result(FAIL, 1), result(data_type="INT8", operator="GEMM")))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == ["| `ELEMENT_WISE_ROUND` | ✗ 1/2 |  | ✗ 1/2 |", "| `GEMM` |  | ✓ 1 | ✓ 1 |"]


def test_markdown_says_in_words_what_an_interruption_left_open() -> None:
    assert "The run was interrupted: 2 of 3 cases were not run." in markdown(run(result(), selected=3, interrupted=True))
    assert "interrupted" not in markdown(of(**{PASS: 1}))


def test_nothing_a_case_says_is_read_as_markdown() -> None:
    text = markdown(run(result(FAIL, message="```\n# no heading\n```` <b>", operator="A|B`C"), backend={"name": "<i>*x*@me"}))
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert "no heading" in text
    assert "no heading" not in outside
    assert "<b>" not in outside
    assert re.search(r"(?<!\\)[<*]i?x?>?", outside.replace("**", "")) is None
    assert "@me" not in outside
    assert r"| ``A\|B`C`` |" in outside


@pytest.mark.parametrize(
    ("text", "expected"), [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a``b`", "``` a``b` ```"), ("", "")]
)
def test_code_spans(text: str, expected: str) -> None:
    assert code(text) == expected


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert next(fenced_block(["````"], "sh")) == "`````sh"


# ---- All of them


def test_write_all_writes_every_form_and_returns_the_page(tmp_path: Path) -> None:
    page = write_all(ALL_SEVEN, tmp_path / "new" / "folder")
    assert page == tmp_path / "new" / "folder" / "index.html"
    names = {path.relative_to(page.parent).as_posix() for path in page.parent.rglob("*") if path.is_file()}
    assert names == {
        "results.jsonl",
        "claim.json",
        "junit/ELEMENT_WISE_ROUND.xml",
        "ctrf/ELEMENT_WISE_ROUND.json",
        "summary.md",
        "index.html",
        "data/cases.js",
        "data/ELEMENT_WISE_ROUND.js",
    }
    assert read_record(page.parent / "results.jsonl") == ALL_SEVEN


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    for write in (
        lambda: write_all(ALL_SEVEN, tmp_path / "file"),
        lambda: write_junit(ALL_SEVEN, tmp_path / "file" / "junit"),
        lambda: write_ctrf(ALL_SEVEN, tmp_path / "file" / "below" / "ctrf"),
    ):
        with pytest.raises(OSError, match=re.escape(str(tmp_path / "file"))) as caught:
            write()
        assert "the report cannot be written" in str(caught.value)
        assert str(caught.value).count("cannot be written") == 1
