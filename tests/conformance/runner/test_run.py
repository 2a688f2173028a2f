"""``dmlcts run`` on the reference: what it writes, what it selects, and that processes, shards and surroundings change nothing of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import dmlcts
from records import listed_cases
from rich.console import Console

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.run import run
from dmlcts.conformance.runner.screen.progress import Progress
from dmlcts.reports.record.record import STATUSES, read_record
from dmlcts.reports.record.verdict import WORDS
from dmlcts.spec.reading.loader import operator_names
from dmlcts.spec.reading.promises import spec_version

HOSTS = Path(__file__).parents[2] / "hosts"
AT_HAND = os.pathsep.join(filter(None, (str(HOSTS), os.environ.get("PYTHONPATH"))))
REPORTS = {"results.jsonl", "claim.json", "junit", "ctrf", "summary.md", "index.html", "data", ".dmlcts.lock"}
NAME = "vergleich ä [b]" + ("\\n" if os.name == "posix" else "")
"""An output folder's name that needs care: in a shell, in markup and in JSON."""

CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"
PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")


def started(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, to its end. The unruly backends are at hand."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], cwd=cwd, env={**os.environ, "PYTHONPATH": AT_HAND, **environment},
        capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=300, check=False,
    )  # fmt: skip


def statuses(folder: Path) -> dict[str, str]:
    return {result.case: result.status for result in read_record(folder / "results.jsonl").results}


