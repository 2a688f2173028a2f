"""Models that no exporter of torch writes: quantized ones, ones with the fused operators that ONNX Runtime's own tools write, and regions of an image.

Each function writes a model to a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from libraries import LIBRARIES
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from own import OWN
from written import export

Write = Callable[[Path], None]


class Some(CalibrationDataReader):
    """One random input for each of a model, to calibrate on."""

    def __init__(self, file: Path) -> None:
        """``file`` is the model."""
        values = onnx.load(str(file)).graph.input
        self.left = [{value.name: _random(value) for value in values}]

    def get_next(self) -> dict[str, np.ndarray] | None:
        """The inputs once, then None."""
        return self.left.pop() if self.left else None


def _random(value: Any) -> np.ndarray:
    sizes = [each.dim_value for each in value.type.tensor_type.shape.dim]
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    generator = np.random.default_rng(1)
    return generator.integers(0, 2, sizes).astype(kind) if kind.kind in "iub" else generator.standard_normal(sizes).astype(kind)


def changed(name: str, change: Callable[[Path, Path], None], file: Path, half: bool = False) -> None:
    """Exports a network and writes what ``change`` makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        export({**OWN, **LIBRARIES}[name], half, plain)
        change(plain, file)


def static(plain: Path, file: Path, form: QuantFormat, kinds: str, each_channel: bool) -> None:
    """8 bits by calibration: as QuantizeLinear around each operator, or as QLinearConv and its kin. ``kinds``: of activations and weights."""
    activation, weight = ({"u": QuantType.QUInt8, "s": QuantType.QInt8}[kind] for kind in kinds)
    folded = plain.with_name("folded.onnx")
    quant_pre_process(str(plain), str(folded), skip_symbolic_shape=True)
    more = {"activation_type": activation, "weight_type": weight, "per_channel": each_channel}
    quantize_static(str(folded), str(file), Some(folded), quant_format=form, **more)
    model = onnx.load(str(file))
    for (
        tensor
    ) in model.graph.initializer:  # a bias has a scale [1], which the DirectML provider of 1.24.4 refuses: axis 1 is none of it
        if tensor.name.endswith("quantized_scale") and list(tensor.dims) == [1]:
            del tensor.dims[:]
    onnx.save(model, str(file))


def dynamic(plain: Path, file: Path) -> None:
    """8 bits, scaled while running: DynamicQuantizeLinear and MatMulInteger."""
    quantize_dynamic(str(plain), str(file), weight_type=QuantType.QUInt8)


def four_bits(plain: Path, file: Path) -> None:
    """Weights of 4 bits in blocks of 32 without zero points: MatMulNBits."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(onnx.load(str(plain)), block_size=32, is_symmetric=True, accuracy_level=4)
    quantizer.process()
    quantizer.model.save_model_to_file(str(file), False)


def fused(plain: Path, file: Path, kind: str, heads: int, width: int) -> None:
    """The fusions of ONNX Runtime's optimizer for transformers: attention, skipped normalization, GELU with bias."""
    from onnxruntime.transformers.optimizer import optimize_model

    optimize_model(str(plain), model_type=kind, num_heads=heads, hidden_size=width, opt_level=0).save_model_to_file(str(file))


# Node by node

Sizes = Mapping[str, tuple[int, list[int]]]
F32, F16, I32, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64
FUSED = "com.microsoft"


def node(op: str, inputs: str, outputs: str, domain: str = "", **attributes: Any) -> onnx.NodeProto:
    """A node; names apart by blanks, ``-`` for none."""
    before, after = (["" if name == "-" else name for name in names.split()] for names in (inputs, outputs))
    return helper.make_node(op, before, after, domain=domain, **attributes)


def save(file: Path, nodes: Iterable[onnx.NodeProto], inputs: Sizes, outputs: Sizes, weights: Mapping[str, np.ndarray]) -> None:
    """Writes a model."""
    values = [[helper.make_tensor_value_info(name, *of) for name, of in each.items()] for each in (inputs, outputs)]
    graph = helper.make_graph(
        list(nodes), file.stem, *values, [numpy_helper.from_array(array, name) for name, array in weights.items()]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(file))


def weight(*sizes: int, kind: str = "float32") -> np.ndarray:
    """Small random weights."""
    return (np.random.default_rng(len(sizes)).standard_normal(sizes) / 16).astype(kind)


