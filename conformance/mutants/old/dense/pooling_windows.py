"""Faults of any window that slides over an input: attributes misapplied, elements taken from elsewhere; and what divides a sum wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.elsewise import Inputs, computed_from, computed_of
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.reference.pooling.windows import axes, divisors, inside
from dmlcts.spec.desc import OperatorDesc

Numbers = tuple[int, ...]

Join = Callable[[Array, Array], Array]

Place = Callable[[Array, int], Array]
"""(places along a dimension, its size) -> the places that are read; those that are not below the size give what lies outside."""

Divisor = Callable[[OperatorDesc], Array | float]
"""What the sum of each window is divided by, which broadcasts to the output's sizes."""


def numbers(desc: OperatorDesc, name: str) -> Numbers:
    """An attribute of one number for each spatial dimension; ones for Dilations of an operator that has none."""
    found: Any = desc.fields.get(name, (1,) * len(axes(desc)))
    return tuple(found)


def as_it_is(place: Array, size: int) -> Array:
    """The right places."""
    return place


def slid(desc: OperatorDesc, x: Array, join: Join, outside: float, place: Place = as_it_is) -> Array:
    """``join`` over the elements of each window, in the type of ``x``, one dimension after the other."""
    for axis in reversed(axes(desc)):
        shape = [1] * x.ndim
        shape[axis.axis] = axis.count
        taps = []
        for start in axis.starts():
            places = place(np.arange(axis.count) * axis.stride + start, axis.size)
            within = (places >= 0) & (places < axis.size)
            tap = np.take(x, np.where(within, places, 0), axis=axis.axis)
            taps.append(np.where(within.reshape(shape), tap, x.dtype.type(outside)))
        x = reduce(join, taps)
    return x


