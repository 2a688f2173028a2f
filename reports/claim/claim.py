"""The claim of a run: what it shows about an implementation, in words and as data. Every report prints this object; ``claim.json`` holds it.

A claim has a basis. ``documented`` cases support conformance to the documentation; ``measured`` and ``contested`` cases support the further
claim of behaving like DirectML where the documentation is silent or contradicted.

Negative cases pass wherever everything is rejected: without another case that passed they support no claim, and an operator or data type is
claimed only for such a case.

Promises of the API, and graphs, have a statement of their own each: the first says nothing about what operators compute, nor do theirs about the API.

A claim covers what ran and no more: a selection, a shard or a list of cases is named in it. What the implementation's description excludes
(operators, data types, validation) is not claimed. Everything else that is promised at the feature level is mandatory: an unsupported case there
refutes the claim. Level ``smoke`` is a first look, and a random search
(``fuzz``) has no end: they claim nothing. Neither does a run with kernels that were replaced (``replaced_kernels`` in the details of the
implementation's description): what ran is not the implementation. Nor does one that leaves out cases as they run the same kernels as before, or executes none (``left_out``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dmlcts.reports.claim.exempt import mostly_waived, mostly_waived_text
from dmlcts.reports.record.policies import loose_policies
from dmlcts.reports.record.record import (
    API,
    BEYOND_OPERATORS,
    FAILURES,
    GRAPHS,
    MEMORY,
    NEGATIVE,
    NOT_RUN,
    PASS,
    REPLAY,
    SEARCH,
    SEQUENCES,
    STATUSES,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Record,
    Result,
)
from dmlcts.reports.record.verdict import (
    Counts,
    backend_name,
    count_of,
    counts_text,
    data_types,
    lacks_operators,
    level_text,
    matrix,
    missing_results,
    stop,
)
from dmlcts.reports.record.versions import details_of, replaced_text

MEASURED_VERSION = "DirectML 1.15.4"
"""The version on which the facts of basis ``measured`` were measured."""

VALIDATION = "validation"
"""The requirement, and the declared part, of negative cases."""

REQUIRED = "required"
"""The evidence of a failure that is an unsupported case: the requirement that covers it."""

NEGATIVE_ALONE = "only negative cases passed"
"""Why passes may show nothing."""

_DOCUMENTED = "documented"

WHOLE = "1/1"
"""The shard that is the whole run."""

_NO_CLAIM = {"smoke": "first look", SEARCH: "random search, seed {seed}", REPLAY: "the dispatches of a client"}
"""The levels that claim nothing, and what they are."""
_OPTIONAL = {"data type"}
"""What an implementation of a feature level may lack: DirectML has a query for data types, and none for operators."""
_BELOW = {"huge": "full"}
"""The level that is claimed where memory was lacking for cases of a level."""
_NAMED = 3
"""So many operators or data types are named in a claim; more are counted."""
_LONGEST = 100
"""So many characters of a selection stand in a claim."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What the cases of one ``basis`` show: ``documented`` or ``measured``; what the promises of the API (``api``) and graphs do; or ``required``, if a requirement was not tested.

    ``holds`` is True if they support the claim, False if they refute it, None if neither. ``claim`` is the claim, empty unless it holds;
    ``sentence`` states it with numbers, or why there is none. ``results`` are those of the basis.
    """

    basis: str
    holds: bool | None
    claim: str
    sentence: str
    results: tuple[Result, ...]

    @property
    def counts(self) -> Counts:
        """How many results have each status."""
        return _counts(self.results)

    @property
    def supported_count(self) -> int:
        """How many cases are supported: neither unsupported, nor unsupported and therefore a failure."""
        return _count_supported(self.results)

    @property
    def undeclared_counts(self) -> Counts:
        """How many of the unsupported cases the implementation's description excludes, by what it excludes: ``operator``, ``data type`` ..."""
        return _count_undeclared(self.results)

    @property
    def claimed_types(self) -> dict[str, list[str]]:
        """The operators that the claim is for, each with its data types; empty unless it holds."""
        found = matrix(_right_results(self.results)) if self.claim else {}
        return {operator: data_types({operator: row}) for operator, row in sorted(found.items())}


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a run.

    ``counts`` has every status; cases that were selected and have no result count as ``not_run``. ``unsupported`` counts unsupported cases
    within what the implementation claims. ``untested`` are requirements that no case tested. ``mostly_waived`` are the operators of which more
    cases are waived than pass. ``ok``: everything that was selected ran, nothing failed or was unsupported within the claim, every requirement
    was tested, no operator is mostly waived, and something passed: not negative cases alone, unless no other was selected.
    """

    statements: tuple[Statement, ...]
    counts: Counts
    unsupported: int
    untested: tuple[str, ...]
    mostly_waived: tuple[str, ...]
    ok: bool

    @property
    def claim(self) -> str:
        """All that is claimed, empty if nothing is."""
        return " and ".join(statement.claim for statement in self.statements if statement.claim)

    @property
    def sentence(self) -> str:
        """The claim with numbers, or why there is none."""
        return " ".join(statement.sentence for statement in self.statements)


_last: tuple[Record, Claim] | None = None


def claim_of(record: Record) -> Claim:
    """The claim of ``record``, which is known if it was the last one asked for: every report has it, and of a long record it takes a second.

    It holds only if every case ran, none failed, crashed, passed unexpectedly or was unsupported within what the implementation claims, and
    some passed that are not negative; waived cases are counted in the sentence, and of no operator may more be waived than pass. An
    implementation that contradicts the documentation behaves like nobody.
    """
    global _last
    if _last is None or _last[0] is not record:
        _last = record, _claim_of(record)
    return _last[1]


def _claim_of(record: Record) -> Claim:
    manifest, missing = record.manifest, missing_results(record)
    counts = record.counts()
    counts[NOT_RUN] += missing
    for status, number in manifest.further.items():
        counts[status] += number
    unfinished = manifest.interrupted or not manifest.finished or counts[NOT_RUN] > 0 or lacks_operators(manifest)
    unsupported = record.counts()[UNSUPPORTED] - sum(_count_undeclared(record.results).values())
    untested = tuple(name for name in manifest.required if not any(_tests(name, r) for r in record.results))
    if manifest.shard not in ("", WHOLE):
        untested = ()  # another shard may test them
    waived = _mostly_waived(record, counts)
    failed = any(counts[status] for status in FAILURES)
    if manifest.level in _NO_CLAIM:
        statements = [_no_claim(record, counts, waived)]
    else:
        unfinished_text = (stop(manifest) or "the run did not finish") if unfinished else ""
        reason = manifest.left_out or unfinished_text or replaced_text(details_of(manifest.backend))
        statements = list(_statements(record, reason))
    if untested:
        statements.append(Statement("required", False, "", f"Required, but no case tested it: {', '.join(untested)}.", ()))
    return Claim(
        statements=tuple(statements),
        counts=counts,
        unsupported=unsupported,
        untested=untested,
        mostly_waived=waived,
        ok=not (failed or unfinished or unsupported or untested or waived or nothing_shown(record)),
    )


def _mostly_waived(record: Record, counts: Counts) -> tuple[str, ...]:
    """The operators of which more cases of a basis are waived than pass. A search does not keep all that pass: there, all count together."""
    if record.manifest.level == SEARCH:
        return ("all operators together",) if counts[WAIVED] > counts[PASS] else ()
    return tuple(sorted({name for results in _by_basis(record.results) for name in mostly_waived(results)}))


def _by_basis(results: Iterable[Result]) -> tuple[list[Result], list[Result]]:
    """The documented results, and the measured and contested ones."""
    found: tuple[list[Result], list[Result]] = ([], [])
    for result in results:
        found[result.basis != _DOCUMENTED].append(result)
    return found


def nothing_shown(record: Record) -> str:
    """Why the cases that passed show nothing, such as that there are none; empty if they do, or if only negative cases were selected."""
    if record.manifest.further.get(PASS):
        return ""
    computed = [result for result in record.results if not result.is_beyond]
    passed = [result for result in computed or record.results if result.status == PASS]
    if not passed:
        return "nothing passed"
    others = any(result.kind != NEGATIVE for result in computed)
    return NEGATIVE_ALONE if others and not any(_right_results(passed)) else ""


def is_required(requirement: str, result: Result) -> bool:
    """Whether a requirement (OPERATOR/TYPE, with ``*`` for all, a promise or all of the API, a graph or all, or ``validation``) covers a result."""
    if result.is_beyond:
        return requirement in (f"{result.operator}/*", result.case)
    if requirement == VALIDATION:
        return result.kind == NEGATIVE
    if result.undeclared in (VALIDATION, SEQUENCES):
        return False
    operator, _, data_type = requirement.partition("/")
    return operator in ("*", result.operator) and data_type in ("*", result.data_type)


def _tests(requirement: str, result: Result) -> bool:
    """Whether a case tests a requirement. A negative one does not test an operator or data type."""
    return is_required(requirement, result) and (requirement == VALIDATION or result.kind != NEGATIVE)


def share_text(part: int, whole: int) -> str:
    """``55.4 %``, rounded down: 100 % are all."""
    permille = 1000 * part // whole if whole else 0
    return f"{permille // 10}.{permille % 10} %" if permille % 10 else f"{permille // 10} %" if permille or not part else "<0.1 %"


def _statements(record: Record, reason: str) -> Iterator[Statement]:
    """One for each basis that ran; conformance for a run without cases. A non-empty ``reason`` forbids any claim."""
    documented, others = _by_basis(result for result in record.results if not result.is_beyond)
    beyond = {name: found for name in BEYOND_OPERATORS if (found := [each for each in record.results if each.operator == name])}
    who, manifest = backend_name(record.manifest), record.manifest
    reason = reason or ("" if record.results else "no case was run")
    subjects = [who if not (documented or others) else "it", *["it"] * len(beyond)]
    statements = [_statement_beyond(manifest, who, name, beyond[name], reason) for who, name in zip(subjects, beyond, strict=False)]
    if documented or not (others or beyond):
        words = ("conforms to", "does NOT conform to", f"the documentation at {level_text(manifest)}", "documented cases")
        conforms = _statement(manifest, who, _DOCUMENTED, words, documented, reason)
        yield conforms
        who, reason = "it", reason or ("" if conforms.claim else "its documented cases support no claim")
    if others:
        target = f"{MEASURED_VERSION} where the documentation is silent or contested"
        words = ("behaves like", "does NOT behave like", target, "measured and contested cases")
        yield _statement(manifest, who, "measured", words, others, reason)
    yield from statements


@dataclass(frozen=True, slots=True)
class _About:
    """What a statement beyond single operators is about, in words: one of them, of what, and what happens to all, to a right one, or to none."""

    noun: str
    of: str
    verb: str
    negated: str
    right: str
    none: str


_ABOUT = {
    API: _About("promise", " of the API", "keeps", "does NOT keep", "kept", "none was kept"),
    GRAPHS: _About("graph", " of operators", "computes", "does NOT compute", "right", "none was right"),
}


def _statement_beyond(manifest: Manifest, who: str, name: str, results: Sequence[Result], reason: str) -> Statement:
    """What a run shows of the promises of the API, or of graphs. One that the backend takes no part in costs nothing, and is not claimed."""
    about, counts, total = _ABOUT[name], _counts(results), len(results)
    failed = any(counts[status] for status in FAILURES)
    lacking = counts[UNSUPPORTED] - sum(_count_undeclared(results).values())
    rest = counts_text({**counts, PASS: 0})
    numbers = f"of {count_of(total, about.noun)}{about.of}, {counts[PASS]:,} {about.right}{f', {rest}' if rest else ''}"
    reason = reason or ("" if counts[PASS] or failed else about.none)
    subject, client = "It" if who == "it" else who, _client_text(manifest, results) if name == API else ""
    if name == GRAPHS and _count_undeclared(results).get(SEQUENCES, 0) == total:
        return Statement(
            name, None, "", f"Graphs: not claimed, as it takes no part in {count_of(total, about.noun)}.", tuple(results)
        )
    if reason:
        sentence = f"No claim about the {about.noun}s{about.of}, since {reason}: {numbers}.{client}"
        return Statement(name, None, "", sentence, tuple(results))
    if lacking or failed:
        sentence = f"{subject} {about.negated} the {about.noun}s{about.of}{_restriction(manifest)}: {numbers}.{client}"
        return Statement(name, False, "", sentence, tuple(results))
    some = f"{counts[PASS]:,} of " if rest else "all "
    claim = f"{about.verb} {some}{count_of(total, about.noun)}{about.of}{_restriction(manifest)}"
    aside = f"; {rest}, which the claim excludes" if rest else ""
    return Statement(name, True, claim, f"{subject} {claim}{aside}.{client}", tuple(results))


def _client_text(manifest: Manifest, results: Sequence[Result]) -> str:
    """Whether the client of the run's profile could run, as a sentence after a space; empty without a profile."""
    client, able = manifest.profile.get("client"), manifest.profile.get("able")
    if not (client and able):
        return ""
    broken = [result.case for result in results if result.status in {*FAILURES, WAIVED}]
    if broken:
        return (
            f" {client} cannot {able} on it: {broken[0]} is broken{f', and {len(broken) - 1:,} more' if len(broken) > 1 else ''}."
        )
    unknown = [result.case for result in results if result.status != PASS]
    if unknown:
        return f" Whether {client} can {able} on it is not known: {count_of(len(unknown), 'promise')} could not be tried, the first is {unknown[0]}."
    return f" {client} can {able} on it."