def mask_head(file: Path, kind: str) -> None:
    """Mask R-CNN's heads: regions by RoiAlign, classes and boxes from fully connected layers, masks by a transposed convolution."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    weights = {"w1": weight(256, 3136, kind=kind), "w2": weight(91, 256, kind=kind), "w3": weight(364, 256, kind=kind)}
    weights |= {"b1": weight(256, kind=kind), "b2": weight(91, kind=kind), "b3": weight(364, kind=kind)}
    weights |= {"c": weight(64, 64, 3, 3, kind=kind), "t": weight(64, 64, 2, 2, kind=kind), "m": weight(91, 64, 1, 1, kind=kind)}
    align = {"spatial_scale": 0.125, "sampling_ratio": 2, "coordinate_transformation_mode": "half_pixel"}
    nodes = [
        node("RoiAlign", "x boxes which", "small", output_height=7, output_width=7, **align),
        node("Flatten", "small", "flat"), node("Gemm", "flat w1 b1", "f", transB=1), node("Relu", "f", "r"),
        node("Gemm", "r w2 b2", "classes", transB=1), node("Softmax", "classes", "scores"), node("Gemm", "r w3 b3", "moved", transB=1),
        node("RoiAlign", "x boxes which", "large", output_height=14, output_width=14, **align),
        node("Conv", "large c", "c1", pads=[1, 1, 1, 1]), node("Relu", "c1", "c2"),
        node("ConvTranspose", "c2 t", "t1", strides=[2, 2]), node("Relu", "t1", "t2"), node("Conv", "t2 m", "m1"), node("Sigmoid", "m1", "masks"),
    ]  # fmt: skip
    inputs = {"x": (element, [1, 64, 40, 40]), "boxes": (element, [20, 4]), "which": (I64, [20])}
    save(
        file,
        nodes,
        inputs,
        {"scores": (element, [20, 91]), "moved": (element, [20, 364]), "masks": (element, [20, 91, 28, 28])},
        weights,
    )


def fast_rcnn_head(file: Path) -> None:
    """Fast R-CNN's head: the maximum of each region."""
    nodes = [
        node("MaxRoiPool", "x boxes", "p", pooled_shape=[6, 6], spatial_scale=0.0625), node("Flatten", "p", "f"),
        node("Gemm", "f w", "scores", transB=1),
    ]  # fmt: skip
    save(file, nodes, {"x": (F32, [1, 64, 20, 20]), "boxes": (F32, [8, 5])}, {"scores": (F32, [8, 21])}, {"w": weight(21, 2304)})


def suppression(file: Path) -> None:
    """The end of SSD: scores by softmax, overlapping boxes left out, boxes of the rest picked."""
    weights = {"most": np.array([10]), "overlap": np.array([0.5], "float32"), "least": np.array([0.01], "float32")}
    nodes = [
        node("Softmax", "raw", "s", axis=2), node("Transpose", "s", "scores", perm=[0, 2, 1]), node("Exp", "raw_boxes", "boxes"),
        node("NonMaxSuppression", "boxes scores most overlap least", "kept"), node("GatherND", "scores kept", "best"),
    ]  # fmt: skip
    inputs = {"raw": (F32, [1, 200, 6]), "raw_boxes": (F32, [1, 200, 4])}
    outputs: Any = {"kept": (I64, ["n", 3]), "best": (F32, ["n"])}
    save(file, nodes, inputs, outputs, weights)


def local_response(file: Path) -> None:
    """The begin of AlexNet as published: groups, and normalization across channels."""
    weights = {"a": weight(96, 3, 11, 11), "b": weight(256, 48, 5, 5), "bias": weight(96)}
    nodes = [
        node("Conv", "x a bias", "c", strides=[4, 4]), node("Relu", "c", "r"), node("LRN", "r", "l", size=5, alpha=0.0001, beta=0.75),
        node("MaxPool", "l", "p", kernel_shape=[3, 3], strides=[2, 2]), node("Conv", "p b", "d", group=2, pads=[2, 2, 2, 2]),
        node("Relu", "d", "y"),
    ]  # fmt: skip
    save(file, nodes, {"x": (F32, [1, 3, 115, 115])}, {"y": (F32, [1, 256, 13, 13])}, weights)


def spectrogram(file: Path) -> None:
    """The front of a speech model: a short-time Fourier transform, its power, mel bands, logarithm."""
    weights = {
        "step": np.array(160),
        "window": np.hanning(400).astype("float32"),
        "mel": weight(201, 80) ** 2,
        "least": np.array(1e-6, "float32"),
    }
    nodes = [
        node("STFT", "x step window", "f"), node("ReduceSumSquare", "f", "p", axes=[-1], keepdims=0), node("MatMul", "p mel", "m"),
        node("Max", "m least", "c"), node("Log", "c", "y"),
    ]  # fmt: skip
    save(file, nodes, {"x": (F32, [1, 8000, 1])}, {"y": (F32, [1, 48, 80])}, weights)


