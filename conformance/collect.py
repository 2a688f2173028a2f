"""The pytest plugin of ``dmlcts run``: cases are pytest items, and xdist spreads them over processes.

Each process appends its results to a file of its own as it goes, so that nothing is lost when one of them, or all, are stopped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import pytest

from dmlcts.conformance.options import RunOptions, selected_cases
from dmlcts.conformance.session import Session
from dmlcts.generator.case import Case
from dmlcts.reports.record import ERROR, FAILURES, NOT_RUN, UNSUPPORTED, WAIVED, Result, result_json, write_line

PARTS = "parts"
"""The folder, below the output folder, of the results that each process writes while the run goes on."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option that carries all of the run's to worker processes."""
    parser.addoption("--dmlcts-run", default="", help="options of `dmlcts run` as JSON")


class CaseItem(pytest.Item):
    """A case as a pytest item."""

    case: Case

    def runtest(self) -> None:
        """Not called: ``CaseRun`` runs the item as a whole."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the item stands."""
        return self.path, None, self.name


def pytest_configure(config: pytest.Config) -> None:
    """Registers the run in every process that was given options."""
    if config.getoption("--dmlcts-run", default=""):
        config.pluginmanager.register(CaseRun(config), "dmlcts-case-run")


class CaseRun:
    """Collects and runs the cases of one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.options = RunOptions.from_json(config.getoption("--dmlcts-run"))
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        self.controls = bool(getattr(config.option, "numprocesses", None)) and worker == "main"
        self.file = Path(self.options.out) / PARTS / f"{worker}.jsonl"
        self.session: Session | None = None
        self.stream: TextIO | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool | None:
        """Makes the items; the process that only controls workers has none."""
        if self.controls:
            return None
        for case in selected_cases(self.options):
            item = CaseItem.from_parent(session, name=case.id, nodeid=case.id)
            item.case = case
            session.items.append(item)
        session.testscollected = len(session.items)
        session.config.hook.pytest_collection_finish(session=session)  # xdist's workers tell the ids from here
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Runs one item: one report, one line in this process's file."""
        if not isinstance(item, CaseItem):
            return None
        if self.session is None or self.stream is None:
            self.session = Session(self.options)
            self.stream = self.file.open("a", encoding="utf-8", newline="\n")
        result = self.session.run(item.case)
        write_line(self.stream, "result", result_json(result))
        self.stream.flush()
        item.ihook.pytest_runtest_logreport(report=report_of(result))
        return True

    def pytest_sessionfinish(self) -> None:
        """Closes the backend and the file."""
        if self.session is not None:
            self.session.backend.close()
        if self.stream is not None:
            self.stream.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """xdist: a process died while it ran an item. That is an error of the case."""
        cases = {case.id: case for case in selected_cases(self.options)}
        result = replace(placeholder(cases[crashitem]), status=ERROR, message="the process that ran it died")
        with self.file.open("a", encoding="utf-8", newline="\n") as stream:
            write_line(stream, "result", result_json(result))
        report.user_properties = [("dmlcts", ERROR)]


def report_of(result: Result) -> pytest.TestReport:
    """A result as pytest's report: only what counts and progress need."""
    outcome: Any = "failed" if result.status in FAILURES else "skipped" if result.status in (UNSUPPORTED, WAIVED) else "passed"
    location = (result.case, None, result.case)
    properties = [("dmlcts", result.status)]
    return pytest.TestReport(
        result.case, location, {}, outcome, None, "call", duration=result.seconds, start=0.0, stop=0.0, user_properties=properties
    )


def placeholder(case: Case) -> Result:
    """The result of a case that was selected and has not run."""
    return Result(case.id, case.operator, case.data_type, case.kind, case.basis, case.feature_level, NOT_RUN, "not run")


def status_of(report: pytest.TestReport) -> str:
    """The status that a report carries."""
    return next((str(value) for name, value in report.user_properties if name == "dmlcts"), ERROR)
