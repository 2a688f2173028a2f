"""What a condition may look at: a desc, where its tensors lie, and what its inputs hold. The costly parts are made on first use.

A ``Situation`` is one dispatch. ``Situations`` are many, of which each measure is a column: one condition is about one or about many. What is
absent, such as the size of a dimension that a tensor does not have, is ``NONE``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.case.case import Case
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.case.places import output_names, places
from dmlcts.spec.model.desc import OperatorDesc, packed_strides

Array = NDArray[Any]
Inputs = Mapping[str, Array]

NONE = -1


class Measured:
    """What is measured of a dispatch, a number, or of many, a column. Dimensions are counted from the front, or from the back with negative numbers."""

    def ask(self, measure: Callable[..., int], *of: str | int) -> Any:
        """The measure of the dispatch, or of each dispatch."""
        raise NotImplementedError

    def rank(self, name: str) -> Any:
        """The dimension count of a tensor."""
        return self.ask(_rank, name)

    def size(self, name: str, at: int) -> Any:
        """The size of a dimension."""
        return self.ask(_size, name, at)

    def count(self, name: str) -> Any:
        """The number of elements of a tensor."""
        return self.ask(_count, name)

    def stride(self, name: str, at: int) -> Any:
        """The stride of a dimension with more than one element: others have no effect."""
        return self.ask(_stride, name, at)

    def is_packed(self, name: str) -> Any:
        """1 where a tensor's strides are packed ones, else 0."""
        return self.ask(_is_packed, name)

    def offset(self, name: str) -> Any:
        """Where a tensor's binding begins in its resource, in bytes."""
        return self.ask(_offset, name)

    def in_place(self) -> Any:
        """1 where an output lies where an input does, else 0."""
        return self.ask(_in_place)


class Situation(Measured):
    """A dispatch, or the one that a case will be."""

    def __init__(
        self, desc: OperatorDesc, offsets: Callable[[], Mapping[str, int]], inputs: Callable[[], Inputs], in_place: bool
    ) -> None:
        self.desc = desc
        self.shares = in_place
        self._offsets, self._inputs = offsets, inputs

    def ask(self, measure: Callable[..., int], *of: str | int) -> int:
        """The measure of this dispatch."""
        return measure(self, *of)

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """Where each tensor's binding begins in its resource, in bytes."""
        return self._offsets()

    def inputs(self) -> Inputs:
        """The inputs' elements by tensor name, packed, made anew each time."""
        return self._inputs()

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What the inputs hold, by tensor name."""
        return {name: content_of(array) for name, array in self.inputs().items()}


@dataclass(frozen=True, slots=True)
class Content:
    """Elements: whether some are negative, some are zero, all are equal, and the largest absolute value of those that are not NaN."""

    negative: bool
    zero: bool
    alike: bool
    largest: float


def content_of(array: Array) -> Content:
    """The content of an array with elements."""
    with np.errstate(invalid="ignore"):
        x = array.astype(np.float64)
        largest = float(np.max(np.abs(x), initial=0.0, where=~np.isnan(x)))
        return Content(bool((x < 0).any()), bool((x == 0).any()), bool((x == x.reshape(-1)[0]).all()), largest)


class Situations(Measured):
    """Many dispatches. Each measure is a column, with a number a dispatch."""

    def __init__(self, every: Sequence[Situation]) -> None:
        self.every = every
        self._columns: dict[tuple[object, ...], NDArray[np.int64]] = {}

    def ask(self, measure: Callable[..., int], *of: str | int) -> NDArray[np.int64]:
        """The measure of each dispatch."""
        key = (measure, *of)
        if key not in self._columns:
            self._columns[key] = np.fromiter((measure(one, *of) for one in self.every), np.int64, len(self.every))
        return self._columns[key]


# The measures


def _rank(situation: Situation, name: str) -> int:
    tensor = situation.desc.find(name)
    return NONE if tensor is None else tensor.DimensionCount


def _size(situation: Situation, name: str, at: int) -> int:
    tensor = situation.desc.find(name)
    return NONE if tensor is None else _value_at(tensor.sizes, at)


def _value_at(row: Sequence[int], at: int) -> int:
    return row[at] if -len(row) <= at < len(row) else NONE


def _count(situation: Situation, name: str) -> int:
    tensor = situation.desc.find(name)
    return NONE if tensor is None else tensor.count


def _stride(situation: Situation, name: str, at: int) -> int:
    tensor = situation.desc.find(name)
    return NONE if tensor is None or _value_at(tensor.sizes, at) <= 1 else _value_at(tensor.effective_strides, at)


def _is_packed(situation: Situation, name: str) -> int:
    tensor = situation.desc.find(name)
    if tensor is None:
        return NONE
    pairs = zip(tensor.sizes, tensor.effective_strides, packed_strides(tensor.sizes), strict=True)
    return int(all(size == 1 or one == other for size, one, other in pairs))


def _offset(situation: Situation, name: str) -> int:
    return situation.offsets.get(name, NONE)


def _in_place(situation: Situation) -> int:
    return int(situation.shares)


def of_case(case: Case) -> Situation:
    """The situation that a case makes."""
    outputs = output_names(case.operator, case.desc)
    in_place = any(name in outputs for name in case.in_place)

    def offsets() -> Mapping[str, int]:
        return {name: place.begin + place.offset for name, place in places(case).items()}

    return Situation(case.desc, offsets, lambda: case_inputs(case), in_place)
