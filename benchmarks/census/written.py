"""Writes a network as ONNX, with random weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
from onnxruntime.transformers.float16 import convert_float_to_float16
from own import Made
from torch import Tensor

LARGEST = 400 << 20
"""The most bytes of weights."""


def export(make: Callable[[int], Made], half: bool, file: Path) -> None:
    """Writes a network as ONNX: in FLOAT32 for a batch of one, or in FLOAT16 for a batch of two. Raises ValueError where it is too large.

    Some networks compute in FLOAT32 here and there, which a traced model in FLOAT16 mixes up: those are converted as applications do.
    """
    torch.manual_seed(1)
    module, inputs = make(2 if half else 1)
    module = module.eval().requires_grad_(False)
    if sum(each.numel() for each in module.parameters()) * 4 > LARGEST:
        raise ValueError("it is too large")
    if not half:
        _export(module, inputs, file)
        return
    try:
        halved = tuple(each.half() if each.is_floating_point() else each for each in inputs)
        _export(copy.deepcopy(module).half(), halved, file)
        onnx.checker.check_model(str(file), full_check=True)
    except Exception:
        _export(module, inputs, file)
        onnx.save(convert_float_to_float16(onnx.load(str(file)), op_block_list=["Range", "NonMaxSuppression"]), str(file))


def _export(module: torch.nn.Module, inputs: tuple[Tensor, ...], file: Path) -> None:
    """By the older exporter of torch, which follows calls, or by the newer one where that fails."""
    try:
        torch.onnx.export(module, inputs, str(file), opset_version=17, dynamo=False, external_data=False)
    except Exception:  # each exporter raises errors of many kinds
        torch.onnx.export(module, inputs, str(file), opset_version=18, dynamo=True, external_data=False, verbose=False)