def channels_last(x: Array) -> Array:
    """The elements in another order: as they lie where channels come last."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape)


PLACES: Mapping[str, tuple[str, Place]] = {
    "edges-wrapped": ("goes on at the other end", lambda place, size: place % size),
    "edges-repeated": ("repeats the elements at the ends beyond them", lambda place, size: np.clip(place, 0, size - 1)),
    "start-wrapped": ("reads padding at the start from the end", lambda place, size: np.where(place < 0, place % size, place)),
    "end-wrapped": ("reads padding at the end from the start", lambda place, size: np.where(place < size, place, place % size)),
    "last-place-left-out": ("takes the last element of each dimension for padding", lambda p, size: np.where(p < size - 1, p, -1)),
    "first-place-left-out": (
        "takes the first element of each dimension for padding",
        lambda place, size: np.where(place, place, -1),
    ),
}
"""By name: what it does, and the places that are read."""


# Attributes


def _with(name: str, change: Callable[[Numbers], Numbers]) -> Computed:
    return computed_of(lambda desc: desc.with_fields(**{name: change(numbers(desc, name))}))


def _each(name: str, change: Callable[[int], int]) -> Computed:
    return _with(name, lambda found: tuple(change(number) for number in found))


def _for(name: str, other: str) -> Computed:
    return computed_of(lambda desc: desc.with_fields(**{name: numbers(desc, other)}))


_ORDERS: Mapping[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "reversed": ("from the last dimension on", lambda found: found[::-1]),
    "of-first": ("with its first number for all", lambda found: found[:1] * len(found)),
    "of-last": ("with its last number for all", lambda found: found[-1:] * len(found)),
}


def _spanned(desc: OperatorDesc) -> OperatorDesc:
    """All elements between the first and the last of a window."""
    spans = tuple((w - 1) * d + 1 for w, d in zip(numbers(desc, "WindowSize"), numbers(desc, "Dilations"), strict=True))
    return desc.with_fields(WindowSize=spans, Dilations=(1,) * len(spans))


def _of_inputs(change: Callable[[Array], Array]) -> Computed:
    return computed_from(
        lambda desc, inputs: {**inputs, "InputTensor": np.ascontiguousarray(change(inputs["InputTensor"])).reshape(_shape(inputs))}
    )


def _shape(inputs: Inputs) -> tuple[int, ...]:
    return tuple(inputs["InputTensor"].shape)


def _mixed_spatial(x: Array) -> Array:
    return np.ascontiguousarray(np.swapaxes(x, -1, -2)).reshape(x.shape)


def _orders(*names: str) -> dict[str, Fault]:
    return {
        f"{name}-{how}": Fault(f"takes {name} {does}", _with(name, change))
        for name in names
        for how, (does, change) in _ORDERS.items()
    }


SLIDING: Mapping[str, Fault] = {
    **_orders("Strides", "WindowSize", "StartPadding"),
    "Strides-lost": Fault("takes every stride for 1", _each("Strides", lambda number: 1)),
    "Strides-of-window": Fault("moves on by the window's size", _for("Strides", "WindowSize")),
    "Strides-at-most-2": Fault("takes no stride for more than 2", _each("Strides", lambda number: min(number, 2))),
    "WindowSize-last-lost": Fault(
        "leaves out the last element of a window", _each("WindowSize", lambda number: max(number - 1, 1))
    ),
    "WindowSize-one-more": Fault("takes windows of one element more", _each("WindowSize", lambda number: number + 1)),
    "WindowSize-at-most-3": Fault(
        "takes no more than 3 elements of a dimension", _each("WindowSize", lambda number: min(number, 3))
    ),
    "WindowSize-at-most-64": Fault(
        "takes no more than 64 elements of a dimension", _each("WindowSize", lambda number: min(number, 64))
    ),
    "WindowSize-one": Fault("copies one element of each window", _each("WindowSize", lambda number: 1)),
    "StartPadding-lost": Fault("pads at the end alone", _each("StartPadding", lambda number: 0)),
    "StartPadding-of-end": Fault("pads at the start as at the end", _for("StartPadding", "EndPadding")),
    "StartPadding-one-more": Fault("begins one element earlier", _each("StartPadding", lambda number: number + 1)),
    "StartPadding-one-less": Fault(
        "begins one element later where it pads", _each("StartPadding", lambda number: max(number - 1, 0))
    ),
    "StartPadding-at-most-1": Fault("pads one element at most", _each("StartPadding", lambda number: min(number, 1))),
    "channel-next": Fault("takes the next channel", _of_inputs(lambda x: np.roll(x, -1, axis=1))),
    "channels-last": Fault("takes channels for the last dimension", _of_inputs(channels_last)),
    "batch-first": Fault("takes the first batch for all", _of_inputs(lambda x: np.broadcast_to(x[:1], x.shape))),
    "batch-next": Fault("takes the next batch", _of_inputs(lambda x: np.roll(x, -1, axis=0))),
    "plane-transposed": Fault("reads columns for rows", _of_inputs(_mixed_spatial)),
    "plane-turned": Fault("reads each dimension from its end", _of_inputs(lambda x: np.flip(x, axis=tuple(range(2, x.ndim))))),
    "channels-at-most-32": Fault(
        "computes 32 channels", _of_inputs(lambda x: np.where(np.arange(x.shape[1]).reshape(1, -1, *[1] * (x.ndim - 2)) < 32, x, 0))
    ),
}

DILATED: Mapping[str, Fault] = {
    **_orders("Dilations"),
    "Dilations-lost": Fault("takes every dilation for 1", _each("Dilations", lambda number: 1)),
    "Dilations-one-more": Fault("takes a dilation for what is left out", _each("Dilations", lambda number: number + 1)),
    "Dilations-at-most-2": Fault("takes no dilation for more than 2", _each("Dilations", lambda number: min(number, 2))),
    "Dilations-for-Strides": Fault("moves on by the dilations", _for("Strides", "Dilations")),
    "Dilations-filled": Fault("takes the elements in between too", computed_of(_spanned)),
    "Dilations-of-padding": Fault(
        "multiplies padding by the dilations",
        computed_of(
            lambda desc: desc.with_fields(
                StartPadding=tuple(p * d for p, d in zip(numbers(desc, "StartPadding"), numbers(desc, "Dilations"), strict=True))
            )
        ),
    ),
}


# Divisors


def _full(desc: OperatorDesc) -> float:
    return float(prod(numbers(desc, "WindowSize")))


def _span(desc: OperatorDesc) -> float:
    pairs = zip(numbers(desc, "WindowSize"), numbers(desc, "Dilations"), strict=True)
    return float(prod((window - 1) * dilation + 1 for window, dilation in pairs))


DIVISORS: Mapping[str, tuple[str, Divisor]] = {
    "not-divided": ("gives sums", lambda desc: 1.0),
    "padding-always-counted": ("counts padding whatever IncludePadding says", _full),
    "padding-never-counted": ("counts no padding whatever IncludePadding says", lambda desc: inside(np, desc)),
    "padding-counted-inversely": (
        "takes IncludePadding for its opposite",
        lambda desc: inside(np, desc) if desc.fields["IncludePadding"] else _full(desc),
    ),
    "divided-by-one-more": ("divides by one more", lambda desc: divisors(np, desc) + 1),
    "divided-by-last": ("divides by the window's last size", lambda desc: float(numbers(desc, "WindowSize")[-1])),
    "divided-by-input": ("divides by the input's size", lambda desc: float(prod(axis.size for axis in axes(desc)))),
    "divided-by-span": ("divides by what the window spans", _span),
    "divisor-at-most-255": ("counts to 255", lambda desc: np.minimum(divisors(np, desc), 255)),
    "divisor-at-most-4": ("counts to 4", lambda desc: np.minimum(divisors(np, desc), 4)),
    "divisor-of-first-window": ("counts the first window's elements for all", lambda desc: divisors(np, desc).reshape(-1)[0]),
}
"""By name: what it does, and what divides."""

UNDILATED = ("divided-by-span",)
"""Divisors that are wrong where there are dilations alone."""
