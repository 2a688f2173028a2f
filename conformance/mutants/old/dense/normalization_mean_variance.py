"""Faults of mean-variance normalization: wrong moments, rows of other axes, scale and bias misapplied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from dmlcts.conformance.mutants.old.dense.normalization_parts import (
    CHOICES,
    DIVISORS,
    ELSEWHERE,
    TOTALS,
    Axes,
    Choice,
    Divisor,
    Tensor,
    Total,
    fused,
    number,
    of_rows,
    root,
    total,
)
from dmlcts.conformance.mutants.old.elsewise import computed_of, with_attributes
from dmlcts.conformance.mutants.old.fault import HALF, SINGLE, Fault, Faults, merged
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

Count = Callable[[tuple[int, ...], Axes], int]
"""(sizes, axes) -> what a sum is divided by."""

Moment = Callable[[Array, Array], Array]
"""(input, mean) -> the terms of the variance; or what the mean leaves of the input."""

Ending = Callable[[OperatorDesc, Array, Array, Array], Array]
"""(desc, normalized elements, scale, bias) -> the result."""


def _axes(desc: OperatorDesc) -> Axes:
    axes = desc.fields.get("Axes")
    if isinstance(axes, tuple):
        return tuple(sorted(set(axes)))
    return (1, 2, 3) if desc.fields["CrossChannel"] else (2, 3)


def _count(sizes: tuple[int, ...], axes: Axes) -> int:
    return prod(sizes[axis] for axis in axes)


@dataclass(frozen=True, slots=True)
class Normalization:
    """Mean-variance normalization in steps, each of which may be another than the right one.

    ``between`` is what becomes of a mean and a variance that are kept for the next step.
    """

    dtype: str = "f8"
    axes: Choice = lambda axes, count: axes
    total: Total = total
    count: Count = _count
    count_of_variance: Count | None = None
    terms: Moment = lambda x, mean: (x - mean) ** 2
    moved: Moment = lambda x, mean: x - mean
    between: Callable[[Array], Array] = lambda moment: moment
    divisor: Divisor = root
    undivided: Divisor = lambda variance, epsilon: np.ones_like(variance)
    scale: Tensor = lambda scale, x: scale
    bias: Tensor = lambda bias, x: bias
    ending: Ending = lambda desc, value, scale, bias: fused(desc, value * scale + bias)

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        x = inputs["InputTensor"].astype(self.dtype)
        fields, axes = desc.fields, _axes(desc)
        axes = self.axes(axes, x.ndim) if axes else axes
        value, mean = x, np.zeros_like(x)
        if fields.get("UseMean", True):
            mean = self.between(self.total(x, axes) / x.dtype.type(self.count(x.shape, axes)))
            value = self.moved(x, mean)
        count = (self.count_of_variance or self.count)(x.shape, axes)
        variance = self.between(self.total(self.terms(x, mean), axes) / x.dtype.type(count))
        divided = fields.get("UseVariance", fields.get("NormalizeVariance"))
        value = value / (self.divisor if divided else self.undivided)(variance, number(desc, "Epsilon"))
        scale, bias = (
            change(inputs[name].astype(self.dtype), x) if name in inputs else np.full((1,) * x.ndim, usual, x.dtype)
            for name, change, usual in (("ScaleTensor", self.scale, 1), ("BiasTensor", self.bias, 0))
        )
        found: Array = self.ending(desc, value, scale, bias)
        return found


def truncated(value: Array) -> Array:
    """Stored as FLOAT16, toward zero, and read again: as DirectML.dll does between its steps."""
    half = value.astype(np.float16)
    cut: Array = np.where(np.abs(half.astype(value.dtype)) > np.abs(value), np.nextafter(half, np.float16(0)), half).astype(
        value.dtype
    )
    return cut


def _of_squares(x: Array, mean: Array) -> Array:
    terms: Array = x * x - mean * mean
    return terms


_STEPS: Mapping[str, Fault] = {
    **{name: Fault(does, Normalization(divisor=divisor), types) for name, (does, divisor, types) in DIVISORS.items()},
    **{
        name: Fault(does, Normalization(total=sums), basis=MEASURED)
        if name == "nan-passed-over"
        else Fault(does, Normalization(total=sums))
        for name, (does, sums) in TOTALS.items()
    },
    "variance-of-a-sample": Fault(
        "divides the squares by one less than their number",
        Normalization(count_of_variance=lambda sizes, axes: max(_count(sizes, axes) - 1, 1)),
    ),
    "variance-not-divided": Fault("takes the sum of the squares for the variance", Normalization(count_of_variance=lambda s, a: 1)),
    "variance-about-zero": Fault("takes the mean square for the variance", Normalization(terms=lambda x, mean: x * x)),
    "variance-of-magnitudes": Fault("takes the mean difference for the variance", Normalization(terms=lambda x, m: np.abs(x - m))),
    "variance-cancelled": Fault(
        "subtracts the square of the mean from the mean square, in FLOAT32",
        Normalization(dtype="f4", terms=_of_squares),
        SINGLE,
        basis=MEASURED,
    ),
    "mean-not-subtracted": Fault("does not subtract the mean", Normalization(moved=lambda x, mean: x)),
    "mean-added": Fault("adds the mean", Normalization(moved=lambda x, mean: x + mean)),
    "mean-twice": Fault("subtracts the mean twice", Normalization(moved=lambda x, mean: x - 2 * mean)),
    "mean-not-divided": Fault("takes the sum for the mean", Normalization(count=lambda sizes, axes: 1, count_of_variance=_count)),
    "medians": Fault(
        "takes medians for means", Normalization(total=of_rows(lambda rows: np.median(rows, axis=-1) * rows.shape[-1]))
    ),
    "count-of-last-axis": Fault("divides by the size of the last axis", Normalization(count=lambda sizes, axes: sizes[axes[-1]])),
    "count-of-first-axis": Fault("divides by the size of the first axis", Normalization(count=lambda sizes, axes: sizes[axes[0]])),
    "count-of-tensor": Fault("divides by the number of all elements", Normalization(count=lambda sizes, axes: prod(sizes))),
    "moments-of-first-row": Fault(
        "takes the first row's mean and variance for all",
        Normalization(between=lambda moments: moments[(slice(1),) * moments.ndim]),
    ),
    "moments-of-first-batch": Fault("takes the first batch's means and variances for all", Normalization(between=lambda m: m[:1])),
    "moments-of-next-row": Fault(
        "takes mean and variance of the row before", Normalization(between=lambda moments: np.roll(moments, 1))
    ),
    "moments-in-float16": Fault("keeps mean and variance in FLOAT16", Normalization(between=truncated), SINGLE),
    "epsilon-undivided": Fault(
        "divides by the root of 1 and Epsilon where it must not divide",
        Normalization(undivided=lambda variance, epsilon: np.sqrt(np.ones_like(variance) + epsilon)),
    ),
    "not-divided": Fault("never divides", Normalization(divisor=lambda variance, epsilon: np.ones_like(variance))),
}

_AFFINE: Mapping[str, Fault] = {
    "scale-lost": Fault("does not scale", Normalization(scale=lambda scale, x: np.ones_like(scale))),
    "bias-lost": Fault("adds no bias", Normalization(bias=lambda bias, x: np.zeros_like(bias))),
    "bias-lost-without-scale": Fault(
        "adds no bias where there is no scale",
        Normalization(bias=lambda bias, x: np.zeros_like(bias)),
        when=lambda desc: desc.fields["ScaleTensor"] is None,
    ),
    "scale-lost-without-bias": Fault(
        "does not scale where there is no bias",
        Normalization(scale=lambda scale, x: np.ones_like(scale)),
        when=lambda desc: desc.fields["BiasTensor"] is None,
    ),
    "scale-added": Fault(
        "adds the scale", Normalization(ending=lambda desc, value, scale, bias: fused(desc, value + scale + bias))
    ),
    "scale-divides": Fault("divides by the scale", Normalization(ending=lambda desc, v, s, b: fused(desc, v / s + b))),
    "scale-and-1": Fault("scales by 1 more", Normalization(ending=lambda desc, v, s, b: fused(desc, v * (s + 1) + b))),
    "scale-twice": Fault("scales twice", Normalization(ending=lambda desc, v, s, b: fused(desc, v * s * s + b))),
    "bias-scaled": Fault("adds the bias before it scales", Normalization(ending=lambda desc, v, s, b: fused(desc, (v + b) * s))),
    "bias-subtracted": Fault("subtracts the bias", Normalization(ending=lambda desc, v, s, b: fused(desc, v * s - b))),
    "bias-as-scale": Fault(
        "takes scale and bias for each other", Normalization(ending=lambda desc, v, s, b: fused(desc, v * b + s))
    ),
    "activation-first": Fault(
        "activates before it scales", Normalization(ending=lambda desc, value, scale, bias: fused(desc, value) * scale + bias)
    ),
    "activation-before-bias": Fault(
        "activates before it adds the bias",
        Normalization(ending=lambda desc, value, scale, bias: fused(desc, value * scale) + bias),
    ),
    "activation-twice": Fault("activates twice", Normalization(ending=lambda desc, v, s, b: fused(desc, fused(desc, v * s + b)))),
    "activation-of-float16": Fault(
        "keeps in FLOAT16 what it activates",
        Normalization(ending=lambda desc, v, s, b: fused(desc, (v * s + b).astype("f2"))),
        SINGLE,
    ),
    **{
        f"{which}-{name}": Fault(f"takes {words} of the {which}", Normalization(**{which: change}))  # type: ignore[arg-type]
        for which in ("scale", "bias")
        for name, words, change in ELSEWHERE
    },
}

_RIGHT: Mapping[str, Fault] = {
    "in-float32": Fault(
        "computes in FLOAT32 from one step to the next", Normalization(dtype="f4"), equivalent="no step needs more than FLOAT32"
    ),
    "moments-kept-in-float16": Fault(
        "keeps mean and variance of FLOAT16 tensors in FLOAT16",
        Normalization(dtype="f4", between=truncated),
        HALF,
        equivalent="DirectML.dll keeps them so",
    ),
}
"""The same steps without a fault: what shows that it is the fault that is found."""

_FIXED: Mapping[str, tuple[str, Choice]] = {
    "batches-together": ("takes all batches of a channel for a row", lambda axes, count: (0, 2, 3)),
    "cross-channel-inverted": ("takes CrossChannel for its opposite", lambda axes, count: (2, 3) if 1 in axes else (1, 2, 3)),
    "channels-alone": ("takes the channels of each place for a row", lambda axes, count: (1,)),
    "channels-last": ("takes the last dimension for the channels", lambda axes, count: (1, 2, 3) if 1 in axes else (1, 2)),
    **{name: CHOICES[name] for name in ("whole-tensor", "last-axis")},
}
"""Axes of the operator that names none."""

_NAMED: Mapping[str, tuple[str, Choice]] = {
    **CHOICES,
    "first-named": ("goes along the first of Axes alone", lambda axes, count: axes[:1]),
    "last-named": ("goes along the last of Axes alone", lambda axes, count: axes[-1:]),
    "between-named": (
        "takes the dimensions between the first and the last of Axes, too",
        lambda a, n: tuple(range(a[0], a[-1] + 1)),
    ),
    "as-many-last": ("goes along as many dimensions, the last ones", lambda axes, count: tuple(range(count - len(axes), count))),
}


def _misplaced(choices: Mapping[str, tuple[str, Choice]]) -> dict[str, Fault]:
    return {f"axes-{name}": Fault(does, Normalization(axes=choice)) for name, (does, choice) in choices.items()}


def _inverted(name: str) -> dict[str, Fault]:
    change = computed_of(with_attributes(lambda fields: {name: not fields[name]}))
    return {f"{name}-inverted": Fault(f"takes {name} for its opposite", change)}


_COMMON: Mapping[str, Fault] = {**_STEPS, **_AFFINE, **_RIGHT}

MEAN_VARIANCE: Faults = merged(
    {"MEAN_VARIANCE_NORMALIZATION": {**_COMMON, **_misplaced(_FIXED), **_inverted("NormalizeVariance")}},
    {"MEAN_VARIANCE_NORMALIZATION1": {**_COMMON, **_misplaced(_NAMED), **_inverted("NormalizeVariance")}},
    {
        "MEAN_VARIANCE_NORMALIZATION2": {
            **_COMMON,
            **_misplaced(_NAMED),
            **_inverted("UseMean"),
            **_inverted("UseVariance"),
            "variance-without-mean": Fault(
                "divides by the deviation where the mean is not subtracted",
                lambda desc, inputs, right: Normalization(moved=lambda x, mean: x)(desc.with_fields(UseMean=True), inputs, right),
                when=lambda desc: not desc.fields["UseMean"],
            ),
        }
    },
)
"""What implementations of mean-variance normalization get wrong."""
