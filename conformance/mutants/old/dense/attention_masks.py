"""Faults of attention's masks: each type misread, and what is done to the scores that are masked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dmlcts.conformance.mutants.old.dense.attention_parts import (
    KEY_LENGTHS,
    KEY_RANGES,
    RIGHT,
    SEGMENTS,
    TRUTHS,
    Steps,
    View,
    filled,
    hidden,
    masked,
    numbers_of_segments,
    of,
    outside,
    outside_segments,
    scored,
)
from dmlcts.conformance.mutants.old.dense.attention_scores import like_first, transposed
from dmlcts.conformance.mutants.old.fault import Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.model import DOCUMENTED, MEASURED

Hidden = Callable[[View], Array]


def _hidden(step: Hidden) -> Steps:
    return replace(RIGHT, hidden=step)


def _changed(change: Callable[[Array], Array]) -> Steps:
    """What is hidden, changed."""
    return _hidden(lambda view: change(hidden(view)))


# What is done to the scores


def _set(view: View, product: Array, bias: Array, hides: Array) -> Array:
    return np.where(hides > 0, view.fill, view.scale * product + bias)


def _with_fill(fill: Callable[[View], float]) -> Steps:
    """With another filter value."""

    def step(view: View, product: Array, bias: Array, hides: Array) -> Array:
        return scored(replace(view, desc=view.desc.with_fields(MaskFilterValue=fill(view))), product, bias, hides)

    return replace(RIGHT, scored=step)


def _beside_bias(view: View, product: Array, bias: Array, hides: Array) -> Array:
    return view.scale * product + bias + filled(view, hides)


def _in_place_of_bias(view: View, product: Array, bias: Array, hides: Array) -> Array:
    return view.scale * product + np.where(hides > 0, filled(view, hides), bias)


def _multiplied(view: View, product: Array, bias: Array, hides: Array) -> Array:
    return (view.scale * product + bias) * np.where(hides > 0, 0.0, 1.0)


_ANY: Mapping[str, tuple[str, Steps]] = {
    "ignored": ("takes no notice of the mask", _changed(lambda hides: 0 * hides)),
    "inverted": ("masks what is to be seen, and shows what is masked", _changed(lambda hides: 1 - hides)),
    "filter-value-subtracted": ("subtracts MaskFilterValue", _with_fill(lambda view: -view.fill)),
    "filter-value-of-1": ("adds -1 to what is masked", _with_fill(lambda view: -1.0)),
    "multiplied": ("multiplies the scores by 0 where they are masked", replace(RIGHT, scored=_multiplied)),
    "of-first-batch": ("masks as the first batch says", _changed(like_first(0))),
    "of-last-batch": ("masks as the last batch says", _changed(lambda hides: like_first(0)(hides[::-1]))),
    "of-next-batch": ("masks as the next batch says", _changed(lambda hides: np.roll(hides, -1, axis=0))),
    "keys-reversed": ("masks the keys from the last on", _changed(lambda hides: hides[..., ::-1])),
    "from-next-key": ("masks the key before", _changed(lambda hides: np.roll(hides, -1, axis=-1))),
}
"""By name, before which the mask type stands."""

_TRUTHS: Mapping[str, tuple[str, Steps]] = {
    "truth-set": ("sets scores to MaskFilterValue, and does not add it", replace(RIGHT, scored=_set)),
    "truth-as-infinity": ("hides what is masked wholly, whatever MaskFilterValue is", _with_fill(lambda view: -np.inf)),
    "truth-as-10000": ("adds -10000 whatever MaskFilterValue is", _with_fill(lambda view: -10000.0)),
    "truth-transposed": ("reads the mask by keys and queries", _changed(lambda hides: transposed(hides))),
    "truth-of-first-head": ("masks all heads as the first", _changed(like_first(1))),
    "truth-of-next-head": ("masks as for the next head", _changed(lambda hides: np.roll(hides, -1, axis=1))),
    "truth-heads-first": (
        "reads the mask by heads, then batches",
        _changed(lambda hides: hides.swapaxes(0, 1).reshape(hides.shape)),
    ),
    "truth-of-first-query": ("masks for all queries what is masked for the first", _changed(like_first(2))),
    "truth-queries-reversed": ("masks the queries from the last on", _changed(lambda hides: hides[:, :, ::-1])),
    "truth-not-of-past": (
        "masks nothing of the past",
        _hidden(lambda view: np.where(np.arange(view.keys) < view.past, 0, hidden(view))),
    ),
    "truth-of-new-first": (
        "masks as if the past stood behind",
        _hidden(lambda view: np.roll(hidden(view), view.past, axis=-1)),
    ),
    "truth-and-no-position-bias": (
        "puts what it masks in place of the position bias",
        replace(RIGHT, scored=_in_place_of_bias),
    ),
    "truth-by-causality": (
        "hides later keys beside those that are masked",
        _hidden(lambda view: np.maximum(hidden(view), np.arange(view.keys) > np.arange(view.queries)[:, None])),
    ),
}

_COUNTS: Mapping[str, tuple[str, Steps]] = {
    "truth-any": ("takes all but 0 for 1", _changed(lambda hides: (hides == 1).astype(np.float64))),
    "truth-of-1": ("takes all but 1 for 0", _changed(lambda hides: (hides != 0).astype(np.float64))),
}


def _between(change: Callable[[View, Array, Array], tuple[Array, Array]]) -> Steps:
    """With other starts and ends of keys, made of the right ones."""

    def step(view: View) -> Array:
        ends = view.ends[: view.batch]
        starts = view.ends[view.batch :] if view.kind == KEY_RANGES else np.zeros_like(ends)
        return outside(view, *change(view, starts, ends))

    return _hidden(step)


def _of_pairs(view: View, starts: Array, ends: Array) -> tuple[Array, Array]:
    """Ends and starts of a batch beside each other."""
    pairs = view.ends.reshape(-1, 2) if view.kind == KEY_RANGES else np.stack([ends, starts], axis=1)
    return pairs[:, 1], pairs[:, 0]


_LENGTHS: Mapping[str, tuple[str, Steps]] = {
    "length-one-more": ("sees a key more than the length", _between(lambda view, starts, ends: (starts, ends + 1))),
    "length-one-less": ("sees a key less than the length", _between(lambda view, starts, ends: (starts, np.maximum(ends - 1, 1)))),
    "length-as-start": ("sees the keys from the length on", _between(lambda view, starts, ends: (ends, 0 * ends + view.keys))),
    "length-from-end": (
        "sees as many of the last keys",
        _between(lambda view, starts, ends: (view.keys - ends, 0 * ends + view.keys)),
    ),
    "length-of-masked": ("hides as many of the last keys", _between(lambda view, starts, ends: (starts, view.keys - ends))),
    "length-of-first": (
        "takes the first batch's length for all",
        _between(lambda view, starts, ends: (starts, 0 * ends + ends[0])),
    ),
    "lengths-reversed": ("takes the batches' lengths from the last on", _between(lambda view, starts, ends: (starts, ends[::-1]))),
    "lengths-cumulative": (
        "takes lengths for ends in all batches together",
        _between(lambda view, starts, ends: (starts, ends - np.arange(view.batch) * view.keys)),
    ),
    "length-as-queries": (
        "hides the last queries, and no keys",
        _hidden(lambda view: (np.arange(view.queries)[:, None] >= view.ends[:, None, None, None]).astype(np.float64)),
    ),
}

_RANGES: Mapping[str, tuple[str, Steps]] = {
    "ranges-exchanged": ("takes the starts first, then the ends", _between(lambda view, starts, ends: (ends, starts))),
    "range-beside": ("takes each batch's end and start to stand beside each other", _between(_of_pairs)),
    "range-start-ignored": ("takes no notice of the starts", _between(lambda view, starts, ends: (0 * starts, ends))),
    "range-end-ignored": ("takes no notice of the ends", _between(lambda view, starts, ends: (starts, 0 * ends + view.keys))),
    "range-end-seen": ("sees the key at the end", _between(lambda view, starts, ends: (starts, ends + 1))),
    "range-start-hidden": ("hides the key at the start", _between(lambda view, starts, ends: (starts + 1, ends))),
    "range-with-length": (
        "takes an end for a length from the start on",
        _between(lambda view, starts, ends: (starts, starts + ends)),
    ),
    "range-start-of-first": ("takes the first start for all", _between(lambda view, starts, ends: (0 * starts + starts[0], ends))),
    "range-end-of-first": ("takes the first end for all", _between(lambda view, starts, ends: (starts, 0 * ends + ends[0]))),
    "range-hidden": (
        "hides the range, and shows the rest",
        _hidden(lambda view: 1 - outside(view, view.ends[view.batch :], view.ends[: view.batch])),
    ),
}

_FROM_NEW: Mapping[str, tuple[str, Steps]] = {
    "keys-count-from-new": (
        "counts keys from the first that is not of the past, which it never masks",
        _between(lambda view, starts, ends: (np.where(starts > 0, starts + view.past, 0), ends + view.past)),
    ),
}


def _segments(change: Callable[[View, Array, Array, Array], tuple[Array, Array, Array]], apart: bool = True) -> Steps:
    """With other lengths, starts of queries and starts of keys."""
    return _hidden(lambda view: outside_segments(view, *change(view, *numbers_of_segments(view)), apart=apart))


def _until_next(view: View, lengths: Array, queries: Array, keys: Array) -> tuple[Array, Array, Array]:
    ends = view.ends[2 * view.batch + 2 :]
    return ends - keys, queries, keys


def _starts_exchanged(view: View, lengths: Array, queries: Array, keys: Array) -> tuple[Array, Array, Array]:
    numbers = view.ends[view.batch :]
    return lengths, numbers[view.batch + 1 :], numbers[: view.batch]


_SEGMENTS: Mapping[str, tuple[str, Steps]] = {
    "segment-lengths-ignored": ("sees keys up to the next batch's start", _segments(_until_next)),
    "segment-starts-exchanged": ("takes the starts of keys before those of queries", _segments(_starts_exchanged)),
    "segments-in-batch": (
        "counts positions anew in each batch",
        _segments(lambda view, lengths, queries, keys: (lengths, queries, keys), apart=False),
    ),
    "segment-of-any-query": (
        "takes no notice of where the queries begin",
        _segments(lambda view, lengths, queries, keys: (lengths, np.arange(view.batch + 1) * view.queries, keys)),
    ),
    "segment-keys-at-first": (
        "takes no notice of where the keys begin",
        _segments(lambda view, lengths, queries, keys: (lengths, queries, np.arange(view.batch) * view.keys)),
    ),
    "segment-length-one-more": (
        "sees a key more than the length",
        _segments(lambda view, lengths, queries, keys: (lengths + 1, queries, keys)),
    ),
    "segment-length-as-end": (
        "takes the length for an end from a batch's first key on",
        _segments(lambda view, lengths, queries, keys: (lengths + np.arange(view.batch) * view.keys - keys, queries, keys)),
    ),
    "segment-last-query-open": (
        "takes the last segment of queries to reach the end",
        _segments(lambda view, lengths, queries, keys: (lengths, np.append(queries[:-1], view.batch * view.queries), keys)),
    ),
    "segment-set": ("sets scores to MaskFilterValue, and does not add it", replace(RIGHT, scored=_set)),
    "segment-in-place-of-bias": (
        "puts what it masks in place of the position bias",
        replace(RIGHT, scored=_in_place_of_bias),
    ),
    "segments-of-zero": (
        "masks as KEY_SEQUENCE_LENGTH does",
        _hidden(lambda view: outside(view, np.zeros(view.batch, np.int64), view.ends[: view.batch])),
    ),
}

_ADDED: Mapping[str, tuple[str, Steps]] = {
    "range-set": ("sets scores outside to MaskFilterValue, and does not add it", replace(RIGHT, scored=_set)),
    "range-beside-position-bias": ("adds MaskFilterValue outside, beside the position bias", replace(RIGHT, scored=_beside_bias)),
    "range-as-infinity": ("hides what is outside wholly, whatever MaskFilterValue is", _with_fill(lambda view: -np.inf)),
}

_KINDS = {
    "truth": (TRUTHS, DOCUMENTED),
    "length": (KEY_LENGTHS, DOCUMENTED),
    "range": (KEY_RANGES, DOCUMENTED),
    "segment": (SEGMENTS, MEASURED),
}

MASKS: Mapping[str, Fault] = {
    **{
        f"{kind}-{name}": Fault(f"{does}, where its type is {mask}", of(steps), basis=basis, when=masked(mask))
        for kind, (mask, basis) in _KINDS.items()
        for name, (does, steps) in _ANY.items()
    },
    **{name: Fault(does, of(steps), when=masked(TRUTHS)) for name, (does, steps) in _TRUTHS.items()},
    **{name: Fault(does, of(steps), basis=MEASURED, when=masked(TRUTHS)) for name, (does, steps) in _COUNTS.items()},
    **{name: Fault(does, of(steps), when=masked(KEY_LENGTHS)) for name, (does, steps) in _LENGTHS.items()},
    **{name: Fault(does, of(steps), when=masked(KEY_RANGES)) for name, (does, steps) in _RANGES.items()},
    **{name: Fault(does, of(steps), basis=MEASURED, when=masked(SEGMENTS)) for name, (does, steps) in _SEGMENTS.items()},
    **{
        name: Fault(does, of(steps), basis=MEASURED, when=masked(KEY_LENGTHS, KEY_RANGES))
        for name, (does, steps) in {**_ADDED, **_FROM_NEW}.items()
    },
}
"""Faults of masks."""
