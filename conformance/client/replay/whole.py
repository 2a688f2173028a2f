"""The outputs of a graph as a whole, beside those of its nodes one by one.

No tolerance is written down for a graph: errors of its nodes flow on. So the nodes are run by the reference once more, with each
intermediate result changed by chance, about as much as an implementation's own rounding may; a graph's outputs must not lie farther from the reference's than
a multiple of what those changes bring about. That finds a wrong node, not a badly rounded one: each node by itself is judged by its own tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.client.replay.flow import Run, Step, Whole
from dmlcts.reference.registry import reference_of
from dmlcts.spec.rules.shape import FAILURES

Array = NDArray[Any]

NOISE, PASSES, MARGIN = 4.0, 2, 16.0
"""How large the changes are, in steps of the type; how often the nodes are run with them; how much farther than they lead an output may lie."""


@dataclass(frozen=True, slots=True)
class WholeVerdict:
    """A graph of an execution. ``worst`` is the largest difference of an output, relative to what is allowed; None where none is judged."""

    execution: int
    place: int
    worst: float | None
    message: str

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.worst is None or self.worst <= 1


def judge_whole(whole: Whole) -> list[WholeVerdict]:
    """A verdict for each output that was captured."""
    number = whole.execution.number
    if whole.is_drawn or not whole.captured:
        return []
    if all(_same(whole.made[place], array) for place, array in whole.captured.items()):
        return [WholeVerdict(number, place, 0.0, "bit by bit what its nodes give one by one") for place in whole.captured]
    right = whole.again(_reference(0.0, 0))
    noisy = [whole.again(_reference(NOISE, seed)) for seed in range(1, PASSES + 1)]
    return [_verdict(number, place, array, right[place], [one[place] for one in noisy]) for place, array in whole.captured.items()]


def _verdict(number: int, place: int, actual: Array, right: Array, noisy: list[Array]) -> WholeVerdict:
    if right.dtype.kind != "f":
        return _integers(number, place, int((actual != right).sum()), right, noisy)
    exact, seen = right.astype(np.float64), actual.astype(np.float64)
    odd = np.isfinite(exact) != np.isfinite(seen)
    if odd.any():
        return WholeVerdict(number, place, float("inf"), f"{int(odd.sum()):,} elements are finite in one and not in the other")
    exact, seen = np.nan_to_num(exact, posinf=0, neginf=0), np.nan_to_num(seen, posinf=0, neginf=0)
    spread = max(float(np.abs(np.nan_to_num(one.astype(np.float64), posinf=0, neginf=0) - exact).max(initial=0)) for one in noisy)
    step = float(np.finfo(right.dtype).eps)
    allowed = MARGIN * spread + 4 * step * np.abs(exact) + float(np.finfo(right.dtype).tiny)
    share = np.abs(seen - exact) / allowed
    worst = float(share.max(initial=0))
    at = np.unravel_index(int(share.argmax()), share.shape) if share.size else ()
    difference = f"{abs(seen[at] - exact[at]):.3g}" if share.size else "0"
    index = ", ".join(map(str, map(int, at)))
    text = f"off by {difference} at [{index}], {worst:.3g} times what small changes of intermediate results lead to"
    return WholeVerdict(number, place, worst, text)


def _integers(number: int, place: int, wrong: int, right: Array, noisy: list[Array]) -> WholeVerdict:
    """Integers are all right or wrong where no small change of a result leads to others; elsewhere, as behind a rounding, nothing is known."""
    text = f"{wrong:,} of {right.size:,} elements differ from the reference's"
    if all(_same(one, right) for one in noisy):
        return WholeVerdict(number, place, float("inf") if wrong else 0.0, text)
    return WholeVerdict(number, place, None, f"{text}; not judged, as small changes of intermediate results lead to others too")


def _reference(noise: float, seed: int) -> Run:
    """Runs steps on the reference, with their results changed by ``noise`` steps of their type at most, beside the element and beside all together."""
    backend = ReferenceBackend()

    def run(step: Step) -> Mapping[str, Array]:
        if step.desc is None or step.problem or reference_of(step.desc.type) is None:
            return {}
        try:
            outputs = backend.compute(step.desc, step.inputs)
        except (*FAILURES, KeyError, MemoryError):
            return {}
        return {name: _add_noise(array, noise, crc32(f"{seed}/{step.node}/{name}".encode())) for name, array in outputs.items()}

    return run


def _add_noise(array: Array, noise: float, seed: int) -> Array:
    if not noise or array.dtype.kind != "f":
        return array
    draw = np.random.default_rng(seed)
    values = array.astype(np.float64)
    finite = np.isfinite(values)
    usual = float(np.sqrt(np.mean(np.square(values[finite])))) if finite.any() else 0.0
    step = noise * float(np.finfo(array.dtype).eps)
    changed = values + step * (np.abs(values) + usual) * draw.uniform(-1, 1, values.shape)
    with np.errstate(over="ignore"):
        return np.where(finite, changed, values).astype(array.dtype)


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
