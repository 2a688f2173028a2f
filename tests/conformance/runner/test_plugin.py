"""Emitted modules under plain pytest: the same cases through the same code, and pytest's outcomes for what becomes of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.plugin import Tally, explanation, generated_from
from dmlcts.reference.registry import references
from dmlcts.reports.record.record import Mismatch, Result
from dmlcts.spec.reading.promises import spec_version

pytest_plugins = ["pytester"]

references()  # before pytester notes which modules there are: it forgets those that come later, and stages can be named only once

Pytest = Callable[..., tuple[int, str]]

HOSTS = Path(__file__).parents[2] / "hosts"
EXPRESSION = "BIT_OR/UINT8 or BIT_OR/UINT32"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules of a few cases of level smoke."""
    folder = tmp_path_factory.mktemp("emitted")
    with pytest.raises(SystemExit, match="0"):
        main(["generate", "--level", "smoke", "-k", EXPRESSION, "--out", str(folder)])
    return folder


@pytest.fixture
def under_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs pytest on a folder; gives its exit code and its output."""
    monkeypatch.syspath_prepend(str(HOSTS))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(folder: Path, *options: object) -> tuple[int, str]:
        done = pytester.runpytest_inprocess("-rA", "-p", "no:cacheprovider", "--rootdir", folder, folder, *map(str, options))
        return int(done.ret), str(done.stdout) + str(done.stderr)

    return run


def outcomes(output: str) -> dict[str, str]:
    """pytest's word for each case."""
    found = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL) \S*?(?:\[1\] \S+|::test_\w+\[(\S+?)\])", output, re.MULTILINE)
    return {f"ELEMENT_WISE_BIT_OR/{case}": word for word, case in found}


def test_the_emitted_modules_run_the_cases_of_the_suite(modules: Path, under_pytest: Pytest) -> None:
    assert [file.name for file in modules.iterdir() if file.suffix == ".py"] == ["test_element_wise_bit_or.py"]
    code, output = under_pytest(modules)
    cases = selected_cases(RunOptions(level="smoke", expression=EXPRESSION))
    assert code == 0, output
    assert outcomes(output) == {case.id: "PASSED" for case in cases}


def test_a_failure_says_what_and_how_to_run_it_again(modules: Path, under_pytest: Pytest) -> None:
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:Wrong")
    assert code == 1
    found = outcomes(output)
    assert found == {case: "FAILED" if "/UINT8/" in case else "PASSED" for case in found}
    assert {"ELEMENT_WISE_BIT_OR/UINT8/4d", "ELEMENT_WISE_BIT_OR/UINT32/4d"} <= found.keys()
    assert "fail: OutputTensor: 30 of 30 elements wrong" in output
    assert "  OutputTensor[0, 0, 0, 0]: expected " in output
    assert "again: dmlcts run --backend python:unruly:Wrong --case ELEMENT_WISE_BIT_OR/UINT8/4d" in output
    assert "Traceback" not in output


def test_statuses_are_pytests_own(modules: Path, tmp_path: Path, under_pytest: Pytest) -> None:
    declined = sum("/UINT8/" in case.id for case in selected_cases(RunOptions(level="smoke", expression=EXPRESSION)))
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:Declines")
    assert code == 1
    assert "unsupported: no UINT8 in BIT_OR" in output
    assert f" {declined} skipped" in output
    assert f"dmlcts: {declined} cases are unsupported although the backend claims them" in output
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:Uint32Only")
    assert (code, "although the backend claims" in output) == (0, False), output

    waivers = tmp_path / "waivers.yaml"
    waivers.write_text("waivers: [{cases: '*/UINT8/*', reason: known, issue: 'number 1'}]", encoding="utf-8")
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:Raises", "--dmlcts-waivers", waivers)
    found = outcomes(output)
    assert found["ELEMENT_WISE_BIT_OR/UINT8/4d"] == "XFAIL"
    assert "known (number 1)" in output
    assert code == 0, output

    code, output = under_pytest(modules, "--dmlcts-waivers", waivers)  # the reference passes, and is waived
    assert code == 1
    assert outcomes(output)["ELEMENT_WISE_BIT_OR/UINT8/4d"] == "FAILED"
    assert "unexpected_pass: passes although it is waived: known (number 1); remove the waiver" in output


def test_a_session_in_which_all_is_waived_is_no_success(modules: Path, tmp_path: Path, under_pytest: Pytest) -> None:
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text("waivers: [{cases: 'ELEMENT_WISE_BIT_OR/*', reason: known, issue: 'number 1'}]", encoding="utf-8")
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:AllRaise", "--dmlcts-waivers", waivers)
    assert set(outcomes(output).values()) == {"XFAIL"}
    assert (code, "dmlcts: nothing passed, negative cases aside" in output) == (1, True)


