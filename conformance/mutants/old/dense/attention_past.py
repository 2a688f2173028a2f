"""Faults of attention's memory: keys and values of the past, and those that are given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dmlcts.conformance.mutants.old.dense.attention_parts import PARTS, RIGHT, Steps, View, biases, has, joined, of, split
from dmlcts.conformance.mutants.old.dense.attention_scores import like_first
from dmlcts.conformance.mutants.old.dense.attention_tensors import Change, next_along, none, turned
from dmlcts.conformance.mutants.old.fault import Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc


def _joined(change: Callable[[View, Array, Array, str], Array], *parts: str) -> Steps:
    """Past and new ones joined otherwise; given both."""

    def step(view: View, new: Array, part: str) -> Array:
        past = f"Past{part}Tensor"
        return (
            change(view, view.four(past), new, part)
            if past in view.inputs and part in (parts or PARTS)
            else joined(view, new, part)
        )

    return replace(RIGHT, joined=step)


def _after(change: Change, *parts: str) -> Steps:
    """With the past read otherwise."""
    return _joined(lambda view, past, new, part: np.concatenate([change(past), new], axis=2), *parts)


def _positions_first(past: Array) -> Array:
    """Positions before heads in memory."""
    batch, heads, positions, width = past.shape
    return past.reshape(batch, positions, heads, width).swapaxes(1, 2)


def _past_biased(view: View, past: Array, new: Array, part: str) -> Array:
    return np.concatenate([past + biases(view, split(view))[PARTS.index(part)], new], axis=2)


def _in_turns(view: View, past: Array, new: Array, part: str) -> Array:
    """Past and new ones in turns."""
    count = min(past.shape[2], new.shape[2])
    pairs = np.stack([past[:, :, :count], new[:, :, :count]], axis=3)
    both = pairs.reshape(*past.shape[:2], 2 * count, past.shape[3])
    return np.concatenate([both, past[:, :, count:], new[:, :, count:]], axis=2)


def _past_for_new(view: View, past: Array, new: Array, part: str) -> Array:
    """The past's own other part, where the sizes are the same."""
    other = view.four(f"Past{'Value' if part == 'Key' else 'Key'}Tensor")
    return np.concatenate([other if other.shape == past.shape else past, new], axis=2)


_PAST: Mapping[str, tuple[str, Steps]] = {
    "past-behind": ("puts the past behind what is new", _joined(lambda view, past, new, _: np.concatenate([new, past], axis=2))),
    "past-value-behind": (
        "puts the past's values behind the new ones",
        _joined(lambda view, past, new, _: np.concatenate([new, past], axis=2), "Value"),
    ),
    "past-of-zeros": ("takes the past for zeros", _after(none)),
    "past-keys-of-zeros": ("takes the past's keys for zeros", _after(none, "Key")),
    "past-values-of-zeros": ("takes the past's values for zeros", _after(none, "Value")),
    "past-of-first-batch": ("takes the first batch's past for all", _after(like_first(0))),
    "past-of-first-head": ("takes the first head's past for all", _after(like_first(1))),
    "past-of-next-head": ("takes the next head's past", _after(next_along(1))),
    "past-reversed": ("takes the past from the last on", _after(turned(2), "Key")),
    "past-before-heads": ("takes positions of the past to stand before heads", _after(_positions_first)),
    "past-in-turns": ("takes past and new ones in turns", _joined(_in_turns)),
    "past-exchanged": ("takes the past's keys for its values, and the other way around", _joined(_past_for_new)),
    "past-biased": ("adds the bias to the past too", _joined(_past_biased)),
    "past-last-lost": (
        "takes the past's last for zeros",
        _after(lambda x: np.where(np.arange(x.shape[2])[:, None] < x.shape[2] - 1, x, 0)),
    ),
    "past-unseen": (
        "does not attend to the past",
        replace(RIGHT, hidden=lambda view: np.where(np.arange(view.keys) < view.past, np.inf, RIGHT.hidden(view))),
    ),
    "past-alone": (
        "attends to the past alone",
        replace(RIGHT, hidden=lambda view: np.where(np.arange(view.keys) < (view.past or view.keys), RIGHT.hidden(view), np.inf)),
    ),
}


