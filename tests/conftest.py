"""What holds for all tests."""

import os
import shutil
import tempfile
from typing import Any

import pytest

from dmlcts.conformance.runner.workers.threads import one_thread
from dmlcts.generator.case import case_cache

os.environ.update(one_thread(os.environ))  # inherited by the processes that share the tests out

FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Cases are made once, by the first test that needs an operator's, and read by the others, in all processes.

    Not by way of the environment: the commands that are tested make their own, and those of a foreign backend refuse the variable.
    """
    given = os.environ.pop(case_cache.VARIABLE, "")
    named = getattr(config, "workerinput", {}).get("cases", "")
    case_cache.shared = config.stash[FOLDER] = named or given or tempfile.mkdtemp(prefix="dmlcts-cases-")
    if not named and not given:
        config.add_cleanup(lambda: shutil.rmtree(config.stash[FOLDER], ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Names the folder to a process of pytest-xdist."""
    node.workerinput["cases"] = node.config.stash[FOLDER]
