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


@pytest.mark.parametrize("reader", [name for name in READERS if name not in ("arrays", "answers", "options", "onnx models")])
def test_a_byte_order_mark_changes_nothing(reader: str, tmp_path: Path) -> None:
    """Windows PowerShell 5 writes one before each UTF-8 file. The others read bytes, a stream, the command line, and what is no text."""
    given = READERS[reader]()
    for data in given.valid:
        assert repr(given.read(b"\xef\xbb\xbf" + data, tmp_path)) == repr(given.read(data, tmp_path))


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
