"""Hostile input for every reader of foreign files and messages (tests/support/fuzzing): 100 examples each; DMLCTS_FUZZ=5000 tries more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzed_readers import READERS

FUZZING = Path(__file__).parent / "support" / "fuzzing.py"
EXAMPLES = int(os.environ.get("DMLCTS_FUZZ", "100"))


@pytest.mark.parametrize("reader", READERS)
def test_hostile_input_is_accepted_or_refused_as_documented(reader: str) -> None:
    """In a process of its own: its memory is limited, and a hang ends it."""
    ran = subprocess.run(
        [sys.executable, FUZZING, "--here", "--examples", str(EXAMPLES), reader],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-5000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["tried"] >= EXAMPLES
    assert found["slowest"] < 5
