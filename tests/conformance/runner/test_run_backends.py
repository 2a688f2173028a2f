"""``dmlcts run`` on backends that misbehave, in a case or altogether: what it costs, the message, and the exit code."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from commands import dmlcts
from unruly_runs import CASE, HOSTS, OTHERS, SELECTED, results, started

from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.record.record import Result
from dmlcts.spec.reading.document import SpecError

pytestmark = pytest.mark.usefixtures("hosts_at_hand")


# In a case

IN_A_CASE = {
    "Raises": ("error", "ZeroDivisionError: on purpose [/bold]"),
    "Exits": ("error", "SystemExit: 5"),
    "Skips": ("error", "Skipped: pytest's own outcome"),
    "Faults": ("error", "the device was removed"),
    "Refuses": ("fail", "refused at compile with E_FAIL: not today"),
    "Declines": ("unsupported", "no UINT8 in BIT_OR"),
    "ReturnsNothing": ("error", "compute did not return the output OutputTensor"),
    "ReturnsNoOutput": ("error", "compute did not return the output OutputTensor"),
    "ReturnsAnotherShape": ("error", "as uint8 of sizes [5, 1, 3, 2], not uint8 of sizes [30]"),
    "ReturnsAnotherType": ("error", "not int8 of sizes [5, 1, 3, 2]"),
    "ReturnsALesserCount": ("error", "not uint8 of sizes [5, 1, 3, 1]"),
    "ReturnsAList": ("error", "not a list"),
    "Wrong": ("fail", "30 of 30 elements wrong"),
}


@pytest.mark.parametrize("name", IN_A_CASE)
def test_what_a_backend_does_in_a_case_costs_this_case_alone(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, message = IN_A_CASE[name]
    backend = f"python:unruly:{name}"
    expression = "(BIT_OR/UINT8/4d or BIT_OR/INT8/4d) and not x"  # without sizes in the id: the usual case of each type
    code = dmlcts("run", "-q", "--level", "smoke", "-k", expression, "--backend", backend, "--out", tmp_path)
    found = results(tmp_path)
    assert {case: result.status for case, result in found.items() if result.status != "pass"} == {CASE: status}
    assert len(found) > 1
    assert message in found[CASE].message
    assert code == (4 if status == "unsupported" else 1)
    output = capsys.readouterr().out
    if status == "unsupported":
        assert "cases pass, 1 unsupported, within the cases that" in output
        assert found[CASE].repro == ""
    else:
        again = f"dmlcts run --backend {backend} --case {CASE}"
        assert found[CASE].repro == again
        assert again in output
        assert found[CASE].message in output  # no markup is read in it
        assert "smoke makes no claim" in output
        assert Path(f"{tmp_path}/index.html").exists()


def test_a_repro_command_repeats_what_it_speaks_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = (
        "run",
        "-q",
        "--backend",
        "python:unruly:Wrong",
        "-k",
        "BIT_OR/UINT8/property",
        "--level",
        "full",
        "--seed",
        "3",
        "--out",
        "re sults",
    )
    assert dmlcts(*arguments) == 1
    failed = [result for result in results(tmp_path / "re sults").values() if result.status == "fail"]
    assert len(failed) >= 2
    for result in failed:
        words = shlex.split(result.repro)
        assert words[0] == "dmlcts"
        assert Path(words[words.index("--case-file") + 1]).is_file()  # the shrunken example
        assert dmlcts(*words[1:], "-q") == 1
        (again,) = results(tmp_path / "results-case").values()
        assert again.status == "fail"
        words = shlex.split(again.repro)  # ... whose own command names the file too: its id is no case of the suite
        assert dmlcts(*words[1:], "-q") == 1


def test_a_fault_of_the_suite_itself_costs_one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.conformance.runner.workers import session

    original = session.execute

    def fault(case: object, *arguments: object) -> Result:
        if getattr(case, "id", "") == CASE:
            raise LookupError("a defect")
        return original(case, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "execute", fault)
    assert dmlcts("run", "-q", "--level", "smoke", "-k", "BIT_OR", "--out", tmp_path) == 1
    found = results(tmp_path)
    assert Counter(result.status for result in found.values()) == {"pass": len(found) - 1, "error": 1}
    assert found[CASE].message == "internal error of the suite (please report it): LookupError: a defect"
    assert "in fault" in found[CASE].evidence["traceback"]
    assert found[CASE].repro


def test_an_error_of_a_spec_costs_one_case_and_names_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.conformance.runner.workers import session

    original = session.execute

    def fault(case: object, *arguments: object) -> Result:
        if getattr(case, "id", "") == CASE:
            raise SpecError(Path("or.yaml"), 7, ("cases", "relations", "it", "law"), "cannot be evaluated")
        return original(case, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "execute", fault)
    assert dmlcts("run", "-q", "--level", "smoke", "-k", "BIT_OR", "--out", tmp_path) == 1
    found = results(tmp_path)
    assert Counter(result.status for result in found.values()) == {"pass": len(found) - 1, "error": 1}
    assert found[CASE].message == "the spec is wrong: or.yaml:7: cases.relations.it.law: cannot be evaluated"
    assert "traceback" not in found[CASE].evidence


def test_a_process_that_dies_costs_its_case_and_is_replaced(tmp_path: Path) -> None:
    arguments = ("run", "-q", *SELECTED, "--backend", "python:unruly:Dies", "--out", tmp_path)
    done = started(*arguments, "-n", 2)
    assert (done.returncode, done.stderr) == (1, "")
    found = results(tmp_path)
    assert set(found) == {CASE, *OTHERS}
    assert Counter(result.status for result in found.values()) == {"pass": len(found) - 1, "error": 1}
    assert (found[CASE].status, found[CASE].message) == (
        "error",
        "the output ended before a frame; the host ended with exit code 9",
    )
    assert found[CASE].repro in done.stdout


def test_many_deaths(tmp_path: Path) -> None:
    dying = [case.id for case in operator_cases("ELEMENT_WISE_BIT_OR", "core") if case.id.startswith(CASE.removesuffix("4d"))]
    chosen = [word for case in dying[:6] for word in ("--case", case)]
    done = started("run", "-q", *chosen, "-n", 1, "--backend", "python:unruly:Dies", "--out", tmp_path)
    assert done.returncode == 1, done.stderr
    assert [result.status for result in results(tmp_path).values()] == ["error"] * 6


def test_a_worker_that_dies_costs_its_case_and_its_death_can_be_waived(tmp_path: Path) -> None:
    """A backend in the worker itself ends it, with exit code 0."""
    arguments = (
        "run",
        "-q",
        *SELECTED,
        "--backend",
        "inprocess:unruly:DiesWithSuccess",
        "--out",
        tmp_path,
    )
    done = started(*arguments, "-n", 2)
    found = results(tmp_path)
    assert set(found) == {CASE, *OTHERS}
    assert {case: result.message for case, result in found.items() if result.status != "pass"} == {
        CASE: "the process that ran it died"
    }
    assert (done.returncode, done.stderr) == (1, "")
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(f"waivers: [{{cases: {CASE}, reason: known, issue: https://example.org/1}}]", encoding="utf-8")
    assert started(*arguments, "--waivers", waivers).returncode == 0
    assert (results(tmp_path)[CASE].status, results(tmp_path)[CASE].waiver) == ("waived", "known (https://example.org/1)")


@pytest.mark.skipif(os.name != "posix", reason="fork")
@pytest.mark.parametrize("name", ["LeavesAChild", "LeavesADaemon"])
def test_a_child_that_a_worker_leaves_delays_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the worker's output open, so that the worker's end is not seen there."""
    monkeypatch.setenv("UNRULY_OUT", str(tmp_path))
    began = time.monotonic()
    assert dmlcts("run", "-q", *SELECTED, "--backend", f"inprocess:unruly:{name}", "--out", tmp_path / "out") == 1
    assert time.monotonic() - began < 50  # the child sleeps for a minute
    found = results(tmp_path / "out")
    assert {case: found[case].message for case in found if found[case].status != "pass"} == {CASE: "the process that ran it died"}
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    if name == "LeavesADaemon":
        os.kill(child, signal.SIGKILL)  # what has left the worker's group is not found
    assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE or name == "LeavesADaemon"