def _present(key: Callable[[View, Array], Array], value: Callable[[View, Array], Array]) -> Steps:
    return replace(RIGHT, present=lambda view, keys, values: (key(view, keys), value(view, values)))


def _both(change: Callable[[View, Array], Array]) -> Steps:
    return _present(change, change)


def _moved_by_past(view: View, array: Array) -> Array:
    """The new ones where the past belongs, and then zeros."""
    new = array[:, :, view.past :]
    return np.concatenate([new, np.zeros_like(array[:, :, : view.past])], axis=2)


def _past_again(view: View, array: Array) -> Array:
    """The past, and zeros where the new ones belong."""
    return np.where(np.arange(array.shape[2])[:, None] < view.past, array, 0)


def _without_bias(part: int) -> Callable[[View, Array], Array]:
    def change(view: View, array: Array) -> Array:
        return array - np.where(np.arange(array.shape[2])[:, None] < view.past, 0, biases(view, split(view))[part])

    return change


_PRESENT: Mapping[str, tuple[str, Steps]] = {
    "present-before-heads": (
        "writes positions before heads where it gives keys and values back",
        _both(lambda view, array: array.swapaxes(1, 2).reshape(array.shape)),
    ),
    "present-elements-before-positions": (
        "writes keys and values back with elements before positions",
        _both(lambda view, array: array.swapaxes(-1, -2).reshape(array.shape)),
    ),
    "present-key-as-value": (
        "gives the values for keys, and the other way around, where they have the same sizes",
        replace(RIGHT, present=lambda view, key, value: (value, key) if key.shape == value.shape else (key, value)),
    ),
    "present-of-zeros": ("gives no keys back", _present(lambda view, array: none(array), lambda view, array: array)),
    "present-values-of-zeros": ("gives no values back", _present(lambda view, array: array, lambda view, array: none(array))),
    "present-key-scaled": (
        "gives back keys that are scaled",
        _present(lambda view, array: array * view.scale, lambda view, array: array),
    ),
    "present-of-first-head": ("gives back the first head for all", _both(lambda view, array: like_first(1)(array))),
    "present-of-first-batch": ("gives back the first batch for all", _both(lambda view, array: like_first(0)(array))),
    "present-reversed": ("gives back the last first", _both(lambda view, array: array[:, :, ::-1])),
}

_PRESENT_OF_PAST: Mapping[str, tuple[str, Steps]] = {
    "present-without-past": ("gives back what is new alone", _both(_moved_by_past)),
    "present-without-new": ("gives back the past alone", _both(_past_again)),
}


def _gives_back(desc: OperatorDesc) -> bool:
    return any(desc.fields[f"OutputPresent{part}Tensor"] is not None for part in PARTS[1:])


def _gives_past_back(desc: OperatorDesc) -> bool:
    return _gives_back(desc) and desc.fields["PastKeyTensor"] is not None


PAST: Mapping[str, Fault] = {
    **{name: Fault(does, of(steps), when=has("PastKeyTensor")) for name, (does, steps) in _PAST.items()},
    **{name: Fault(does, of(steps), when=_gives_back) for name, (does, steps) in _PRESENT.items()},
    **{name: Fault(does, of(steps), when=_gives_past_back) for name, (does, steps) in _PRESENT_OF_PAST.items()},
    "present-without-bias": Fault(
        "gives back keys and values without their bias",
        of(_present(_without_bias(1), _without_bias(2))),
        when=lambda desc: _gives_back(desc) and has("BiasTensor")(desc),
    ),
}
"""Faults of what is kept from one time to the next."""
