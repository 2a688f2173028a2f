"""A run against an older one: what newly fails, vanished, became unsupported, became slower, and what was fixed.

A run is green only if it is complete, comparable with the baseline, and nothing got worse. ``problems`` say why it is not complete or not
comparable; they are never green, whatever the results are.

Runs of two feature levels, such as of two releases, are compared at the lower of both. What is above it, and an operator of which the baseline
supports no case, is new: its failures are listed, and are no regression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from dmlcts.reports.claim.claim import WHOLE, claim_of, nothing_shown
from dmlcts.reports.claim.exempt import larger_shares
from dmlcts.reports.gate.noise import SLOWDOWN, Times, noise_of, slower_cases, times_of
from dmlcts.reports.gate.waivers import Waiver, apply_waivers
from dmlcts.reports.record.policies import looser
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    SEARCH,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Record,
    Result,
)
from dmlcts.reports.record.verdict import WORDS, backend_name, count_of, lacks_operators
from dmlcts.reports.record.versions import what_ran
from dmlcts.spec.model.abi import FeatureLevel, feature_level

KINDS = {
    "newly_fails": "newly failing",
    "vanished": "vanished",
    "became_unsupported": "became unsupported",
    "new_fails": "failing, and new",
    "slower": "slower",
    "newly_waived": "newly waived",
    "still_fails": "still failing",
    "fixed": "fixed",
}
"""What may have happened to a case, the worst first, in words."""

_REGRESSIONS = frozenset({"newly_fails", "vanished", "became_unsupported"})
_SHOWN = 3
_LONGEST = 300

_GOOD, _BAD, _EXCUSED, _ABSENT = "good", "bad", "excused", "absent"
_CLASSES = {
    PASS: _GOOD,
    UNEXPECTED_PASS: _GOOD,
    FAIL: _BAD,
    ERROR: _BAD,
    WAIVED: _EXCUSED,
    UNSUPPORTED: UNSUPPORTED,
    NOT_RUN: NOT_RUN,
}

_SAME = {
    "level": "level",
    "basis": "basis",
    "selection": "selection of cases",
    "spec_version": "spec (the promises changed; make a new baseline with this version of the suite)",
}
"""Manifest entries without which two runs are not comparable, in words."""

_SHOULD = {"seed": "seed", "suite_version": "version of the suite"}


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to a case: a kind of KINDS, the statuses before and after (empty where it has no result), and the seconds of both."""

    kind: str
    case: str
    operator: str
    before: str
    after: str
    message: str = ""
    repro: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def text(self) -> str:
        """The change in one line, without the case."""
        if self.kind == "slower":
            return f"{self.seconds[1]:.2f} s, before {self.seconds[0]:.2f} s"
        was = f"{WORDS.get(self.before, 'no result')} → {WORDS.get(self.after, 'no result')}"
        return f"{was}: {clean(self.message)}" if self.message else was


