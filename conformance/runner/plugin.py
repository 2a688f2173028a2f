"""The pytest plugin that emitted modules run with: the options --dmlcts-*, and the fixture ``run_case``.

pytest exits with 0 only if ``dmlcts run`` would: it fails if a case is unsupported that the backend claims, or if no case passed.

pytest loads it wherever the package is installed, so it imports nothing heavy before use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dmlcts.conformance.runner.workers.session import Session
    from dmlcts.reports.record.record import Result

_STATUS = "dmlcts"
"""The property of a test's report with what became of its case. With xdist, it reaches the process that sets the exit code."""

_PASSED, _REJECTED, _LACKING, _FAILED = "passed", "rejected", "lacking", "failed"
"""Its values: a case passed; a negative case did; a case is unsupported that the backend claims; a case failed. Empty otherwise."""

_latest = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of emitted modules."""
    group = parser.getgroup("dmlcts", "DirectML conformance")
    group.addoption("--dmlcts-backend", default="reference", help="what to test (see `dmlcts backends`)")
    group.addoption("--dmlcts-timeout", default=30.0, type=float, help="limit for one dispatch, in seconds")
    group.addoption("--dmlcts-waivers", default=[], action="append", help="a YAML file of known failures; may be repeated")
    group.addoption("--dmlcts-seed", default="", help="other random examples in property cases")


def pytest_configure(config: pytest.Config) -> None:
    """Counts what becomes of the cases; with xdist, in the process that sets the exit code."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tally())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Adds what became of the case to the report that pytest is about to make."""
    if call.when == "call" and "run_case" in getattr(item, "fixturenames", ()):
        item.user_properties.append((_STATUS, item.config.stash.get(_latest, "")))
        item.config.stash[_latest] = ""


class Tally:
    """Counts what became of the cases, and fails a session that pytest itself would let pass."""

    def __init__(self) -> None:
        self.counts: Counter[object] = Counter()

    @property
    def objection(self) -> str:
        """Why the session is no success; empty if it is one, as far as this knows. A failed case is none, whatever plugins make of its test."""
        if self.counts[_FAILED]:
            return f"{self.counts[_FAILED]} cases failed"
        if self.counts[_LACKING]:
            return f"{self.counts[_LACKING]} cases are unsupported although the backend claims them"
        positive = self.counts.total() - self.counts[_REJECTED]
        return "nothing passed, negative cases aside" if positive and not self.counts[_PASSED] else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts the case of a test that was run."""
        if report.when == "call":
            self.counts.update(value for name, value in report.user_properties if name == _STATUS)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Sets the exit code."""
        if session.exitstatus == pytest.ExitCode.OK and self.objection:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says why."""
        if self.objection:
            terminalreporter.write_line(f"dmlcts: {self.objection}", red=True)


def generated_from(version: str, operator: str) -> None:
    """Called by an emitted module to check that it was generated from the installed spec. Raises pytest.UsageError if not."""
    from dmlcts.spec.reading.promises import spec_version

    installed = spec_version([operator])
    if version != installed:
        raise pytest.UsageError(
            f"this module was generated from spec {version}, but spec {installed} is installed: run `dmlcts generate` again"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """xdist: checks that the backend starts, before workers fail one by one."""
    if config.getoption("--dmlcts-backend") != "reference" or config.getoption("--dmlcts-waivers"):
        _open(config).close()


@pytest.fixture(scope="session")
def run_case(request: pytest.FixtureRequest) -> Iterator[Callable[[str], None]]:
    """Runs the case of an id: returns if it passes, and fails, skips (unsupported) or xfails (waived) the test otherwise.

    At the end, a backend that fails to close is an error.
    """
    from dmlcts.generator.suite.suite import find_case

    with _open(request.config) as session:

        def run(case_id: str) -> None:
            result = session.run(find_case(case_id))
            request.config.stash[_latest] = _status(result)
            _settle(result)

        yield run
        if problem := session.close():
            pytest.fail(f"after the last case, {problem}", pytrace=False)


def _open(config: pytest.Config) -> Session:
    """The session for the options; ends pytest with a message if it cannot be opened."""
    from dmlcts.conformance.backends.backend import BackendUnavailable
    from dmlcts.conformance.backends.opening import separate_process
    from dmlcts.conformance.runner.planning.options import RunOptions
    from dmlcts.conformance.runner.workers.session import Session
    from dmlcts.reports.gate.waivers import WaiverError

    given = {name: config.getoption(f"--dmlcts-{name}") for name in ("backend", "timeout", "seed")}
    given["backend"] = separate_process(given["backend"])  # in this process, it could end pytest with any exit code
    try:
        return Session(RunOptions(waivers=tuple(config.getoption("--dmlcts-waivers")), **given))
    except BackendUnavailable as error:
        pytest.exit(str(error), returncode=3)
    except WaiverError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _status(result: Result) -> str:
    if result.status == "pass":
        return _REJECTED if result.kind == "negative" else _PASSED
    if result.status in ("fail", "error", "unexpected_pass"):
        return _FAILED
    return _LACKING if result.status == "unsupported" and not result.undeclared else ""


def _settle(result: Result) -> None:
    if result.status == "unsupported":
        pytest.skip(f"unsupported: {result.message}")
    elif result.status == "waived":
        pytest.xfail(result.waiver)
    elif result.status != "pass":
        pytest.fail(explanation(result), pytrace=False)


def explanation(result: Result) -> str:
    """A failure in words: what is wrong, the first wrong elements, and how to run the case again."""
    lines = [f"{result.status}: {result.message}"]
    lines += [f"  {m.tensor}{list(m.index)}: expected {m.expected}, is {m.actual}" for m in result.mismatches]
    lines += [f"  {name}: {value}" for name, value in result.evidence.items() if name != "example"]
    return "\n".join([*lines, f"again: {result.repro}"])
