"""What implementations of attention get wrong in which keys are attended to: masks, the past, and heads that share keys.

MULTIHEAD_ATTENTION1 alone has the last, and buffers that keys and values are kept in. Kinds of masks go by their first words here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.attention import (
    BiasSizes,
    Change,
    Rows,
    Stages,
    bias_read,
    change_arguments,
    faults_of,
    has,
)
from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Inputs, Table, Value, Where
from dmlcts.reference.operators.attention.kv_cache import past_lengths
from dmlcts.reference.operators.attention.masks import Mask, Sizes, causal
from dmlcts.reference.operators.attention.operands import Estimate
from dmlcts.reference.registry import compute
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc

# Masks: how often MaskFilterValue counts, (batch, heads or 1, queries or 1, keys)


def _masks(change: Callable[[Mask], Mask]) -> Stages:
    return {"attention.mask": lambda right, *args: None if (mask := right(*args)) is None else change(mask)}


def _counts(change: Change) -> Stages:
    return _masks(lambda mask: replace(mask, count=change(mask.count)))


def _fill_masks(value: float) -> Stages:
    return _masks(lambda mask: replace(mask, fill=value))


def _drop_scores(products: Any, scale: float, bias: Array | None, mask: Mask, *rest: Any) -> tuple[Any, ...]:
    """Scores of 0 where they are masked, to which MaskFilterValue is added."""
    seen = mask.count <= 0
    return replace(products, value=products.value * seen), scale, None if bias is None else bias * seen, mask, *rest


def _of_past(change: Callable[[Array, int], Array]) -> Stages:
    """Other pairs masked, by how many keys are of the past."""

    def instead(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
        mask: Mask = right(xp, desc, inputs, sizes)
        return replace(mask, count=change(mask.count, inputs["PastKeyTensor"].shape[-2] if "PastKeyTensor" in inputs else 0))

    return {"attention.mask": instead}


def _ranges(change: Callable[[Array, Array, Sizes], tuple[Array, Array]]) -> Stages:
    """Other starts and ends of the keys that are seen, one for each batch."""
    return change_arguments("attention.outside_range", lambda starts, ends, sizes: (*change(starts, ends, sizes), sizes))


def _segments(change: Callable[[Array, Array, Array, Sizes], tuple[Array, Array, Array]]) -> Stages:
    """Other lengths of keys (``a``), starts of queries with the last end (``b``), and starts of keys (``c``)."""
    return change_arguments("attention.outside_segments", lambda a, b, c, sizes: (*change(a, b, c, sizes), sizes))


def _in_each_batch(right: Instead, xp: Any, lengths: Array, queries: Array, keys: Array, sizes: Sizes) -> Array:
    apart = [(lengths[b : b + 1], queries[b : b + 2], keys[b : b + 1]) for b in range(sizes.batch)]
    return np.concatenate([right(xp, *numbers, replace(sizes, batch=1)) for numbers in apart])


def _from_new(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    mask = inputs["MaskTensor"]
    return {**inputs, "MaskTensor": mask + (mask > 0) * np.int32(inputs["PastKeyTensor"].shape[-2])}


def _has_mask(*kinds: str) -> Where:
    return lambda desc: desc.fields["MaskType"] in kinds


_SET = change_arguments("attention.score", _drop_scores)
_IN_PLACE_OF_BIAS = _masks(lambda mask: replace(mask, replaces_bias=True))
_BESIDE_BIAS = _masks(lambda mask: replace(mask, replaces_bias=False))
_BOOLEAN, _LENGTH, _RANGE, _SEGMENTS = (
    "BOOLEAN",
    "KEY_SEQUENCE_LENGTH",
    "KEY_SEQUENCE_END_START",
    "KEY_QUERY_SEQUENCE_LENGTH_START_END",
)

_BOOLEAN_ROWS: Rows = {
    "set": ("sets scores to MaskFilterValue, and does not add it", _SET),
    "as-infinity": ("hides keys wholly, whatever MaskFilterValue is", _fill_masks(-np.inf)),
    "scaled": (
        "scales what the mask adds too",
        change_arguments("attention.score", lambda x, scale, bias, m, t: (x, scale, bias, replace(m, fill=scale * m.fill), t)),
    ),
    "not-of-past": ("masks nothing of the past", _of_past(lambda count, past: count * (np.arange(count.shape[-1]) >= past))),
    "of-new-first": ("masks as if the past stood behind", _of_past(lambda count, past: np.roll(count, past, axis=-1))),
    "in-place-of-bias": ("puts MaskFilterValue in the place of the position bias", _IN_PLACE_OF_BIAS),
    "any": ("treats all but 0 as 1", _counts(lambda count: 1.0 * (count == 1))),
    "of-1": ("treats all but 1 as 0", _counts(lambda count: 1.0 * (count != 0))),
}
_LENGTH_ROWS: Rows = {"one-more": ("sees a key more than the length", _ranges(lambda starts, ends, _: (starts, ends + 1)))}
_RANGE_ROWS: Rows = {
    "start-ignored": ("ignores the starts", _ranges(lambda starts, ends, _: (0 * starts, ends))),
    "end-seen": ("sees the key at the end", _ranges(lambda starts, ends, _: (starts, ends + 1))),
    "start-hidden": ("hides the key at the start", _ranges(lambda starts, ends, _: (starts + 1, ends))),
    "with-length": ("reads an end as a length from the start on", _ranges(lambda starts, ends, _: (starts, starts + ends))),
}
_OF_RANGES: Rows = {
    "set": ("sets scores outside to MaskFilterValue, and does not add it", _SET),
    "beside-position-bias": ("adds MaskFilterValue outside beside the position bias", _BESIDE_BIAS),
    "as-infinity": ("hides what is outside wholly, whatever MaskFilterValue is", _fill_masks(-np.inf)),
}
_SEGMENT_ROWS: Rows = {
    "set": ("sets scores to MaskFilterValue, and does not add it", _SET),
    "in-place-of-bias": ("puts MaskFilterValue in the place of the position bias", _IN_PLACE_OF_BIAS),
    "in-each-batch": ("counts positions anew in each batch", {"attention.outside_segments": _in_each_batch}),
    "last-query-open": ("ignores the last end", _segments(lambda a, b, c, s: (a, np.append(b[:-1], s.batch * s.queries), c))),
}

MASKS: Faults = {
    **faults_of(_BOOLEAN_ROWS, "boolean-", _has_mask(_BOOLEAN)),
    **faults_of(_LENGTH_ROWS, "length-", _has_mask(_LENGTH)),
    **faults_of(_RANGE_ROWS, "range-", _has_mask(_RANGE)),
    **faults_of(_OF_RANGES, "range-", _has_mask(_LENGTH, _RANGE)),
    **faults_of(_SEGMENT_ROWS, "segment-", _has_mask(_SEGMENTS)),
    "range-from-new": Fault(
        "counts keys from the first that is not of the past, which it never masks",
        inputs=_from_new,
        when=lambda desc: _has_mask(_LENGTH, _RANGE)(desc) and has("PastKeyTensor")(desc),
    ),
}


# Past and new keys and values, and what is given back of them: (batch, heads, positions, elements)


def _values_behind(right: Instead, xp: Any, part: str, past: Array | None, new: Estimate) -> Estimate:
    found: Estimate = right(xp, part, past, new)
    return found if past is None or part != "Value" else replace(found, value=np.roll(found.value, -past.shape[-2], axis=2))


def _past_biased(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    key, value = inputs["PastKeyTensor"], inputs["PastValueTensor"]
    width, values = key.shape[-3] * key.shape[-1], value.shape[-3] * value.shape[-1]
    _, of_key, of_value = np.split(inputs["BiasTensor"].reshape(-1), [-width - values, -values])
    added = (part.reshape(key.shape[-3], 1, -1) for part in (of_key, of_value))
    return {**inputs, "PastKeyTensor": key + next(added), "PastValueTensor": value + next(added)}


def _present(part: str) -> Faults:
    name = f"OutputPresent{part}Tensor"

    def without_bias(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        return compute(desc, {**inputs, "BiasTensor": 0 * inputs["BiasTensor"]})[name].value

    rows: Mapping[str, tuple[str, Value, Where]] = {
        "before-heads": (
            "with positions before heads",
            lambda desc, inputs, right: right.swapaxes(-3, -2).reshape(right.shape),
            has(name),
        ),
        "without-bias": ("without the bias", without_bias, has(name, "BiasTensor")),
    }
    return {
        f"{name}/{label}": Fault(f"gives {name} {does}", value, when=when, output=name)
        for label, (does, value, when) in rows.items()
    }


PAST: Faults = {
    "past-value-behind": Fault(
        "puts past values behind the new ones", stages={"attention.concatenated": _values_behind}, when=has("PastKeyTensor")
    ),
    "past-biased": Fault("adds the bias to the past too", inputs=_past_biased, when=has("PastKeyTensor", "BiasTensor")),
    **_present("Key"),
    **_present("Value"),
}


# Heads that share keys and values


def _key_heads(choose: Callable[[Array, int, int], Array]) -> Stages:
    """Each query head with the head of keys chosen by its index, how many query heads share one, and how many those are."""

    def change(mine: Estimate, shared: Estimate) -> tuple[Estimate, Estimate]:
        heads, count = mine.value.shape[1], shared.value.shape[1]
        chosen = choose(np.arange(heads), heads // count, count)
        return mine, Estimate(shared.value[:, chosen], shared.error[:, chosen])

    return {**change_arguments("attention.product", change), **change_arguments("attention.weigh", change)}


def _bias_of_all_heads(elements: Array, sizes: BiasSizes) -> Array:
    starts = np.cumsum([0, *(sizes[0][0] * width for _, width in sizes)])
    return np.concatenate([np.roll(elements, -at)[: np.prod(size)] for at, size in zip(starts, sizes, strict=False)])


def _by_key_head(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    """The position bias of a query head, read by its head of keys."""
    heads, shared = (int(str(desc.fields[field])) for field in ("QueryHeadCount", "KeyValueHeadCount"))
    bias = np.take(inputs["RelativePositionBiasTensor"], np.arange(heads) // (heads // shared), axis=-3)
    return {**inputs, "RelativePositionBiasTensor": bias}


def _is_grouped(desc: OperatorDesc) -> bool:
    return desc.fields["QueryHeadCount"] != desc.fields["KeyValueHeadCount"]


_GROUPS: Rows = {
    "tiled": ("uses the heads of keys in turns", _key_heads(lambda index, group, count: index % count)),
    "of-last": ("uses the head of keys of its own number, or the last", _key_heads(lambda index, _, n: np.minimum(index, n - 1))),
    "bias-of-all-heads": ("reads the bias as if keys had as many heads as queries", bias_read(_bias_of_all_heads)),
}

GROUPS: Faults = {
    **faults_of(_GROUPS, "groups-", _is_grouped),
    "groups-position-bias-of-key-head": Fault(
        "reads the position bias by heads of keys",
        inputs=_by_key_head,
        when=lambda desc: _is_grouped(desc) and has("RelativePositionBiasTensor")(desc),
    ),
}


# Kept in place


def _zeros_behind(part: str, old: Estimate, new: Estimate, starts: Array) -> tuple[Any, ...]:
    kept = (np.arange(old.value.shape[2]) < starts[:, None])[:, None, :, None]
    return part, replace(old, value=old.value * kept), new, starts


def _causal(change: Change) -> Stages:
    """Keys shown as behind a past of other lengths."""
    return change_arguments("attention.causal", lambda lengths, sizes: (change(lengths), sizes))


def _all_new_seen(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
    """What is hidden from the last query of past and new keys together, hidden from each."""
    keys = next(x.shape[1 if "Stacked" in name else -2] for name, x in inputs.items() if "Key" in name)
    mask: Mask = right(xp, desc, inputs, sizes)
    return replace(mask, count=causal(np, past_lengths(xp, inputs) + keys - 1, replace(sizes, queries=1)))


_CACHE: Rows = {
    "by-first-batch": (
        "writes what is new where the first batch's belongs",
        change_arguments("attention.written", lambda part, old, new, starts: (part, old, new, 0 * starts + starts[0])),
    ),
    "zeros-behind": ("fills what is behind with zeros", change_arguments("attention.written", _zeros_behind)),
    "all-new-seen": ("shows all new keys to each query", {"attention.mask": _all_new_seen}),
    "causal-for-first-batch": ("hides keys as for the first batch", _causal(lambda lengths: 0 * lengths + lengths[0])),
    "next-key-seen": ("shows the key behind a query's own position", _causal(lambda lengths: lengths + 1)),
    "hidden-wholly": ("hides keys wholly, whatever MaskFilterValue is", _fill_masks(-np.inf)),
}
_in_place = has("PastSequenceLengthsTensor")


def _not_written(name: str) -> Fault:
    return Fault(f"leaves {name} as it was", lambda desc, inputs, right: inputs[name], when=_in_place, output=name)


CACHE: Faults = {
    **faults_of(_CACHE, "cache-", _in_place),
    **{f"{name}/not-written": _not_written(name) for name in ("OutputPresentKeyTensor", "OutputPresentValueTensor")},
}

FAULTS: Table = {"MULTIHEAD_ATTENTION*": {**MASKS, **PAST}, "MULTIHEAD_ATTENTION1": {**GROUPS, **CACHE}}
