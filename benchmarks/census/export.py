"""Exports networks of many kinds to ONNX, with random weights: ``python benchmarks/census/export.py FOLDER [NAME...]``.

What a census of DirectML's clients counts (docs/clients.md). Nothing is downloaded, and nothing of this is needed to use the package. In an
environment of its own:

    pip install torch torchvision timm transformers onnx onnxscript onnxruntime

Each network is exported twice: in FLOAT32 for a batch of one, and in FLOAT16 for a batch of two (``-fp16``); quantized ones and single layers that
no exporter gives are written node by node (``built.py``). A model that is there is kept. What cannot be exported is said at the end.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from built import BUILT
from libraries import LIBRARIES
from own import OWN, Made
from torch import Tensor

NETWORKS: dict[str, Callable[[int], Made]] = {**OWN, **LIBRARIES}

OPSET = {False: 17, True: 18}
"""The version of ONNX's operators, by whether torch's newer exporter writes it."""

LARGEST = 400 << 20
"""The most bytes of weights."""


def export(name: str, make: Callable[[int], Made], half: bool, file: Path) -> None:
    """Writes a network as ONNX: by the older exporter of torch, which follows calls, or by the newer one where that fails."""
    torch.manual_seed(len(name))
    module, inputs = make(2 if half else 1)
    module = module.eval().requires_grad_(False)
    if sum(each.numel() for each in module.parameters()) * 4 > LARGEST:
        raise ValueError("it is too large")
    if half:
        module = module.half()
        inputs = tuple(each.half() if each.is_floating_point() else each for each in inputs)
    try:
        _export(module, inputs, file, False)
    except Exception as error:
        print(f"{name}: the older exporter fails: {str(error).strip().splitlines()[:1]}", flush=True)
        _export(module, inputs, file, True)


def _export(module: torch.nn.Module, inputs: tuple[Tensor, ...], file: Path, newer: bool) -> None:
    made = file.with_suffix(".part")
    torch.onnx.export(module, inputs, str(made), opset_version=OPSET[newer], dynamo=newer, external_data=False, verbose=False)
    made.replace(file)


def tasks(folder: Path) -> Iterator[tuple[str, Path, Callable[[Path], None]]]:
    """Each model's name and file, and what writes it."""
    for name, make in NETWORKS.items():
        for half in (False, True):
            file = folder / f"{name}{'-fp16' if half else ''}.onnx"
            yield name, file, lambda file, name=name, make=make, half=half: export(name, make, half, file)
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
                write(file)
        except Exception as error:
            failed.append(file.stem)
            print(f"{file.stem}: not exported: {type(error).__name__}: {str(error).strip().splitlines()[:1]}", flush=True)
        else:
            print(f"{file.stem}: {time.perf_counter() - start:.1f} s, {file.stat().st_size >> 20} MiB", flush=True)
    print(f"not exported: {', '.join(failed) or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
