"""What implementations of attention get wrong in masks: each type misread, and what is done to the scores that are masked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.attention import (
    Change,
    Rows,
    Stages,
    first,
    following,
    has,
    read_with,
    scores,
    written_with,
)
from dmlcts.conformance.mutants.fault import Array, Fault, Inputs, Table, Where
from dmlcts.reference.attention.masks import Mask, Sizes, outside_range
from dmlcts.reference.attention.multihead import Products
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

_LENGTHS, _RANGES = "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START"
_SEGMENTS, _BOOLEAN = "KEY_QUERY_SEQUENCE_LENGTH_START_END", "BOOLEAN"


def _masked(*kinds: str) -> Where:
    """Whether the mask is of one of these types."""
    return lambda desc: desc.fields["MaskType"] in kinds


def masks(change: Callable[[Mask], Mask]) -> Stages:
    """Another mask, where there is one."""
    return {"attention.mask": lambda right, *args: None if (mask := right(*args)) is None else change(mask)}


def counts(change: Change) -> Stages:
    """Other pairs masked: how often MaskFilterValue counts for each."""
    return masks(lambda mask: replace(mask, count=change(mask.count)))


def filled(value: float) -> Stages:
    """Another value than MaskFilterValue."""
    return masks(lambda mask: replace(mask, fill=value))


def _unscored(filled: bool) -> Stages:
    """Scores that are masked are 0, or MaskFilterValue."""

    def change(x: Array, scale: float, position: Any, mask: Mask | None, _: Products) -> tuple[Array, float, Any, Mask | None]:
        seen = 1 if mask is None else mask.count <= 0
        return x * seen, scale, None if position is None else position * seen, mask if filled else None

    return scores(change)


_IN_PLACE_OF_BIAS, _BESIDE_BIAS = (masks(lambda mask, place=place: replace(mask, replaces_bias=place)) for place in (True, False))

_ANY: Rows = {
    "ignored": ("ignores the mask", counts(lambda count: 0 * count)),
    "inverted": ("masks what is to be seen, and shows what is masked", counts(lambda count: 1 - count)),
    "filter-value-of-1": ("adds -1 to what is masked", filled(-1.0)),
    "multiplied": ("multiplies scores that are masked by 0", _unscored(filled=False)),
    "of-first-batch": ("masks as the first batch says", counts(first(0))),
    "of-next-batch": ("masks as the next batch says", counts(following(0))),
    "keys-reversed": ("masks the keys from the last to the first", counts(lambda count: count[..., ::-1])),
    "from-next-key": ("masks the key before", counts(following(-1))),
}
"""By name, before which the mask type stands."""


def _of_past(change: Callable[[Array, int], Array]) -> Stages:
    """Other pairs masked, by how many keys are of the past."""

    def instead(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
        mask: Mask = right(xp, desc, inputs, sizes)
        return replace(mask, count=change(mask.count, inputs["PastKeyTensor"].shape[-2] if "PastKeyTensor" in inputs else 0))

    return {"attention.mask": instead}


def _later(count: Array) -> Array:
    return np.maximum(count, ~np.tri(*count.shape[-2:], dtype=bool))


_BOOLEAN_ROWS: Rows = {
    "boolean-set": ("sets scores to MaskFilterValue, and does not add it", _unscored(filled=True)),
    "boolean-as-infinity": ("hides what is masked wholly, whatever MaskFilterValue is", filled(-np.inf)),
    "boolean-as-10000": ("adds -10000 whatever MaskFilterValue is", filled(-10000.0)),
    "boolean-scaled": (
        "scales what the mask adds too",
        scores(lambda x, scale, position, mask, _: (x, scale, position, mask and replace(mask, fill=scale * mask.fill))),
    ),
    "boolean-transposed": ("reads the mask by keys and queries", counts(read_with(-1, -2))),
    "boolean-heads-first": ("reads the mask by heads, then batches", counts(written_with(0, 1))),
    "boolean-not-of-past": (
        "masks nothing of the past",
        _of_past(lambda count, past: np.where(np.arange(count.shape[-1]) < past, 0, count)),
    ),
    "boolean-of-new-first": (
        "masks as if the past stood behind what is new",
        _of_past(lambda count, past: np.roll(count, past, axis=-1)),
    ),
    "boolean-in-place-of-bias": (
        "puts MaskFilterValue in the place of the position bias",
        _IN_PLACE_OF_BIAS,
    ),
    "boolean-and-causal": ("hides later keys beside those that are masked", counts(_later)),
    "boolean-any": ("treats all but 0 as 1", counts(lambda count: (count == 1).astype(np.float64))),
    "boolean-of-1": ("treats all but 1 as 0", counts(lambda count: (count != 0).astype(np.float64))),
}


def _between(change: Callable[[Array, Array, Sizes], tuple[Array, Array]]) -> Stages:
    """Other starts and ends of the keys that are seen, one for each batch."""
    return {
        "attention.outside_range": lambda right, xp, starts, ends, sizes: right(xp, *change(starts, ends, sizes), sizes),
    }


def _queries_beyond(right: Instead, xp: Any, starts: Array, ends: Array, sizes: Sizes) -> Array:
    return (np.arange(sizes.queries)[:, None] >= ends[:, None, None, None]) * np.ones(sizes.keys)


_LENGTH_ROWS: Rows = {
    "length-one-more": ("sees a key more than the length", _between(lambda starts, ends, _: (starts, ends + 1))),
    "length-one-less": ("sees a key less than the length", _between(lambda starts, ends, _: (starts, np.maximum(ends - 1, 1)))),
    "length-as-start": ("sees the keys from the length on", _between(lambda starts, ends, sizes: (ends, 0 * ends + sizes.keys))),
    "length-from-end": (
        "sees as many of the last keys",
        _between(lambda starts, ends, sizes: (sizes.keys - ends, 0 * ends + sizes.keys)),
    ),
    "length-of-masked": ("hides as many of the last keys", _between(lambda starts, ends, sizes: (starts, sizes.keys - ends))),
    "lengths-reversed": (
        "reads the batches' lengths from the last to the first",
        _between(lambda starts, ends, _: (starts, ends[::-1])),
    ),
    "lengths-cumulative": (
        "reads lengths as ends in all batches together",
        _between(lambda starts, ends, sizes: (starts, ends - np.arange(sizes.batch) * sizes.keys)),
    ),
    "length-as-queries": ("hides the last queries, and no keys", {"attention.outside_range": _queries_beyond}),
}


def _pairs(starts: Array, ends: Array, sizes: Sizes) -> tuple[Array, Array]:
    """Each batch's end and start beside each other."""
    numbers = np.concatenate([ends, starts]).reshape(-1, 2)
    return numbers[:, 1], numbers[:, 0]


