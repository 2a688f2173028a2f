"""Writes a network as ONNX, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from own import Made
from torch import Tensor

OPSET = {False: 17, True: 18}
"""The version of ONNX's operators, by whether torch's newer exporter writes it."""

LARGEST = 400 << 20
"""The most bytes of weights."""


def export(make: Callable[[int], Made], half: bool, file: Path) -> None:
    """Writes a network as ONNX: by the older exporter of torch, which follows calls, or by the newer one where that fails."""
    torch.manual_seed(1)
    module, inputs = make(2 if half else 1)
    module = module.eval().requires_grad_(False)
    if sum(each.numel() for each in module.parameters()) * 4 > LARGEST:
        raise ValueError("it is too large")
    if half:
        module = module.half()
        inputs = tuple(each.half() if each.is_floating_point() else each for each in inputs)
    try:
        _export(module, inputs, file, False)
    except Exception as error:  # either exporter raises many kinds
        print(f"{file.stem}: the older exporter fails: {str(error).strip().splitlines()[:1]}", flush=True)
        _export(module, inputs, file, True)


def _export(module: torch.nn.Module, inputs: tuple[Tensor, ...], file: Path, newer: bool) -> None:
    made = file.with_suffix(".part")
    torch.onnx.export(module, inputs, str(made), opset_version=OPSET[newer], dynamo=newer, external_data=False, verbose=False)
    made.replace(file)
