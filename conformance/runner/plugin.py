"""The pytest plugin that emitted modules run with: the options --dmlcts-*, and the fixture ``run_case``.

pytest loads it wherever the package is installed, so it imports nothing heavy before use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dmlcts.conformance.runner.session import Session
    from dmlcts.reports.record import Result


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of emitted modules."""
    group = parser.getgroup("dmlcts", "DirectML conformance")
    group.addoption("--dmlcts-backend", default="reference", help="what to test (see `dmlcts backends`)")
    group.addoption("--dmlcts-timeout", default=30.0, type=float, help="limit for one dispatch, in seconds")
    group.addoption("--dmlcts-waivers", default=[], action="append", help="a YAML file of known failures; may be repeated")
    group.addoption("--dmlcts-seed", default="", help="other random examples in property cases")


def generated_from(version: str, operator: str) -> None:
    """Called by an emitted module to check that it was generated from the installed spec. Raises pytest.UsageError if not."""
    from dmlcts.spec.promises import spec_version

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
    """Runs the case of an id: returns if it passes, and fails, skips (unsupported) or xfails (waived) the test otherwise."""
    from dmlcts.generator.suite import find_case

    with _open(request.config) as session:
        yield lambda case_id: _settle(session.run(find_case(case_id)))


def _open(config: pytest.Config) -> Session:
    """The session for the options; ends pytest with a message if it cannot be opened."""
    from dmlcts.conformance.backends.backend import BackendUnavailable
    from dmlcts.conformance.runner.options import RunOptions
    from dmlcts.conformance.runner.session import Session
    from dmlcts.reports.waivers import WaiverError

    given = {name: config.getoption(f"--dmlcts-{name}") for name in ("backend", "timeout", "seed")}
    try:
        return Session(RunOptions(waivers=tuple(config.getoption("--dmlcts-waivers")), **given))
    except BackendUnavailable as error:
        pytest.exit(str(error), returncode=3)
    except WaiverError as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


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
