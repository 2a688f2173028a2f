"""What worker processes report to the process that decides."""

from __future__ import annotations

import pytest

from dmlcts.conformance.runner.workers.pool import _messages

RAN = b'["ran", "pass"]'


@pytest.mark.parametrize("foreign", [b"printed by a backend", b"\xff", b""])
def test_messages_before_foreign_text_count_and_none_after_it(foreign: bytes) -> None:
    """A case whose result was reported before must not be blamed for the text, and a result after it may be forged."""
    assert list(_messages([RAN, RAN])) == [["ran", "pass"]] * 2
    assert list(_messages([RAN, foreign, RAN])) == [["ran", "pass"]]