def test_a_session_in_several_processes_in_which_all_is_unsupported_is_no_success(
    modules: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HOSTS))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", modules, "-n", "1", "--dmlcts-backend", "python:unruly:Nothing")
    assert (done.ret, "cases are unsupported although the backend claims them" in str(done.stdout)) == (1, True)


def test_a_backend_that_fails_to_close_is_an_error(modules: Path, under_pytest: Pytest) -> None:
    code, output = under_pytest(modules, "--dmlcts-backend", "python:unruly:RaisesWhenClosed")
    assert (code, "after the last case, the backend failed to close: " in output) == (1, True)


@pytest.mark.parametrize(
    ("statuses", "objects"),
    [
        ([], False),
        (["passed"], False),
        (["rejected"], False),  # negative cases alone were selected
        (["passed", "rejected", ""], False),
        (["rejected", ""], True),
        ([""], True),
        (["passed", "lacking"], True),
        (["passed", "failed"], True),
    ],
)
def test_what_a_session_must_have(statuses: list[str], objects: bool) -> None:
    tally = Tally()
    tally.counts.update(statuses)
    assert bool(tally.objection) == objects


@pytest.mark.parametrize("name", ["DiesWithSuccess", "Skips", "DiesWithSuccessAtExit"])
def test_no_code_of_a_backend_makes_a_session_green(name: str, modules: Path, under_pytest: Pytest) -> None:
    """Whatever the backend is called, its code does not run in pytest's process."""
    code, output = under_pytest(modules, "--dmlcts-backend", f"inprocess:unruly:{name}")
    assert code == 1, output
    found = outcomes(output)
    assert found["ELEMENT_WISE_BIT_OR/UINT8/4d"] == "FAILED"
    assert found["ELEMENT_WISE_BIT_OR/UINT32/4d"] == "PASSED"


@pytest.mark.parametrize(
    "conftest",
    [
        "def pytest_collection_modifyitems(items):\n    for item in items: item.add_marker(pytest.mark.xfail(strict=False))",
        "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n    report = yield\n    report.outcome = 'passed'\n    return report",
    ],
    ids=["expects failures", "makes passes of failures"],
)
def test_a_case_that_failed_is_no_success_whatever_plugins_make_of_its_test(
    conftest: str, modules: Path, tmp_path: Path, under_pytest: Pytest
) -> None:
    shutil.copytree(modules, tmp_path / "modules")
    (tmp_path / "modules" / "conftest.py").write_text(f"import pytest\n{conftest}\n", encoding="utf-8")
    assert under_pytest(tmp_path / "modules")[0] == 0
    code, output = under_pytest(tmp_path / "modules", "--dmlcts-backend", "python:unruly:Wrong")
    assert code == 1, output
    assert "dmlcts: 2 cases failed" in output


@pytest.mark.parametrize("processes", [[], ["-n", "1"]])
@pytest.mark.parametrize(
    ("options", "expected", "message"),
    [
        (("--dmlcts-backend", "nosuch"), 3, "unknown backend 'nosuch'"),
        (("--dmlcts-waivers", "nosuch.yaml"), 4, "nosuch.yaml: cannot be read"),
    ],
)
def test_what_cannot_be_started_ends_pytest_with_a_line(
    processes: list[str], options: tuple[str, ...], expected: int, message: str, modules: Path, under_pytest: Pytest
) -> None:
    code, output = under_pytest(modules, *options, *processes)
    assert (code, outcomes(output)) == (expected, {})
    assert message in output
    assert "INTERNALERROR" not in output


def test_modules_of_other_specs_are_refused(modules: Path, tmp_path: Path, under_pytest: Pytest) -> None:
    name = "ELEMENT_WISE_BIT_OR"
    generated_from(spec_version([name]), name)
    with pytest.raises(
        pytest.UsageError, match=r"generated from spec 0123, but spec \w+ is installed: run `dmlcts generate` again"
    ):
        generated_from("0123", name)
    text = (modules / "test_element_wise_bit_or.py").read_text(encoding="utf-8")
    (tmp_path / "test_old.py").write_text(text.replace(spec_version([name]), "0" * 12), encoding="utf-8")
    code, output = under_pytest(tmp_path)
    assert code in (2, 4)  # which of the two is pytest's choice
    assert "run `dmlcts generate` again" in output


def test_an_explanation_is_readable() -> None:
    result = Result(
        "A/b", "A", "FLOAT32", "table", "documented", "1_0", "fail", "wrong",
        mismatches=(Mismatch("Out", (1, 2), "1.0", "2.0"),), evidence={"stage": "bind", "example": {"long": 1}}, repro="dmlcts run",
    )  # fmt: skip
    assert explanation(result) == "fail: wrong\n  Out[1, 2]: expected 1.0, is 2.0\n  stage: bind\nagain: dmlcts run"
