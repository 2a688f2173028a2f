"""Faults of averages of quantized numbers, beside those of any average (``pooling``) and of any quantized tensor (``quantized``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.quantized import REQUANTIZE, zero_points
from dmlcts.conformance.faults.model.fault import Fault, Inputs, Steps, Table, adjust_results, compute_instead
from dmlcts.spec.model.desc import OperatorDesc


def _padded_with_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    fields: Mapping[str, Any] = desc.fields
    pads = zip(fields["StartPadding"], fields["EndPadding"], strict=True)
    return {**inputs, "InputTensor": np.pad(inputs["InputTensor"], [(0, 0), (0, 0), *pads])}


_RESCALE: Steps = {
    "pooling.rescale": {
        "mean-rounded": (
            "rounds the mean before it scales it",
            lambda total, scale, count, out: np.rint(total / count) * scale / out,
        )
    }
}
_SUMS: Steps = {"pooling.sum": {"sums-of-16-bits": ("keeps 16 bits of a sum", lambda x: x.astype("i8").astype("i2").astype("f8"))}}

FAULTS: Table = {
    "QUANTIZED_LINEAR_AVERAGE_POOLING": {
        **zero_points("Input"),
        **compute_instead(_RESCALE),
        **adjust_results(_SUMS),
        **{label: fault for label, fault in REQUANTIZE.items() if not label.startswith("nan-")},  # no quotient is NaN here
        "padding-of-zero-bytes": Fault(
            "pads with bytes of 0",
            inputs=_padded_with_bytes,
            stages={"pooling.taps": lambda right, xp, axis, x, outside: right(xp, replace(axis, padding=0), x, outside)},
            when=lambda desc: bool(desc.fields["IncludePadding"]),
        ),
    }
}
"""What implementations of it get wrong."""