_RANGE_ROWS: Rows = {
    "range-exchanged": ("reads the starts first, then the ends", _between(lambda starts, ends, _: (ends, starts))),
    "range-beside": ("reads each batch's end and start beside each other", _between(_pairs)),
    "range-start-ignored": ("ignores the starts", _between(lambda starts, ends, _: (0 * starts, ends))),
    "range-end-ignored": ("ignores the ends", _between(lambda starts, ends, sizes: (starts, 0 * ends + sizes.keys))),
    "range-end-seen": ("sees the key at the end", _between(lambda starts, ends, _: (starts, ends + 1))),
    "range-start-hidden": ("hides the key at the start", _between(lambda starts, ends, _: (starts + 1, ends))),
    "range-with-length": ("reads an end as a length from the start on", _between(lambda starts, ends, _: (starts, starts + ends))),
    "range-start-of-first": ("uses the first start for all", _between(lambda starts, ends, _: (0 * starts + starts[0], ends))),
    "range-end-of-first": ("uses the first end for all", _between(lambda starts, ends, _: (starts, 0 * ends + ends[0]))),
}

_EITHER_RANGE: Rows = {
    "range-set": ("sets scores outside to MaskFilterValue, and does not add it", _unscored(filled=True)),
    "range-beside-position-bias": (
        "adds MaskFilterValue outside beside the position bias",
        _BESIDE_BIAS,
    ),
    "range-as-infinity": ("hides what is outside wholly, whatever MaskFilterValue is", filled(-np.inf)),
}


