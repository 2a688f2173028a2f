"""JUnit files: valid, small, and the seven statuses kept apart."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from records import ALL_SEVEN, HOSTILE, result, run

from dmlcts.reports.formats.ctrf import write_ctrf
from dmlcts.reports.formats.junit import ELEMENTS, escape, write_junit
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Record,
)
from dmlcts.reports.record.text import DETAILED, ELSEWHERE

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
    counts = Counter(case[0].get("type") if len(case) else PASS for case in suite.iter("testcase"))
    assert counts == ALL_SEVEN.counts()
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
    monkeypatch.setattr("dmlcts.reports.formats.junit._MOST", 2_000)
    whole = run(*(result(FAIL if i % 3 else PASS, i, message="off" * 20) for i in range(40)), result(operator="GEMM"))
    suites = list(junit(whole, tmp_path))
    names = {file.name for file in (tmp_path / "junit").iterdir()}
    assert {"GEMM.xml", "ELEMENT_WISE_ROUND.xml", "ELEMENT_WISE_ROUND.2.xml"} < names
    assert len(suites) == len(names)
    names = [case.get("name") for suite in suites for case in suite.iter("testcase")]
    assert sorted(names) == sorted(r.case for r in whole.results)
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
        properties = {entry.get("name"): entry.get("value") for entry in suite.iterfind("properties/property")}
        assert properties["dmlcts.seed"] == "7"
        assert properties["dmlcts.backend.version"] == "2.0"
        assert properties["dmlcts.backend.data_types"] == "FLOAT32"
        assert properties["dmlcts.count.pass"] == "3"
        assert properties["dmlcts.verdict"].startswith("impl 2.0 conforms")


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
