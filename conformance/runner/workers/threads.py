"""Processes that run side by side, each with one thread for NumPy's products of matrices.

With as many threads in each as there are processors, they wait for each other: small products took fifty times as long in two processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Of the libraries that NumPy is built with. Not OMP_NUM_THREADS: the implementation under test inherits the environment."""


def one_thread(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a process beside others; what the user has set stays."""
    return {**dict.fromkeys(VARIABLES, "1"), **environment}


@contextmanager
def starting_with_one_thread() -> Iterator[None]:
    """Processes that are started inside have such an environment."""
    added = [name for name in VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
