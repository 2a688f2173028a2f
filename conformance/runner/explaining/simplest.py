"""What the plainest case of each explanation comes down to, found by running it on the backend again with ever fewer things unusual."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.backends.opening import open_backend, separate_process
from dmlcts.conformance.properties.simplified import simplify
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.explain.explanation import DISPATCHES, Explanation
from dmlcts.reports.record.record import FAIL

SECONDS, _SECONDS_EACH, _TIMEOUT = 20.0, 8.0, 5.0
"""How long the search takes at most, of all explanations and of each, and one dispatch: a bit more where the last one takes longer."""


def with_simplest(explanations: Sequence[Explanation], spec: str, seconds: float = SECONDS) -> list[Explanation]:
    """The explanations, with what the plainest case of each comes down to, as far as the time allows; of wrong results alone.

    Raises BackendUnavailable if the backend cannot be started.
    """
    until, found = monotonic() + seconds, dict[str, str]()
    backend = open_backend(separate_process(spec))
    try:
        info = backend.describe()
        for each in explanations:
            is_new = each.example and each.example not in found
            if is_new and each.status == FAIL and each.group == DISPATCHES and monotonic() < until:
                try:
                    case = find_case(each.example)
                except KeyError:
                    continue
                simpler = simplify(case, backend, info, _TIMEOUT, min(until, monotonic() + _SECONDS_EACH))
                found[each.example] = simpler.text if simpler else ""
    finally:
        with suppress(BackendFault):  # the run has told how it ends
            backend.close()
    return [replace(each, simplest=found.get(each.example, "")) for each in explanations]