@dataclass(frozen=True, slots=True)
class Gate:
    """The comparison, at the lower ``feature_level`` of both runs.

    ``regressions`` are the kinds of changes that are not green; ``warnings`` are differences that do not decide.
    """

    new: Manifest
    baseline: Manifest
    cases: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    changes: tuple[Change, ...]
    feature_level: str
    regressions: frozenset[str] = field(default=_REGRESSIONS)

    @property
    def counts(self) -> dict[str, int]:
        """How many changes there are of each kind."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in KINDS}

    @property
    def worse(self) -> int:
        """How many regressions there are."""
        return sum(number for kind, number in self.counts.items() if kind in self.regressions)

    @property
    def ok(self) -> bool:
        """Whether it is green."""
        return not self.problems and not self.worse

    @property
    def sentence(self) -> str:
        """The outcome in a line."""
        what = (
            count_of(self.worse, "regression")
            if self.worse
            else "no regression"
            if not self.problems
            else count_of(len(self.problems), "problem")
        )
        changes = ", ".join(f"{number:,} {KINDS[kind]}" for kind, number in self.counts.items() if number)
        return f"{'PASS' if self.ok else 'FAIL'}: {what} in {count_of(self.cases, 'case')}{f' ({changes})' if changes else ''}"


def compare(
    new: Record,
    baseline: Record,
    waivers: Sequence[Waiver],
    today: date,
    max_slowdown: float | None = None,
    files: Collection[str] = (),
    reviewed: bool = False,
    repeats: Sequence[Record] = (),
) -> Gate:
    """Compares a run with an older one. ``waivers`` excuse failures of the new run; ``files`` are the SHA-256 of the files that they are from.

    What a random search did not draw again says nothing: no case vanishes from one. A case that became slower (reports/gate/noise) is a regression
    only with ``max_slowdown``, which replaces the factor; ``repeats`` are further runs of the new implementation, of which the least time counts.
    ``reviewed`` says that somebody looked at what changed in the waivers, so that they may excuse more than before.
    """
    ran = what_ran(new.manifest.backend)
    before = {result.case: result for result in baseline.results}
    after = {result.case: _settle(result, (FAIL, ERROR, PASS), waivers, today, ran) for result in new.results}
    ground = _common_ground(new, baseline)
    compared = {case: result for case, result in before.items() if ground.compares(result)}
    cases = after if new.manifest.level == SEARCH else compared | after
    times = times_of(compared, after, repeats)
    noise = noise_of(times, {case: before[case].operator for case in times})
    slower = slower_cases(times, max(max_slowdown or SLOWDOWN, noise))
    found = (_change(compared.get(case), after.get(case), ground, times if case in slower else {}) for case in cases)
    order = list(KINDS)
    own = {case: result for case, result in after.items() if ground.compares(result)}
    return Gate(
        new.manifest,
        baseline.manifest,
        len(after),
        (*_problems(new, baseline, after, repeats), *_more_waived(new, compared, baseline, own, waivers, today, files, reviewed)),
        (
            *_warnings(new, baseline, today),
            *_text_of_the_rest(ground, before, after),
            *_noise(noise, max_slowdown or SLOWDOWN, times),
        ),
        tuple(sorted(filter(None, found), key=lambda change: (order.index(change.kind), change.operator, change.case))),
        str(ground.level),
        _REGRESSIONS | ({"slower"} if max_slowdown else set()),
    )


@dataclass(frozen=True, slots=True)
class _Ground:
    """What is compared: the cases up to a feature level, of all operators but the ``added``, of which the baseline supports no case."""

    level: FeatureLevel
    added: frozenset[str]

    def compares(self, result: Result) -> bool:
        return result.operator not in self.added and feature_level(result.feature_level) <= self.level


def _common_ground(new: Record, baseline: Record) -> _Ground:
    """What two runs have in common. What an incomplete baseline lacks may have been there before, and is not new."""
    level = min(feature_level(record.manifest.feature_level) for record in (new, baseline))
    known = {result.operator for result in baseline.results if result.status != UNSUPPORTED} | set(baseline.manifest.unlisted)
    whole = baseline.results and not _is_incomplete(baseline) and baseline.manifest.selection == new.manifest.selection
    added = {result.operator for result in new.results} - known if whole and new.manifest.level != SEARCH else ()
    return _Ground(level, frozenset(added))


def _is_incomplete(record: Record) -> bool:
    return bool(claim_of(record).counts[NOT_RUN] or record.manifest.interrupted or not record.manifest.finished)


def _text_of_the_rest(ground: _Ground, before: Mapping[str, Result], after: Mapping[str, Result]) -> Iterator[str]:
    """What is not compared, in words."""
    added = sorted({result.operator for result in after.values()} & ground.added)
    own = {name: [r for r in after.values() if r.operator == name and r.status != UNSUPPORTED] for name in added}
    if supported := [name for name in added if own[name]]:
        more = f" and {len(supported) - _SHOWN} more" if len(supported) > _SHOWN else ""
        yield (
            f"{count_of(len(supported), 'operator')} of which the baseline supports no case, with {count_of(sum(map(len, own.values())), 'case')}: "
            f"{clean(', '.join(supported[:_SHOWN]))}{more}; what fails of them is new"
        )
    for results, which, what in ((after, "new run", "new"), (before, "baseline", "left out")):
        above = [r for r in results.values() if r.operator not in ground.added and feature_level(r.feature_level) > ground.level]
        if above:
            yield f"compared at feature level {ground.level.name.replace('_', '.')}: {count_of(len(above), 'case')} of the {which} above it {'is' if len(above) == 1 else 'are'} {what}"


def _noise(noise: float, factor: float, times: Times) -> Iterator[str]:
    """That the runs' own noise, and not the factor, decides which cases are slower."""
    hidden = len(slower_cases(times, factor)) - len(slower_cases(times, max(noise, factor)))
    if hidden:
        yield (
            f"{count_of(hidden, 'case')} took more than {factor:g} times as long, but others took {noise:.1f} times less time than before: on such a "
            "busy machine that says nothing; run the new implementation again, and give that run with --repeat"
        )