def _statement(
    manifest: Manifest, who: str, basis: str, words: tuple[str, str, str, str], results: Sequence[Result], reason: str
) -> Statement:
    verb, negated, target, cases = words
    counts, total = _counts(results), len(results)
    undeclared = _count_undeclared(results)
    failed = any(counts[status] for status in FAILURES)
    lacking = counts[UNSUPPORTED] - sum(undeclared.values())
    passed, rest = counts[PASS], counts_text({**counts, PASS: 0})
    supported = share_text(_count_supported(results), total)
    level = _BELOW.get(manifest.level, manifest.level) if undeclared.pop(MEMORY, 0) else manifest.level
    alone = ", each dispatch by itself" if undeclared.pop(SEQUENCES, 0) else ""
    target = f"{target}, level {level}" if level else target
    numbers = f"of {total:,} {cases}, {passed:,} passed{f', {rest}' if rest else ''} ({supported} supported)" if total else ""
    covered = list(_right_results(results))
    nothing = "" if covered else NEGATIVE_ALONE if passed else "nothing passed"
    reason = reason or ("" if failed or lacking else nothing or mostly_waived_text(mostly_waived(results)))
    if reason:
        sentence = f"No claim that {who} {verb} {target}, since {reason}{f': {numbers}' if total else ''}."
        return Statement(basis, None, "", sentence, tuple(results))
    subject = "It" if who == "it" else who
    if failed or lacking:
        part = f"{lacking:,} of them" if lacking < counts[UNSUPPORTED] else "it" if lacking == 1 else "they"
        why = "" if failed else f"; {part} {'is' if lacking == 1 else 'are'} within what it claims"
        return Statement(basis, False, "", f"{subject} {negated} {target}{_restriction(manifest)}: {numbers}{why}.", tuple(results))
    partial = ", which is not the whole feature level" if undeclared.keys() - _OPTIONAL else ""
    declared = f", within what it declares{partial}" if undeclared else ""
    judged = f", with {loose}" if (loose := loose_policies(manifest.backend)) else ""
    claim = f"{verb} {target}, for {_scope(covered)}{alone}{declared}{judged}{_restriction(manifest)}"
    aside = f"; {rest}, which the claim excludes" if rest else ""
    sentence = f"{subject} {claim}: {passed:,} of {total:,} {cases} passed, {supported} supported{aside}."
    return Statement(basis, True, claim, sentence, tuple(results))


