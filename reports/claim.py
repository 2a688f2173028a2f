"""The claim of a run: what it shows about an implementation, in words and as data. Every report prints this object; ``claim.json`` holds it.

A claim has a basis. ``documented`` cases support conformance to the documentation; ``measured`` and ``contested`` cases support the further
claim of behaving like DirectML where the documentation is silent or contradicted.

Negative cases pass wherever everything is rejected: without another case that passed they support no claim, and an operator or data type is
claimed only for such a case.

A claim covers what ran and no more: a selection, a shard or a list of cases is named in it. What the implementation's description excludes
(operators, data types, validation) is not claimed. Everything else that is promised at the feature level is mandatory: an unsupported case there
refutes the claim. Level ``smoke`` is a first look, and a random search
(``fuzz``) has no end: they claim nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from dmlcts.reports.files import write_text
from dmlcts.reports.policies import coarse_sums, policies
from dmlcts.reports.record import FAILURES, MEMORY, NOT_RUN, PASS, SEARCH, STATUSES, UNSUPPORTED, WAIVED, Manifest, Record, Result
from dmlcts.reports.verdict import (
    Counts,
    backend_name,
    counts_text,
    data_types,
    lacks_operators,
    level_text,
    matrix,
    missing_results,
    numbered,
)

MEASURED_VERSION = "DirectML 1.15.4"
"""The version on which the facts of basis ``measured`` were measured."""

FORMAT = "dmlcts-claim-1"
"""The form of ``claim.json``: reports/schema/claim.schema.json."""

VALIDATION = "validation"
"""The requirement, and the declared part, of negative cases."""

REQUIRED = "required"
"""The evidence of a failure that is an unsupported case: the requirement that covers it."""

NEGATIVE_ALONE = "only negative cases passed"
"""Why passes may show nothing."""

_DOCUMENTED, _NEGATIVE = "documented", "negative"
_NO_CLAIM = {"smoke": "first look", SEARCH: "random search, seed {seed}"}
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
    """What the cases of one ``basis`` show: ``documented`` or ``measured``; or ``required``, if a requirement was not tested.

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
    def supported(self) -> int:
        """How many cases are supported: neither unsupported, nor unsupported and therefore a failure."""
        return _supported(self.results)

    @property
    def undeclared(self) -> Counts:
        """How many of the unsupported cases the implementation's description excludes, by what it excludes: ``operator``, ``data type`` ..."""
        return _undeclared(self.results)

    @property
    def claimed(self) -> dict[str, list[str]]:
        """The operators that the claim is for, each with its data types; empty unless it holds."""
        found = matrix(_computed(self.results)) if self.claim else {}
        return {operator: data_types({operator: row}) for operator, row in sorted(found.items())}


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of a run.

    ``counts`` has every status; cases that were selected and have no result count as ``not_run``. ``unsupported`` counts unsupported cases
    within what the implementation claims. ``untested`` are requirements that no case tested. ``ok``: everything that was selected ran, nothing
    failed or was unsupported within the claim, every requirement was tested, and something passed: not negative cases alone, unless no other
    was selected.
    """

    statements: tuple[Statement, ...]
    counts: Counts
    unsupported: int
    untested: tuple[str, ...]
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
    some passed that are not negative; waived cases are counted in the sentence. An implementation that contradicts the documentation behaves like nobody.
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
    unsupported = record.counts()[UNSUPPORTED] - sum(_undeclared(record.results).values())
    untested = (
        () if manifest.shard else tuple(name for name in manifest.required if not any(_tests(name, r) for r in record.results))
    )
    failed = any(counts[status] for status in FAILURES)
    if manifest.level in _NO_CLAIM:
        statements = [_no_claim(record, counts)]
    else:
        statements = list(_statements(record, "the run did not finish" if unfinished else ""))
    if untested:
        statements.append(Statement("required", False, "", f"Required, but no case tested it: {', '.join(untested)}.", ()))
    return Claim(
        statements=tuple(statements),
        counts=counts,
        unsupported=unsupported,
        untested=untested,
        ok=not (failed or unfinished or unsupported or untested or nothing_shown(record)),
    )


def nothing_shown(record: Record) -> str:
    """Why the cases that passed show nothing, such as that there are none; empty if they do, or if only negative cases were selected."""
    if record.manifest.further.get(PASS):
        return ""
    passed = [result for result in record.results if result.status == PASS]
    if not passed:
        return "nothing passed"
    others = any(result.kind != _NEGATIVE for result in record.results)
    return NEGATIVE_ALONE if others and not any(_computed(passed)) else ""


def required(requirement: str, result: Result) -> bool:
    """Whether a requirement (OPERATOR/TYPE, with ``*`` for all, or ``validation``) covers a result."""
    if requirement == VALIDATION:
        return result.kind == _NEGATIVE
    if result.undeclared == VALIDATION:
        return False
    operator, _, data_type = requirement.partition("/")
    return operator in ("*", result.operator) and data_type in ("*", result.data_type)


def _tests(requirement: str, result: Result) -> bool:
    """Whether a case tests a requirement. A negative one does not test an operator or data type."""
    return required(requirement, result) and (requirement == VALIDATION or result.kind != _NEGATIVE)


def share_text(part: int, whole: int) -> str:
    """``55.4 %``, rounded down: 100 % are all."""
    permille = 1000 * part // whole if whole else 0
    return f"{permille // 10}.{permille % 10} %" if permille % 10 else f"{permille // 10} %" if permille or not part else "<0.1 %"


def _statements(record: Record, reason: str) -> Iterator[Statement]:
    """One for each basis that ran; conformance for a run without cases. A non-empty ``reason`` forbids any claim."""
    groups: dict[bool, list[Result]] = {True: [], False: []}
    for result in record.results:
        groups[result.basis == _DOCUMENTED].append(result)
    who, manifest = backend_name(record.manifest), record.manifest
    reason = reason or ("" if record.results else "no case was run")
    if groups[True] or not groups[False]:
        words = ("conforms to", "does NOT conform to", f"the documentation at {level_text(manifest)}", "documented cases")
        conforms = _statement(manifest, who, _DOCUMENTED, words, groups[True], reason)
        yield conforms
        who, reason = "it", reason or ("" if conforms.claim else "its documented cases support no claim")
    if groups[False]:
        target = f"{MEASURED_VERSION} where the documentation is silent or contested"
        words = ("behaves like", "does NOT behave like", target, "measured and contested cases")
        yield _statement(manifest, who, "measured", words, groups[False], reason)


def _statement(
    manifest: Manifest, who: str, basis: str, words: tuple[str, str, str, str], results: Sequence[Result], reason: str
) -> Statement:
    verb, negated, target, cases = words
    counts, total = _counts(results), len(results)
    undeclared = _undeclared(results)
    failed = any(counts[status] for status in FAILURES)
    lacking = counts[UNSUPPORTED] - sum(undeclared.values())
    passed, rest = counts[PASS], counts_text({**counts, PASS: 0})
    supported = share_text(_supported(results), total)
    level = _BELOW.get(manifest.level, manifest.level) if undeclared.pop(MEMORY, 0) else manifest.level
    target = f"{target}, level {level}" if level else target
    numbers = f"of {total:,} {cases}, {passed:,} passed{f', {rest}' if rest else ''} ({supported} supported)" if total else ""
    covered = list(_computed(results))
    nothing = "" if covered else NEGATIVE_ALONE if passed else "nothing passed"
    reason = reason or ("" if failed or lacking else nothing)
    if reason:
        sentence = f"No claim that {who} {verb} {target}, since {reason}{f': {numbers}' if total else ''}."
        return Statement(basis, None, "", sentence, tuple(results))
    subject = "It" if who == "it" else who
    if failed or lacking:
        why = "" if failed else f"; {'it is' if lacking == 1 else 'they are'} within what it claims"
        return Statement(basis, False, "", f"{subject} {negated} {target}{_within(manifest)}: {numbers}{why}.", tuple(results))
    partial = ", which is not the whole feature level" if undeclared.keys() - _OPTIONAL else ""
    declared = f", within what it declares{partial}" if undeclared else ""
    sums = f", with {coarse}" if (coarse := coarse_sums(manifest.backend)) else ""
    claim = f"{verb} {target}, for {_scope(covered)}{declared}{sums}{_within(manifest)}"
    aside = f"; {rest}, which the claim excludes" if rest else ""
    sentence = f"{subject} {claim}: {passed:,} of {total:,} {cases} passed, {supported} supported{aside}."
    return Statement(basis, True, claim, sentence, tuple(results))


def _no_claim(record: Record, counts: Counts) -> Statement:
    passed, rest = counts[PASS], counts_text({**counts, PASS: 0})
    total = sum(counts.values())
    who = f"{backend_name(record.manifest)}, {level_text(record.manifest)}"
    alone = f"; {nothing}" if (nothing := nothing_shown(record)) and passed else ""
    apart = sum(record.manifest.further.values())
    kept = f", of which {apart:,} are counted only" if apart else ""
    what = _NO_CLAIM[record.manifest.level].format(seed=record.manifest.seed)
    sentence = f"{who}: {what}: {passed:,} of {total:,} cases pass{f', {rest}' if rest else ''}{kept}{_within(record.manifest)}{alone}; {record.manifest.level} makes no claim."
    return Statement(record.manifest.basis, None, "", sentence, record.results)


def _scope(results: Iterable[Result]) -> str:
    """``1 operator (GEMM) in 2 data types (FLOAT16, FLOAT32)``: of the cases that ``_computed`` gives."""
    found = matrix(results)
    return f"{_listed(sorted(found), 'operator')} in {_listed(list(filter(None, data_types(found))), 'data type')}"


def _computed(results: Iterable[Result]) -> Iterator[Result]:
    """The cases that passed by computing something right. Who rejects everything passes all negative ones."""
    return (result for result in results if result.status == PASS and result.kind != _NEGATIVE)


def _listed(names: Sequence[str], noun: str) -> str:
    named = f" ({', '.join(names)})" if 0 < len(names) <= _NAMED else ""
    return numbered(len(names), noun) + named


def _within(manifest: Manifest) -> str:
    """The restriction of a claim where only some of the cases were selected."""
    selection = manifest.selection if len(manifest.selection) <= _LONGEST else f"{manifest.selection[:_LONGEST]}..."
    selected = f"the cases that {selection!r} selects" if selection else ""
    shard = f"shard {manifest.shard}" if manifest.shard else ""
    part = " of ".join(filter(None, (shard, selected)))
    return f", within {part}" if part else ""


def _counts(results: Iterable[Result]) -> Counts:
    return {**dict.fromkeys(STATUSES, 0), **Counter(result.status for result in results)}


def _supported(results: Iterable[Result]) -> int:
    return sum(1 for result in results if result.status != UNSUPPORTED and REQUIRED not in result.evidence)


def _undeclared(results: Iterable[Result]) -> Counts:
    return dict(Counter(result.undeclared for result in results if result.status == UNSUPPORTED and result.undeclared))


# As data


def write_claim(record: Record, file: Path, results: Path) -> None:
    """Writes the claim as JSON; ``results`` is the results file, whose hash it contains. Raises OSError if it cannot."""
    with results.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    write_text(file, json.dumps(claim_json(record, digest), indent=1) + "\n")


def claim_json(record: Record, results_sha256: str = "") -> dict[str, Any]:
    """The claim as data, in the form of reports/schema/claim.schema.json."""
    claim, manifest = claim_of(record), record.manifest
    backend = manifest.backend
    return {
        "format": FORMAT,
        "claim": claim.claim,
        "sentence": claim.sentence,
        "ok": claim.ok,
        "implementation": {
            "name": str(backend.get("name") or manifest.backend_spec),
            "version": str(backend.get("version") or ""),
            "device": str(backend.get("device") or ""),
            "declares": {
                "operators": _names(backend.get("operators")),
                "data_types": _names(backend.get("data_types")),
                "validates": backend.get("validates") is not False,
                **policies(backend),
            },
        },
        "feature_level": manifest.feature_level,
        "level": manifest.level,
        "basis": manifest.basis,
        "scope": {
            "whole": not (manifest.selection or manifest.shard),
            "selection": manifest.selection,
            "shard": manifest.shard,
            "complete": not (manifest.interrupted or not manifest.finished or claim.counts[NOT_RUN]),
        },
        "counts": claim.counts,
        "statements": [_statement_json(statement) for statement in claim.statements],
        "required": list(manifest.required),
        "untested": list(claim.untested),
        "waivers": {"files": [dict(entry) for entry in manifest.waivers], "applied": _applied(record.results)},
        "versions": {"suite": manifest.suite_version, "spec": manifest.spec_version, "measured": MEASURED_VERSION},
        "results_sha256": results_sha256,
        "run": {name: getattr(manifest, name) for name in ("backend_spec", "command", "seed", "started", "finished", "platform")},
    }


def _statement_json(statement: Statement) -> dict[str, Any]:
    total, supported = len(statement.results), statement.supported
    cells = {
        operator: {name: {status: number for status, number in cell.items() if number} for name, cell in row.items()}
        for operator, row in sorted(matrix(statement.results).items())
    }
    return {
        "basis": statement.basis,
        "holds": statement.holds,
        "claim": statement.claim,
        "sentence": statement.sentence,
        "cases": total,
        "supported": supported,
        "share_supported": supported / total if total else 0.0,
        "undeclared": statement.undeclared,
        "claimed": statement.claimed,
        "operators": cells,
    }


def _applied(results: Iterable[Result]) -> list[dict[str, Any]]:
    reasons = Counter(result.waiver for result in results if result.status == WAIVED)
    return [{"reason": reason, "cases": number} for reason, number in sorted(reasons.items())]


def _names(value: object) -> list[str] | None:
    """A declared list; None for no restriction."""
    return [str(name) for name in value] if isinstance(value, list | tuple) and value else None