def _settle(result: Result, statuses: Collection[str], waivers: Sequence[Waiver], today: date, ran: Mapping[str, str]) -> Result:
    """A result under the gate's own waivers, if it has one of these statuses."""
    return apply_waivers(result, waivers, today, ran) if result.status in statuses else result


def _change(old: Result | None, new: Result | None, ground: _Ground, slower: Times) -> Change | None:
    kind = _kind(_CLASSES[old.status] if old else _ABSENT, _CLASSES[new.status] if new else _ABSENT)
    shown = new or old
    if shown is None:
        return None
    if not ground.compares(shown):
        kind = "new_fails" if kind == "newly_fails" else ""
    if not kind and slower:
        kind = "slower"
    if not kind:
        return None
    before, after = (old.status if old else ""), (new.status if new else "")
    seconds = slower.get(shown.case, (old.seconds if old else 0.0, new.seconds if new else 0.0))
    message = (shown.waiver if after in (WAIVED, UNEXPECTED_PASS) else shown.message) if new else ""
    return Change(kind, shown.case, shown.operator, before, after, message, shown.repro if new else "", seconds)


def _kind(before: str, after: str) -> str:
    """The kind of a change, empty if there is none."""
    if after == _ABSENT:
        return "vanished" if before != NOT_RUN else ""
    if after == _BAD:
        return "still_fails" if before == _BAD else "newly_fails"
    if after == UNSUPPORTED:
        return "became_unsupported" if before in (_GOOD, _BAD, _EXCUSED) else ""
    if after == _EXCUSED:
        return {_GOOD: "newly_waived", _BAD: "newly_waived"}.get(before, "")
    return "fixed" if after == _GOOD and before in (_BAD, _EXCUSED) else ""


