"""What a dispatch in a law wrote, and by how much it may be off.

Two dispatches may be off by different amounts, as an implementation chooses its code by the desc. So ``==`` between what two of them gave
holds within both of their tolerances. Each amount follows what a law does to the elements: moves, signs, sums, constant factors. What was
computed otherwise, and what is compared with a variable or a number, is compared exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.answers import computed_answers
from dmlcts.conformance.execution.judge.bounds import CLASSES, BoundInputs, local
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.generator.case.case import Case
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.abi import data_type

Array = NDArray[Any]
Error = Callable[[], Any]
"""An error is worked out only where two values differ: it needs the reference."""


class Computed(NDArrayOperatorsMixin):
    """The elements of an output, and the allowed absolute error of each."""

    def __init__(self, values: Array, error: Error) -> None:
        self.values, self.error = values, error

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The elements alone."""
        return np.array(self.values, dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, at: Any) -> Computed:
        return self.move_elements(lambda array: array[at])

    def move_elements(self, move: Callable[[Array], Array]) -> Computed:
        """The elements in other places."""
        return Computed(move(self.values), lambda: move(np.broadcast_to(self.error(), self.values.shape)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions of the elements; see the module for what becomes of the error."""
        values = getattr(ufunc, method)(*map(_plain, inputs), **options)
        both = all(isinstance(each, Computed) for each in inputs)
        if ufunc is np.equal and both:
            return values if values.all() else values | _is_near(*inputs)
        if ufunc in (np.negative, np.add, np.subtract):
            return Computed(values, lambda: sum(map(_error, inputs)))
        if ufunc in (np.maximum, np.minimum):
            return Computed(values, lambda: np.maximum(*map(_error, inputs)))
        if (
            ufunc in (np.multiply, np.true_divide)
            and not both
            and isinstance(inputs[0] if ufunc is np.true_divide else self, Computed)
        ):
            return Computed(values, lambda: np.abs(ufunc(*(_error(x) if isinstance(x, Computed) else x for x in inputs))))
        return values


def _plain(value: Any) -> Any:
    return value.values if isinstance(value, Computed) else value


def _error(value: Any) -> Any:
    return value.error() if isinstance(value, Computed) else 0.0


def _is_near(one: Computed, other: Computed) -> Array:
    found: Array = np.abs(one.values.astype(np.float64) - other.values.astype(np.float64)) <= one.error() + other.error()
    return found


def move_arguments(function: Callable[..., Array]) -> Callable[..., Any]:
    """A function of NumPy that moves the elements of its first arguments (an array, or two), for what dispatches gave as well."""

    def move(array: Any, *rest: Any) -> Any:
        if isinstance(array, Computed) and rest and isinstance(rest[0], Computed):
            other, more = rest[0], rest[1:]
            return Computed(
                function(array.values, other.values, *more),
                lambda: function(*(np.broadcast_to(each.error(), each.shape) for each in (array, other)), *more),
            )
        if isinstance(array, Computed):
            return array.move_elements(lambda values: function(values, *map(_plain, rest)))
        return function(array, *map(_plain, rest))

    return move


def computed_output(
    case: Case, name: str, inputs: Mapping[str, Array], actual: Array, values: Array, info: BackendInfo
) -> Computed:
    """What a dispatch of the case wrote to the output ``name``: ``actual``, and as the law has it ``values``."""

    tolerance, of = tolerance_of(case.operator, name, case.desc, basis=case.basis), data_type(case.desc.tensor(name).data_type)
    if tolerance.compare == "bits" or tolerance.judge in ("exact", "check") or not (of.is_float or tolerance.judge == "discrete"):
        return Computed(values, lambda: 0.0)

    def allowed_error(answer: Answer) -> Array:
        """Any error where the answer is not defined, or may be infinite or NaN."""
        bound = CLASSES[tolerance.judge](BoundInputs(actual, local(answer.value), answer, tolerance, of, info))
        found = np.zeros(actual.shape) + (bound.allowed if bound.right is None else 0.0 if bound.width is None else bound.width)
        anything = list(bound.overflow() if bound.overflow is not None else ())
        anything += [] if answer.defined is None else [~local(answer.defined)]
        anything += [] if answer.also is None else [~np.isfinite(local(answer.also))]
        for where in anything:
            found = np.where(where, np.inf, found)
        return found

    def error() -> Array:
        answers = computed_answers(case, inputs).values()
        with np.errstate(all="ignore"):
            largest: Array = np.max([allowed_error(each[name]) for each in answers], axis=0)
        return largest.reshape(values.shape)

    return Computed(values, error)
