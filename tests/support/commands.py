"""The command line in the process of a test."""

from __future__ import annotations

import pytest

from dmlcts.conformance.commands.cli import main


def dmlcts(*arguments: object) -> int:
    """The exit code of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code
