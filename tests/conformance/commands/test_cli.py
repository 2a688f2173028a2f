"""The command line apart from ``run``: help, listings and their JSON, exit codes, encodings, pipes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dmlcts.conformance.commands.cli import COMMANDS, dmlcts, exit_code_of, main
from dmlcts.conformance.commands.specs import spec, spec_coverage, spec_factors
from dmlcts.conformance.commands.specs.spec_promises import promise_files
from dmlcts.conformance.runner.screen import terminal
from dmlcts.generator.case.case import Case
from dmlcts.generator.checks.promises import COLUMNS
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.spec.reading.loader import load, measured_folder, operator_names, operators_folder

PROGRAM = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CASE = "ELEMENT_WISE_BIT_OR/UINT8/4d"


def code_of(*arguments: object) -> int:
    """The exit code of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def started(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], env={**os.environ, **environment}, capture_output=True, timeout=100, check=False
    )


# Help


def test_every_command_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("--help") == 0
    printed = capsys.readouterr().out
    assert "Exit codes: 0 all passed, 1 something failed" in " ".join(printed.split())
    for name, (_, line) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(line)}$", printed, re.MULTILINE)
        assert code_of(name, "--help") == 0
        helped = capsys.readouterr().out
        assert helped.startswith(f"Usage: dmlcts {name} ")
        assert "``" not in helped
    for name in ("list", "show", "check", "coverage", "compare"):
        assert code_of("spec", name, "-h") == 0
        assert capsys.readouterr().out.startswith(f"Usage: dmlcts spec {name} ")
    assert code_of("--version") == 0
    assert re.fullmatch(r"dmlcts, version \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ("numpy", "pytest", "hypothesis", "yaml", "jinja2", "rich", "dmlcts.spec", "dmlcts.generator")),
        (["run", "--help"], ("pytest", "hypothesis", "jinja2", "rich", "dmlcts.reports")),
    ],
)
def test_help_loads_nothing_that_takes_time(arguments: list[str], heavy: tuple[str, ...]) -> None:
    script = f"import sys; from dmlcts.conformance.commands.cli import dmlcts; dmlcts.main({arguments}, standalone_mode=False); " \
             f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"


