"""Sizes at which kernels switch code paths: a power of two, one less, and one more. One list, from which each maker of sizes takes its part."""

from __future__ import annotations

from collections.abc import Iterator

BETWEEN_POWERS = (48, 96, 192, 384, 768)
"""Whole vectors of 16, as rows in networks have them, and no power of two, as threads that join their results in pairs would want."""


def beside_powers(least: int, most: int) -> Iterator[int]:
    """Each power of two from ``least`` to ``most``, both powers of two, with its neighbors: 31, 32, 33, 63, 64, 65 ..."""
    power = least
    while power <= most:
        yield from (power - 1, power, power + 1)
        power *= 2
