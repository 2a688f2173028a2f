"""Causes that a search knows: further cases that show one are counted, another cause behind it is found, and the search goes round it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from layered import Always, FrequentAndRare, RefusedAndWrong, frequent, rare

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.properties.causes import CAUSE, MOST_AGAIN, Cause, Causes
from dmlcts.conformance.properties.drawn import check_of
from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.search import BATCH, ROUND, Search
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.generator.case.case import Case
from dmlcts.generator.random.fuzz_cases import SeenTriples, number_in
from dmlcts.generator.random.reduce import Need, Traits
from dmlcts.reports.record.record import ERROR, FAIL, FAILURES, PASS, SEARCH, WAIVED, Result

ADD = "ELEMENT_WISE_ADD"
SEED, BEFORE = "2", 50
"""A seed with which the rare fault does not show alone before the frequent one did so often, and how many failures ended a search once."""


def begun(backend: ReferenceBackend, out: Path, **options: object) -> tuple[Search, Session]:
    given = replace(RunOptions("reference", SEARCH, operators=(ADD,), seed=SEED, out=str(out)), **options)
    (out / journal.FOLDER).mkdir(parents=True, exist_ok=True)
    return Search(given, (ADD,), {}, {}), Session(given, backend)


def searched(backend: ReferenceBackend, out: Path, batches: int, **options: object) -> list[tuple[Case, Result]]:
    search, session = begun(backend, out, **options)
    with session:
        return [(case, session.run(case)) for batch in range(batches) for case in search.cases(f"{ADD}/{batch}")]


def dispatch_of(case: Case) -> Dispatch:
    return Dispatch(case.desc, [], {}, ())


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Result]]:
    return searched(FrequentAndRare(), tmp_path_factory.mktemp("rare"), 10)


def causes_in(found: list[tuple[Case, Result]]) -> list[tuple[Case, Result]]:
    return [(case, result) for case, result in found if result.status in FAILURES and CAUSE not in result.evidence]


def test_a_rare_fault_behind_a_frequent_one_is_found(found: list[tuple[Case, Result]]) -> None:
    failures, alone = 0, 0
    for case in SeenTriples(ADD).draw(int(SEED), 10 * BATCH, lambda case: True):  # what a search drew once
        shown = dispatch_of(case)
        failures += frequent(shown) or rare(shown)
        alone += rare(shown) and not frequent(shown)
        if failures == BEFORE:
            break
    assert (failures, alone) == (BEFORE, 0)
    rare_ones = [result for _, result in causes_in(found) if result.desc and result.desc["ATensor"]["DataType"] == "FLOAT16"]
    assert rare_ones
    for result in rare_ones:
        assert "Strides" not in result.desc["OutputTensor"]  # type: ignore[index]  (without what the frequent fault needs)


def test_a_known_cause_counts_once_and_is_not_made_simpler_again(found: list[tuple[Case, Result]]) -> None:
    first = {result.case for _, result in causes_in(found)}
    known = [result for _, result in found if CAUSE in result.evidence]
    assert len(first) < len(known)
    for result in known:
        assert result.status == FAIL
        assert result.evidence == {CAUSE: result.evidence[CAUSE]}
        assert result.evidence[CAUSE] in first
        assert f"the cause is that of {result.evidence[CAUSE]}" in result.message
        assert (result.desc, result.mismatches, result.error_maps) == (None, (), ())
        assert f"--case {result.case}" in result.repro


def test_the_search_goes_round_what_it_knows(found: list[tuple[Case, Result]]) -> None:
    count = len(found) - BATCH  # the first batch is drawn before anything is known
    plain = [case for case in SeenTriples(ADD).draw(int(SEED), count, lambda case: True) if frequent(dispatch_of(case))]
    later = [case for case, _ in found[BATCH:] if frequent(dispatch_of(case))]
    assert len(plain) > count / 2
    assert 0 < len(later) < count / 4
    assert sum(result.status == PASS for _, result in found[BATCH:]) > count / 2
    looks = [case for case in later if (number_in(case.id) or ("", 0, 1))[2] % ROUND == 0]
    assert (
        len(looks) > len(later) / 2
    )  # the others showed new causes, such as an input with strides in place of which the output is


def test_another_check_is_another_cause(tmp_path: Path) -> None:
    found = causes_in(searched(RefusedAndWrong(), tmp_path, 1))
    assert found
    assert all(result.message.startswith("refused at create with 0x80004001") for _, result in found)
    assert len(found) <= 3


def test_a_fault_that_always_shows_has_one_cause(tmp_path: Path) -> None:
    found = searched(Always(), tmp_path, 1)
    assert {result.status for _, result in found} == {FAIL}
    assert len(causes_in(found)) == 1
    (cause,) = Causes(tmp_path / journal.FOLDER).causes_of(ADD)
    assert not cause.can_be_told


def test_a_waived_cause_counts_once_and_what_no_waiver_excuses_counts_too(tmp_path: Path) -> None:
    waivers = tmp_path / "waivers.yaml"
    text = "waivers:\n  - {cases: '*/UINT*', reason: r, issue: 'https://example.org/1', expires: 2999-01-01}\n"
    waivers.write_text(text, encoding="utf-8")
    found = [result for _, result in searched(Always(), tmp_path / "out", 1, waivers=(str(waivers),))]
    for status in (WAIVED, FAIL):
        alike = [result for result in found if result.status == status]
        assert len(alike) > 1
        assert CAUSE not in alike[0].evidence
        assert {result.evidence[CAUSE] for result in alike[1:]} == {alike[0].case}


# The file


def test_processes_share_causes_and_damage_costs_only_what_is_known(tmp_path: Path) -> None:
    one, other = Causes(tmp_path), Causes(tmp_path)
    cause = Cause("A/1", ("fail", "Output"), (Need(("layout A",), (("layout A", "spread"),)), Need((), (), (("N", 4),))), "fail")
    assert one.first("A", cause) == "A/1"
    assert other.first("A", replace(cause, case="A/2")) == "A/1"
    assert other.first("A", replace(cause, case="A/3", status="waived")) == "A/3"
    assert [known.case for known in one.causes_of("A")] == ["A/1", "A/3"]
    assert one.causes_of("B") == []
    for line in (b"{}\n", b"[1]\n", b'{"case": 1}\n', b"[" * 100_000 + b"\n", b"\xff\n"):
        with (tmp_path / "A.causes").open("ab") as stream:
            stream.write(line)
        assert [known.case for known in one.causes_of("A")] in (["A/1", "A/3"], [])
    assert one.causes_of("A") == []  # no UTF-8


def test_a_case_shows_a_cause_only_if_it_meets_all_needs_and_fails_in_the_same_check(tmp_path: Path) -> None:
    causes = Causes(tmp_path)
    cause = Cause("A/1", ("fail", "Output"), (Need((), (("layout A", "spread"), ("rank", "3"))), Need((), (), (("N", 4),))), "fail")
    causes.first("A", cause)
    meets = Traits({"layout A": "spread", "rank": "5"}, {"N": 4})
    assert causes.met_cause("A", meets, cause.check) == cause
    assert causes.met_cause("A", meets, ("fail", "Other")) is None
    assert causes.met_cause("A", meets, cause.check, {cause.signature}) is None
    for values, sizes in (({"layout A": "gap", "rank": "5"}, {"N": 4}), ({"layout A": "spread", "rank": "2"}, {"N": 4}),
                          ({"layout A": "spread", "rank": "5"}, {"N": 3}), ({}, {})):  # fmt: skip
        assert causes.met_cause("A", Traits(values, sizes), cause.check) is None


def test_after_many_cases_that_were_simplified_in_vain_the_likeliest_cause_is_taken(tmp_path: Path) -> None:
    causes = Causes(tmp_path)
    cause = Cause("A/1", ("fail", "Output"), (), "fail")
    causes.simplest("A", cause)
    causes.first("A", cause)
    for _ in range(MOST_AGAIN):
        assert causes.likeliest("A", cause.check) is None
        causes.simplest("A", cause)
    assert causes.likeliest("A", cause.check) == cause
    assert causes.likeliest("A", ("error", "crashed")) is None


def test_checks_are_told_apart_by_the_message_without_numbers() -> None:
    one, other = Outcome(ERROR, "crashed with 0xC0000005 at a.dll+0x12"), Outcome(ERROR, "crashed with 0xC0000006 at a.dll+0x34")
    assert check_of(one) == check_of(other)
    assert check_of(one) != check_of(Outcome(ERROR, "crashed at b.dll+0x12"))
    assert check_of(one) != check_of(Outcome(FAIL, one.message))
    assert check_of(Outcome(ERROR, "shape (2, 3)")) == check_of(Outcome(ERROR, "shape (2, 3, 4)"))
