"""What explains broken promises of the API: a call that they make and hardly any promise that is kept, a flag, a function, or an area.

A single broken promise explains itself: its message names the call.
"""

from __future__ import annotations

from collections import Counter
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
    passing, left = Counter(trait for promise in kept for trait in _traits(promise)), list(broken)
    while kept and len(left) >= _LEAST:
        failing = Counter(trait for promise in left for trait in _traits(promise))
        best = max(sorted(failing), key=lambda trait: failing[trait] - 2 * passing[trait])
        if failing[best] < max(_LEAST, 2 * passing[best]):
            return
        having = sum(best in _traits(promise) for promise in broken)
        outside = len(broken) - having
        yield Explanation(
            API, status, PROMISE, (best,), having + passing[best], having, len(kept) - passing[best] + outside, outside, failing[best],
            len(broken),
        )  # fmt: skip
        left = [promise for promise in left if best not in _traits(promise)]


def _traits(promise: Promise) -> frozenset[str]:
    """What a promise is about, as conditions."""
    calls = {f"it calls {call_name(type(call))}" for call in promise.calls}
    flags = {f"it compiles with {flag}" for call in promise.calls if isinstance(call, Compile) for flag in call.flags}
    return frozenset({f"it is about {promise.area}", f"it is about {promise.api}", *calls, *flags})
