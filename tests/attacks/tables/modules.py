"""Emitted pytest modules, run by plain pytest: edited modules, options, environment variables, configuration and plugins that change what becomes of a failed case.

What a user's own code leaves out (deselects) is not run, and that is the user's choice. A case that ran and failed never ends in exit 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attack import Attack, Must, Run
from expect import exits
from suspects import suspect

GENERATE = Run(("generate", "--level", "smoke", "-k", "BIT_OR/UINT8/4d or BIT_OR/UINT32/4d", "--out", "modules"), (exits(0),))
PYTEST = (sys.executable, "-m", "pytest")
BACKEND = ("modules", "--dmlcts-backend", "python:mine:Mine", "-p", "no:cacheprovider")
MODULE = "modules/test_element_wise_bit_or.py"


def red(outcome: object) -> str:
    return "a wrong backend is green" if outcome.code == 0 else ""  # type: ignore[attr-defined]


OPTIONS: dict[str, tuple[str, ...]] = {
    "none": (), "quiet": ("-qqq",), "no traceback": ("--tb=no", "--no-header", "--no-summary"), "no terminal": ("-p", "no:terminal"), "no assertions": ("-p", "no:assertion"), "plain asserts": ("--assert=plain",),
    "no skipping plugin": ("-p", "no:skipping"), "no capture": ("-s",), "no warnings": ("-p", "no:warnings"), "warnings as errors": ("-W", "error"), "runxfail": ("--runxfail",), "strict": ("--strict-markers", "--strict-config"),
    "stop at the first": ("-x",), "two processes": ("-n", "2"), "two processes, each its load": ("-n", "2", "--dist", "each") if False else ("-n", "2", "--dist", "loadfile"), "no xdist": ("-p", "no:xdist"), "without the plugin": ("-p", "no:dmlcts"),
    "the plugin by its module": ("-p", "dmlcts.conformance.runner.plugin"), "importlib": ("--import-mode=importlib",), "append": ("--import-mode=append",), "another root": ("--rootdir", "/"), "no configuration": ("-c", "/dev/null"), "doctest": ("--doctest-modules",),
    "fixtures only": ("--fixtures",), "a plan only": ("--setup-plan",), "set-up only": ("--setup-only",), "shown set-up": ("--setup-show",), "JUnit": ("--junitxml=junit.xml", "-o", "junit_family=xunit1"), "a timeout": ("-o", "timeout=100"), "no fault handler": ("-p", "no:faulthandler"),
    "a short limit": ("--dmlcts-timeout", "5"), "a seed": ("--dmlcts-seed", "x"), "no unraisable": ("-p", "no:unraisableexception"), "no unittest": ("-p", "no:unittest"), "the module by name": (MODULE,), "one case by name": ("-k", "UINT8"),
}  # fmt: skip

NOT_RUN = ("fixtures only", "a plan only", "set-up only")
"""Options with which pytest says itself that it runs nothing."""

CONFTESTS: dict[str, str] = {
    "marks all as expected to fail": "import pytest\ndef pytest_collection_modifyitems(items):\n    for item in items: item.add_marker(pytest.mark.xfail(strict=False))",
    "marks all as expected to fail, strictly": "import pytest\ndef pytest_collection_modifyitems(items):\n    for item in items: item.add_marker(pytest.mark.xfail(strict=True))",
    "makes failures passes": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    report = out.get_result()\n    if report.failed: report.outcome = 'passed'",
    "makes failures skips": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    report = out.get_result()\n    if report.failed: report.outcome = 'skipped'; report.longrepr = ('x', 1, 'y')",
    "makes failures expected": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    report = out.get_result()\n    if report.failed: report.outcome = 'skipped'; report.wasxfail = 'x'",
    "swallows failures in the call": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_call(item):\n    out = yield\n    if out.excinfo: out.force_result(None)",
    "sets the exit code": "def pytest_sessionfinish(session): session.exitstatus = 0",
    "sets the exit code last": "import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_sessionfinish(session): session.exitstatus = 0",
    "reruns until it passes": "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_protocol(item, nextitem): return None",
    "shuffles": "import random\ndef pytest_collection_modifyitems(items): random.shuffle(items)",
    "doubles": "def pytest_collection_modifyitems(items): items.extend(list(items))",
    "has a fixture that skips nothing": "import pytest\n@pytest.fixture(autouse=True)\ndef quiet(): yield",
    "raises at the end": "def pytest_unconfigure(config): raise RuntimeError('x')",
    "catches the fixture": "import contextlib, pytest\n@pytest.fixture\ndef run_case(run_case):\n    def run(case):\n        with contextlib.suppress(BaseException): run_case(case)\n    return run",
    "has a fixture of the same name that does nothing": "import pytest\n@pytest.fixture\ndef run_case(): return lambda case: None",
}  # fmt: skip

USERS_OWN = ("sets the exit code", "sets the exit code last", "has a fixture of the same name")
"""Code that replaces what decides: nothing of this suite is asked any more. It is tried that the report still says what failed."""

CONFIGURATIONS: dict[str, tuple[str, str]] = {
    "pytest.ini expects failures": ("pytest.ini", "[pytest]\nxfail_strict = false\naddopts = --tb=no -q\n"),
    "pytest.ini without plugins": ("pytest.ini", "[pytest]\naddopts = -p no:dmlcts\n"),
    "pytest.ini of other names": ("pytest.ini", "[pytest]\npython_files = check_*.py\n"),
    "pytest.ini of other functions": ("pytest.ini", "[pytest]\npython_functions = check_*\n"),
    "tox.ini": ("tox.ini", "[pytest]\naddopts = --runxfail\n"),
    "setup.cfg": ("setup.cfg", "[tool:pytest]\naddopts = -x\n"),
    "pyproject.toml": ("pyproject.toml", "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"),
    "a module named pytest.py": ("pytest.py", "raise SystemExit(0)\n"),
    "a module named _pytest.py": ("_pytest.py", "raise SystemExit(0)\n"),
    "a module named dmlcts.py": ("dmlcts.py", "raise SystemExit(0)\n"),
    "a module named numpy.py": ("numpy.py", "raise SystemExit(0)\n"),
}  # fmt: skip

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "no plugins": {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, "no dmlcts": {"PYTEST_ADDOPTS": "-p no:dmlcts"}, "no asserts": {"PYTHONOPTIMIZE": "2"}, "quiet": {"PYTEST_ADDOPTS": "-qq --tb=no"},
    "a missing plugin": {"PYTEST_PLUGINS": "nonsense"}, "warnings as errors": {"PYTHONWARNINGS": "error"}, "cases elsewhere": {"DMLCTS_CASES": "cases"}, "language C": {"LC_ALL": "C", "PYTHONUTF8": "0"}, "xdist's own": {"PYTEST_XDIST_WORKER": "gw0"}, "a test that runs": {"PYTEST_CURRENT_TEST": "x"},
}  # fmt: skip


def edited(old: str, new: str) -> Callable[[Path], None]:
    def step(folder: Path) -> None:
        file = folder / MODULE
        text = file.read_text(encoding="utf-8")
        assert old in text, old
        file.write_text(text.replace(old, new), encoding="utf-8")

    return step


EDITS: dict[str, Callable[[Path], None]] = {
    "a case that is none": edited("UINT8/4d", "UINT8/4e"),
    "another version of the spec": edited('generated_from("', 'generated_from("0'),
    "a case twice": edited("UINT32/4d", "UINT8/4d"),
    "carriage returns": lambda folder: (folder / MODULE).write_bytes((folder / MODULE).read_bytes().replace(b"\n", b"\r\n")),
    "an empty module": lambda folder: (folder / MODULE).write_text("", encoding="utf-8"),
    "half a module": lambda folder: (folder / MODULE).write_bytes((folder / MODULE).read_bytes()[:200]),
    "no module": lambda folder: (folder / MODULE).unlink(),
}  # fmt: skip


def says(conftest: str) -> Must:
    """What replaces the exit code leaves the failure in the output; what replaces the fixture leaves nothing."""
    return lambda outcome: (
        "" if outcome.code or " failed" in outcome.output or "run_case" in conftest else "not a word of the failure"
    )


def attacks() -> Iterator[Attack]:
    files = {"mine.py": suspect(True)}

    def under_pytest(*more: str, must: Must = red, **run: object) -> Run:
        return Run((*BACKEND, *more), (must,), program=PYTEST, **run)  # type: ignore[arg-type]

    for name, options in OPTIONS.items():
        must: Must = exits(0) if name in NOT_RUN else red
        yield Attack(f"option: {name}", (GENERATE, under_pytest(*options, must=must)), files)
    for name, text in CONFTESTS.items():
        must = says(text) if name.startswith(USERS_OWN) else red
        yield Attack(f"a conftest that {name}", (GENERATE, under_pytest(must=must)), {**files, "modules/conftest.py": text})
    for name, (file, text) in CONFIGURATIONS.items():
        yield Attack(name, (GENERATE, under_pytest()), {**files, file: text})
    for name, environment in ENVIRONMENTS.items():
        yield Attack(f"environment: {name}", (GENERATE, under_pytest(environment=environment)), files)
    for name, edit in EDITS.items():
        yield Attack(f"edited: {name}", (GENERATE, edit, under_pytest()), files)
    for kind in ("inprocess:mine:Mine", "python:mine:Mine"):
        for code in (
            "os._exit(0)",
            "sys.exit(0)",
            "raise KeyboardInterrupt",
            "import pytest; pytest.exit('x', returncode=0)",
            "import pytest; pytest.skip('x')",
            "import pytest; pytest.xfail('x')",
        ):
            mine = suspect(True, after=f"if chosen(dispatch):\n    {code}")
            yield Attack(
                f"{code} by {kind.partition(':')[0]}",
                (GENERATE, Run(("modules", "--dmlcts-backend", kind, "-p", "no:cacheprovider"), (red,), program=PYTEST)),
                {"mine.py": mine},
            )
    yield Attack("a right backend must be red", (GENERATE, under_pytest()), {"mine.py": suspect(False)}, self_check=True)


ATTACKS = tuple(attacks())
