"""Exports networks of many kinds to ONNX, with random weights: ``python benchmarks/census/export.py FOLDER [NAME...]``.

What a census of DirectML's clients counts (docs/clients.md). Nothing is downloaded, and nothing of this is needed to use the package. In an
environment of its own:

    pip install torch torchvision timm transformers onnx onnxscript onnxruntime

Each network is exported twice: in FLOAT32 for a batch of one, and in FLOAT16 for a batch of two (``-fp16``); quantized ones and single layers that
no exporter gives are written node by node (``built.py``). A model that is there is kept. What cannot be exported is listed at the end.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from built import BUILT
from libraries import LIBRARIES
from own import OWN, Made
from written import export

NETWORKS: dict[str, Callable[[int], Made]] = {**OWN, **LIBRARIES}


def tasks(folder: Path) -> Iterator[tuple[str, Path, Callable[[Path], None]]]:
    """Each model's name and file, and what writes it."""
    for name, make in NETWORKS.items():
        for half in (False, True):
            file = folder / f"{name}{'-fp16' if half else ''}.onnx"
            yield name, file, partial(export, make, half)
    for name, write in BUILT.items():
        yield name, folder / f"{name}.onnx", write


def main(folder: Path, names: list[str]) -> int:
    """Exports all networks, or those of a name. Exit code 1 where one cannot be."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for name, file, write in tasks(folder):
        if (names and name not in names) or file.exists():
            continue
        start = time.perf_counter()
        try:
            with torch.no_grad():
                write(file.with_suffix(".part"))
            file.with_suffix(".part").replace(file)
        except Exception as error:
            failed.append(file.stem)
            print(f"{file.stem}: not exported: {type(error).__name__}: {str(error).strip().splitlines()[:1]}", flush=True)
        else:
            print(f"{file.stem}: {time.perf_counter() - start:.1f} s, {file.stat().st_size >> 20} MiB", flush=True)
    print(f"not exported: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
