"""The exit code of a run: what its record earns."""

from __future__ import annotations

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.record.record import FAILURES, NOT_RUN, PASS, Record

EXIT_PASSED, EXIT_FAILED, EXIT_USAGE, EXIT_BACKEND, EXIT_UNSUPPORTED, EXIT_INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes: all passed; something failed; usage or input error; a backend could not be started; nothing failed, but something that the backend
claims is unsupported; stopped by Ctrl-C."""


def exit_code(record: Record) -> int:
    """The exit code for a record. A run in which nothing passed proves nothing, and is not a success, even if every failure is waived; neither is one
    in which more of an operator's cases are waived than pass."""
    if record.manifest.interrupted or not record.manifest.finished:
        return EXIT_INTERRUPTED
    claim = claim_of(record)
    if claim.ok:
        return EXIT_PASSED
    counts = claim.counts
    failed = any(counts[status] for status in (*FAILURES, NOT_RUN)) or claim.untested or claim.mostly_waived or not counts[PASS]
    return EXIT_UNSUPPORTED if claim.unsupported and not failed else EXIT_FAILED
