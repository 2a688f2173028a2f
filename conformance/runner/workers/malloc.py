"""Freed memory stays with the process: a case makes and drops hundreds of arrays.

By default, glibc gives large blocks back to the system as soon as they are freed, and the system clears each page when it is touched again.
For arrays of some ten thousand elements that takes longer than the arithmetic. Set by mallopt and not by the environment, which the
implementation under test would inherit.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of mallopt, as glibc's malloc.h numbers them."""

_MIB = 1 << 20
_SETTINGS = {_MMAP_THRESHOLD: 32 * _MIB, _TRIM_THRESHOLD: 512 * _MIB, _TOP_PAD: 16 * _MIB}
"""Blocks up to the first come from the heap (glibc allows no more), which shrinks where so much is free and grows by the last."""


@cache
def keep_freed_memory() -> bool:
    """Sets it for this process, once. Returns whether its C library knows these settings; others are left as they are."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return False
    known = [mallopt(parameter, value) for parameter, value in _SETTINGS.items()]
    return all(known)
