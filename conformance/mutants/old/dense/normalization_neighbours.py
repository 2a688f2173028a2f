"""Faults of normalization by the elements around: local response normalization, and norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dmlcts.conformance.mutants.old.dense.normalization_mean_variance import truncated
from dmlcts.conformance.mutants.old.dense.normalization_parts import (
    CHOICES,
    DIVISORS,
    TOTALS,
    Axes,
    Choice,
    Divisor,
    Total,
    few_digits,
    number,
    of_rows,
    root,
    total,
)
from dmlcts.conformance.mutants.old.elsewise import added_up
from dmlcts.conformance.mutants.old.fault import HALF, SINGLE, Fault, Faults
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

Sums = Callable[[Array, int, int], Array]
"""(terms, size of a window, axis) -> the sum of each window, of terms that have its places before and behind them."""


def _windows(terms: Array, size: int, axis: int) -> Array:
    sums: Array = np.sum(np.lib.stride_tricks.sliding_window_view(terms, size, axis), axis=-1, dtype=terms.dtype)
    return sums


def _windows_in_float16(terms: Array, size: int, axis: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(terms, size, axis)
    return added_up("f2")(windows, -1).astype(terms.dtype)


@dataclass(frozen=True, slots=True)
class Response:
    """Local response normalization in steps, each of which may be another than the right one.

    ``reach`` gives how many neighbours a window of that size has before and behind; ``edges`` is what lies beyond the ends;
    ``divisor`` is made of LocalSize, whether channels are crossed, and the number of elements that each window really has.
    """

    dtype: str = "f8"
    axes: Callable[[bool], Axes] = lambda cross: (1,) if cross else (2, 3)
    reach: Callable[[int], tuple[int, int]] = lambda size: ((size - 1) // 2, size // 2)
    edges: Literal["constant", "edge", "wrap"] = "constant"
    terms: Callable[[Array], Array] = lambda x: x * x
    sums: Sums = _windows
    own: float = 0.0
    divisor: Callable[[int, bool, Array], Array | int] = lambda size, cross, present: size
    base: Callable[[float, float, Array], Array] = lambda bias, alpha, mean: bias + alpha * mean
    power: Callable[[Array, float], Array] = lambda base, beta: base**beta
    ending: Callable[[Array, Array], Array] = lambda x, divisor: x / divisor

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        x = inputs["InputTensor"].astype(self.dtype)
        size, cross = desc.fields["LocalSize"], bool(desc.fields["CrossChannel"])
        assert isinstance(size, int)
        squares = self.terms(x)
        sums, present = squares, np.ones_like(squares)
        for axis in self.axes(cross):
            sums, present = self.summed(sums, size, axis), self.summed(present, size, axis)
        alpha, beta, bias = (x.dtype.type(number(desc, name)) for name in ("Alpha", "Beta", "Bias"))
        mean = (sums + x.dtype.type(self.own) * squares) / self.divisor(size, cross, present)
        found: Array = self.ending(x, self.power(self.base(bias, alpha, mean.astype(x.dtype)), beta))
        return found

    def summed(self, terms: Array, size: int, axis: int) -> Array:
        """The sums of windows along an axis."""
        before, behind = self.reach(size)
        around = [(before, behind) if each == axis else (0, 0) for each in range(terms.ndim)]
        return self.sums(np.pad(terms, around, mode=self.edges), before + behind + 1, axis)


def _larger(before: int, behind: int) -> Callable[[int], tuple[int, int]]:
    """Windows that reach further, or less far, though never beyond the element itself."""
    return lambda size: (max((size - 1) // 2 + before, 0), max(size // 2 + behind, 0))


_RESPONSE: Mapping[str, Fault] = {
    "window-one-more-behind": Fault("takes one element more behind", Response(reach=_larger(0, 1))),
    "window-one-more-before": Fault("takes one element more before", Response(reach=_larger(1, 0))),
    "window-one-less-behind": Fault("takes one element less behind", Response(reach=_larger(0, -1))),
    "window-one-less-before": Fault("takes one element less before", Response(reach=_larger(-1, 0))),
    "window-even-the-other-way": Fault(
        "lets even windows reach further back", Response(reach=lambda size: (size // 2, (size - 1) // 2))
    ),
    "window-even-enlarged": Fault("takes the next odd size for an even one", Response(reach=lambda size: (size // 2, size // 2))),
    "window-even-lessened": Fault(
        "takes an even size for the odd one before", Response(reach=lambda size: ((size - 1) // 2, (size - 1) // 2))
    ),
    "window-of-radius": Fault("takes LocalSize for the radius", Response(reach=lambda size: (size, size))),
    "window-behind": Fault("takes the elements behind alone", Response(reach=lambda size: (0, size - 1))),
    "window-before": Fault("takes the elements before alone", Response(reach=lambda size: (size - 1, 0))),
    "window-of-5-at-most": Fault("takes windows of 5 at most", Response(reach=lambda n: ((min(n, 5) - 1) // 2, min(n, 5) // 2))),
    "window-of-itself": Fault("takes each element alone", Response(reach=lambda size: (0, 0))),
    "window-without-itself": Fault("leaves the element itself out", Response(own=-1.0)),
    "itself-twice": Fault("counts the element itself twice", Response(own=1.0)),
    "edges-repeated": Fault("repeats the elements at the ends beyond them", Response(edges="edge")),
    "edges-wrapped": Fault("goes on at the other end", Response(edges="wrap")),
    "rows-alone": Fault("goes along columns alone where channels are not crossed", Response(axes=lambda c: (1,) if c else (2,))),
    "columns-alone": Fault("goes along rows alone where channels are not crossed", Response(axes=lambda c: (1,) if c else (3,))),
    "cross-channel-inverted": Fault("takes CrossChannel for its opposite", Response(axes=lambda cross: (2, 3) if cross else (1,))),
    "places-too": Fault(
        "goes along rows and columns, too, with CrossChannel", Response(axes=lambda c: (1, 2, 3) if c else (2, 3)), basis=MEASURED
    ),
    "channels-too": Fault("goes along channels, too, without CrossChannel", Response(axes=lambda c: (1,) if c else (1, 2, 3))),
    "channels-last": Fault("takes the last dimension for the channels", Response(axes=lambda c: (3,) if c else (1, 2))),
    "batches-for-channels": Fault("goes along batches with CrossChannel", Response(axes=lambda c: (0,) if c else (2, 3))),
    "alpha-not-divided": Fault("does not divide Alpha", Response(divisor=lambda size, cross, present: 1)),
    "alpha-by-square": Fault(
        "divides Alpha by the number of places in a square window",
        Response(divisor=lambda n, cross, present: n if cross else n * n),
    ),
    "alpha-by-present": Fault(
        "divides Alpha by the number of elements that are there", Response(divisor=lambda n, cross, present: present)
    ),
    "alpha-by-radius": Fault("divides Alpha by half of LocalSize", Response(divisor=lambda n, cross, present: max(n // 2, 1))),
    "alpha-lost": Fault("takes no notice of Alpha", Response(base=lambda bias, alpha, mean: bias + mean)),
    "alpha-squared": Fault("squares Alpha", Response(base=lambda bias, alpha, mean: bias + alpha * alpha * mean)),
    "bias-lost": Fault("does not add Bias", Response(base=lambda bias, alpha, mean: alpha * mean)),
    "bias-of-1": Fault("adds 1 for Bias", Response(base=lambda bias, alpha, mean: 1 + alpha * mean)),
    "bias-weighted": Fault("weighs Bias by Alpha", Response(base=lambda bias, alpha, mean: alpha * (bias + mean))),
    "bias-as-factor": Fault("multiplies by Bias", Response(base=lambda bias, alpha, mean: bias * (1 + alpha * mean))),
    "terms-not-squared": Fault("adds up magnitudes", Response(terms=np.abs)),
    "terms-signed": Fault("adds up the elements", Response(terms=lambda x: x)),
    "root-of-squares": Fault("takes the root of the sum", Response(base=lambda bias, alpha, mean: bias + alpha * np.sqrt(mean))),
    "power-lost": Fault("takes no power", Response(power=lambda base, beta: base)),
    "power-halved": Fault("takes half of Beta", Response(power=lambda base, beta: base ** (beta / 2))),
    "power-as-factor": Fault("multiplies by Beta", Response(power=lambda base, beta: base * beta)),
    "power-of-11-digits": Fault(
        "takes the power with 11 binary digits", Response(power=lambda b, beta: few_digits(b**beta)), SINGLE
    ),
    "power-as-three-quarters": Fault("takes the power of 3/4 always", Response(power=lambda base, beta: base**0.75)),
    "multiplied": Fault("multiplies by the power", Response(ending=lambda x, divisor: x * divisor)),
    "inverted": Fault("gives the inverse of the power", Response(ending=lambda x, divisor: 1 / divisor)),
    "sign-lost": Fault("gives magnitudes", Response(ending=lambda x, divisor: np.abs(x) / divisor)),
    "sums-in-float16": Fault("adds up in FLOAT16", Response(sums=_windows_in_float16)),
    "base-in-float16": Fault(
        "keeps in FLOAT16 what it takes the power of",
        Response(base=lambda bias, alpha, mean: (bias + alpha * mean).astype("f2").astype(mean.dtype)),
    ),
    "power-in-float16": Fault(
        "keeps the power in FLOAT16", Response(power=lambda base, beta: (base**beta).astype("f2").astype("f8"))
    ),
    "in-float32": Fault("computes in FLOAT32", Response(dtype="f4"), equivalent="no step needs more than FLOAT32"),
    "by-logarithm": Fault(
        "takes the power by exponential and logarithm in FLOAT32",
        Response(dtype="f4", power=lambda base, beta: np.exp2(beta * np.log2(base))),
        equivalent="the documentation says nothing of how the power is computed",
    ),
}


@dataclass(frozen=True, slots=True)
class Norm:
    """Division by a norm in steps, each of which may be another than the right one. ``between`` is what becomes of what is kept."""

    dtype: str = "f8"
    axes: Choice = lambda axes, count: axes
    total: Total = total
    order: Callable[[int], int] = lambda order: order
    first: Callable[[Array], Array] = np.abs
    between: Callable[[Array], Array] = lambda kept: kept
    divisor: Divisor = root
    ending: Callable[[Array, Array], Array] = lambda x, divisor: x / divisor

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        x = inputs["InputTensor"].astype(self.dtype)
        axis, order = desc.fields["Axis"], desc.fields["P"]
        assert isinstance(axis, int)
        assert isinstance(order, int)
        axes = self.axes((axis,), x.ndim)
        if self.order(order) == 1:
            square = self.between(self.between(self.total(self.first(x), axes)) ** 2)
        else:
            square = self.between(self.total(x * x, axes))
        found: Array = self.ending(x, self.divisor(square, number(desc, "Epsilon")))
        return found


_NORM: Mapping[str, Fault] = {
    **{name: Fault(does, Norm(divisor=divisor), types) for name, (does, divisor, types) in DIVISORS.items()},
    **{
        name: Fault(does, Norm(total=sums), basis=MEASURED) if name == "nan-passed-over" else Fault(does, Norm(total=sums))
        for name, (does, sums) in TOTALS.items()
    },
    **{f"axis-{name}": Fault(does, Norm(axes=choice)) for name, (does, choice) in CHOICES.items()},
    "order-1-always": Fault("takes the norm of order 1 always", Norm(order=lambda order: 1)),
    "orders-exchanged": Fault("takes order 1 for 2, and 2 for 1", Norm(order=lambda order: 3 - order)),
    "order-of-infinity": Fault(
        "divides by the largest magnitude", Norm(order=lambda order: 1, total=of_rows(lambda rows: np.max(np.abs(rows), axis=-1)))
    ),
    "signs-kept-in-order-1": Fault("adds up the elements for order 1", Norm(first=lambda x: x)),
    "root-mean-square": Fault("divides by means for sums", Norm(total=of_rows(lambda rows: np.mean(rows, axis=-1)))),
    "gives-norm": Fault("gives the norm", Norm(ending=lambda x, divisor: np.broadcast_to(divisor, x.shape))),
    "sign-lost": Fault("gives magnitudes", Norm(ending=lambda x, divisor: np.abs(x) / divisor)),
    "squared": Fault("gives shares of the square", Norm(ending=lambda x, divisor: x * np.abs(x) / divisor**2)),
    "kept-in-float16": Fault("keeps norms in FLOAT16", Norm(between=truncated), SINGLE),
    "norm-of-next-row": Fault("takes the norm of the row before", Norm(between=lambda norms: np.roll(norms, 1))),
    "norm-of-first-row": Fault("takes the first row's norm for all", Norm(between=lambda norms: norms[(slice(1),) * norms.ndim])),
    "norm-at-least-1": Fault("divides by 1 at least", Norm(divisor=lambda square, epsilon: np.maximum(root(square, epsilon), 1))),
    "in-float32": Fault("computes in FLOAT32", Norm(dtype="f4"), equivalent="no step needs more than FLOAT32"),
    "kept-in-float16-of-float16": Fault(
        "keeps sums of squares of FLOAT16 tensors in FLOAT16",
        Norm(dtype="f4", between=truncated),
        HALF,
        when=lambda desc: desc.fields["P"] == 2,
        equivalent="DirectML.dll keeps them so",
    ),
}

NEIGHBOURS: Faults = {"LOCAL_RESPONSE_NORMALIZATION": _RESPONSE, "LP_NORMALIZATION": _NORM}
"""What implementations of these operators get wrong."""
