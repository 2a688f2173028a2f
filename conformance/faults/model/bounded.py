"""A bound on the memory that a fault may take: one that reads an index as a size may ask for more than there is, and the system ends the process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psutil

MOST = 4 << 30
"""Bytes that a dispatch may take beyond what the process has: valid cases take a tenth of that."""

if sys.platform == "win32":  # which refuses such a request and ends no process

    @contextmanager
    def bounded_memory() -> Iterator[None]:
        """No effect on Windows."""
        yield

else:
    import resource

    @contextmanager
    def bounded_memory() -> Iterator[None]:
        """Raises MemoryError where more than ``MOST`` bytes more are allocated; it bounds the process, not the caller alone."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        inside = [limit for limit in (_own_memory() + MOST, *before) if limit != resource.RLIM_INFINITY]
        try:
            resource.setrlimit(resource.RLIMIT_AS, (min(inside), before[1]))
        except (ValueError, OSError):  # a system that knows the limit and does not keep it, as macOS
            yield
            return
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

    def _own_memory() -> int:
        """The address space of this process now, in bytes: earlier cases may have left it larger."""
        return int(_process(os.getpid()).memory_info().vms)

    @cache
    def _process(pid: int) -> psutil.Process:
        return psutil.Process(pid)
