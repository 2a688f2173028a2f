"""A run against an older one: what newly fails, vanished, became unsupported, became slower, and what was fixed.

A run is green only if it is complete, comparable with the baseline, and nothing got worse. ``problems`` say why it is not complete or not
comparable; they are never green, whatever the results are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from dmlcts.reports.claim.claim import WHOLE, claim_of, nothing_shown
from dmlcts.reports.claim.exempt import larger_shares
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

SLOWDOWN, SLOW_FLOOR = 3.0, 0.5
"""A case that passes became slower if it takes more than SLOWDOWN times as long as before, and SLOW_FLOOR seconds longer."""

KINDS = {
    "newly_fails": "newly failing",
    "vanished": "vanished",
    "became_unsupported": "became unsupported",
    "slower": "slower than its limit",
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
    "feature_level": "feature level",
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
    """The comparison. ``regressions`` are the kinds of changes that are not green; ``warnings`` are differences that do not decide."""

    new: Manifest
    baseline: Manifest
    cases: int
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    changes: tuple[Change, ...]
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
) -> Gate:
    """Compares a run with an older one. ``waivers`` excuse failures of the new run; ``files`` are the SHA-256 of the files that they are from.

    What a random search did not draw again says nothing: no case vanishes from one. A case that became slower (SLOWDOWN, SLOW_FLOOR) is a regression only with ``max_slowdown``, which replaces the factor.
    ``reviewed`` says that somebody looked at what changed in the waivers, so that they may excuse more than before.
    """
    before, ran = {result.case: result for result in baseline.results}, what_ran(new.manifest.backend)
    after = {result.case: _settle(result, (FAIL, ERROR, PASS), waivers, today, ran) for result in new.results}
    cases = after if new.manifest.level == SEARCH else before | after
    changes = [change for case in cases if (change := _change(before.get(case), after.get(case), max_slowdown or SLOWDOWN))]
    order = list(KINDS)
    return Gate(
        new.manifest,
        baseline.manifest,
        len(after),
        (*_problems(new, baseline, after), *_more_waived(new, baseline, after, waivers, today, files, reviewed)),
        tuple(_warnings(new, baseline, today)),
        tuple(sorted(changes, key=lambda change: (order.index(change.kind), change.operator, change.case))),
        _REGRESSIONS | ({"slower"} if max_slowdown else set()),
    )


def _settle(result: Result, statuses: Collection[str], waivers: Sequence[Waiver], today: date, ran: Mapping[str, str]) -> Result:
    """A result under the gate's own waivers, if it has one of these statuses."""
    return apply_waivers(result, waivers, today, ran) if result.status in statuses else result


def _change(old: Result | None, new: Result | None, slowdown: float) -> Change | None:
    kind = _kind(_CLASSES[old.status] if old else _ABSENT, _CLASSES[new.status] if new else _ABSENT)
    if not kind and old and new and _slower(old, new, slowdown):
        kind = "slower"
    shown = new or old
    if not kind or shown is None:
        return None
    before, after = (old.status if old else ""), (new.status if new else "")
    seconds = (old.seconds if old else 0.0, new.seconds if new else 0.0)
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


def _slower(old: Result, new: Result, slowdown: float) -> bool:
    both = _CLASSES[old.status] == _CLASSES[new.status] == _GOOD
    return both and new.seconds > old.seconds * slowdown and new.seconds - old.seconds > SLOW_FLOOR


def _problems(new: Record, baseline: Record, after: Mapping[str, Result]) -> Iterator[str]:
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
    if loosened := list(looser(manifest.backend, old.backend)):
        yield f"the new run is judged less strictly, since the implementation declares another precision: {clean('; '.join(loosened))}"
    missing = [name for name in old.required if name not in manifest.required]
    if missing:
        yield f"the new run does not require what the baseline does: {clean(', '.join(missing))}"


def _more_waived(
    new: Record,
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
    before = (_settle(result, (FAIL, ERROR), waivers, today, ran) for result in baseline.results)
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
    if claim_of(baseline).counts[NOT_RUN] or old.interrupted or not old.finished:
        yield "the baseline is incomplete: what it lacks counts as new"


def clean(text: object) -> str:
    """Foreign text as one short line of printable characters."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(text).split()))
    line = line.replace("##", "# #")  # ##[error] is a command in the log of GitHub Actions and Azure Pipelines
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 4]} ..."