def _no_claim(record: Record, counts: Counts, waived: Sequence[str]) -> Statement:
    passed, rest = counts[PASS], counts_text({**counts, PASS: 0})
    total = sum(counts.values())
    who = f"{backend_name(record.manifest)}, {level_text(record.manifest)}"
    why = (nothing_shown(record) if passed else "") or mostly_waived_text(waived)
    aside = "".join(f"; {each}" for each in (why, stop(record.manifest), record.manifest.left_out) if each)
    apart = sum(record.manifest.further.values())
    kept = f", of which {apart:,} are counted only" if apart else ""
    what = _NO_CLAIM[record.manifest.level].format(seed=record.manifest.seed)
    sentence = f"{who}: {what}: {passed:,} of {total:,} cases pass{f', {rest}' if rest else ''}{kept}{_restriction(record.manifest)}{aside}; {record.manifest.level} makes no claim."
    return Statement(record.manifest.basis, None, "", sentence, record.results)


def _scope(results: Iterable[Result]) -> str:
    """``1 operator (GEMM) in 2 data types (FLOAT16, FLOAT32)``: of the cases that ``_right_results`` gives."""
    found = matrix(results)
    return f"{_list_names(sorted(found), 'operator')} in {_list_names(list(filter(None, data_types(found))), 'data type')}"


