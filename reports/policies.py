"""How an implementation says that it computes. Results are judged by that, so a claim states it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

DEFAULTS: dict[str, Any] = {"denormals": "any", "half_store": "nearest", "accumulator": 0, "nearest": False}
"""The policies in a backend's description, each with its value where the description lacks it."""

_USUAL = 23
"""The mantissa bits of a FLOAT32, in which sums are accumulated unless an implementation declares another number."""


def policies(backend: Mapping[str, Any]) -> dict[str, Any]:
    """The policies that a backend's description declares."""
    return {name: backend.get(name, default) for name, default in DEFAULTS.items()}


def policies_text(backend: Mapping[str, Any]) -> str:
    """``denormals any, FLOAT16 stores nearest, sums in 10 mantissa bits with any rounding``."""
    found = policies(backend)
    sums = _sums_text(found["accumulator"]) if found["accumulator"] else "sums"
    rounding = "to nearest" if found["nearest"] else "with any rounding"
    return f"denormals {found['denormals']}, FLOAT16 stores {found['half_store']}, {sums} {rounding}"


def coarse_sums(backend: Mapping[str, Any]) -> str:
    """``sums in 10 mantissa bits``, if that is less than FLOAT32 has: a claim names it, since it widens bounds. Empty otherwise."""
    bits = policies(backend)["accumulator"]
    return _sums_text(bits) if 0 < bits < _USUAL else ""


def looser(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """The policies in a description by which results are judged less strictly than by an older one: ``accumulator 10, before 23``."""
    before, after = policies(old), policies(new)
    changed = {
        "denormals": before["denormals"] == "preserve" != after["denormals"],
        "accumulator": (after["accumulator"] or _USUAL) < (before["accumulator"] or _USUAL),
        "nearest": before["nearest"] and not after["nearest"],
    }
    return (f"{name} {after[name]}, before {before[name]}" for name, worse in changed.items() if worse)


def _sums_text(bits: int) -> str:
    return f"sums in {bits} mantissa {'bit' if bits == 1 else 'bits'}"