def _problems(new: Record, baseline: Record, after: Mapping[str, Result], repeats: Sequence[Record]) -> Iterator[str]:
    """Why the new run cannot be green."""
    manifest, old = new.manifest, baseline.manifest
    claim = claim_of(new)
    if manifest.interrupted or not manifest.finished or lacks_operators(manifest):
        yield "the new run did not finish"
    if claim.counts[NOT_RUN]:
        yield f"the new run is incomplete: {count_of(claim.counts[NOT_RUN], 'case')} without a result"
    if claim.untested:
        yield f"no case of the new run tests what it requires: {', '.join(claim.untested)}"
    if new.results and not claim.counts[UNEXPECTED_PASS] and (nothing := nothing_shown(new)):
        yield f"{nothing} in the new run"
    if unexpected := [result for result in after.values() if result.status == UNEXPECTED_PASS]:
        yield (
            f"{count_of(len(unexpected), 'case')} passed although a waiver excuses a failure, such as {clean(unexpected[0].case)}; "
            "narrow or remove the waiver"
        )
    if manifest == old:
        yield "the baseline is the new run itself"
    for name, record in (("new run", new), ("baseline", baseline)):
        if record.manifest.shard not in ("", WHOLE):
            yield f"the {name} is only shard {record.manifest.shard}; merge all shards with `dmlcts merge`"
        if not record.results:
            yield f"the {name} has no results"
        if len({result.case for result in record.results}) != len(record.results):
            yield f"the {name} has several results for one case"
    for name, words in _SAME.items():
        if getattr(manifest, name) != getattr(old, name):
            yield f"another {words}: {clean(getattr(manifest, name) or 'none')}, in the baseline {clean(getattr(old, name) or 'none')}"
    if feature_level(manifest.feature_level) < feature_level(old.feature_level):
        levels = (clean(each.feature_level.replace("_", ".")) for each in (manifest, old))
        yield "a lower feature level: {}, in the baseline {}; what is above it is not compared, and no longer promised".format(
            *levels
        )
    for repeat in repeats:
        if repeat.manifest.backend != manifest.backend:
            yield f"a repeated run is of another implementation: {clean(backend_name(repeat.manifest))}"
    if loosened := list(looser(manifest.backend, old.backend)):
        yield f"the new run is judged less strictly, since the implementation declares another precision: {clean('; '.join(loosened))}"
    missing = [name for name in old.required if name not in manifest.required]
    if missing:
        yield f"the new run does not require what the baseline does: {clean(', '.join(missing))}"


def _more_waived(
    new: Record,
    old: Mapping[str, Result],
    baseline: Record,
    after: Mapping[str, Result],
    waivers: Sequence[Waiver],
    today: date,
    files: Collection[str],
    reviewed: bool,
) -> Iterator[str]:
    """Why it is not green that waivers excuse a larger share of an operator's cases. The gate's own waivers hold for the baseline's failures, too.

    A file that did not change cannot explain that: then a waiver of old covers new failures. What a search draws differs each time.
    """
    if new.manifest.level == SEARCH:
        return
    ran = what_ran(baseline.manifest.backend)
    before = (_settle(result, (FAIL, ERROR), waivers, today, ran) for result in old.values())
    known = {entry["sha256"] for entry in baseline.manifest.waivers}
    changed = not known.issuperset({*files, *(entry["sha256"] for entry in new.manifest.waivers)})
    more = list(larger_shares(after.values(), before))
    if more and not (changed and reviewed):
        why = (
            "review what changed in the waivers, then give --waivers-reviewed"
            if changed
            else "no waiver file changed, so new failures fall under old waivers; narrow these, or give the failures a waiver of their own"
        )
        shown = f"{'; '.join(more[:_SHOWN])}{f' and {len(more) - _SHOWN} more operators' if len(more) > _SHOWN else ''}"
        yield f"more cases are waived: {clean(shown)}: {why}"


def _warnings(new: Record, baseline: Record, today: date) -> Iterator[str]:
    manifest, old = new.manifest, baseline.manifest
    for name, run in (("new run", manifest), ("baseline", old)):
        if run.started[:10] > (today + timedelta(days=1)).isoformat():
            yield f"the {name} began in the future, at {clean(run.started)}: the clock of its machine is wrong, and waivers may have expired"
    if manifest.started[:10] < old.started[:10]:
        yield f"the new run began before the baseline, at {clean(manifest.started)}: is each given in its place?"
    for name, words in _SHOULD.items():
        if getattr(manifest, name) != getattr(old, name):
            yield f"another {words}: {clean(getattr(manifest, name) or 'none')}, in the baseline {clean(getattr(old, name) or 'none')}"
    if manifest.backend.get("name") != old.backend.get("name"):
        yield f"another implementation: {clean(backend_name(manifest))}, in the baseline {clean(backend_name(old))}"
    if _is_incomplete(baseline):
        yield "the baseline is incomplete: what it lacks counts as new"


def clean(text: object) -> str:
    """Foreign text as one short line of printable characters."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(text).split()))
    line = line.replace("##", "# #")  # ##[error] is a command in the log of GitHub Actions and Azure Pipelines
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