def language_layer(file: Path, kind: str, words: int) -> None:
    """A layer of a language model as model builders write it for DirectML: 4-bit weights, rotated grouped attention over a cache, fused normalization."""
    element, width, hidden, heads, groups, size = helper.np_dtype_to_tensor_dtype(np.dtype(kind)), 1024, 2816, 16, 4, 64
    weights = {"n1": weight(width, kind=kind), "n2": weight(width, kind=kind)}
    shapes = {"q": (width, width), "k": (width, groups * size), "v": (width, groups * size), "o": (width, width)}
    shapes |= {"g": (width, hidden), "u": (width, hidden), "d": (hidden, width)}
    for name, (before, after) in shapes.items():
        weights[f"{name}w"] = np.random.default_rng(1).integers(0, 256, (after, before // 32, 16), dtype=np.uint8)
        weights[f"{name}s"] = weight(after * before // 32, kind=kind)
    angles = np.outer(np.arange(256), 1 / 10000 ** (np.arange(size // 2) / (size // 2)))
    weights |= {"cos": np.cos(angles).astype(kind), "sin": np.sin(angles).astype(kind)}

    def product(name: str, x: str, y: str) -> onnx.NodeProto:
        sizes = dict(zip("KN", shapes[name], strict=True))
        return node("MatMulNBits", f"{x} {name}w {name}s", y, FUSED, bits=4, block_size=32, accuracy_level=4, **sizes)

    attention = {"num_heads": heads, "kv_num_heads": groups, "do_rotary": 1}
    nodes = [
        node("SimplifiedLayerNormalization", "x n1", "h", epsilon=1e-5), *(product(name, "h", f"{name}y") for name in "qkv"),
        node("GroupQueryAttention", "qy ky vy pk pv before total cos sin", "a nk nv", FUSED, **attention), product("o", "a", "oy"),
        node("SkipSimplifiedLayerNormalization", "x oy n2", "h2 - - sum", FUSED, epsilon=1e-5), product("g", "h2", "gy"),
        product("u", "h2", "uy"), node("Sigmoid", "gy", "open"), node("Mul", "gy open", "gz"), node("Mul", "gz uy", "m"), product("d", "m", "dy"),
        node("Add", "dy sum", "y"),
    ]  # fmt: skip
    past, now = [1, groups, 63 if words == 1 else 0, size], [1, groups, 64 if words == 1 else words, size]
    weights |= {"before": np.array([[now[2] - 1]], "int32"), "total": np.array([now[2]], "int32")}
    inputs = {"x": (element, [1, words, width]), "pk": (element, past), "pv": (element, past)}
    save(file, nodes, inputs, {"y": (element, [1, words, width]), "nk": (element, now), "nv": (element, now)}, weights)


def _static(name: str, form: QuantFormat, kinds: str, each_channel: bool) -> Write:
    return partial(changed, name, partial(static, form=form, kinds=kinds, each_channel=each_channel))


BUILT: dict[str, Write] = {
    "mobilenetv2-qdq": _static("mobilenetv2_100", QuantFormat.QDQ, "us", True),
    "mobilenetv2-qlinear": _static("mobilenetv2_100", QuantFormat.QOperator, "us", True),
    "squeezenet-qdq": _static("squeezenet", QuantFormat.QDQ, "ss", False),
    "squeezenet-qlinear": _static("squeezenet", QuantFormat.QOperator, "uu", False),
    "unet-qdq": _static("unet", QuantFormat.QDQ, "us", False),
    "bert-qdq": _static("bert", QuantFormat.QDQ, "us", False),
    "bert-dynamic": partial(changed, "bert", dynamic),
    "vit-dynamic": partial(changed, "vit", dynamic),
    "lstm-dynamic": partial(changed, "lstm", dynamic),
    "squeezenet-dynamic": partial(changed, "squeezenet", dynamic),
    "llama-4bit": partial(changed, "llama", four_bits),
    "llama-4bit-fp16": partial(changed, "llama", four_bits, half=True),
    "llama-decoding-4bit-fp16": partial(changed, "llama-decoding", four_bits, half=True),
    "bert-fused": partial(changed, "bert", partial(fused, kind="bert", heads=12, width=768)),
    "bert-fused-fp16": partial(changed, "bert", partial(fused, kind="bert", heads=12, width=768), half=True),
    "vit-fused-fp16": partial(changed, "vit", partial(fused, kind="vit", heads=12, width=768), half=True),
    "clip-fused": partial(changed, "clip", partial(fused, kind="clip", heads=8, width=512)),
    "mask-rcnn-head": partial(mask_head, kind="float32"),
    "mask-rcnn-head-fp16": partial(mask_head, kind="float16"),
    "fast-rcnn-head": fast_rcnn_head,
    "ssd-end": suppression,
    "alexnet-begin": local_response,
    "log-mel": spectrogram,
    "llm-layer-4bit": partial(language_layer, kind="float32", words=1),
    "llm-layer-4bit-fp16": partial(language_layer, kind="float16", words=1),
    "llm-layer-4bit-prompt": partial(language_layer, kind="float16", words=32),
}  # fmt: skip
"""What writes a model, by its name."""
