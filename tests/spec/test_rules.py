"""Which rules a desc breaks: a valid desc of each hard operator, broken in one place after the other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hard_operators import DESCS, HARD, changed, fused, labels, operator, resized, retyped, set_to, valid

from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.sweeps.usual import example_desc
from dmlcts.spec.model.abi import abi, feature_level
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.reading.loader import load, load_file, operators_folder
from dmlcts.spec.rules.rules import violations

FILES = sorted([*HARD.glob("*.yaml"), *operators_folder().rglob("*.yaml")], key=lambda file: file.stem)


@pytest.mark.parametrize("name", DESCS)
def test_the_valid_ones_are_valid(name: str) -> None:
    assert violations(operator(name), valid(name)) == []
    assert {file.stem.upper() for file in HARD.glob("*.yaml")} <= DESCS.keys()


# Operator, how it is broken, and every label that must then stand there.

BROKEN: dict[str, tuple[Callable[[], OperatorDesc], list[str]]] = {
    # fields
    "required": (lambda: set_to("GEMM", BTensor=None), ["field/BTensor"]),
    "two-required": (lambda: set_to("GEMM", ATensor=None, Alpha=None), ["field/ATensor", "field/Alpha"]),
    "unknown-field": (lambda: set_to("GEMM", DTensor=3), ["field/DTensor"]),
    "no-tensor": (lambda: set_to("GEMM", ATensor=(1, 2)), ["field/ATensor"]),
    "no-array": (lambda: set_to("SLICE1", InputWindowSizes=3), ["field/InputWindowSizes"]),
    "no-tensor-array": (lambda: set_to("JOIN", InputTensors=valid("GEMM").fields["ATensor"]), ["field/InputTensors"]),
    "number-among-tensors": (lambda: set_to("SPLIT", OutputTensors=(valid("SPLIT").fields["InputTensor"], 3)), ["field/OutputTensors"]),
    "negative-unsigned": (lambda: set_to("SLICE1", InputWindowOffsets=(-1, 0)), ["field/InputWindowOffsets"]),
    "beyond-signed": (lambda: set_to("SLICE1", InputWindowStrides=(1 << 31, 1)), ["field/InputWindowStrides"]),
    "fraction": (lambda: set_to("SLICE1", DimensionCount=2.0), ["field/DimensionCount"]),
    "text-for-number": (lambda: set_to("GEMM", Alpha="1"), ["field/Alpha"]),
    "boolean-of-two": (lambda: set_to("LSTM", UseClipThreshold=2), ["field/UseClipThreshold"]),
    "pair-of-three": (lambda: set_to("ELEMENT_WISE_CLIP1", ScaleBias=(1.0, 2.0, 3.0)), ["field/ScaleBias"]),
    "pair-of-text": (lambda: set_to("ELEMENT_WISE_CLIP1", ScaleBias=(1.0, "2")), ["field/ScaleBias"]),
    "scalar-beyond-its-type": (lambda: set_to("ELEMENT_WISE_CLIP1", Max=128), ["field/Max"]),
    "scalar-not-whole": (lambda: set_to("ELEMENT_WISE_CLIP1", Min=0.5), ["field/Min"]),
    "scalar-beyond-half": (lambda: set_to("PADDING1", PaddingValue=65536.0), ["field/PaddingValue"]),
    "no-operator-desc": (lambda: set_to("CONVOLUTION", FusedActivation="ACTIVATION_RELU"), ["field/FusedActivation"]),
    "unknown-data-type": (lambda: changed(valid("GEMM"), "CTensor", data_type=UNKNOWN), ["support/CTensor/data-type"]),
    "unknown-data-type-in-array": (
        lambda: changed(valid("JOIN"), "InputTensors[1]", data_type=UNKNOWN), ["support/InputTensors[1]/data-type"],
    ),
    "counts": (lambda: set_to("LSTM", ActivationDescs=()), ["count/ActivationDescs"]),
    "count-of-tensors": (lambda: set_to("JOIN", InputCount=2), ["count/InputTensors"]),
    "count-of-several": (lambda: set_to("SLICE1", DimensionCount=3), ["count/InputWindowOffsets", "count/InputWindowSizes", "count/InputWindowStrides"]),
    # enumerations, and operators inside
    "constant": (lambda: set_to("PADDING1", PaddingMode="MIRROR"), ["enum/PaddingMode"]),
    "constant-number": (lambda: set_to("PADDING1", PaddingMode=5), ["enum/PaddingMode"]),
    "constant-unknown-type": (lambda: set_to("PADDING1", PaddingValueDataType=UNKNOWN), ["enum/PaddingValueDataType"]),
    "fused-other": (lambda: fused("CONVOLUTION", "ACTIVATION_SOFTMAX"), ["operator/FusedActivation"]),
    "fused-no-activation": (lambda: fused("GEMM", "JOIN"), ["operator/FusedActivation"]),
    "fused-tensors": (
        lambda: fused("GEMM", "ACTIVATION_RELU", InputTensor=valid("GEMM").fields["ATensor"]), ["operator/FusedActivation"],
    ),
    # tables
    "data-type": (lambda: retyped("GEMM", "FLOAT64"), [f"support/{t}/data-type" for t in ("ATensor", "BTensor", "CTensor", "OutputTensor")]),
    "4-bit-input": (
        lambda: retyped("SPLIT", "INT4"),
        ["support/InputTensor/data-type", "support/OutputTensors[0]/data-type", "support/OutputTensors[1]/data-type"],
    ),
    "dimension-count": (
        lambda: set_to(
            "NONZERO_COORDINATES",
            InputTensor=TensorDesc("INT8", (2,)),
            OutputCoordinatesTensor=TensorDesc("UINT32", (2,)),
        ),
        ["support/OutputCoordinatesTensor/dimension-count"],  # which says why no shape fits
    ),
    "scalar-union-table": (
        lambda: changed(retyped("ELEMENT_WISE_CLIP1", "FLOAT64"), "OutputTensor", total_size=40).with_fields(MinMaxDataType="FLOAT64"),
        ["support/InputTensor/data-type", "support/OutputTensor/data-type"],
    ),
    "function-table": (lambda: set_to("REDUCE", Function="AVERAGE"), ["support/InputTensor/data-type", "support/OutputTensor/data-type"]),
    "index-type": (lambda: set_to("REDUCE", Function="ARGMIN", OutputTensor=TensorDesc("FLOAT32", (2, 1, 4, 1))), ["support/OutputTensor/data-type"]),
    # tensors
    "size-0": (lambda: resized("REDUCE", "InputTensor", 2, 3, 0, 5), ["tensor/InputTensor/sizes", "shape/OutputTensor"]),
    "strides": (lambda: changed(valid("GEMM"), "CTensor", strides=(0, 0, 1)), ["tensor/CTensor/strides"]),
    "total-size": (lambda: changed(valid("REDUCE"), "InputTensor", total_size=476), ["tensor/InputTensor/total-size"]),
    "total-size-of-4-bits": (lambda: changed(valid("QUANTIZE"), "OutputTensor", total_size=8), ["tensor/OutputTensor/total-size"]),
    "total-size-odd": (lambda: changed(valid("QUANTIZE"), "OutputTensor", total_size=14), ["tensor/OutputTensor/total-size"]),
    "flags": (lambda: changed(valid("JOIN"), "InputTensors[2]", flags=2), ["tensor/InputTensors[2]/flags"]),
    "owned-output": (lambda: changed(valid("JOIN"), "OutputTensor", flags=1), ["tensor/OutputTensor/flags"]),
    "owned-recurrent": (lambda: changed(valid("LSTM"), "WeightTensor", flags=1), ["tensor/WeightTensor/flags"]),
    "alignment-no-power-of-two": (lambda: changed(valid("JOIN"), "OutputTensor", alignment=48), ["tensor/OutputTensor/alignment"]),
    "alignment-below-an-element": (lambda: changed(valid("JOIN"), "OutputTensor", alignment=4), ["tensor/OutputTensor/alignment"]),
    "output-stride-0": (lambda: changed(valid("REDUCE"), "OutputTensor", strides=(0, 4, 1, 1)), ["tensor/OutputTensor/overlap"]),
    "output-equal-strides": (lambda: changed(valid("REDUCE"), "OutputTensor", strides=(4, 4, 4, 1)), ["tensor/OutputTensor/overlap"]),
    "output-extent": (lambda: changed(valid("SPLIT"), "OutputTensors[0]", strides=(2, 1)), ["tensor/OutputTensors[0]/overlap"]),
    # domains
    "axis": (lambda: set_to("JOIN", Axis=3), ["domain/Axis"]),
    "axes": (lambda: set_to("REDUCE", Axes=(1, 4)), ["domain/Axes"]),
    "window-empty": (lambda: set_to("SLICE1", InputWindowSizes=(3, 0)), ["domain/InputWindowSizes"]),
    "no-inputs": (lambda: set_to("JOIN", InputCount=0, InputTensors=()), ["domain/InputCount"]),
    "stride-0": (lambda: set_to("CONVOLUTION", Strides=(0, 1)), ["domain/Strides"]),
    "spatial-dimensions-4": (
        lambda: set_to("CONVOLUTION", DimensionCount=4, **dict.fromkeys(("Strides", "Dilations", "StartPadding", "EndPadding", "OutputPadding"), (1,) * 4)),
        ["domain/DimensionCount"],
    ),
    # constraints
    "join-types": (lambda: changed(valid("JOIN"), "InputTensors[1]", data_type="UINT64"), ["constraint/same-data-type"]),
    "split-types": (lambda: changed(valid("SPLIT"), "OutputTensors[0]", data_type="INT8"), ["constraint/same-data-type"]),
    "join-dimension-counts": (lambda: resized("JOIN", "InputTensors[1]", 1, 2, 4, 5), ["constraint/same-dimension-count"]),
    "gemm-types": (lambda: changed(valid("GEMM"), "CTensor", data_type="FLOAT32", strides=None), ["constraint/same-data-type"]),
    "gemm-sizes": (lambda: changed(valid("GEMM"), "CTensor", sizes=(1, 2, 1, 4)), ["constraint/same-sizes"]),
    "convolution-groups": (lambda: set_to("CONVOLUTION", GroupCount=3), ["constraint/channels-in-groups"]),
    "convolution-dimensions": (
        lambda: set_to("CONVOLUTION", DimensionCount=1, Strides=(1,), Dilations=(1,), StartPadding=(0,), EndPadding=(0,), OutputPadding=(0,)),
        ["constraint/spatial-dimensions"],
    ),
    "lstm-one-direction": (
        lambda: set_to("LSTM", ActivationDescCount=3, ActivationDescs=valid("LSTM").fields["ActivationDescs"][:3]),  # type: ignore[index]
        ["constraint/three-activations-a-direction"],
    ),
    "lstm-types": (lambda: changed(valid("LSTM"), "BiasTensor", data_type="FLOAT16"), ["constraint/same-data-type"]),
    "slice-beyond": (lambda: set_to("SLICE1", InputWindowOffsets=(2, 0)), ["constraint/window-in-input"]),
    "slice-stride-0": (lambda: set_to("SLICE1", InputWindowStrides=(0, 1)), ["constraint/strides-not-zero"]),
    "padding-type": (lambda: set_to("PADDING1", PaddingValueDataType="FLOAT32"), ["constraint/padding-value-data-type"]),
    "clip-type": (lambda: set_to("ELEMENT_WISE_CLIP1", MinMaxDataType="INT16"), ["constraint/min-max-data-type"]),
    "clip-type-by-number": (lambda: set_to("ELEMENT_WISE_CLIP1", MinMaxDataType=7), ["constraint/min-max-data-type"]),
    "quantize-none": (
        lambda: set_to("QUANTIZE", QuantizationType="NONE"), ["constraint/scale-and-zero-point", "constraint/some-quantization"],
    ),
    "quantize-scale-of-two": (lambda: set_to("QUANTIZE", QuantizationType="SCALE"), ["constraint/scale-and-zero-point"]),
    "quantize-scale-type": (lambda: changed(valid("QUANTIZE"), "QuantizationTensors[0]", data_type="FLOAT16"), ["constraint/scale-of-input-type"]),
    "quantize-zero-point-type": (
        lambda: changed(valid("QUANTIZE"), "QuantizationTensors[1]", data_type="INT4"), ["constraint/zero-point-of-output-type"],
    ),
    "reduce-types": (lambda: changed(valid("REDUCE"), "OutputTensor", data_type="UINT32"), ["constraint/same-data-type"]),
    "attention-two-queries": (
        lambda: set_to("MULTIHEAD_ATTENTION1", StackedQueryKeyTensor=TensorDesc("FLOAT16", (2, 5, 4, 2, 6))),
        ["constraint/one-query", "constraint/one-key"],
    ),
    "attention-no-value": (lambda: set_to("MULTIHEAD_ATTENTION1", ValueTensor=None), ["constraint/one-value"]),
    "attention-all-twice": (
        lambda: set_to("MULTIHEAD_ATTENTION1", StackedQueryKeyValueTensor=TensorDesc("FLOAT16", (2, 5, 4, 3, 6))),
        ["constraint/one-query", "constraint/one-key", "constraint/one-value"],
    ),
    "attention-types": (lambda: changed(valid("MULTIHEAD_ATTENTION1"), "PastKeyTensor", data_type="FLOAT32"), ["constraint/same-data-type"]),
    # shapes
    "convolution-output": (lambda: resized("CONVOLUTION", "OutputTensor", 2, 6, 4, 9), ["shape/OutputTensor"]),
    "convolution-padding": (lambda: set_to("CONVOLUTION", OutputPadding=(1, 1)), ["shape/OutputTensor"]),
    "convolution-filter": (lambda: resized("CONVOLUTION", "FilterTensor", 6, 4, 3, 2), ["shape/FilterTensor"]),
    "convolution-bias": (lambda: resized("CONVOLUTION", "BiasTensor", 1, 6, 1, 2), ["shape/BiasTensor"]),
    "convolution-bias-channels": (lambda: resized("CONVOLUTION", "BiasTensor", 1, 4, 1, 1), ["shape/BiasTensor"]),
    "gemm-inner": (lambda: resized("GEMM", "BTensor", 1, 2, 3, 4), ["shape/BTensor"]),
    "gemm-not-transposed": (lambda: set_to("GEMM", TransA="NONE"), ["shape/BTensor", "shape/CTensor", "shape/OutputTensor"]),
    "gemm-batch": (lambda: resized("GEMM", "BTensor", 1, 1, 5, 4), ["shape/BTensor"]),
    "join-sum": (lambda: resized("JOIN", "OutputTensor", 2, 8, 5), ["shape/OutputTensor"]),
    "join-before": (lambda: resized("JOIN", "InputTensors[2]", 3, 2, 5), ["shape/InputTensors[2]"]),
    "join-after": (lambda: resized("JOIN", "InputTensors[1]", 2, 4, 6), ["shape/InputTensors[1]"]),
    "join-axis": (lambda: set_to("JOIN", Axis=2), ["shape/InputTensors[1]", "shape/InputTensors[2]", "shape/OutputTensor"]),
    "split-sum": (lambda: resized("SPLIT", "InputTensor", 3, 7), ["shape/InputTensor"]),
    "lstm-hidden": (lambda: resized("LSTM", "RecurrenceTensor", 1, 2, 12, 4), ["shape/WeightTensor", "shape/RecurrenceTensor", "shape/BiasTensor", "shape/OutputSequenceTensor", "shape/OutputCellSingleTensor"]),
    "lstm-lengths": (lambda: resized("LSTM", "SequenceLengthsTensor", 1, 1, 1, 7), ["shape/SequenceLengthsTensor"]),
    "lstm-direction": (lambda: resized("LSTM", "BiasTensor", 1, 1, 1, 24), ["shape/BiasTensor"]),
    "slice-too-large": (lambda: resized("SLICE1", "OutputTensor", 2, 4), ["shape/OutputTensor"]),
    "slice-larger-stride": (lambda: set_to("SLICE1", InputWindowStrides=(2, -9)), ["shape/OutputTensor"]),
    "padding-sum": (lambda: set_to("PADDING1", EndPadding=(1, 2)), ["shape/OutputTensor"]),
    "quantize-blocks": (lambda: changed(valid("QUANTIZE"), "QuantizationTensors[1]", sizes=(1, 2)), ["shape/QuantizationTensors[1]"]),
    "quantize-blocks-larger": (
        lambda: changed(resized("QUANTIZE", "QuantizationTensors[0]", 5, 3), "QuantizationTensors[1]", sizes=(5, 3)),
        ["shape/QuantizationTensors[0]"],
    ),
    "reduce-kept": (lambda: resized("REDUCE", "OutputTensor", 2, 1, 1, 1), ["shape/OutputTensor"]),
    "reduce-not-reduced": (lambda: resized("REDUCE", "OutputTensor", 2, 3, 4, 1), ["shape/OutputTensor"]),
    "nonzero-count": (lambda: resized("NONZERO_COORDINATES", "OutputCountTensor", 2), ["shape/OutputCountTensor"]),
    "nonzero-rows": (lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 1, 4, 3), ["shape/OutputCoordinatesTensor"]),
    "nonzero-rank-below": (lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 1, 8, 1), ["shape/OutputCoordinatesTensor"]),
    "nonzero-rank-above": (lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 8, 5), ["shape/OutputCoordinatesTensor"]),
    "attention-heads": (lambda: set_to("MULTIHEAD_ATTENTION1", QueryHeadCount=5), ["shape/QueryTensor", "shape/BiasTensor", "shape/OutputTensor"]),
    "attention-grouped": (lambda: resized("MULTIHEAD_ATTENTION1", "KeyTensor", 2, 3, 24), ["shape/KeyTensor"]),
    "attention-bias": (lambda: resized("MULTIHEAD_ATTENTION1", "BiasTensor", 54), ["shape/BiasTensor"]),
    "attention-present": (lambda: resized("MULTIHEAD_ATTENTION1", "OutputPresentKeyTensor", 2, 2, 3, 6), ["shape/OutputPresentKeyTensor"]),
    "attention-mask": (lambda: set_to("MULTIHEAD_ATTENTION1", MaskType="KEY_SEQUENCE_END_START"), ["shape/MaskTensor"]),
    "fold-blocks": (lambda: resized("FOLD", "InputTensor", 2, 12, 16), ["shape/InputTensor"]),
    "tile": (lambda: set_to("TILE", Repeats=(4, 2)), ["shape/OutputTensor"]),
}  # fmt: skip


@pytest.mark.parametrize(("broken", "expected"), BROKEN.values(), ids=BROKEN)
def test_exactly_what_is_broken_is_reported(broken: Callable[[], OperatorDesc], expected: list[str]) -> None:
    assert labels(broken()) == expected


VARIANTS: dict[str, Callable[[], OperatorDesc]] = {
    "convolution-without-bias": lambda: set_to("CONVOLUTION", BiasTensor=None, FusedActivation=None),
    "convolution-backward": lambda: set_to(
        "CONVOLUTION",
        Direction="BACKWARD",
        FilterTensor=TensorDesc("FLOAT32", (4, 3, 3, 2)),
        OutputTensor=TensorDesc("FLOAT32", (2, 6, 20, 7)),
    ),
    "convolution-3d": lambda: set_to(
        "CONVOLUTION",
        InputTensor=TensorDesc("FLOAT16", (1, 1, 8)),
        FilterTensor=TensorDesc("FLOAT16", (1, 1, 3)),
        BiasTensor=None,
        OutputTensor=TensorDesc("FLOAT16", (1, 1, 6)),
        DimensionCount=1,
        GroupCount=1,
        **dict.fromkeys(("StartPadding", "EndPadding", "OutputPadding"), (0,)),
        **dict.fromkeys(("Strides", "Dilations"), (1,)),
    ),
    "gemm-2d": lambda: set_to(
        "GEMM",
        ATensor=TensorDesc("FLOAT32", (5, 3)),
        BTensor=TensorDesc("FLOAT32", (4, 5)),
        CTensor=None,
        OutputTensor=TensorDesc("FLOAT32", (3, 4)),
        TransB="TRANSPOSE",
    ),
    "gemm-constants-as-numbers": lambda: set_to("GEMM", TransA=1, TransB=0),
    "gemm-softmax": lambda: fused("GEMM", "ACTIVATION_SOFTMAX1"),
    "join-aligned": lambda: changed(valid("JOIN"), "OutputTensor", alignment=8),
    "split-aligned-to-an-element": lambda: changed(retyped("SPLIT", "INT8"), "InputTensor", alignment=1),
    "reduce-to-size-1-of-stride-0": lambda: changed(valid("REDUCE"), "OutputTensor", strides=(4, 0, 1, 1)),
    "split-just-large-enough": lambda: changed(valid("SPLIT"), "OutputTensors[0]", strides=(1, 3)),
    "gemm-of-one-element-read-everywhere": lambda: changed(valid("GEMM"), "ATensor", strides=(0, 0, 0, 0)),
    "join-of-one": lambda: set_to("JOIN", InputCount=1, InputTensors=(TensorDesc("INT64", (2, 7, 5)),)),
    "slice-fewer-than-possible": lambda: resized("SLICE1", "OutputTensor", 1, 1),
    "padding-a-nan": lambda: set_to("PADDING1", PaddingValue=float("nan")),
    "clip-biased": lambda: set_to("ELEMENT_WISE_CLIP1", ScaleBias=ScaleBias(-1, 0.25)),
    "quantize-by-scale": lambda: set_to(
        "QUANTIZE",
        QuantizationType="SCALE",
        QuantizationTensorCount=1,
        QuantizationTensors=(TensorDesc("FLOAT32", (2, 2)),),
    ),
    "reduce-nothing": lambda: set_to("REDUCE", AxisCount=0, Axes=(), OutputTensor=TensorDesc("INT32", (2, 3, 4, 5))),
    "reduce-to-indices": lambda: set_to(
        "REDUCE", Function=0, InputTensor=TensorDesc("FLOAT16", (2, 3, 4, 5)), OutputTensor=TensorDesc("UINT64", (2, 1, 4, 1))
    ),
    "nonzero-full-rank": lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 1, 8, 4),
    "nonzero-least-rank": lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 8, 2),
    "attention-of-stacked": lambda: OperatorDesc(
        "MULTIHEAD_ATTENTION1",
        {
            **dict.fromkeys(f.name for f in operator("MULTIHEAD_ATTENTION1").fields),
            "StackedQueryKeyValueTensor": TensorDesc("FLOAT32", (2, 5, 4, 3, 6)),
            "OutputTensor": TensorDesc("FLOAT32", (1, 2, 5, 24)),
            "OutputPresentKeyTensor": TensorDesc("FLOAT32", (2, 4, 5, 6)),
            "Scale": 1,
            "MaskFilterValue": 0,
            "QueryHeadCount": 4,
            "KeyValueHeadCount": 4,
            "MaskType": "NONE",
        },
    ),
    "lstm-forward": lambda: set_to(
        "LSTM",
        InputTensor=TensorDesc("FLOAT16", (1, 1, 1, 1)),
        WeightTensor=TensorDesc("FLOAT16", (1, 1, 4, 1)),
        RecurrenceTensor=TensorDesc("FLOAT16", (1, 1, 4, 1)),
        PeepholeTensor=TensorDesc("FLOAT16", (1, 1, 1, 3)),
        **dict.fromkeys(("BiasTensor", "SequenceLengthsTensor", "OutputSequenceTensor", "OutputCellSingleTensor")),
        OutputSingleTensor=TensorDesc("FLOAT16", (1, 1, 1, 1)),
        ActivationDescCount=3,
        ActivationDescs=(OperatorDesc("ACTIVATION_TANH"),) * 3,
        Direction="BACKWARD",
    ),
}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_valid_variants(variant: Callable[[], OperatorDesc]) -> None:
    assert violations(operator(variant().type), variant()) == []


# Feature levels: the labels at a level, and none at the next

LEVELS: dict[str, tuple[Callable[[], OperatorDesc], str, str, list[str]]] = {
    "join-int64": (
        lambda: valid("JOIN"), "3_0", "4_1",
        [f"support/{t}/{what}" for t in ("InputTensors[0]", "InputTensors[1]", "InputTensors[2]", "OutputTensor") for what in ("data-type", "dimension-count")],
    ),
    "gemm-fused-softmax": (lambda: fused("GEMM", "ACTIVATION_SOFTMAX"), "6_0", "6_1", ["operator/FusedActivation"]),
    "convolution-fused-clip": (lambda: fused("CONVOLUTION", "ELEMENT_WISE_CLIP"), "5_2", "6_0", ["operator/FusedActivation"]),
    "padding-wrap": (lambda: set_to("PADDING1", PaddingMode="WRAP"), "6_3", "6_4", ["enum/PaddingMode"]),
    "padding-wrap-by-number": (lambda: set_to("PADDING1", PaddingMode=4), "6_3", "6_4", ["enum/PaddingMode"]),
    "padding-introduced": (lambda: valid("PADDING1"), "4_1", "5_0", ["support/feature-level"]),
    "reduce-sum-int64": (
        lambda: retyped("REDUCE", "INT64"), "4_1", "5_0", ["support/InputTensor/data-type", "support/OutputTensor/data-type"],
    ),
    "reduce-argmax-int64": (
        lambda: retyped("REDUCE", "INT64").with_fields(Function="ARGMAX"), "4_0", "4_1", ["support/InputTensor/data-type"],
    ),
    "reduce-min-int8": (
        lambda: retyped("REDUCE", "INT8").with_fields(Function="MIN"), "2_1", "3_0",
        ["support/InputTensor/data-type", "support/OutputTensor/data-type"],
    ),
    "exponent-of-another-type": (
        lambda: valid("ELEMENT_WISE_POW"), "2_1", "3_0", ["constraint/same-data-type-of-exponent"],
    ),
    "zero-point-absent": (lambda: valid("ELEMENT_WISE_DEQUANTIZE_LINEAR"), "6_1", "6_2", ["field/ZeroPointTensor"]),
    "nonzero-2d": (
        lambda: resized("NONZERO_COORDINATES", "OutputCoordinatesTensor", 8, 2), "3_1", "4_0",
        ["support/OutputCountTensor/dimension-count", "support/OutputCoordinatesTensor/dimension-count"],
    ),
    "convolution-3d": (
        VARIANTS["convolution-3d"], "3_1", "4_0", [f"support/{t}/dimension-count" for t in ("InputTensor", "FilterTensor", "OutputTensor")],
    ),
    "4-bit-scalar-type": (
        lambda: set_to("ELEMENT_WISE_CLIP1", MinMaxDataType="INT4", Min=-8, Max=7), "6_2", "6_3", ["enum/MinMaxDataType"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "below", "at", "expected"), LEVELS.values(), ids=LEVELS)
def test_a_feature_level_decides(make: Callable[[], OperatorDesc], below: str, at: str, expected: list[str]) -> None:
    assert labels(make(), below) == expected
    assert not set(labels(make(), at)) & set(expected)


def test_a_symmetric_padding_is_as_old_as_its_constant() -> None:
    """The constant is from 3.0 and the operator from 5.0: every level that has the operator has the constant."""
    assert labels(set_to("PADDING1", PaddingMode="SYMMETRIC"), "5_0") == []


def test_levels_are_ordered_by_number() -> None:
    names = [level.name for level in sorted(abi().feature_levels.values())]
    assert names[0] == "1_0"
    assert names[-1] == "6_4"
    assert abi().enums["DML_TENSOR_DATA_TYPE"].since == {
        "FLOAT64": "3_0",
        "UINT64": "3_0",
        "INT64": "3_0",
        "UINT4": "6_3",
        "INT4": "6_3",
    }


# Messages


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (resized("JOIN", "OutputTensor", 2, 8, 5), "OutputTensor has 8 where sum(A) is 7"),
        (resized("REDUCE", "OutputTensor", 2, 3, 4, 1), "OutputTensor has [2, 3, 4, 1] where R is [2, 1, 4, 1]"),
        (
            resized("SLICE1", "OutputTensor", 2, 4),
            "OutputTensor: O is [2, 4], but must be from 1 to [2, 3] ([1 + (w - 1) // abs(t) for w, t in zip",
        ),
        (
            set_to("MULTIHEAD_ATTENTION1", QueryHeadCount=5, PastKeyTensor=None, OutputPresentKeyTensor=None),
            "QueryTensor: no value of D gives QueryHeadCount * D = 24",
        ),
        (set_to("JOIN", Axis=3), "Axis is 3, but must be at most 2 (OutputTensor.DimensionCount - 1)"),
        (fused("CONVOLUTION", "ELEMENT_WISE_CLIP"), "FusedActivation can be ELEMENT_WISE_CLIP from feature level 6_0 on"),
        (set_to("PADDING1", PaddingMode="WRAP"), "DML_PADDING_MODE has WRAP from feature level 6_4 on"),
        (set_to("ELEMENT_WISE_CLIP1", Max=128), "Max is 128, which INT8 cannot represent"),
        (set_to("LSTM", ActivationDescs=()), "ActivationDescs has 0 elements, but ActivationDescCount is 6"),
        (set_to("CONVOLUTION", Strides=(-1, 1)), "Strides[0] must be a whole number from 0 to 4294967295, not -1"),
    ],
)
def test_messages(desc: OperatorDesc, message: str) -> None:
    (found,) = [
        v.message for v in violations(operator(desc.type), desc, feature_level("5_2")) if not v.label.startswith("support")
    ][:1]
    assert found.startswith(message)


# What files themselves must keep


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_is_a_valid_desc(file: Path) -> None:
    spec = load_file(file)
    for example in spec.examples:
        for whose, outputs in example.answers.items():
            desc = example_desc(plan_of(spec), replace(example, answers={whose: outputs}))
            assert violations(spec, desc) == [], example.id


def test_an_example_of_other_sizes_would_be_found() -> None:
    spec = operator("JOIN")
    example = spec.examples[0]
    outputs = {"OutputTensor": replace(example.answers["documented"]["OutputTensor"], sizes=(1, 1, 7, 2))}
    assert violations(spec, example_desc(plan_of(spec), replace(example, answers={"documented": outputs}))) != []


def test_a_violation_has_the_basis_of_its_rule() -> None:
    def bases(desc: OperatorDesc) -> dict[str, str]:
        return {violation.label: violation.basis for violation in violations(operator(desc.type), desc)}

    assert bases(set_to("QUANTIZE", QuantizationType="NONE"))["constraint/some-quantization"] == "measured"
    assert bases(changed(valid("QUANTIZE"), "QuantizationTensors[1]", data_type="INT4")) == {
        "constraint/zero-point-of-output-type": "measured"
    }
    assert set(bases(retyped("FOLD", "FLOAT64")).values()) == {"measured"}
    assert set(bases(retyped("GEMM", "FLOAT64")).values()) == {"documented"}
    assert bases(changed(valid("JOIN"), "InputTensors[1]", data_type="UINT64")) == {"constraint/same-data-type": "documented"}


BOUNDS = {
    "SLICE": ({"Strides"}, set()),
    "SLICE1": (set(), {"InputWindowSizes"}),
    "FOLD": ({"WindowSizes", "Strides", "Dilations"}, set()),
    "UNFOLD": ({"WindowSizes", "Strides", "Dilations"}, set()),
    "ROI_ALIGN": ({"MinimumSamplesPerOutput", "MaximumSamplesPerOutput"}, set()),
    "ROI_ALIGN1": ({"MinimumSamplesPerOutput", "MaximumSamplesPerOutput"}, set()),
    "ROI_ALIGN_GRAD": ({"MinimumSamplesPerOutput", "MaximumSamplesPerOutput"}, set()),
    "CONVOLUTION": (set(), {"Strides"}),
}
"""Attributes whose least DirectML.dll alone sets, and some whose least the page does."""


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_that_the_page_does_not_set_is_a_measured_one(name: str) -> None:
    domains = {field.name: field.domain for field in load(name).fields if field.domain}
    measured, documented = BOUNDS[name]
    assert {field for field, domain in domains.items() if domain.basis == "measured"} == measured
    assert documented <= {field for field, domain in domains.items() if domain.basis == "documented"}
    for case in operator_cases(name, "core"):
        if case.rule.removeprefix("domain/") in measured | documented and len(case.covers) == 1:
            assert case.basis == ("measured" if case.rule.removeprefix("domain/") in measured else "documented")


def test_an_input_whose_elements_may_not_share_memory() -> None:
    desc = next(example_desc(plan_of(load("SCATTER_ND")), e) for e in load("SCATTER_ND").examples if e.id == "page-slices")
    for name, broken in (("IndicesTensor", {"tensor/IndicesTensor/overlap"}), ("UpdatesTensor", set())):
        tensor = desc.tensor(name)
        shared = replace(tensor, strides=(0,) * len(tensor.sizes))
        assert {wrong.label for wrong in violations(load("SCATTER_ND"), desc.with_fields(**{name: shared}))} == broken