def _from_new(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    """Ends, and starts but 0, counted from the first key that is not of the past."""
    mask = inputs["MaskTensor"]
    return {**inputs, "MaskTensor": mask + (mask > 0) * np.int32(inputs["PastKeyTensor"].shape[-2])}


Segments = Callable[[Array, Array, Array, Sizes], tuple[Array, Array, Array]]


def _segments(change: Segments) -> Stages:
    """Other lengths of keys, starts of queries with the last end, and starts of keys."""
    return {
        "attention.outside_segments": lambda right, xp, lengths, queries, keys, sizes: right(
            xp, *change(lengths, queries, keys, sizes), sizes
        )
    }


def _until_next(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
    """The lengths replaced by the distance to the next start of keys."""
    numbers = inputs["MaskTensor"].copy()
    flat = numbers.reshape(-1)
    flat[: sizes.batch] = np.diff(flat[2 * sizes.batch + 1 :])
    mask: Mask = right(xp, desc, {**inputs, "MaskTensor": numbers}, sizes)
    return mask


def _starts_exchanged(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
    """The starts of keys and their end before those of queries."""
    flat, middle = inputs["MaskTensor"].reshape(-1), 2 * sizes.batch + 1
    numbers = np.concatenate([flat[: sizes.batch], flat[middle:], flat[sizes.batch : middle]])
    mask: Mask = right(xp, desc, {**inputs, "MaskTensor": numbers}, sizes)
    return mask


def _in_each_batch(right: Instead, xp: Any, lengths: Array, queries: Array, keys: Array, sizes: Sizes) -> Array:
    """Positions counted anew in each batch."""
    apart = [(lengths[b : b + 1], queries[b : b + 2], keys[b : b + 1]) for b in range(sizes.batch)]
    return np.concatenate([right(xp, *numbers, replace(sizes, batch=1)) for numbers in apart])


_SEGMENT_ROWS: Rows = {
    "segment-lengths-ignored": ("sees keys up to the next batch's start", {"attention.mask": _until_next}),
    "segment-starts-exchanged": ("reads the starts of keys before those of queries", {"attention.mask": _starts_exchanged}),
    "segments-in-batch": ("counts positions anew in each batch", {"attention.outside_segments": _in_each_batch}),
    "segment-of-any-query": (
        "ignores where the queries begin",
        _segments(lambda lengths, queries, keys, s: (lengths, np.arange(s.batch + 1) * s.queries, keys)),
    ),
    "segment-keys-at-first": (
        "ignores where the keys begin",
        _segments(lambda lengths, queries, keys, s: (lengths, queries, np.arange(s.batch) * s.keys)),
    ),
    "segment-length-one-more": (
        "sees a key more than the length",
        _segments(lambda lengths, queries, keys, s: (lengths + 1, queries, keys)),
    ),
    "segment-length-as-end": (
        "reads the length as an end from a batch's first key on",
        _segments(lambda lengths, queries, keys, s: (lengths + np.arange(s.batch) * s.keys - keys, queries, keys)),
    ),
    "segment-last-query-open": (
        "lets the last segment of queries reach the end",
        _segments(lambda lengths, queries, keys, s: (lengths, np.append(queries[:-1], s.batch * s.queries), keys)),
    ),
    "segment-set": ("sets scores to MaskFilterValue, and does not add it", _unscored(filled=True)),
    "segment-in-place-of-bias": (
        "puts MaskFilterValue in the place of the position bias",
        _IN_PLACE_OF_BIAS,
    ),
    "segment-as-lengths": (
        "masks as KEY_SEQUENCE_LENGTH does",
        {
            "attention.outside_segments": lambda right, xp, lengths, queries, keys, sizes: outside_range(
                xp, 0 * lengths, lengths, sizes
            )
        },
    ),
}

_BY_KIND = {"boolean": _BOOLEAN, "length": _LENGTHS, "range": _RANGES, "segment": _SEGMENTS}

_ROWS = (
    (_BOOLEAN_ROWS, _masked(_BOOLEAN)),
    (_LENGTH_ROWS, _masked(_LENGTHS)),
    (_RANGE_ROWS, _masked(_RANGES)),
    (_EITHER_RANGE, _masked(_LENGTHS, _RANGES)),
    (_SEGMENT_ROWS, _masked(_SEGMENTS)),
)

FAULTS: Table = {
    "MULTIHEAD_ATTENTION*": {
        **{
            f"{name}-{label}": Fault(f"{does}, where its type is {kind}", stages=stages, when=_masked(kind))
            for name, kind in _BY_KIND.items()
            for label, (does, stages) in _ANY.items()
        },
        **{label: Fault(does, stages=stages, when=when) for rows, when in _ROWS for label, (does, stages) in rows.items()},
        "range-from-new": Fault(
            "counts keys from the first that is not of the past, which it never masks",
            inputs=_from_new,
            when=lambda desc: has("PastKeyTensor")(desc) and _masked(_LENGTHS, _RANGES)(desc),
        ),
    }
}
