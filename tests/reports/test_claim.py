"""The claim of a run: what it says, when it says nothing, and claim.json."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from records import ALL_SEVEN, MANIFEST, negative, of, result, run

from dmlcts.reports import write_all
from dmlcts.reports.claim.claim import claim_of, is_required, share_text
from dmlcts.reports.claim.claim_json import claim_json
from dmlcts.reports.formats.markdown import markdown, plain
from dmlcts.reports.record.policies import policies
from dmlcts.reports.record.record import ERROR, FAIL, NOT_RUN, PASS, SEARCH, UNEXPECTED_PASS, UNSUPPORTED, WAIVED, Record, Result
from dmlcts.reports.record.verdict import WORDS, interruption

SCHEMA = json.loads((Path(__file__).parents[2] / "reports" / "schema" / "claim.schema.json").read_text(encoding="utf-8"))
ROUND = "ELEMENT_WISE_ROUND"


def test_a_claim_names_level_operators_data_types_and_the_share_supported() -> None:
    claim = claim_of(run(result(), result(number=1), result(operator="GEMM", data_type="FLOAT32")))
    assert claim.claim == (
        "conforms to the documentation at feature level 6.4, level core, "
        f"for 2 operators ({ROUND}, GEMM) in 2 data types (FLOAT16, FLOAT32)"
    )
    assert claim.sentence == f"impl 2.0 {claim.claim}: 3 of 3 documented cases passed, 100 % supported."
    assert claim.ok


def test_many_operators_are_counted_and_not_named() -> None:
    claim = claim_of(run(*(result(operator=name) for name in "ABCDE"))).claim
    assert "for 5 operators in 1 data type (FLOAT16)" in claim


@pytest.mark.parametrize("status", [FAIL, ERROR, UNEXPECTED_PASS])
def test_one_failure_refutes_the_claim(status: str) -> None:
    claim = claim_of(of(**{PASS: 99, status: 1}))
    assert (claim.claim, claim.ok) == ("", False)
    assert claim.sentence.startswith("impl 2.0 does NOT conform to the documentation at feature level 6.4, level core: ")
    assert f"of 100 documented cases, 99 passed, 1 {WORDS[status]}" in claim.sentence


def test_one_unsupported_case_within_what_is_claimed_refutes_the_claim() -> None:
    claim = claim_of(of(**{PASS: 11, UNSUPPORTED: 964}))
    assert (claim.claim, claim.ok, claim.unsupported) == ("", False, 964)
    assert claim.sentence == (
        "impl 2.0 does NOT conform to the documentation at feature level 6.4, level core: "
        "of 975 documented cases, 11 passed, 964 unsupported (1.1 % supported); they are within what it claims."
    )


def test_what_the_implementation_does_not_declare_is_left_out_of_the_claim() -> None:
    claim = claim_of(run(result(), result(UNSUPPORTED, operator="GEMM", undeclared="operator")))
    assert claim.claim.endswith(
        f"for 1 operator ({ROUND}) in 1 data type (FLOAT16), within what it declares, which is not the whole feature level"
    )
    assert claim.sentence.endswith("1 of 2 documented cases passed, 50 % supported; 1 unsupported, which the claim excludes.")
    assert claim.ok


def test_a_device_may_lack_a_data_type_at_any_feature_level() -> None:
    claim = claim_of(run(result(), result(UNSUPPORTED, data_type="FLOAT64", undeclared="data type")))
    assert claim.claim.endswith("in 1 data type (FLOAT16), within what it declares")
    assert claim.statements[0].undeclared_counts == {"data type": 1}


def test_level_huge_is_not_claimed_where_memory_was_lacking() -> None:
    lacking = result(UNSUPPORTED, 1, undeclared="memory")
    whole, part = (claim_of(run(result(), *more, level="huge")) for more in ((), (lacking,)))
    assert (", level huge, for" in whole.claim, ", level full, for" in part.claim) == (True, True)
    assert part.sentence.endswith("1 of 2 documented cases passed, 50 % supported; 1 unsupported, which the claim excludes.")
    assert part.ok
    assert "level huge" not in part.claim + part.sentence
    assert not claim_of(run(lacking, level="huge")).ok
    assert not claim_of(run(result(FAIL), result(number=1), level="huge")).claim


def test_who_takes_part_in_no_sequences_claims_each_dispatch_by_itself() -> None:
    alone = replace(result(UNSUPPORTED, 1, undeclared="sequences"), kind="sequence")
    claim = claim_of(run(result(), alone))
    assert claim.ok
    assert claim.claim.endswith(f"for 1 operator ({ROUND}) in 1 data type (FLOAT16), each dispatch by itself")
    assert claim.sentence.endswith("1 of 2 documented cases passed, 50 % supported; 1 unsupported, which the claim excludes.")
    assert claim.statements[0].undeclared_counts == {"sequences": 1}
    assert not is_required(f"{ROUND}/*", alone)
    assert "by itself" not in claim_of(run(result())).claim


def test_a_waived_case_keeps_the_claim_and_is_named() -> None:
    claim = claim_of(of(**{PASS: 5, WAIVED: 2}))
    assert claim.ok
    assert claim.sentence.endswith("5 of 7 documented cases passed, 100 % supported; 2 waived, which the claim excludes.")


def waived(number: int, **more: object) -> list[Result]:
    return [result(WAIVED, 100 + n, **more) for n in range(number)]  # type: ignore[arg-type]


def test_nothing_is_claimed_where_more_is_waived_than_passes() -> None:
    others = [result(number=n, operator="GEMM") for n in range(50)]
    claim = claim_of(run(result(), *waived(2), *others))
    assert (claim.claim, claim.ok, claim.mostly_waived) == ("", False, (ROUND,))
    assert f"since more cases are waived than pass of {ROUND}: of 53 documented cases, 51 passed, 2 waived" in claim.sentence
    assert claim_of(run(result(), result(number=1), *waived(2), *others)).ok


def test_negative_cases_that_pass_do_not_outweigh_what_is_waived() -> None:
    rejecting = [negative(number=n) for n in range(50)]
    assert claim_of(run(result(), *waived(2), *rejecting, result(operator="GEMM"))).mostly_waived == (ROUND,)
    assert not claim_of(run(result(), *waived(1), *rejecting)).mostly_waived
    assert claim_of(run(result(), negative(WAIVED, 1), negative(WAIVED, 2))).mostly_waived == (ROUND,)


def test_the_claim_of_the_other_basis_stands() -> None:
    measured = [*waived(2, basis="measured"), result(number=1, basis="measured")]
    claim = claim_of(run(result(), *measured, basis="measured"))
    assert claim.claim.startswith("conforms to the documentation")
    assert "No claim that it behaves like" in claim.sentence
    assert not claim.ok
    padded = claim_of(run(*(result(number=n) for n in range(9)), *measured, basis="measured"))
    assert padded.mostly_waived == (ROUND,), "passes of one basis do not outweigh what is waived of the other"


def test_levels_without_a_claim_say_it_too() -> None:
    smoke = claim_of(run(result(), *waived(2), level="smoke"))
    assert not smoke.ok
    assert f"1 of 3 cases pass, 2 waived; more cases are waived than pass of {ROUND}; smoke makes no claim." in smoke.sentence
    search = run(*waived(2), level=SEARCH, further={PASS: 1})
    assert "; more cases are waived than pass of all operators together; fuzz makes no claim." in claim_of(search).sentence
    assert not claim_of(search).ok
    assert claim_of(run(*waived(2), level=SEARCH, further={PASS: 2})).ok


def test_many_operators_that_are_mostly_waived_are_counted() -> None:
    record = run(*(result(WAIVED, operator=f"OPERATOR_{n:02}") for n in range(12)), result())
    assert "OPERATOR_08, OPERATOR_09 and 2 more operators: of 13" in claim_of(record).sentence
    assert len(claim_json(record)["mostly_waived"]) == 12


def test_a_run_of_one_shard_must_test_what_it_requires() -> None:
    assert claim_of(run(result(), shard="1/1", required=["GEMM/*"])).untested == ("GEMM/*",)
    assert claim_of(run(result(), shard="1/2", required=["GEMM/*"])).untested == ()


@pytest.mark.parametrize("record", [of(), of(waived=4), run(result(UNSUPPORTED, undeclared="data type"))])
def test_nothing_is_claimed_where_nothing_passed(record: Record) -> None:
    claim = claim_of(record)
    assert (claim.claim, claim.ok) == ("", False)
    assert claim.sentence.startswith("No claim that impl 2.0 conforms")


def test_rejecting_everything_is_no_conformance() -> None:
    excluded = result(UNSUPPORTED, undeclared="data type")
    for more in ((excluded,), (result(WAIVED),), (result(UNSUPPORTED, undeclared="operator"), excluded)):
        claim = claim_of(run(negative(), negative(number=1), *more))
        assert (claim.claim, claim.ok) == ("", False)
        assert claim.sentence.startswith("No claim that impl 2.0 conforms")
        assert "since only negative cases passed: of " in claim.sentence
        first_look = claim_of(run(negative(), *more, level="smoke"))
        assert not first_look.ok
        assert "; only negative cases passed; smoke makes no claim" in first_look.sentence


def test_a_selection_of_negative_cases_may_pass_and_claims_nothing() -> None:
    claim = claim_of(run(negative(), negative(number=1), selection="negative"))
    assert (claim.claim, claim.ok) == ("", True)
    assert claim.sentence.endswith("since only negative cases passed: of 2 documented cases, 2 passed (100 % supported).")
    assert not claim_of(run(negative(FAIL), negative(number=1), selection="negative")).ok


def test_an_operator_or_type_is_claimed_only_for_what_passed_besides_negative_cases() -> None:
    record = run(
        result(),
        negative(number=1),
        negative(number=2, data_type="FLOAT32"),
        negative(number=3, operator="GEMM"),
        result(UNSUPPORTED, operator="GEMM", undeclared="data type"),
    )
    claim = claim_of(record)
    assert claim.ok
    assert claim.claim.endswith(f"for 1 operator ({ROUND}) in 1 data type (FLOAT16), within what it declares")
    (statement,) = claim_json(record)["statements"]
    assert statement["claimed"] == {ROUND: ["FLOAT16"]}
    assert set(statement["operators"]) == {ROUND, "GEMM"}


@pytest.mark.parametrize("change", [{"interrupted": True}, {"finished": ""}, {"selected": 4}])
def test_an_unfinished_run_carries_no_claim(change: dict[str, object]) -> None:
    whole = run(result(), result(number=1), result(number=2, basis="measured"))
    assert claim_of(whole).claim
    cut = replace(whole, manifest=replace(whole.manifest, **change))  # type: ignore[arg-type]
    claim = claim_of(cut)
    assert (claim.claim, claim.ok) == ("", False)
    assert claim.sentence.count("since the run did not finish") == 2
    assert interruption(cut)
    assert not interruption(whole)
    assert not claim_json(cut)["scope"]["complete"]


def test_a_case_that_did_not_run_leaves_the_run_unfinished() -> None:
    claim = claim_of(of(**{PASS: 99, NOT_RUN: 1}))
    assert (claim.claim, claim.ok) == ("", False)
    assert "No claim that impl 2.0 conforms" in claim.sentence


def test_cases_without_a_result_count_as_not_run() -> None:
    cut = run(result(), result(NOT_RUN, 1), selected=10)
    assert claim_of(cut).counts[NOT_RUN] == 9
    assert "9 of 10 cases were not run" in interruption(cut)


def test_likeness_is_claimed_for_measured_and_contested_cases_alone() -> None:
    both = run(result(), result(number=1, basis="measured"), result(number=2, basis="contested"))
    conforms, behaves = claim_of(both).statements
    assert conforms.claim.startswith("conforms to the documentation")
    assert "1 of 1 documented" in conforms.sentence
    assert behaves.claim.startswith("behaves like DirectML 1.15.4")
    assert behaves.sentence.startswith("It behaves")
    assert "2 of 2 measured and contested" in behaves.sentence
    only = claim_of(run(result(basis="measured")))
    assert only.claim.startswith("behaves like DirectML 1.15.4")
    assert "documentation at" not in only.sentence


def test_a_measured_failure_leaves_the_documented_claim() -> None:
    claim = claim_of(run(result(), result(FAIL, 1, basis="measured")))
    assert claim.claim.startswith("conforms")
    assert "behaves" not in claim.claim
    assert "It does NOT behave like DirectML" in claim.sentence
    assert not claim.ok


def test_who_breaks_the_documentation_behaves_like_nobody() -> None:
    claim = claim_of(run(result(FAIL), result(number=1, basis="measured")))
    assert not claim.claim
    assert "since its documented cases support no claim" in claim.sentence


def test_a_part_of_the_suite_is_named_in_the_claim() -> None:
    assert "within shard 1/4" in claim_of(run(result(), shard="1/4")).claim
    claim = claim_of(run(result(), selection="ROUND"))
    assert claim.claim.endswith("within the cases that 'ROUND' selects")
    refuted = claim_of(run(result(FAIL), selection="ROUND")).sentence
    assert (
        "does NOT conform to the documentation at feature level 6.4, level core, within the cases that 'ROUND' selects" in refuted
    )


def test_a_long_selection_is_cut_in_the_claim() -> None:
    assert len(claim_of(run(result(), selection="x" * 10_000)).sentence) < 500


@pytest.mark.parametrize("status", [PASS, FAIL])
def test_a_run_with_replaced_kernels_claims_and_refutes_nothing(status: str) -> None:
    replaced = {"replaced_kernels": {"0123456789abcdef": "fedcba9876543210", "0000000000000000": "fedcba9876543210"}}
    claim = claim_of(run(result(), result(status, 1), backend={**MANIFEST.backend, "details": replaced}))
    assert (claim.claim, claim.ok, claim.statements[0].holds) == ("", status == PASS, None)
    assert "level core, since 2 of its kernels are replaced: of 2 documented cases, " in claim.sentence


@pytest.mark.parametrize("details", [{}, {"replaced_kernels": {}}, {"replaced_kernels": "none"}, "no object"])
def test_a_run_without_replaced_kernels_claims_as_ever(details: object) -> None:
    assert claim_of(run(result(), backend={**MANIFEST.backend, "details": details})).claim


def test_smoke_is_a_first_look_that_claims_nothing() -> None:
    claim = claim_of(run(result(), result(number=1, basis="measured"), level="smoke"))
    assert (claim.claim, claim.ok) == ("", True)
    assert claim.sentence == "impl 2.0, feature level 6.4: first look: 2 of 2 cases pass; smoke makes no claim."
    failed = claim_of(run(result(), result(FAIL, 1), level="smoke"))
    assert (failed.claim, failed.ok) == ("", False)
    assert "1 of 2 cases pass, 1 failed; smoke makes no claim" in failed.sentence


def test_a_random_search_claims_nothing_and_counts_what_it_does_not_keep() -> None:
    claim = claim_of(run(result(), result(number=1), level=SEARCH, seed="7", further={PASS: 1000, UNSUPPORTED: 3}))
    assert (claim.claim, claim.ok, claim.unsupported) == ("", True, 0)
    assert [statement.holds for statement in claim.statements] == [None]
    assert claim.counts[PASS] == 1002
    assert claim.sentence == (
        "impl 2.0, feature level 6.4: random search, seed 7: 1,002 of 1,005 cases pass, 3 unsupported, of which 1,003 are counted only; "
        "fuzz makes no claim."
    )
    assert not claim_of(run(result(), result(FAIL, 1), level=SEARCH)).ok


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (3, 3, "100 %"),
        (999_999, 1_000_000, "99.9 %"),
        (1, 2, "50 %"),
        (11, 975, "1.1 %"),
        (1, 9999, "<0.1 %"),
        (0, 5, "0 %"),
        (0, 0, "0 %"),
    ],
)
def test_a_share_is_never_rounded_up(part: int, whole: int, text: str) -> None:
    assert share_text(part, whole) == text


# ---- Requirements


@pytest.mark.parametrize(
    ("requirement", "covers"),
    [
        (f"{ROUND}/*", True),
        ("*/FLOAT16", True),
        (f"{ROUND}/FLOAT16", True),
        (f"{ROUND}/FLOAT32", False),
        ("GEMM/*", False),
        ("validation", False),
    ],
)
def test_what_a_requirement_covers(requirement: str, covers: bool) -> None:
    assert is_required(requirement, result()) is covers


def test_validation_is_required_by_name() -> None:
    negative = replace(result(UNSUPPORTED, undeclared="validation"), kind="negative")
    assert is_required("validation", negative)
    assert not is_required(f"{ROUND}/*", negative)


def test_a_requirement_that_no_case_tests_is_not_fulfilled() -> None:
    claim = claim_of(run(result(), required=["GEMM/*", "*/FLOAT16"]))
    assert (claim.untested, claim.ok) == (("GEMM/*",), False)
    assert claim.sentence.endswith("Required, but no case tested it: GEMM/*.")
    assert claim_of(run(result(), required=["GEMM/*"], shard="1/2")).ok, "another shard may test it"


def test_a_negative_case_tests_validation_alone() -> None:
    claim = claim_of(run(result(), negative(operator="GEMM"), required=["GEMM/*", "validation"]))
    assert claim.untested == ("GEMM/*",)


# ---- claim.json, and the same words everywhere


@pytest.mark.parametrize(
    "record",
    [
        ALL_SEVEN,
        of(),
        of(**{PASS: 3}),
        run(result(), result(number=1, basis="measured"), level="smoke"),
        run(
            result(WAIVED, waiver="known (#1)"),
            result(number=1),
            waivers=[{"file": "w.yaml", "sha256": "0" * 64}],
            required=["GEMM/*"],
        ),
    ],
)
def test_claim_json_has_its_form_and_every_report_has_its_words(record: Record, tmp_path: Path) -> None:
    write_all(record, tmp_path)
    data = json.loads((tmp_path / "claim.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(data)
    assert data["results_sha256"] == sha256((tmp_path / "results.jsonl").read_bytes()).hexdigest()
    sentence = claim_of(record).sentence
    assert data["sentence"] == sentence
    assert plain(sentence) in (tmp_path / "summary.md").read_text(encoding="utf-8")
    for file in (tmp_path / "ctrf").glob("*.json"):
        assert json.loads(file.read_text(encoding="utf-8"))["results"]["summary"]["extra"]["verdict"] == sentence
    if record.results:
        junit = [ElementTree.parse(file) for file in tmp_path.rglob("*.xml")]
        assert {entry.get("value") for tree in junit for entry in tree.iterfind(".//property[@name='dmlcts.verdict']")} == {
            sentence
        }


def test_claim_json_has_operators_by_data_type_and_what_is_declared() -> None:
    backend = {**MANIFEST.backend, "operators": ["GEMM"], "validates": False}
    data = claim_json(run(result(), result(FAIL, 1), result(number=2, basis="measured"), backend=backend))
    supports = {"operators": ["GEMM"], "data_types": ["FLOAT32"], "validates": False}
    assert data["implementation"]["declares"] == {**supports, **policies({})}
    assert data["statements"][0]["operators"] == {ROUND: {"FLOAT16": {PASS: 1, FAIL: 1}}}
    assert (data["statements"][0]["holds"], data["statements"][0]["share_supported"]) == (False, 1.0)
    assert data["scope"] == {"whole": True, "selection": "", "shard": "", "complete": True}


@pytest.mark.parametrize(
    ("declared", "named"),
    [
        ({"accumulator": 10}, "sums in 10 mantissa bits"),
        ({"accumulator": 52}, "sums in 52 mantissa bits"),
        ({"accumulator": 0}, ""),
        ({"accumulator": 23}, ""),
        ({"half_store": "truncate"}, "FLOAT16 stores that truncate"),
        ({"half_store": "nearest"}, ""),
        ({"half_store": "truncate", "accumulator": 10}, "FLOAT16 stores that truncate, sums in 10 mantissa bits"),
        ({"denormals": "preserve", "nearest": True}, ""),
        ({"denormals": "flush", "nearest": False}, ""),
    ],
)
def test_a_claim_names_every_declared_property_that_widens_a_bound(declared: dict[str, object], named: str) -> None:
    record = run(result(), backend={**MANIFEST.backend, **declared})
    claim = claim_of(record).claim
    assert claim.endswith(f"in 1 data type (FLOAT16), with {named}" if named else "in 1 data type (FLOAT16)")
    assert all(part in markdown(record) for part in named.split(", "))
    assert claim_json(record)["implementation"]["declares"].items() >= declared.items()


def test_the_schema_is_valid_and_refuses_what_it_does_not_know() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = claim_json(of(**{PASS: 1}), "0" * 64)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "grade": "A"}, SCHEMA)