def _right_results(results: Iterable[Result]) -> Iterator[Result]:
    """The cases that passed by computing something right. Who rejects everything passes all negative ones."""
    return (result for result in results if result.status == PASS and result.kind != NEGATIVE)


def _list_names(names: Sequence[str], noun: str) -> str:
    named = f" ({', '.join(names)})" if 0 < len(names) <= _NAMED else ""
    return count_of(len(names), noun) + named


def _restriction(manifest: Manifest) -> str:
    """The restriction of a claim where only some of the cases were selected."""
    selection = manifest.selection if len(manifest.selection) <= _LONGEST else f"{manifest.selection[:_LONGEST]}..."
    selected = f"the cases that {selection!r} selects" if selection else ""
    shard = f"shard {manifest.shard}" if manifest.shard else ""
    part = " of ".join(filter(None, (shard, selected)))
    return f", within {part}" if part else ""


def _counts(results: Iterable[Result]) -> Counts:
    return {**dict.fromkeys(STATUSES, 0), **Counter(result.status for result in results)}


def _count_supported(results: Iterable[Result]) -> int:
    return sum(1 for result in results if result.status != UNSUPPORTED and REQUIRED not in result.evidence)


def _count_undeclared(results: Iterable[Result]) -> Counts:
    return dict(Counter(result.undeclared for result in results if result.status == UNSUPPORTED and result.undeclared))
