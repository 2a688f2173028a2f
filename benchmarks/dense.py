"""The reference against ONNX Runtime's CPU provider on large sums: ``python benchmarks/dense.py`` (it needs the extra onnxruntime).

- a convolution: 64 images of 64 channels of 56 x 56, 64 filters of 3 x 3, padded by 1;
- a product of matrices of 1024 x 1024.

The reference computes in FLOAT64, and twice: the value, and the sum of the terms' magnitudes that its error is bounded by. ONNX Runtime
computes the value in FLOAT32. Both have all processors. Medians of five after one to warm up, taken in turns; nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from dmlcts.generator.plan.plan import plan_of
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, PRESENT
from dmlcts.spec.reading.loader import load

TIMES = 5
CONVOLUTION = {"InputTensor": (64, 64, 56, 56), "FilterTensor": (64, 64, 3, 3)}
PRODUCT = {"ATensor": (1, 1, 1024, 1024), "BTensor": (1, 1, 1024, 1024)}


def desc_of(name: str, sizes: Mapping[str, tuple[int, ...]], attributes: Mapping[str, object]) -> OperatorDesc:
    """A FLOAT32 desc without other inputs."""
    operator = load(name)
    choice = next(choice for choice in plan_of(operator).choices if choice.main == "FLOAT32")
    presence = {field.name: PRESENT if field.name in sizes else ABSENT for field in operator.inputs() if field.optional}
    return plan_of(operator).desc(choice.types, (1, 1, 1, 1), {**attributes, **presence}, known=sizes)


def cases() -> dict[str, tuple[OperatorDesc, str, dict[str, Any]]]:
    """Name: the desc, and ONNX's operator with its attributes."""
    one, zero = (1, 1), (0, 0)
    convolution: dict[str, object] = {
        "Mode": "CROSS_CORRELATION",
        "Direction": "FORWARD",
        "Strides": one,
        "Dilations": one,
        "StartPadding": one,
        "EndPadding": one,
        "OutputPadding": zero,
        "GroupCount": 1,
        "FusedActivation": None,
    }
    product: dict[str, object] = {"TransA": "NONE", "TransB": "NONE", "Alpha": 1.0, "Beta": 0.0, "FusedActivation": None}
    return {
        "convolution 64x64x56x56, 3x3": (desc_of("CONVOLUTION", CONVOLUTION, convolution), "Conv", {"pads": [1, 1, 1, 1]}),
        "product of 1024x1024": (desc_of("GEMM", PRODUCT, product), "MatMul", {}),
    }


def session(operator: str, attributes: dict[str, Any], inputs: Mapping[str, Any]) -> Callable[[], object]:
    """Runs one node on ONNX Runtime."""
    import onnx
    import onnxruntime

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    infos = [helper.make_tensor_value_info(name, kind, array.shape) for name, array in inputs.items()]
    node = helper.make_node(operator, list(inputs), ["y"], **attributes)
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    made = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda: made.run(None, dict(inputs))


def medians(works: list[Callable[[], object]]) -> list[float]:
    """The median time of each work, taken in turns, so that what else the machine does meets all of them."""
    found: list[list[float]] = [[] for _ in works]
    for turn in range(TIMES + 1):
        for work, times in zip(works, found, strict=True):
            start = perf_counter()
            work()
            if turn:
                times.append(perf_counter() - start)
    return [median(times) for times in found]


def main() -> None:
    """Measures and prints."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        sys.exit("this benchmark compares with ONNX Runtime: pip install 'directml-conformance[onnxruntime]'")
    random = np.random.default_rng(1)
    for name, (desc, operator, attributes) in cases().items():
        inputs = {
            field: random.uniform(-1, 1, tensor.sizes).astype(np.float32)
            for field, tensor in desc.tensors()
            if field != "OutputTensor"
        }
        ours, theirs = medians([lambda d=desc, i=inputs: compute(d, i), session(operator, attributes, inputs)])  # type: ignore[misc]
        print(f"{name:32} reference {ours:7.3f} s   onnxruntime {theirs:7.3f} s   {ours / theirs:5.2f} times")


if __name__ == "__main__":
    main()
