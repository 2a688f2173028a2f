"""A run against an older one: what got worse is never green, and neither is what cannot be compared."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from commands import dmlcts
from gates import OTHER, SCHEMA, TODAY, WHOLE, changed, gated, older
from records import negative, result, run

from dmlcts.reports.gate.forms import gate_json, github_annotations, markdown, text
from dmlcts.reports.gate.gate import clean, compare
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.reports.record.policies import policies
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    SEARCH,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Record,
    write_record,
)

# ---- Every way from one status to another

GOOD, BAD = (PASS, UNEXPECTED_PASS), (FAIL, ERROR)
EXPECTED: dict[tuple[str | None, str | None], str] = {
    **{(old, new): "newly_fails" for old in (*GOOD, WAIVED, UNSUPPORTED, NOT_RUN, None) for new in BAD},
    **{(old, new): "still_fails" for old in BAD for new in BAD},
    **{(old, None): "vanished" for old in (*GOOD, *BAD, WAIVED, UNSUPPORTED)},
    **{(old, UNSUPPORTED): "became_unsupported" for old in (*GOOD, *BAD, WAIVED)},
    **{(old, new): "fixed" for old in (*BAD, WAIVED) for new in GOOD},
    **{(old, WAIVED): "newly_waived" for old in (*GOOD, *BAD)},
}
STATUSES = (*GOOD, *BAD, WAIVED, UNSUPPORTED, NOT_RUN, None)


@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("after", STATUSES)
def test_every_change_of_status_has_its_kind(before: str | None, after: str | None) -> None:
    gate = changed(before, after)
    kind = EXPECTED.get((before, after))
    assert [change.kind for change in gate.changes] == ([kind] if kind else [])
    worse = kind in ("newly_fails", "vanished", "became_unsupported")
    assert gate.worse == worse
    more_waived = after == WAIVED != before
    assert gate.ok is not (worse or more_waived or after in (NOT_RUN, UNEXPECTED_PASS))
    assert gate.sentence.startswith("PASS: " if gate.ok else "FAIL: ")


def test_no_change_is_green() -> None:
    same = run(result(), result(number=1), result(number=2), result(FAIL, 3))
    gate = gated(same, same)
    assert gate.ok, "what failed before may still fail"
    assert gate.sentence == "PASS: no regression in 4 cases (1 still failing)"


# ---- Waivers


def test_a_reviewed_waiver_excuses_a_failure_until_it_expires() -> None:
    waiver = Waiver(result().case, "known", "https://example.org/1", date(2026, 7, 1))
    new, old = run(OTHER, result(FAIL)), run(OTHER, result())
    gate = gated(new, old, waiver, files=["a"], reviewed=True)
    assert (gate.counts["newly_waived"], gate.ok) == (1, True)
    assert not gated(new, old, replace(waiver, expires=date(2026, 6, 30)), files=["a"], reviewed=True).ok


BEFORE, AFTER = [{"file": "waivers.yaml", "sha256": "a"}], [{"file": "waivers.yaml", "sha256": "b"}]
OF_MORE = f"more cases are waived: {OTHER.operator}: 1 of 2, before 0 of 2: "


@pytest.mark.parametrize(
    ("files", "reviewed", "problem"),
    [
        (BEFORE, False, "no waiver file changed, so new failures fall under old waivers"),
        (BEFORE, True, "no waiver file changed, so new failures fall under old waivers"),
        ([], True, "no waiver file changed, so new failures fall under old waivers"),
        (AFTER, False, "review what changed in the waivers, then give --waivers-reviewed"),
        ([*BEFORE, *AFTER], False, "review what changed in the waivers, then give --waivers-reviewed"),
        (AFTER, True, ""),
        ([*BEFORE, *AFTER], True, ""),
    ],
)
def test_more_is_waived_only_by_a_changed_file_that_was_reviewed(files: list[dict[str, str]], reviewed: bool, problem: str) -> None:
    old, new = run(OTHER, result(), waivers=BEFORE), run(OTHER, result(WAIVED), waivers=files)
    gate = gated(new, old, reviewed=reviewed)
    assert gate.ok is not bool(problem)
    if problem:
        assert gate.problems[0].startswith(OF_MORE + problem)
        assert gate.sentence == "FAIL: 1 problem in 2 cases (1 newly waived)"


def test_a_file_of_the_gate_itself_counts_as_one_of_the_run() -> None:
    waiver = Waiver(result().case, "known", "https://example.org/1")
    old, new = run(OTHER, result(), waivers=BEFORE), run(OTHER, result(FAIL), waivers=BEFORE)
    assert not gated(new, old, waiver, files=["a"], reviewed=True).ok
    assert gated(new, old, waiver, files=["b"], reviewed=True).ok


def test_what_failed_before_and_is_waived_by_the_gate_is_no_more_than_before() -> None:
    waiver = Waiver(result().case, "known", "https://example.org/1")
    assert gated(run(OTHER, result(FAIL)), run(OTHER, result(FAIL)), waiver, files=["b"]).ok


@pytest.mark.parametrize(
    ("before", "after", "grew"),
    [
        ([WAIVED, PASS, PASS], [WAIVED, PASS, PASS], False),
        ([WAIVED, WAIVED, PASS], [WAIVED, PASS, PASS], False),
        ([WAIVED, PASS, PASS], [WAIVED, WAIVED, PASS], True),
        ([WAIVED, PASS], [WAIVED, PASS, PASS], False),
        ([UNSUPPORTED, PASS], [WAIVED, PASS], True),
        ([], [WAIVED, PASS], False),  # a new operator
    ],
)
def test_the_share_of_each_operator_counts(before: list[str], after: list[str], grew: bool) -> None:
    new, old = (run(OTHER, *(result(s, n, operator="GEMM") for n, s in enumerate(statuses))) for statuses in (after, before))
    assert any("more cases are waived: GEMM: " in problem for problem in gated(new, old).problems) is grew
    many = [result(number=n) for n in range(100)]
    padded = replace(new, results=(*new.results[1:], *many), manifest=replace(new.manifest, selected=len(new.results) + 99))
    assert any("more cases are waived: GEMM: " in problem for problem in gated(padded, old).problems) is grew


def test_what_a_search_draws_has_no_share_to_compare() -> None:
    assert gated(run(OTHER, result(WAIVED, 2), level=SEARCH), run(OTHER, result(), level=SEARCH)).ok


def test_a_waiver_that_matches_a_pass_is_never_green() -> None:
    """Else a waiver of all cases would make every run green in which one case passes."""
    everything = Waiver("*", "all", "https://example.org/1")
    gate = gated(run(OTHER, result(FAIL)), run(OTHER, result()), everything)
    assert gate.counts["newly_waived"] == 1
    assert not gate.ok
    assert f"1 case passed although a waiver excuses a failure, such as {OTHER.case}" in gate.problems[0]


# ---- What is never green


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"interrupted": True}, "did not finish"),
        ({"finished": ""}, "did not finish"),
        ({"selected": 5}, "incomplete: 3 cases without a result"),
        ({"shard": "1/2"}, "only shard 1/2"),
        ({"level": "smoke"}, "another level: smoke, in the baseline core"),
        ({"basis": "measured"}, "another basis"),
        ({"feature_level": "4_1"}, "a lower feature level: 4.1, in the baseline 6.4"),
        ({"selection": "ROUND"}, "another selection of cases: ROUND, in the baseline none"),
        ({"spec_version": "2"}, "another spec (the promises changed"),
        ({"required": ["GEMM/*"]}, "no case of the new run tests what it requires: GEMM/*"),
    ],
)
def test_an_incomplete_or_other_run_is_never_green(change: dict[str, object], problem: str) -> None:
    new = replace(WHOLE, manifest=replace(WHOLE.manifest, **change))  # type: ignore[arg-type]
    gate = gated(new, WHOLE)
    assert not gate.ok
    assert any(problem in found for found in gate.problems)
    assert gate.sentence == "FAIL: 1 problem in 2 cases"
    assert problem in "\n".join(text(gate))
    assert next(iter(github_annotations(gate))).startswith("::error title=dmlcts gate%3A problem::")


def test_a_run_without_results_or_that_requires_less_is_never_green() -> None:
    assert "the new run has no results" in gated(run(), WHOLE).problems
    assert "the baseline has no results" in gated(WHOLE, run()).problems
    strict = replace(WHOLE, manifest=replace(WHOLE.manifest, required=["*/FLOAT16"]))
    assert gated(WHOLE, strict).problems == ("the new run does not require what the baseline does: */FLOAT16",)
    assert gated(run(OTHER, OTHER), WHOLE).problems == ("the new run has several results for one case",)
    assert gated(run(result(WAIVED)), run(result(WAIVED))).problems == ("nothing passed in the new run",)
    rejecting = run(negative(), result(UNSUPPORTED, 1, undeclared="operator"))
    assert gated(rejecting, rejecting).problems == ("only negative cases passed in the new run",)
    assert compare(WHOLE, WHOLE, (), TODAY).problems == ("the baseline is the new run itself",)


@pytest.mark.parametrize(
    ("name", "before", "after", "looser"),
    [
        ("accumulator", 52, 10, True),
        ("accumulator", 0, 10, True),
        ("accumulator", 52, 0, True),
        ("accumulator", 0, 23, False),
        ("accumulator", 24, 52, False),
        ("accumulator", 10, 0, True),
        ("accumulator", 23, 52, True),
        ("half_store", "nearest", "truncate", True),
        ("half_store", None, "truncate", True),
        ("half_store", "truncate", "nearest", False),
        ("nearest", True, None, True),
        ("denormals", "flush", "any", False),
        ("nearest", True, False, True),
        ("nearest", False, True, False),
        ("denormals", "preserve", "any", True),
        ("denormals", "any", "preserve", False),
    ],
)
def test_a_run_that_is_judged_less_strictly_is_never_green(name: str, before: object, after: object, looser: bool) -> None:
    old, new = (run(OTHER, result(), backend={"name": "impl", **({} if v is None else {name: v})}) for v in (before, after))
    before, after = (policies({} if value is None else {name: value})[name] for value in (before, after))
    problem = (
        f"the new run is judged less strictly, since the implementation declares another precision: {name} {after}, before {before}"
    )
    assert gated(new, old).problems == ((problem,) if looser else ())


def test_a_wrong_clock_and_runs_in_each_others_place_are_warnings() -> None:
    def warnings(new: str, old: str) -> str:
        records = (replace(WHOLE, manifest=replace(WHOLE.manifest, started=time)) for time in (new, old))
        gate = compare(*records, (), TODAY)
        assert gate.ok
        return " ".join(gate.warnings)

    assert not warnings("2026-07-02T00:00:00Z", "2026-06-30T00:00:00Z")
    assert "the new run began in the future, at 2026-07-03T00:00:00Z" in warnings("2026-07-03T00:00:00Z", "2026-06-30T00:00:00Z")
    assert "the baseline began in the future" in warnings("2999-01-01T00:00:00Z", "2999-01-01T01:00:00Z")
    assert "the new run began before the baseline" in warnings("2026-06-29T00:00:00Z", "2026-06-30T00:00:00Z")


def test_what_does_not_decide_is_a_warning() -> None:
    new = replace(WHOLE, manifest=replace(WHOLE.manifest, seed="8", suite_version="9", backend={"name": "theirs"}))
    gate = gated(new, replace(WHOLE, manifest=replace(WHOLE.manifest, interrupted=True)))
    assert gate.ok
    assert len(gate.warnings) == 4


# ---- Forms

HOSTILE = "100% \x1b[31m\r\n::error::owned ##[error]x, y | `z` <b> @all" + "!" * 1000


def many(status: str, **more: object) -> Record:
    return run(
        OTHER, *(result(status, number, operator=f"OPERATOR_{number % 40}", message=HOSTILE, **more) for number in range(400))
    )


def test_every_form_is_capped_grouped_and_clean() -> None:
    gate = gated(many(ERROR), many(PASS))
    lines = list(text(gate))
    assert "newly failing: 400" in lines
    assert "  OPERATOR_0: 10" in lines
    assert "    ... and 7 more" in lines
    assert "  ... and 20 operators more" in lines
    page = "\n".join(markdown(gate))
    for form in ("\n".join(lines), page):
        assert len(form) < 60_000
        assert "\x1b" not in form
        assert "\r" not in form
        assert "##[" not in form
        assert not re.search(r"^\s*::", form, re.MULTILINE)
    assert "<b>" not in page.replace("`", "")
    assert "@all" not in page
    assert len(gate_json(gate)["changes"]) == 400


def test_annotations_are_escaped_and_no_more_than_github_shows() -> None:
    lines = list(github_annotations(gated(many(ERROR), many(PASS))))
    assert len(lines) == 10
    for line in lines:
        found = re.fullmatch(r"::error title=([^:,\r\n]*)::([^\r\n]*)", line)
        assert found, line
        assert "%25 " in found[2], "the percent sign of the message"
        assert found[2].count("%0A") == 3, "three cases and a remark"
        assert "%3A" in found[1]
    slow = gated(run(OTHER, result(seconds=9.0)), run(OTHER, result(seconds=0.1)))
    assert [line.partition(" ")[0] for line in github_annotations(slow)] == ["::warning"]
    assert not list(github_annotations(changed(FAIL, PASS)))


def test_foreign_text_is_one_short_line() -> None:
    assert clean("a\x00b\n c\u2028d") == "a\ufffdb c d"
    assert len(clean("x" * 10_000)) == 300


# ---- The command


def test_the_command_exits_as_a_ci_expects_and_writes_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, record in (("old", older(WHOLE)), ("new", WHOLE), ("bad", run(OTHER, result(FAIL, message="off by one")))):
        (tmp_path / name).mkdir()
        write_record(record, tmp_path / name / "results.jsonl")
    old, bad = tmp_path / "old", tmp_path / "bad" / "results.jsonl"
    assert dmlcts("gate", tmp_path / "new", "--baseline", old, "--github") == 0
    assert capsys.readouterr().out == "PASS: no regression in 2 cases\n"
    files = ("--markdown", tmp_path / "gate.md", "--json", tmp_path / "gate.json")
    assert dmlcts("gate", bad, "--baseline", old, "--github", *files) == 1
    printed = capsys.readouterr().out
    assert "    ELEMENT_WISE_ROUND/FLOAT16/0: passed → failed: off by one\n" in printed
    assert "::error title=dmlcts gate%3A ELEMENT_WISE_ROUND%3A 1 newly failing::ELEMENT_WISE_ROUND/FLOAT16/0: " in printed
    assert (tmp_path / "gate.md").read_text(encoding="utf-8").startswith("# ✗ FAIL: 1 regression in 2 cases")
    jsonschema.validate(json.loads((tmp_path / "gate.json").read_text(encoding="utf-8")), SCHEMA)
    waivers = tmp_path / "waivers.yaml"
    waivers.write_text(
        "waivers: [{cases: ELEMENT_WISE_ROUND/FLOAT16/0, reason: known, issue: https://example.org/1}]", encoding="utf-8"
    )
    assert dmlcts("gate", bad, "--baseline", old, "--waivers", waivers) == 1
    assert "problem: more cases are waived: ELEMENT_WISE_ROUND: 1 of 2, before 0 of 2: review" in capsys.readouterr().out
    assert dmlcts("gate", bad, "--baseline", old, "--waivers", waivers, "--waivers-reviewed") == 0


def test_the_command_takes_further_runs_of_the_new_implementation(tmp_path: Path) -> None:
    for name, seconds in (("old", 0.3), ("new", 2.0), ("slow", 2.1), ("quick", 0.4)):
        (tmp_path / name).mkdir()
        record = run(OTHER, result(seconds=seconds))
        write_record(older(record) if name == "old" else record, tmp_path / name / "results.jsonl")
    gate = ("gate", tmp_path / "new", "--baseline", tmp_path / "old", "--max-slowdown", "3")
    assert dmlcts(*gate) == 1
    assert dmlcts(*gate, "--repeat", tmp_path / "slow") == 1
    assert dmlcts(*gate, "--repeat", tmp_path / "slow", "--repeat", tmp_path / "quick") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("gate", "old", "--baseline", "nowhere"),
        ("gate", "nowhere", "--baseline", "old"),
        ("gate", "old"),
        ("gate", "old", "--baseline", "old", "--waivers", "nowhere.yaml"),
        ("gate", "old", "--baseline", "old", "--max-slowdown", "1"),
        ("gate", "old", "--baseline", "old", "--max-slowdown", "nan"),
        ("gate", "empty", "--baseline", "old"),
    ],
)
def test_wrong_input_exits_with_2(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "empty").mkdir()
    write_record(WHOLE, tmp_path / "old" / "results.jsonl")
    assert dmlcts(*arguments) == 2
