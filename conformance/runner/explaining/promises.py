"""What explains broken promises of the API: a call that all of them make and no promise that is kept, or an area.

A single broken promise explains itself: its message names the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dmlcts.conformance.sequences.call_json import call_name
from dmlcts.conformance.sequences.calls import Compile
from dmlcts.conformance.sequences.promises.promise import Promise, promises
from dmlcts.reports.explain.explanation import Explanation
from dmlcts.reports.record.record import API, ERROR, FAIL, PASS, PROMISE, UNEXPECTED_PASS, Result

_LEAST = 2
"""So many broken promises need a common reason."""


def explain_promises(results: Iterable[Result]) -> list[Explanation]:
    """The explanations of each status, those of most promises first."""
    known = {promise.id: promise for promise in promises()}
    ran = [(known[result.case], result.status) for result in results if result.case in known]
    kept = [promise for promise, status in ran if status in (PASS, UNEXPECTED_PASS)]
    return [each for status in (FAIL, ERROR) for each in _of_status(status, [p for p, s in ran if s == status], kept)]


def _of_status(status: str, broken: Sequence[Promise], kept: Sequence[Promise]) -> Iterable[Explanation]:
    """What sets broken promises apart from those that are kept: the reason that explains most of those left, again and again."""
    passing, left = frozenset[str]().union(*map(_traits, kept)), list(broken)
    while reasons := {trait for promise in left for trait in _traits(promise)} - passing:
        best = max(sorted(reasons), key=lambda trait: sum(trait in _traits(promise) for promise in left))
        having = sum(best in _traits(promise) for promise in broken)
        rest = [promise for promise in left if best not in _traits(promise)]
        if len(left) - len(rest) < _LEAST or not kept:
            break
        outside = len(broken) - having
        yield Explanation(
            API, status, PROMISE, (best,), having, having, len(kept) + outside, outside, len(left) - len(rest), len(broken)
        )
        left = rest


def _traits(promise: Promise) -> frozenset[str]:
    """What a promise is about, as conditions."""
    calls = {f"it calls {call_name(type(call))}" for call in promise.calls}
    flags = {f"it compiles with {flag}" for call in promise.calls if isinstance(call, Compile) for flag in call.flags}
    return frozenset({f"it is about {promise.area}", f"it is about {promise.api}", *calls, *flags})
