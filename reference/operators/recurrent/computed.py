"""Numbers that an implementation has computed itself, each with what it may be off by.

What a step of a recurrent network computes is an input of the next one, so errors are carried on: through weights, products and
activations, each as far as it passes them on at the values at hand. A recurrence that forgets keeps the bound small however long the
sequence is. The documentation says nothing of precision; DirectML.dll stores FLOAT16 between its programs, and computes a long sum in parts
that it stores so (reference/shared/accumulation), as in GEMM: both are allowed here.

An error of NaN means that the number has no bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.matrix.products import parts_error
from dmlcts.reference.registry import compute
from dmlcts.reference.shared.accumulation import OVERFLOW, between_error, sum_error
from dmlcts.reference.shared.fused import HALF_LARGEST, extremes
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class WithError:
    """``value`` in float64, and the absolute ``error`` that it may have."""

    value: Array
    error: Array

    def columns(self, part: slice) -> WithError:
        """Some of the last dimension."""
        return WithError(self.value[..., part], self.error[..., part])

    def answer(self, xp: Any) -> Answer:
        """As an output, of class accumulate: its last rounding is part of the error."""
        known = xp.isfinite(self.error)
        return Answer(self.value, magnitude=xp.abs(self.value), terms=0, slack=xp.where(known, self.error, 0.0), defined=known)


@dataclass(frozen=True, slots=True)
class RunningSum:
    """A sum in the making: its exact value, the sum of its terms' absolute values, their number, and what the terms themselves are off by.

    Of numbers that are stored in between, also how many are added that are not 0, and the sum of their absolute values: products of matrices
    and biases, each a term here that consists of terms.
    """

    value: Array
    magnitude: Array
    terms: int
    error: Array | float = 0.0
    addends: Array | int = 0
    between: Array | float = 0.0

    def __add__(self, other: RunningSum) -> RunningSum:
        return RunningSum(
            self.value + other.value,
            self.magnitude + other.magnitude,
            self.terms + other.terms,
            self.error + other.error,
            self.addends + other.addends,
            self.between + other.between,
        )

    def part(self, index: Any) -> RunningSum:
        """The same of some elements."""
        arrays = (self.value, self.magnitude, self.error, self.addends, self.between)
        value, magnitude, error, addends, between = (of if isinstance(of, int | float) else of[index] for of in arrays)
        return RunningSum(value, magnitude, self.terms, error, addends, between)

    def columns(self, part: slice) -> RunningSum:
        """Some of the last dimension."""
        return self.part((..., part))


@dataclass(frozen=True, slots=True)
class Weights:
    """A matrix of exact weights, (from, to), and their absolute values."""

    value: Array
    magnitude: Array

    @classmethod
    def from_value(cls, value: Array) -> Weights:
        """With the absolute values worked out once."""
        return cls(value, abs(value))

    def columns(self, part: slice) -> Weights:
        """Those to some of the nodes."""
        return Weights(self.value[:, part], self.magnitude[:, part])


class Arithmetic:
    """Computes with such numbers. ``half``: the tensors are FLOAT16, so that any result may have been stored as that."""

    def __init__(self, xp: Any, half: bool) -> None:
        self.xp, self.half = xp, half

    def exact(self, value: Array) -> WithError:
        """An input's elements."""
        value = value.astype(self.xp.float64)
        return WithError(value, self.xp.zeros_like(value))

    def storage_error(self, value: Array, count: Array | int = 1) -> Array | float:
        """What ``count`` results are off by for having been stored, whose absolute values add up to ``value``."""
        if not self.half:
            return 0.0
        size = abs(value)
        error = between_error(self.xp, size, count)
        return error if bool((size <= HALF_LARGEST).all()) else self.xp.where(self.xp.isfinite(error), error, self.xp.nan)

    def weighted_sum(self, left: WithError, right: Weights) -> RunningSum:
        """``left @ right``."""
        value, magnitude, error = left.value @ right.value, abs(left.value) @ right.magnitude, left.error @ right.magnitude
        if not self.half:
            return RunningSum(value, magnitude, len(right.value), error)
        error = error + self.storage_error(value)
        parts = parts_error(self.xp, left.value, right.value)
        if parts is not None:
            error = error + self.xp.where(self.xp.isfinite(parts), parts, self.xp.nan)
        return RunningSum(value, magnitude, len(right.value), error, *self._addend_counts(value))

    def term(self, value: WithError | Array) -> RunningSum:
        """A term by itself."""
        if isinstance(value, WithError):
            return RunningSum(value.value, abs(value.value), 1, value.error, *self._addend_counts(value.value))
        return RunningSum(value, abs(value), 1, 0.0, *self._addend_counts(value))

    def _addend_counts(self, value: Array) -> tuple[Array | int, Array | float]:
        """How many numbers an addend is that count, and their absolute values."""
        return ((value != 0).astype(self.xp.int64), abs(value)) if self.half else (0, 0.0)

    def total(self, terms: RunningSum) -> WithError:
        """A sum that is done, in any order."""
        error = sum_error(self.xp, terms.magnitude, terms.terms) + terms.error
        error = self.xp.where(terms.magnitude < OVERFLOW, error, self.xp.nan)
        if not self.half:
            return WithError(terms.value, error)
        sums = self.xp.maximum(terms.addends - 2, 0)  # all but the last, in any order
        # None of them is larger than the positive addends together, or the negative ones.
        largest = (terms.between + abs(terms.value)) / 2
        error = error + self.storage_error(largest * sums, sums)
        return WithError(terms.value, error + self.storage_error(abs(terms.value) + error))

    def activate(self, activation: OperatorDesc, argument: WithError) -> WithError:
        """The activation of an argument, and how far off it may be: the least and the largest value within the argument's error decide."""
        tried = [argument.value, *extremes(self.xp, activation, argument.value - argument.error, argument.value + argument.error)]
        answer = compute(activation, {"InputTensor": self.xp.stack(tried)})["OutputTensor"]
        value = answer.value[0]
        error = self._rounding_error(value, abs(answer.value[1:] - value).max(axis=0))
        if answer.slack is not None:  # that of an end may be the largest: ELU is exact at 0, and not below
            error = error + self.xp.broadcast_to(answer.slack, answer.value.shape).max(axis=0)
        if answer.defined is not None and not bool(answer.defined.all()):
            error = self.xp.where(answer.defined.all(axis=0), error, self.xp.nan)
        return WithError(value, error)

    def product(self, one: WithError, other: WithError) -> WithError:
        """The elements' product."""
        value = one.value * other.value
        error = abs(one.value) * other.error + one.error * abs(other.value) + one.error * other.error
        return WithError(value, self._rounding_error(value, error))

    def rest(self, share: WithError) -> WithError:
        """``1 - share``."""
        value = 1.0 - share.value
        return WithError(value, self._rounding_error(value, share.error))

    def mix(self, share: WithError, one: WithError, other: WithError) -> WithError:
        """``share * one + (1 - share) * other``, or the same as ``other + share * (one - other)``.

        What a share takes of the one it gives of the other, so that its error counts for their difference alone, and an error of either
        counts for its share: the derivatives at the values at hand, and the product of the errors. Besides each form rounds its own steps.
        """
        carried = abs(share.value) * one.error + abs(1 - share.value) * other.error
        carried = carried + share.error * (abs(one.value - other.value) + one.error + other.error)
        share, one, other = (WithError(of.value, self.xp.zeros_like(of.value)) for of in (share, one, other))
        apart = one.value - other.value
        moved = self.product(share, WithError(apart, self._rounding_error(apart, self.xp.zeros_like(apart))))
        both = self.term(self.product(share, one)) + self.term(self.product(self.rest(share), other))
        sums = [self.total(replace(terms, error=terms.error + carried)) for terms in (both, self.term(other) + self.term(moved))]
        return WithError(sums[0].value, self.xp.maximum(sums[0].error, sums[1].error))

    def _rounding_error(self, value: Array, error: Array) -> Array:
        """The error of a result that is rounded, and perhaps stored."""
        error = error + ROUNDOFF * abs(value)
        return error + self.storage_error(value) if self.half else error

    def clip(self, argument: WithError, threshold: float) -> WithError:
        """The argument limited to ``[-threshold, threshold]``, and the most that it changes by within its error."""
        low, value, high = (
            self.xp.clip(argument.value + step * argument.error, -threshold, threshold) for step in (-1.0, 0.0, 1.0)
        )
        return WithError(value, self.xp.maximum(value - low, high - value))

    def repeat_number(self, number: WithError, count: int) -> WithError:
        """So many times, side by side in the last dimension."""
        return WithError(*(self.xp.concatenate([part] * count, -1) for part in (number.value, number.error)))

    def choose(self, where: Array, one: WithError, other: WithError) -> WithError:
        """The elements of ``one`` where the mask says so, else those of the other."""
        if bool(where.all()):
            return one
        return WithError(self.xp.where(where, one.value, other.value), self.xp.where(where, one.error, other.error))
