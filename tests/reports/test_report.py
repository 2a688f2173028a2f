"""The record, the verdict, and the reports for machines and logs: JUnit, CTRF, Markdown.

The thread through all of it: seven statuses, none of them ever counted as another.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from records import ALL_SEVEN, of, result, run

from dmlcts.reports import write_all
from dmlcts.reports.claim import claim_of
from dmlcts.reports.ctrf import CTRF_STATUS, write_ctrf
from dmlcts.reports.junit import ELEMENTS, escape, write_junit
from dmlcts.reports.markdown import code, fenced, markdown
from dmlcts.reports.record import (
    ERROR,
    FAIL,
    FAILURES,
    NOT_RUN,
    PASS,
    STATUSES,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Mismatch,
    Record,
    RecordError,
    read_record,
    write_record,
)
from dmlcts.reports.text import DETAILED, ELSEWHERE
from dmlcts.reports.verdict import (
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
from dmlcts.spec import clean

HOSTILE = "a \"<b>&' \x00\x1b[31m </script> ]]> `|` @somebody \ud800 \u2028 ÿ𝔘"


# ---- The record


def test_a_record_comes_back_as_it_was_written_with_clean_text(tmp_path: Path) -> None:
    mismatch = Mismatch("OutputTensor", (0, 1), "2", "nan", 1e300, "exact")
    whole = run(
        result(
            FAIL, message=HOSTILE, mismatches=(mismatch,), wrong=1, elements=4, desc={"Type": "X"}, evidence={"stage": "create"}
        ),
        result(PASS, 1, worst_ulp=0.0, seconds=0.5, grade="correctly rounded"),
        result(NOT_RUN, 2, data_type=""),
    )
    write_record(whole, tmp_path / "results.jsonl")
    first, *rest = whole.results
    assert clean.line(HOSTILE) != HOSTILE
    cleaned = replace(whole, results=(replace(first, message=clean.line(HOSTILE)), *rest))
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


# ---- JUnit


SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "data" / "junit.xsd")


def junit(record: Record, folder: Path) -> ElementTree.Element:
    """The suites of all files, each of which is valid, below one root."""
    write_junit(record, folder / "junit")
    root = ElementTree.Element("all")
    for file in sorted((folder / "junit").iterdir()):
        SCHEMA.validate(file)
        (suite,) = ElementTree.parse(file).getroot()
        root.append(suite)
    return root


def test_junit_keeps_the_seven_statuses_apart(tmp_path: Path) -> None:
    (suite,) = junit(ALL_SEVEN, tmp_path)
    told = Counter(case[0].get("type") if len(case) else PASS for case in suite.iter("testcase"))
    assert told == ALL_SEVEN.counts()
    assert {case[0].get("type"): case[0].tag for case in suite.iter("testcase") if len(case)} == {
        status: element for status, element in ELEMENTS.items() if element
    }
    counts = ALL_SEVEN.counts()
    expected = {
        "tests": len(ALL_SEVEN.results),
        "failures": counts[FAIL] + counts[UNEXPECTED_PASS],
        "errors": counts[ERROR],
        "skipped": counts[WAIVED] + counts[UNSUPPORTED] + counts[NOT_RUN],
    }
    assert {key: int(suite.get(key)) for key in expected} == expected


@pytest.mark.parametrize(
    "broken",
    [
        ("<testcase ", '<testcase file="x" '),
        ("/></testsuite>", "><properties/></testcase></testsuite>"),
        ('time="', 'time="1 s '),
        ("<testsuites ", '<testsuites skipped="1" '),
        ('failures="0" ', ""),
    ],
)
def test_the_junit_check_finds_a_broken_document(broken: tuple[str, str], tmp_path: Path) -> None:
    write_junit(run(result()), tmp_path)
    text = (tmp_path / "ELEMENT_WISE_ROUND.xml").read_text(encoding="utf-8").replace("\n", "")
    assert SCHEMA.is_valid(text)
    assert broken[0] in text
    assert not SCHEMA.is_valid(text.replace(*broken, 1))


def test_junit_files_stay_small_and_hold_each_case_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.reports.junit._MOST", 2_000)
    whole = run(*(result(FAIL if i % 3 else PASS, i, message="off" * 20) for i in range(40)), result(operator="GEMM"))
    suites = list(junit(whole, tmp_path))
    names = {file.name for file in (tmp_path / "junit").iterdir()}
    assert {"GEMM.xml", "ELEMENT_WISE_ROUND.xml", "ELEMENT_WISE_ROUND.2.xml"} < names
    assert len(suites) == len(names)
    told = [case.get("name") for suite in suites for case in suite.iter("testcase")]
    assert sorted(told) == sorted(r.case for r in whole.results)
    assert sum(int(suite.get("failures")) for suite in suites) == whole.counts()[FAIL]
    assert all(sum(len(ElementTree.tostring(case)) for case in suite.iter("testcase")) < 3_000 for suite in suites)


def test_only_the_first_failures_of_an_operator_have_details(tmp_path: Path) -> None:
    """A run in which all fails must not give reports that no CI system takes."""
    record = run(*(result(FAIL, i, message="off", repro="again") for i in range(DETAILED + 2)), result(FAIL, operator="GEMM"))
    for suite in junit(record, tmp_path):
        texts = [failure.text or "" for failure in suite.iter("failure")]
        assert all(ELSEWHERE not in text for text in texts[:DETAILED])
        assert set(texts[DETAILED:]) <= {ELSEWHERE}
        assert {failure.get("message") for failure in suite.iter("failure")} <= {"off", "failed"}
    write_ctrf(record, tmp_path / "ctrf")
    tests = json.loads((tmp_path / "ctrf" / "ELEMENT_WISE_ROUND.json").read_text(encoding="utf-8"))["results"]["tests"]
    assert ["run again: again" in test["trace"] for test in tests] == [True] * DETAILED + [False] * 2
    assert {test["message"] for test in tests} == {"off"}


def test_junit_files_of_an_older_report_go_and_others_stay(tmp_path: Path) -> None:
    write_junit(run(result(operator="GEMM"), result()), tmp_path)
    (tmp_path / "mine.xml").write_text("<testsuites/>", encoding="utf-8")
    write_junit(run(result(operator="REDUCE")), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"REDUCE.xml", "mine.xml"}


def test_junit_says_which_skipped_it_is(tmp_path: Path) -> None:
    root = junit(run(result(WAIVED, waiver="issue 12", message="off"), result(UNSUPPORTED, 1), result(NOT_RUN, 2)), tmp_path)
    assert [skipped.get("message") for skipped in root.iter("skipped")] == ["waived: issue 12", "unsupported", "not run"]


def test_junit_has_a_suite_an_operator_with_the_manifest(tmp_path: Path) -> None:
    root = junit(run(result(seconds=0.25), result(operator="GEMM"), result(number=1, seconds=0.5)), tmp_path)
    assert [file.name for file in sorted((tmp_path / "junit").iterdir())] == ["ELEMENT_WISE_ROUND.xml", "GEMM.xml"]
    assert [(suite.get("name"), suite.get("tests"), suite.get("time")) for suite in root] == [
        ("ELEMENT_WISE_ROUND", "2", "0.750"),
        ("GEMM", "1", "0.000"),
    ]
    case = root.find("testsuite/testcase")
    assert (case.get("classname"), case.get("name")) == ("dmlcts.ELEMENT_WISE_ROUND", "ELEMENT_WISE_ROUND/FLOAT16/0")
    for suite in root:
        told = {entry.get("name"): entry.get("value") for entry in suite.iterfind("properties/property")}
        assert told["dmlcts.seed"] == "7"
        assert told["dmlcts.backend.version"] == "2.0"
        assert told["dmlcts.backend.data_types"] == "FLOAT32"
        assert told["dmlcts.count.pass"] == "3"
        assert told["dmlcts.verdict"].startswith("impl 2.0 conforms")


def test_junit_carries_what_xml_can_and_replaces_the_rest(tmp_path: Path) -> None:
    root = junit(run(result(FAIL, message=HOSTILE, repro="dmlcts repro <x>", operator=HOSTILE)), tmp_path)
    failure = root.find("testsuite/testcase/failure")
    clean = HOSTILE.translate({0: "\ufffd", 0x1B: "\ufffd", 0xD800: "\ufffd"})
    assert failure.get("message") == clean
    assert failure.text.splitlines()[-1] == "run again: dmlcts repro <x>"
    assert root.find("testsuite").get("name") == clean


@pytest.mark.parametrize("number", [*range(0x100), 0x7F, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF])
def test_every_character_survives_or_is_replaced(number: int) -> None:
    text = ElementTree.fromstring(f'<a b="{escape(chr(number))}"/>'.encode()).get("b")
    allowed = number in (9, 10, 13) or 0x20 <= number <= 0xD7FF or 0xE000 <= number <= 0xFFFD or number > 0xFFFF
    assert text == (chr(number) if allowed else "\ufffd")


# ---- CTRF

COUNTS = ("tests", "passed", "failed", "skipped", "pending", "other", "start", "stop")
TEXT, WHOLE, ANY = {"type": "string", "minLength": 1}, {"type": "integer"}, {"type": "object"}


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


ONE = closed(
    ["name", "status", "duration"],
    name=TEXT, status={"enum": ["passed", "failed", "skipped", "pending", "other"]}, duration=WHOLE, rawStatus=TEXT, message=TEXT,
    trace={"type": "string"}, suite={"type": "array", "minItems": 1, "items": {"type": "string"}}, extra=ANY,
)  # fmt: skip
CTRF_SCHEMA = closed(
    ["results", "reportFormat", "specVersion"],
    reportFormat={"const": "CTRF"},
    specVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
    generatedBy=TEXT,
    results=closed(
        ["tool", "summary", "tests"],
        tool=closed(["name"], name=TEXT, version=TEXT, extra=ANY),
        summary=closed([*COUNTS], **dict.fromkeys(COUNTS, WHOLE), suites=WHOLE, duration=WHOLE, extra=ANY),
        tests={"type": "array", "items": ONE},
        environment=closed(
            [],
            **dict.fromkeys(
                ("reportName", "appName", "appVersion", "osPlatform", "osRelease", "osVersion", "testEnvironment"), TEXT
            ),
            extra=ANY,
        ),
        extra=ANY,
    ),
)
"""What the published schema says of the parts that we write; its objects are closed, too."""


def ctrf(record: Record, folder: Path) -> Any:
    """The document of a record of one operator."""
    write_ctrf(record, folder)
    (file,) = folder.iterdir()
    return json.loads(file.read_text(encoding="utf-8"), parse_constant=pytest.fail)


@pytest.mark.parametrize("record", [ALL_SEVEN, of(), run(result(seconds=0.0123), started="", finished="", backend={})])
def test_ctrf_has_the_published_structure(record: Record, tmp_path: Path) -> None:
    write_ctrf(record, tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == len({r.operator for r in record.results})
    for found in (json.loads(f.read_text(encoding="utf-8"), parse_constant=pytest.fail) for f in files):
        jsonschema.validate(found, CTRF_SCHEMA)
        summary = found["results"]["summary"]
        assert sum(summary[name] for name in ("passed", "failed", "skipped", "pending", "other")) == summary["tests"]
        assert summary["tests"] == len(found["results"]["tests"])


def test_ctrf_files_stay_small_and_hold_each_case_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.reports.ctrf._MOST", 2_000)
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    write_ctrf(run(result(operator="REDUCE")), tmp_path)
    whole = run(*(result(FAIL, i, message="off" * 20) for i in range(40)), result(operator="GEMM"))
    write_ctrf(whole, tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert {"GEMM.json", "ELEMENT_WISE_ROUND.json", "ELEMENT_WISE_ROUND.2.json", "mine.json"} < names
    assert "REDUCE.json" not in names
    found = [json.loads((tmp_path / name).read_text(encoding="utf-8")) for name in names - {"mine.json"}]
    assert sorted(test["name"] for file in found for test in file["results"]["tests"]) == sorted(r.case for r in whole.results)
    assert {file["results"]["summary"]["extra"]["verdict"] for file in found} == {claim_of(whole).sentence}


@pytest.mark.parametrize("broken", ["status", "name", "duration"])
def test_the_ctrf_check_finds_a_broken_document(broken: str, tmp_path: Path) -> None:
    found = ctrf(ALL_SEVEN, tmp_path)
    found["results"]["tests"][3][broken] = None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, CTRF_SCHEMA)


def test_ctrf_keeps_the_seven_statuses_apart(tmp_path: Path) -> None:
    results = ctrf(ALL_SEVEN, tmp_path)["results"]
    counts = ALL_SEVEN.counts()
    assert Counter(test.get("rawStatus", PASS) for test in results["tests"]) == counts
    assert all(test["status"] == CTRF_STATUS[test.get("rawStatus", PASS)] for test in results["tests"])
    assert results["summary"]["extra"]["counts"] == counts
    assert results["summary"]["passed"] == counts[PASS]
    assert results["summary"]["failed"] == sum(counts[status] for status in FAILURES)
    assert results["summary"]["skipped"] == counts[UNSUPPORTED]
    assert results["summary"]["pending"] == counts[NOT_RUN]
    assert results["summary"]["other"] == counts[WAIVED]


def test_ctrf_has_times_and_the_command_that_runs_a_failure_again(tmp_path: Path) -> None:
    found = ctrf(run(result(FAIL, message="off", repro="dmlcts repro X", seconds=0.0126, basis="contested")), tmp_path)
    assert (found["results"]["summary"]["start"], found["results"]["summary"]["stop"]) == (1767323045000, 1767323055000)
    assert found["timestamp"] == "2026-01-02T03:04:15.000Z"
    (test,) = found["results"]["tests"]
    assert test["duration"] == 13
    assert test["suite"] == ["ELEMENT_WISE_ROUND", "FLOAT16"]
    assert test["extra"] == {"kind": "table", "basis": "contested", "featureLevel": "6_4", "repro": "dmlcts repro X"}
    assert "run again: dmlcts repro X" in test["trace"]


def test_ctrf_is_strict_json_whatever_a_backend_says(tmp_path: Path) -> None:
    said = {"name": "impl", "details": {"peak": math.inf, "list": [math.nan]}}
    write_ctrf(
        run(result(FAIL, message=HOSTILE, mismatches=(Mismatch("O", (0,), "1", "inf", math.inf),), wrong=1), backend=said),
        tmp_path / "c",
    )
    found = json.loads((tmp_path / "c" / "ELEMENT_WISE_ROUND.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert found["results"]["environment"]["extra"]["backend"]["details"] == {"peak": "inf", "list": ["nan"]}
    assert found["results"]["tests"][0]["message"] == HOSTILE


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
    assert next(fenced(["````"], "sh")) == "`````sh"


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
