"""Runs mypy --strict over the package: ``python tests/typecheck.py``.

The rooms stand at the top of the repository and are installed below ``dmlcts``, which mypy cannot know; so it is shown a folder in which they
stand that way. Exits as mypy does.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("spec", "generator", "reference", "conformance", "reports")


def main() -> int:
    """Type-checks a copy of the rooms, laid out as they are installed."""
    with tempfile.TemporaryDirectory() as folder:
        for room in ROOMS:
            shutil.copytree(ROOT / room, Path(folder) / "dmlcts" / room, ignore=shutil.ignore_patterns("__pycache__"))
        command = [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            str(ROOT / "pyproject.toml"),
            "--cache-dir",
            str(ROOT / ".mypy_cache"),
        ]
        done = subprocess.run([*command, "dmlcts"], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    sys.stdout.write(done.stdout.replace("dmlcts/", ""))
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
