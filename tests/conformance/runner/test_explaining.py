"""What explains the failures of a record: the cases' own conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from records import run

from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.runner import explaining
from dmlcts.conformance.runner.explaining import explain, unexplained
from dmlcts.generator.case.case import REFERENCE, REJECTION, RELATION, VALUES, Case
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.values.layouts import layout_of
from dmlcts.reports.explain.explanation import LAWS, REJECTIONS, Explanation
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
    return [(each.operator, each.status, frozenset(each.conditions)) for each in found]


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


def test_what_they_have_in_common_is_looked_for_in_those_that_fail_most_and_some_others() -> None:
    names = [f"OPERATOR{number}" for number in range(177)]
    failing, chosen = names[100:140], explaining._chosen(names[100:140], names)
    assert chosen[:16] == failing[:16]
    assert len(chosen) == 16 + 8 == len(set(chosen))
    assert {*chosen[16:]}.isdisjoint(failing)
    assert explaining._chosen(["A"], ["A", "B"]) == ["A", "B"]


def test_where_all_cases_fail_nothing_is_set_apart() -> None:
    (explanation,) = explain(record(lambda case: FAIL if dispatched(case) else PASS))
    assert explanation.text.startswith("fails always (")


def test_what_nothing_explains_is_reported() -> None:
    cases = [case for case in operator_cases(ADD, "core") if dispatched(case)]
    scattered = {case.id for case in cases[::7]}
    found = explain(record(lambda case: FAIL if case.id in scattered else PASS))
    last = found[-1]
    assert last.conditions == ()
    assert last.text.startswith(f"{last.explains} of {len(scattered)} cases that fail: one to three conditions")
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
    assert unexplained(found) == []
    monkeypatch.setattr(explaining, "is_stale", lambda operator: operator.name == ADD)
    monkeypatch.setattr(explaining, "operator_cases", None)
    assert unexplained(found) == [ADD]
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
