"""Makes a wrong dispatch of a client smaller, as long as it stays valid and wrong: sizes are cut one after the other, and its data with them.

The sizes are those of the symbols in the operator's shapes: of each, 1 and other small ones are tried, then parts, at either end of the data. What an
attribute says stays as the client had it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.client.replay.flow import Step
from dmlcts.conformance.client.replay.judging import Judged
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.sizes import Sizes, solve_sizes
from dmlcts.reports.record.record import FAIL
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.rules.symbols import Symbols, cuts

Array = NDArray[Any]

MOST_TRIES, MOST_SECONDS = 120, 20.0
"""So often, and for so long at most, is a smaller one tried."""

SMALL = (1, 2, 3, 4, 8, 16)
"""The sizes that are tried first."""


def smaller(found: Judged, again: Callable[[Step], Judged]) -> Judged:
    """The smallest that was found of a step that failed: the step itself where nothing smaller fails. ``again`` judges a step."""
    step = found.step
    if not found.is_failure or step.desc is None or next(iter(violations(load(step.desc.type), step.desc)), None):
        return found
    tries, end = 0, monotonic() + MOST_SECONDS
    is_new = True
    while is_new:
        is_new = False
        for candidate in _simpler(found.step):
            if tries >= MOST_TRIES or monotonic() > end:
                return found
            tries += 1
            judged = again(candidate)
            if judged.result.status == FAIL and not _is_undefined(judged, found):
                found, is_new = judged, True
                break
    return found


def _is_undefined(judged: Judged, before: Judged) -> bool:
    """Whether its inputs now define no result, which they did before."""
    return len(judged.notes) > len(before.notes)


def _simpler(step: Step) -> Iterator[Step]:
    """The steps that are one cut smaller, the smallest of each symbol first."""
    assert step.desc is not None
    for cut in cuts(load(step.desc.type), step.desc, SMALL):
        yield from _cut_step(step, cut.symbols)


def _cut_step(step: Step, symbols: Symbols) -> Iterator[Step]:
    """The step with these sizes of symbols, its data taken from the low and from the high end. None where the sizes give no valid desc."""
    assert step.desc is not None
    operator = load(step.desc.type)
    run = next(tensor for _, tensor in step.desc.tensors()).sizes
    try:
        desc = _with_sizes(step.desc, solve_sizes(operator, step.desc, run, symbols))
        if desc == step.desc or next(iter(violations(operator, desc)), None):
            return
    except (NotGenerable, KeyError, *FAILURES):
        return
    for is_low in (True, False):
        arrays = {name: _end(array, desc.tensor(name).sizes, is_low) for name, array in step.inputs.items()}
        inputs = {name: array for name, array in arrays.items() if array is not None}
        if len(inputs) == len(arrays):
            yield replace(step, desc=desc, inputs=inputs, captured={})


def _with_sizes(desc: OperatorDesc, sizes: Mapping[str, Sizes]) -> OperatorDesc:
    """The desc with other sizes. Strides stay: what was broadcast or lay apart still does."""
    return desc.with_tensors({name: replace(desc.tensor(name), sizes=own, total_size=None) for name, own in sizes.items()})


def _end(array: Array, sizes: Sizes, is_low: bool) -> Array | None:
    """The low or the high end of an array; None if it would have to grow."""
    if array.ndim != len(sizes) or any(new > old for new, old in zip(sizes, array.shape, strict=True)):
        return None
    ends = zip(sizes, array.shape, strict=True)
    return np.ascontiguousarray(array[tuple(slice(0, new) if is_low else slice(old - new, old) for new, old in ends)])
