"""For the tests of backends: what they open is closed, and leaves no thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dmlcts.conformance.backends.process.process import ProcessBackend


@pytest.fixture
def opened() -> Iterator[list[ProcessBackend]]:
    """Backends to be closed at the end. No thread of theirs may be left then."""
    before = set(threading.enumerate())
    backends: list[ProcessBackend] = []
    yield backends
    for backend in backends:
        backend.close()
    assert set(threading.enumerate()) <= before
