"""Which promises of the API a run holds against the backend: all, those of an area, or single ones by name.

Level core adds them: a first look (smoke) has none, unless they are asked for by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError, shard_of
from dmlcts.conformance.sequences.promises.profile import profile_called, profile_names
from dmlcts.conformance.sequences.promises.promise import UNDEFINED, Promise, promise_areas, promises
from dmlcts.generator.case.id_filter import matcher
from dmlcts.generator.suite.suite import in_shard
from dmlcts.reports.record.record import API
from dmlcts.spec.model.abi import feature_level


def promises_named(pattern: str) -> list[str]:
    """The promises that a word of the command line names: ``api`` for all, an area (``bindings``), a promise (``DEV-1``), or several (``DEV-*``)."""
    own = pattern.lower().removeprefix(f"{API}/")
    return [name for name, area in promise_areas().items() if own in (API, area) or fnmatchcase(name.lower(), own)]


def may_have_promises(options: RunOptions) -> bool:
    """Whether options may select promises. False only where they select none; reads no promise."""
    named = [name for pattern in options.operators for name in promises_named(pattern)]
    if options.level == "smoke" and not named:
        return False
    test = matcher(options.expression) if options.expression else None
    return any(test is None or test(f"{API}/{name}") for name in named or promise_areas())


def select_promises(options: RunOptions, ids: Iterable[str] | None = None) -> list[Promise]:
    """The promises that options select, those last that need a process of their own; with ``ids``, these alone, and of a profile, in its order.

    Raises:
        UsageError: there is no promise with such an id.
    """
    if ids is not None:
        return [promise_named(each) for each in ids]
    if options.network in profile_names():
        return [promise for promise in profile_called(options.network).promises if _is_wanted(promise, options)]
    named = {name for pattern in options.operators for name in promises_named(pattern)}
    found = [promise for promise in promises() if (not named or promise.name in named) and _is_wanted(promise, options)]
    return sorted(found, key=lambda promise: promise.isolated)


def stops_early(options: RunOptions) -> bool:
    """Whether a run ends with the first promise that is not kept, as its profile wants."""
    return options.network in profile_names() and profile_called(options.network).stops


def find_promise(case_id: str) -> Promise:
    """The promise with this id. Raises KeyError, with similar ids."""
    found = {promise.id: promise for promise in promises()}
    if case_id not in found:
        near = get_close_matches(case_id, found, n=3, cutoff=0.3)
        raise KeyError(f"no promise {case_id!r} of the API; similar ids: {', '.join(near) or 'none'}")
    return found[case_id]


def promise_named(case_id: str) -> Promise:
    """The promise whose id a user gave. Raises UsageError."""
    try:
        return find_promise(case_id)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def _is_wanted(promise: Promise, options: RunOptions) -> bool:
    """Whether the options that select among all cases leave a promise in; what is undefined is never asked."""
    return (
        promise.severity != UNDEFINED
        and (not options.feature_level or feature_level(promise.feature_level) <= feature_level(options.feature_level))
        and (not options.expression or matcher(options.expression)(promise.id))
        and in_shard(promise.id, shard_of(options.shard))
    )