@pytest.mark.skipif(os.name != "posix", reason="fork")
@pytest.mark.parametrize("kind", ["inprocess", "python"])
def test_a_fork_that_goes_on_runs_no_case_twice(kind: str, tmp_path: Path) -> None:
    assert dmlcts("run", "-q", *SELECTED, "--backend", f"{kind}:unruly:Forks", "--out", tmp_path) == 0
    assert {result.status for result in results(tmp_path).values()} == {"pass"}


def test_a_crash_after_the_last_case_costs_this_case(tmp_path: Path) -> None:
    assert dmlcts("run", "-q", *SELECTED, "--backend", "inprocess:unruly:CrashesAtClose", "--out", tmp_path) == 1
    assert [result.status for result in results(tmp_path).values()] == ["pass"] * 3 + ["error"]
    assert results(tmp_path)[OTHERS[-1]].message.startswith("after this case, the last one, its process died, with exit code ")


def test_a_backend_that_changes_the_folder_changes_no_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert dmlcts("repro", CASE, "--out", "case") == 0
    chosen = ("--case-file", Path("case") / "case.json", "--case", "ELEMENT_WISE_BIT_OR/UINT8/property/agreement")
    assert dmlcts("run", "-q", *chosen, "--backend", "inprocess:unruly:ChangesTheFolder", "--out", "out") == 1
    found = results(tmp_path / "out")
    assert [result.status for result in found.values()] == ["fail"] * 2
    for result in found.values():
        words = shlex.split(result.repro)
        assert Path(words[words.index("--case-file") + 1]).is_file()


