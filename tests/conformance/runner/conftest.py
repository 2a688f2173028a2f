"""For the tests of runs: signals as in a terminal, and backends that misbehave."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """Signals are not ignored: who starts the tests with nohup or in the background hands that on to every process, and a run keeps to it."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    ignored = [number for name in names if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def hosts_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of tests/hosts can be imported."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "hosts"))
