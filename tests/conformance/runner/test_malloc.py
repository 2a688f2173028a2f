"""Freed memory is used again without being given back to the system."""

import platform
import subprocess
import sys

import pytest

PAGES = """
import resource
import numpy as np
from dmlcts.conformance.runner.workers.malloc import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        for count in (100_000, 200_000, 300_000):
            np.ones(count) + 1.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

default, known = faults(), keep_freed_memory()
faults()
print(known, default, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_pages_of_freed_arrays_are_touched_again_and_not_asked_for() -> None:
    found = subprocess.run([sys.executable, "-c", PAGES], capture_output=True, text=True, check=True).stdout.split()
    assert found[0] == "True"
    default, kept = map(int, found[1:])
    assert kept * 20 < default, "each array was asked of the system again"