def test_the_exit_codes_of_run_are_in_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("run", "--help") == 0
    printed = " ".join(capsys.readouterr().out.split())
    for words in (
        "0 all passed",
        "1 something failed",
        "2 usage or input error",
        "3 the backend could not be started",
        "130 stopped",
    ):
        assert words in printed
    assert "128 + N stopped by signal" in printed
    assert "no effect on reference and inprocess:" in printed


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["--nosuch"], "No such option"),
        (["spec", "nosuch"], "No such command 'nosuch'"),
        (["spec", "show", "NOSUCH"], "NOSUCH"),
        (["spec", "coverage", "NOSUCH"], "NOSUCH"),
        (["spec", "compare", "nosuch.md"], "nosuch.md: cannot be read"),
        (["show", "ELEMENT_WISE_BIT_OR/UINT8/4dd"], f"similar ids: {CASE}"),
        (["show", "-k", "(("], "not an expression"),
        (["show", "--level", "largest"], "'largest' is not one of"),
        (["report", "nosuch", "--out", "o"], "'nosuch' does not exist"),
        (["report", "{empty}", "--out", "o"], "neither results.jsonl nor a folder parts"),
        (["report", "{file}", "--out", "o"], "not a line of a results file"),
        (["report", "{file}"], "Missing option '--out'"),
        (["merge", "--out", "o"], "Missing argument 'SHARDS"),
        (["merge", "{file}", "--out", "{empty}"], "is a directory"),
        (["generate", "--out", "{file}"], "is a file"),
        (["generate", "--out", "{empty}", "--level", "smoke", "-k", "nothing-is-called-so"], "no case matches"),
        (["generate", "--out", "{empty}", "--feature-level", "9_9"], "unknown feature level '9_9'"),
    ],
)
def test_wrong_input_is_exit_code_2(
    arguments: list[str], printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("hello\n", encoding="utf-8")
    before = set(tmp_path.rglob("*"))
    assert code_of(*(argument.format(empty=tmp_path / "empty", file=tmp_path / "file") for argument in arguments)) == 2
    captured = capsys.readouterr()
    assert printed in captured.err
    assert "Traceback" not in captured.err
    assert (captured.out, set(tmp_path.rglob("*"))) == ("", before)


def test_a_defect_is_shown_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user cannot mend must not be dressed as a line."""

    def fault(**_: object) -> None:
        raise LookupError("a defect")

    monkeypatch.setattr(dmlcts, "main", fault)
    with pytest.raises(LookupError, match="a defect"):
        main([])
    assert exit_code_of(LookupError()) is None


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fault(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dmlcts, "main", fault)
    assert code_of("spec", "list") == 130
    assert capsys.readouterr().err == "interrupted\n"


# Listings


def listed(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    assert code_of(*arguments, "--json") == code
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_an_operator_is_shown_with_the_networks_that_dispatch_it(capsys: pytest.CaptureFixture[str]) -> None:
    networks = listed(capsys, "spec", "show", "LSTM")["networks"]
    assert networks["lstm"] >= 1
    assert code_of("spec", "show", "LSTM") == 0
    shown = capsys.readouterr().out
    assert "dispatched by networks" in shown
    assert "Direction=FORWARD" in shown
    assert code_of("spec", "show", "ROUND") == 0
    assert "dispatched by" not in capsys.readouterr().out


def test_spec_show_prints_the_numbers_of_constants(capsys: pytest.CaptureFixture[str]) -> None:
    """The author of a host has no DirectML.h."""
    assert code_of("spec", "show", "ROUND") == 0
    printed = capsys.readouterr().out
    for line in ("HALVES_TO_NEAREST_EVEN 0, TOWARD_ZERO 1, TOWARD_INFINITY 2", "FLOAT32 1, FLOAT16 2,", "NONE 0, OWNED_BY_DML 1"):
        assert line in printed


def test_every_listing_has_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = list(operator_names())
    assert [row["operator"] for row in listed(capsys, "spec", "list")] == names
    shown = listed(capsys, "spec", "show", "element_wise_round")
    assert (shown["name"], shown["fields"][0]["name"]) == ("ELEMENT_WISE_ROUND", "InputTensor")
    numbers = {"HALVES_TO_NEAREST_EVEN": 0, "TOWARD_ZERO": 1, "TOWARD_INFINITY": 2}
    assert shown["constants"]["DML_ROUNDING_MODE"] == numbers
    assert shown["constants"]["DML_TENSOR_DATA_TYPE"]["FLOAT16"] == 2
    assert listed(capsys, "spec", "check") == {
        "checked": len(names) + 10 + len([*(measured_folder() / "census").glob("*.yaml")]) + len(promise_files()),
        "problems": [],
        "hints": {},
    }  # with profiles, measurements, the census and promises beyond single operators
    sample = ["ELEMENT_WISE_BIT_COUNT", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ROUND"]  # without names it is all that there are
    monkeypatch.setattr("dmlcts.conformance.commands.specs.spec_coverage.sound", lambda: list(map(load, sample)))
    rows = listed(capsys, "spec", "coverage")
    for row in rows:
        assert (list(row["columns"]), row["complete"]) == (list(COLUMNS), True)
        assert all(column["covered"] == column["promised"] and column["missing"] == [] for column in row["columns"].values())
        assert row["cases"] == len(operator_cases(row["operator"]))
    assert [row["operator"] for row in rows] == sample
    assert [row["operator"] for row in listed(capsys, "spec", "coverage", "ELEMENT_WISE_ROUND")] == ["ELEMENT_WISE_ROUND"]

    assert listed(capsys, "show", "--level", "smoke", "-k", "nothing-is-called-so") == []
    rows = listed(capsys, "show", "-k", "ROUND", "--level", "smoke")
    assert code_of("show", "-k", "ROUND", "--level", "smoke") == 0
    assert capsys.readouterr().out.split() == [row["id"] for row in rows]
    assert {row["level"] for row in rows} == {"smoke"}
    shown = listed(capsys, "show", CASE)
    assert (shown["id"], shown["desc"]["Type"]) == (CASE, "ELEMENT_WISE_BIT_OR")

    (row,) = listed(capsys, "backends", "reference")
    assert (row["backend"], row["usable"], row["info"]["name"]) == ("reference", True, "reference")
    first, second = listed(capsys, "backends", "reference", "python:nosuch:X", code=3)
    assert (first["usable"], second["usable"], second["info"]) == (True, False, None)
    assert "nosuch" in second["message"]
    assert {row["backend"] for row in listed(capsys, "backends")} >= {"reference", "reference:cuda"}


def test_coverage_in_another_process_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("VALUE_SCALE_2D", "ELEMENT_WISE_BIT_COUNT")
    assert listed(capsys, "spec", "coverage", *names, "-n", 1) == listed(capsys, "spec", "coverage", *names)


def test_a_right_spec_that_is_named_gets_hints(capsys: pytest.CaptureFixture[str]) -> None:
    name, file = "DIAGONAL_MATRIX", operators_folder() / "data_movement" / "diagonal_matrix.yaml"
    assert any(hint.startswith(f"{name}: no law: ") for hint in listed(capsys, "spec", "check", file)["hints"][str(file)])
    assert code_of("spec", "check", file) == 0
    printed = capsys.readouterr().out
    assert f"{name}: no law: " in printed
    assert f"next: dmlcts spec coverage {name}\n" in printed


def test_a_complete_spec_that_is_named_gets_hints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(spec_coverage, "hints", lambda operator: iter(["no law: write one"]))
    (row,) = listed(capsys, "spec", "coverage", "ELEMENT_WISE_BIT_COUNT")
    assert (row["complete"], row["hints"]) == (True, ["no law: write one"])
    assert code_of("spec", "coverage", "ELEMENT_WISE_BIT_COUNT") == 0
    name = "ELEMENT_WISE_BIT_COUNT"
    expected = (
        f"{name}: no law: write one\nnext: dmlcts run {name} --level full --basis measured\nnext: dmlcts faults hunt {name}\n"
    )
    assert capsys.readouterr().out.endswith(expected)
    monkeypatch.setattr(spec_coverage, "sound", lambda: [load("ELEMENT_WISE_BIT_COUNT")])
    assert code_of("spec", "coverage") == 0
    assert "no law" not in capsys.readouterr().out


def test_rows_that_are_not_stored_are_not_called_stale(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = operators_folder() / "data_movement" / "diagonal_matrix.yaml"
    monkeypatch.setattr(spec, "is_stale", lambda operator: True)
    (stale,) = listed(capsys, "spec", "check", file, code=1)["problems"]
    assert stale["problem"].startswith(f"{file}: the stored rows of DIAGONAL_MATRIX are stale: ")
    monkeypatch.setattr(spec, "arrays_of", lambda operator: ())
    (none,) = listed(capsys, "spec", "check", file, code=1)["problems"]
    assert none["problem"].startswith(f"{file}: no rows of DIAGONAL_MATRIX are stored: ")
    assert code_of("spec", "check", file) == 1
    assert "1 file checked, 1 problem\n" in capsys.readouterr().out


def test_rows_are_computed_for_stale_operators_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(spec_factors, "_store", lambda name: {"smoke": 3})
    monkeypatch.setattr(spec_factors, "is_stale", lambda operator: operator.name == "DIAGONAL_MATRIX")
    assert code_of("spec", "arrays", "DIAGONAL_MATRIX", "ELEMENT_WISE_ROUND") == 0
    printed = capsys.readouterr()
    assert printed.out == "the rows of ELEMENT_WISE_ROUND are up to date\nDIAGONAL_MATRIX: 3 rows that level smoke adds\n"
    assert "computing the rows of DIAGONAL_MATRIX; each operator takes minutes" in printed.err


def test_what_is_wrong_is_in_the_json_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text("name: [\n", encoding="utf-8")
    found = listed(capsys, "spec", "check", file, code=1)
    assert found["checked"] == 1
    assert found["problems"][0]["file"] == str(file)
    assert str(file) in found["problems"][0]["problem"]
    assert code_of("spec", "check", file) == 1
    assert str(file) in capsys.readouterr().err


def test_recipes_of_further_data_are_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gather.yaml"
    text = (operators_folder() / "indexing" / "gather.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("last: 16", "latest: 16"), encoding="utf-8")
    (found,) = listed(capsys, "spec", "check", file, code=1)["problems"]
    assert "IndicesTensor.data.last: indices takes below, and may take last" in found["problem"]


def test_a_comparison_has_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "---\ntitle: DML_ELEMENT_WISE_ROUND_OPERATOR_DESC\n---\n\n## -struct-fields\n\n### -field InputTensor\n\nType: **int**\n",
        encoding="utf-8",
    )
    (found,) = listed(capsys, "spec", "compare", page, code=1)
    assert (found["page"], found["operator"]) == (str(page), "ELEMENT_WISE_ROUND")
    keys = [difference["key"] for difference in found["differences"]]
    assert keys
    assert code_of("spec", "compare", page) == 1
    printed = capsys.readouterr().out
    assert f"{len(keys)} difference" in printed
    assert all(f"  {key}: " in printed for key in keys)


def test_coverage_that_is_missing_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dmlcts.generator.checks.promises import Column, Coverage

    missing = Coverage("ELEMENT_WISE_ROUND", (Column("support", 2, ("support/2_1/InputTensor/FLOAT32/4d",)),), 1)
    monkeypatch.setattr(spec_coverage, "coverage", lambda *_: missing)
    (row,) = listed(capsys, "spec", "coverage", "ELEMENT_WISE_ROUND", code=1)
    assert (row["complete"], row["columns"]["support"]["missing"]) == (False, ["support/2_1/InputTensor/FLOAT32/4d"])
    assert code_of("spec", "coverage", "ELEMENT_WISE_ROUND") == 1
    printed = capsys.readouterr().out
    assert "no case: ELEMENT_WISE_ROUND support/2_1/InputTensor/FLOAT32/4d" in printed
    assert "0 of 1 specs are complete" in printed


def test_what_a_check_finds_is_printed_and_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from dmlcts.generator.suite.suite import operator_cases

    def without_a_constraint(name: str) -> tuple[Case, ...]:
        return tuple(case for case in operator_cases(name) if case.rule != "constraint/same-data-type")

    monkeypatch.setattr(spec_coverage, "operator_cases", without_a_constraint)
    (row,) = listed(capsys, "spec", "coverage", "ELEMENT_WISE_ROUND", code=1)
    assert row["complete"] is False
    assert any(problem.startswith("no case breaks constraint/same-data-type;") for problem in row["problems"])
    assert code_of("spec", "coverage", "ELEMENT_WISE_ROUND") == 1
    printed = capsys.readouterr().out
    assert "wrong: no case breaks constraint/same-data-type; " in printed
    assert "0 of 1 specs are complete" in printed

    def without_data(name: str) -> tuple[Case, ...]:
        return tuple(replace(case, data={}) if case.kind == "values" else case for case in operator_cases(name))

    monkeypatch.setattr(spec_coverage, "operator_cases", without_data)
    (row,) = listed(capsys, "spec", "coverage", "ELEMENT_WISE_ROUND", code=1)
    assert len(row["problems"]) == spec_coverage.MOST_OF_A_CHECK + 1
    assert re.fullmatch(r"\.\.\. and \d+ more like that of ELEMENT_WISE_ROUND/.*", row["problems"][-1])


def test_text_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in it is read as markup or as the name of an emoji, and no line is cut where there is no terminal."""
    console = terminal.console()
    console.print("python:dog:Dog " + "x" * 500)
    assert capsys.readouterr().out == "python:dog:Dog " + "x" * 500 + "\n"
    assert code_of("spec", "list") == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in operator_names())
    assert "…" not in printed
    assert code_of("show", CASE) == 0
    assert f"run it: dmlcts run --case {CASE}\n" in capsys.readouterr().out


