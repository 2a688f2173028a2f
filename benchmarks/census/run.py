"""Runs models with ONNX Runtime on DirectML and captures each: ``python benchmarks/census/run.py FOLDER``.

``FOLDER`` has the models that ``export.py`` wrote; each gets a capture beside it, ``NAME.capture``, by ``dmlcts client onnxruntime``. It runs with ONNX
Runtime's graph optimizations, as applications do. A capture that is there is kept. Then:

    dmlcts census FOLDER/*.capture --out spec/measured/census/census.json
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

LIMIT = 60.0
"""Seconds for a model."""


def capture(model: Path) -> str:
    """Runs a model, captured; what went wrong, or an empty string."""
    made, wanted = model.with_suffix(".capture.part"), model.with_suffix(".capture")
    command = [sys.executable, "-m", "dmlcts.conformance.commands.start", "client", "onnxruntime", str(model), "--optimize"]
    command += ["--data", "none", "--capture", str(made), "--timeout", str(LIMIT)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        return " ".join(done.stderr.split())[-300:]
    made.replace(wanted)
    return ""


def main(folder: Path) -> int:
    """Captures all models of a folder, the smallest first. Exit code 1 where one does not run."""
    failed = []
    for model in sorted(folder.glob("*.onnx"), key=lambda file: (file.stat().st_size, file.name)):
        if model.with_suffix(".capture").exists():
            continue
        start = time.perf_counter()
        if problem := capture(model):
            failed.append(model.stem)
        print(f"{model.stem}: {problem or f'{time.perf_counter() - start:.1f} s'}", flush=True)
    print(f"not captured: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