def test_a_process_host_that_hangs_costs_one_case(tmp_path: Path) -> None:
    """The host hangs in the second case; to the others it answers nonsense."""
    host = shlex.join([sys.executable, "-S", "-E", str(HOSTS / "misbehaving.py"), "hangs"])
    cases = [CASE, *OTHERS[:2]]
    chosen = [word for case in cases for word in ("--case", case)]
    assert dmlcts("run", "-q", *chosen, "--backend", f"process:{host}", "--timeout", "0.3", "--out", tmp_path) == 1
    found = results(tmp_path)
    assert [found[case].status for case in cases] == ["fail", "error", "fail"]
    hung = found[cases[1]]
    assert "no answer within 0.3 s; the host was killed" in hung.message
    assert shlex.split(hung.repro) == ["dmlcts", "run", "--backend", f"process:{host}", "--case", cases[1]]


# What is not claimed


def test_unsupported_is_neither_a_pass_nor_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("run", "-q", "--level", "smoke", "--backend", "python:unruly:Uint32Only", "--out", tmp_path) == 0
    found = results(tmp_path)
    for case in selected_cases(RunOptions(level="smoke")):
        claimed = all(tensor.data_type == "UINT32" for _, tensor in case.desc.tensors())
        if case.expect != "rejection":
            assert found[case.id].status == ("pass" if claimed else "unsupported")
    counts = Counter(result.status for result in found.values())
    assert counts["unsupported"] > counts["pass"] > 0
    printed = capsys.readouterr().out
    assert (
        f"{counts['pass']:,} of {len(found):,} cases pass, {counts['unsupported']:,} unsupported; smoke makes no claim" in printed
    )
    assert any("does not claim FLOAT16" in result.message for result in found.values())


def test_a_run_in_which_nothing_passed_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("run", "-q", "--level", "smoke", "-k", "BIT_OR", "--backend", "python:unruly:Nothing", "--out", tmp_path) == 1
    assert {result.status for result in results(tmp_path).values()} == {"unsupported"}
    assert "nothing, feature level 6.4: first look: 0 of " in capsys.readouterr().out


# What it may not touch


@pytest.mark.parametrize("processes", [0, 1])
def test_a_backend_that_writes_to_the_journal_is_found_out(
    processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNRULY_OUT", str(tmp_path / "out"))
    select = ("-q", "--level", "smoke", "--operator", "BIT_OR", "-n", processes, "--out", tmp_path / "out")
    assert dmlcts("run", "--backend", "python:unruly:ForgesTheJournal", *select) == 2
    assert f"such as {CASE}: pass instead of fail" in capsys.readouterr().err
    assert not (tmp_path / "out" / "results.jsonl").exists()


def test_files_in_the_current_folder_replace_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "queue", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    select = ("-q", "--level", "smoke", "--operator", "BIT_OR", "-n", 1, "--out", tmp_path / "out")
    assert dmlcts("run", "--backend", "python:unruly:Wrong", *select) == 1
    assert results(tmp_path / "out")[CASE].status == "fail"


def test_a_backend_describes_itself_the_same_in_every_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNRULY_LOCK", str(tmp_path / "started"))
    select = ("-q", "--level", "smoke", "--operator", "BIT_OR", "--out", tmp_path / "out")
    assert dmlcts("run", "--backend", "python:unruly:OfAnotherTypeLater", "-n", 1, *select) == 3
    assert "in another process: its data_types was () and is ('UINT32',)" in capsys.readouterr().err


def test_a_host_that_is_started_again_describes_itself_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNRULY_LOCK", str(tmp_path / "started"))
    select = ("-q", "--level", "smoke", "--operator", "BIT_OR", "--out", tmp_path / "out")
    assert dmlcts("run", "--backend", "python:unruly:DiesAndChanges", *select) == 1
    found = results(tmp_path / "out")
    assert found[CASE].status == "error"
    changed = [
        result for result in found.values() if result.message.startswith("the host could not be started again: it does not ")
    ]
    assert [result.status for result in changed] == ["error"] * 5  # then the run stops
    assert {result.status for result in found.values()} == {"pass", "error", "not_run"}


def test_a_higher_feature_level_than_the_backend_reports_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (
        "run",
        "-q",
        "--level",
        "smoke",
        "--operator",
        "BIT_OR",
        "--backend",
        "python:unruly:ReportsLevel50",
        "--out",
        tmp_path / "out",
    )
    assert dmlcts(*given, "--feature-level", "5_1") == 2
    assert "--feature-level 5_1: reference reports feature level 5_0, so it promises nothing beyond" in capsys.readouterr().err
    assert not (tmp_path / "out" / "results.jsonl").exists()
    for asked, level in (("5_0", "5.0"), ("4.1", "4.1")):
        assert dmlcts(*given, "--feature-level", asked) == 0
        assert f"feature level {level}: first look" in capsys.readouterr().out