# Encodings and pipes


def test_the_summary_needs_no_unicode(tmp_path: Path) -> None:
    folder = tmp_path / "vergleich ä b"
    for environment, mark in (({"PYTHONIOENCODING": "ascii"}, "? pass"), ({"PYTHONIOENCODING": "", "LC_ALL": "C"}, "✓ pass")):
        done = started("run", "-q", "--case", CASE, "--out", folder, **environment, NO_COLOR="1", PYTHONUTF8="0")
        assert (done.returncode, done.stderr) == (0, b"")
        assert mark.encode() in done.stdout
        assert b"\x1b" not in done.stdout
    assert (folder / "index.html").exists()


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_colours_and_a_bar(no_color: str, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": no_color, "TERM": "xterm-256color", "COLUMNS": "90"}
    process = subprocess.Popen(
        [*PROGRAM, "run", "--level", "smoke", "-k", "BIT_OR", "--out", str(tmp_path)], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    printed = b""
    with open(ours, "rb", buffering=0) as stream:  # noqa: PTH123 (a descriptor)
        try:
            while chunk := stream.read(4096):
                printed += chunk
        except OSError:  # how Linux says that the other side is closed
            pass
    assert process.wait(60) == 0
    assert (b"\x1b[32m" in printed) == (not no_color)  # green
    assert "✓ pass".encode() in printed
    assert "\N{BOX DRAWINGS HEAVY HORIZONTAL}".encode() in printed  # the bar


@pytest.mark.skipif(os.name != "posix", reason="a pipe that nobody reads is reported differently on Windows")
@pytest.mark.parametrize("arguments", [("show", "--level", "smoke"), ("run", "--level", "smoke", "-k", "BIT_OR", "--out", "{out}")])
def test_a_reader_that_goes_away_costs_no_run_and_gets_no_traceback(arguments: tuple[str, ...], tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)  # `| head` that has already gone
    words = [argument.format(out=tmp_path) for argument in arguments]
    done = subprocess.run([*PROGRAM, *words], stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0 if arguments[0] == "run" else 1, b"")
    assert arguments[0] != "run" or (tmp_path / "results.jsonl").exists()


@pytest.mark.skipif(os.name != "posix", reason="a shell's >&-")
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_costs_no_run(closed: str, tmp_path: Path) -> None:
    command = shlex.join([*PROGRAM, "run", "-q", "--case", CASE, "--out", str(tmp_path)])
    done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "results.jsonl").exists()


# The surroundings


def test_python_without_docstrings_runs_the_same() -> None:
    done = started("--help", PYTHONOPTIMIZE="2")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Exit codes: 0 all passed" in done.stdout


@pytest.mark.parametrize("code", [0, 4, "'text'"])
def test_a_module_that_ends_python_is_no_success(code: object, tmp_path: Path) -> None:
    """In place of a library's, as a file in a folder of PYTHONPATH; the command line is called without conformance/commands/start."""
    (tmp_path / "rich.py").write_text(f"raise SystemExit({code})\n", encoding="utf-8")
    done = started("run", "--case", CASE, "--out", tmp_path / "out", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert f"dmlcts: ended by {tmp_path / 'rich.py'}, which raised SystemExit" in done.stderr.decode()
