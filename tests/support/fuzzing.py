"""Hostile input for every reader of foreign files and messages.

    python tests/support/fuzzing.py --examples 5000          # every reader, each in a process of its own; prints the figures
    python tests/support/fuzzing.py --examples 5000 results  # one reader

A reader gets valid input in which values were replaced (trees of JSON and YAML) or bytes were changed. It may accept the input, or raise the one
exception that it documents. Anything else fails: another exception, more than 5 seconds for one input, more than 1 GB of memory.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from fuzzed_readers import READERS
from hostile_input import edited, edits, parsed, replaced, replacements
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

LONGEST, MOST_MEMORY = 5.0, 1 << 30
"""Seconds for one input; bytes that all inputs together may add to the process."""


def fuzz(name: str, examples: int) -> Mapping[str, Any]:
    """Tries a reader with ``examples`` inputs, half of them changed trees if it reads trees. Raises what it must not raise."""
    reader = READERS[name]()
    readable = [valid for valid in reader.valid if reader.tree and (reader.lines or parsed(valid) is not None)]
    counts = {"accepted": 0, "refused": 0}
    slowest = 0.0
    config = settings(
        max_examples=-(-examples // 2) if readable else examples,
        derandomize=examples <= 100,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )

    def attempt(data: bytes) -> None:
        nonlocal slowest
        started = monotonic()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            reader.read(data, folder)
            counts["accepted"] += 1
        except reader.refusals as error:
            counts["refused"] += 1
            if len(str(error)) > 25_000 or (isinstance(error, ValueError) and not str(error)):  # a host's own message may be empty
                raise AssertionError(f"the refusal has {len(str(error))} characters") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
            slowest = max(slowest, monotonic() - started)

    @config
    @given(st.sampled_from(reader.valid), edits)
    def bytewise(valid: bytes, changes: list[tuple[float, str, int, bytes]]) -> None:
        attempt(edited(valid, changes))

    def tree_text(valid: bytes, changes: list[tuple[int, str, Any]]) -> bytes:
        if not reader.lines:
            return json.dumps(replaced(parsed(valid), changes)).encode()
        lines = [
            replaced(parsed(line), changes if number == changes[0][0] % 2 else changes[1:])
            for number, line in enumerate(valid.splitlines())
        ]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    @config
    @given(st.sampled_from(readable or [b""]), replacements)
    def treewise(valid: bytes, changes: list[tuple[int, str, Any]]) -> None:
        attempt(tree_text(valid, changes))

    started = monotonic()
    with TemporaryDirectory() as name_of_folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name_of_folder)
        _limit_memory()
        for valid in reader.valid:
            attempt(valid)
        assert counts["accepted"] or name == "options", "no valid input is accepted"
        bytewise()
        if readable:
            treewise()
    return {
        "reader": name,
        "tried": sum(counts.values()),
        **counts,
        "slowest": round(slowest, 2),
        "seconds": round(monotonic() - started, 1),
    }


def _limit_memory() -> None:
    """Limits what the process may allocate from here on; on Linux only."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> int:
    """Tries the readers that the command line names, each in a process of its own, or one in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help="names; all if there are none", default=list(READERS))
    parser.add_argument("--examples", type=int, default=100, help="for each reader")
    parser.add_argument("--here", action="store_true", help="in this process")
    given_ = parser.parse_args()
    failed = 0
    for name in given_.readers:
        if given_.here:
            print(json.dumps(fuzz(name, given_.examples)))
            continue
        failed += (
            subprocess.run([sys.executable, __file__, "--here", "--examples", str(given_.examples), name], check=False).returncode
            != 0
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
