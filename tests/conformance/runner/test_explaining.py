"""What explains the failures of a record: the cases' own conditions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from records import run

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.runner.explaining import across, known
from dmlcts.conformance.runner.explaining.explain import explain
from dmlcts.conformance.runner.explaining.known import unexplained_operators
from dmlcts.generator.case.case import REFERENCE, REJECTION, RELATION, VALUES, Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.values.layouts import layout_of
from dmlcts.reports import write_all
from dmlcts.reports.explain.explanation import LAWS, PAIRS, REJECTIONS, Explanation
from dmlcts.reports.record.paths import CodePath
from dmlcts.reports.record.record import ERROR, FAIL, NOT_RUN, PASS, UNSUPPORTED, Record, Result, write_record

ADD, MULTIPLY = "ELEMENT_WISE_ADD", "ELEMENT_WISE_MULTIPLY"


def record(status: Callable[[Case], str], *operators: str) -> Record:
    """All cases of level core, each with the status that it is given."""
    cases = [case for name in operators or (ADD,) for case in operator_cases(name, "core")]
    return run(
        *(Result(c.id, c.operator.name, c.data_type, c.kind, c.basis, c.feature_level, status(c)) for c in cases),
        backend_spec="reference",
        basis="measured",
    )


def dispatched(case: Case) -> bool:
    return case.expect in (REFERENCE, VALUES)


def layout(case: Case, tensor: str) -> str:
    return layout_of(case.desc.tensor(tensor))


def named(found: list[Explanation]) -> list[tuple[str, str, frozenset[str]]]:
    return [(each.operator, each.status, frozenset(each.conditions)) for each in found if each.group != PAIRS]


def transposed(case: Case) -> bool:
    return dispatched(case) and layout(case, "BTensor") == "transposed" and len(case.desc.tensor("BTensor").sizes) >= 4


def test_the_conditions_of_a_fault_and_how_many_meet_them() -> None:
    found = record(lambda case: FAIL if transposed(case) else PASS)
    (explanation,) = explain(found)
    assert named([explanation]) == [(ADD, FAIL, {"BTensor is transposed", "the rank is 4 or more"})]
    failing = sum(map(transposed, operator_cases(ADD, "core")))
    dispatches = sum(map(dispatched, operator_cases(ADD, "core")))
    assert (explanation.inside, explanation.failing, explanation.explains) == (failing, failing, failing)
    assert (explanation.outside, explanation.failing_outside) == (dispatches - failing, 0)
    assert failing > 3


def test_each_status_has_its_own_explanation() -> None:
    def status(case: Case) -> str:
        if case.data_type == "FLOAT16":
            return UNSUPPORTED
        if dispatched(case) and case.resource == "all":
            return ERROR
        return FAIL if transposed(case) else PASS

    assert named(explain(record(status))) == [
        (ADD, FAIL, {"BTensor is transposed", "the rank is 4 or more"}),
        (ADD, ERROR, {"what shares a resource is all tensors"}),
        (ADD, UNSUPPORTED, {"the type is FLOAT16"}),
    ]


def test_rejections_and_laws_are_explained_apart() -> None:
    rule = next(case.rule for case in operator_cases(ADD, "core") if case.expect == REJECTION)
    law = next(case.relation for case in operator_cases(ADD, "core") if case.expect == RELATION)
    found = explain(record(lambda case: FAIL if case.rule == rule or case.relation == law else PASS))
    assert {each.group: each.conditions for each in found} == {
        REJECTIONS: (f"the broken rule is {rule.replace('-', ' ')}",),
        LAWS: (f"the law is {law.replace('-', ' ')}",),
    }


def test_what_several_operators_have_in_common_comes_first() -> None:
    found = explain(record(lambda case: FAIL if dispatched(case) and case.offset == 48 else PASS, ADD, MULTIPLY))
    assert named(found[:1]) == [("", FAIL, {"the offset is 48"})]
    assert sorted(named(found[1:])) == [(name, FAIL, {"the offset is 48"}) for name in (ADD, MULTIPLY)]
    assert found[0].operators == 2
    assert found[0].failing == found[1].failing + found[2].failing


def test_what_they_have_in_common_is_looked_for_in_some_that_pass_too() -> None:
    names = [f"OPERATOR{number}" for number in range(177)]
    assert len(across.spread_evenly(names)) == 8 == len(set(across.spread_evenly(names)))
    assert across.spread_evenly(names)[-1] > "OPERATOR150"
    assert across.spread_evenly(["A", "B"]) == ["A", "B"]


def failing_by(symptom: Callable[[Case], str], *operators: str, **manifest: object) -> Record:
    """All cases of level core; those with a symptom fail, refused with it as the code where it is not ``wrong``."""
    found = record(lambda case: FAIL if symptom(case) else PASS, *operators)
    by_id = {case.id: symptom(case) for name in operators or (ADD,) for case in operator_cases(name, "core")}
    return replace(
        found,
        results=tuple(
            replace(each, evidence={"stage": "compile", "code": by_id[each.case]})
            if by_id[each.case] not in ("", "wrong")
            else each
            for each in found.results
        ),
    )


def scattered(case: Case, every: int) -> bool:
    """One in so many cases, by no rule."""
    return crc32(case.id.encode()) % every == 0


def test_what_all_failures_need_is_said_where_nothing_decides() -> None:
    found = explain(
        failing_by(
            lambda case: "wrong" if dispatched(case) and layout(case, "BTensor") == "permuted" and scattered(case, 3) else ""
        )
    )
    first = found[0]
    assert first.needed
    assert first.conditions == ("BTensor is permuted",)
    assert first.text.startswith("fails only where BTensor is permuted: ")
    assert first.text.endswith(" such cases pass")
    assert first.failing == first.total
    assert first.explains == 0


def test_what_several_needs_decide_lies_within_them() -> None:
    """Half of the FLOAT16 cases fail, and all of those with five dimensions or more."""

    def symptom(case: Case) -> str:
        if not dispatched(case) or case.data_type != "FLOAT16":
            return ""
        return "wrong" if scattered(case, 2) or len(case.desc.tensor("BTensor").sizes) >= 5 else ""

    found = explain(failing_by(symptom))
    assert found[0].needed
    assert found[0].conditions == ("the type is FLOAT16",)
    assert found[1].conditions == ("the type is FLOAT16", "the rank is 5 or more")
    assert found[1].failing == found[1].inside


def test_symptoms_are_explained_apart_so_that_one_does_not_hide_another() -> None:
    def symptom(case: Case) -> str:
        if not dispatched(case):
            return ""
        if layout(case, "ATensor") == "permuted":
            return "0x80004001"
        return "wrong" if transposed(case) else ""

    found = explain(failing_by(symptom))
    assert [(each.symptom, set(each.conditions)) for each in found] == [
        ("refused at compile with 0x80004001", {"ATensor is permuted"}),
        ("", {"BTensor is transposed", "the rank is 4 or more"}),
    ]
    assert [each.failing_outside for each in found] == [0, 0]


def test_symptoms_with_one_reason_are_one_failure() -> None:
    def symptom(case: Case) -> str:
        return ("0x80004001" if scattered(case, 2) else "wrong") if transposed(case) else ""

    (found,) = explain(failing_by(symptom))
    assert set(found.conditions) == {"BTensor is transposed", "the rank is 4 or more"}
    assert found.symptom in (
        "refused at compile with 0x80004001 or wrong values",
        "wrong values or refused at compile with 0x80004001",
    )


def test_operators_that_fail_with_one_code_come_first_and_guesses_last() -> None:
    def symptom(case: Case) -> str:
        if not dispatched(case) or case.data_type != "FLOAT32":
            return ""
        return "0x80004005" if scattered(case, 2) else "wrong" if scattered(case, 3) else ""

    found = explain(failing_by(symptom, ADD, MULTIPLY))
    assert found[0].operators == 2
    assert found[0].symptom == "refused at compile with 0x80004005"
    assert found[0].conditions == ("the type is FLOAT32",)
    assert found[-1].operators == 2
    assert found[-1].symptom == ""
    assert all(each.operator for each in found[1:-1])


def test_what_the_backend_excludes_is_no_news() -> None:
    found = record(lambda case: UNSUPPORTED if case.data_type == "FLOAT16" else FAIL if transposed(case) else PASS)
    excluded = replace(
        found, results=tuple(replace(each, undeclared="data type" if each.status == UNSUPPORTED else "") for each in found.results)
    )
    assert (ADD, UNSUPPORTED, {"the type is FLOAT16"}) in named(explain(found))
    assert named(explain(excluded)) == [(ADD, FAIL, {"BTensor is transposed", "the rank is 4 or more"})]


def test_a_rare_failure_beside_a_frequent_one_is_explained_too() -> None:
    rare = next(
        case for case in operator_cases(ADD, "core") if dispatched(case) and case.data_type == "FLOAT16" and case.offset == 16
    )
    found = explain(record(lambda case: FAIL if case.id == rare.id or transposed(case) else PASS))
    assert found[0].explains == found[0].total - 1
    assert " once more, in the only case of " in found[1].text


def test_where_all_cases_fail_nothing_is_set_apart() -> None:
    (explanation,) = explain(record(lambda case: FAIL if dispatched(case) else PASS))
    assert explanation.text.startswith("fails always (")


def test_what_nothing_explains_is_reported() -> None:
    cases = [case for case in operator_cases(ADD, "core") if dispatched(case)]
    scattered = {case.id for case in cases[::7]}
    found = explain(record(lambda case: FAIL if case.id in scattered else PASS))
    last = found[-1]
    assert last.conditions == ()
    assert last.text.startswith(f"{last.explains} of {len(scattered)} cases that fail: no conditions explain them better")
    assert last.explains == len(scattered) - sum(each.explains for each in found[:-1])


def test_cases_that_have_not_run_tell_two_explanations_apart() -> None:
    """Of the cases with BTensor transposed, only those at one offset have run: either may be the reason."""

    def status(case: Case) -> str:
        if not dispatched(case):
            return PASS
        one, other = layout(case, "BTensor") == "transposed", case.offset == 48
        return NOT_RUN if one != other else FAIL if one else PASS

    (explanation,) = explain(record(status))
    assert {explanation.conditions, explanation.alternative} <= {("BTensor is transposed",), ("the offset is 48",)}
    assert explanation.question == f"as well possible: whenever {explanation.alternative[0]}"
    assert 1 <= len(explanation.next) <= 3
    assert explanation.command.startswith(f"dmlcts run --backend reference --case {explanation.next[0]}")
    by_id = {case.id: case for case in operator_cases(ADD, "core")}
    assert all((layout(by_id[name], "BTensor") == "transposed") != (by_id[name].offset == 48) for name in explanation.next[:1])


def test_what_the_suite_does_not_have_is_left_out_and_counted() -> None:
    message = "left out are failures of 1 case that this version of the suite does not have"
    assert [each.text for each in explain(run(Result("NO_SUCH/1", "NO_SUCH", "", "", "documented", "1_0", FAIL)))] == [message]
    gone = Result(f"{ADD}/gone", ADD, "", "", "documented", "1_0", FAIL)
    assert [each.text for each in explain(run(gone, *record(lambda case: PASS).results))] == [message]
    assert explain(record(lambda case: PASS)) == []


def test_no_rows_are_computed_for_an_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = record(lambda case: FAIL if transposed(case) else PASS)
    assert unexplained_operators(found) == []
    monkeypatch.setattr(known, "is_stale", lambda operator: operator.name == ADD)
    monkeypatch.setattr(known, "operator_cases", None)
    assert unexplained_operators(found) == [ADD]
    (explanation,) = explain(found)
    assert re.fullmatch(rf"failures of [0-9]+ cases are not explained, .* `dmlcts spec arrays {ADD}`", explanation.text)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(record(lambda case: FAIL if transposed(case) else PASS), tmp_path / "results.jsonl")

    def printed(*arguments: object) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["explain", *map(str, arguments)])
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert f"{ADD}: fails whenever " in printed(tmp_path)
    (entry,) = json.loads(printed(tmp_path / "results.jsonl", "--json"))
    assert entry["operator"] == ADD
    assert entry["text"].startswith("fails whenever ")
    write_record(record(lambda case: PASS), tmp_path / "results.jsonl")
    assert printed(tmp_path) == "no failure of a case that this version of the suite knows\n"
    with pytest.raises(SystemExit) as ended:
        main(["explain"])
    assert ended.value.code == 2
    assert "give a results file or the output folder of a run" in capsys.readouterr().err


def beyond_core(fails: Callable[[int], bool], **of_others: object) -> Record:
    """Level core, where the transposed fail, with 2,000 further results, of which some fail."""
    found = record(lambda case: FAIL if dispatched(case) and layout(case, "BTensor") == "transposed" else PASS)
    example = next(each for each in found.results if each.kind == "combination")
    further = (
        replace(example, case=f"{ADD}/more/{at}", status=FAIL if fails(at) else PASS, **(of_others if fails(at) else {}))
        for at in range(2_000)
    )
    return Record(replace(found.manifest, level="full"), (*found.results, *further))


def test_where_cases_of_level_core_fail_alike_those_of_level_full_are_only_counted() -> None:
    found = explain(beyond_core(lambda at: at % 20 == 0))
    assert found[0].conditions == ("BTensor is transposed",)
    assert found[-1].text.startswith("left out are 100 failures of a higher level, with the same symptoms")


@pytest.mark.parametrize(
    "others",
    [
        beyond_core(lambda at: at % 2 == 0),
        beyond_core(lambda at: at % 20 == 0, evidence={"stage": "compile", "code": "0x80004005"}),
        beyond_core(lambda at: at % 2 == 0, kind="sizes"),
    ],
    ids=["more often", "with another symptom", "of a kind that fails more often"],
)
def test_where_they_fail_otherwise_all_are_looked_at(others: Record) -> None:
    results = [each for each in others.results if each.operator == ADD]
    assert not known.is_enough(ADD, results, "full")
    assert known.is_enough(ADD, beyond_core(lambda at: at % 20 == 0).results, "full")
    assert not known.is_enough(ADD, beyond_core(lambda at: at % 20 == 0).results, "core")


# Code paths


def ran(found: Record, kernels: Callable[[Case], str]) -> Record:
    """The record, in which each dispatch ran the code path that it is given."""
    cases = {case.id: case for name in {each.operator for each in found.results} for case in operator_cases(name, "core")}
    results = (
        replace(each, paths=(CodePath(kernels(cases[each.case]), (8, 1, 1)),)) if dispatched(cases[each.case]) else each
        for each in found.results
    )
    return replace(found, results=tuple(results))


def kernel(case: Case) -> str:
    """Which kernel an implementation runs: by type, rank and whether B is transposed."""
    fast = "general" if transposed(case) else "fast"
    return f"{fast} {case.data_type} {'small' if case.desc.tensor('OutputTensor').count < 100 else 'large'}"


def wrong(case: Case) -> str:
    return FAIL if dispatched(case) and kernel(case) == "fast FLOAT16 large" else PASS


def test_a_code_path_that_all_failures_run_is_named_with_what_reaches_it() -> None:
    found = explain(ran(record(wrong), kernel))
    (explanation,) = [each for each in found if each.operator]
    assert explanation.conditions == ('kernel "fast FLOAT16 large" runs',)
    assert explanation.kernels == ("fast FLOAT16 large",)
    assert 'fails whenever kernel "fast FLOAT16 large" runs (' in explanation.text
    assert (explanation.failing_outside, explanation.inside) == (0, explanation.failing)
    (reached,) = explanation.reached
    assert reached.startswith('kernel "fast FLOAT16 large" runs ')
    assert "the type is FLOAT16" in reached
    assert "the element count" in reached
    assert "kernel" not in reached.removeprefix("kernel")


def test_kernels_that_were_not_created_are_one_cause() -> None:
    """A compiler that refuses what these cases need refuses a kernel of its own in each."""
    refused = iter(range(10_000))
    found = explain(
        ran(record(wrong), lambda case: f"{next(refused)} (not created)" if wrong(case) == FAIL else f"by type {case.data_type}")
    )
    (explanation,) = [each for each in found if each.operator]
    assert explanation.conditions == ("a kernel was not created",)
    assert explanation.failing == explanation.explains > 1
    assert explanation.kernels == ()


def test_what_reaches_a_code_path_is_in_every_report(tmp_path: Path) -> None:
    found = ran(record(wrong), kernel)
    (explanation, *_) = explained = explain(found)
    write_all(found, tmp_path, None, explained)
    for name in ("summary.md", "index.html", "explanations.json"):
        text = html.unescape((tmp_path / name).read_text(encoding="utf-8")).replace("\\", "")
        assert explanation.reached[0] in text, name
        assert explanation.text in text, name


def test_no_code_path_is_named_for_what_the_desc_decides() -> None:
    found = explain(ran(record(lambda case: FAIL if transposed(case) else PASS), lambda case: f"by type {case.data_type}"))
    assert named(found) == [(ADD, FAIL, {"BTensor is transposed", "the rank is 4 or more"})]
    assert [each.kernels for each in found] == [()] * len(found)


def shared(case: Case) -> bool:
    return dispatched(case) and case.data_type == "FLOAT16" and case.desc.tensor("OutputTensor").count % 3 == 1


def test_a_code_path_in_several_operators_is_named_once_for_all() -> None:
    found = ran(
        record(lambda case: FAIL if shared(case) else PASS, ADD, MULTIPLY),
        lambda case: "copy of halves" if shared(case) else f"{case.operator.name} {case.data_type}",
    )
    (across_all,) = [each for each in explain(found) if not each.operator]
    assert (across_all.conditions, across_all.kernels) == (('kernel "copy of halves" runs',), ("copy of halves",))
    assert (across_all.operators, across_all.precise) == (2, True)


def test_no_case_is_named_to_run_next_for_a_code_path_that_nobody_knows_it_takes() -> None:
    given = record(wrong)
    half = replace(given, results=tuple(each for at, each in enumerate(given.results) if at % 2 or each.status == FAIL))
    (explanation,) = [each for each in explain(ran(half, kernel)) if each.operator]
    assert explanation.kernels
    assert (explanation.next, explanation.alternative) == ((), ())


def test_a_record_without_code_paths_is_explained_as_before() -> None:
    found = explain(record(wrong))
    assert not any(each.kernels or each.reached for each in found)
    assert "the type is FLOAT16" in found[0].text
