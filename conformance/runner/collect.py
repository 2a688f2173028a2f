"""The pytest plugins of ``dmlcts run``: cases are pytest items, and xdist spreads them over processes.

``CaseRun`` runs cases, in this process or in each of xdist's; ``Control`` supervises xdist's processes. Each process writes its results to its
own file (conformance/runner/journal).
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from traceback import format_exception
from typing import Any, TextIO

import pytest

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.runner import journal
from dmlcts.conformance.runner.options import RunOptions, selected_cases
from dmlcts.conformance.runner.session import Session
from dmlcts.conformance.runner.signals import NAMES
from dmlcts.generator.case import Case
from dmlcts.reports.record import ERROR, FAILURES, NOT_RUN, UNSUPPORTED, WAIVED, Result, result_json, write_line
from dmlcts.spec import clean


def pytest_addoption(parser: pytest.Parser) -> None:
    """The one option that carries all of the run's to worker processes."""
    parser.addoption("--dmlcts-run", default="", help="options of `dmlcts run` as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Each worker process opens its own backend. If one cannot, all stop: the others would run without it."""
    if not hasattr(config, "workerinput"):
        return
    _leave_signals_to_the_controller()
    options = RunOptions.from_json(config.getoption("--dmlcts-run"))
    folder = Path(options.out) / journal.FOLDER
    session = None
    try:
        if not (folder / journal.STOP).exists():  # this process may replace one that died while closing its backend
            session = Session(options)
    except BackendUnavailable as error:
        journal.stop(folder, str(error))
    run = CaseRun(session, selected_cases(options), folder, config.workerinput["workerid"])
    config.pluginmanager.register(run, "dmlcts-case-run")


def _leave_signals_to_the_controller() -> None:
    """Ignores signals to the whole process group: the controller gets them too and ends the workers, so that their cases are not run instead of errors."""
    for name in NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


class CaseItem(pytest.Item):
    """A case as a pytest item."""

    case: Case

    def runtest(self) -> None:
        """Not called: ``CaseRun`` runs the item as a whole."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The item's location for pytest."""
        return self.path, None, self.name


class CaseRun:
    """Collects the cases and runs those assigned to this process; none if ``session`` is None. Closes the session at the end."""

    def __init__(self, session: Session | None, cases: Sequence[Case], folder: Path, process: str) -> None:
        self.session, self.cases, self.stop = session, cases, folder / journal.STOP
        self.stream: TextIO = (folder / journal.RAN.format(process=process)).open("a", encoding="utf-8", newline="\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Makes the items."""
        for case in self.cases:
            item = CaseItem.from_parent(session, name=case.id, nodeid=case.id)
            item.case = case
            session.items.append(item)
        session.testscollected = len(session.items)
        session.config.hook.pytest_collection_finish(session=session)  # xdist's workers report their ids from here
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Runs one item: one report, and one line in this process's file."""
        if not isinstance(item, CaseItem):
            return None
        if self.session is None or self.stop.exists():
            return True
        result = result_in(self.session, item.case)
        write_line(self.stream, "result", result_json(result))
        self.stream.flush()
        item.config.hook.pytest_runtest_logreport(report=report_of(result))
        return True

    def pytest_sessionfinish(self) -> None:
        """Closes the backend and the file."""
        if self.session is not None:
            self.session.close()
        self.stream.close()


class Control:
    """In the controlling process: stops all workers on Ctrl-C, and reports cases whose process died."""

    def __init__(self, session: Session, cases: Iterable[Case], folder: Path) -> None:
        self.session, self.folder = session, folder
        self.cases: Mapping[str, Case] = {case.id: case for case in cases}
        self.left = len(self.cases)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After the last case, no process opens a backend: workers that die in ``close()`` would be replaced endlessly."""
        self.left -= 1
        if not self.left:
            journal.stop(self.folder)

    def pytest_keyboard_interrupt(self) -> None:
        """Ctrl-C may have reached only this process."""
        journal.stop(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """xdist: a process died while it ran an item. The case becomes an error; another process replaces it."""
        died = replace(not_run(self.cases[crashitem]), status=ERROR, message="the process that ran it died")
        result = self.session.settled(died)
        with (self.folder / journal.CRASHED).open("a", encoding="utf-8", newline="\n") as stream:
            write_line(stream, "result", result_json(result))
        report.user_properties = [("dmlcts", result.status)]


def result_in(session: Session, case: Case) -> Result:
    """The result of a case. An error in the suite itself costs this case, not the run."""
    try:
        return session.run(case)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest's outcomes, which a backend may raise, are not Exceptions
        evidence = {"traceback": clean.block("".join(format_exception(error)[-6:]))}
        message = f"internal error of the suite (please report it): {clean.raised(error)}"
        return session.settled(replace(not_run(case), status=ERROR, message=message, evidence=evidence))


def report_of(result: Result) -> pytest.TestReport:
    """A result as a pytest report, with only what counting and progress need."""
    outcome: Any = "failed" if result.status in FAILURES else "skipped" if result.status in (UNSUPPORTED, WAIVED) else "passed"
    location = (result.case, None, result.case)
    properties = [("dmlcts", result.status)]
    return pytest.TestReport(
        result.case, location, {}, outcome, None, "call", duration=result.seconds, start=0.0, stop=0.0, user_properties=properties
    )


def not_run(case: Case) -> Result:
    """The result of a case that was selected and has not run."""
    return Result(case.id, case.operator.name, case.data_type, case.kind, case.basis, case.feature_level, NOT_RUN, "not run")


def status_of(report: pytest.TestReport) -> str:
    """The status that a report carries."""
    return next((str(value) for name, value in report.user_properties if name == "dmlcts"), ERROR)
