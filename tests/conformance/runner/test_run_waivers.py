"""``dmlcts run`` with waivers: what they excuse, until when, and the messages about those that are wrong or unused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from commands import dmlcts

from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.reports.record.record import Result, read_record

pytestmark = pytest.mark.usefixtures("hosts_at_hand")

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
"""A case in which the backends of tests/hosts/unruly.py misbehave."""

OTHER = "ELEMENT_WISE_BIT_OR/UINT16/4d"
"""Another case of that operator."""


def results(folder: Path) -> dict[str, Result]:
    return {result.case: result for result in read_record(folder / "results.jsonl").results}


def waived(file: Path, cases: str, **more: object) -> Path:
    entry = {"cases": cases, "reason": "known", "issue": "https://example.org/1", **more}
    file.write_text(json.dumps({"waivers": [entry]}, default=str).replace('"DATE', "").replace('DATE"', ""), encoding="utf-8")
    return file


def test_a_run_whose_failures_are_all_waived_proves_nothing(tmp_path: Path) -> None:
    file = waived(tmp_path / "waivers.yaml", "*")
    select = ("-q", "--level", "smoke", "--operator", "BIT_OR", "--waivers", file, "--out", tmp_path / "out")
    assert dmlcts("run", "--backend", "python:unruly:AllWrong", *select) == 1
    assert {result.status for result in results(tmp_path / "out").values()} == {"waived"}


def test_more_waived_than_passing_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A message that excuses every wrong result, and an operator that is wrong: another one that passes does not make up for it."""
    file = waived(tmp_path / "waivers.yaml", "*", message="*elements wrong*")
    cases = ("--case", CASE, "--case", "ELEMENT_WISE_BIT_AND/UINT8/4d", "--waivers", file, "--out", tmp_path / "out")
    assert dmlcts("run", "-q", "--backend", "python:unruly:Wrong", *cases) == 1
    assert "more cases are waived than pass of ELEMENT_WISE_BIT_OR" in " ".join(capsys.readouterr().out.split())
    assert [result.status for result in results(tmp_path / "out").values()] == ["waived", "pass"]


@pytest.fixture
def waiver_run(tmp_path: Path) -> Iterator[object]:
    def run(backend: str, cases: str, **more: object) -> tuple[int, Result]:
        file = waived(tmp_path / "waivers.yaml", cases, **more)
        named = ("--case", CASE, "--case", OTHER)  # of which the second passes
        code = dmlcts("run", "-q", *named, "--backend", backend, "--waivers", file, "--out", tmp_path / "out")
        return code, results(tmp_path / "out")[CASE]

    return run  # type: ignore[return-value]


def test_waivers(waiver_run: object) -> None:
    run = waiver_run
    assert callable(run)
    code, result = run("python:unruly:Wrong", "ELEMENT_WISE_BIT_OR/UINT8/*")
    assert (code, result.status, result.waiver) == (0, "waived", "known (https://example.org/1)")
    code, result = run("python:unruly:Raises", CASE)
    assert (code, result.status) == (0, "waived")
    code, result = run("python:unruly:Wrong", "ELEMENT_WISE_BIT_XOR/*")
    assert (code, result.status) == (1, "fail")
    code, result = run("reference", "*")
    assert (code, result.status) == (1, "unexpected_pass")
    assert "remove the waiver" in result.message
    code, result = run("python:unruly:Nothing", "*")
    assert (code, result.status) == (1, "unsupported")  # which no waiver turns into anything else
    today = date.today()
    code, result = run("python:unruly:Wrong", CASE, expires=f"DATE{today + timedelta(days=2)}DATE")
    assert (code, result.status) == (0, "waived")
    code, result = run("python:unruly:Wrong", CASE, expires=f"DATE{today - timedelta(days=2)}DATE")
    assert (code, result.status) == (1, "fail")
    assert "its waiver expired on" in result.message
    code, result = run("reference", "*", expires=f"DATE{today - timedelta(days=2)}DATE")
    assert (code, result.status) == (0, "pass")


def test_a_backend_that_stops_the_clock_revives_no_waiver(waiver_run: object) -> None:
    assert callable(waiver_run)
    code, result = waiver_run("inprocess:unruly:StopsTheClock", CASE, expires="DATE2020-01-01DATE")
    assert (code, result.status) == (1, "fail")
    assert "its waiver expired on 2020-01-01" in result.message


def test_several_files_of_waivers_count_together(tmp_path: Path) -> None:
    files = [waived(tmp_path / f"{number}.yaml", cases) for number, cases in enumerate(("ELEMENT_WISE_BIT_XOR/*", CASE))]
    cases = ("--case", CASE, "--case", OTHER)
    given = ["run", "-q", *cases, "--backend", "python:unruly:Wrong", "--out", tmp_path / "out"]
    assert dmlcts(*given, "--waivers", files[0]) == 1
    assert dmlcts(*given, "--waivers", files[0], "--waivers", files[1]) == 0
    assert results(tmp_path / "out")[CASE].status == "waived"
    options = RunOptions(waivers=tuple(map(str, files)), cases=(CASE,), seed="7")
    assert RunOptions.from_json(options.to_json()) == options  # what worker processes are given


def test_a_waiver_that_matches_no_case_is_mentioned_and_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = waived(tmp_path / "w.yaml", "NOSUCH/*")
    assert dmlcts("run", "--case", CASE, "--waivers", file, "--out", tmp_path / "out") == 0
    message = "1 waiver matched no case of this run: NOSUCH/*."
    assert message in capsys.readouterr().out
    assert read_record(tmp_path / "out" / "results.jsonl").manifest.unused_waivers == ("NOSUCH/*",)
    assert message.replace("*", "\\*") in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    assert message in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert dmlcts("run", "--case", CASE, "--out", tmp_path / "out") == 0
    assert "matched no case" not in capsys.readouterr().out


def test_waivers_of_operators_that_were_not_asked_for_are_not_mentioned(tmp_path: Path) -> None:
    files = [
        waived(tmp_path / f"{number}.yaml", cases)
        for number, cases in enumerate(("GEMM/*", "ELEMENT_WISE_BIT_XOR/nosuch", "*/nosuch"))
    ]
    given = [part for file in files for part in ("--waivers", file)]
    assert dmlcts("run", "ELEMENT_WISE_BIT_XOR", "--level", "smoke", *given, "--out", tmp_path / "out") == 0
    assert read_record(tmp_path / "out" / "results.jsonl").manifest.unused_waivers == ("ELEMENT_WISE_BIT_XOR/nosuch", "*/nosuch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("waivers: [", "not YAML"),
        ("waivers: {}", "waivers: {} is not of type"),
        ("waivers: [{cases: '*', reason: r}]", "waivers[0].issue: is missing"),
        ("waivers: [{cases: '*', reason: r, issue: i, expires: soon}]", "must be a date such as"),
    ],
)
def test_malformed_waivers_are_exit_code_2(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    assert dmlcts("run", "--case", CASE, "--waivers", tmp_path / "w.yaml", "--out", tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
