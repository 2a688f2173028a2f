"""Runs mypy --strict over the package: ``python tests/typecheck.py [linux|win32|darwin]...``.

The rooms stand at the top of the repository and are installed below ``dmlcts``, which mypy cannot know; so it is shown a folder in which they
stand that way. It checks the code as each platform named would run it; this one's by default. Exits as mypy does, with the first error.
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
        code = 0
        for platform in sys.argv[1:] or [sys.platform]:
            words = [*command, "--platform", platform, "dmlcts"]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
            sys.stdout.write(f"{platform}: " + done.stdout.replace("dmlcts/", ""))
            sys.stderr.write(done.stderr)
            code = code or done.returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
