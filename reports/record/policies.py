"""How an implementation says that it computes. Results are judged by that, so a claim states it, and a gate is not green where it became looser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """A property in a backend's description by which results are judged.

    ``default`` is what every implementation may do, as the documentation allows it. ``width`` says how wide bounds are under a value: one number
    for each way in which it widens some, so that one value is looser than another if any of the numbers is larger. ``words`` say a value.
    """

    default: Any
    width: Callable[[Any], tuple[int, ...]]
    words: Callable[[Any], str]

    def is_loosened(self, before: Any, after: Any) -> bool:
        """Whether a bound is wider under ``after`` than it is under ``before``."""
        return any(now > then for now, then in zip(self.width(after), self.width(before), strict=True))


_USUAL = 23
"""The mantissa bits of a FLOAT32, in which sums are accumulated unless an implementation declares another number."""


def _accumulator_width(declared: int) -> tuple[int, ...]:
    """Fewer bits widen the bounds of long sums. A sum that does not have its output's format (10 or 23 bits) is rounded once more when it is
    stored, which widens those of the shortest."""
    bits = declared or _USUAL
    return -bits, bits != 10, bits != 23


def _accumulator_words(declared: int) -> str:
    return f"sums in {declared} mantissa {'bit' if declared == 1 else 'bits'}" if declared else "sums in an undeclared format"


_STORES = {"nearest": "FLOAT16 stores to nearest", "truncate": "FLOAT16 stores that truncate"}

POLICIES: dict[str, Policy] = {
    "denormals": Policy("any", lambda v: (v != "preserve",), lambda v: f"denormals {v}"),
    "half_store": Policy("nearest", lambda v: (v != "nearest",), lambda v: _STORES.get(v, str(v))),
    "accumulator": Policy(0, _accumulator_width, _accumulator_words),
    "nearest": Policy(False, lambda v: (not v,), lambda v: f"{'rounding to nearest' if v else 'any rounding'} in sums"),
}
"""Every property that the judge reads, by its name in a description."""


def policies(backend: Mapping[str, Any]) -> dict[str, Any]:
    """The policies that a backend's description declares."""
    return {name: backend.get(name, policy.default) for name, policy in POLICIES.items()}


def policies_text(backend: Mapping[str, Any]) -> str:
    """``denormals any, FLOAT16 stores to nearest, sums in 10 mantissa bits, any rounding in sums``."""
    return ", ".join(POLICIES[name].words(value) for name, value in policies(backend).items())


def loose_policies(backend: Mapping[str, Any]) -> str:
    """``FLOAT16 stores that truncate, sums in 10 mantissa bits``: what widens a bound beyond the default, which a claim names. Empty if nothing does."""
    found = policies(backend).items()
    return ", ".join(POLICIES[name].words(v) for name, v in found if POLICIES[name].is_loosened(POLICIES[name].default, v))


def looser(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """The policies in a description by which results are judged less strictly than by an older one: ``accumulator 10, before 23``."""
    before, after = policies(old), policies(new)
    return (f"{n} {after[n]}, before {before[n]}" for n, policy in POLICIES.items() if policy.is_loosened(before[n], after[n]))
