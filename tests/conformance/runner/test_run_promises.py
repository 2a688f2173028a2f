"""Promises of the API in a run: which ones, what becomes of them, and what the reports and the claim say."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import dmlcts
from runs import claim, ran, selected

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError
from dmlcts.conformance.runner.planning.selection import selection_of
from dmlcts.conformance.runner.run import without_calls_of_the_suite
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.promises.profile import profile_called, read_profile
from dmlcts.conformance.sequences.promises.promise import promises
from dmlcts.reports.record.record import API, ERROR, FAIL, NOT_RUN, PASS, PROMISE, UNSUPPORTED, WAIVED, Record
from dmlcts.spec.reading.document import SpecError

NAMES = [promise.name for promise in promises()]


def statuses(record: Record) -> dict[str, str]:
    return {result.case.removeprefix("api/"): result.status for result in record.results}


# Which


def test_all_are_called_api_and_some_by_area_or_name() -> None:
    assert sorted(selected("api")) == sorted(f"api/{name}" for name in NAMES)
    assert selected("DEV-1") == selected("api/dev-1") == ["api/DEV-1"]
    assert set(selected("FEA-*")) == {f"api/{name}" for name in NAMES if name.startswith("FEA-")}
    assert set(selected("execution")) == {promise.id for promise in promises() if promise.area == "execution"}


def test_operators_and_promises_may_be_named_together() -> None:
    found = selected("ABS", "DEV-1", level="smoke")
    assert found[-1] == "api/DEV-1"
    assert {case.partition("/")[0] for case in found} == {"ELEMENT_WISE_ABS", API}


def test_a_pattern_of_operators_selects_no_promise() -> None:
    assert API not in selection_of(RunOptions(operators=("*",))).operators


def test_a_run_of_all_has_them_and_a_first_look_has_not() -> None:
    assert API in selection_of(RunOptions()).operators
    assert API not in selection_of(RunOptions(level="smoke")).operators
    assert API not in selection_of(RunOptions(network="resnet50")).operators


@pytest.mark.parametrize(("backend", "performs"), [("inprocess:faithful:Faithful", True), ("reference", False)])
def test_a_run_of_all_asks_those_who_perform_the_calls_themselves(hosts_at_hand: None, backend: str, performs: bool) -> None:
    with Session(RunOptions(backend=backend)) as session:
        for options, is_in in ((RunOptions(), performs), (RunOptions(operators=("api",)), True)):
            assert (API in without_calls_of_the_suite(selection_of(options), session).operators) == is_in


def test_an_expression_selects_by_id() -> None:
    selection = selection_of(RunOptions(operators=("api",), expression="DEV-1 or FEA and not FEA-1"))
    assert "api/DEV-1" in [case.id for case in selection.work(API)]
    assert "api/FEA-1" not in [case.id for case in selection.work(API)]
    assert API not in selection_of(RunOptions(expression="BIT_OR")).operators


def test_a_lower_feature_level_leaves_out_what_needs_more() -> None:
    assert "api/FEA-1" not in selected("api", feature_level="1_0")
    assert "api/DEV-1" in selected("api", feature_level="1_0")


def test_shards_have_each_promise_once() -> None:
    parts = [selected("api", shard=f"{part}/3") for part in (1, 2, 3)]
    assert sorted(case for part in parts for case in part) == sorted(selected("api"))


def test_those_that_need_their_own_process_come_last() -> None:
    isolated = {promise.id: promise.isolated for promise in promises()}
    found = [isolated[case] for case in selected("api")]
    assert found == sorted(found)


def test_an_unknown_one_is_an_error_with_similar_names() -> None:
    with pytest.raises(UsageError, match="api/DEV-1"):
        selected(cases=("api/DEV-111",))
    with pytest.raises(UsageError, match="no operator 'DEV-111'"):
        selected("DEV-111")


# What becomes of them


def test_who_gives_what_they_expect_keeps_all(hosts_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "api", "--backend", "inprocess:faithful:Faithful", code=0)
    assert set(statuses(record).values()) == {PASS}
    assert {(result.operator, result.kind, result.data_type) for result in record.results} == {(API, PROMISE, "")}
    assert claim(tmp_path)["claim"] == f"keeps all {len(NAMES)} promises of the API, within the cases that 'api' selects"


def test_who_refuses_everything_keeps_what_forbids_misuse_alone(hosts_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "api", "--backend", "inprocess:faithful:Refusing", code=1)
    misuse = {promise.name for promise in promises() if promise.severity == "misuse"}
    assert {name for name, status in statuses(record).items() if status == PASS} == misuse
    assert next(result for result in record.results if result.case == "api/BIN-1").grade == "call 0 (create-operator) gave E_FAIL"
    assert claim(tmp_path)["claim"] == ""


def test_a_broken_promise_names_the_call_and_is_explained(hosts_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "api", "ABS", "--backend", "inprocess:faithful:Volatile", code=1)
    failed = {result.case: result for result in record.results if result.status == FAIL}
    assert set(failed) == {"api/REC-3", "api/REC-4"}
    assert "(read) gave 00000000" in failed["api/REC-4"].message
    assert failed["api/REC-4"].repro.endswith("--case api/REC-4")
    explained = json.loads((tmp_path / "explanations.json").read_text(encoding="utf-8"))
    assert (explained[0]["operator"], explained[0]["explains"], explained[0]["group"]) == (API, 2, PROMISE)
    (statement,) = [each for each in claim(tmp_path)["statements"] if each["basis"] == API]
    assert statement["holds"] is False
    assert f"of {len(NAMES)} promises of the API, {len(NAMES) - 2} kept, 2 failed" in statement["sentence"]


def test_promises_say_nothing_about_what_operators_compute(hosts_at_hand: None, tmp_path: Path) -> None:
    """Without a case of an operator that passes, kept promises are not enough."""
    ran(tmp_path, "api", "ABS", "--backend", "inprocess:faithful:Faithful", code=4)
    documented, about_the_api = claim(tmp_path)["statements"]
    assert (documented["claim"], about_the_api["holds"]) == ("", True)


def test_what_the_suite_performs_itself_is_no_test_of_misuse(tmp_path: Path) -> None:
    found = {result.case: result for result in ran(tmp_path, "api", code=0).results}
    assert (found["api/BIN-1"].status, found["api/BIN-1"].undeclared) == (UNSUPPORTED, "sequences")
    assert found["api/REC-4"].status == PASS


def test_a_host_without_sequences_loses_no_claim(tmp_path: Path) -> None:
    host = Path(__file__).parents[3] / "docs" / "example_host.py"
    record = ran(tmp_path, "BIT_OR", "DEV-1", "-k", "UINT8/4d or api", "--backend", f"process:python3 {host.as_posix()}", code=0)
    assert statuses(record)["DEV-1"] == UNSUPPORTED
    assert claim(tmp_path)["ok"]


def test_a_process_that_ends_costs_one_promise(hosts_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "execution", "-n", "1", "--backend", "inprocess:faithful:Ending", code=1)
    assert [name for name, status in statuses(record).items() if status != PASS] == ["REC-4"]
    assert statuses(record)["REC-4"] == ERROR


def test_what_is_required_must_not_be_unsupported(tmp_path: Path) -> None:
    assert statuses(ran(tmp_path, "api", "--require", "DEV-1", code=1))["DEV-1"] == FAIL
    profile = tmp_path / "mine.yaml"
    profile.write_text("profile: mine\napi: [FEA-1]\n", encoding="utf-8")
    found = statuses(ran(tmp_path / "out", "api", "--require", profile, code=1))
    assert (found["DEV-1"], found["FEA-1"]) == (UNSUPPORTED, FAIL)


def test_a_required_promise_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = tmp_path / "mine.yaml"
    profile.write_text("profile: mine\napi: [DEV-999]\n", encoding="utf-8")
    assert dmlcts("run", "api", "--require", profile, "--out", tmp_path / "out") == 2
    assert "there is no promise 'DEV-999'" in capsys.readouterr().err


def test_a_waiver_excuses_a_promise(hosts_at_hand: None, tmp_path: Path) -> None:
    waivers = tmp_path / "waivers.yaml"
    entry = {"reason": "not yet", "issue": "https://example.org/1", "expires": "2099-01-01"}
    entries = [{"cases": f"api/{name}", **entry} for name in ("REC-3", "REC-4")]
    waivers.write_text(json.dumps({"waivers": entries}), encoding="utf-8")
    record = ran(tmp_path / "out", "api", "--backend", "inprocess:faithful:Volatile", "--waivers", waivers, code=0)
    assert {name for name, status in statuses(record).items() if status == WAIVED} == {"REC-3", "REC-4"}
    assert f"keeps {len(NAMES) - 2} of {len(NAMES)} promises of the API" in claim(tmp_path / "out")["claim"]


def test_each_report_has_them(hosts_at_hand: None, tmp_path: Path) -> None:
    ran(tmp_path, "api", "--backend", "inprocess:faithful:Volatile", code=1)
    suite = ElementTree.parse(tmp_path / "junit" / "api.xml").getroot()
    assert sum(case.get("name", "").endswith("REC-4") for case in suite.iter("testcase")) == 1
    assert "api" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "api/REC-4" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_several_processes_and_a_run_again_of_what_failed(hosts_at_hand: None, tmp_path: Path) -> None:
    ran(tmp_path, "api", "-n", "2", "--backend", "inprocess:faithful:Volatile", code=1)
    record = ran(tmp_path / "again", "--rerun-failed", tmp_path, code=1)
    assert set(statuses(record)) == {"REC-3", "REC-4"}


# Profiles


def test_a_profile_selects_its_promises_in_its_order(hosts_at_hand: None, tmp_path: Path) -> None:
    record = ran(tmp_path, "--profile", "onnxruntime", "--backend", "inprocess:faithful:Faithful", code=0)
    assert [result.case for result in record.results] == [promise.id for promise in profile_called("onnxruntime").promises]
    assert claim(tmp_path)["sentence"].endswith(" ONNX Runtime's DirectML provider can run operators and graphs on it.")


def test_a_summary_says_that_a_client_cannot_run(hosts_at_hand: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(tmp_path, "--profile", "onnxruntime", "--backend", "inprocess:faithful:Volatile", code=1)
    assert "provider cannot run operators and graphs on it: api/REC-3 is broken, and 1 more." in claim(tmp_path)["sentence"]
    assert "ne-directml-dml_execution_flags.md" in capsys.readouterr().out


def test_what_could_not_be_tried_leaves_the_question_open(tmp_path: Path) -> None:
    ran(tmp_path, "--profile", "onnxruntime", code=0)
    assert "is not known: 9 promises could not be tried, the first is api/DEV-1." in claim(tmp_path)["sentence"]


def test_first_light_stops_at_the_first_broken_promise(
    hosts_at_hand: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ran(tmp_path, "--profile", "first-light", "--backend", "inprocess:faithful:Refusing", code=1)
    assert [result.status for result in record.results] == [FAIL, *[NOT_RUN] * (len(record.results) - 1)]
    printed = capsys.readouterr().out
    assert "/nf-directml-dmlcreatedevice.md" in printed
    assert "DEV-1 " not in printed


def test_an_unknown_profile_is_an_error_that_names_those_that_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("run", "--profile", "first-lite", "--out", tmp_path) == 2
    assert "first-light, onnxruntime" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("DEV-1", "DEV-111", "there is no promise 'DEV-111'"),
        ("able: run", "abel: run", "able"),
        ("[DEV-1]", "[DEV-1, DEV-1]", "promises"),
    ],
)
def test_what_is_wrong_with_a_profile_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    text = "description: mine\nclient: It\nable: run\npromises: [DEV-1]\n"
    assert old in text
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError, match=problem):
        read_profile(file)
