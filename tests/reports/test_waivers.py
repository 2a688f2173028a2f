"""Waivers: what they match, when they end, and what is wrong with a file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from dmlcts.reports.gate.waivers import Waiver, WaiverError, apply_waivers, read_waivers, unused_patterns
from dmlcts.reports.record.record import STATUSES, Result
from dmlcts.reports.record.versions import what_ran

TODAY = date(2027, 3, 1)
RAN = {"DirectML": "1.15.2", "vkd3d": "2.1"}
CASE = "ELEMENT_WISE_ROUND/FLOAT16/values/halves/TOWARD_ZERO"


def result(status: str, case: str = CASE) -> Result:
    return Result(case, "ELEMENT_WISE_ROUND", "FLOAT16", "values", "documented", "2_1", status, "what it said")


def waiver(cases: str = "ELEMENT_WISE_ROUND/FLOAT16/*", expires: date | None = None, reason: str = "truncates") -> Waiver:
    return Waiver(cases, reason, "https://example.org/issues/12", expires)


def applied(found: Result, waivers: Sequence[Waiver], today: date, ran: Mapping[str, str] = RAN) -> Result:
    return apply_waivers(found, waivers, today, ran)


def written(folder: Path, text: str) -> Path:
    file = folder / "waivers.yaml"
    file.write_text(text, encoding="utf-8")
    return file


# Applying


@pytest.mark.parametrize(
    ("status", "becomes"),
    [
        ("fail", "waived"),
        ("error", "waived"),
        ("pass", "unexpected_pass"),
        ("unsupported", "unsupported"),
        ("not_run", "not_run"),
        ("waived", "waived"),
        ("unexpected_pass", "unexpected_pass"),
    ],
)
def test_what_becomes_of_each_status(status: str, becomes: str) -> None:
    assert status in STATUSES
    assert applied(result(status), [waiver()], TODAY).status == becomes


def test_a_waived_failure_keeps_its_message_and_names_reason_and_issue() -> None:
    found = applied(result("fail"), [waiver()], TODAY)
    assert found == replace(result("fail"), status="waived", waiver="truncates (https://example.org/issues/12)")


def test_an_unexpected_pass_says_that_the_waiver_must_go() -> None:
    found = applied(result("pass"), [waiver()], TODAY)
    assert found.message == "passes although it is waived: truncates (https://example.org/issues/12); remove the waiver"
    assert found.waiver


@pytest.mark.parametrize("status", STATUSES)
def test_what_no_waiver_matches_is_as_it_was(status: str) -> None:
    assert applied(result(status), [waiver("ELEMENT_WISE_ROUND/FLOAT32/*")], TODAY) == result(status)
    assert applied(result(status), [], TODAY) == result(status)


@pytest.mark.parametrize(
    ("cases", "matches"),
    [
        (CASE, True),
        ("ELEMENT_WISE_ROUND/*", True),
        ("*/TOWARD_ZERO", True),
        ("ELEMENT_WISE_ROUND/FLOAT??/*", True),
        ("ELEMENT_WISE_ROUND", False),
        ("element_wise_round/*", False),
        ("ELEMENT_WISE_ROUND/FLOAT16", False),
    ],
)
def test_globs(cases: str, matches: bool) -> None:
    assert waiver(cases).matches(CASE) is matches


def test_an_id_matches_itself_though_it_has_brackets() -> None:
    case = "ELEMENT_WISE_ROUND/FLOAT32/negative/sizes/InputTensors[0]+1"
    assert waiver(case).matches(case)
    assert waiver("*/sizes/InputTensors[0]*").matches(case)
    assert not waiver(case).matches(case.replace("[0]", "0"))
    assert not waiver("*/FLOAT[13]*").matches(case)


# Expiry


@pytest.mark.parametrize(("expires", "applies"), [(date(2027, 2, 28), False), (date(2027, 3, 1), True), (date(2027, 3, 2), True)])
def test_the_last_day_still_counts(expires: date, applies: bool) -> None:
    assert applied(result("fail"), [waiver(expires=expires)], TODAY).status == ("waived" if applies else "fail")


@pytest.mark.parametrize(
    ("status", "message", "becomes"),
    [("fail", "what it *", "waived"), ("error", "*said", "waived"), ("fail", "*other*", "fail"), ("pass", "what it *", "pass")],
)
def test_a_waiver_with_a_message_is_about_failures_with_such_a_message(status: str, message: str, becomes: str) -> None:
    assert applied(result(status), [replace(waiver(), message=message)], TODAY).status == becomes


def test_a_failure_says_that_its_waiver_expired_and_a_pass_says_nothing() -> None:
    old = waiver(expires=date(2027, 1, 31))
    assert applied(result("fail"), [old], TODAY).message == "what it said (its waiver expired on 2027-01-31)"
    assert applied(result("pass"), [old], TODAY) == result("pass")
    assert applied(result("unsupported"), [old], TODAY) == result("unsupported")


def test_an_expired_waiver_does_not_hide_one_that_is_valid() -> None:
    both = [waiver(expires=date(2027, 1, 31), reason="old"), waiver(expires=date(2028, 1, 1), reason="new")]
    assert applied(result("fail"), both, TODAY).waiver.startswith("new")
    assert applied(result("pass"), both, TODAY).status == "unexpected_pass"


def test_the_first_valid_one_counts() -> None:
    assert applied(result("fail"), [waiver(reason="first"), waiver(reason="second")], TODAY).waiver.startswith("first")


# Versions

UNKNOWN = "1.15.2.0+sha256.0123456789abcdef"


@pytest.mark.parametrize(
    ("versions", "ran", "applies"),
    [
        ({"DirectML": ("1.15.2",)}, RAN, True),
        ({"DirectML": ("1.15.2.0",)}, RAN, True),
        ({"DirectML": ("1.8.0", "1.15.1 to 1.15.4")}, RAN, True),
        ({"DirectML": ("1.9.0 to 1.15.2",)}, {"DirectML": "1.10.1"}, True),
        ({"DirectML": ("1.15.3 to 1.15.4",)}, RAN, False),
        ({"DirectML": (">=1.12,<1.15.2",)}, RAN, False),
        ({"DirectML": (">=1.12, <=1.15.2.0",)}, RAN, True),
        ({"DirectML": ("<1.9", ">1.15.1")}, RAN, True),
        ({"DirectML": ("<1.15.10",)}, RAN, True),
        ({"DirectML": (">=1.12",)}, {"DirectML": UNKNOWN}, False),
        ({"DirectML": ("1.15.1 to 1.15.4",), "vkd3d": ("2.2",)}, RAN, False),
        ({"DirectML": ("1.15.1 to 1.15.4",), "vkd3d": ("2.0 to 2.1",)}, RAN, True),
        ({"vkd3d": ("2.1",)}, {"DirectML": "1.15.2"}, False),  # as on Windows
        ({"DirectML": ("1.8.0 to 1.15.4",)}, {"DirectML": UNKNOWN}, False),
        ({"DirectML": ("1.8.0 to 1.15.4", UNKNOWN)}, {"DirectML": UNKNOWN}, True),
        ({"DirectML": ("1.8.0 to 1.15.4", UNKNOWN)}, {"DirectML": f"{UNKNOWN} (not the DLL that was fetched)"}, False),
        ({"DirectML": ("1.8.0 to 1.15.4",)}, {"DirectML": "1.15.2 (on a stack that has changed)"}, False),
        ({"DirectML": ("1.8.0 to 1.15.4",)}, {"DirectML": ""}, False),
        ({"DirectML": ("1.8.0 to 1.15.4",)}, {}, False),
    ],
)
@pytest.mark.parametrize("status", ["fail", "pass"])
def test_a_waiver_applies_to_its_versions_only(
    versions: Mapping[str, Sequence[str]], ran: Mapping[str, str], applies: bool, status: str
) -> None:
    found = applied(result(status), [replace(waiver(), versions=versions)], TODAY, ran).status
    assert found == ({"fail": "waived", "pass": "unexpected_pass"}[status] if applies else status)


def test_a_failure_says_that_its_waiver_is_about_other_versions() -> None:
    older = replace(waiver(), versions={"DirectML": ("1.8.0", "1.13.1 to 1.14.1")})
    assert applied(result("fail"), [older], TODAY).message == (
        "what it said (its waiver does not apply: it is about DirectML 1.8.0, 1.13.1 to 1.14.1, and this is DirectML 1.15.2)"
    )
    assert applied(result("pass"), [older], TODAY) == result("pass")
    assert applied(result("fail"), [older, waiver(reason="any")], TODAY).waiver.startswith("any")
    assert applied(result("fail"), [older], TODAY, {}).message.endswith("and this is no known DirectML)")


def test_what_ran_is_the_backend_and_its_parts() -> None:
    described = {"name": "DirectML", "version": "1.15.4", "details": {"vkd3d": "2.1", "adapter": 0, "DirectML": "9"}}
    assert what_ran(described) == {"DirectML": "1.15.4", "vkd3d": "2.1"}
    assert what_ran({"name": "x", "details": None}) == {"x": ""}


# Standard error


@pytest.mark.parametrize(
    ("stderr", "lines", "becomes"),
    [
        ("*E2008: Unhandled*", "first\nvkd3d:1:warn: E2008: Unhandled flags\nlast", "waived"),
        ("*E2008: Unhandled*", "first\nvkd3d:1:warn: E2009: Unhandled flags", "fail"),
        ("first*last", "first\nlast", "fail"),  # a line, not the whole
        ("*E2008: Unhandled*", "", "fail"),
    ],
)
def test_a_waiver_by_standard_error_is_about_failures_with_such_a_line(stderr: str, lines: str, becomes: str) -> None:
    failed = replace(result("fail"), evidence={"stderr": lines} if lines else {})
    assert applied(failed, [replace(waiver(), stderr=stderr)], TODAY).status == becomes
    assert applied(failed, [replace(waiver(), stderr=stderr, message="*other*")], TODAY).status == "fail", "both must match"
    assert applied(replace(failed, status="pass"), [replace(waiver(), stderr=stderr)], TODAY).status == "pass"


def test_the_message_is_not_standard_error() -> None:
    assert (
        applied(replace(result("fail"), message="E2008: Unhandled"), [replace(waiver(), stderr="*E2008*")], TODAY).status == "fail"
    )
    failed = replace(result("fail"), evidence={"stderr": "E2008: Unhandled", "fault": "E2008"})
    assert applied(failed, [replace(waiver(), message="*E2008*")], TODAY).status == "fail"


# Reading


def test_a_file_is_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
waivers:
  - cases: ELEMENT_WISE_ROUND/FLOAT16/*
    reason: the driver truncates FLOAT16 stores
    issue: https://example.org/issues/12
    expires: 2027-03-01
  - {cases: ["A/*", B], reason: because, issue: "#7"}
  - {cases: "*", reason: because, issue: "#8", message: "*refused at compile with 0x80004001*"}
  - cases: "*"
    reason: because
    issue: "#9"
    stderr: "*E2008: Unhandled*"
    versions: {DirectML: [1.8.0, 1.13.1 to 1.14.1], vkd3d: "2.1"}
""",
    )
    assert read_waivers(file) == (
        Waiver(
            "ELEMENT_WISE_ROUND/FLOAT16/*", "the driver truncates FLOAT16 stores", "https://example.org/issues/12", date(2027, 3, 1)
        ),
        Waiver("A/*", "because", "#7", None),
        Waiver("B", "because", "#7", None),
        Waiver("*", "because", "#8", None, "*refused at compile with 0x80004001*"),
        Waiver(
            "*", "because", "#9", None, "", "*E2008: Unhandled*", {"DirectML": ("1.8.0", "1.13.1 to 1.14.1"), "vkd3d": ("2.1",)}
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "must be a mapping of fields to values, not an empty file"),
        ("- cases: x", 1, "must be a mapping of fields to values, not a list"),
        ("waivers:", 1, r'waivers: null is not of type "array"; it must be a list of waivers'),
        ("waivers: {cases: x}", 1, r'waivers: .* is not of type "array"'),
        ("waivers: []\nwaiver: []", 2, "waiver: is unknown"),
        ("waivers: [x]", 1, r'waivers\[0\]: "x" is not of type "object"'),
        ("waivers: [{cases: x, reason: y}]", 1, r"waivers\[0\].issue: is missing; a waiver says where it is tracked"),
        ("waivers: [{cases: x, issue: y}]", 1, r"waivers\[0\].reason: is missing"),
        ("waivers: [{reason: x, issue: y}]", 1, r"waivers\[0\].cases: is missing"),
        ("waivers: [{cases: x, reason: ' ', issue: y}]", 1, r"waivers\[0\].reason: is empty"),
        ("waivers: [{cases: [], reason: y, issue: z}]", 1, r"waivers\[0\].cases: .* has less than 1 item"),
        ("waivers: [{cases: [x, 1], reason: y, issue: z}]", 1, r"waivers\[0\].cases: .* 1 is not of type"),
        ("waivers: [{cases: x, reason: y, issue: 12}]", 1, r'issue: 12 is not of type "string"; .* or a number in quotes$'),
        (
            "waivers: [{cases: x, reason: y, issue: z}, {case: x, reason: y, issue: z}]",
            1,
            r"waivers\[1\].(case: is unknown|cases: is)",
        ),
        ("waivers:\n- cases: x\n  reason: y\n  issue: z\n  expire: x", 5, r"waivers\[0\].expire: is unknown"),
        ("waivers:\n- cases: x\n  reason: y\n  reason: z", 4, r"the key 'reason' is given twice, on lines 3 and 4"),
        ("waivers: [{cases: x, reason: y, issue: z, expires: soon}]", 1, r"waivers\[0\].expires: must be a date .* not 'soon'"),
        ("waivers: [{cases: x, reason: y, issue: z, expires: 2027}]", 1, r"waivers\[0\].expires: 2027 .* must be a date"),
        ("waivers: [{cases: x, reason: y, issue: z, expires: 2027-03-01 12:00:00}]", 1, r"waivers\[0\].expires: must be a date"),
        ("waivers: [{cases: x, reason: y, issue: z, expires: 2027-02-30}]", 1, r"expires: must be a date .* not '2027-02-30'"),
        (
            "waivers:\n- cases: '*'\n  reason: y\n  issue: z\n  message: '*'",
            5,
            r"message: '\*' could excuse failures of any cause; give two words",
        ),
        ("waivers: [{cases: x, reason: y, issue: z, message: '?* *'}]", 1, r"message: '\?\* \*' could excuse"),
        ("waivers: [{cases: x, reason: y, issue: z, stderr: '**'}]", 1, r"waivers\[0\].stderr: '\*\*' could excuse"),
        ("waivers: [{cases: x, reason: y, issue: z, versions: 1.2.3}]", 1, r"versions: .* it maps the names of programs"),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {}}]", 1, r"waivers\[0\].versions"),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {vkd3d: 2.1}}]", 1, r"versions.vkd3d: 2.1 "),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {D: []}}]", 1, r"waivers\[0\].versions.D"),
        (
            "waivers: [{cases: x, reason: y, issue: z, versions: {D: 1.15.*}}]",
            1,
            r"versions.D: '1.15.\*' must be a version such as",
        ),
        (
            "waivers: [{cases: x, reason: y, issue: z, versions: {D: '>=1.2,1.4'}}]",
            1,
            r"versions.D: '>=1.2,1.4' must be bounds such as",
        ),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {D: '>= new'}}]", 1, r"versions.D: '>= new' must be bounds such as"),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {D: 1.2 - 1.4}}]", 1, r"versions.D: '1.2 - 1.4' must be a version"),
        ("waivers: [{cases: x, reason: y, issue: z, versions: {D: 1.2 to new}}]", 1, r"versions.D: '1.2 to new' must be a version"),
        (
            "waivers: [{cases: x, reason: y, issue: z, versions: {D: 1.10 to 1.9}}]",
            1,
            r"versions.D: '1.10 to 1.9' ends before it begins",
        ),
        ("waivers: [", 2, "not YAML"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nwaivers: " + "[*b, " * 40 + "]" * 40, 1, "nested deeper than"),
        ("waivers: " + "[" * 5000, None, "too large: more than 4000 lists"),
    ],
)
def test_an_error_in_a_file_names_file_line_and_entry(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(WaiverError, match=message) as error:
        read_waivers(file)
    assert str(error.value).startswith(f"{file}:{line}: " if line else f"{file}: ")


@pytest.mark.parametrize(
    "message",
    [
        "*", "?* *", "*e*", "* e *", "*e*f*", "a b c d", "*0x80004001*", "*elements*wrong*", "*ele?men*", "*at [*", "*off by*", "*____ ____*",
    ],
)  # fmt: skip
def test_a_message_without_two_words_beside_each_other_is_refused(tmp_path: Path, message: str) -> None:
    file = written(tmp_path, f"waivers: [{{cases: '*', reason: y, issue: z, message: '{message}'}}]")
    with pytest.raises(WaiverError, match="could excuse failures of any cause"):
        read_waivers(file)


@pytest.mark.parametrize(
    "message", ["*actual nan*", "refused at compile with 0x80004001*", "*TGSM byte*", "*access violation (0x*"]
)
def test_a_message_with_two_words_beside_each_other_is_read(tmp_path: Path, message: str) -> None:
    file = written(tmp_path, f"waivers: [{{cases: '*', reason: y, issue: z, message: '{message}'}}]")
    assert read_waivers(file)[0].message == message


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("file", sorted((DOCS / "waivers").glob("*.yaml")), ids=lambda file: file.name)
def test_the_project_s_own_waivers_are_read(file: Path) -> None:
    assert read_waivers(file)


def test_the_readme_s_message_is_read(tmp_path: Path) -> None:
    (message,) = re.findall(r'With `message: "(.*?)"`', (DOCS.parent / "README.md").read_text(encoding="utf-8"))
    file = written(tmp_path, f"waivers: [{{cases: '*', reason: y, issue: z, message: '{message}'}}]")
    assert read_waivers(file)[0].message == message


def test_dates_are_read_with_and_without_quotes(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "waivers: [{cases: x, reason: y, issue: z, expires: 2027-03-01}, {cases: x, reason: y, issue: z, expires: '2027-03-02'}]",
    )
    assert [waiver.expires for waiver in read_waivers(file)] == [date(2027, 3, 1), date(2027, 3, 2)]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(WaiverError, match="cannot be read"):
        read_waivers(tmp_path / "none.yaml")
    file = tmp_path / "latin.yaml"
    file.write_bytes("waivers: [{cases: é}]".encode("latin-1"))
    with pytest.raises(WaiverError, match=r"latin.yaml:1: not UTF-8"):
        read_waivers(file)


def test_patterns_that_match_no_case_are_found() -> None:
    found = unused_patterns([waiver(), waiver("NOSUCH/*"), waiver("NOSUCH/*"), waiver("*/values/halves/*")], [CASE])
    assert found == ("NOSUCH/*",)