def reported(folder: Path) -> list[Mapping[str, int]]:
    """How many of each status the record says, and each report by its own words."""
    record = read_record(folder / "results.jsonl")
    suites = [ElementTree.parse(file).getroot() for file in (folder / "junit").iterdir()]
    junit = Counter(case[0].get("type", "") if len(case) else "pass" for suite in suites for case in suite.iter("testcase"))
    ctrf = [json.loads(file.read_text(encoding="utf-8"))["results"] for file in (folder / "ctrf").iterdir()]
    summary = re.findall(r"^\| \S \| ([a-z ]+) \| ([\d,]+) \|", (folder / "summary.md").read_text(encoding="utf-8"), re.MULTILINE)
    page = (folder / "index.html").read_text(encoding="utf-8")
    shown = re.findall(r'<span class="number">([\d,]+)</span> <span class="word">([a-z ]+)</span>', page)
    html = {status: int(number.replace(",", "")) for number, word in shown for status in STATUSES if WORDS[status] == word}
    scripts = Counter(STATUSES[status] for _, _, _, status, *_ in listed_cases(folder))
    named = {name: int(number.replace(",", "")) for name, number in summary}
    markdown = {status: named[{"pass": "passed", "fail": "failed"}.get(status, status.replace("_", " "))] for status in STATUSES}
    raw = Counter(test.get("rawStatus", "pass") for results in ctrf for test in results["tests"])
    extra = sum((Counter(results["summary"]["extra"]["counts"]) for results in ctrf), Counter())
    assert (
        sum(int(suite.get("tests", 0)) for suite in suites)
        == sum(results["summary"]["tests"] for results in ctrf)
        == len(record.results)
    )
    return [
        record.counts(),
        *({status: found[status] for status in STATUSES} for found in (junit, raw, extra, html, scripts)),
        markdown,
    ]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The reference at level smoke, in a folder whose name needs care."""
    folder = tmp_path_factory.mktemp("run") / NAME
    return folder, started("run", "--level", "smoke", "--seed", "7", "--out", folder)


def test_smoke_passes_and_every_report_says_so(smoke: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = smoke
    assert (done.returncode, done.stderr) == (0, "")
    assert {file.name for file in folder.iterdir()} == REPORTS
    cases = selected_cases(RunOptions(level="smoke"))
    assert list(statuses(folder)) == [case.id for case in cases]
    first, *others = reported(folder)
    assert first == {**dict.fromkeys(STATUSES, 0), "pass": len(cases)}
    assert all(counts == first for counts in others)


def test_the_manifest_is_complete(smoke: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = smoke
    record = read_record(folder / "results.jsonl")
    manifest = record.manifest
    assert manifest.suite_version == metadata.version("directml-conformance")
    assert manifest.spec_version == spec_version(operator_names())
    assert (manifest.backend["name"], manifest.backend["feature_level"]) == ("reference", "6_4")
    assert (manifest.backend_spec, manifest.level, manifest.basis) == ("reference", "smoke", "documented")
    assert (manifest.feature_level, manifest.seed, manifest.shard, manifest.selection) == ("6_4", "7", "", "")
    assert manifest.command.startswith("dmlcts run --level smoke --seed 7 --out ")
    assert NAME in manifest.command
    assert all(manifest.platform[key] for key in ("system", "release", "machine", "python"))
    assert manifest.selected == len(record.results)
    assert not manifest.interrupted
    start, finish = datetime.fromisoformat(manifest.started), datetime.fromisoformat(manifest.finished)
    assert start.tzinfo is not None
    assert 0 <= (finish - start).total_seconds() <= manifest.seconds + 2
    assert 0 < manifest.seconds < 100
    assert all(0 < result.seconds < 100 for result in record.results)


def test_the_summary_says_what_happened_and_where(smoke: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = smoke
    count = len(selected_cases(RunOptions(level="smoke")))
    lines = done.stdout.splitlines()
    assert lines[0] == f"{len(operator_names())} operators"
    assert f"first look: {count:,} of {count:,} cases pass; smoke makes no claim." in done.stdout
    assert lines[-2] == f"report: {folder / 'index.html'}"  # in one piece, brackets and all
    assert lines[-1].endswith("To run more: dmlcts run --level core --basis documented -n 2")
    for operator in {case.operator.name for case in selected_cases(RunOptions(level="smoke"))}:
        assert re.search(rf"^{operator} +\d+$", done.stdout, re.MULTILINE)


def test_level_huge_runs_one_case_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run them one at a time"):
        run(RunOptions(level="huge", out=str(tmp_path / "out")), 2, Progress(Console(), quiet=True))


def test_two_processes_find_what_one_does(smoke: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    arguments = ("run", "--level", "smoke", "--seed", "7", "--out", tmp_path, "-n", 2, "BIT_*")
    done = started(*arguments, "--backend", "python:unruly:Prints")
    assert done.returncode == 0, done.stderr
    expected = [item for item in statuses(smoke[0]).items() if item[0].startswith("ELEMENT_WISE_BIT_")]
    assert list(statuses(tmp_path).items()) == expected  # in the order of the selection, whoever was first
    operators = {case.partition("/")[0] for case, _ in expected}
    assert len(operators) > 2
    assert "hello" not in (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    assert done.stdout.startswith(f"{len(operators)} operators in 2 processes\n")


def test_quiet_prints_the_summary_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("run", "--quiet", "--case", CASE, "--out", tmp_path) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("operator ")
    assert "1 of 1 documented cases" in printed


# Selection


def test_a_property_case_depends_on_its_id_and_the_seed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, list[bytes]] = {}

    def run(name: str, *options: str) -> list[bytes]:
        from dmlcts.conformance.backends.reference import ReferenceBackend

        original, seen[name] = ReferenceBackend.run, []
        with monkeypatch.context() as patch:
            patch.setattr(
                ReferenceBackend, "run", lambda self, d: (seen[name].append(d.resources[0].tobytes()), original(self, d))[1]
            )
            case = "ELEMENT_WISE_BIT_XOR/UINT32/property/agreement"
            assert dmlcts("run", "-q", "--case", case, "--out", tmp_path / name, *options) == 0
        return seen[name]

    assert run("a") == run("b")
    assert len(seen["a"]) >= 10
    assert run("c", "--seed", "1") != seen["a"]
    assert run("d", "--seed", "1") == seen["c"]


def test_an_expression_chooses_by_words(tmp_path: Path) -> None:
    assert dmlcts("run", "-q", "--level", "smoke", "-k", "(xor or wise_ROUND) and not float32", "--out", tmp_path) == 0
    found = list(statuses(tmp_path))
    expected = [case.id for case in selected_cases(RunOptions(level="smoke"))]
    assert found == [i for i in expected if ("XOR" in i or "WISE_ROUND" in i) and "FLOAT32" not in i]
    assert found
    assert read_record(tmp_path / "results.jsonl").manifest.selection == "(xor or wise_ROUND) and not float32"


def test_a_feature_level_leaves_out_what_is_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ("run", "-q", "--level", "smoke", "ADD*", "ROUND", "GEMM", "BIT_*")
    assert dmlcts(*run, "--feature-level", "2.1", "--out", tmp_path) == 0
    assert {result.feature_level for result in read_record(tmp_path / "results.jsonl").results} <= {"1_0", "2_0", "2_1"}
    assert read_record(tmp_path / "results.jsonl").manifest.feature_level == "2_1"
    monkeypatch.syspath_prepend(str(HOSTS))
    assert dmlcts(*run, "--backend", "python:unruly:Plain", "--out", tmp_path) == 0
    levels = {result.feature_level for result in read_record(tmp_path / "results.jsonl").results}
    assert max(levels) == "3_0"  # the backend's own


def test_cases_are_run_by_name_once_each_whatever_the_other_options(tmp_path: Path) -> None:
    other = "ELEMENT_WISE_ROUND/FLOAT32/sizes/1x1x1x65537/HALVES_TO_NEAREST_EVEN"
    assert other not in {case.id for case in selected_cases(RunOptions(level="smoke"))}
    options = ("--level", "smoke", "-k", "nothing", "--shard", "1/9", "--out", tmp_path)
    assert dmlcts("run", "-q", "--case", other, "--case", CASE, "--case", other, *options) == 0
    assert statuses(tmp_path) == {other: "pass", CASE: "pass"}
    assert list(statuses(tmp_path)) == [other, CASE]


def test_a_case_comes_out_of_a_file_and_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dmlcts("repro", CASE, "--out", "case ü") == 0
    assert dmlcts("run", "-q", "--case-file", Path("case ü") / "case.json") == 0
    assert statuses(tmp_path / "results-case") == {CASE: "pass"}
    assert not (tmp_path / "results").exists()  # the results that the case was found in are not replaced
    assert dmlcts("run", "-q", "--level", "smoke", "-k", CASE) == 0
    assert CASE in statuses(tmp_path / "results")


WRONG_INPUT = {
    "an unknown case": (("--case", "ELEMENT_WISE_BIT_OR/UINT8/4dd"), "similar ids: ELEMENT_WISE_BIT_OR/UINT8/4d"),
    "a case of no operator": (("--case", "NOSUCH/UINT8"), "no operator 'NOSUCH'"),
    "a shard of none": (("--shard", "3/2"), "I/N with 1 <= I <= N"),
    "a shard before the first": (("--shard", "0/2"), "not '0/2'"),
    "a shard that is no number": (("--shard", "a/b"), "such as 2/4"),
    "a shard without a slash": (("--shard", "2"), "such as 2/4"),
    "a negative shard": (("--shard", "-1/2"), "such as 2/4"),
    "an open parenthesis": (("-k", "(ROUND"), "not an expression"),
    "words without a connection": (("-k", "ROUND FLOAT16"), "not an expression"),
    "a word called": (("-k", "ROUND (FLOAT16)"), "not an expression"),
    "nothing to negate": (("-k", "ROUND and not"), "not an expression"),
    "no such level": (("--feature-level", "9_9"), "unknown feature level '9_9'; known: 1_0"),
    "a level of no form": (("--feature-level", "six"), "unknown feature level"),
    "an unknown level with a case": (("--feature-level", "9_9", "--case", CASE), "unknown feature level"),
    "no case": (("-k", "nothing-is-called-so"), "no case matches"),
    "an unknown size of run": (("--level", "largest"), "'largest' is not one of"),
    "an unknown basis": (("--basis", "guessed"), "'guessed' is not one of"),
    "a negative number of processes": (("-n", "-1"), "-1 is not in the range"),
    "no time at all": (("--timeout", "0"), "0 is not in the range"),
    "a time that is no number": (("--timeout", "nan"), "'nan' is not a number of seconds"),
    "an endless time": (("--timeout", "inf"), "inf is not in the range"),
    "a negative time": (("--timeout", "-5"), "-5.0 is not in the range"),
    "a shard with three numbers": (("--shard", "1/3/4"), "a shard is I/N with"),
    "a shard in other digits": (("--shard", "²/2"), "a shard is I/N with"),
    "a shard of too many": (("--shard", "1/99999999999"), "a shard is I/N with"),
    "an expression that is nested too deep": (("-k", "not " * 3000 + "x"), "too long for an expression"),
    "an expression of parentheses": (("-k", "(" * 3000 + "x" + ")" * 3000), "too long for an expression"),
    "an expression of alternating words": (("-k", "not ( " * 3000 + "x" + " )" * 3000), "too long for an expression"),
    "a name with a NUL": (("--case", "a\0b"), "a character that no name can have"),
    "a name with a lone surrogate": (("--out", "\ud800"), "a character that no name can have"),
    "an unknown option": (("--nosuch",), "No such option"),
    "no operator": (("word",), "no operator 'word'; `dmlcts spec list`"),
    "a mistyped operator": (("--operator", "BITOR"), "no operator 'BITOR'; similar names: ELEMENT_WISE_BIT_OR"),
    "an operator of two names": (("identity",), "'identity' may be ELEMENT_WISE_IDENTITY or ACTIVATION_IDENTITY"),
    "a pattern of none": (("--operator", "ADD?X*"), "no operator 'ADD?X*'"),
    "a mistyped word": (("-k", "BITT_OR"), "'bitt_or' is in no operator's name (similar names: ELEMENT_WISE_BIT_OR"),
    "no number of processes": (("-n", "many"), "'many' is not a valid number or auto"),
    "nothing to resume": (("--resume",), "nothing to resume"),
    "a case file that is not there": (("--case-file", "nosuch.json"), "'nosuch.json' does not exist"),
    "waivers that are not there": (("--waivers", "nosuch.yaml"), "nosuch.yaml: cannot be read"),
}


@pytest.mark.parametrize("case", WRONG_INPUT)
def test_wrong_input_is_exit_code_2_before_anything_is_written(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options, message = WRONG_INPUT[case]
    assert dmlcts("run", "--level", "smoke", *options) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert (captured.out, list(tmp_path.iterdir())) == ("", [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a case"),
        ("[]", "not a case"),
        ("{}", "not a case"),
        ('{"id": "x"}', "not a case"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_case_file_that_is_none(text: str | bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "case.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert dmlcts("run", "--case-file", file, "--out", tmp_path / "out") == 2
    assert f"{file}: {message}" in capsys.readouterr().err


def test_two_cases_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("repro", CASE, "--out", tmp_path) == 0
    assert dmlcts("run", "--case", CASE, "--case-file", tmp_path / "case.json", "--out", tmp_path / "out") == 2
    assert f"the case {CASE} is already selected" in capsys.readouterr().err


# Shards


def test_shards_merge_into_the_whole_and_nothing_less_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("run", "-q", "--level", "smoke", "BIT_*", "ROUND", "--seed")
    assert dmlcts(*run, "7", "--out", tmp_path / "at-once") == 0
    shards = [tmp_path / f"shard-{i}" for i in (1, 2, 3)]
    for i, folder in enumerate(shards, start=1):
        assert dmlcts(*run, "7", "--shard", f"{i}/3", "--out", folder) == 0
        assert statuses(folder)
    files = [folder / "results.jsonl" for folder in shards]
    assert dmlcts("merge", *files, "--out", tmp_path / "whole" / "results.jsonl") == 0
    assert statuses(tmp_path / "whole") == statuses(tmp_path / "at-once")
    assert dmlcts("merge", *shards, "--out", tmp_path / "folders.jsonl") == 0  # the folders will do
    assert dmlcts("report", tmp_path / "folders.jsonl", "--out", tmp_path / "report") == 0
    assert reported(tmp_path / "report")[0] == reported(tmp_path / "at-once")[0]

    assert dmlcts(*run, "8", "--shard", "3/3", "--out", tmp_path / "seed") == 0
    capsys.readouterr()
    for given, message in (
        (files[:2], "shards are missing: 3"),
        ([*files, files[0]], "given twice"),
        ([*files[:2], tmp_path / "at-once"], "a whole run"),
        ([*files[:2], tmp_path / "seed"], "seed is '7' and '8'"),
        ([*files[:2], tmp_path / "nosuch.jsonl"], "nosuch.jsonl: cannot be read"),
        ([*files[:2], tmp_path], "neither results.jsonl nor a folder parts"),
        ([*files[:2], shards[2] / "summary.md"], "summary.md:1: not a line of a results file"),
    ):
        assert dmlcts("merge", *given, "--out", tmp_path / "never.jsonl") == 2, message
        assert message in capsys.readouterr().err
        assert not (tmp_path / "never.jsonl").exists()


# The output folder


def test_an_older_run_in_the_folder_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    arguments = ("run", "-q", "--level", "smoke", "--out", tmp_path, "-k")
    assert dmlcts(*arguments, "BIT_OR and not property", "--backend", "python:unruly:Wrong") == 1
    (tmp_path / "data" / "mine.js").write_text("let own = 1", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert (tmp_path / "data" / "ELEMENT_WISE_BIT_OR.js").exists()
    assert dmlcts(*arguments, "ROUND") == 0
    assert {file.name for file in (tmp_path / "data").iterdir()} == {"cases.js", "mine.js"}
    assert {file.name for file in tmp_path.iterdir()} == {*REPORTS, "notes.txt"}
    assert "BIT_OR" not in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert all(counts == reported(tmp_path)[0] for counts in reported(tmp_path))


# The surroundings


def test_nothing_of_the_users_folder_takes_part(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    trap = "raise RuntimeError('the trap was sprung')\n"
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nosuch-option\nfilterwarnings = error\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--also-nosuch'\n", encoding="utf-8")
    (folder / "conftest.py").write_text(trap, encoding="utf-8")
    (folder / "trap.py").write_text(trap, encoding="utf-8")
    (folder / "test_trap.py").write_text(trap, encoding="utf-8")
    environment = {"PYTEST_ADDOPTS": "-x --nosuch-either -p trap", "PYTEST_PLUGINS": "trap"}
    for processes in ("0", "1"):
        out = tmp_path / f"out-{processes}"
        arguments = ("run", "-q", "--level", "smoke", "-k", "BIT_OR", "-n", processes, "--backend", "python:unruly:Wrong")
        done = started(*arguments, "--out", out, cwd=folder, **environment)
        assert (done.returncode, done.stderr) == (1, "")
        assert Counter(statuses(out).values())["not_run"] == 0  # -x stopped nothing
        assert Counter(statuses(out).values())["pass"] > 0


def test_the_environment_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x")
    monkeypatch.delenv("PYTEST_PLUGINS", raising=False)
    before = dict(os.environ)
    assert dmlcts("run", "-q", "--case", CASE, "--out", tmp_path) == 0
    assert dict(os.environ) == before


@pytest.mark.parametrize(("more", "says"), [((), True), (("--no-simplify",), False)])
def test_a_run_tells_what_its_failures_come_down_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], says: bool
) -> None:
    monkeypatch.syspath_prepend(str(HOSTS))
    monkeypatch.setenv("PYTHONPATH", AT_HAND)
    assert dmlcts("run", "-q", "BIT_OR", "-b", "inprocess:unruly:Wrong", "-o", tmp_path, *more) == 1
    assert ("the smallest of these comes down to UINT" in (tmp_path / "summary.md").read_text("utf-8")) == says
